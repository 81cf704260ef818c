// MatMul in f32: packed panels and register tiles (gemm.hpp), or plain dot products if one operand is a vector.
//
// Accepts f32 of any shape. Fast because constant weights are packed once, when the model is compiled; other operands
// are packed block by block into the memory of the thread that multiplies them.
#include <graft/op.hpp>

#include "gemm.hpp"
#include "scratch.hpp"

namespace graft {
namespace {

// All matrices of a constant B; empty if it is not constant.
struct MatMulWeights {
  Floats packed;
  int64_t size = 0;  // of one
};

MatMulWeights matmul_pack(Pack& ctx) {
  MatMulWeights w;
  TensorView b = ctx.constant(1);
  if (!b || b.rank() < 2 || b.size() == 0) return w;
  int64_t rows = b.dim(b.rank() - 2), columns = b.dim(b.rank() - 1), count = b.size() / (rows * columns);
  bool turned = ctx.attr<bool>("transpose_b");
  int64_t k = turned ? columns : rows, n = turned ? rows : columns;
  w.size = gemm_packed_b(gemm(), k, n);
  w.packed = allocate_floats(static_cast<size_t>(count * w.size));
  for (int64_t i = 0; i < count; ++i)
    gemm().pack_b({b.data<float>() + i * rows * columns, turned ? 1 : columns, turned ? columns : 1}, k, n,
                  w.packed.get() + i * w.size);
  return w;
}

struct MatMulPlan {
  int64_t m = 0, n = 0, k = 0;
  int64_t a_down = 0, a_right = 0, b_down = 0, b_right = 0;
  std::vector<int64_t> a_at, b_at;  // offsets of the matrices of each product
  GemmBlocks blocks{};
  const float* packed = nullptr;  // all matrices of B, if they are constant
  int64_t packed_size = 0, b_size = 0;
};

void matmul_accept(Accept& ctx) {
  if (ctx.type(0) != DType::f32 || ctx.type(1) != DType::f32) unsupported("expected f32, got ", ctx.type(0));
  if (!ctx.shape(0).is_static() || !ctx.shape(1).is_static()) unsupported("requires static shapes");
}

MatMulPlan matmul_prepare(Prepare& ctx) {
  std::vector<int64_t> p = ctx.shape(0).values(), q = ctx.shape(1).values();
  bool row = p.size() == 1, column = q.size() == 1;
  if (row) p.insert(p.begin(), 1);
  if (column) q.push_back(1);
  bool turn_a = !row && ctx.attr<bool>("transpose_a"), turn_b = !column && ctx.attr<bool>("transpose_b");
  MatMulPlan s;
  int64_t a_rows = p[p.size() - 2], a_columns = p.back(), b_rows = q[q.size() - 2], b_columns = q.back();
  s.m = turn_a ? a_columns : a_rows, s.k = turn_a ? a_rows : a_columns, s.n = turn_b ? b_rows : b_columns;
  s.a_down = turn_a ? 1 : a_columns, s.a_right = turn_a ? a_columns : 1;
  s.b_down = turn_b ? 1 : b_columns, s.b_right = turn_b ? b_columns : 1;
  s.b_size = b_rows * b_columns;
  p.resize(p.size() - 2), q.resize(q.size() - 2);

  // A single B: the rows of all matrices of A form one large matrix.
  if (count_of(q) == 1 && !turn_a) s.m *= count_of(p), p.clear(), q.clear();
  std::vector<int64_t> batch = broadcast(Shape::of(p), Shape::of(q)).values();
  Walk walk(batch, {broadcast_strides(p, batch), broadcast_strides(q, batch)});
  if (!walk.empty()) do {
      s.a_at.push_back(walk[0] * a_rows * a_columns);
      s.b_at.push_back(walk[1]);
    } while (walk.next());

  const Gemm& g = gemm();
  TensorView b = ctx.constant(1);
  bool vector = s.m == 1 || s.n == 1;
  if (b && !vector && b.size() > 0) {
    const auto& weights = ctx.packed<MatMulWeights>();
    s.packed = weights.packed.get(), s.packed_size = weights.size;
  }
  s.blocks =
      gemm_blocks(g, s.m, s.n, s.k, s.packed ? GemmPacks::a : GemmPacks::both, static_cast<int64_t>(s.a_at.size()));
  return s;
}

// Computes one block of one product.
void matmul_block(const MatMulPlan& s, const float* a, const float* b, const float* packed, int64_t block, float* y) {
  const Gemm& g = gemm();
  int64_t i = block / s.blocks.across * s.blocks.rows, j = block % s.blocks.across * s.blocks.columns;
  int64_t rows = std::min(s.blocks.rows, s.m - i), columns = std::min(s.blocks.columns, s.n - j);
  int64_t depth = s.blocks.depth, a_size = gemm_round_up(rows * depth, 64);
  float* pa = thread_floats(static_cast<size_t>(a_size + (packed ? 0 : gemm_packed_b(g, depth, columns))));
  float* pb = pa + a_size;
  for (int64_t k = 0; k < s.k; k += depth) {
    int64_t now = std::min(depth, s.k - k);
    g.pack_a({a + i * s.a_down + k * s.a_right, s.a_down, s.a_right}, rows, now, pa);
    float* to = y + i * s.n + j;
    if (packed) {
      g.multiply(rows, columns, now, pa, now, 0, packed + j * s.k, s.k, k, to, s.n, k > 0);
    } else {
      g.pack_b({b + k * s.b_down + j * s.b_right, s.b_down, s.b_right}, now, columns, pb);
      g.multiply(rows, columns, now, pa, now, 0, pb, now, 0, to, s.n, k > 0);
    }
  }
}

// A row times a matrix; or a matrix times a column, which is its transpose.
void matmul_vectors(Run& ctx, const MatMulPlan& s, const float* a, const float* b, float* y) {
  bool row = s.m == 1;
  int64_t n = row ? s.n : s.m, products = static_cast<int64_t>(s.a_at.size());
  constexpr int64_t piece = 256;
  int64_t pieces = (n + piece - 1) / piece;
  int64_t grain = std::max<int64_t>(1, (1 << 16) / std::max<int64_t>(1, s.k * std::min(n, piece)));
  ctx.parallel_for(products * pieces, grain, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      auto which = static_cast<size_t>(t / pieces);
      int64_t first = t % pieces * piece, count = std::min(piece, n - first);
      const float* left = a + s.a_at[which];
      const float* right = b + s.b_at[which] * s.b_size;
      float* to = y + t / pieces * n + first;
      if (row) gemm().vector(left, s.a_right, s.k, {right + first * s.b_right, s.b_down, s.b_right}, count, to);
      else gemm().vector(right, s.b_down, s.k, {left + first * s.a_down, s.a_right, s.a_down}, count, to);
    }
  });
}

void matmul_run(Run& ctx, const MatMulPlan& s) {
  OutputView out = ctx.output(0);
  float* y = out.data<float>();
  if (out.size() == 0) return;
  if (s.k == 0) return void(std::fill(y, y + out.size(), 0.0f));
  const float* a = ctx.input(0).data<const float>();
  const float* b = ctx.input(1).data<const float>();
  if (s.m == 1 || s.n == 1) return matmul_vectors(ctx, s, a, b, y);
  int64_t per_product = s.blocks.count();
  ctx.parallel_for(static_cast<int64_t>(s.a_at.size()) * per_product, s.blocks.grain, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      auto which = static_cast<size_t>(t / per_product);
      const float* packed = s.packed ? s.packed + s.b_at[which] * s.packed_size : nullptr;
      matmul_block(s, a + s.a_at[which], b + s.b_at[which] * s.b_size, packed, t % per_product,
                   y + t / per_product * s.m * s.n);
    }
  });
}

}  // namespace

Definitions cpu_matmul() {
  return Kernel("CPU", "gemm_f32")
      .of("MatMul", "opset1")
      .accept(matmul_accept)
      .pack(matmul_pack)
      .run(matmul_prepare, matmul_run);
}

}  // namespace graft
