// Weights in blocks: the part that MatMulNBits, QMoE and GatherBlockQuantized share; and GatherBlockQuantized.
#include "onnx/packed_bits.hpp"

#include <graft/kit/expressions.hpp>

namespace graft {

Value digits_of_bytes(Builder& layer, const Value& bytes, int64_t bits) {
  int64_t per_byte = 8 / bits;
  std::vector<double> divisors;
  for (int64_t i = 0; i < per_byte; ++i) divisors.push_back(static_cast<double>(int64_t{1} << (i * bits)));
  Value shifted =
      layer.op("Divide", {unsqueeze(convert(bytes, DType::i32), {-1}), layer.typed(divisors, {per_byte}, DType::i32)});
  return layer.op("FloorMod", {shifted, like(shifted, static_cast<double>(int64_t{1} << bits))});
}

Value unpack_bits(Builder& layer, const Value& bytes, int64_t bits, int64_t rows, int64_t columns) {
  int64_t per_byte = 8 / bits, wanted = 0;
  if (__builtin_mul_overflow(rows, columns, &wanted)) fail("expected fewer than ", rows, " x ", columns, " weights");
  wanted /= per_byte;
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
  return reshape(per_byte == 1 ? flat : digits_of_bytes(layer, flat, bits), {rows, columns});
}

Value block_zero_points(Builder& layer, const Value& zero, const PackedBlocks& p, DType type) {
  if (!zero) return layer.typed({static_cast<double>(int64_t{1} << (p.bits - 1))}, {1, 1}, type);
  if (zero.type() != DType::u8) return reshape(convert(zero, type), {p.rows, p.blocks});
  int64_t per_byte = 8 / p.bits, padded = (p.blocks + per_byte - 1) / per_byte * per_byte;
  Value all = convert(unpack_bits(layer, zero, p.bits, p.rows, padded), type);
  return padded == p.blocks ? all : build::slice(all, 1, 0, p.blocks);
}

Value dequantize_blocks(Builder& layer, const Value& bytes, const Value& scales, const Value& zero,
                        const PackedBlocks& p, DType type) {
  Value w = convert(unpack_bits(layer, bytes, p.bits, p.rows, p.blocks * p.block), type);
  w = reshape(w, {p.rows, p.blocks, p.block}) - unsqueeze(block_zero_points(layer, zero, p, type), {2});
  w = w * unsqueeze(reshape(convert(scales, type), {p.rows, p.blocks}), {2});
  return reshape(w, {p.rows, p.blocks * p.block});
}

namespace {

// Gathers, and unpacks what was gathered along its last axis, to `columns` numbers.
Value gather_numbers(Builder& layer, const Value& packed, int64_t axis, int64_t bits, int64_t columns) {
  Value rows = build::gather(packed, layer.input(1), axis);
  if (packed.type() != DType::u8 || bits == 8) return rows;
  std::vector<int64_t> leading;
  for (size_t i = 0; i + 1 < rows.rank(); ++i) leading.push_back(static_cast<int64_t>(i));
  Value all = build::reshape(digits_of_bytes(layer, rows, bits), {build::dims(rows, leading), layer.ints({-1})});
  return build::slice(all, -1, 0, columns);
}

// Rows of a table that is quantized in blocks along another axis. Unlike in ONNX Runtime, an index that is out of range
// is an error.
Value import_gather_block_quantized(Builder& layer) {
  Value data = layer.input(0), scales = layer.input(2);
  Shape table = data.shape(), by_block = scales.shape();
  if (!table.is_static() || !by_block.is_static() || table.rank() == 0 || by_block.rank() != table.rank())
    fail("expected data and scales of known shapes of the same rank, got ", table, " and ", by_block);
  size_t rank = table.rank(), axis = normalize_axis(layer.get<int64_t>("gather_axis", 0), rank),
         quantized = normalize_axis(layer.get<int64_t>("quantize_axis", 1), rank);
  if (axis == quantized) unsupported("gathering along the axis of the blocks is not supported");
  int64_t block = layer.get<int64_t>("block_size", 128), bits = layer.get<int64_t>("bits", 4);
  bool packed = data.type() == DType::u8, real = is_real(data.type());
  constexpr int64_t longest = 1 << 20;
  int64_t length = table[quantized].value();
  if (length > longest) unsupported("an axis of ", length, " numbers in blocks is not supported");
  if (packed) {
    check_packed_bits(bits);
    if (axis != 0 || (bits < 8 && quantized != rank - 1))
      unsupported("packed data requires gather_axis 0 and blocks along the last axis");
    length *= 8 / bits;
  }
  if (!real || block != 0) check_block_size(block);
  if (block == 0) block = std::max<int64_t>(length, 1);
  int64_t blocks = by_block[quantized].value();
  if (length < 1 || blocks != (length + block - 1) / block)
    fail("expected scales for blocks of ", block, " of ", length, " numbers, got shape ", by_block);
  Value y = convert(gather_numbers(layer, data, static_cast<int64_t>(axis), bits, length), scales.type());

  // Each number's block, along the axis where the blocks are after gathering.
  auto indices = static_cast<int64_t>(layer.input(1).rank());
  auto at = static_cast<int64_t>(quantized) + (quantized > axis ? indices - 1 : 0);
  std::vector<int64_t> block_of;
  for (int64_t i = 0; i < length; ++i) block_of.push_back(i / block);
  auto by_number = [&](const Value& v) { return blocks == 1 ? v : build::gather(v, layer.ints(block_of), at); };
  auto rows_of = [&](const Value& v) {
    bool shared = v.shape()[axis].known() && v.shape()[axis].value() == 1 && table[axis].value() != 1;
    return shared ? build::gather(v, layer.op("Multiply", {layer.input(1), like(layer.input(1), 0)}),
                                  static_cast<int64_t>(axis))
                  : build::gather(v, layer.input(1), static_cast<int64_t>(axis));
  };
  if (layer.has_input(3)) {
    if (real) fail("zero points of real numbers");
    Value zero = gather_numbers(layer, layer.input(3), static_cast<int64_t>(axis), bits, blocks);
    y = y - by_number(convert(zero, scales.type()));
  } else if (packed) {
    y = y - static_cast<double>(int64_t{1} << (bits - 1));
  }
  return y * by_number(rows_of(scales));
}

}  // namespace

Definitions define_onnx_packed_bits() {
  return onnx("GatherBlockQuantized").domain("com.microsoft").expand(import_gather_block_quantized);
}

}  // namespace graft
