// Regular expressions over strings, with RE2's syntax. RE2 takes time that is linear in the text, whatever the expression.
#include <graft/op.hpp>
#include <re2/re2.h>

namespace graft {
namespace {

struct RegexFullMatch {
  std::string pattern;
  static constexpr std::tuple schema{attr("pattern", &RegexFullMatch::pattern, "regular expression in the syntax of RE2")};
};

RE2::Options regex_options() {
  RE2::Options o;
  o.set_log_errors(false);
  return o;
}

void regex_infer(Infer& ctx, const RegexFullMatch& a) {
  if (DType t = ctx.type(0); t != DType::string && t != DType::undefined) fail("expected strings, got ", t);
  if (RE2 pattern(a.pattern, regex_options()); !pattern.ok())
    fail("expected a regular expression in the syntax of RE2, got '", a.pattern, "': ", pattern.error());
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

// TensorFlow has the pattern as an input in one of its operations.
Value import_regex(Builder& layer) {
  TensorView pattern = layer.input(1).constant();
  if (!pattern) unsupported("expected a constant pattern, got one that is computed");
  if (pattern.type() != DType::string || pattern.size() != 1) fail("expected one string as pattern, got ", pattern.info());
  return layer.op("RegexFullMatch@graft", {layer.input(0)}, {{"pattern", std::string(view(pattern.data<graft_str>()[0]))}});
}

}  // namespace

Definitions define_regex_match() {
  return op<RegexFullMatch>("RegexFullMatch", "graft")
      .doc("Whether a regular expression matches each string as a whole")
      .inputs("data")
      .infer(regex_infer)
      .linear()
      .reference(regex_run)
      .import(onnx("RegexFullMatch"))
      .import(tensorflow("StaticRegexFullMatch"))
      .import(tensorflow("RegexFullMatch").expand(import_regex));
}

}  // namespace graft
