// Matrix products of ONNX Runtime (com.microsoft): with transposed operands, and with low-bit weights.

#include <graft/kit/expressions.hpp>
#include <graft/op.hpp>

#include "onnx/packed_bits.hpp"

namespace graft {
namespace {

// Moves the first axis before the last one.
Value ms_batch_last(const Value& v) {
  std::vector<int64_t> order;
  auto rank = static_cast<int64_t>(v.rank());
  for (int64_t i = 1; i + 1 < rank; ++i) order.push_back(i);
  order.push_back(0);
  if (rank > 1) order.push_back(rank - 1);
  return transpose(v, order);
}

Value import_fused_matmul(Builder& layer) {
  Value a = layer.input(0), b = layer.input(1);
  bool trans_a = layer.get<bool>("transA", false), trans_b = layer.get<bool>("transB", false);
  if (layer.get<bool>("transBatchA", false)) a = ms_batch_last(a);
  if (layer.get<bool>("transBatchB", false)) b = ms_batch_last(b);
  // A 1-D operand is not transposed.
  if (Shape s = a.shape(); s.ranked() && s.rank() == 1) trans_a = false;
  if (Shape s = b.shape(); s.ranked() && s.rank() == 1) trans_b = false;
  return build::matmul(a, b, trans_a, trans_b) * layer.get<float>("alpha", 1);
}

// Computed in f32, or the type of the data, whatever 'accuracy_level' allows: it is a minimum.
Value import_matmul_nbits(Builder& layer) {
  Value a = layer.input(0), scales = layer.input(2);
  DType type = a.type();
  int64_t k = layer.get<int64_t>("K"), n = layer.get<int64_t>("N"), bits = layer.get<int64_t>("bits", 4),
          block = layer.get<int64_t>("block_size");
  layer.has("accuracy_level");
  constexpr int64_t most = int64_t{1} << 31;
  if (k < 1 || n < 1 || k > most || n > most) fail("expected positive N and K, got ", n, " and ", k);
  check_block_size(block);
  check_packed_bits(bits);
  PackedBlocks p{bits, n, (k + block - 1) / block, block};
  Value zero = layer.has_input(3) ? layer.input(3) : Value(), w;
  if (layer.has_input(4)) {
    // g_idx holds the block of each column.
    Value index = build::slice(layer.input(4), 0, 0, k);
    w = convert(unpack_bits(layer, layer.input(1), bits, n, p.blocks * block), type);
    if (p.blocks * block != k) w = build::slice(w, 1, 0, k);
    Value by_block = block_zero_points(layer, zero, p, type);
    w = w - (zero ? build::gather(by_block, index, 1) : by_block);
    w = w * build::gather(reshape(convert(scales, type), {n, p.blocks}), index, 1);
  } else {
    w = dequantize_blocks(layer, layer.input(1), scales, zero, p, type);
    if (p.blocks * block != k) w = build::slice(w, 1, 0, k);
  }
  Value y = build::matmul(a, w, false, true);
  return layer.has_input(5) ? y + layer.input(5) : y;
}

}  // namespace

Definitions define_onnx_ms_matmul() {
  return {
      onnx("FusedMatMul").domain("com.microsoft").expand(import_fused_matmul),
      onnx("TransposeMatMul").domain("com.microsoft").expand(import_fused_matmul),
      onnx("MatMulNBits").domain("com.microsoft").expand(import_matmul_nbits),
  };
}

}  // namespace graft
