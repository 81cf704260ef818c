// Winograd's transforms along one axis, for tiles of 2 and 4 results and windows of 3.
#include "math-inl.hpp"
#include "tile-inl.hpp"

#if defined(GRAFT_CPU_WINOGRAD_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef GRAFT_CPU_WINOGRAD_INL
#undef GRAFT_CPU_WINOGRAD_INL
#else
#define GRAFT_CPU_WINOGRAD_INL
#endif

HWY_BEFORE_NAMESPACE();
namespace graft::HWY_NAMESPACE {
namespace {

HWY_INLINE V constant(double v) { return hn::Set(D(), static_cast<float>(v)); }

// The transforms along one axis.
template <int64_t m>
struct Points;

template <>
struct Points<2> {  // 0, 1, -1, infinity
  static constexpr int64_t m = 2, side = 4;
  static HWY_INLINE void input(const V (&d)[side], V (&r)[side]) {
    r[0] = hn::Sub(d[0], d[2]);
    r[1] = hn::Add(d[1], d[2]);
    r[2] = hn::Sub(d[2], d[1]);
    r[3] = hn::Sub(d[3], d[1]);
  }
  static HWY_INLINE void weights(const V (&g)[3], V (&r)[side]) {
    const V half = constant(0.5), ends = hn::Mul(half, hn::Add(g[0], g[2])), middle = hn::Mul(half, g[1]);
    r[0] = g[0];
    r[1] = hn::Add(ends, middle);
    r[2] = hn::Sub(ends, middle);
    r[3] = g[2];
  }
  static HWY_INLINE void output(const V (&p)[side], V (&r)[m]) {
    r[0] = hn::Add(hn::Add(p[0], p[1]), p[2]);
    r[1] = hn::Add(hn::Sub(p[1], p[2]), p[3]);
  }
  // Calls row(i, elements) with the transforms of the columns; load(i, j) gives an element of the tile.
  template <class Load, class Row>
  static HWY_INLINE void input_rows(Load load, Row row) {
    V r[side][side];
#pragma GCC unroll 4
    for (int64_t j = 0; j < side; ++j) {
      const V d[side] = {load(0, j), load(1, j), load(2, j), load(3, j)};
      V c[side];
      input(d, c);
#pragma GCC unroll 4
      for (int64_t i = 0; i < side; ++i) r[i][j] = c[i];
    }
#pragma GCC unroll 4
    for (int64_t i = 0; i < side; ++i) row(i, r[i]);
  }
};

template <>
struct Points<4> {  // 0, a, -a, b, -b, infinity
  static constexpr int64_t m = 4, side = 6;
  static constexpr double a = 0.70710678118654752, b = 1.4142135623730951, aa = 0.5, bb = 2;

  // At the points p and -p, where qq is the square of the other pair.
  static HWY_INLINE void pair(V d1, V d2, V d3, V d4, double p, double qq, V& plus, V& minus) {
    const V even = hn::NegMulAdd(constant(qq), d2, d4);
    const V odd = hn::Mul(constant(p), hn::NegMulAdd(constant(qq), d1, d3));
    plus = hn::Add(even, odd);
    minus = hn::Sub(even, odd);
  }
  // At 0 and at infinity. The product of aa and bb is 1.
  static HWY_INLINE V end(V d0, V d2, V d4) { return hn::Add(d0, hn::NegMulAdd(constant(aa + bb), d2, d4)); }

  static HWY_INLINE void input(const V (&d)[side], V (&r)[side]) {
    r[0] = end(d[0], d[2], d[4]);
    pair(d[1], d[2], d[3], d[4], a, bb, r[1], r[2]);
    pair(d[1], d[2], d[3], d[4], b, aa, r[3], r[4]);
    r[5] = end(d[1], d[3], d[5]);
  }
  static HWY_INLINE void weights(const V (&g)[3], V (&r)[side]) {
    constexpr double na = 2 * aa * (aa - bb), nb = 2 * bb * (bb - aa);
    auto at = [&](double p, double pp, double n, V& plus, V& minus) {
      const V even = hn::MulAdd(constant(pp / n), g[2], hn::Mul(constant(1 / n), g[0]));
      const V odd = hn::Mul(constant(p / n), g[1]);
      plus = hn::Add(even, odd);
      minus = hn::Sub(even, odd);
    };
    r[0] = g[0];
    at(a, aa, na, r[1], r[2]);
    at(b, bb, nb, r[3], r[4]);
    r[5] = g[2];
  }
  static HWY_INLINE void output(const V (&p)[side], V (&r)[m]) {
    const V sa = hn::Add(p[1], p[2]), da = hn::Sub(p[1], p[2]);
    const V sb = hn::Add(p[3], p[4]), db = hn::Sub(p[3], p[4]);
    r[0] = hn::Add(p[0], hn::Add(sa, sb));
    r[1] = hn::MulAdd(constant(a), da, hn::Mul(constant(b), db));
    r[2] = hn::MulAdd(constant(aa), sa, hn::Mul(constant(bb), sb));
    r[3] = hn::MulAdd(constant(a * aa), da, hn::MulAdd(constant(b * bb), db, p[5]));
  }
  // Two rows at a time, so that everything stays in registers.
  template <class Load, class Row>
  static HWY_INLINE void input_rows(Load load, Row row) {
    V first[side], second[side];
    auto both = [&](int64_t i, double p, double qq) {
#pragma GCC unroll 6
      for (int64_t j = 0; j < side; ++j)
        pair(load(1, j), load(2, j), load(3, j), load(4, j), p, qq, first[j], second[j]);
      row(i, first);
      row(i + 1, second);
    };
    both(1, a, bb);
    both(3, b, aa);
#pragma GCC unroll 6
    for (int64_t j = 0; j < side; ++j) first[j] = end(load(0, j), load(2, j), load(4, j));
    row(0, first);
#pragma GCC unroll 6
    for (int64_t j = 0; j < side; ++j) second[j] = end(load(1, j), load(3, j), load(5, j));
    row(5, second);
  }
};

// A vector of output channels: taps `step` apart to points `plane` apart.
template <int64_t m>
void weights_vector(const float* from, int64_t step, float* to, int64_t plane) {
  using P = Points<m>;
  const D d;
  V lines[P::side][3];
#pragma GCC unroll 3
  for (int64_t j = 0; j < 3; ++j) {
    const V g[3] = {hn::LoadU(d, from + j * step), hn::LoadU(d, from + (3 + j) * step),
                    hn::LoadU(d, from + (6 + j) * step)};
    V column[P::side];
    P::weights(g, column);
#pragma GCC unroll 6
    for (int64_t i = 0; i < P::side; ++i) lines[i][j] = column[i];
  }
#pragma GCC unroll 6
  for (int64_t i = 0; i < P::side; ++i) {
    V r[P::side];
    P::weights(lines[i], r);
#pragma GCC unroll 6
    for (int64_t j = 0; j < P::side; ++j) hn::StoreU(r[j], d, to + (i * P::side + j) * plane);
  }
}

}  // namespace
}  // namespace graft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
