// Weights of convolutions of bytes, in the order in which they are multiplied.
#include "quantized.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "convolution_quantized_pack.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace graft::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR
using Words = hn::FixedTag<uint32_t, 4>;
using V4 = hn::Vec<Words>;

// Units of four columns: x[i] has four units of column i, and each goes to a vector of its own.
HWY_INLINE void store_units(V4 x0, V4 x1, V4 x2, V4 x3, int8_t* to, int64_t step) {
  const Words d;
  auto store = [&](V4 v, int64_t i) HWY_ATTR { hn::StoreU(v, d, reinterpret_cast<uint32_t*>(to + i * step)); };
  const auto even = hn::InterleaveLower(d, x0, x2), odd = hn::InterleaveLower(d, x1, x3);
  const auto even2 = hn::InterleaveUpper(d, x0, x2), odd2 = hn::InterleaveUpper(d, x1, x3);
  store(hn::InterleaveLower(d, even, odd), 0);
  store(hn::InterleaveUpper(d, even, odd), 1);
  store(hn::InterleaveLower(d, even2, odd2), 2);
  store(hn::InterleaveUpper(d, even2, odd2), 3);
}

// The units of the taps 0 to 3 and 4 to 7 of nine, of four inputs.
HWY_INLINE void load_taps(const int8_t* from, V4& low, V4& high) {
  const hn::FixedTag<uint8_t, 16> d;
  const hn::FixedTag<uint16_t, 8> d16;
  auto load = [&](int64_t i) HWY_ATTR {
    return hn::ZeroExtendVector(d,
                                hn::LoadU(hn::FixedTag<uint8_t, 8>(), reinterpret_cast<const uint8_t*>(from) + i * 9));
  };
  const auto a = hn::BitCast(d16, hn::InterleaveLower(d, load(0), load(1)));
  const auto b = hn::BitCast(d16, hn::InterleaveLower(d, load(2), load(3)));
  low = hn::BitCast(Words(), hn::InterleaveLower(d16, a, b));
  high = hn::BitCast(Words(), hn::InterleaveUpper(d16, a, b));
}
#endif

}  // namespace

// Packs whole panels of `nr` columns with one tap; the inputs are a multiple of 16.
void pack_points(const int8_t* from, int64_t inputs, int64_t nr, int8_t* to) {
#if HWY_TARGET != HWY_SCALAR
  constexpr int64_t block = 256;  // inputs: what is read and written stays in the cache
  for (int64_t first = 0; first < inputs; first += block)
    for (int64_t c = 0; c < nr; c += 4)
      for (int64_t i = first; i < std::min(first + block, inputs); i += 16) {
        auto load = [&](int64_t n) HWY_ATTR {
          return hn::LoadU(Words(), reinterpret_cast<const uint32_t*>(from + (c + n) * inputs + i));
        };
        store_units(load(0), load(1), load(2), load(3), to + i * nr + c * quantized_unit, nr * quantized_unit);
      }
#else
  (void)from, (void)inputs, (void)nr, (void)to;
#endif
}

// The same with nine taps; the inputs are whole units.
void pack_nines(const int8_t* from, int64_t inputs, int64_t nr, int8_t* to) {
#if HWY_TARGET != HWY_SCALAR
  constexpr int64_t block = 64, taps = 9;
  for (int64_t first = 0; first < inputs; first += block)
    for (int64_t c = 0; c < nr; c += 4)
      for (int64_t i = first; i < std::min(first + block, inputs); i += quantized_unit) {
        V4 low[4], high[4];
        int8_t* at = to + i * nr + c * quantized_unit;
        for (int64_t n = 0; n < 4; ++n) {
          const int8_t* column = from + ((c + n) * inputs + i) * taps;
          load_taps(column, low[n], high[n]);
          for (int64_t k = 0; k < quantized_unit; ++k)
            at[8 * inputs * nr + n * quantized_unit + k] = column[k * taps + 8];
        }
        store_units(low[0], low[1], low[2], low[3], at, inputs * nr);
        store_units(high[0], high[1], high[2], high[3], at + 4 * inputs * nr, inputs * nr);
      }
#else
  (void)from, (void)inputs, (void)nr, (void)to;
#endif
}
bool packs_vectors() { return HWY_TARGET != HWY_SCALAR; }

