// CumSum, CumProd and CumLogSumExp: prefix scans along an axis.
#include <graft/numeric.hpp>
#include <graft/op.hpp>

#include "one_way.hpp"

namespace graft {
namespace {

struct CumSum {
  bool exclusive = false, reverse = false;
  static constexpr std::tuple schema{
      attr("exclusive", &CumSum::exclusive, "exclusive scan: leave each element out of its own result"),
      attr("reverse", &CumSum::reverse, "accumulate from the end of the axis")};
};

void cum_sum_infer(Infer& ctx, const CumSum&) {
  check_single(ctx, 1, "axis");
  Shape s = ctx.shape(0);
  if (auto axis = ctx.values<int64_t>(1); axis && s.ranked() && !axis->empty())
    normalize_axis((*axis)[0], std::max<size_t>(s.rank(), 1));
  ctx.output(0, ctx.type(0), s);
}

enum class Running { sum, product, log_sum_exp };

template <Running how, class T>
T running_start() {
  if constexpr (how == Running::log_sum_exp) return -std::numeric_limits<T>::infinity();
  return how == Running::sum ? T{} : T{1};
}
template <Running how, class T>
T running_next(T so_far, T e) {
  if constexpr (how == Running::sum) return wrap_add(so_far, e);
  else if constexpr (how == Running::product) return wrap_mul(so_far, e);
  else {
    T high = std::max(so_far, e), low = std::min(so_far, e);
    if (std::isinf(high)) return high;
    return static_cast<T>(static_cast<double>(high) + std::log1p(std::exp(static_cast<double>(low - high))));
  }
}

template <Running how>
void cum_run(Run& ctx, const CumSum& a) {
  TensorView x = ctx.input(0);
  // A scalar is treated as a list of one element.
  std::vector<int64_t> dims(x.dims().begin(), x.dims().end());
  if (dims.empty()) dims.push_back(1);
  size_t axis = normalize_axis(ctx.has_input(1) ? ctx.input(1).scalar<int64_t>() : 0, dims.size());
  int64_t n = dims[axis], inner = count_of(std::span(dims).subspan(axis + 1)), lines = n == 0 ? 0 : x.size() / n;
  auto fold = [&]<class T>(T) {
    std::vector<T> v = x.to<T>();
    for (int64_t line = 0; line < lines; ++line) {
      T* first = v.data() + line / inner * n * inner + line % inner;
      T so_far = running_start<how, T>();
      for (int64_t i = 0; i < n; ++i) {
        T& e = first[(a.reverse ? n - 1 - i : i) * inner];
        T next = running_next<how>(so_far, e);
        e = a.exclusive ? so_far : next;
        so_far = next;
      }
    }
    ctx.output(0).assign(v);
  };
  if constexpr (how == Running::log_sum_exp) fold(double{});
  else with_number_type(x.type(), fold);
}

}  // namespace

Definitions define_cum_sum() {
  return {
      op<CumSum>("CumSum", 3)
          .doc("Cumulative sum along an axis (0 if omitted)")
          .traits(Trait::widens)  // not axes_input: the transposes around it are often views between layouts
          .inputs("data, axis?")
          .infer(cum_sum_infer)
          .linear()
          .reference(cum_run<Running::sum>)
          .import(onnx("CumSum")),
      op<CumSum>("CumProd", "graft")
          .doc("Cumulative product along an axis (0 if omitted)")
          .inputs("data, axis?")
          .infer(cum_sum_infer)
          .linear()
          .reference(cum_run<Running::product>),
      op<CumSum>("CumLogSumExp", "graft")
          .doc("Cumulative log-sum-exp along an axis (0 if omitted)")
          .inputs("data, axis?")
          .infer(cum_sum_infer)
          .linear()
          .reference(cum_run<Running::log_sum_exp>),
  };
}

}  // namespace graft
