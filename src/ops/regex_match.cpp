// Regular expressions over strings, with RE2's syntax. RE2 takes time that is linear in the text, whatever the
// expression.
#include <re2/re2.h>

#include <graft/op.hpp>

namespace graft {
namespace {

struct RegexFullMatch {
  std::string pattern;
  static constexpr std::tuple schema{
      attr("pattern", &RegexFullMatch::pattern, "regular expression in the syntax of RE2")};
};

RE2::Options regex_options() {
  RE2::Options o;
  o.set_log_errors(false);
  return o;
}

void regex_expect(const NodeView& ctx, const std::string& expression) {
  if (DType t = ctx.type(0); t != DType::string && t != DType::undefined) fail("expected strings, got ", t);
  if (RE2 pattern(expression, regex_options()); !pattern.ok())
    fail("expected a regular expression in the syntax of RE2, got '", expression, "': ", pattern.error());
}
void regex_infer(Infer& ctx, const RegexFullMatch& a) {
  regex_expect(ctx, a.pattern);
  ctx.output(0, DType::boolean, ctx.shape(0));
}

void regex_run(Run& ctx, const RegexFullMatch& a) {
  RE2 pattern(a.pattern, regex_options());
  TensorView x = ctx.input(0);
  std::vector<int64_t> matches(static_cast<size_t>(x.size()));
  for (int64_t i = 0; i < x.size(); ++i) {
    std::string_view s = view(x.data<graft_str>()[i]);
    matches[static_cast<size_t>(i)] = RE2::FullMatch(re2::StringPiece(s.data(), s.size()), pattern);
  }
  ctx.output(0).assign(matches);
}

struct RegexReplace {
  std::string pattern, rewrite;
  bool replace_global = true;
  static constexpr std::tuple schema{
      attr("pattern", &RegexReplace::pattern, "regular expression in the syntax of RE2"),
      attr("rewrite", &RegexReplace::rewrite,
           "what takes the place of a match; \\0 to \\9 are the match and its groups"),
      attr("replace_global", &RegexReplace::replace_global, "replace all matches instead of the first")};
};
void regex_replace_infer(Infer& ctx, const RegexReplace& a) {
  regex_expect(ctx, a.pattern);
  std::string problem;
  if (!RE2(a.pattern, regex_options()).CheckRewriteString(a.rewrite, &problem))
    fail("expected a rewrite with groups of the pattern, got '", a.rewrite, "': ", problem);
  ctx.output(0, DType::string, ctx.shape(0));
}
void regex_replace_run(Run& ctx, const RegexReplace& a) {
  RE2 pattern(a.pattern, regex_options());
  TensorView x = ctx.input(0);
  OutputView y = ctx.output(0);
  for (int64_t i = 0; i < x.size(); ++i) {
    std::string s(view(x.data<graft_str>()[i]));
    if (a.replace_global) RE2::GlobalReplace(&s, pattern, a.rewrite);
    else RE2::Replace(&s, pattern, a.rewrite);
    ctx.store(y, i, s);
  }
}

// TensorFlow has the pattern as an input in some of its operations.
std::string regex_constant(Builder& layer, size_t input, std::string_view what) {
  TensorView text = layer.input(input).constant();
  if (!text) unsupported("expected a constant ", what, ", got one that is computed");
  if (text.type() != DType::string || text.size() != 1) fail("expected one string as ", what, ", got ", text.info());
  return std::string(view(text.data<graft_str>()[0]));
}
Value import_regex(Builder& layer) {
  return layer.op("RegexFullMatch@graft", {layer.input(0)}, {{"pattern", regex_constant(layer, 1, "pattern")}});
}
Value tf_regex_replace(Builder& layer) {
  return layer.op("RegexReplace@graft", {layer.input(0)},
                  {{"pattern", regex_constant(layer, 1, "pattern")},
                   {"rewrite", regex_constant(layer, 2, "rewrite")},
                   {"replace_global", layer.get<bool>("replace_global", true)}});
}

}  // namespace

Definitions define_regex_match() {
  return {
      op<RegexFullMatch>("RegexFullMatch", "graft")
          .doc("Whether a regular expression matches each string as a whole")
          .inputs("data")
          .infer(regex_infer)
          .linear()
          .reference(regex_run)
          .import(onnx("RegexFullMatch"))
          .import(tensorflow("StaticRegexFullMatch"))
          .import(tensorflow("RegexFullMatch").expand(import_regex)),
      op<RegexReplace>("RegexReplace", "graft")
          .doc("Replace what a regular expression matches in each string")
          .inputs("data")
          .infer(regex_replace_infer)
          .linear()
          .reference(regex_replace_run)
          .import(tensorflow("StaticRegexReplace"))
          .import(tensorflow("RegexReplace").expand(tf_regex_replace)),
  };
}

}  // namespace graft
