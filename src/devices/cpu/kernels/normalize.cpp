// MVN and NormalizeL2 over adjacent axes, and BatchNormInference, in f32.
//
// The tensor is viewed as [outer, n, inner] and normalized along n. If inner is 1, each line is read three times while
// it is in the cache: for the mean, for the squared deviations, and for the result. Otherwise a block of adjacent
// columns is processed in vectors the same way. BatchNormInference is one multiply-add per element, with factors
// computed once per run.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "normalize.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.
#include <hwy/highway.h>

#include <graft/op.hpp>

#ifndef GRAFT_CPU_NORMALIZE_ONCE
#define GRAFT_CPU_NORMALIZE_ONCE
namespace graft {
struct NormState {
  int64_t outer = 1, n = 1, inner = 1;
  double eps = 0;
  bool mean = true, variance = true;  // without a mean, squares are summed rather than averaged
  enum { inside, outside, least } where = inside;
  // The divisor for a given sum of squares.
  double divisor(double squares) const {
    double s = mean ? squares / static_cast<double>(n) : squares;
    return where == outside ? std::sqrt(s) + eps : std::sqrt(where == least ? std::max(s, eps) : s + eps);
  }
};
constexpr int64_t norm_columns = 64;
// The sum of x - shift over elements `step` apart, or of its square. If the f32 sum overflows, or squares underflow, it
// is computed again in f64.
inline double norm_sum_in_range(bool squares, double sum, const float* x, int64_t n, int64_t step, float shift) {
  if (std::isfinite(sum) && (!squares || sum >= 1e-30)) return sum;
  sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    double p = double{x[i * step]} - double{shift};
    sum += squares ? p * p : p;
  }
  return sum;
}
}  // namespace graft
#endif

HWY_BEFORE_NAMESPACE();
namespace graft::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// y = (x - shift) * scale
void shift_and_scale(const float* x, int64_t n, float shift, float scale, float* y) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto down = hn::Set(d, shift), factor = hn::Set(d, scale);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::Mul(hn::Sub(hn::LoadU(d, x + i), down), factor), d, y + i);
  for (; i < n; ++i) y[i] = (x[i] - shift) * scale;
}

// The sum of x - shift, or of its square. Partial sums are accumulated in double.
template <bool squares>
double sum(const float* x, int64_t n, float shift) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto down = hn::Set(d, shift);
  constexpr int64_t piece = 4096;
  double total = 0;
  int64_t i = 0;
  while (i + 2 * lanes <= n) {
    auto a = hn::Zero(d), b = a;
    for (int64_t end = std::min(n, i + piece); i + 2 * lanes <= end; i += 2 * lanes) {
      const auto p = hn::Sub(hn::LoadU(d, x + i), down), q = hn::Sub(hn::LoadU(d, x + i + lanes), down);
      a = squares ? hn::MulAdd(p, p, a) : hn::Add(a, p);
      b = squares ? hn::MulAdd(q, q, b) : hn::Add(b, q);
    }
    total += double{hn::GetLane(hn::SumOfLanes(d, hn::Add(a, b)))};
  }
  for (; i < n; ++i) {
    double p = double{x[i]} - double{shift};
    total += squares ? p * p : p;
  }
  return norm_sum_in_range(squares, total, x, n, 1, shift);
}

// The same for each of several columns, over rows that are `step` apart. A few rows at a time are summed in float.
template <bool squares>
void sum_columns(const float* x, int64_t n, int64_t step, int64_t columns, const float* shift, double* total) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  constexpr int64_t piece = 64;
  std::fill(total, total + columns, 0.0);
  for (int64_t first = 0; first < n; first += piece) {
    float part[norm_columns] = {};
    for (int64_t r = first; r < std::min(n, first + piece); ++r) {
      const float* row = x + r * step;
      int64_t i = 0;
      for (; i + lanes <= columns; i += lanes) {
        const auto p = hn::Sub(hn::LoadU(d, row + i), hn::LoadU(d, shift + i)), before = hn::LoadU(d, part + i);
        hn::StoreU(squares ? hn::MulAdd(p, p, before) : hn::Add(before, p), d, part + i);
      }
      for (; i < columns; ++i) {
        float p = row[i] - shift[i];
        part[i] += squares ? p * p : p;
      }
    }
    for (int64_t i = 0; i < columns; ++i) total[i] += double{part[i]};
  }
  for (int64_t i = 0; i < columns; ++i) total[i] = norm_sum_in_range(squares, total[i], x + i, n, step, shift[i]);
}

}  // namespace

