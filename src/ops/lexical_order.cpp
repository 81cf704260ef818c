#include <graft/op.hpp>

namespace graft {
namespace {

void lexical_order_infer(Infer& ctx, const NoAttributes&) {
  if (DType t = ctx.type(0); !is_integer(t) && t != DType::undefined) fail("expected rows of integers, got ", t);
  ctx.output(0, DType::i64, Shape{merge(ctx.shape(0), Shape::of_rank(2))[0]});
}
void lexical_order_run(Run& ctx, const NoAttributes&) {
  TensorView x = ctx.input(0);
  std::vector<int64_t> rows = x.to<int64_t>(), order(static_cast<size_t>(x.dim(0)));
  auto width = x.dim(1);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const int64_t *i = rows.data() + a * width, *j = rows.data() + b * width;
    return std::lexicographical_compare(i, i + width, j, j + width);
  });
  ctx.output(0).assign(order);
}

}  // namespace

Definitions define_lexical_order() {
  return op("LexicalOrder", "graft")
      .doc(
          "The order that sorts the rows of a matrix by their first number, then the second, and so on; equal rows "
          "keep theirs")
      .inputs("data")
      .infer(lexical_order_infer)
      .linear()
      .reference(lexical_order_run);
}

}  // namespace graft
