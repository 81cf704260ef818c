// The product of two f32 matrices from packed panels: the basis of matrix multiplication and convolution.
//
// C [m, n] = A [m, k] * B [k, n] is computed in register tiles of `mr` rows and `nr` columns. Both operands are packed
// first, so that the innermost loop reads memory sequentially regardless of the strides of the matrices:
//
//   A: panels of `mr` rows, column by column: [m / mr][k][mr]. A last panel with fewer rows has only these: [k][rest].
//      If its rows are contiguous, it is used where it lies (`multiply_rows`).
//   B: panels of `nr` columns, row by row: [n / nr][k][nr], the last one padded with zeros.
//
// The caller divides C into blocks for the threads, and k into pieces of at most `gemm_depth`, so that the packed
// panels stay in the cache of a core.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <graft/kit/epilogue.hpp>

namespace graft {

inline constexpr int64_t gemm_depth = 320;    // of a piece of k: a panel of A fits in the L1 cache
inline constexpr int64_t gemm_columns = 256;  // of a block of B: fits in the L2 cache
// For rows of A where they lie: the depth of a piece of k, and the floats of B that stay in the L2 cache.
inline constexpr int64_t gemm_row_depth = 768, gemm_group = 96 * 1024;

// A strided matrix: distances in elements to the next row (`down`) and column.
struct GemmMatrix {
  const float* data;
  int64_t down, right;
};

// What is done to a product: y = epilogue(product * scale + bias + sum).
struct GemmEnd {
  float scale = 1;
  const float* bias = nullptr;  // one per column
  const float* sum = nullptr;   // a matrix with contiguous rows, `sum_down` apart
  int64_t sum_down = 0;
  const Epilogue* epilogue = nullptr;  // null: none
  bool empty() const { return scale == 1 && !bias && !sum && !epilogue; }
};

struct Gemm {
  int64_t mr, nr;  // `nr` is a multiple of the vector length
  // Packs `rows` rows and `k` columns.
  void (*pack_a)(GemmMatrix from, int64_t rows, int64_t k, float* to);
  // Packs `k` rows and `columns` columns.
  void (*pack_b)(GemmMatrix from, int64_t k, int64_t columns, float* to);
  // C (+)= A * B. The panels were packed with depths `a_depth` and `b_depth`; this uses `k` of them, starting at
  // `a_from` and `b_from`.
  void (*multiply)(int64_t m, int64_t n, int64_t k, const float* a, int64_t a_depth, int64_t a_from, const float* b,
                   int64_t b_depth, int64_t b_from, float* c, int64_t c_down, bool add);
  // Makes the rows of A contiguous, `step` floats apart.
  void (*copy_a)(GemmMatrix from, int64_t rows, int64_t k, float* to, int64_t step);
  // The same as `multiply` with contiguous rows of A, `a_down` apart; `a` points to the first of the k columns. `add`
  // says that this is not the first piece of k, `last` that it is the last one, to which `end` is applied.
  void (*multiply_rows)(int64_t m, int64_t n, int64_t k, const float* a, int64_t a_down, const float* b,
                        int64_t b_depth, int64_t b_from, float* c, int64_t c_down, bool add, bool last,
                        const GemmEnd& end);
  // Applies `end` to a block of C that begins at row i and column j of its bias and sum.
  void (*finish)(int64_t rows, int64_t columns, int64_t i, int64_t j, const GemmEnd& end, float* c, int64_t c_down);
  // y[j] = sum of x[i] * b[i, j]: vector times matrix, without packing.
  void (*vector)(const float* x, int64_t x_step, int64_t k, GemmMatrix b, int64_t n, float* y);
};

// The functions for this processor.
const Gemm& gemm();

// ---- blocks ----

// The operands that each block has to pack for itself.
enum class GemmPacks { none, a, b, both };

struct GemmBlocks {
  int64_t rows, columns;  // of a block; multiples of mr and nr
  int64_t down, across;   // number of blocks
  int64_t depth;          // of a piece of k
  int64_t grain;          // minimum number of blocks per thread
  int64_t count() const { return down * across; }
};

inline int64_t gemm_round_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

// Blocks large enough to amortize the packing, and small enough that `copies` products keep many threads busy.
inline GemmBlocks gemm_blocks(const Gemm& g, int64_t m, int64_t n, int64_t k, GemmPacks packs, int64_t copies) {
  constexpr int64_t enough = 16;          // blocks in total
  constexpr double least_work = 1 << 20;  // multiplications per block
  GemmBlocks b{};
  m = std::max<int64_t>(m, 1), n = std::max<int64_t>(n, 1), k = std::max<int64_t>(k, 1);
  bool packs_a = packs == GemmPacks::a || packs == GemmPacks::both;
  bool packs_b = packs == GemmPacks::b || packs == GemmPacks::both;
  // Operands packed per block must fit in the cache; others may be of any size.
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
  // Balance the sizes, so that the last block is not much smaller.
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
