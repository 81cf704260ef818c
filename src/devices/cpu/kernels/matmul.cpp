// MatMul and FusedMatMul in f32: register tiles (gemm.hpp), or plain dot products if one operand is a vector.
//
// Accepts f32 of any shape. Fast because constant weights are packed once, when the model is compiled, and rows of A
// are multiplied where they lie; other operands are packed block by block into the memory of the thread that multiplies
// them. What follows the product is done to each block while it is in the cache.
#include <graft/op.hpp>

#include "gemm.hpp"
#include "pieces.hpp"
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
  TensorView b = ctx.take(1);
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

// Offsets of the matrices of one product.
struct MatMulAt {
  int64_t a, b, y, sum;
};

struct MatMulPlan {
  int64_t m = 0, n = 0, k = 0;
  int64_t a_down = 0, a_right = 0, b_down = 0, b_right = 0, y_down = 0, sum_down = 0;
  std::vector<MatMulAt> products;
  const float* packed = nullptr;  // all matrices of B, if they are constant
  bool has_bias = false, has_sum = false;
  float scale = 1;
  Epilogue epilogue;
  // Blocks of C, and their number; `depth` is that of a piece of k, `grain` the minimum number of blocks per thread.
  int64_t rows = 0, columns = 0, down = 0, across = 0, depth = 0, grain = 1;
  bool vector() const { return m == 1 || (n == 1 && y_down == 1); }
};

void matmul_accept(Accept& ctx) {
  for (size_t i = 0; i < ctx.inputs(); ++i) {
    if (!ctx.has_input(i)) continue;
    if (ctx.type(i) != DType::f32) unsupported("expected f32, got ", ctx.type(i));
    if (!ctx.shape(i).is_static()) unsupported("requires static shapes");
  }
}

// ---- shapes ----

struct FusedProduct : EpilogueAttributes {
  static constexpr std::tuple schema{epilogue_low_attr, epilogue_high_attr, activation_attr, activation_numbers_attr};
};

// A tensor of matrices, with strides in elements.
struct MatMulSide {
  std::vector<int64_t> dims, strides;
  int64_t& rows() { return dims[dims.size() - 2]; }
  int64_t& columns() { return dims.back(); }
  int64_t& down() { return strides[strides.size() - 2]; }
  int64_t& right() { return strides.back(); }
};

// The axes of a tensor in this order; as they are if there is none.
MatMulSide matmul_side(const std::vector<int64_t>& dims, const std::vector<int64_t>& order) {
  std::vector<int64_t> strides = strides_of(dims);
  if (order.empty()) return {dims, strides};
  MatMulSide s;
  for (int64_t axis : order) {
    s.dims.push_back(dims[static_cast<size_t>(axis)]);
    s.strides.push_back(strides[static_cast<size_t>(axis)]);
  }
  return s;
}

void matmul_turn(MatMulSide& s) {
  std::swap(s.rows(), s.columns());
  std::swap(s.down(), s.right());
}

// The strides along the batch axes, aligned with `batch` at the end.
std::vector<int64_t> matmul_batch_strides(const MatMulSide& s, const std::vector<int64_t>& batch) {
  std::vector<int64_t> out(batch.size(), 0);
  size_t own = s.dims.size() - 2;
  for (size_t i = 0; i < own; ++i)
    if (s.dims[i] != 1) out[batch.size() - own + i] = s.strides[i];
  return out;
}

struct MatMulShapes {
  MatMulSide a, b, y, sum;
  bool moves_b = false;
};

// Adds the axis of a vector. Its stride is never used.
void matmul_add_axis(MatMulSide& s, size_t at) {
  auto where = static_cast<int64_t>(at);
  s.dims.insert(s.dims.begin() + where, 1);
  s.strides.insert(s.strides.begin() + where, 1);
}

MatMulShapes matmul_shapes(Accept& ctx) {
  std::vector<int64_t> p = ctx.shape(0).values(), q = ctx.shape(1).values(), r = ctx.output(0).shape.values();
  bool row = p.size() == 1, column = q.size() == 1, fused = ctx.op_type() == "FusedMatMul";
  auto order = [&](std::string_view name) {
    return fused ? ctx.attr<std::vector<int64_t>>(name) : std::vector<int64_t>();
  };
  MatMulShapes s{matmul_side(p, order("order_a")), matmul_side(q, order("order_b")), {}, {}, !order("order_b").empty()};
  if (row) matmul_add_axis(s.a, 0);
  else if (ctx.attr<bool>("transpose_a")) matmul_turn(s.a);
  if (column) matmul_add_axis(s.b, 1);
  else if (ctx.attr<bool>("transpose_b")) matmul_turn(s.b);
  // The output has its own order: axis i of the product is where the order says i.
  std::vector<int64_t> own = order("order_y"), inverse(own.size());
  for (size_t i = 0; i < own.size(); ++i) inverse[static_cast<size_t>(own[i])] = static_cast<int64_t>(i);
  s.y = matmul_side(r, inverse);
  if (column) matmul_add_axis(s.y, s.y.dims.size());
  if (row) matmul_add_axis(s.y, s.y.dims.size() - 1);
  if (ctx.has_input(3)) {
    std::vector<int64_t> d = ctx.shape(3).values(), dims(s.y.dims.size() - d.size(), 1);
    dims.insert(dims.end(), d.begin(), d.end());
    s.sum = {dims, broadcast_strides(dims, s.y.dims)};
  }
  return s;
}

