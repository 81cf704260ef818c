// Grouped convolution of tensors with the channels last, with few channels per group: as many inputs as outputs, and
// several groups in a vector.
//
// Each step multiplies a vector of weights by one input of each group, which is spread over the elements of its group:
// no product is computed that is not needed. Weights are packed once, by vector, tap and input.
#include "convolution_grouped.hpp"

#include "inside.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "convolution_grouped.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.
#include <hwy/highway.h>

#include "epilogue-inl.hpp"
#include "tile-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace graft::HWY_NAMESPACE {
namespace {
// Positions in a tile: as many as fit in the registers.
constexpr int64_t most_positions = HWY_TARGET <= HWY_AVX3 ? 8 : 4;

// Element i of each group, in all elements of the group.
template <int64_t group>
struct Spread {
  using Indices = decltype(hn::SetTableIndices(D(), static_cast<const int32_t*>(nullptr)));
  Indices of[group];
  Spread() {
    HWY_ALIGN int32_t from[lanes];
    for (int64_t i = 0; i < group; ++i) {
      for (int64_t l = 0; l < lanes; ++l) from[l] = static_cast<int32_t>(std::min(l / group * group + i, lanes - 1));
      of[i] = hn::SetTableIndices(D(), from);
    }
  }
};

// `count` positions from `at` on, channels [c, c + n).
template <int64_t group, int64_t count>
HWY_INLINE void grouped_tile(const GroupedRow& r, const Spread<group>& spread, int64_t c, int64_t n, int64_t at) {
  const D d;
  HWY_ALIGN static constexpr float zeros[lanes] = {};
  const WindowAxis &ay = *r.ay, &ax = *r.ax;
  const bool whole = n == lanes;
  const auto left = static_cast<size_t>(n);
  auto load = [&](const float* p) HWY_ATTR { return whole ? hn::LoadU(d, p) : load_first(d, p, left); };
  V sums[count];
  const V bias = r.bias ? load(r.bias + c) : hn::Zero(d);
#pragma GCC unroll 16
  for (int64_t p = 0; p < count; ++p) sums[p] = bias;
  const auto [y0, y1] = ay.taps(r.oy);
  for (int64_t ty = y0; ty < y1; ++ty) {
    const float* line = r.x + (r.oy * ay.stride + ay.offset(ty)) * ax.input * r.channels + c;
    for (int64_t tx = 0; tx < ax.kernel; ++tx) {
      const float* w = r.w + (c * ay.kernel * ax.kernel + (ty * ax.kernel + tx) * lanes) * group;
      V values[count];
#pragma GCC unroll 16
      for (int64_t p = 0; p < count; ++p) {
        const int64_t ix = (at + p) * ax.stride + ax.offset(tx);
        values[p] = load(ix >= 0 && ix < ax.input ? line + ix * r.channels : zeros);
      }
#pragma GCC unroll 16
      for (int64_t i = 0; i < group; ++i) {
        const V weight = hn::Load(d, w + i * lanes);
#pragma GCC unroll 16
        for (int64_t p = 0; p < count; ++p)
          sums[p] = hn::MulAdd(hn::TableLookupLanes(values[p], spread.of[i]), weight, sums[p]);
      }
    }
  }
  const V low = hn::Set(d, r.low), high = hn::Set(d, r.high);
#pragma GCC unroll 16
  for (int64_t p = 0; p < count; ++p) {
    const int64_t to = (at + p) * r.channels + c;
    V v = sums[p];
    if (r.sum) v = hn::Add(v, load(r.sum + to));
    v = bounded(v, low, high);
    if (whole) hn::StoreU(v, d, r.y + to);
    else store_first(v, d, r.y + to, left);
  }
}

template <int64_t group>
void grouped_vectors(const GroupedRow& r) {
  const Spread<group> spread;
  for (int64_t c = 0; c < r.channels; c += lanes) {
    int64_t n = std::min(lanes, r.channels - c), at = 0, end = r.ax->output;
    for (; at + most_positions <= end; at += most_positions) grouped_tile<group, most_positions>(r, spread, c, n, at);
    for (; at + 2 <= end; at += 2) grouped_tile<group, 2>(r, spread, c, n, at);
    if (at < end) grouped_tile<group, 1>(r, spread, c, n, at);
  }
}

void grouped_row(const GroupedRow& r) {
  if (r.group == 2) return grouped_vectors<2>(r);
  if (r.group == 4) return grouped_vectors<4>(r);
  grouped_vectors<8>(r);
}

}  // namespace
GroupedFunctions grouped_functions() { return {grouped_row, lanes}; }

}  // namespace graft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft {
namespace {

HWY_EXPORT(grouped_functions);

const GroupedFunctions& grouped() {
  static const GroupedFunctions chosen = HWY_DYNAMIC_DISPATCH(grouped_functions)();
  return chosen;
}

struct GroupedWeights {
  Floats packed;
  Floats odd = {};  // as they are, if not all are finite
};

struct GroupedState {
  ConvolutionSizes sizes;
  const GroupedWeights* weights = nullptr;
  Epilogue epilogue;
};

void grouped_accept(Accept& ctx) {
  fused_accept(ctx);
  ConvolutionSizes s = image_sizes(ctx, ctx.attributes<FusedAttributes>());
  constexpr int64_t longest = 128;  // sum in a single chain
  if (!ctx.attributes<FusedAttributes>().grouped) unsupported("expected weights in groups");
  bool fits = s.inputs == 2 || s.inputs == 4 || s.inputs == 8;
  if (!fits || s.inputs != s.outputs) unsupported("expected 2, 4 or 8 input and output channels per group");
  if (s.inputs * 2 > grouped().lanes) unsupported("expected at least two groups in a vector");
  if (s.groups * s.inputs * 2 < grouped().lanes) unsupported("expected at least half a vector of channels");
  if (s.taps() * s.inputs > longest) unsupported("expected at most ", longest, " products, got ", s.taps() * s.inputs);
}

GroupedWeights grouped_pack(Pack& ctx) {
  TensorView w = ctx.take(1);
  if (!w) return {};
  int64_t group = w.dim(1), channels = w.dim(0) * group, lanes = grouped().lanes;
  int64_t taps = channels == 0 ? 0 : w.size() / (channels * group);
  auto size = static_cast<size_t>((channels + lanes - 1) / lanes * lanes * taps * group);
  GroupedWeights out{allocate_floats(size), not_finite(w)};
  std::fill_n(out.packed.get(), size, 0.0f);
  const float* from = w.data<float>();
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t i = 0; i < group; ++i)
      for (int64_t t = 0; t < taps; ++t)
        out.packed[static_cast<size_t>(((c / lanes * taps + t) * group + i) * lanes + c % lanes)] = *from++;
  return out;
}

