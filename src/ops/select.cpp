#include <cstring>
#include <graft/kit/known.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

struct Select {
  std::string auto_broadcast = "numpy";
  static constexpr std::tuple schema{
      attr("auto_broadcast", &Select::auto_broadcast, "broadcasting rule for inputs of different shapes")
          .one_of("numpy", "none", "explicit", "pdpd")};
};

// Shape values stay known: the selected one, or the bounds that cover both.
void select_known(Infer& ctx, const Shape& out) {
  if (!ctx.known(0) && !ctx.known(1) && !ctx.known(2)) return;
  auto condition = followed_values(ctx, 0), a = followed_values(ctx, 1), b = followed_values(ctx, 2);
  if (!condition || !a || !b || !is_followed(ctx.type(1), out)) return;
  std::vector<int64_t> dims = out.values();
  std::vector<std::vector<int64_t>> strides;
  for (size_t i = 0; i < 3; ++i) strides.push_back(broadcast_strides(ctx.shape(i).values(), dims));
  Shape values;
  Walk walk(dims, strides);
  if (!walk.empty()) {
    do {
      auto at = [&](const Shape& s, size_t i) { return s[static_cast<size_t>(walk[i])]; };
      Dim c = at(*condition, 0), x = at(*a, 1), y = at(*b, 2);
      values.push_back(!c.known() ? either(x, y) : c.min() ? x : y);
    } while (walk.next());
  }
  ctx.known_output(0, values);
}

void select_infer(Infer& ctx, const Select& a) {
  DType condition = ctx.type(0);
  if (condition != DType::boolean && condition != DType::undefined)
    fail("expected a boolean condition, got ", condition);
  bool exact = a.auto_broadcast == "none" || a.auto_broadcast == "explicit";
  Shape out = exact ? merge(merge(ctx.shape(1), ctx.shape(2)), ctx.shape(0))
                    : broadcast(broadcast(ctx.shape(1), ctx.shape(2)), ctx.shape(0));
  ctx.output(0, common_type(ctx, {1, 2}), out);
  select_known(ctx, out);
}

void select_run(Run& ctx, const Select&) {
  TensorView c = ctx.input(0), a = ctx.input(1), b = ctx.input(2);
  OutputView y = ctx.output(0);
  Walk walk(y.dims(), {broadcast_strides(c.dims(), y.dims()), broadcast_strides(a.dims(), y.dims()),
                       broadcast_strides(b.dims(), y.dims())});
  if (walk.empty()) return;
  Cells from_a(a), from_b(b);
  OutputCells to(y);
  std::vector<uint8_t> condition = c.to<uint8_t>();
  size_t cell = to.cell_size();
  unsigned char* p = to.data();
  do {
    bool first = condition[static_cast<size_t>(walk[0])] != 0;
    std::memcpy(p,
                first ? from_a.data() + static_cast<size_t>(walk[1]) * cell
                      : from_b.data() + static_cast<size_t>(walk[2]) * cell,
                cell);
    p += cell;
  } while (walk.next());
  to.write_back();
}

}  // namespace

Definitions define_select() {
  return op<Select>("Select", 1)
      .doc("Select elements of the second input where the condition is true, of the third elsewhere")
      .traits(Trait::elementwise, Trait::widens)
      .inputs("cond, then, else")
      .infer(select_infer)
      .linear()
      .reference(select_run)
      .import(onnx("Where"));
}

}  // namespace graft