// ---- plan ----

// Axes of the batch that A and the output have, and B has not, are more rows of one larger matrix.
void matmul_merge(MatMulPlan& s, std::vector<int64_t>& batch, std::vector<std::vector<int64_t>>& strides) {
  while (!batch.empty()) {
    int64_t size = batch.back(), a = strides[0].back(), b = strides[1].back(), y = strides[2].back(),
            sum = strides[3].back();
    bool adjoins = s.m == 1 || (a == s.m * s.a_down && y == s.m * s.y_down && sum == s.m * s.sum_down);
    if (size != 1 && (b != 0 || !adjoins)) return;
    if (size != 1 && s.m == 1) s.a_down = a, s.y_down = y, s.sum_down = sum;
    s.m *= size;
    batch.pop_back();
    for (auto& list : strides) list.pop_back();
  }
}

// Blocks that use the cache well, and enough of them to keep many threads busy.
void matmul_blocks(MatMulPlan& s, int threads) {
  if (s.m == 0 || s.n == 0) return;
  const int64_t enough = enough_pieces(threads, 16, 3);  // blocks in total
  constexpr double least_work = 1 << 20;                 // multiplications per block
  const Gemm& g = gemm();
  int64_t k = std::max<int64_t>(s.k, 1), pieces = (k + gemm_row_depth - 1) / gemm_row_depth;
  auto copies = static_cast<int64_t>(s.products.size());
  bool copies_a = s.a_right != 1;
  s.depth = (k + pieces - 1) / pieces;
  s.rows = copies_a ? std::min(s.m, 20 * g.mr) : s.m;
  s.columns = s.packed ? s.n : std::min(s.n, std::max(4 * g.nr, gemm_group / s.depth));
  int64_t least_columns = (copies_a ? 8 : 4) * g.nr, least_rows = (s.packed ? 4 : 8) * g.mr;
  for (;;) {
    s.rows = gemm_round_up(s.rows, g.mr), s.columns = gemm_round_up(s.columns, g.nr);
    s.down = (s.m + s.rows - 1) / s.rows, s.across = (s.n + s.columns - 1) / s.columns;
    double work = static_cast<double>(s.rows) * static_cast<double>(s.columns) * static_cast<double>(k);
    s.grain = std::max<int64_t>(1, static_cast<int64_t>(least_work / 4 / work));
    if (s.down * s.across * copies >= enough || work < 2 * least_work) break;
    if (s.columns > least_columns) s.columns = (s.columns + 1) / 2;
    else if (s.rows > least_rows) s.rows = (s.rows + 1) / 2;
    else break;
  }
  // Balance the sizes, so that the last block is not much smaller.
  s.rows = (s.m + s.down - 1) / s.down;
  s.columns = gemm_round_up((s.n + s.across - 1) / s.across, g.nr);
}

MatMulPlan matmul_prepare(Prepare& ctx) {
  MatMulShapes shapes = matmul_shapes(ctx);
  auto& [a, b, y, sum, moves_b] = shapes;
  MatMulPlan s;
  s.m = a.rows(), s.k = a.columns(), s.n = b.columns();
  s.a_down = a.down(), s.a_right = a.right(), s.b_down = b.down(), s.b_right = b.right(), s.y_down = y.down();
  if (s.k == 1) s.a_right = 1;
  if (ctx.op_type() == "FusedMatMul") {
    s.epilogue = epilogue_of(ctx, ctx.attributes<FusedProduct>());
    s.scale = static_cast<float>(ctx.attr<double>("scale"));
  }
  s.has_bias = ctx.has_input(2), s.has_sum = ctx.has_input(3);
  std::vector<int64_t> batch(y.dims.begin(), y.dims.end() - 2);
  std::vector<std::vector<int64_t>> strides{matmul_batch_strides(a, batch), matmul_batch_strides(b, batch),
                                            matmul_batch_strides(y, batch), std::vector<int64_t>(batch.size(), 0)};
  if (s.has_sum) {
    if (sum.columns() != s.n) unsupported("expected a sum with ", s.n, " columns, got ", sum.columns());
    strides[3] = matmul_batch_strides(sum, batch), s.sum_down = sum.down();
  }
  matmul_merge(s, batch, strides);
  Walk walk(batch, strides);
  if (!walk.empty()) do
      s.products.push_back({walk[0], walk[1], walk[2], walk[3]});
    while (walk.next());

  // What is constant, but not computed before the first run, is not packed.
  if (ctx.is_constant(1) && s.k > 0 && s.n > 0 && !moves_b && !s.vector()) {
    const auto& weights = ctx.packed<MatMulWeights>();
    s.packed = weights.packed.get();
    for (MatMulAt& at : s.products)
      if (s.packed) at.b = at.b / (s.k * s.n) * weights.size;
  }
  matmul_blocks(s, ctx.threads());
  return s;
}

