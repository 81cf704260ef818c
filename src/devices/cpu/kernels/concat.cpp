// Concat: copies runs of consecutive elements, distributed among the threads; in either layout.
#include <cstring>
#include <graft/op.hpp>

namespace graft {
namespace {

struct ConcatState {
  bool last = false;
  int64_t outer = 1;
  std::vector<size_t> parts;  // bytes of a run of each input
  size_t row = 0;             // bytes of a run of the output
};

void concat_accept(Accept& ctx) {
  if (!ctx.output(0).shape.is_static()) unsupported("requires static shapes");
  if (bits_of(ctx.type(0)) < 8 || ctx.type(0) == DType::string) unsupported("expected whole bytes, got ", ctx.type(0));
}

ConcatState concat_prepare(Prepare& ctx) {
  ConcatState s;
  s.last = ctx.output_layout(0) == Layout::channels_last;
  size_t rank = ctx.output(0).shape.rank(), axis = normalize_axis(ctx.attr<int64_t>("axis"), rank);
  if (s.last && axis > 0) axis = axis == 1 ? rank - 1 : axis - 1;
  auto cell = static_cast<size_t>(bits_of(ctx.type(0))) / 8;
  for (size_t i = 0; i < ctx.inputs(); ++i) {
    std::vector<int64_t> dims = ctx.shape(i).values();
    if (s.last) std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
    s.outer = count_of(std::span(dims).first(axis));
    s.parts.push_back(static_cast<size_t>(count_of(std::span(dims).subspan(axis))) * cell);
    s.row += s.parts.back();
  }
  return s;
}

void concat_run(Run& ctx, const ConcatState& s) {
  auto* to = static_cast<unsigned char*>(ctx.output(0).raw()->data);
  if (s.row == 0) return;
  constexpr size_t piece = 1 << 15;
  ctx.parallel_for(s.outer, static_cast<int64_t>(std::max<size_t>(1, piece / s.row)), [&](int64_t begin, int64_t end) {
    size_t done = 0;
    for (size_t i = 0; i < s.parts.size(); ++i) {
      const auto* from = static_cast<const unsigned char*>(ctx.input(i).raw()->data);
      size_t part = s.parts[i];
      for (auto o = static_cast<size_t>(begin); part && o < static_cast<size_t>(end); ++o)
        std::memcpy(to + o * s.row + done, from + o * part, part);
      done += part;
    }
  });
}

}  // namespace

Definitions cpu_concat() {
  constexpr Layout last = Layout::channels_last, plain = Layout::plain;
  return Kernel("CPU", "copy")
      .of("Concat", "opset1")
      .accept(concat_accept)
      .layouts({{{plain}, {plain}}, {{last}, {last}}})
      .run(concat_prepare, concat_run);
}

}  // namespace graft
