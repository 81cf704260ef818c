#include <graft/numeric.hpp>
#include <graft/op.hpp>

#include "one_way.hpp"

namespace graft {
namespace {

struct CumSum {
  bool exclusive = false, reverse = false;
  static constexpr std::tuple schema{
      attr("exclusive", &CumSum::exclusive, "exclusive prefix sum: leave each element out of its own sum"),
      attr("reverse", &CumSum::reverse, "sum from the end of the axis")};
};

void cum_sum_infer(Infer& ctx, const CumSum&) {
  check_single(ctx, 1, "axis");
  Shape s = ctx.shape(0);
  if (auto axis = ctx.values<int64_t>(1); axis && s.ranked() && !axis->empty())
    normalize_axis((*axis)[0], std::max<size_t>(s.rank(), 1));
  ctx.output(0, ctx.type(0), s);
}

void cum_sum_run(Run& ctx, const CumSum& a) {
  TensorView x = ctx.input(0);
  // A scalar is treated as a list of one element.
  std::vector<int64_t> dims(x.dims().begin(), x.dims().end());
  if (dims.empty()) dims.push_back(1);
  size_t axis = normalize_axis(ctx.has_input(1) ? ctx.input(1).scalar<int64_t>() : 0, dims.size());
  int64_t n = dims[axis], inner = count_of(std::span(dims).subspan(axis + 1)), lines = n == 0 ? 0 : x.size() / n;
  with_number_type(x.type(), [&]<class T>(T) {
    std::vector<T> v = x.to<T>();
    for (int64_t line = 0; line < lines; ++line) {
      T* first = v.data() + line / inner * n * inner + line % inner;
      T sum{};
      for (int64_t i = 0; i < n; ++i) {
        T& e = first[(a.reverse ? n - 1 - i : i) * inner];
        T next = wrap_add(sum, e);
        e = a.exclusive ? sum : next;
        sum = next;
      }
    }
    ctx.output(0).assign(v);
  });
}

}  // namespace

Ops define_cum_sum() {
  return op<CumSum>("CumSum", 3)
      .doc("Cumulative sum along an axis (0 if omitted)")
      .inputs("data, axis?")
      .infer(cum_sum_infer)
      .reference(cum_sum_run)
      .import(onnx("CumSum"));
}

}  // namespace graft
