// Register-blocked product of packed matrices; see gemm.hpp for the layout.
//
// Fast because a tile of C stays in registers over the whole depth: `tile_rows` rows of two vectors. Each step of the
// depth takes two loads of B and one broadcast element of A per two multiply-adds. A panel of A stays in the L1 cache
// while the panels of B stream past. Rows of A that are contiguous are multiplied where they lie.
#include "gemm.hpp"

#include <array>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gemm.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.
#include <hwy/highway.h>

#include "epilogue-inl.hpp"
#include "tile-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace graft::HWY_NAMESPACE {
namespace {
constexpr int64_t tile_columns = panel, tile_rows = tile_rows_of(12);

#if HWY_TARGET == HWY_SCALAR
int64_t turn_rows(const float*, int64_t, int64_t, int64_t, int64_t, float*, int64_t) { return 0; }
#else
// Transposes columns `begin` to `end` of as many whole groups of four rows as there are: element [row, c] is stored at
// c * step + row. Returns the number of these rows.
int64_t turn_rows(const float* HWY_RESTRICT x, int64_t down, int64_t n, int64_t begin, int64_t end,
                  float* HWY_RESTRICT to, int64_t step) {
  const hn::FixedTag<float, 4> d;
  int64_t row = 0;
  for (; row + 4 <= n; row += 4) {
    const float* from = x + row * down;
    int64_t c = begin;
    for (; c + 4 <= end; c += 4) {
      const auto r0 = hn::LoadU(d, from + c), r1 = hn::LoadU(d, from + down + c);
      const auto r2 = hn::LoadU(d, from + 2 * down + c), r3 = hn::LoadU(d, from + 3 * down + c);
      const auto a = hn::InterleaveLower(d, r0, r1), b = hn::InterleaveLower(d, r2, r3);
      const auto e = hn::InterleaveUpper(d, r0, r1), f = hn::InterleaveUpper(d, r2, r3);
      float* y = to + c * step + row;
      hn::StoreU(hn::ConcatLowerLower(d, b, a), d, y);
      hn::StoreU(hn::ConcatUpperUpper(d, b, a), d, y + step);
      hn::StoreU(hn::ConcatLowerLower(d, f, e), d, y + 2 * step);
      hn::StoreU(hn::ConcatUpperUpper(d, f, e), d, y + 3 * step);
    }
    for (; c < end; ++c)
      for (int64_t r = 0; r < 4; ++r) to[c * step + row + r] = from[r * down + c];
  }
  return row;
}
#endif

// Transposes `n` rows, element [r, c] to c * step + r, a few columns at a time: each source cache line is read once and
// each target line written once.
void turn(GemmMatrix from, int64_t n, int64_t columns, float* HWY_RESTRICT to, int64_t step) {
  constexpr int64_t some = 16;
  for (int64_t begin = 0; begin < columns; begin += some) {
    int64_t end = std::min(begin + some, columns);
    for (int64_t r = from.right == 1 ? turn_rows(from.data, from.down, n, begin, end, to, step) : 0; r < n; ++r) {
      const float* row = from.data + r * from.down;
      for (int64_t c = begin; c < end; ++c) to[c * step + r] = row[c * from.right];
    }
  }
}

void pack_a(GemmMatrix from, int64_t rows, int64_t k, float* HWY_RESTRICT to) {
  for (int64_t first = 0; first < rows; first += tile_rows) {
    int64_t n = std::min(tile_rows, rows - first);
    const float* x = from.data + first * from.down;
    if (from.down == 1) {
      for (int64_t c = 0; c < k; ++c)
        for (int64_t r = 0; r < n; ++r) to[c * n + r] = x[c * from.right + r];
    } else {
      turn({x, from.down, from.right}, n, k, to, n);
    }
    to += n * k;
  }
}

void pack_b(GemmMatrix from, int64_t k, int64_t columns, float* HWY_RESTRICT to) {
  const D d;
  for (int64_t first = 0; first < columns; first += tile_columns, to += tile_columns * k) {
    int64_t n = std::min(tile_columns, columns - first);
    const float* x = from.data + first * from.right;
    if (n < tile_columns) std::fill(to, to + tile_columns * k, 0.0f);
    if (from.right == 1 && n == tile_columns) {
      for (int64_t r = 0; r < k; ++r) {
        hn::Store(hn::LoadU(d, x + r * from.down), d, to + r * tile_columns);
        hn::Store(hn::LoadU(d, x + r * from.down + lanes), d, to + r * tile_columns + lanes);
      }
    } else if (from.right == 1) {
      for (int64_t r = 0; r < k; ++r) std::copy(x + r * from.down, x + r * from.down + n, to + r * tile_columns);
    } else {
      turn({x, from.right, from.down}, n, k, to, tile_columns);
    }
  }
}

// One tile of `rows` rows; `columns` of its two vectors belong to C.
template <int64_t rows>
void tile(int64_t k, const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, float* HWY_RESTRICT c, int64_t c_down,
          int64_t columns, bool add) {
  const D d;
  V low[rows], high[rows];
#pragma GCC unroll 16
  for (int64_t r = 0; r < rows; ++r) low[r] = high[r] = hn::Zero(d);
  for (int64_t i = 0; i < k; ++i) {
    const V b0 = hn::Load(d, b), b1 = hn::Load(d, b + lanes);
#pragma GCC unroll 16
    for (int64_t r = 0; r < rows; ++r) {
      const V x = hn::Set(d, a[r]);
      low[r] = hn::MulAdd(x, b0, low[r]);
      high[r] = hn::MulAdd(x, b1, high[r]);
    }
    a += rows, b += tile_columns;
  }
  if (columns == tile_columns) {
#pragma GCC unroll 16
    for (int64_t r = 0; r < rows; ++r) {
      float* to = c + r * c_down;
      if (add) {
        low[r] = hn::Add(low[r], hn::LoadU(d, to));
        high[r] = hn::Add(high[r], hn::LoadU(d, to + lanes));
      }
      hn::StoreU(low[r], d, to);
      hn::StoreU(high[r], d, to + lanes);
    }
    return;
  }
  HWY_ALIGN float edge[tile_columns];
#pragma GCC unroll 16
  for (int64_t r = 0; r < rows; ++r) {
    hn::Store(low[r], d, edge);
    hn::Store(high[r], d, edge + lanes);
    float* to = c + r * c_down;
    for (int64_t j = 0; j < columns; ++j) to[j] = add ? to[j] + edge[j] : edge[j];
  }
}

using Tile = void (*)(int64_t, const float*, const float*, float*, int64_t, int64_t, bool);
template <int64_t... r>
constexpr std::array<Tile, sizeof...(r)> tiles_of(std::integer_sequence<int64_t, r...>) {
  return {tile<r + 1>...};
}
constexpr auto tiles = tiles_of(std::make_integer_sequence<int64_t, tile_rows>());

// A row or two times several panels of B, `next` floats apart: a tile of its own has too few independent sums to hide
// the latency of a multiply-add.
template <int64_t rows, int64_t panels>
void thin(int64_t k, const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, int64_t next, float* HWY_RESTRICT c,
          int64_t c_down, bool add) {
  const D d;
  V sum[rows][2 * panels];
#pragma GCC unroll 16
  for (int64_t r = 0; r < rows; ++r)
#pragma GCC unroll 16
    for (int64_t v = 0; v < 2 * panels; ++v) sum[r][v] = hn::Zero(d);
  for (int64_t i = 0; i < k; ++i) {
#pragma GCC unroll 16
    for (int64_t v = 0; v < 2 * panels; ++v) {
      const V y = hn::Load(d, b + v / 2 * next + i * tile_columns + v % 2 * lanes);
#pragma GCC unroll 16
      for (int64_t r = 0; r < rows; ++r) sum[r][v] = hn::MulAdd(hn::Set(d, a[i * rows + r]), y, sum[r][v]);
    }
  }
#pragma GCC unroll 16
  for (int64_t r = 0; r < rows; ++r)
#pragma GCC unroll 16
    for (int64_t v = 0; v < 2 * panels; ++v) {
      float* to = c + r * c_down + v * lanes;
      hn::StoreU(add ? hn::Add(sum[r][v], hn::LoadU(d, to)) : sum[r][v], d, to);
    }
}

void multiply(int64_t m, int64_t n, int64_t k, const float* a, int64_t a_depth, int64_t a_from, const float* b,
              int64_t b_depth, int64_t b_from, float* c, int64_t c_down, bool add) {
  // Panels of B that are multiplied by every panel of A: as many as fit in the L2 cache.
  for (int64_t first = 0; first < n; first += gemm_columns) {
    int64_t last = std::min(n, first + gemm_columns);
    for (int64_t i = 0; i < m; i += tile_rows) {
      int64_t rows = std::min(tile_rows, m - i);
      const float* panel = a + i * a_depth + a_from * rows;
      Tile f = tiles[static_cast<size_t>(rows - 1)];
      int64_t j = first, panels = rows == 1 ? 4 : 2, next = b_depth * tile_columns;
      for (; rows <= 2 && j + panels * tile_columns <= last; j += panels * tile_columns) {
        auto* many = rows == 1 ? thin<1, 4> : thin<2, 2>;
        many(k, panel, b + j * b_depth + b_from * tile_columns, next, c + i * c_down + j, c_down, add);
      }
      for (; j < last; j += tile_columns)
        f(k, panel, b + j * b_depth + b_from * tile_columns, c + i * c_down + j, c_down, std::min(tile_columns, n - j),
          add);
    }
  }
}

// ---- rows of A where they lie ----

// `rows` rows of A, `down` apart, times `panels` panels of B, `next` floats apart, and `width` vectors of each.
// `columns` of a single panel belong to C.
template <int64_t rows, int64_t panels, int64_t width>
void strip(int64_t k, const float* HWY_RESTRICT a, int64_t down, const float* HWY_RESTRICT b, int64_t next,
           float* HWY_RESTRICT c, int64_t c_down, int64_t columns, bool add, const float* HWY_RESTRICT bias) {
  const D d;
  constexpr int64_t vectors = panels * width;
  const bool whole = panels > 1 || columns == width * lanes;
  V sum[rows][vectors];
#pragma GCC unroll 16
  for (int64_t v = 0; v < vectors; ++v) {
    V first = hn::Zero(d);
    if (bias && whole) first = hn::LoadU(d, bias + v * lanes);
    else if (bias && columns > v * lanes)
      first = load_first(d, bias + v * lanes, static_cast<size_t>(std::min(lanes, columns - v * lanes)));
#pragma GCC unroll 16
    for (int64_t r = 0; r < rows; ++r) sum[r][v] = first;
  }
  Chains<rows, vectors> chains;
  for (int64_t i = 0; i < k;) {
    if (i > 0) chains.set_aside(sum);
    const int64_t end = std::min(k, i + longest_chain);
    for (; i < end; ++i) {
      V y[vectors];
#pragma GCC unroll 16
      for (int64_t v = 0; v < vectors; ++v) y[v] = hn::Load(d, b + v / width * next + v % width * lanes);
#pragma GCC unroll 16
      for (int64_t r = 0; r < rows; ++r) {
        const V x = hn::Set(d, a[r * down + i]);
#pragma GCC unroll 16
        for (int64_t v = 0; v < vectors; ++v) sum[r][v] = hn::MulAdd(x, y[v], sum[r][v]);
      }
      b += tile_columns;
    }
  }
  chains.add_totals(sum);
  if (whole) {
#pragma GCC unroll 16
    for (int64_t r = 0; r < rows; ++r)
#pragma GCC unroll 16
      for (int64_t v = 0; v < vectors; ++v) {
        float* to = c + r * c_down + v * lanes;
        hn::StoreU(add ? hn::Add(sum[r][v], hn::LoadU(d, to)) : sum[r][v], d, to);
      }
    return;
  }
#pragma GCC unroll 16
  for (int64_t r = 0; r < rows; ++r)
#pragma GCC unroll 16
    for (int64_t v = 0; v < width; ++v) {
      if (columns <= v * lanes) continue;
      float* to = c + r * c_down + v * lanes;
      auto n = static_cast<size_t>(std::min(lanes, columns - v * lanes));
      store_first(add ? hn::Add(sum[r][v], load_first(d, to, n)) : sum[r][v], d, to, n);
    }
}

using Strip = void (*)(int64_t, const float*, int64_t, const float*, int64_t, float*, int64_t, int64_t, bool,
                       const float*);
template <int64_t width, int64_t... r>
constexpr std::array<Strip, sizeof...(r)> strips_of(std::integer_sequence<int64_t, r...>) {
  return {strip<r + 1, 1, width>...};
}
constexpr auto strips = strips_of<2>(std::make_integer_sequence<int64_t, tile_rows>());
constexpr auto narrow_strips = strips_of<1>(std::make_integer_sequence<int64_t, tile_rows>());

// The rows of a strip. Rows that are a multiple of 4 KiB apart share the sets of the L1 cache, which has 8 lines in
// each.
int64_t strip_rows(int64_t m, int64_t down) {
  constexpr int64_t page = 4096 / sizeof(float), ways = 8;
  int64_t most = down % page == 0 ? std::min(tile_rows, ways) : tile_rows;
  int64_t count = (m + most - 1) / most;
  return (m + count - 1) / count;
}

void finish_rows(int64_t rows, int64_t columns, int64_t i, int64_t j, const GemmEnd& end, float* c, int64_t c_down) {
  const D d;
  const V scale = hn::Set(d, end.scale);
  const Epilogue none, &epilogue = end.epilogue ? *end.epilogue : none;
  const V low = hn::Set(d, epilogue.low), high = hn::Set(d, epilogue.high);
  for (int64_t r = 0; r < rows; ++r) {
    float* y = c + r * c_down;
    const float* sum = end.sum ? end.sum + (i + r) * end.sum_down + j : nullptr;
    const float* bias = end.bias ? end.bias + j : nullptr;
    for (int64_t at = 0; at < columns; at += lanes) {
      auto n = static_cast<size_t>(std::min(lanes, columns - at));
      bool whole = n == static_cast<size_t>(lanes);
      auto load = [&](const float* from) { return whole ? hn::LoadU(d, from + at) : load_first(d, from + at, n); };
      V v = hn::Mul(load(y), scale);
      if (bias) v = hn::Add(v, load(bias));
      if (sum) v = hn::Add(v, load(sum));
      v = bounded(v, low, high);
      if (whole) hn::StoreU(v, d, y + at);
      else store_first(v, d, y + at, n);
    }
  }
  epilogue.activate(c, rows, c_down, columns);
}

void multiply_rows(int64_t m, int64_t n, int64_t k, const float* a, int64_t a_down, const float* b, int64_t b_depth,
                   int64_t b_from, float* c, int64_t c_down, bool add, bool last, const GemmEnd& end) {
  int64_t height = strip_rows(m, a_down), next = b_depth * tile_columns;
  // Without a factor, the first piece starts with the bias.
  const float* bias = end.scale == 1 && !add ? end.bias : nullptr;
  GemmEnd rest = end;
  if (end.scale == 1) rest.bias = nullptr;
  // Panels of B that are multiplied by every strip of A: as many as fit in half of the L2 cache.
  int64_t group = std::max<int64_t>(4, gemm_group / (k * tile_columns)) * tile_columns;
  for (int64_t begin = 0; begin < n; begin += group) {
    int64_t stop = std::min(n, begin + group);
    for (int64_t i = 0; i < m; i += height) {
      int64_t rows = std::min(height, m - i), j = begin;
      auto call = [&](Strip f, int64_t columns) {
        f(k, a + i * a_down, a_down, b + j * b_depth + b_from * tile_columns, next, c + i * c_down + j, c_down, columns,
          add, bias ? bias + j : nullptr);
      };
      // Few rows take several panels at once: otherwise there are too few independent sums to hide the latency of a
      // multiply-add.
      int64_t panels = rows == 1 ? 4 : rows == 2 ? 2 : 1;
      for (; panels > 1 && j + panels * tile_columns <= stop; j += panels * tile_columns)
        call(rows == 1 ? strip<1, 4, 2> : strip<2, 2, 2>, tile_columns);
      for (; j < stop; j += tile_columns) {
        int64_t columns = std::min(tile_columns, n - j);
        call((columns <= lanes ? narrow_strips : strips)[static_cast<size_t>(rows - 1)], columns);
      }
      if (last && !rest.empty()) finish_rows(rows, stop - begin, i, begin, rest, c + i * c_down + begin, c_down);
    }
  }
}

// ---- vectors ----

// Dot products of `rows` rows with one vector, interleaved so that the vector is read once.
template <int64_t rows>
void dots(const float* HWY_RESTRICT x, int64_t k, const float* HWY_RESTRICT b, int64_t step, float* HWY_RESTRICT y) {
  const D d;
  V sum[rows][2];
#pragma GCC unroll 4
  for (int64_t r = 0; r < rows; ++r) sum[r][0] = sum[r][1] = hn::Zero(d);
  int64_t i = 0;
  for (; i + 2 * lanes <= k; i += 2 * lanes) {
    const V x0 = hn::LoadU(d, x + i), x1 = hn::LoadU(d, x + i + lanes);
#pragma GCC unroll 4
    for (int64_t r = 0; r < rows; ++r) {
      sum[r][0] = hn::MulAdd(x0, hn::LoadU(d, b + r * step + i), sum[r][0]);
      sum[r][1] = hn::MulAdd(x1, hn::LoadU(d, b + r * step + i + lanes), sum[r][1]);
    }
  }
#pragma GCC unroll 4
  for (int64_t r = 0; r < rows; ++r) {
    float s = hn::GetLane(hn::SumOfLanes(d, hn::Add(sum[r][0], sum[r][1])));
    for (int64_t t = i; t < k; ++t) s += x[t] * b[r * step + t];
    y[r] = s;
  }
}

// `width` result vectors at once, over the whole depth.
template <int64_t width>
void sums(const float* HWY_RESTRICT x, int64_t x_step, int64_t k, const float* HWY_RESTRICT b, int64_t down,
          float* HWY_RESTRICT y) {
  const D d;
  V sum[1][width];
#pragma GCC unroll 8
  for (int64_t v = 0; v < width; ++v) sum[0][v] = hn::Zero(d);
  Chains<1, width> chains;
  for (int64_t i = 0; i < k;) {
    if (i > 0) chains.set_aside(sum);
    const int64_t end = std::min(k, i + longest_chain);
    for (; i < end; ++i) {
      const V s = hn::Set(d, x[i * x_step]);
#pragma GCC unroll 8
      for (int64_t v = 0; v < width; ++v) sum[0][v] = hn::MulAdd(s, hn::LoadU(d, b + i * down + v * lanes), sum[0][v]);
    }
  }
  chains.add_totals(sum);
#pragma GCC unroll 8
  for (int64_t v = 0; v < width; ++v) hn::StoreU(sum[0][v], d, y + v * lanes);
}

void vector(const float* x, int64_t x_step, int64_t k, GemmMatrix b, int64_t n, float* y) {
  int64_t j = 0;
  if (b.right == 1) {
    for (; j + 8 * lanes <= n; j += 8 * lanes) sums<8>(x, x_step, k, b.data + j, b.down, y + j);
    for (; j + lanes <= n; j += lanes) sums<1>(x, x_step, k, b.data + j, b.down, y + j);
  } else if (b.down == 1 && x_step == 1) {
    for (; j + 4 <= n; j += 4) dots<4>(x, k, b.data + j * b.right, b.right, y + j);
    for (; j < n; ++j) dots<1>(x, k, b.data + j * b.right, b.right, y + j);
  }
  for (; j < n; ++j) {
    float s = 0;
    for (int64_t i = 0; i < k; ++i) s += x[i * x_step] * b.data[i * b.down + j * b.right];
    y[j] = s;
  }
}

// Element [r, c] of A is stored at c + r * step.
void copy_a(GemmMatrix from, int64_t rows, int64_t k, float* to, int64_t step) {
  turn({from.data, from.right, from.down}, k, rows, to, step);
}

Gemm functions() {
  return {tile_rows, tile_columns, pack_a, pack_b, multiply, copy_a, multiply_rows, finish_rows, vector};
}

}  // namespace
Gemm gemm_functions() { return functions(); }

}  // namespace graft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft {

HWY_EXPORT(gemm_functions);

const Gemm& gemm() {
  static const Gemm chosen = HWY_DYNAMIC_DISPATCH(gemm_functions)();
  return chosen;
}

}  // namespace graft
#endif
