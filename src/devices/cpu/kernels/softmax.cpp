// Softmax and LogSoftmax in f32.
//
// Along the last axis, each line is contiguous; along another one, adjacent lines are processed together, one per
// vector lane. Each line takes three passes while it is in the cache: maximum, sum, division. Works in place.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "softmax.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.
#include <hwy/highway.h>

#include <graft/op.hpp>

#include "epilogue-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace graft::HWY_NAMESPACE {
namespace {

constexpr float lowest = -std::numeric_limits<float>::infinity();

template <class D>
void softmax_line(D d, const float* x, float* y, int64_t n, bool logarithm) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto most = hn::Set(d, lowest);
  int64_t whole = n / lanes * lanes;
  for (int64_t i = 0; i < whole; i += lanes) most = hn::Max(hn::LoadU(d, x + i), most);
  float top = hn::GetLane(hn::MaxOfLanes(d, most));
  for (int64_t i = whole; i < n; ++i) top = std::max(top, x[i]);
  const auto shift = hn::Set(d, top);
  // The remainder goes through a padded vector; the padding does not contribute.
  HWY_ALIGN float rest[HWY_MAX_BYTES / sizeof(float)];
  std::fill(rest, rest + lanes, lowest);
  for (int64_t i = whole; i < n; ++i) rest[i - whole] = x[i] - top;
  auto sum = exponential(d, hn::Load(d, rest));
  if (whole == n) sum = hn::Zero(d);
  if (!logarithm) hn::Store(sum, d, rest);
  for (int64_t i = 0; i < whole; i += lanes) {
    const auto e = exponential(d, hn::Sub(hn::LoadU(d, x + i), shift));
    if (!logarithm) hn::StoreU(e, d, y + i);
    sum = hn::Add(sum, e);
  }
  float total = hn::GetLane(hn::SumOfLanes(d, sum));
  if (logarithm) {
    float log = std::log(total);
    const auto down = hn::Set(d, log);
    for (int64_t i = 0; i < whole; i += lanes) hn::StoreU(hn::Sub(hn::Sub(hn::LoadU(d, x + i), shift), down), d, y + i);
    for (int64_t i = whole; i < n; ++i) y[i] = rest[i - whole] - log;
  } else {
    const auto scale = hn::Set(d, 1.0f / total);
    for (int64_t i = 0; i < whole; i += lanes) hn::StoreU(hn::Mul(hn::LoadU(d, y + i), scale), d, y + i);
    for (int64_t i = whole; i < n; ++i) y[i] = rest[i - whole] / total;
  }
}

// One line per vector lane; elements are `step` apart.
template <class D>
void softmax_lines(D d, const float* x, float* y, int64_t n, int64_t step, bool logarithm) {
  auto most = hn::Set(d, lowest);
  for (int64_t i = 0; i < n; ++i) most = hn::Max(hn::LoadU(d, x + i * step), most);
  auto sum = hn::Zero(d);
  for (int64_t i = 0; i < n; ++i) {
    const auto e = exponential(d, hn::Sub(hn::LoadU(d, x + i * step), most));
    if (!logarithm) hn::StoreU(e, d, y + i * step);
    sum = hn::Add(sum, e);
  }
  if (logarithm) {
    const auto down = logarithm_of(d, sum);
    for (int64_t i = 0; i < n; ++i)
      hn::StoreU(hn::Sub(hn::Sub(hn::LoadU(d, x + i * step), most), down), d, y + i * step);
  } else {
    const auto scale = hn::Div(hn::Set(d, 1.0f), sum);
    for (int64_t i = 0; i < n; ++i) hn::StoreU(hn::Mul(hn::LoadU(d, y + i * step), scale), d, y + i * step);
  }
}

// Combines lanes whose distance is a multiple of `step`, in every lane.
template <class D, class V, class F>
V across_lines(D d, V v, int64_t step, const F& combine) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  HWY_ALIGN float all[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(v, d, all);
  for (int64_t i = step; i < lanes; ++i) all[i % step] = combine(all[i % step], all[i]);
  for (int64_t i = step; i < lanes; ++i) all[i] = all[i % step];
  return hn::Load(d, all);
}

