#include <graft/op.hpp>
#include <set>

#include "texts.hpp"

namespace graft {
namespace {

struct StringNormalizer {
  enum Case { none, lower, upper } case_change_action = none;
  bool is_case_sensitive = false;
  static constexpr std::tuple schema{
      attr("case_change_action", &StringNormalizer::case_change_action, "case conversion of the letters")
          .one_of("NONE", "LOWER", "UPPER"),
      attr("is_case_sensitive", &StringNormalizer::is_case_sensitive, "compare stop words case-sensitively")};
};

// Converts the case of Latin, Greek and Cyrillic letters; everything else stays unchanged.
char32_t normalizer_letter(char32_t c, bool up) {
  struct Range {
    char32_t first, last;  // uppercase letters
    char32_t step;         // distance to the lowercase letter
  };
  constexpr Range ranges[] = {{U'A', U'Z', 32},   {0xC0, 0xD6, 32},   {0xD8, 0xDE, 32},  {0x391, 0x3A1, 32},
                              {0x3A3, 0x3A9, 32}, {0x410, 0x42F, 32}, {0x400, 0x40F, 80}};
  for (const Range& r : ranges) {
    if (!up && c >= r.first && c <= r.last) return c + r.step;
    if (up && c >= r.first + r.step && c <= r.last + r.step) return c - r.step;
  }
  // Uppercase and lowercase letters alternate, starting with an even or odd code point.
  bool even = (c >= 0x100 && c <= 0x137 && c != 0x130 && c != 0x131) || (c >= 0x14A && c <= 0x177) ||
              (c >= 0x460 && c <= 0x481) || (c >= 0x48A && c <= 0x4BF);
  bool odd = (c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17E);
  if (even || odd) {
    bool capital = (c % 2 == 0) == even;
    return up && !capital ? c - 1 : !up && capital ? c + 1 : c;
  }
  return c;
}

// Converts a string; bytes that are not valid UTF-8 stay unchanged.
std::string normalizer_text(std::string_view s, bool up) {
  std::string out;
  for (size_t i = 0; i < s.size();) {
    auto byte = [&](size_t k) { return static_cast<unsigned char>(s[k]); };
    bool two = byte(i) >= 0xC2 && byte(i) < 0xE0 && i + 1 < s.size() && (byte(i + 1) & 0xC0) == 0x80;
    char32_t c = two ? static_cast<char32_t>((byte(i) & 0x1F) << 6 | (byte(i + 1) & 0x3F)) : byte(i);
    if (!two && c >= 0x80) {
      out += s[i++];
      continue;
    }
    c = normalizer_letter(c, up);
    if (c < 0x80) out += static_cast<char>(c);
    else out += static_cast<char>(0xC0 | c >> 6), out += static_cast<char>(0x80 | (c & 0x3F));
    i += two ? 2 : 1;
  }
  return out;
}

void string_normalizer_infer(Infer& ctx, const StringNormalizer&) {
  for (size_t i = 0; i < ctx.inputs(); ++i)
    if (DType t = ctx.type(i); t != DType::string && t != DType::undefined)
      fail("expected strings in input ", i, ", got ", t);
  Shape out = ctx.shape(0);
  if (out.ranked()) {
    if (out.rank() != 1 && out.rank() != 2) fail("expected data of shape [C] or [1,C], got ", out);
    if (out.rank() == 2) out[0] = merge(out[0], Dim(1));
    Dim& words = out[out.rank() - 1];
    // If all strings are removed, the result is a single empty string.
    words = ctx.has_input(1) ? Dim::between(1, std::max<int64_t>(words.max(), 1))
                             : Dim::between(std::max<int64_t>(words.min(), 1), std::max<int64_t>(words.max(), 1));
  }
  ctx.output(0, DType::string, out);
}

void string_normalizer_run(Run& ctx, const StringNormalizer& a) {
  TensorView x = ctx.input(0);
  auto compared = [&](std::string_view s) { return a.is_case_sensitive ? std::string(s) : normalizer_text(s, false); };
  std::set<std::string> stop_words;
  if (ctx.has_input(1)) {
    TensorView words = ctx.input(1);
    for (int64_t i = 0; i < words.size(); ++i) stop_words.insert(compared(view(words.data<graft_str>()[i])));
  }
  std::vector<std::string> kept;
  for (int64_t i = 0; i < x.size(); ++i) {
    std::string_view s = view(x.data<graft_str>()[i]);
    if (stop_words.count(compared(s))) continue;
    kept.push_back(a.case_change_action == StringNormalizer::none
                       ? std::string(s)
                       : normalizer_text(s, a.case_change_action == StringNormalizer::upper));
  }
  if (kept.empty()) kept.emplace_back();
  std::vector<int64_t> dims(x.rank(), 1);
  if (dims.empty()) fail("expected data of shape [C] or [1,C]");
  dims.back() = static_cast<int64_t>(kept.size());
  OutputView y = ctx.allocate(0, dims);
  for (size_t i = 0; i < kept.size(); ++i) ctx.store(y, static_cast<int64_t>(i), kept[i]);
}

Value import_string_normalizer(Builder& layer) {
  layer.has("locale");  // case conversion does not depend on the locale
  std::vector<Value> inputs{layer.input(0)};
  auto words = layer.get<std::vector<std::string>>("stopwords", {});
  if (!words.empty()) inputs.push_back(text_list(layer, words));
  return layer.op("StringNormalizer@graft", inputs,
                  {{"case_change_action", layer.get<std::string>("case_change_action", "NONE")},
                   {"is_case_sensitive", layer.get<bool>("is_case_sensitive", false)}});
}

}  // namespace

Definitions define_string_normalizer() {
  return op<StringNormalizer>("StringNormalizer", "graft")
      .doc("Remove stop words and convert to lower or upper case")
      .inputs("data, stopwords?")
      .infer(string_normalizer_infer)
      .reference(string_normalizer_run)
      .import(onnx("StringNormalizer").expand(import_string_normalizer));
}

}  // namespace graft
