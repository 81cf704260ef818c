// MVN over trailing axes, and BatchNormInference, in f32.
//
// Each line of MVN is read three times while it lies in the cache: for its mean, for the squares of what is left, and
// to be written. BatchNormInference is one multiply-add an element, with factors worked out once a run.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "normalize.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <graft/op.hpp>

#ifndef GRAFT_CPU_NORMALIZE_ONCE
#define GRAFT_CPU_NORMALIZE_ONCE
namespace graft {
struct MvnState {
  int64_t lines = 1, length = 1;
  double eps = 0;
  bool variance = true, outside = false;
};
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

// The sum of x - shift, or of its square. Pieces are added up in double.
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
  return total;
}

}  // namespace

void mvn_line(const MvnState& s, const float* x, float* y) {
  auto n = static_cast<double>(s.length);
  double mean = sum<false>(x, s.length, 0.0f) / n;
  auto shift = static_cast<float>(mean);
  double scale = 1;
  if (s.variance) {
    double spread = sum<true>(x, s.length, shift) / n;
    scale = 1 / (s.outside ? std::sqrt(spread) + s.eps : std::sqrt(spread + s.eps));
  }
  shift_and_scale(x, s.length, shift, static_cast<float>(scale), y);
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

HWY_EXPORT(mvn_line);
HWY_EXPORT(scale_line);

void accept_f32(Accept& ctx) {
  for (size_t i = 0; i < ctx.inputs(); ++i)
    if (ctx.type(i) != DType::f32) unsupported("takes f32, not ", ctx.type(i));
  for (size_t i = 0; i < ctx.inputs(); ++i)
    if (!ctx.shape(i).is_static()) unsupported("takes known shapes only");
}

// ---- MVN ----

// Lines that are the last axes of the tensor; declines others.
MvnState trailing(const std::vector<int64_t>& dims, const std::vector<size_t>& axes) {
  std::vector<bool> taken(dims.size(), false);
  for (size_t a : axes) taken[a] = true;
  MvnState s;
  bool inside = false;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1) continue;
    if (inside && !taken[i]) unsupported("takes the last axes together only");
    inside = taken[i];
    (inside ? s.length : s.lines) *= dims[i];
  }
  return s;
}
MvnState mvn2_state(Accept& ctx) {
  std::vector<int64_t> dims = ctx.shape(0).values(), given = ctx.attr<std::vector<int64_t>>("reduction_axes");
  std::vector<size_t> axes = normalize_axes(given, dims.size());
  for (size_t i = ctx.attr<bool>("across_channels") ? 1 : 2; i < dims.size() && given.empty(); ++i) axes.push_back(i);
  MvnState s = trailing(dims, axes);
  s.eps = ctx.attr<double>("eps");
  s.variance = ctx.attr<bool>("normalize_variance");
  return s;
}
MvnState mvn6_state(Accept& ctx) {
  auto axes = ctx.values<int64_t>(1);
  if (!axes) unsupported("takes constant axes only");
  std::vector<int64_t> dims = ctx.shape(0).values();
  MvnState s = trailing(dims, normalize_axes(*axes, dims.size()));
  s.eps = ctx.attr<double>("eps");
  s.variance = ctx.attr<bool>("normalize_variance");
  s.outside = ctx.attr<std::string>("eps_mode") == "OUTSIDE_SQRT";
  return s;
}
void accept_mvn(Accept& ctx) {
  if (ctx.type(0) != DType::f32) unsupported("takes f32, not ", ctx.type(0));
  if (!ctx.shape(0).is_static()) unsupported("takes known shapes only");
}
void mvn2_accept(Accept& ctx) { accept_mvn(ctx), mvn2_state(ctx); }
void mvn6_accept(Accept& ctx) { accept_mvn(ctx), mvn6_state(ctx); }
MvnState mvn2_prepare(Prepare& ctx) { return mvn2_state(ctx); }
MvnState mvn6_prepare(Prepare& ctx) { return mvn6_state(ctx); }

void mvn_run(Run& ctx, const MvnState& s) {
  const float* x = ctx.input(0).data<const float>();
  float* y = ctx.output(0).data<float>();
  if (ctx.output(0).size() == 0) return;
  auto f = HWY_DYNAMIC_DISPATCH(mvn_line);
  ctx.parallel_for(s.lines, std::max<int64_t>(1, 8192 / s.length), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(s, x + i * s.length, y + i * s.length);
  });
}

// ---- BatchNormInference ----

struct BatchNormState {
  size_t data = 0;
  double epsilon = 0;
};
// The data stands at another place in each version, the other inputs keep their order.
template <size_t data_at>
BatchNormState batch_norm_prepare(Prepare& ctx) {
  return {data_at, ctx.attr<double>("epsilon")};
}

void batch_norm_run(Run& ctx, const BatchNormState& s) {
  TensorView x = ctx.input(s.data), y = ctx.output(0);
  if (y.size() == 0) return;
  const float* rest[4];
  for (size_t i = 0, r = 0; i < 5; ++i)
    if (i != s.data) rest[r++] = ctx.input(i).data<const float>();
  auto [gamma, beta, mean, variance] = rest;
  const float* from = x.data<const float>();
  float* to = y.data<float>();
  int64_t plane = count_of(x.dims().subspan(2)), channels = x.dim(1);
  auto f = HWY_DYNAMIC_DISPATCH(scale_line);
  ctx.parallel_for(x.dim(0) * channels, std::max<int64_t>(1, 16384 / plane), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t c = i % channels;
      double scale = double{gamma[c]} / std::sqrt(double{variance[c]} + s.epsilon);
      f(from + i * plane, plane, static_cast<float>(scale),
        static_cast<float>(double{beta[c]} - double{mean[c]} * scale), to + i * plane);
    }
  });
}

}  // namespace

Ops cpu_normalize() {
  return {
      Kernel("CPU", "lines_f32").of("MVN", "opset2").accept(mvn2_accept).run(mvn2_prepare, mvn_run),
      Kernel("CPU", "lines_f32").of("MVN", "opset6").accept(mvn6_accept).run(mvn6_prepare, mvn_run),
      Kernel("CPU", "channels_f32")
          .of("BatchNormInference", "opset1")
          .accept(accept_f32)
          .run(batch_norm_prepare<2>, batch_norm_run),
      Kernel("CPU", "channels_f32")
          .of("BatchNormInference", "opset5")
          .accept(accept_f32)
          .run(batch_norm_prepare<0>, batch_norm_run),
  };
}

}  // namespace graft
#endif
