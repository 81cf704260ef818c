#include <graft/op.hpp>

#include "pooling.hpp"

namespace graft {
namespace {

struct MaxPool1 : PoolAttributes {
  static constexpr std::tuple schema{strides_attr, pads_begin_attr, pads_end_attr,
                                     kernel_attr,  rounding_attr,   auto_pad_attr};
};
struct MaxPool : PoolAttributes {
  DType index_element_type = DType::i64;
  int64_t axis = 0;
  static constexpr std::tuple schema{
      strides_attr,
      dilations_attr,
      pads_begin_attr,
      pads_end_attr,
      kernel_attr,
      rounding_attr,
      auto_pad_attr,
      attr("index_element_type", &MaxPool::index_element_type, "element type of the indices, i64 or i32"),
      attr("axis", &MaxPool::axis, "first axis that the indices are flattened over")};
};

void max_pool_infer1(Infer& ctx, const MaxPool1& a) {
  if (a.rounding_type == Rounding::ceil_torch)
    fail("expected rounding_type 'floor' or 'ceil', got 'ceil_torch', which needs MaxPool of opset14");
  ctx.output(0, ctx.type(0), pool_shape(ctx, a));
}
void max_pool_infer(Infer& ctx, const MaxPool& a) {
  Shape out = pool_shape(ctx, a);
  normalize_axis(a.axis, out.rank());
  ctx.output(0, ctx.type(0), out);
  ctx.output(1, a.index_element_type, out);
}
void max_pool_infer8(Infer& ctx, const MaxPool& a) {
  if (a.rounding_type == Rounding::ceil_torch)
    fail("expected rounding_type 'floor' or 'ceil', got 'ceil_torch', which needs MaxPool of opset14");
  max_pool_infer(ctx, a);
}

// The result of an empty window: the lowest value of the type.
template <class T>
T least_value(DType type) {
  if constexpr (std::is_same_v<T, double>) {
    switch (type) {
      case DType::f64: return std::numeric_limits<double>::lowest();
      case DType::f32: return std::numeric_limits<float>::lowest();
      case DType::f16: return -65504;
      case DType::bf16: return -0x1.fep127;
      default: return -std::numeric_limits<double>::infinity();
    }
  } else {
    return is_signed_integer(type) ? static_cast<T>(uint64_t{1} << 63) >> (64 - bits_of(type)) : T{};
  }
}

// `index` counts from `axis` on over the whole tensor; null if the indices are unused.
template <class T>
void maximum_pool(std::span<const T> x, int64_t planes, const WindowAxes& axes, T least, std::vector<T>& y,
                  std::vector<int64_t>* index, int64_t index_modulus) {
  for (int64_t p = 0; p < planes; ++p) {
    const T* from = x.data() + p * input_plane(axes);
    int64_t base = p * output_plane(axes), best_at = -1;
    T best = least;
    each_window(
        axes, [&](int64_t) { best_at = -1, best = least; },
        [&](int64_t at) {
          if (best_at < 0 || from[at] > best || (from[at] != from[at] && best == best)) best = from[at], best_at = at;
        },
        [&](int64_t at) {
          auto o = static_cast<size_t>(base + at);
          y[o] = best;
          if (index) (*index)[o] = (std::max<int64_t>(best_at, 0) + p * input_plane(axes)) % index_modulus;
        });
  }
}

void max_pool_any(Run& ctx, const PoolAttributes& a, bool indices, int64_t axis) {
  TensorView x = ctx.input(0);
  OutputView y = ctx.output(0);
  if (y.size() == 0) return;
  WindowAxes axes = window_axes(x.dims().subspan(2), y.dims().subspan(2), a.kernel, a);
  int64_t modulus = std::max<int64_t>(count_of(x.dims().subspan(normalize_axis(axis, x.rank()))), 1);
  std::vector<int64_t> index(indices ? static_cast<size_t>(y.size()) : 0);
  with_number_type(x.type(), [&]<class T>(T) {
    std::vector<T> in = x.to<T>(), out(static_cast<size_t>(y.size()));
    maximum_pool<T>(in, x.dim(0) * x.dim(1), axes, least_value<T>(x.type()), out, indices ? &index : nullptr, modulus);
    y.assign(out);
  });
  if (indices) ctx.output(1).assign(index);
}
void max_pool_run1(Run& ctx, const MaxPool1& a) { max_pool_any(ctx, a, false, 0); }
void max_pool_run(Run& ctx, const MaxPool& a) { max_pool_any(ctx, a, ctx.output_used(1), a.axis); }

// ---- earlier opsets ----

void max_pool_as_8(Rewrite& at) {
  if (auto rounding = earlier_rounding(at.node()))
    at.restate("MaxPool@8", {at.input(0)}, {}, {{"rounding_type", *rounding}});
}
// MaxPool-1 has no output for indices.
void max_pool_as_1(Rewrite& at) {
  if (all_ones(at.get<std::vector<int64_t>>("dilations", {})))
    at.restate("MaxPool@1", {at.input(0)}, {"dilations", "index_element_type", "axis"}, {}, 1);
}

}  // namespace

Definitions define_max_pool() {
  constexpr std::string_view doc = "Max pooling over a sliding window, with the index of each maximum";
  return {
      op<MaxPool1>("MaxPool", 1)
          .doc("Max pooling over a sliding window")
          .traits(Trait::channelwise, Trait::widens)
          .inputs("data")
          .infer(max_pool_infer1)
          .reference(max_pool_run1),
      op<MaxPool>("MaxPool", 8)
          .doc(doc)
          .traits(Trait::channelwise, Trait::widens)
          .inputs("data")
          .outputs("output, indices")
          .infer(max_pool_infer8)
          .reference(max_pool_run)
          .earlier(max_pool_as_1),
      op<MaxPool>("MaxPool", 14)
          .doc(doc)
          .traits(Trait::channelwise, Trait::widens)
          .inputs("data")
          .outputs("output, indices")
          .infer(max_pool_infer)
          .reference(max_pool_run)
          .earlier(max_pool_as_8),
  };
}

}  // namespace graft
