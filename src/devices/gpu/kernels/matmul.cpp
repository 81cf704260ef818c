// Matrix products: a work group computes a tile of 16x16 results from tiles of both operands in local memory.
#include "cl_kernel.hpp"

namespace graft {
namespace {

constexpr int64_t tile = 16;

void emit_matmul(Emit& ctx) {
  std::vector<int64_t> a = ctx.shape(0).values(), b = ctx.shape(1).values();
  bool turn_a = ctx.attr<bool>("transpose_a") && a.size() > 1, turn_b = ctx.attr<bool>("transpose_b") && b.size() > 1;
  if (a.empty() || b.empty()) unsupported("expected operands of rank 1 or more");
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  size_t ra = a.size(), rb = b.size();
  int64_t m = a[ra - (turn_a ? 1 : 2)], depth = a[ra - (turn_a ? 2 : 1)], n = b[rb - (turn_b ? 2 : 1)];
  std::vector<int64_t> batch_a(a.begin(), a.end() - 2), batch_b(b.begin(), b.end() - 2), batch;
  size_t rank = std::max(batch_a.size(), batch_b.size());
  batch_a.insert(batch_a.begin(), rank - batch_a.size(), 1);
  batch_b.insert(batch_b.begin(), rank - batch_b.size(), 1);
  for (size_t i = 0; i < rank; ++i) batch.push_back(batch_a[i] == 1 ? batch_b[i] : batch_a[i]);
  std::vector<int64_t> sa = cl_broadcast(batch_a, batch), sb = cl_broadcast(batch_b, batch);
  for (int64_t& s : sa) s *= m * depth;
  for (int64_t& s : sb) s *= depth * n;
  ClKernel k(ctx, "matmul");
  k.input(0, "a").input(1, "b").output(0, "y").number("M", m).number("N", n).number("K", depth);
  k.number("am", turn_a ? 1 : depth)
      .number("ak", turn_a ? m : 1)
      .number("bk", turn_b ? 1 : n)
      .number("bn", turn_b ? depth : 1);
  k.define("TILE", std::to_string(tile));
  std::string body = R"(  __local T_a ta[TILE][TILE + 1];
  __local T_a tb[TILE][TILE + 1];
  int n = get_global_id(0), m = get_global_id(1), i = get_global_id(2), lx = get_local_id(0), ly = get_local_id(1);
)" + ClWalk(batch, {sa, sb}).code(k) +
                     R"(  T_a sum = 0;
  for (int k = 0; k < K; k += TILE) {
    ta[ly][lx] = m < M && k + lx < K ? LOAD_a(at_0 + m * am + (k + lx) * ak) : 0;
    tb[ly][lx] = n < N && k + ly < K ? LOAD_b(at_1 + (k + ly) * bk + n * bn) : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = 0; j < TILE; ++j) sum += ta[ly][j] * tb[j][lx];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (m < M && n < N) STORE_y((i * M + m) * N + n, sum);)";
  auto rounded = [](int64_t v) { return (v + tile - 1) / tile * tile; };
  k.run(body, {rounded(n), rounded(m), cl_count(batch)}, {tile, tile, 1});
}

}  // namespace

Definitions gpu_matmul() { return SourceKernel("GPU", "matmul_tiled").of("MatMul", "opset1").emit(emit_matmul); }

}  // namespace graft
