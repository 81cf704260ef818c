#include <graft/op.hpp>
#include <set>

#include "letters.hpp"
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
  auto compared = [&](std::string_view s) { return a.is_case_sensitive ? std::string(s) : with_case(s, false); };
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
                       : with_case(s, a.case_change_action == StringNormalizer::upper));
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
