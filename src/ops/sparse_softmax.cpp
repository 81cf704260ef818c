#include <cmath>
#include <graft/op.hpp>

namespace graft {
namespace {

void sparse_softmax_infer(Infer& ctx, const NoAttributes&) {
  Shape indices = merge(ctx.shape(0), Shape::of_rank(2)), values = merge(ctx.shape(1), Shape{indices[0]});
  if (DType t = ctx.type(1); !is_real(t) && t != DType::undefined) fail("expected floating-point values, got ", t);
  if (indices[1].max() < 2) fail("expected indices of at least 2 axes, got shape ", indices);
  ctx.output(0, ctx.type(1), values);
}
void sparse_softmax_run(Run& ctx, const NoAttributes&) {
  TensorView places = ctx.input(0);
  std::vector<int64_t> indices = places.to<int64_t>();
  std::vector<double> v = ctx.input(1).to<double>();
  int64_t rank = places.dim(1);
  if (rank < 2 || places.dim(0) != static_cast<int64_t>(v.size()))
    fail("expected one index of at least 2 axes per value (", v.size(), "), got shape ", places.info().shape);
  auto same = [&](size_t a, size_t b) {
    const int64_t* i = indices.data();
    return std::equal(i + static_cast<int64_t>(a) * rank, i + static_cast<int64_t>(a + 1) * rank - 1,
                      i + static_cast<int64_t>(b) * rank);
  };
  for (size_t first = 0, end = 0; first < v.size(); first = end) {
    for (end = first; end < v.size() && same(first, end);) ++end;
    auto begin = v.begin() + static_cast<std::ptrdiff_t>(first), stop = v.begin() + static_cast<std::ptrdiff_t>(end);
    double most = *std::max_element(begin, stop), sum = 0;
    std::for_each(begin, stop, [&](double& x) { sum += x = std::exp(x - most); });
    std::for_each(begin, stop, [&](double& x) { x /= sum; });
  }
  ctx.output(0).assign(v);
}

}  // namespace

Definitions define_sparse_softmax() {
  return op("SparseSoftmax", "graft")
      .doc("Softmax over consecutive values whose indices differ in the last axis only")
      .inputs("indices, values")
      .infer(sparse_softmax_infer)
      .linear()
      .reference(sparse_softmax_run)
      .import(tensorflow("SparseSoftmax").expand(+[](Builder& l) {
        return l.op("SparseSoftmax@graft", {l.input(0), l.input(1)});
      }));
}

}  // namespace graft
