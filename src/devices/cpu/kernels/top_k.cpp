// TopK: lines are searched on all threads; a single element by a scan, several by a partial sort of values with their
// positions.
#include <graft/op.hpp>

namespace graft {
namespace {

struct TopKPlan {
  int64_t outer = 1, n = 1, inner = 1, k = 0;
  bool largest = true, by_index = false;
};

void top_k_accept(Accept& ctx) {
  DType type = ctx.type(0), index = ctx.output(1).type;
  if (type != DType::f32 && type != DType::i32 && type != DType::i64)
    unsupported("expected f32, i32 or i64, got ", type);
  if (index != DType::i32 && index != DType::i64) unsupported("expected indices of type i32 or i64, got ", index);
  if (!ctx.shape(0).is_static()) unsupported("requires static shapes");
  if (!ctx.constant(1)) unsupported("requires a constant k");
}

TopKPlan top_k_prepare(Prepare& ctx) {
  std::vector<int64_t> x = ctx.shape(0).values();
  size_t axis = normalize_axis(ctx.attr<int64_t>("axis"), x.size());
  TopKPlan p{count_of(std::span(x).first(axis)),       x[axis],
             count_of(std::span(x).subspan(axis + 1)), ctx.constant(1).scalar<int64_t>(),
             ctx.attr<std::string>("mode") == "max",   ctx.attr<std::string>("sort") == "index"};
  if (p.k < 0 || p.k > p.n) fail("expected k of 0 to ", p.n, ", the size of the axis, got ", p.k);
  return p;
}

template <class T>
struct TopKEntry {
  T value;
  int64_t at;
};

// NaN is the largest value; equal elements keep their order.
template <bool largest, class T>
bool top_k_before(const TopKEntry<T>& a, const TopKEntry<T>& b) {
  if constexpr (std::is_floating_point_v<T>) {
    bool left = a.value != a.value, right = b.value != b.value;
    if (left != right) return left == largest;
    if (left) return a.at < b.at;
  }
  if (a.value != b.value) return largest ? a.value > b.value : a.value < b.value;
  return a.at < b.at;
}

template <bool largest, class T, class Index>
void top_k_line(const TopKPlan& p, const T* x, T* values, Index* indices) {
  thread_local std::vector<TopKEntry<T>> entries;
  auto before = top_k_before<largest, T>;
  if (p.k == 1) {
    TopKEntry<T> best{x[0], 0};
    for (int64_t i = 1; i < p.n; ++i)
      if (TopKEntry<T> e{x[i * p.inner], i}; before(e, best)) best = e;
    if (values) *values = best.value;
    if (indices) *indices = static_cast<Index>(best.at);
    return;
  }
  entries.resize(static_cast<size_t>(p.n));
  for (int64_t i = 0; i < p.n; ++i) entries[static_cast<size_t>(i)] = {x[i * p.inner], i};
  auto last = entries.begin() + p.k;
  if (last != entries.end()) std::nth_element(entries.begin(), last, entries.end(), before);
  if (p.by_index) std::sort(entries.begin(), last, [](const auto& a, const auto& b) { return a.at < b.at; });
  else std::sort(entries.begin(), last, before);
  for (int64_t j = 0; j < p.k; ++j) {
    const TopKEntry<T>& e = entries[static_cast<size_t>(j)];
    if (values) values[j * p.inner] = e.value;
    if (indices) indices[j * p.inner] = static_cast<Index>(e.at);
  }
}

template <class T, class Index>
void top_k_lines(Run& ctx, const TopKPlan& p) {
  const auto* x = static_cast<const T*>(ctx.input(0).raw()->data);
  auto* values = ctx.output_used(0) ? static_cast<T*>(ctx.output(0).raw()->data) : nullptr;
  auto* indices = ctx.output_used(1) ? static_cast<Index*>(ctx.output(1).raw()->data) : nullptr;
  auto line = p.largest ? top_k_line<true, T, Index> : top_k_line<false, T, Index>;
  int64_t grain = std::max<int64_t>(1, 4096 / p.n);
  ctx.parallel_for(p.outer * p.inner, grain, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      int64_t o = t / p.inner, i = t % p.inner, to = o * p.k * p.inner + i;
      line(p, x + o * p.n * p.inner + i, values ? values + to : nullptr, indices ? indices + to : nullptr);
    }
  });
}

void top_k_run(Run& ctx, const TopKPlan& p) {
  if (p.k == 0 || p.outer * p.inner == 0) return;
  bool wide = ctx.output(1).type() == DType::i64;
  switch (ctx.input(0).type()) {
    case DType::f32: return wide ? top_k_lines<float, int64_t>(ctx, p) : top_k_lines<float, int32_t>(ctx, p);
    case DType::i32: return wide ? top_k_lines<int32_t, int64_t>(ctx, p) : top_k_lines<int32_t, int32_t>(ctx, p);
    default: return wide ? top_k_lines<int64_t, int64_t>(ctx, p) : top_k_lines<int64_t, int32_t>(ctx, p);
  }
}

}  // namespace

Definitions cpu_top_k() {
  return Kernel("CPU", "lines").of("TopK", since(1)).accept(top_k_accept).run(top_k_prepare, top_k_run);
}

}  // namespace graft
