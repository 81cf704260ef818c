// One panel of output channels of a convolution of bytes, for a row of positions.
//
// As in convolution_direct.cpp, a tile of results stays in registers while the taps and the input channels pass by,
// four input channels at a time: each step takes two vectors of weights and four bytes of input per position. Where the
// processor multiplies four pairs of bytes at once (VNNI) it does so; elsewhere the bytes are widened. The sums are
// exact.
#include "quantized.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "convolution_quantized_line.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.
#include <hwy/highway.h>

#include "quantized-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace graft::HWY_NAMESPACE {
namespace {

using DI = hn::ScalableTag<int32_t>;
using VI = hn::Vec<DI>;
constexpr int64_t lanes = static_cast<int64_t>(hn::MaxLanes(DI()));
constexpr int64_t panel = 2 * lanes;
#if HWY_TARGET <= HWY_AVX3
constexpr int64_t most_rows = 14;
#else
constexpr int64_t most_rows = 4;
#endif

// Adds the products of four bytes with four weights per column.
#if HWY_TARGET == HWY_SCALAR
struct Widened {
  using Weights = const int8_t*;
  static HWY_INLINE Weights weights(const int8_t* w) { return w; }
  static HWY_INLINE VI add(VI sum, uint32_t x, Weights w) {
    int32_t products = 0;
    for (int i = 0; i < 4; ++i) products += static_cast<int32_t>(x >> (8 * i) & 255) * w[i];
    return hn::Add(sum, hn::Set(DI(), products));
  }
};
#else
using D16 = hn::Repartition<int16_t, DI>;
struct Widened {
  struct Weights {
    hn::Vec<D16> even, odd;
  };
  static HWY_INLINE Weights weights(const int8_t* w) {
    const D16 d;
    const auto both = hn::BitCast(d, hn::Load(DI(), reinterpret_cast<const int32_t*>(w)));
    return {hn::ShiftRight<8>(hn::ShiftLeft<8>(both)), hn::ShiftRight<8>(both)};
  }
  static HWY_INLINE VI add(VI sum, uint32_t x, const Weights& w) {
    const DI d;
    const auto even = hn::BitCast(D16(), hn::Set(d, static_cast<int32_t>(x & 0x00ff00ffu)));
    const auto odd = hn::BitCast(D16(), hn::Set(d, static_cast<int32_t>(x >> 8 & 0x00ff00ffu)));
    VI unused = hn::Zero(d);
    sum = hn::ReorderWidenMulAccumulate(d, even, w.even, sum, unused);
    sum = hn::ReorderWidenMulAccumulate(d, odd, w.odd, sum, unused);
    return hn::Add(sum, unused);
  }
};
#endif

#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
// The instruction is not among those of the target, so it is written out; the caller has asked the processor for it.
struct Vnni {
  using Weights = VI;
  static HWY_INLINE Weights weights(const int8_t* w) { return hn::Load(DI(), reinterpret_cast<const int32_t*>(w)); }
  static HWY_INLINE VI add(VI sum, uint32_t x, const Weights& w) {
    const VI value = hn::Set(DI(), static_cast<int32_t>(x));
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(value.raw), "v"(w.raw));
    return sum;
  }
};
#endif

// The end of a tile whose sums were stored.
using TileEnd = void (*)(const QuantizedJob& j, const int32_t* sums, int64_t at, int64_t rows, int64_t vectors);
template <bool rounds, class Sum, class Y>
void end_tile(const QuantizedJob& j, const int32_t* sums, int64_t at, int64_t rows, int64_t vectors) {
  const End<rounds, Sum, Y> end(*j.end);
  for (int64_t v = 0; v < vectors; ++v) {
    const auto scale = hn::LoadU(D(), j.scale + v * lanes), bias = hn::LoadU(D(), j.bias + v * lanes);
    int64_t columns = std::min(lanes, j.columns - v * lanes), to = at * j.y_step + v * lanes;
    for (int64_t r = 0; r < rows; ++r, to += j.y_step) {
      const V x = hn::ConvertTo(D(), hn::Load(DI(), sums + (r * vectors + v) * lanes));
      end.finish(hn::MulAdd(x, scale, bias), j.at, to, columns);
    }
  }
}
template <bool rounds, class Sum>
TileEnd end_of(const QuantizedJob& j) {
  return j.at.y8 ? end_tile<rounds, Sum, uint8_t> : end_tile<rounds, Sum, float>;
}
template <bool rounds>
TileEnd end_of(const QuantizedJob& j) {
  if (j.at.sum8) return end_of<rounds, uint8_t>(j);
  return j.at.sum ? end_of<rounds, float>(j) : end_of<rounds, void>(j);
}
TileEnd end_of(const QuantizedJob& j) { return j.end->level_factor > 0 ? end_of<true>(j) : end_of<false>(j); }

