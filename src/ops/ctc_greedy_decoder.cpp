// CTCGreedyDecoder and CTCGreedyDecoderSeqLen: the most likely class per time step, with repeats merged and blanks
// removed.
#include <graft/op.hpp>

namespace graft {
namespace {

struct CtcGreedyDecoder {
  bool ctc_merge_repeated = true;
  static constexpr std::tuple schema{
      attr("ctc_merge_repeated", &CtcGreedyDecoder::ctc_merge_repeated, "merge consecutive repeats of a class")};
};
struct CtcGreedyDecoderSeqLen {
  bool merge_repeated = true;
  DType classes_index_type = DType::i32, sequence_length_type = DType::i32;
  static constexpr std::tuple schema{
      attr("merge_repeated", &CtcGreedyDecoderSeqLen::merge_repeated, "merge consecutive repeats of a class"),
      attr("classes_index_type", &CtcGreedyDecoderSeqLen::classes_index_type,
           "element type of the decoded classes, i64 or i32"),
      attr("sequence_length_type", &CtcGreedyDecoderSeqLen::sequence_length_type,
           "element type of the sequence lengths, i64 or i32")};
};

Dim ctc_dim(const Shape& s, size_t rank, size_t axis, std::string_view what) {
  if (!s.ranked()) return Dim();
  if (s.rank() != rank) fail("expected ", what, " of rank ", rank, ", got shape ", s);
  return s[axis];
}

// Decodes one sequence; `best(t)` is the most likely class at step t.
template <class Best>
std::vector<int64_t> ctc_decode(int64_t steps, int64_t blank, bool merge, Best best) {
  std::vector<int64_t> out;
  int64_t before = -1;
  for (int64_t t = 0; t < steps; ++t) {
    int64_t now = best(t);
    if (now != blank && !(merge && now == before)) out.push_back(now);
    before = now;
  }
  return out;
}
int64_t ctc_best(const double* scores, int64_t classes) { return std::max_element(scores, scores + classes) - scores; }

void ctc_greedy_decoder_infer(Infer& ctx, const CtcGreedyDecoder&) {
  Shape data = ctx.shape(0), mask = ctx.shape(1);
  Dim steps = merge(ctc_dim(data, 3, 0, "scores"), ctc_dim(mask, 2, 0, "masks")),
      batch = merge(ctc_dim(data, 3, 1, "scores"), ctc_dim(mask, 2, 1, "masks"));
  ctx.output(0, ctx.type(0), Shape{batch, steps, Dim(1), Dim(1)});
}
void ctc_greedy_decoder_run(Run& ctx, const CtcGreedyDecoder& a) {
  TensorView data = ctx.input(0);
  std::vector<double> scores = data.to<double>(), mask = ctx.input(1).to<double>();
  int64_t steps = data.dim(0), batch = data.dim(1), classes = data.dim(2);
  std::vector<double> out(static_cast<size_t>(batch * steps), -1);
  for (int64_t b = 0; b < batch && classes > 0; ++b) {
    int64_t length = 0;
    while (length < steps && mask[static_cast<size_t>(length * batch + b)] != 0) ++length;
    std::vector<int64_t> found = ctc_decode(length, classes - 1, a.ctc_merge_repeated, [&](int64_t t) {
      return ctc_best(scores.data() + (t * batch + b) * classes, classes);
    });
    std::copy(found.begin(), found.end(), out.begin() + b * steps);
  }
  ctx.output(0).assign(out);
}

void ctc_greedy_decoder_seq_len_infer(Infer& ctx, const CtcGreedyDecoderSeqLen& a) {
  Shape data = ctx.shape(0);
  Dim batch = merge(ctc_dim(data, 3, 0, "scores"), ctc_dim(ctx.shape(1), 1, 0, "lengths"));
  for (DType t : {a.classes_index_type, a.sequence_length_type})
    if (t != DType::i32 && t != DType::i64) fail("expected result type i32 or i64, got ", t);
  ctx.output(0, a.classes_index_type, Shape{batch, ctc_dim(data, 3, 1, "scores")});
  ctx.output(1, a.sequence_length_type, Shape{batch});
}
void ctc_greedy_decoder_seq_len_run(Run& ctx, const CtcGreedyDecoderSeqLen& a) {
  TensorView data = ctx.input(0);
  std::vector<double> scores = data.to<double>();
  std::vector<int64_t> lengths = ctx.input(1).to<int64_t>();
  int64_t batch = data.dim(0), steps = data.dim(1), classes = data.dim(2);
  int64_t blank = ctx.has_input(2) ? ctx.input(2).scalar<int64_t>() : classes - 1;
  std::vector<int64_t> out(static_cast<size_t>(batch * steps), -1), sizes(static_cast<size_t>(batch), 0);
  for (int64_t b = 0; b < batch && classes > 0; ++b) {
    int64_t length = lengths[static_cast<size_t>(b)];
    if (length < 0 || length > steps) fail("expected a length of 0 to ", steps, " for sequence ", b, ", got ", length);
    std::vector<int64_t> found = ctc_decode(length, blank, a.merge_repeated, [&](int64_t t) {
      return ctc_best(scores.data() + (b * steps + t) * classes, classes);
    });
    std::copy(found.begin(), found.end(), out.begin() + b * steps);
    sizes[static_cast<size_t>(b)] = static_cast<int64_t>(found.size());
  }
  ctx.output(0).assign(out);
  ctx.output(1).assign(sizes);
}

}  // namespace

Definitions define_ctc_greedy_decoder() {
  return {
      op<CtcGreedyDecoder>("CTCGreedyDecoder", 1)
          .doc("Greedy CTC decoding of logits [T, N, C]: blanks (the last class) are removed, the result is padded "
               "with -1")
          .inputs("data, sequence_mask")
          .infer(ctc_greedy_decoder_infer)
          .reference(ctc_greedy_decoder_run),
      op<CtcGreedyDecoderSeqLen>("CTCGreedyDecoderSeqLen", 6)
          .doc("Greedy CTC decoding of logits [N, T, C], with the decoded lengths: blanks are removed, the result is "
               "padded with -1")
          .inputs("data, sequence_length, blank_index?")
          .outputs("classes, lengths")
          .infer(ctc_greedy_decoder_seq_len_infer)
          .reference(ctc_greedy_decoder_seq_len_run),
  };
}

}  // namespace graft
