// BifurcationDetector of ONNX Runtime (com.microsoft): finds where predicted tokens diverge from the source text, and
// where the source may continue them. Used by aggressive decoding.
#include <graft/op.hpp>

namespace graft {
namespace {

struct BifurcationDetector {
  int64_t min_ngram_size = 1, max_ngram_size = 3;
  static constexpr std::tuple schema{
      attr("min_ngram_size", &BifurcationDetector::min_ngram_size, "shortest suffix to search for").at_least(1),
      attr("max_ngram_size", &BifurcationDetector::max_ngram_size, "longest suffix to search for").at_least(1)};
};

void bifurcation_infer(Infer& ctx, const BifurcationDetector& a) {
  if (a.min_ngram_size > a.max_ngram_size)
    fail("expected 1 <= min_ngram_size <= max_ngram_size, got ", a.min_ngram_size, " and ", a.max_ngram_size);
  for (size_t i = 0; i < ctx.inputs(); ++i) {
    if (i == 2 || !ctx.has_input(i)) continue;
    if (Shape s = ctx.shape(i); s.ranked() && s.rank() != 1) fail("expected 1-D tokens, got shape ", s);
  }
  Shape now = ctx.shape(1);
  Dim tokens = now.ranked() ? now[0] : Dim();
  if (ctx.has_input(3)) {
    Shape guess = ctx.shape(3);
    tokens = tokens + Dim::between(0, guess.ranked() ? guess[0].max() : Dim::unbounded);
  }
  ctx.output(0, ctx.type(1), Shape{tokens});
  ctx.output(1, ctx.type(2), ctx.shape(2));
}

// Where the source continues after its only occurrence of the last tokens; -1 if there is no such occurrence or more
// than one.
int64_t bifurcation_continuation(const std::vector<int64_t>& source, const std::vector<int64_t>& tokens,
                                 const BifurcationDetector& a) {
  int64_t found = -1, most = std::min(a.max_ngram_size, static_cast<int64_t>(tokens.size()));
  for (int64_t n = a.min_ngram_size; n <= most; ++n) {
    auto first = std::search(source.begin(), source.end(), tokens.end() - n, tokens.end());
    if (first == source.end()) break;
    found = first - source.begin() + n;
    if (found >= static_cast<int64_t>(source.size())) break;
    if (std::search(first + 1, source.end(), tokens.end() - n, tokens.end()) == source.end()) break;
    found = -1;  // ambiguous: a longer suffix may be unique
  }
  return found;
}

void bifurcation_run(Run& ctx, const BifurcationDetector& a) {
  std::vector<int64_t> source = ctx.input(0).to<int64_t>(), tokens = ctx.input(1).to<int64_t>();
  int64_t length = static_cast<int64_t>(source.size()), start = ctx.input(2).scalar<int64_t>();
  if (ctx.has_input(3)) {
    // Accept the prediction up to and including the first token that differs from the source.
    std::vector<int64_t> guess = ctx.input(3).to<int64_t>();
    start = std::min(std::max<int64_t>(start, 0), length);
    size_t same = 0;
    while (same < guess.size() && start + static_cast<int64_t>(same) < length &&
           guess[same] == source[static_cast<size_t>(start) + same])
      ++same;
    tokens.insert(tokens.end(), guess.begin(),
                  guess.begin() + static_cast<ptrdiff_t>(std::min(same + 1, guess.size())));
  }
  ctx.allocate(0, {static_cast<int64_t>(tokens.size())}).assign(tokens);
  ctx.output(1).assign(std::vector<int64_t>{bifurcation_continuation(source, tokens, a)});
}

}  // namespace

Definitions define_bifurcation_detector() {
  return op<BifurcationDetector>("BifurcationDetector", "graft")
      .doc("Append predicted tokens as long as they match the source, and locate where the source continues")
      .inputs("src_tokens, cur_tokens, prev_suffix_match_idx, pred_tokens?")
      .outputs("tokens, suffix_match_idx")
      .infer(bifurcation_infer)
      .reference(bifurcation_run)
      .import(onnx("BifurcationDetector").domain("com.microsoft"));
}

}  // namespace graft
