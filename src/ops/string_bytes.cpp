// Strings as the bytes of numbers, and as base64.
#include <cstring>

#include "strings.hpp"

namespace graft {
namespace {

struct DecodeRaw {
  DType out_type = DType::u8;
  bool little_endian = true;
  static constexpr std::tuple schema{
      attr("out_type", &DecodeRaw::out_type, "element type of the numbers"),
      attr("little_endian", &DecodeRaw::little_endian, "whether the first byte of a number is the lowest")};
};
int64_t raw_width(const DecodeRaw& a) {
  if (a.out_type == DType::undefined || a.out_type == DType::string || is_packed(a.out_type))
    fail("expected numbers of whole bytes as out_type, got ", a.out_type);
  return bits_of(a.out_type) / 8;
}
// A string may be cut to a fixed length, or extended with zeros.
int64_t raw_fixed_length(int64_t length, int64_t width) {
  if (length < 1 || length % width != 0)
    fail("expected a positive fixed_length, a multiple of ", width, ", got ", length);
  return length;
}

void decode_raw_infer(Infer& ctx, const DecodeRaw& a) {
  strings_expect(ctx);
  int64_t width = raw_width(a);
  Shape out = ctx.shape(0);
  Dim count;
  if (ctx.has_input(1))
    if (auto length = ctx.values<int64_t>(1); length && length->size() == 1)
      count = Dim(raw_fixed_length(length->front(), width) / width);
  if (out.ranked()) out.push_back(count);
  ctx.output(0, a.out_type, out);
}

void decode_raw_run(Run& ctx, const DecodeRaw& a) {
  TensorView x = ctx.input(0);
  int64_t width = raw_width(a), length = x.size() ? static_cast<int64_t>(string_of(x, 0).size()) : 0;
  bool fixed = ctx.has_input(1);
  if (fixed) length = raw_fixed_length(ctx.input(1).scalar<int64_t>(), width);
  if (length % width != 0)
    fail("expected strings with a multiple of ", width, " bytes for ", a.out_type, ", got ", length);
  std::vector<int64_t> dims(x.dims().begin(), x.dims().end());
  dims.push_back(length / width);
  OutputView y = ctx.allocate(0, dims);
  auto* to = static_cast<char*>(y.bytes());
  for (int64_t i = 0; i < x.size(); ++i, to += length) {
    std::string_view s = string_of(x, i);
    auto size = static_cast<int64_t>(s.size());
    if (!fixed && size != length)
      fail("expected strings of the same size, ", length, " bytes, got ", size, " in element ", i);
    size = std::min(size, length);
    std::copy_n(s.begin(), size, to);
    std::fill(to + size, to + length, 0);
    if (a.out_type == DType::boolean)
      for (int64_t k = 0; k < length; ++k) to[k] = to[k] != 0;
    for (int64_t at = 0; !a.little_endian && at < length; at += width) std::reverse(to + at, to + at + width);
  }
}

// ---- base64, with the letters that are safe in URLs ----

constexpr std::string_view base64_letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

struct EncodeBase64 {
  bool pad = false;
  static constexpr std::tuple schema{attr("pad", &EncodeBase64::pad, "append = up to a multiple of 4 letters")};
};
std::string base64_encoded(std::string_view s, bool pad) {
  std::string out;
  uint32_t bits = 0;
  int held = 0;
  auto put = [&](uint32_t six) { out += base64_letters[six & 63]; };
  for (char c : s) {
    bits = bits << 8 | static_cast<unsigned char>(c), held += 8;
    for (; held >= 6; held -= 6) put(bits >> (held - 6));
  }
  if (held > 0) put(bits << (6 - held));
  while (pad && out.size() % 4 != 0) out += '=';
  return out;
}
std::string base64_decoded(std::string_view s) {
  std::string_view letters = s;
  for (int i = 0; i < 2 && s.size() % 4 == 0 && letters.ends_with('='); ++i) letters.remove_suffix(1);
  std::string out;
  uint32_t bits = 0;
  int held = 0;
  for (char c : letters) {
    size_t six = base64_letters.find(c);
    if (six == base64_letters.npos) fail("expected base64 with the letters A-Z, a-z, 0-9, - and _, got '", s, "'");
    bits = bits << 6 | static_cast<uint32_t>(six), held += 6;
    if (held >= 8) held -= 8, out += static_cast<char>(bits >> held & 255);
  }
  if (letters.size() % 4 == 1) fail("expected base64 of a whole number of bytes, got ", letters.size(), " letters");
  return out;
}
void encode_base64_run(Run& ctx, const EncodeBase64& a) {
  string_map(ctx, [&](std::string_view s) { return base64_encoded(s, a.pad); });
}
void decode_base64_run(Run& ctx, const NoAttributes&) { string_map(ctx, base64_decoded); }

}  // namespace

Definitions define_string_bytes() {
  return {
      op<DecodeRaw>("DecodeRaw", "graft")
          .doc("The bytes of each string as numbers along a new last axis")
          .inputs("bytes, fixed_length?")
          .infer(decode_raw_infer)
          .linear()
          .reference(decode_raw_run)
          .import(tensorflow("DecodePaddedRaw"))
          .import(tensorflow("DecodeRaw")),
      op<EncodeBase64>("EncodeBase64", "graft")
          .doc("Each string as base64 with letters that are safe in URLs")
          .inputs("data")
          .infer(string_map_infer<EncodeBase64>)
          .linear()
          .reference(encode_base64_run)
          .import(tensorflow("EncodeBase64")),
      op("DecodeBase64", "graft")
          .doc("The bytes that each string has as base64 with letters that are safe in URLs")
          .inputs("data")
          .infer(string_map_infer<NoAttributes>)
          .linear()
          .reference(decode_base64_run)
          .import(tensorflow("DecodeBase64")),
  };
}

}  // namespace graft
