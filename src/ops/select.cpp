#include <cstring>
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
  auto condition = ctx.known(0), a = ctx.known(1), b = ctx.known(2);
  if (!condition || !a || !b || !out.ranked() || out.rank() > 1 || !out.elements().known()) return;
  auto n = static_cast<size_t>(out.elements().value());
  for (const Shape* s : {&*condition, &*a, &*b})
    if (s->rank() != n && s->rank() != 1) return;
  Shape values;
  for (size_t i = 0; i < n; ++i) {
    auto at = [&](const Shape& s) { return s[s.rank() == 1 ? 0 : i]; };
    Dim c = at(*condition);
    values.push_back(!c.known() ? either(at(*a), at(*b)) : c.min() ? at(*a) : at(*b));
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
  TensorView c = ctx.input(0), a = ctx.input(1), b = ctx.input(2), y = ctx.output(0);
  Walk walk(y.dims(), {broadcast_strides(c.dims(), y.dims()), broadcast_strides(a.dims(), y.dims()),
                       broadcast_strides(b.dims(), y.dims())});
  if (walk.empty()) return;
  Cells from_a(a), from_b(b), to = Cells::blank(y);
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

Ops define_select() {
  return op<Select>("Select", 1)
      .doc("Select elements of the second input where the condition is true, of the third elsewhere")
      .inputs("cond, then, else")
      .infer(select_infer)
      .reference(select_run)
      .import(onnx("Where"));
}

}  // namespace graft
