// The product of two f32 matrices from packed panels: what matrix multiplication and convolution are built on.
//
// C [m, n] = A [m, k] * B [k, n] is computed in register tiles of `mr` rows and `nr` columns. Both sides are packed
// first, so that the innermost loop reads memory in order, whatever the strides of the matrices were:
//
//   A: panels of `mr` rows, in each the `mr` elements of one column after those of the column before: [m / mr][k][mr].
//      A last panel with fewer rows has only these: [k][rest].
//   B: panels of `nr` columns, in each one row after the other: [n / nr][k][nr], the last one filled up with zeros.
//
// A caller cuts C into blocks for the threads, and k into pieces of at most `gemm_depth`, so that the packed panels it
// works on stay in a core's cache.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace graft {

inline constexpr int64_t gemm_depth = 320;    // of a piece of k: a panel of A lies in the first-level cache
inline constexpr int64_t gemm_columns = 256;  // of a block of B: lies in the second-level cache

// A matrix in memory: steps from one element to the next downwards and to the right.
struct GemmMatrix {
  const float* data;
  int64_t down, right;
};

struct Gemm {
  int64_t mr, nr;  // `nr` is a multiple of the vector's length
  // `k` columns of `rows` rows.
  void (*pack_a)(GemmMatrix from, int64_t rows, int64_t k, float* to);
  // `k` rows of `columns` columns.
  void (*pack_b)(GemmMatrix from, int64_t k, int64_t columns, float* to);
  // C (+)= A * B. The panels were packed `a_depth` and `b_depth` deep; this takes `k` of that, from `a_from` and
  // `b_from`.
  void (*multiply)(int64_t m, int64_t n, int64_t k, const float* a, int64_t a_depth, int64_t a_from, const float* b,
                   int64_t b_depth, int64_t b_from, float* c, int64_t c_down, bool add);
  // y[j] = sum of x[i] * b[i, j] for a row or a column of numbers, straight from memory.
  void (*vector)(const float* x, int64_t x_step, int64_t k, GemmMatrix b, int64_t n, float* y);
};

// The functions for this processor.
const Gemm& gemm();

// ---- blocks ----

// Which sides each block has to pack for itself.
enum class GemmPacks { none, a, b, both };

struct GemmBlocks {
  int64_t rows, columns;  // of a block; multiples of mr and nr
  int64_t down, across;   // how many there are
  int64_t depth;          // of a piece of k
  int64_t grain;          // blocks that are worth a thread's while
  int64_t count() const { return down * across; }
};

inline int64_t gemm_round_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

// Blocks large enough that packing does not show, small enough that `copies` products keep many threads busy.
inline GemmBlocks gemm_blocks(const Gemm& g, int64_t m, int64_t n, int64_t k, GemmPacks packs, int64_t copies) {
  constexpr int64_t enough = 16;          // blocks in all
  constexpr double least_work = 1 << 20;  // multiplications in a block
  GemmBlocks b{};
  m = std::max<int64_t>(m, 1), n = std::max<int64_t>(n, 1), k = std::max<int64_t>(k, 1);
  bool packs_a = packs == GemmPacks::a || packs == GemmPacks::both;
  bool packs_b = packs == GemmPacks::b || packs == GemmPacks::both;
  // What is packed for a block stays in the cache; what is not may be as large as it likes.
  b.rows = gemm_round_up(packs_a ? std::min<int64_t>(m, 20 * g.mr) : m, g.mr);
  b.columns = gemm_round_up(std::min<int64_t>(n, packs_b ? gemm_columns : 16 * gemm_columns), g.nr);
  int64_t least_rows = packs_b ? 8 * g.mr : 4 * g.mr, least_columns = packs_a ? 8 * g.nr : 2 * g.nr;
  for (;;) {
    b.down = (m + b.rows - 1) / b.rows;
    b.across = (n + b.columns - 1) / b.columns;
    double work = static_cast<double>(b.rows) * static_cast<double>(b.columns) * static_cast<double>(k);
    if (b.count() * copies >= enough || work < 2 * least_work) break;
    bool lower = b.rows > least_rows, narrower = b.columns > least_columns;
    if (lower && (!narrower || !packs_b || (packs_a && b.rows > b.columns)))
      b.rows = gemm_round_up((b.rows + 1) / 2, g.mr);
    else if (narrower) b.columns = gemm_round_up((b.columns + 1) / 2, g.nr);
    else break;
  }
  // Even out what is left at the end.
  b.rows = gemm_round_up((m + b.down - 1) / b.down, g.mr);
  b.columns = gemm_round_up((n + b.across - 1) / b.across, g.nr);
  int64_t pieces = (k + gemm_depth - 1) / gemm_depth;
  b.depth = (k + pieces - 1) / pieces;
  double work = static_cast<double>(b.rows) * static_cast<double>(b.columns) * static_cast<double>(k);
  b.grain = std::max<int64_t>(1, static_cast<int64_t>(least_work / 4 / work));
  return b;
}

inline int64_t gemm_packed_b(const Gemm& g, int64_t k, int64_t n) { return gemm_round_up(n, g.nr) * k; }

}  // namespace graft