GroupedState grouped_prepare(Prepare& ctx, const FusedAttributes& a) {
  GroupedState s{image_sizes(ctx, a), &ctx.packed<GroupedWeights>(), epilogue_of(ctx, a)};
  if (!s.weights->packed) unsupported("requires weights that are stored in the model");
  return s;
}

void grouped_run(Run& ctx, const FusedAttributes&, const GroupedState& s) {
  OutputView out = ctx.output(0);
  if (out.size() == 0) return;
  if (s.weights->odd) return fused_inside(ctx, s.epilogue, s.sizes, s.weights->odd.get());
  const WindowAxis &ay = s.sizes.axes[1], &ax = s.sizes.axes[2];
  const float* x = ctx.input(0).channels_last<const float>();
  const float* bias = ctx.has_input(2) ? ctx.input(2).data<const float>() : nullptr;
  const float* sum = ctx.has_input(3) ? ctx.input(3).channels_last<const float>() : nullptr;
  float* y = out.channels_last<float>();
  int64_t channels = s.sizes.groups * s.sizes.inputs, row = ax.output * channels,
          image = ay.input * ax.input * channels;
  int64_t work = std::max<int64_t>(1, row * s.sizes.taps() * s.sizes.inputs);
  ctx.parallel_for(s.sizes.batch * ay.output, std::max<int64_t>(1, (1 << 18) / work), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      grouped().row({&ay, &ax, s.sizes.inputs, channels, i % ay.output, x + i / ay.output * image,
                     s.weights->packed.get(), bias, sum ? sum + i * row : nullptr, y + i * row, s.epilogue.low,
                     s.epilogue.high});
      s.epilogue.activate(y + i * row, 1, 0, row);
    }
  });
}

}  // namespace

Definitions grouped_convolution() {
  return Kernel("CPU", "grouped_f32")
      .of(fused_convolution, "graft")
      .accept(grouped_accept)
      .layouts(fused_layouts())
      .pack(grouped_pack)
      .run(grouped_prepare, grouped_run);
}

}  // namespace graft
#endif