struct Stored {
  TileEnd end;

  template <int64_t rows>
  HWY_INLINE void begin(const QuantizedJob&, int64_t) const {}
  template <int64_t rows, int64_t vectors>
  HWY_INLINE void operator()(const QuantizedJob& j, const VI (&sums)[rows][vectors], int64_t at) const {
    HWY_ALIGN int32_t done[rows * vectors * lanes];
#pragma GCC unroll 16
    for (int64_t r = 0; r < rows; ++r)
#pragma GCC unroll 2
      for (int64_t v = 0; v < vectors; ++v) hn::Store(sums[r][v], DI(), done + (r * vectors + v) * lanes);
    end(j, done, at, rows, vectors);
  }
};

#if HWY_TARGET <= HWY_AVX2 && HWY_ARCH_X86
using D8 = hn::Repartition<uint8_t, DI>;
using Half8 = hn::Half<D8>;
// Both round halves to even and saturate; the numbers have to be within i32.
#if HWY_TARGET <= HWY_AVX3
HWY_INLINE VI nearest(V x) { return VI{_mm512_cvtps_epi32(x.raw)}; }
HWY_INLINE hn::Vec<D8> packed_twice(hn::Vec<D16> x) { return hn::Vec<D8>{_mm512_packus_epi16(x.raw, x.raw)}; }
#else
HWY_INLINE VI nearest(V x) { return VI{_mm256_cvtps_epi32(x.raw)}; }
HWY_INLINE hn::Vec<D8> packed_twice(hn::Vec<D16> x) { return hn::Vec<D8>{_mm256_packus_epi16(x.raw, x.raw)}; }
#endif

// The end of whole panels that give bytes with a factor of one (QuantizedNumbers::levels): the bounds are those of the
// bytes, so two vectors are packed with saturation first.
template <bool rounds, bool sum>
class Levels {
 public:
  static constexpr bool adds = sum;
  explicit HWY_INLINE Levels(const QuantizedJob& j)
      : scale_{hn::LoadU(D(), j.scale), hn::LoadU(D(), j.scale + lanes)},
        bias_{hn::LoadU(D(), j.bias), hn::LoadU(D(), j.bias + lanes)},
        level_low_(hn::Set(D(), j.end->level_low)),
        level_high_(hn::Set(D(), j.end->level_high)),
        level_step_(hn::Set(D(), j.end->level_step)),
        sum_zero_(hn::Set(DI(), static_cast<int32_t>(j.end->sum_zero))),
        sum_scale_(hn::Set(D(), j.end->sum_scale)),
        zero_(hn::Set(D16(), static_cast<int16_t>(j.end->zero))),
        low_(hn::Set(Half8(), j.end->low_byte)),
        high_(hn::Set(Half8(), j.end->high_byte)),
        order_(hn::Load(DI(), in_order)) {}

  HWY_INLINE void finish(const VI (&sums)[2], const uint8_t* sum8, uint8_t* to) const {
    const VI a = level<0>(sums[0], sum8), b = level<1>(sums[1], sum8);
    const auto words = hn::SaturatedAdd(hn::ReorderDemote2To(D16(), a, b), zero_);
    const auto bytes = hn::TableLookupLanes(hn::BitCast(DI(), packed_twice(words)), hn::IndicesFromVec(DI(), order_));
    const auto result = hn::LowerHalf(Half8(), hn::BitCast(D8(), bytes));
    hn::StoreU(hn::Min(hn::Max(result, low_), high_), Half8(), to);
  }

 private:
  // Instructions pack within 128 bits: four bytes of the first vector, then four of the second.
#if HWY_TARGET <= HWY_AVX3
  HWY_ALIGN static constexpr int32_t in_order[lanes] = {0, 4, 8, 12, 1, 5, 9, 13};
#else
  HWY_ALIGN static constexpr int32_t in_order[lanes] = {0, 4, 1, 5};
#endif

  template <int vector>
  HWY_INLINE VI level(VI sums, const uint8_t* sum8) const {
    V x = hn::MulAdd(hn::ConvertTo(D(), sums), scale_[vector], bias_[vector]);
    if constexpr (rounds) x = hn::Mul(hn::Min(hn::Max(hn::Round(x), level_low_), level_high_), level_step_);
    if constexpr (sum) {
      const auto bytes = hn::PromoteTo(DI(), hn::LoadU(DByte<uint8_t>(), sum8 + vector * lanes));
      x = hn::MulAdd(hn::ConvertTo(D(), hn::Sub(bytes, sum_zero_)), sum_scale_, x);
    }
    return nearest(x);
  }

