#include <cstring>
#include <graft/kit/following.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

struct Concat {
  int64_t axis = 0;
  static constexpr std::tuple schema{attr("axis", &Concat::axis, "axis to concatenate along").required()};
};

void concat_run(Run& ctx, const Concat& a) {
  OutputView y = ctx.output(0);
  size_t axis = normalize_axis(a.axis, y.rank());
  OutputCells to(y);
  int64_t outer = count_of(y.dims().first(axis)), inner = count_of(y.dims().subspan(axis + 1));
  size_t row = static_cast<size_t>(y.dim(axis) * inner) * to.cell_size(), done = 0;
  for (size_t i = 0; i < ctx.inputs(); ++i) {
    Cells from(ctx.input(i));
    size_t part = static_cast<size_t>(ctx.input(i).dim(axis) * inner) * to.cell_size();
    for (int64_t o = 0; part && o < outer; ++o)
      std::memcpy(to.data() + static_cast<size_t>(o) * row + done, from.data() + static_cast<size_t>(o) * part, part);
    done += part;
  }
  to.write_back();
}

void concat_infer(Infer& ctx, const Concat& a) {
  if (ctx.inputs() == 0) fail("expected at least one input, got none");
  Shape out = Shape::unknown();
  Dim sum = 0;
  bool all_ranked = true;
  for (size_t i = 0; i < ctx.inputs(); ++i) {
    Shape s = ctx.shape(i);
    if (!s.ranked()) {
      all_ranked = false;
      continue;
    }
    size_t axis = normalize_axis(a.axis, s.rank());
    sum = sum + s[axis];
    s[axis] = Dim();
    out = merge(out, s);
  }
  if (out.ranked()) out[normalize_axis(a.axis, out.rank())] = all_ranked ? sum : Dim();
  ctx.output(0, common_type(ctx), out);
  std::vector<size_t> all(ctx.inputs());
  std::iota(all.begin(), all.end(), size_t{0});
  follow_moves(ctx, a, concat_run, all, {out});
}

}  // namespace

Definitions define_concat() {
  return op<Concat>("Concat", 1)
      .doc("Concatenate tensors along an axis")
      .traits(Trait::moves_data, Trait::axis_attribute)
      .inputs("inputs...")
      .infer(concat_infer)
      .linear()
      .reference(concat_run)
      .import(onnx("Concat").until(4).attr("axis", "axis", 1))
      .import(onnx("Concat"));
}

}  // namespace graft