void norm_line(const NormState& s, const float* x, float* y) {
  double mean = s.mean ? sum<false>(x, s.n, 0.0f) / static_cast<double>(s.n) : 0;
  auto shift = static_cast<float>(mean);
  double scale = s.variance ? 1 / s.divisor(sum<true>(x, s.n, shift)) : 1;
  shift_and_scale(x, s.n, shift, static_cast<float>(scale), y);
}
// A block of adjacent columns; rows are `inner` apart.
void norm_block(const NormState& s, const float* x, int64_t columns, float* y) {
  float shift[norm_columns] = {}, scale[norm_columns];
  double total[norm_columns];
  std::fill(scale, scale + norm_columns, 1.0f);
  if (s.mean) {
    sum_columns<false>(x, s.n, s.inner, columns, shift, total);
    for (int64_t i = 0; i < columns; ++i) shift[i] = static_cast<float>(total[i] / static_cast<double>(s.n));
  }
  if (s.variance) {
    sum_columns<true>(x, s.n, s.inner, columns, shift, total);
    for (int64_t i = 0; i < columns; ++i) scale[i] = static_cast<float>(1 / s.divisor(total[i]));
  }
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t r = 0; r < s.n; ++r, x += s.inner, y += s.inner) {
    int64_t i = 0;
    for (; i + lanes <= columns; i += lanes)
      hn::StoreU(hn::Mul(hn::Sub(hn::LoadU(d, x + i), hn::LoadU(d, shift + i)), hn::LoadU(d, scale + i)), d, y + i);
    for (; i < columns; ++i) y[i] = (x[i] - shift[i]) * scale[i];
  }
}
// A position of all channels, each with its factor and addend.
void scale_channels(const float* x, int64_t n, const float* scale, const float* shift, float* y) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(hn::MulAdd(hn::LoadU(d, x + i), hn::LoadU(d, scale + i), hn::LoadU(d, shift + i)), d, y + i);
  for (; i < n; ++i) y[i] = x[i] * scale[i] + shift[i];
}
void scale_line(const float* x, int64_t n, float scale, float shift, float* y) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto up = hn::Set(d, shift), factor = hn::Set(d, scale);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::MulAdd(hn::LoadU(d, x + i), factor, up), d, y + i);
  for (; i < n; ++i) y[i] = x[i] * scale + shift;
}

}  // namespace graft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft {
namespace {

HWY_EXPORT(norm_line);
HWY_EXPORT(norm_block);
HWY_EXPORT(scale_line);
HWY_EXPORT(scale_channels);

void accept_f32(Accept& ctx) {
  for (size_t i = 0; i < ctx.inputs(); ++i)
    if (ctx.type(i) != DType::f32) unsupported("expected f32, got ", ctx.type(i));
  for (size_t i = 0; i < ctx.inputs(); ++i)
    if (!ctx.shape(i).is_static()) unsupported("requires static shapes");
}

// ---- MVN, NormalizeL2 ----

// Declines axes that are not adjacent.
NormState norm_state(const std::vector<int64_t>& dims, const std::vector<size_t>& axes) {
  std::vector<bool> taken(dims.size(), false);
  for (size_t a : axes) taken[a] = true;
  NormState s;
  enum { before, inside, behind } stage = before;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1) continue;
    if (taken[i] && stage == behind) unsupported("requires adjacent axes");
    stage = taken[i] ? inside : stage == before ? before : behind;
    (stage == before ? s.outer : stage == inside ? s.n : s.inner) *= dims[i];
  }
  return s;
}
std::vector<size_t> norm_axes(Accept& ctx) {
  auto axes = ctx.values<int64_t>(1);
  if (!axes) unsupported("requires constant axes");
  return normalize_axes(*axes, ctx.shape(0).rank());
}
NormState mvn2_state(Accept& ctx) {
  std::vector<int64_t> dims = ctx.shape(0).values(), given = ctx.attr<std::vector<int64_t>>("reduction_axes");
  std::vector<size_t> axes = normalize_axes(given, dims.size());
  for (size_t i = ctx.attr<bool>("across_channels") ? 1 : 2; i < dims.size() && given.empty(); ++i) axes.push_back(i);
  NormState s = norm_state(dims, axes);
  s.eps = ctx.attr<double>("eps");
  s.variance = ctx.attr<bool>("normalize_variance");
  return s;
}
NormState mvn6_state(Accept& ctx) {
  NormState s = norm_state(ctx.shape(0).values(), norm_axes(ctx));
  s.eps = ctx.attr<double>("eps");
  s.variance = ctx.attr<bool>("normalize_variance");
  if (ctx.attr<std::string>("eps_mode") == "OUTSIDE_SQRT") s.where = NormState::outside;
  return s;
}
NormState l2_state(Accept& ctx) {
  std::vector<size_t> axes = norm_axes(ctx);
  if (axes.empty()) unsupported("requires at least one axis");
  NormState s = norm_state(ctx.shape(0).values(), axes);
  s.eps = ctx.attr<double>("eps");
  s.mean = false;
  if (ctx.attr<std::string>("eps_mode") == "max") s.where = NormState::least;
  return s;
}
template <NormState (*state)(Accept&)>
void norm_accept(Accept& ctx) {
  if (ctx.type(0) != DType::f32) unsupported("expected f32, got ", ctx.type(0));
  if (!ctx.shape(0).is_static()) unsupported("requires static shapes");
  state(ctx);
}
template <NormState (*state)(Accept&)>
NormState norm_prepare(Prepare& ctx) {
  return state(ctx);
}

