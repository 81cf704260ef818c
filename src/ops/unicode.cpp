// Strings in Unicode's encodings, from and to numbers of characters.
#include "code_points.hpp"
#include "splits.hpp"
#include "strings.hpp"

namespace graft {
namespace {

// What replaces characters that are malformed or not wanted.
struct UnicodeErrors {
  enum Errors { strict, replace, ignore } errors = replace;
  int64_t replacement_char = 0xFFFD;
  bool replace_control_characters = false;

  // The characters of a string, after replacement.
  template <class F>
  void each(const std::vector<CodePoint>& points, F f) const {
    for (const CodePoint& p : points) {
      bool control = replace_control_characters && p.value >= 0 && p.value < 0x20;
      if (is_code_point(p.value) && !control) f(p.value, p.at);
      else if (errors == strict && !control) fail("expected a valid character at byte ", p.at);
      else if (errors != ignore) f(replacement_char, p.at);
    }
  }
};
constexpr std::string_view unicode_errors_doc =
    "how to handle malformed characters: fail, replace them by replacement_char, or drop them";
constexpr std::string_view unicode_replacement_doc = "character that takes the place of others";
constexpr std::string_view unicode_control_doc = "treat characters 0 to 31 as malformed, but never as an error";

// The names that TensorFlow's users write, whatever the case and the hyphens.
std::optional<TextEncoding> text_encoding(std::string_view name) {
  std::string plain;
  for (char c : name)
    if (c != '-' && c != '_') plain += static_cast<char>(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
  constexpr std::pair<std::string_view, TextEncoding> names[] = {
      {"utf8", TextEncoding::utf8},        {"utf16be", TextEncoding::utf16_be}, {"utf16le", TextEncoding::utf16_le},
      {"utf32be", TextEncoding::utf32_be}, {"iso88591", TextEncoding::latin1},  {"latin1", TextEncoding::latin1},
      {"usascii", TextEncoding::ascii},    {"ascii", TextEncoding::ascii}};
  for (auto [n, encoding] : names)
    if (n == plain) return encoding;
  return std::nullopt;
}
TextEncoding input_encoding_of(const std::string& name) {
  auto encoding = text_encoding(name);
  if (!encoding)
    unsupported("expected input_encoding UTF-8, UTF-16-BE, UTF-16-LE, UTF-32-BE, ISO-8859-1 or US-ASCII, got '", name,
                "'");
  return *encoding;
}
void check_replacement(const UnicodeErrors& a) {
  if (!is_code_point(a.replacement_char))
    fail("expected a character of Unicode as replacement_char, got ", a.replacement_char);
}

struct UnicodeDecode : UnicodeErrors {
  std::string input_encoding = "UTF-8";
  DType Tsplits = DType::i64;
  static constexpr std::tuple schema{
      attr("input_encoding", &UnicodeDecode::input_encoding, "encoding of the strings"),
      attr("errors", &UnicodeDecode::errors, unicode_errors_doc).one_of("strict", "replace", "ignore"),
      attr("replacement_char", &UnicodeDecode::replacement_char, unicode_replacement_doc),
      attr("replace_control_characters", &UnicodeDecode::replace_control_characters, unicode_control_doc),
      attr("Tsplits", &UnicodeDecode::Tsplits, "element type of row_splits, i32 or i64")};
};
void unicode_decode_infer(Infer& ctx, const UnicodeDecode& a) {
  strings_expect(ctx);
  input_encoding_of(a.input_encoding);
  check_replacement(a);
  check_splits_type(a.Tsplits);
  ctx.output(0, a.Tsplits, Shape{ctx.shape(0).elements() + 1});
  ctx.output(1, DType::i32, Shape{Dim()});
  ctx.output(2, DType::i64, Shape{Dim()});
}
void unicode_decode_run(Run& ctx, const UnicodeDecode& a) {
  TensorView x = ctx.input(0);
  TextEncoding encoding = input_encoding_of(a.input_encoding);
  std::vector<int64_t> splits{0}, values, places;
  for (int64_t i = 0; i < x.size(); ++i) {
    a.each(code_points(string_of(x, i), encoding),
           [&](int64_t v, size_t at) { values.push_back(v), places.push_back(static_cast<int64_t>(at)); });
    splits.push_back(static_cast<int64_t>(values.size()));
  }
  ctx.output(0).assign(splits);
  store_list(ctx, 1, values);
  store_list(ctx, 2, places);
}

enum class UnicodeForm { utf8, utf16_be, utf32_be };
constexpr TextEncoding written_encodings[] = {TextEncoding::utf8, TextEncoding::utf16_be, TextEncoding::utf32_be};

struct UnicodeEncode : UnicodeErrors {
  UnicodeForm output_encoding = UnicodeForm::utf8;
  static constexpr std::tuple schema{
      attr("output_encoding", &UnicodeEncode::output_encoding, "encoding of the strings")
          .one_of("UTF-8", "UTF-16-BE", "UTF-32-BE"),
      attr("errors", &UnicodeEncode::errors, unicode_errors_doc).one_of("strict", "replace", "ignore"),
      attr("replacement_char", &UnicodeEncode::replacement_char, unicode_replacement_doc)};
};
void unicode_encode_infer(Infer& ctx, const UnicodeEncode& a) {
  check_replacement(a);
  merge(ctx.shape(0), Shape::of_rank(1));
  ctx.output(0, DType::string, Shape{rows_of_splits(ctx, 1)});
}
void unicode_encode_run(Run& ctx, const UnicodeEncode& a) {
  std::vector<int64_t> values = ctx.input(0).to<int64_t>();
  std::vector<int64_t> splits = splits_of(ctx.input(1), static_cast<int64_t>(values.size()));
  std::vector<std::string> out;
  for (size_t row = 0; row + 1 < splits.size(); ++row) {
    std::vector<CodePoint> points;
    for (int64_t i = splits[row]; i < splits[row + 1]; ++i)
      points.push_back({values[static_cast<size_t>(i)], static_cast<size_t>(i)});
    std::string& s = out.emplace_back();
    a.each(points, [&](int64_t v, size_t) {
      append_code_point(s, v, written_encodings[static_cast<size_t>(a.output_encoding)]);
    });
  }
  store_strings(ctx, 0, out);
}

struct UnicodeTranscode : UnicodeErrors {
  std::string input_encoding = "UTF-8";
  UnicodeForm output_encoding = UnicodeForm::utf8;
  static constexpr std::tuple schema{
      attr("input_encoding", &UnicodeTranscode::input_encoding, "encoding of the input"),
      attr("output_encoding", &UnicodeTranscode::output_encoding, "encoding of the output")
          .one_of("UTF-8", "UTF-16-BE", "UTF-32-BE"),
      attr("errors", &UnicodeTranscode::errors, unicode_errors_doc).one_of("strict", "replace", "ignore"),
      attr("replacement_char", &UnicodeTranscode::replacement_char, unicode_replacement_doc),
      attr("replace_control_characters", &UnicodeTranscode::replace_control_characters, unicode_control_doc)};
};
void unicode_transcode_infer(Infer& ctx, const UnicodeTranscode& a) {
  input_encoding_of(a.input_encoding);
  check_replacement(a);
  string_map_infer(ctx, a);
}
void unicode_transcode_run(Run& ctx, const UnicodeTranscode& a) {
  TextEncoding from = input_encoding_of(a.input_encoding),
               to = written_encodings[static_cast<size_t>(a.output_encoding)];
  string_map(ctx, [&](std::string_view s) {
    std::string out;
    a.each(code_points(s, from), [&](int64_t v, size_t) { append_code_point(out, v, to); });
    return out;
  });
}

}  // namespace

Definitions define_unicode() {
  return {
      op<UnicodeDecode>("UnicodeDecode", "graft")
          .doc("The characters of all strings as numbers, where those of each string begin, and the byte of each "
               "character")
          .inputs("data")
          .outputs("row_splits, char_values, char_to_byte_starts")
          .infer(unicode_decode_infer)
          .linear()
          .reference(unicode_decode_run)
          .import(tensorflow("UnicodeDecode"))
          .import(tensorflow("UnicodeDecodeWithOffsets")),
      op<UnicodeEncode>("UnicodeEncode", "graft")
          .doc("Strings from the numbers of their characters; row i has those from split i up to split i + 1")
          .inputs("values, splits")
          .infer(unicode_encode_infer)
          .linear()
          .reference(unicode_encode_run)
          .import(tensorflow("UnicodeEncode").ignore("Tsplits")),
      op<UnicodeTranscode>("UnicodeTranscode", "graft")
          .doc("Convert strings from one encoding to another")
          .inputs("data")
          .infer(unicode_transcode_infer)
          .linear()
          .reference(unicode_transcode_run)
          .import(tensorflow("UnicodeTranscode")),
  };
}

}  // namespace graft
