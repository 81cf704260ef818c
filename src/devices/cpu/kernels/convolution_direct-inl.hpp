// The register tile of the direct convolution.
#include "convolution_direct.hpp"
#include "epilogue-inl.hpp"
#include "tile-inl.hpp"

#if defined(GRAFT_CPU_DIRECT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef GRAFT_CPU_DIRECT_INL
#undef GRAFT_CPU_DIRECT_INL
#else
#define GRAFT_CPU_DIRECT_INL
#endif

HWY_BEFORE_NAMESPACE();
namespace graft::HWY_NAMESPACE {
namespace {

// Positions in a tile. 14 divides the image sizes of most networks.
constexpr int64_t most_rows = tile_rows_of(14);

// How the columns of a panel are accessed: all of them, or only those that exist.
struct Full {
  HWY_INLINE V load(const float* p, int64_t) const { return hn::LoadU(D(), p); }
  HWY_INLINE void store(V v, float* p, int64_t) const { hn::StoreU(v, D(), p); }
};
struct Partial {
  int64_t columns;
  size_t left(int64_t vector) const {
    return static_cast<size_t>(std::clamp<int64_t>(columns - vector * lanes, 0, lanes));
  }
  HWY_INLINE V load(const float* p, int64_t vector) const { return load_first(D(), p, left(vector)); }
  HWY_INLINE void store(V v, float* p, int64_t vector) const { store_first(v, D(), p, left(vector)); }
};

// What is added at the end of a tile is fetched at its beginning, into the second cache: rows may compete for the lines
// of the first.
template <int64_t rows, int64_t vectors>
HWY_INLINE void fetch_sum(const DirectJob& j, int64_t to) {
#pragma GCC unroll 16
  for (int64_t r = 0; r < rows; ++r)
#pragma GCC unroll 2
    for (int64_t v = 0; v < vectors; ++v) __builtin_prefetch(j.sum + to + r * j.y_step + v * lanes, 0, 2);
}

// Whether all sums are finite: anything else times 0 is NaN.
template <int64_t rows, int64_t vectors>
HWY_INLINE bool finite_sums(const V (&sums)[rows][vectors]) {
  const D d;
  V zero = hn::Zero(d);
#pragma GCC unroll 16
  for (int64_t r = 0; r < rows; ++r)
#pragma GCC unroll 2
    for (int64_t v = 0; v < vectors; ++v) zero = hn::MulAdd(sums[r][v], hn::Zero(d), zero);
  return hn::AllTrue(d, hn::Eq(zero, hn::Zero(d)));
}

template <int64_t rows, int64_t vectors, bool ahead, class Access>
void tile(const DirectJob& j, int64_t at, Access access) {
  const D d;
  V sums[rows][vectors];
#pragma GCC unroll 2
  for (int64_t v = 0; v < vectors; ++v) {
    const V bias = j.bias ? access.load(j.bias + v * lanes, v) : hn::Zero(d);
#pragma GCC unroll 16
    for (int64_t r = 0; r < rows; ++r) sums[r][v] = bias;
  }
  const float* HWY_RESTRICT w = j.w;
  const int64_t step = j.x_step, to = at * j.y_step;
  if (j.sum) fetch_sum<rows, vectors>(j, to);
  // This tile's share of the weights that are needed later.
  const int64_t work = j.count * j.runs * j.run;  // 0: no part of the window is inside the input
  const int64_t stride = work ? rows * j.next_size / work : 0;
  const float* next = j.next + at * j.next_size / j.count;
  Chains<rows, vectors> chains;
  int64_t left = longest_chain;
  for (int64_t t = 0; t < j.runs; ++t) {
    const float* HWY_RESTRICT x = j.x + at * step + j.offsets[t];
    for (int64_t done = 0; done < j.run;) {
      if (left == 0) chains.set_aside(sums), left = longest_chain;
      const int64_t n = std::min(j.run - done, left);
      done += n, left -= n;
      for (int64_t k = 0; k < n; ++k, w += panel, ++x) {
        V weight[vectors];
#pragma GCC unroll 2
        for (int64_t v = 0; v < vectors; ++v) weight[v] = hn::Load(d, w + v * lanes);
        if (ahead) __builtin_prefetch(next, 0, 2), next += stride;
#pragma GCC unroll 16
        for (int64_t r = 0; r < rows; ++r) {
          const V value = hn::Set(d, x[r * step]);
#pragma GCC unroll 2
          for (int64_t v = 0; v < vectors; ++v) sums[r][v] = hn::MulAdd(value, weight[v], sums[r][v]);
        }
      }
    }
  }
  chains.add_totals(sums);
  if (j.odd && !finite_sums<rows, vectors>(sums)) *j.odd = true;
  if (j.sum) {
#pragma GCC unroll 16
    for (int64_t r = 0; r < rows; ++r)
#pragma GCC unroll 2
      for (int64_t v = 0; v < vectors; ++v)
        sums[r][v] = hn::Add(sums[r][v], access.load(j.sum + to + r * j.y_step + v * lanes, v));
  }
  const V low = hn::Set(d, j.low), high = hn::Set(d, j.high);
#pragma GCC unroll 16
  for (int64_t r = 0; r < rows; ++r)
#pragma GCC unroll 2
    for (int64_t v = 0; v < vectors; ++v)
      access.store(bounded(sums[r][v], low, high), j.y + to + r * j.y_step + v * lanes, v);
}

template <int64_t vectors, bool ahead, class Access, int64_t... r>
void rest(const DirectJob& j, int64_t at, int64_t rows, Access access, std::integer_sequence<int64_t, r...>) {
  ((rows == r + 1 ? tile<r + 1, vectors, ahead>(j, at, access) : void()), ...);
}

template <int64_t vectors, bool ahead, class Access>
void line(const DirectJob& j, Access access) {
  int64_t at = 0;
  for (; at + most_rows <= j.count; at += most_rows) tile<most_rows, vectors, ahead>(j, at, access);
  if (at < j.count)
    rest<vectors, ahead>(j, at, j.count - at, access, std::make_integer_sequence<int64_t, most_rows - 1>());
}

}  // namespace
}  // namespace graft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