void norm_run(Run& ctx, const NormState& s) {
  const float* x = ctx.input(0).data<const float>();
  float* y = ctx.output(0).data<float>();
  if (ctx.output(0).size() == 0) return;
  if (s.inner == 1) {
    auto f = HWY_DYNAMIC_DISPATCH(norm_line);
    ctx.parallel_for(s.outer, std::max<int64_t>(1, 8192 / s.n), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) f(s, x + i * s.n, y + i * s.n);
    });
    return;
  }
  auto f = HWY_DYNAMIC_DISPATCH(norm_block);
  int64_t blocks = (s.inner + norm_columns - 1) / norm_columns;
  int64_t grain = std::max<int64_t>(1, 8192 / (s.n * std::min(s.inner, norm_columns)));
  ctx.parallel_for(s.outer * blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      int64_t first = t % blocks * norm_columns, at = t / blocks * s.n * s.inner + first;
      f(s, x + at, std::min(norm_columns, s.inner - first), y + at);
    }
  });
}

// ---- BatchNormInference ----

struct BatchNormState {
  size_t data = 0;
  double epsilon = 0;
  bool last = false;  // the channels are the last axis in memory
};
// The position of the data differs between versions; the other inputs keep their order.
template <size_t data_at>
BatchNormState batch_norm_prepare(Prepare& ctx) {
  ctx.scratch(static_cast<size_t>(ctx.shape(data_at)[1].value()) * 2 * sizeof(float));
  return {data_at, ctx.attr<double>("epsilon"), ctx.input_layout(data_at) == Layout::channels_last};
}

void batch_norm_run(Run& ctx, const BatchNormState& s) {
  TensorView x = ctx.input(s.data);
  OutputView y = ctx.output(0);
  if (y.size() == 0) return;
  const float* rest[4];
  for (size_t i = 0, r = 0; i < 5; ++i)
    if (i != s.data) rest[r++] = ctx.input(i).data<const float>();
  auto [gamma, beta, mean, variance] = rest;
  int64_t plane = count_of(x.dims().subspan(2)), channels = x.dim(1);
  float *scale = static_cast<float*>(ctx.scratch()), *shift = scale + channels;
  for (int64_t c = 0; c < channels; ++c) {
    double factor = double{gamma[c]} / std::sqrt(double{variance[c]} + s.epsilon);
    scale[c] = static_cast<float>(factor), shift[c] = static_cast<float>(double{beta[c]} - double{mean[c]} * factor);
  }
  if (s.last || plane == 1) {
    const float* from = s.last ? x.channels_last<const float>() : x.data<const float>();
    float* to = s.last ? y.channels_last<float>() : y.data<float>();
    auto f = HWY_DYNAMIC_DISPATCH(scale_channels);
    ctx.parallel_for(x.dim(0) * plane, std::max<int64_t>(1, 16384 / channels), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) f(from + i * channels, channels, scale, shift, to + i * channels);
    });
    return;
  }
  const float* from = x.data<const float>();
  float* to = y.data<float>();
  auto f = HWY_DYNAMIC_DISPATCH(scale_line);
  ctx.parallel_for(x.dim(0) * channels, std::max<int64_t>(1, 16384 / plane), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      f(from + i * plane, plane, scale[i % channels], shift[i % channels], to + i * plane);
  });
}

template <NormState (*state)(Accept&)>
Kernel norm_kernel(std::string_view type, std::string_view opset) {
  return Kernel("CPU", "lines_f32").of(type, opset).accept(norm_accept<state>).run(norm_prepare<state>, norm_run);
}

}  // namespace

Definitions cpu_normalize() {
  constexpr Layout last = Layout::channels_last, plain = Layout::plain;
  return {
      norm_kernel<mvn2_state>("MVN", "opset2"),
      norm_kernel<mvn6_state>("MVN", "opset6"),
      norm_kernel<l2_state>("NormalizeL2", "opset1"),
      Kernel("CPU", "channels_f32")
          .of("BatchNormInference", "opset1")
          .accept(accept_f32)
          .layouts({{{plain}, {plain}}, {{plain, plain, last, plain}, {last}}})
          .run(batch_norm_prepare<2>, batch_norm_run),
      Kernel("CPU", "channels_f32")
          .of("BatchNormInference", "opset5")
          .accept(accept_f32)
          .layouts({{{plain}, {plain}}, {{last, plain}, {last}}})
          .run(batch_norm_prepare<0>, batch_norm_run),
  };
}

}  // namespace graft
#endif
