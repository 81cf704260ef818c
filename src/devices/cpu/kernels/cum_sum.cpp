// CumSum: lines, or adjacent lines together where the axis is not the last one, on all threads. Sums of f32 are kept in
// double, like those of the reference.
#include <graft/numeric.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

constexpr int64_t cum_width = 64;  // adjacent lines

struct CumPlan {
  int64_t outer = 1, n = 1, inner = 1;
  bool exclusive = false, reverse = false;
};

void cum_accept(Accept& ctx) {
  DType type = ctx.type(0);
  if (type != DType::f32 && type != DType::i32 && type != DType::i64)
    unsupported("expected f32, i32 or i64, got ", type);
  if (!ctx.shape(0).is_static()) unsupported("requires static shapes");
  if (ctx.has_input(1) && !ctx.constant(1)) unsupported("requires a constant axis");
}

CumPlan cum_prepare(Prepare& ctx) {
  std::vector<int64_t> x = ctx.shape(0).values();
  if (x.empty()) x.push_back(1);
  size_t axis = normalize_axis(ctx.has_input(1) ? ctx.constant(1).scalar<int64_t>() : 0, x.size());
  return {count_of(std::span(x).first(axis)), x[axis], count_of(std::span(x).subspan(axis + 1)),
          ctx.attr<bool>("exclusive"), ctx.attr<bool>("reverse")};
}

template <class T, class Sum>
void cum_lines(Run& ctx, const CumPlan& p) {
  const auto* x = static_cast<const T*>(ctx.input(0).raw()->data);
  auto* y = static_cast<T*>(ctx.output(0).raw()->data);
  int64_t pieces = (p.inner + cum_width - 1) / cum_width;
  int64_t grain = std::max<int64_t>(1, (1 << 14) / (p.n * std::min(p.inner, cum_width)));
  ctx.parallel_for(p.outer * pieces, grain, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      int64_t first = t % pieces * cum_width, width = std::min(cum_width, p.inner - first);
      Sum sums[cum_width] = {};
      for (int64_t i = 0; i < p.n; ++i) {
        int64_t at = (t / pieces * p.n + (p.reverse ? p.n - 1 - i : i)) * p.inner + first;
        for (int64_t j = 0; j < width; ++j) {
          Sum next = wrap_add(sums[j], static_cast<Sum>(x[at + j]));
          y[at + j] = static_cast<T>(p.exclusive ? sums[j] : next);
          sums[j] = next;
        }
      }
    }
  });
}

void cum_run(Run& ctx, const CumPlan& p) {
  if (ctx.output(0).size() == 0) return;
  switch (ctx.input(0).type()) {
    case DType::f32: return cum_lines<float, double>(ctx, p);
    case DType::i32: return cum_lines<int32_t, int64_t>(ctx, p);
    default: return cum_lines<int64_t, int64_t>(ctx, p);
  }
}

}  // namespace

Definitions cpu_cum_sum() {
  return Kernel("CPU", "lines").of("CumSum", "opset3").accept(cum_accept).run(cum_prepare, cum_run);
}

}  // namespace graft