// All lines of a block if they are few: `step` of them, which divides the lanes, so that each lane sees one line only.
template <class D>
void softmax_few_lines(D d, const float* x, float* y, int64_t n, int64_t step, bool logarithm) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t size = n * step, whole = size / lanes * lanes;
  auto rest = static_cast<size_t>(size - whole);
  const auto mask = hn::FirstN(d, rest);
  auto most = hn::IfThenElse(mask, load_first(d, x + whole, rest), hn::Set(d, lowest));
  for (int64_t i = 0; i < whole; i += lanes) most = hn::Max(hn::LoadU(d, x + i), most);
  most = across_lines(d, most, step, [](float a, float b) { return std::max(a, b); });
  auto power = [&](auto v) { return exponential(d, hn::Sub(v, most)); };
  const auto last = load_first(d, x + whole, rest), e = power(last);
  auto sum = hn::IfThenElseZero(mask, e);
  for (int64_t i = 0; i < whole; i += lanes) {
    const auto v = power(hn::LoadU(d, x + i));
    if (!logarithm) hn::StoreU(v, d, y + i);
    sum = hn::Add(sum, v);
  }
  sum = across_lines(d, sum, step, [](float a, float b) { return a + b; });
  if (logarithm) {
    const auto down = hn::Add(most, logarithm_of(d, sum));
    for (int64_t i = 0; i < whole; i += lanes) hn::StoreU(hn::Sub(hn::LoadU(d, x + i), down), d, y + i);
    store_first(hn::Sub(last, down), d, y + whole, rest);
  } else {
    const auto scale = hn::Div(hn::Set(d, 1.0f), sum);
    for (int64_t i = 0; i < whole; i += lanes) hn::StoreU(hn::Mul(hn::LoadU(d, y + i), scale), d, y + i);
    store_first(hn::Mul(e, scale), d, y + whole, rest);
  }
}

}  // namespace
// `lines` adjacent lines of `n` elements that are `step` apart.
void softmax_f32(const float* x, float* y, int64_t n, int64_t step, int64_t lines, bool logarithm) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if (step == 1) return softmax_line(d, x, y, n, logarithm);
  if (step < lanes && lanes % step == 0) return softmax_few_lines(d, x, y, n, step, logarithm);
  int64_t i = 0;
  for (; i + lanes <= lines; i += lanes) softmax_lines(d, x + i, y + i, n, step, logarithm);
  const hn::CappedTag<float, 4> some;
  const auto few = static_cast<int64_t>(hn::Lanes(some));
  for (; i + few <= lines; i += few) softmax_lines(some, x + i, y + i, n, step, logarithm);
  for (; i < lines; ++i) softmax_lines(hn::CappedTag<float, 1>(), x + i, y + i, n, step, logarithm);
}

}  // namespace graft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft {
namespace {

HWY_EXPORT(softmax_f32);

struct SoftmaxState {
  int64_t outer = 1, n = 1, inner = 1;
  bool logarithm = false;
};

void softmax_accept(Accept& ctx) {
  if (ctx.type(0) != DType::f32) unsupported("expected f32, got ", ctx.type(0));
  if (!ctx.shape(0).is_static()) unsupported("requires static shapes");
}

SoftmaxState softmax_prepare(Prepare& ctx) {
  std::vector<int64_t> dims = ctx.shape(0).values();
  if (dims.empty()) dims.push_back(1);
  size_t axis = ctx.shape(0).rank() == 0 ? 0 : normalize_axis(ctx.attr<int64_t>("axis"), dims.size());
  return {count_of(std::span(dims).first(axis)), dims[axis], count_of(std::span(dims).subspan(axis + 1)),
          ctx.op_type() == "LogSoftmax"};
}

void softmax_run(Run& ctx, const SoftmaxState& s) {
  const float* x = ctx.input(0).data<const float>();
  float* y = ctx.output(0).data<float>();
  if (ctx.output(0).size() == 0) return;
  constexpr int64_t side_by_side = 64;
  int64_t pieces = (s.inner + side_by_side - 1) / side_by_side;
  int64_t grain = std::max<int64_t>(1, 8192 / (s.n * std::min(s.inner, side_by_side)));
  auto f = HWY_DYNAMIC_DISPATCH(softmax_f32);
  ctx.parallel_for(s.outer * pieces, grain, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      int64_t first = t % pieces * side_by_side, at = t / pieces * s.n * s.inner + first;
      f(x + at, y + at, s.n, s.inner, std::min(side_by_side, s.inner - first), s.logarithm);
    }
  });
}

}  // namespace

Definitions cpu_softmax() {
  auto kernel = [](std::string_view type, Versions versions) {
    return Kernel("CPU", "lines_f32").of(type, versions).accept(softmax_accept).run(softmax_prepare, softmax_run);
  };
  return {kernel("Softmax", since(1)), kernel("LogSoftmax", since(5))};
}

}  // namespace graft
#endif
