// Weights of ONNX Runtime with fewer bits than a byte, quantized in blocks.
#pragma once

#include <graft/op.hpp>

namespace graft {

// The bits of a packed number.
inline void check_packed_bits(int64_t bits) {
  if (bits != 2 && bits != 4 && bits != 8) unsupported("weights of ", bits, " bits are not supported");
}
inline void check_block_size(int64_t block) {
  constexpr int64_t most = int64_t{1} << 31;
  if (block < 16 || (block & (block - 1)) != 0 || block > most)
    fail("expected a block_size that is a power of two and at least 16, got ", block);
}

// Unpacks bytes that hold 8 / bits numbers each, lowest bits first, to [rows, columns]. Columns fill whole bytes; bytes
// past the end are ignored.
Value unpack_bits(Builder& layer, const Value& bytes, int64_t bits, int64_t rows, int64_t columns);
// The numbers in the bytes along a new last axis of size 8 / bits.
Value digits_of_bytes(Builder& layer, const Value& bytes, int64_t bits);

// A matrix of rows * (blocks * block) packed numbers.
struct PackedBlocks {
  int64_t bits, rows, blocks, block;
};
// Zero points as [rows, blocks], from bytes whose rows fill whole bytes or from real numbers. Without any, the middle
// of the range, as [1, 1].
Value block_zero_points(Builder& layer, const Value& zero, const PackedBlocks& p, DType type);
// (number - zero point) * scale as [rows, blocks * block]; scales are [rows, blocks] in any shape.
Value dequantize_blocks(Builder& layer, const Value& bytes, const Value& scales, const Value& zero,
                        const PackedBlocks& p, DType type);

}  // namespace graft
