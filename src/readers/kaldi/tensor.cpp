// Vectors and matrices in Kaldi's encodings.
#include "base/tensor.hpp"

#include <cmath>
#include <cstring>

#include "base/file.hpp"
#include "readers/kaldi/stream.hpp"

namespace graft {
namespace {

// What the 8-bit form stores of a column: four percentiles, as fractions of the matrix's range.
struct Percentiles {
  float p0, p25, p75, p100;
  float value(unsigned char code) const {
    auto c = static_cast<float>(code);
    if (code <= 64) return p0 + (p25 - p0) * c * (1 / 64.0f);
    if (code <= 192) return p25 + (p75 - p25) * (c - 64) * (1 / 128.0f);
    return p75 + (p100 - p75) * (c - 192) * (1 / 63.0f);
  }
};

}  // namespace

Tensor KaldiStream::tensor() {
  skip_blanks();
  if (at_ >= bytes_.size()) broken("expected a vector or a matrix, got the end of the file");
  if (!binary_) return text_tensor();
  return binary_tensor();
}

// `dims` are checked before memory is allocated: the values must be in the file.
Tensor KaldiStream::reals(bool wide, std::vector<int64_t> dims, std::string_view what) {
  int64_t count = 1;
  for (int64_t d : dims) {
    if (d < 0) broken("expected a size of at least 0 for a ", what, ", got ", d);
    count *= d;  // two factors below 2^31
  }
  size_t cell = wide ? 8 : 4;
  if (static_cast<uint64_t>(count) > (bytes_.size() - at_) / cell)
    broken("expected a ", what, " of ", count, " values, got ", (bytes_.size() - at_) / cell,
           ": is the file complete?");
  std::string_view from = take(static_cast<size_t>(count) * cell, what);
  Tensor out(DType::f32, std::move(dims));
  auto* to = static_cast<float*>(out.data());
  if (!wide) std::memcpy(to, from.data(), from.size());
  for (int64_t i = 0; wide && i < count; ++i)
    to[i] = static_cast<float>(kaldi_load<double>(from.data() + static_cast<size_t>(i) * 8));
  constexpr size_t worth_it = size_t{1} << 20;
  if (from.size() >= worth_it) forget_pages(from.data(), from.size());  // copied, because files do not align them
  return out;
}

Tensor KaldiStream::binary_tensor() {
  std::string kind = word();
  if (kind == "CM" || kind == "CM2" || kind == "CM3") return compressed(kind);
  if (kind.size() != 2 || (kind[0] != 'F' && kind[0] != 'D') || (kind[1] != 'M' && kind[1] != 'V'))
    broken("expected a vector or a matrix, got ", quoted(kind));
  bool matrix = kind[1] == 'M';
  std::vector<int64_t> dims{sized_int(matrix ? "rows" : "size")};
  if (matrix) dims.push_back(sized_int("columns"));
  return reals(kind[0] == 'D', dims, matrix ? "matrix" : "vector");
}

// Compressed matrices: CM has a byte per value and percentiles per column, stored column by column; CM2 and CM3 have
// two bytes and one byte per value, row by row, over the range of the matrix.
Tensor KaldiStream::compressed(std::string_view kind) {
  auto least = kaldi_load<float>(take(4, "a compressed matrix").data());
  auto range = kaldi_load<float>(take(4, "a compressed matrix").data());
  int64_t rows = kaldi_load<int32_t>(take(4, "a compressed matrix").data()),
          columns = kaldi_load<int32_t>(take(4, "a compressed matrix").data());
  if (rows < 0 || columns < 0) broken("expected a size of at least 0 for a matrix, got ", rows, " x ", columns);
  auto count = static_cast<uint64_t>(rows) * static_cast<uint64_t>(columns);
  uint64_t bytes = kind == "CM2" ? 2 * count : kind == "CM3" ? count : count + 8 * static_cast<uint64_t>(columns);
  if (bytes > bytes_.size() - at_)
    broken("expected a compressed matrix of ", bytes, " bytes, got ", bytes_.size() - at_, ": is the file complete?");
  const char* from = take(bytes, "a compressed matrix").data();
  Tensor out(DType::f32, {rows, columns});
  auto* to = static_cast<float*>(out.data());
  if (kind == "CM") {
    auto fraction = [&](size_t at) { return least + range * (1 / 65535.0f) * kaldi_load<uint16_t>(from + at); };
    const char* codes = from + 8 * columns;
    for (int64_t c = 0; c < columns; ++c) {
      auto head = static_cast<size_t>(8 * c);
      Percentiles p{fraction(head), fraction(head + 2), fraction(head + 4), fraction(head + 6)};
      for (int64_t r = 0; r < rows; ++r) to[r * columns + c] = p.value(static_cast<unsigned char>(codes[c * rows + r]));
    }
    return out;
  }
  float step = range * (kind == "CM2" ? 1 / 65535.0f : 1 / 255.0f);
  for (size_t i = 0; i < count; ++i)
    to[i] = least +
            step * (kind == "CM2" ? float(kaldi_load<uint16_t>(from + 2 * i)) : float(kaldi_load<uint8_t>(from + i)));
  return out;
}

// "[ 1 2 ]" is a vector; the rows of a matrix begin on a new line, and end with a line or a ';'.
Tensor KaldiStream::text_tensor() {
  if (bytes_[at_] != '[') broken("expected '[', got ", found());
  ++at_;
  std::vector<float> values;
  int64_t rows = 0, columns = -1, in_row = 0;
  bool matrix = false, first = true;
  auto end_row = [&] {
    if (!in_row) return;
    if (columns >= 0 && in_row != columns) broken("expected a row of ", columns, " values, got ", in_row);
    columns = in_row, in_row = 0, ++rows;
  };
  for (;;) {
    if (at_ >= bytes_.size()) broken("expected ']' at the end of a vector or matrix");
    char c = bytes_[at_];
    if (c == ']') break;
    if (c == '\n' || c == ';') {
      matrix |= first || c == ';';
      if (matrix) end_row();
      ++at_;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++at_;
    } else {
      values.push_back(static_cast<float>(text_number()));
      ++in_row, first = false;
    }
  }
  ++at_;
  auto total = static_cast<int64_t>(values.size());
  if (!matrix) return make_tensor<float>({total}, values);
  end_row();
  return make_tensor<float>({rows, std::max<int64_t>(columns, 0)}, values);
}

}  // namespace graft
