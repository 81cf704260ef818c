#include <graft/kit/following.hpp>
#include <graft/kit/moves.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

// An empty order reverses the axes.
std::vector<size_t> transpose_order(const std::vector<int64_t>& order, size_t rank) {
  std::vector<size_t> axes;
  if (order.empty())
    for (size_t i = rank; i-- > 0;) axes.push_back(i);
  else axes = normalize_axes(order, rank);
  std::vector<bool> seen(rank, false);
  for (size_t a : axes) seen[a] = true;
  if (axes.size() != rank || std::find(seen.begin(), seen.end(), false) != seen.end())
    fail("expected a permutation of ", rank, " axes, got ", order);
  return axes;
}

void transpose_run(Run& ctx, const NoAttributes&) {
  TensorView x = ctx.input(0);
  std::vector<int64_t> strides = strides_of(x.dims());
  Strided turned;
  for (size_t a : transpose_order(ctx.input(1).to<int64_t>(), x.rank())) turned.strides.push_back(strides[a]);
  move_view(ctx.output(0), x, turned);
}

void transpose_infer(Infer& ctx, const NoAttributes& a) {
  Shape in = ctx.shape(0), out = all_unknown(in);
  Dim length = length_of(ctx, 1);
  if (!in.ranked() && length.known() && length.value() > 0) out = Shape::of_rank(axes_in(length));
  if (auto order = certain_numbers(ctx, 1); order && in.ranked()) {
    out = Shape();
    for (size_t a : transpose_order(*order, in.rank())) out.push_back(in[a]);
  }
  ctx.output(0, ctx.type(0), out);
  follow_moves(ctx, a, transpose_run, {0}, {out});
}

Value import_transpose(Builder& layer) {
  Value x = layer.input(0);
  auto order = layer.get<std::vector<int64_t>>("perm", {});
  Shape s = x.shape();
  if (order.empty() && s.ranked())
    for (size_t i = s.rank(); i-- > 0;) order.push_back(static_cast<int64_t>(i));
  return transpose(x, order);
}

}  // namespace

Definitions define_transpose() {
  return op("Transpose", 1)
      .doc("Permute the axes; an empty order reverses them")
      .traits(Trait::moves_data)
      .inputs("arg, input_order")
      .infer(transpose_infer)
      .linear()
      .reference(transpose_run)
      .import(onnx("Transpose").expand(import_transpose));
}

}  // namespace graft
