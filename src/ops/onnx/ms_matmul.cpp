// Matrix products of ONNX Runtime (com.microsoft): with transposed operands, and with low-bit weights.

#include <graft/expressions.hpp>
#include <graft/op.hpp>
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

// Unpacks bytes that hold 8 / bits numbers each, lowest bits first, to [rows, columns]. Columns fill whole bytes; bytes
// past the end are ignored.
Value ms_unpack_bits(Builder& layer, const Value& bytes, int64_t bits, int64_t rows, int64_t columns) {
  int64_t per_byte = 8 / bits, wanted = rows * columns / per_byte;
  if (bytes.type() != DType::u8) unsupported("packed weights of type ", bytes.type(), " are not supported");
  if (Dim n = bytes.shape().elements(); n.max() < wanted)
    fail("expected at least ", rows, " x ", columns, " packed weights, got ", n, " bytes");
  if (TensorView t = bytes.constant(); t && bits >= 4) {
    std::vector<int64_t> dims{rows, columns};
    graft_tensor packed{sizeof packed,
                        static_cast<graft_type>(bits == 4 ? DType::u4 : DType::u8),
                        2,
                        0,
                        dims.data(),
                        nullptr,
                        const_cast<void*>(t.bytes())};
    return layer.constant(TensorView(&packed));
  }
  Value flat = reshape(bytes, {-1});
  if (!flat.shape()[0].known() || flat.shape()[0].value() != wanted) flat = build::slice(flat, 0, 0, wanted);
  Value column = unsqueeze(convert(flat, DType::i32), {1});
  if (per_byte == 1) return reshape(column, {rows, columns});
  std::vector<double> divisors;
  for (int64_t i = 0; i < per_byte; ++i) divisors.push_back(static_cast<double>(int64_t{1} << (i * bits)));
  Value shifted = layer.op("Divide", {column, layer.typed(divisors, {per_byte}, DType::i32)});
  Value digits = layer.op("FloorMod", {shifted, like(shifted, static_cast<double>(int64_t{1} << bits))});
  return reshape(digits, {rows, columns});
}

Value import_matmul_nbits(Builder& layer) {
  Value a = layer.input(0), scales = layer.input(2);
  DType type = a.type();
  int64_t k = layer.get<int64_t>("K"), n = layer.get<int64_t>("N"), bits = layer.get<int64_t>("bits", 4),
          block = layer.get<int64_t>("block_size");
  layer.has("accuracy_level");
  constexpr int64_t most = int64_t{1} << 31;
  if (k < 1 || n < 1 || k > most || n > most) fail("expected positive N and K, got ", n, " and ", k);
  if (block < 16 || (block & (block - 1)) != 0 || block > most)
    fail("expected a block_size that is a power of two and at least 16, got ", block);
  if (bits != 2 && bits != 4 && bits != 8) unsupported("weights of ", bits, " bits are not supported");
  int64_t blocks = (k + block - 1) / block, per_byte = 8 / bits;

  Value w = convert(ms_unpack_bits(layer, layer.input(1), bits, n, blocks * block), type);
  scales = reshape(convert(scales, type), {n, blocks});
  Value zero = layer.typed({static_cast<double>(int64_t{1} << (bits - 1))}, {1, 1}, type);
  if (layer.has_input(3)) {
    zero = layer.input(3);
    if (zero.type() == DType::u8) {
      int64_t padded = (blocks + per_byte - 1) / per_byte * per_byte;
      zero = convert(ms_unpack_bits(layer, zero, bits, n, padded), type);
      if (padded != blocks) zero = build::slice(zero, 1, 0, blocks);
    } else {
      zero = reshape(convert(zero, type), {n, blocks});
    }
  }
  bool one_zero = !layer.has_input(3);
  if (layer.has_input(4)) {
    // g_idx holds the block index of each column.
    if (blocks * block != k) w = build::slice(w, 1, 0, k);
    Value index = build::slice(layer.input(4), 0, 0, k);
    if (!one_zero) zero = build::gather(zero, index, 1);
    w = (w - zero) * build::gather(scales, index, 1);
  } else {
    w = reshape(w, {n, blocks, block});
    w = (w - unsqueeze(zero, {2})) * unsqueeze(scales, {2});
    w = reshape(w, {n, blocks * block});
    if (blocks * block != k) w = build::slice(w, 1, 0, k);
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