  V scale_[2], bias_[2], level_low_, level_high_, level_step_, sum_scale_;
  VI sum_zero_, order_;
  hn::Vec<D16> zero_;
  hn::Vec<Half8> low_, high_;
};
// Its numbers are loaded after the sums are complete, which need all registers.
template <class Ends>
struct InLevels {
  template <int64_t rows>
  HWY_INLINE void begin(const QuantizedJob& j, int64_t at) const {
    const uint8_t* to = j.at.y8 + at * j.y_step;
    for (int64_t r = 0; r < rows; ++r) __builtin_prefetch(to + r * j.y_step, 1);
  }
  template <int64_t rows>
  HWY_INLINE void operator()(const QuantizedJob& j, const VI (&sums)[rows][2], int64_t at) const {
    const Ends ends(j);
    const uint8_t* sum8 = j.at.sum8 ? j.at.sum8 + at * j.y_step : nullptr;
    uint8_t* to = j.at.y8 + at * j.y_step;
#pragma GCC unroll 16
    for (int64_t r = 0; r < rows; ++r, to += j.y_step, sum8 += j.y_step) ends.finish(sums[r], sum8, to);
  }
};
template <class Ends>
void end_levels(const QuantizedJob& j, const int32_t* sums, int64_t at, int64_t rows, int64_t) {
  const Ends ends(j);
  for (int64_t r = 0; r < rows; ++r) {
    const VI row[2] = {hn::Load(DI(), sums + r * panel), hn::Load(DI(), sums + r * panel + lanes)};
    int64_t to = (at + r) * j.y_step;
    ends.finish(row, j.at.sum8 ? j.at.sum8 + to : nullptr, j.at.y8 + to);
  }
}
#endif

// From weights to what is prefetched at that step: every other line of the next panel, the next tile takes the others.
HWY_INLINE int64_t distance_ahead(const QuantizedJob& j, int64_t tiles_before) {
  constexpr int64_t cache_line = 64;
  return j.next - j.w + tiles_before % 2 * cache_line;
}

// Adds the products of four bytes of every row.
template <class Dot, int64_t rows, int64_t vectors>
HWY_INLINE void add_step(const int8_t* HWY_RESTRICT w, const uint8_t* HWY_RESTRICT x, int64_t step,
                         VI (&sums)[rows][vectors]) {
  typename Dot::Weights weight[vectors];
#pragma GCC unroll 2
  for (int64_t v = 0; v < vectors; ++v) weight[v] = Dot::weights(w + v * lanes * 4);
#pragma GCC unroll 16
  for (int64_t r = 0; r < rows; ++r) {
    uint32_t value;
    std::memcpy(&value, x + r * step, 4);
#pragma GCC unroll 2
    for (int64_t v = 0; v < vectors; ++v) sums[r][v] = Dot::add(sums[r][v], value, weight[v]);
  }
}

template <class Dot, int64_t rows, int64_t vectors, class Ends>
HWY_NOINLINE void tile(const QuantizedJob& j, int64_t at, const Ends& end) {
  const DI d;
  end.template begin<rows>(j, at);
  VI sums[rows][vectors];
#pragma GCC unroll 2
  for (int64_t v = 0; v < vectors; ++v) {
    const VI start = hn::LoadU(d, j.start + v * lanes);
#pragma GCC unroll 16
    for (int64_t r = 0; r < rows; ++r) sums[r][v] = start;
  }
  const int8_t* HWY_RESTRICT w = j.w;
  const int64_t step = j.x_step;
  const int64_t ahead = distance_ahead(j, at / rows);
  for (int64_t t = 0; t < j.runs; ++t) {
    const uint8_t* HWY_RESTRICT x = j.x + at * step + j.offsets[t];
    for (int64_t k = 0; k < j.run; ++k, w += panel * 4, x += 4) {
      if constexpr (rows > 1) __builtin_prefetch(w + ahead, 0, 2);
      add_step<Dot>(w, x, step, sums);
    }
  }
  end(j, sums, at);
}

template <class Dot, int64_t vectors, int64_t... r>
void rest(const QuantizedJob& j, int64_t at, const Stored& end, std::integer_sequence<int64_t, r...>) {
  ((j.count - at == r + 1 ? tile<Dot, r + 1, vectors>(j, at, end) : void()), ...);
}

// Whole tiles with `end`, the rest with `rest_end`.
template <class Dot, int64_t vectors, class Ends>
void line(const QuantizedJob& j, const Ends& end, const Stored& rest_end) {
  int64_t at = 0;
  for (; at + most_rows <= j.count; at += most_rows) tile<Dot, most_rows, vectors>(j, at, end);
  if (at < j.count) rest<Dot, vectors>(j, at, rest_end, std::make_integer_sequence<int64_t, most_rows - 1>());
}

#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
// Rows that leave some registers free.
constexpr int64_t flowing_rows = 12;

