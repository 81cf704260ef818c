// ReduceSum, ReduceMean, ReduceMax, ReduceMin, ReduceL1 and ReduceL2 in f32 over adjacent axes.
//
// The tensor is viewed as [outer, n, inner] and reduced along n. If inner is 1, each result reduces a contiguous run,
// in several accumulators so that additions do not wait for each other; otherwise adjacent results form a vector. Sums
// are accumulated piecewise to keep the rounding error of long ones small.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reduce.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.
#include <hwy/highway.h>

#include <graft/op.hpp>
#include <set>

#ifndef GRAFT_CPU_REDUCE_ONCE
#define GRAFT_CPU_REDUCE_ONCE
namespace graft {
// Computes `columns` results from `n` rows that are `step` apart; with a step of 1, a single result.
using ReduceFunction = void (*)(const float* x, int64_t n, int64_t step, int64_t columns, float* y);
enum class ReduceEnd { as_it_is, divided, root };
struct ReduceRow {
  std::string_view type, opset;
  ReduceFunction f;
  ReduceEnd end;           // final step of a result
  double (*take)(double);  // the summand of an element; null: not a sum
};
}  // namespace graft
#endif

HWY_BEFORE_NAMESPACE();
namespace graft::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

struct Sum {
  static constexpr float start = 0;
  template <class V>
  static V take(V x) {
    return x;
  }
  template <class V>
  static V join(V a, V x) {
    return hn::Add(a, x);
  }
};
struct Sizes : Sum {
  template <class V>
  static V take(V x) {
    return hn::Abs(x);
  }
};
struct Squares : Sum {
  template <class V>
  static V take(V x) {
    return hn::Mul(x, x);
  }
};
// NaN propagates.
struct Most {
  static constexpr float start = -std::numeric_limits<float>::infinity();
  template <class V>
  static V take(V x) {
    return x;
  }
  template <class V>
  static V join(V a, V x) {
    return hn::IfThenElse(hn::Or(hn::IsNaN(x), hn::Gt(x, a)), x, a);
  }
};
struct Least {
  static constexpr float start = std::numeric_limits<float>::infinity();
  template <class V>
  static V take(V x) {
    return x;
  }
  template <class V>
  static V join(V a, V x) {
    return hn::IfThenElse(hn::Or(hn::IsNaN(x), hn::Lt(x, a)), x, a);
  }
};

constexpr int64_t piece = 1024;

template <class F>
float line(const float* x, int64_t n) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto all = hn::Set(d, F::start);
  int64_t i = 0;
  while (i + 4 * lanes <= n) {
    auto a = hn::Set(d, F::start), b = a, c = a, e = a;
    for (int64_t end = std::min(n, i + piece * lanes); i + 4 * lanes <= end; i += 4 * lanes) {
      a = F::join(a, F::take(hn::LoadU(d, x + i)));
      b = F::join(b, F::take(hn::LoadU(d, x + i + lanes)));
      c = F::join(c, F::take(hn::LoadU(d, x + i + 2 * lanes)));
      e = F::join(e, F::take(hn::LoadU(d, x + i + 3 * lanes)));
    }
    all = F::join(all, F::join(F::join(a, b), F::join(c, e)));
  }
  for (; i + lanes <= n; i += lanes) all = F::join(all, F::take(hn::LoadU(d, x + i)));
  HWY_ALIGN float parts[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(all, d, parts);
  const hn::CappedTag<float, 1> one;
  auto result = hn::Set(one, F::start);
  for (int64_t k = 0; k < lanes; ++k) result = F::join(result, hn::LoadU(one, parts + k));
  for (; i < n; ++i) result = F::join(result, F::take(hn::LoadU(one, x + i)));
  return hn::GetLane(result);
}