// ---- run ----

// Computes one block of one product.
void matmul_block(const MatMulPlan& s, const float* a, const float* b, float* y, GemmEnd end, int64_t block) {
  const Gemm& g = gemm();
  int64_t j = block / s.down * s.columns, i = block % s.down * s.rows;
  int64_t rows = std::min(s.rows, s.m - i), columns = std::min(s.columns, s.n - j);
  bool copies_a = s.a_right != 1, packs_b = !s.packed;
  int64_t a_step = s.depth + (s.depth % 256 == 0 ? 16 : 0), a_size = copies_a ? gemm_round_up(rows * a_step, 16) : 0;
  int64_t b_size = packs_b ? gemm_packed_b(g, s.depth, columns) : 0;
  float* left = copies_a || packs_b ? thread_floats(static_cast<size_t>(a_size + b_size)) : nullptr;
  float* right = left + a_size;
  if (end.bias) end.bias += j;
  if (end.sum) end.sum += i * end.sum_down + j;
  if (s.k == 0) return g.finish(rows, columns, 0, 0, end, y + i * s.y_down + j, s.y_down);
  for (int64_t k = 0; k < s.k; k += s.depth) {
    int64_t now = std::min(s.depth, s.k - k);
    const float* from = a + i * s.a_down + k * s.a_right;
    if (copies_a) g.copy_a({from, s.a_down, s.a_right}, rows, now, left, a_step);
    if (packs_b) g.pack_b({b + k * s.b_down + j * s.b_right, s.b_down, s.b_right}, now, columns, right);
    g.multiply_rows(rows, columns, now, copies_a ? left : from, copies_a ? a_step : s.a_down,
                    packs_b ? right : b + j * s.k, packs_b ? now : s.k, packs_b ? 0 : k, y + i * s.y_down + j, s.y_down,
                    k > 0, k + now == s.k, end);
  }
}

// A row times a matrix; or a matrix times a column, which is its transpose.
void matmul_vectors(Run& ctx, const MatMulPlan& s, const float* a, const float* b, float* y, const GemmEnd& whole) {
  bool row = s.m == 1;
  int64_t n = row ? s.n : s.m, products = static_cast<int64_t>(s.products.size());
  constexpr int64_t piece = 256;
  int64_t pieces = (n + piece - 1) / piece;
  int64_t grain = std::max<int64_t>(1, (1 << 16) / std::max<int64_t>(1, s.k * std::min(n, piece)));
  ctx.parallel_for(products * pieces, grain, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const MatMulAt& at = s.products[static_cast<size_t>(t / pieces)];
      int64_t first = t % pieces * piece, count = std::min(piece, n - first);
      const float *left = a + at.a, *right = b + at.b;
      float* to = y + at.y + first;
      if (row) gemm().vector(left, s.a_right, s.k, {right + first * s.b_right, s.b_down, s.b_right}, count, to);
      else gemm().vector(right, s.b_down, s.k, {left + first * s.a_down, s.a_right, s.a_down}, count, to);
      if (whole.empty()) continue;
      GemmEnd own = whole;
      if (own.sum) own.sum += at.sum;
      if (row) gemm().finish(1, count, 0, first, own, to, 0);
      else gemm().finish(count, 1, first, 0, own, to, 1);
    }
  });
}

void matmul_run(Run& ctx, const MatMulPlan& s) {
  OutputView out = ctx.output(0);
  if (out.size() == 0) return;
  const float* a = ctx.input(0).data<const float>();
  const float* b = s.packed ? s.packed : ctx.input(1).data<const float>();
  float* y = out.data<float>();
  GemmEnd whole{s.scale, nullptr, nullptr, s.sum_down, s.epilogue.empty() ? nullptr : &s.epilogue};
  if (s.has_bias) whole.bias = ctx.input(2).data<const float>();
  if (s.has_sum) whole.sum = ctx.input(3).data<const float>();
  if (s.k == 0) std::fill(y, y + out.size(), 0.0f);
  if (s.k > 0 && s.vector()) return matmul_vectors(ctx, s, a, b, y, whole);
  int64_t per_product = s.down * s.across, count = static_cast<int64_t>(s.products.size()) * per_product;
  ctx.parallel_for(count, s.grain, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const MatMulAt& at = s.products[static_cast<size_t>(t / per_product)];
      GemmEnd own = whole;
      if (own.sum) own.sum += at.sum;
      matmul_block(s, a + at.a, b + at.b, y + at.y, own, t % per_product);
    }
  });
}

}  // namespace

Definitions cpu_matmul() {
  Definitions all;
  for (auto [type, opset] : {std::pair{"MatMul", "opset1"}, {"FusedMatMul", "graft"}})
    all += Kernel("CPU", "gemm_f32")
               .of(type, opset)
               .accept(matmul_accept)
               .pack(matmul_pack)
               .run(matmul_prepare, matmul_run);
  return all;
}

}  // namespace graft