// A tile that ends a row of the tile before in each of its first steps: multiplications occupy two of the four units
// for vectors, the end takes mostly the others. The sums are kept for the next tile.
template <class Dot, class Ends, bool first>
HWY_NOINLINE void flowing_tile(const QuantizedJob& j, int64_t at, const Ends* ends, int32_t* kept) {
  const DI d;
  VI sums[flowing_rows][2];
#pragma GCC unroll 2
  for (int64_t v = 0; v < 2; ++v) {
    const VI start = hn::LoadU(d, j.start + v * lanes);
#pragma GCC unroll 16
    for (int64_t r = 0; r < flowing_rows; ++r) sums[r][v] = start;
  }
  const int8_t* HWY_RESTRICT w = j.w;
  const uint8_t* HWY_RESTRICT x = j.x + at * j.x_step + j.offsets[0];
  const int64_t ahead = distance_ahead(j, at / flowing_rows);
  int64_t step = j.x_step, k = 0;
  if constexpr (!first) {
    const uint8_t* sum8 = j.at.sum8 ? j.at.sum8 + (at - flowing_rows) * j.y_step : nullptr;
    uint8_t* to = j.at.y8 + (at - flowing_rows) * j.y_step;
    for (; k < flowing_rows; ++k, w += panel * 4, x += 4, to += j.y_step, sum8 += j.y_step) {
      __builtin_prefetch(w + ahead, 0, 2);
      __builtin_prefetch(to + flowing_rows * j.y_step, 1);
      add_step<Dot>(w, x, step, sums);
      __asm__("" : "+r"(ends));  // its numbers stay in memory, the sums need the registers
      const VI row[2] = {hn::Load(d, kept + k * panel), hn::Load(d, kept + k * panel + lanes)};
      ends->finish(row, sum8, to);
    }
  }
  for (; k < j.run; ++k, w += panel * 4, x += 4) {
    __builtin_prefetch(w + ahead, 0, 2);
    add_step<Dot>(w, x, step, sums);
  }
#pragma GCC unroll 16
  for (int64_t r = 0; r < flowing_rows; ++r) {
    hn::Store(sums[r][0], d, kept + r * panel);
    hn::Store(sums[r][1], d, kept + r * panel + lanes);
  }
}

template <class Dot, class Ends>
void flowing_line(const QuantizedJob& j) {
  const Ends ends(j);
  HWY_ALIGN int32_t kept[flowing_rows * panel];
  int64_t at = flowing_rows;
  flowing_tile<Dot, Ends, true>(j, 0, &ends, kept);
  for (; at + flowing_rows <= j.count; at += flowing_rows) flowing_tile<Dot, Ends, false>(j, at, &ends, kept);
  end_levels<Ends>(j, kept, at - flowing_rows, flowing_rows, 2);
  if (at < j.count)
    rest<Dot, 2>(j, at, Stored{end_levels<Ends>}, std::make_integer_sequence<int64_t, flowing_rows - 1>());
}
#endif

#if HWY_TARGET <= HWY_AVX2 && HWY_ARCH_X86
template <class Dot, class Ends>
void level_line(const QuantizedJob& j) {
#if HWY_TARGET <= HWY_AVX3
  constexpr int64_t short_run = Ends::adds ? 64 : 32;  // in longer ones the end takes little time
  if constexpr (std::is_same_v<Dot, Vnni>)
    if (j.runs == 1 && j.run >= flowing_rows && j.run <= short_run && j.count >= 4 * flowing_rows)
      return flowing_line<Dot, Ends>(j);
#endif
  line<Dot, 2>(j, InLevels<Ends>(), Stored{end_levels<Ends>});
}
#endif

template <class Dot>
void lines(const QuantizedJob& j) {
#if HWY_TARGET <= HWY_AVX2 && HWY_ARCH_X86
  if (j.end->levels && j.columns == panel) {
    if (!j.at.sum8) return level_line<Dot, Levels<false, false>>(j);
    return j.end->level_factor > 0 ? level_line<Dot, Levels<true, true>>(j) : level_line<Dot, Levels<false, true>>(j);
  }
#endif
  const Stored end{end_of(j)};
  if (j.columns > lanes) line<Dot, 2>(j, end, end);
  else line<Dot, 1>(j, end, end);
}

}  // namespace

QuantizedLine quantized_line_here() {
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  if (__builtin_cpu_supports("avx512vnni")) return lines<Vnni>;
#endif
  return lines<Widened>;
}
int64_t quantized_panel_here() { return panel; }

}  // namespace graft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft {
namespace {

HWY_EXPORT(quantized_line_here);
HWY_EXPORT(quantized_panel_here);

}  // namespace

QuantizedLine quantized_line() { return HWY_DYNAMIC_DISPATCH(quantized_line_here)(); }
int64_t quantized_panel() {
  static const int64_t size = HWY_DYNAMIC_DISPATCH(quantized_panel_here)();
  return size;
}

}  // namespace graft
#endif