int32_t sum_of_bytes(const int8_t* x, int64_t n) {
  int64_t i = 0, sum = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<uint8_t> d;
  const hn::Repartition<uint64_t, decltype(d)> wide;
  constexpr auto step = static_cast<int64_t>(hn::MaxLanes(d));
  constexpr int64_t shift = 128;  // instructions add unsigned bytes
  auto sums = hn::Zero(wide);
  for (; i + step <= n; i += step) {
    const auto bytes = hn::LoadU(d, reinterpret_cast<const uint8_t*>(x) + i);
    sums = hn::Add(sums, hn::SumsOf8(hn::Xor(bytes, hn::Set(d, shift))));
  }
  sum = static_cast<int64_t>(hn::GetLane(hn::SumOfLanes(wide, sums))) - i * shift;
#endif
  for (; i < n; ++i) sum += x[i];
  return static_cast<int32_t>(sum);
}

}  // namespace graft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft {
namespace {

HWY_EXPORT(pack_points);
HWY_EXPORT(pack_nines);
HWY_EXPORT(packs_vectors);
HWY_EXPORT(sum_of_bytes);

constexpr int64_t unit = quantized_unit;

// Byte by byte, with zeros where there are no weights.
void pack_any(const QuantizedWeights& w, const int8_t* from, int64_t columns, int64_t taps, int8_t* to) {
  int64_t nr = quantized_panel(), taps_per_run = taps / w.runs;
  std::fill(to, to + w.depth * nr, int8_t{0});
  for (int64_t r = 0; r < w.runs; ++r)
    for (int64_t t = 0; t < taps_per_run; ++t)
      for (int64_t i = 0; i < w.inputs; ++i) {
        int64_t at = r * w.run + t * w.inputs + i;
        const int8_t* x = from + i * taps + r * taps_per_run + t;
        for (int64_t c = 0; c < columns; ++c) to[(at / unit * nr + c) * unit + at % unit] = x[c * w.inputs * taps];
      }
}

void pack_panel(const QuantizedWeights& w, const int8_t* from, int64_t columns, int64_t taps, int8_t* to) {
  int64_t nr = quantized_panel();
  bool whole = columns == nr && HWY_DYNAMIC_DISPATCH(packs_vectors)();
  if (whole && taps == 1 && w.inputs % (4 * unit) == 0) HWY_DYNAMIC_DISPATCH(pack_points)(from, w.inputs, nr, to);
  else if (whole && taps == 9 && w.inputs % unit == 0) HWY_DYNAMIC_DISPATCH(pack_nines)(from, w.inputs, nr, to);
  else pack_any(w, from, columns, taps, to);
}

}  // namespace

QuantizedWeights quantized_pack(Pack& ctx) {
  TensorView w = ctx.take(1);
  if (!w || w.size() == 0) return {};
  bool grouped = ctx.attr<bool>("grouped");
  size_t leading = grouped ? 3 : 2;
  auto dilations = ctx.attr<std::vector<int64_t>>("dilations");
  int64_t nr = quantized_panel();
  QuantizedWeights out;
  out.groups = grouped ? w.dim(0) : 1, out.outputs = w.dim(leading - 2), out.inputs = w.dim(leading - 1);
  out.panels = (out.outputs + nr - 1) / nr;
  int64_t taps = w.size() / (out.groups * out.outputs * out.inputs);
  int64_t columns = w.dims().size() > leading ? w.dim(w.dims().size() - 1) : 1;
  out.rows = out.groups == 1 && (dilations.empty() || dilations.back() == 1);
  out.runs = out.rows ? taps / columns : taps;
  out.run = whole_quantized_units(taps / out.runs * out.inputs);
  out.depth = out.runs * out.run;
  out.packed = hwy::AllocateAligned<int8_t>(static_cast<size_t>(out.groups * out.panels * out.depth * nr));
  if (!out.packed) throw std::bad_alloc();
  const int8_t* from = w.data<int8_t>();
  int64_t column_step = out.inputs * taps;
  for (int64_t g = 0; g < out.groups; ++g)
    for (int64_t p = 0; p < out.panels; ++p) {
      int64_t existing = std::min(nr, out.outputs - p * nr);
      const int8_t* panel = from + (g * out.outputs + p * nr) * column_step;
      pack_panel(out, panel, existing, taps, out.packed.get() + (g * out.panels + p) * out.depth * nr);
      for (int64_t c = 0; c < nr; ++c)
        out.sums.push_back(c < existing ? HWY_DYNAMIC_DISPATCH(sum_of_bytes)(panel + c * column_step, column_step) : 0);
    }
  return out;
}

}  // namespace graft
#endif
