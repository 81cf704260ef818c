// Bitcast: the same bytes as elements of another type.
#include <cstring>
#include <graft/op.hpp>

namespace graft {
namespace {

struct Bitcast {
  DType type = DType::undefined;
  static constexpr std::tuple schema{attr("type", &Bitcast::type, "element type of the result").required()};
};

int64_t bitcast_width(DType t) {
  if (t == DType::undefined || t == DType::string || t == DType::boolean || is_packed(t))
    fail("expected a type of whole bytes whose bit patterns are all valid, got ", t);
  return bits_of(t) / 8;
}

// Smaller elements add an axis of the parts of each; larger ones take the last axis.
void bitcast_infer(Infer& ctx, const Bitcast& a) {
  int64_t to = bitcast_width(a.type), from = ctx.type(0) == DType::undefined ? to : bitcast_width(ctx.type(0));
  Shape s = ctx.shape(0);
  if (!s.ranked() || from == to) return ctx.output(0, a.type, s);
  std::vector<Dim> dims(s.dims().begin(), s.dims().end());
  if (from > to) {
    dims.push_back(Dim(from / to));
  } else {
    if (dims.empty() || (dims.back().known() && dims.back().value() != to / from))
      fail("expected a last dimension of ", to / from, " to make ", a.type, " of ", ctx.type(0), ", got shape ", s);
    dims.pop_back();
  }
  Shape y;
  for (const Dim& d : dims) y.push_back(d);
  ctx.output(0, a.type, y);
}

void bitcast_run(Run& ctx, const Bitcast& a) {
  TensorView x = ctx.input(0);
  int64_t from = bitcast_width(x.type()), to = bitcast_width(a.type);
  std::vector<int64_t> dims(x.dims().begin(), x.dims().end());
  if (from > to) dims.push_back(from / to);
  if (from < to) {
    if (dims.empty() || dims.back() != to / from) fail("expected a last dimension of ", to / from);
    dims.pop_back();
  }
  OutputView y = ctx.allocate(0, dims);
  if (x.size() > 0) std::memcpy(y.bytes(), x.bytes(), static_cast<size_t>(x.size() * from));
}

Value import_bitcast(Builder& layer) {
  layer.has("T");
  return layer.op("Bitcast@graft", {layer.input(0)}, {{"type", layer.get<DType>("type")}});
}

}  // namespace

Definitions define_bitcast() {
  return {op<Bitcast>("Bitcast", "graft")
              .doc("The same bytes as elements of another type; a last axis holds the parts of a larger element")
              .inputs("x")
              .infer(bitcast_infer)
              .reference(bitcast_run),
          tensorflow("Bitcast").expand(import_bitcast)};
}

}  // namespace graft