template <class F, int64_t width, class D>
void side_by_side(D d, const float* x, int64_t n, int64_t step, float* y) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<D> all[width], part[width];
#pragma GCC unroll 4
  for (int64_t v = 0; v < width; ++v) all[v] = hn::Set(d, F::start);
  for (int64_t i = 0; i < n;) {
#pragma GCC unroll 4
    for (int64_t v = 0; v < width; ++v) part[v] = hn::Set(d, F::start);
    for (int64_t end = std::min(n, i + piece); i < end; ++i)
#pragma GCC unroll 4
      for (int64_t v = 0; v < width; ++v) part[v] = F::join(part[v], F::take(hn::LoadU(d, x + i * step + v * lanes)));
#pragma GCC unroll 4
    for (int64_t v = 0; v < width; ++v) all[v] = F::join(all[v], part[v]);
  }
#pragma GCC unroll 4
  for (int64_t v = 0; v < width; ++v) hn::StoreU(all[v], d, y + v * lanes);
}

template <class F>
void reduce(const float* x, int64_t n, int64_t step, int64_t columns, float* y) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if (step == 1) return void(*y = line<F>(x, n));
  int64_t i = 0;
  for (; i + 4 * lanes <= columns; i += 4 * lanes) side_by_side<F, 4>(d, x + i, n, step, y + i);
  for (; i + lanes <= columns; i += lanes) side_by_side<F, 1>(d, x + i, n, step, y + i);
  for (; i < columns; ++i) side_by_side<F, 1>(hn::CappedTag<float, 1>(), x + i, n, step, y + i);
}

}  // namespace
// The operations implemented here, with their functions.
std::span<const ReduceRow> reduce_rows() {
  constexpr auto same = [](double x) { return x; };
  static constexpr ReduceRow rows[] = {
      {"ReduceSum", "opset1", reduce<Sum>, ReduceEnd::as_it_is, same},
      {"ReduceMean", "opset1", reduce<Sum>, ReduceEnd::divided, same},
      {"ReduceMax", "opset1", reduce<Most>, ReduceEnd::as_it_is, nullptr},
      {"ReduceMin", "opset1", reduce<Least>, ReduceEnd::as_it_is, nullptr},
      {"ReduceL1", "opset4", reduce<Sizes>, ReduceEnd::as_it_is, [](double x) { return std::fabs(x); }},
      {"ReduceL2", "opset4", reduce<Squares>, ReduceEnd::root, [](double x) { return x * x; }},
  };
  return rows;
}

}  // namespace graft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft {
namespace {

HWY_EXPORT(reduce_rows);

struct ReduceState {
  int64_t outer = 1, n = 1, inner = 1;
  ReduceRow row{};
  bool last = false;  // the channels of the input are last
};

// Views the shape as [outer, n, inner]; false if the axes are not adjacent.
bool reduce_groups(const std::vector<int64_t>& dims, const std::vector<int64_t>& axes, ReduceState& s) {
  std::vector<bool> gone(dims.size(), false);
  for (int64_t a : axes)
    if (!dims.empty()) gone[normalize_axis(a, dims.size())] = true;
  int stage = 0;  // before, inside, after the reduced axes
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1) continue;
    if (gone[i] && stage == 0) stage = 1;
    if (!gone[i] && stage == 1) stage = 2;
    if (gone[i] && stage == 2) return false;
    (gone[i] ? s.n : stage == 0 ? s.outer : s.inner) *= dims[i];
  }
  // No axes: lines of one element.
  if (stage == 0) std::swap(s.outer, s.inner);
  return true;
}

void reduce_accept(Accept& ctx) {
  if (ctx.type(0) != DType::f32) unsupported("expected f32, got ", ctx.type(0));
  if (!ctx.shape(0).is_static()) unsupported("requires static shapes");
  auto axes = ctx.values<int64_t>(1);
  if (!axes) unsupported("requires constant axes");
  ReduceState s;
  if (!reduce_groups(ctx.shape(0).values(), *axes, s)) unsupported("requires adjacent axes");
}

// Over all spatial axes, which works in either layout.
void reduce_spatial_accept(Accept& ctx) {
  reduce_accept(ctx);
  std::vector<int64_t> dims = ctx.shape(0).values(), axes = *ctx.values<int64_t>(1);
  if (dims.size() < 3) unsupported("requires spatial axes");
  std::set<size_t> all;
  for (int64_t a : axes) all.insert(normalize_axis(a, dims.size()));
  if (all.size() != dims.size() - 2 || *all.begin() != 2) unsupported("requires all spatial axes");
}

ReduceState reduce_prepare(Prepare& ctx) {
  ReduceState s;
  std::vector<int64_t> dims = ctx.shape(0).values();
  s.last = ctx.input_layout(0) == Layout::channels_last;
  if (s.last) s.outer = dims[0], s.n = count_of(std::span(dims).subspan(2)), s.inner = dims[1];
  else reduce_groups(dims, *ctx.values<int64_t>(1), s);
  for (const ReduceRow& row : HWY_DYNAMIC_DISPATCH(reduce_rows)())
    if (row.type == ctx.op_type()) return s.row = row, s;
  unsupported("no vector function for ", ctx.op_type());
}

// Sums are computed in f32, where squares, or partial sums of a result in range, may overflow or underflow: such
// results are computed again in f64.
bool reduce_lost(const ReduceState& s, float sum) {
  return !(std::fabs(sum) <= std::numeric_limits<float>::max()) || (s.row.end == ReduceEnd::root && sum < 1e-30f);
}
float reduce_again(const ReduceState& s, const float* x) {
  double sum = 0;
  for (int64_t i = 0; i < s.n; ++i) sum += s.row.take(double{x[i * s.inner]});
  if (s.row.end == ReduceEnd::divided) sum /= static_cast<double>(std::max<int64_t>(s.n, 1));
  return static_cast<float>(s.row.end == ReduceEnd::root ? std::sqrt(sum) : sum);
}

// Converts `count` sums of adjacent columns to results.
void reduce_end(const ReduceState& s, const float* x, int64_t count, float* y) {
  bool lost = false;
  for (int64_t i = 0; i < count; ++i) lost |= reduce_lost(s, y[i]);
  auto divisor = static_cast<float>(std::max<int64_t>(s.n, 1));
  auto end = [&](float& sum) {
    if (s.row.end == ReduceEnd::divided) sum /= divisor;
    if (s.row.end == ReduceEnd::root) sum = std::sqrt(sum);
  };
  if (lost)
    for (int64_t i = 0; i < count; ++i) reduce_lost(s, y[i]) ? void(y[i] = reduce_again(s, x + i)) : end(y[i]);
  else
    for (int64_t i = 0; i < count; ++i) end(y[i]);
}

void reduce_run(Run& ctx, const ReduceState& s) {
  const float* x = s.last ? ctx.input(0).channels_last<const float>() : ctx.input(0).data<const float>();
  float* y = ctx.output(0).data<float>();
  if (ctx.output(0).size() == 0) return;
  constexpr int64_t columns = 128;
  int64_t pieces = (s.inner + columns - 1) / columns;
  int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, s.n * std::min(s.inner, columns)));
  ctx.parallel_for(s.outer * pieces, grain, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      int64_t first = t % pieces * columns, count = std::min(columns, s.inner - first);
      const float* from = x + t / pieces * s.n * s.inner + first;
      float* to = y + t / pieces * s.inner + first;
      s.row.f(from, s.n, s.inner, count, to);
      if (s.row.take) reduce_end(s, from, count, to);
    }
  });
}

}  // namespace

Definitions cpu_reduce() {
  Definitions ops;
  constexpr Layout last = Layout::channels_last, plain = Layout::plain;
  for (const ReduceRow& row : HWY_DYNAMIC_DISPATCH(reduce_rows)()) {
    ops += Kernel("CPU", "spatial_f32")
               .of(row.type, row.opset)
               .accept(reduce_spatial_accept)
               .layouts({{{plain}, {plain}}, {{last, plain}, {plain}}})
               .run(reduce_prepare, reduce_run);
    ops += Kernel("CPU", "lines_f32").of(row.type, row.opset).accept(reduce_accept).run(reduce_prepare, reduce_run);
  }
  return ops;
}

}  // namespace graft
#endif
