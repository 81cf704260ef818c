// CTCLoss: negative log-likelihood of a target, summed over all alignments that produce it.
#include <graft/op.hpp>

namespace graft {
namespace {

struct CtcLoss {
  bool preprocess_collapse_repeated = false, ctc_merge_repeated = true, unique = false;
  static constexpr std::tuple schema{
      attr("preprocess_collapse_repeated", &CtcLoss::preprocess_collapse_repeated,
           "collapse repeated labels of the target before computing the loss"),
      attr("ctc_merge_repeated", &CtcLoss::ctc_merge_repeated, "merge repeated classes of an alignment"),
      attr("unique", &CtcLoss::unique, "keep only the first occurrence of each target label")};
};

void ctc_loss_infer(Infer& ctx, const CtcLoss&) {
  auto dim = [&](size_t input, size_t rank, size_t axis) {
    Shape s = ctx.shape(input);
    if (!s.ranked()) return Dim();
    if (s.rank() != rank) fail("expected input ", input, " of rank ", rank, ", got shape ", s);
    return s[axis];
  };
  Dim batch = merge(merge(dim(0, 3, 0), dim(1, 1, 0)), merge(dim(2, 2, 0), dim(3, 1, 0)));
  merge(dim(0, 3, 1), dim(2, 2, 1));
  ctx.output(0, ctx.type(0), Shape{batch});
}

double ctc_log_add(double a, double b) {
  if (a < b) std::swap(a, b);
  return b == -INFINITY ? a : a + std::log1p(std::exp(b - a));
}

std::vector<int64_t> ctc_target(const int64_t* labels, int64_t count, const CtcLoss& a) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < count; ++i) {
    bool seen = a.unique ? std::find(out.begin(), out.end(), labels[i]) != out.end()
                         : a.preprocess_collapse_repeated && i > 0 && labels[i] == labels[i - 1];
    if (!seen) out.push_back(labels[i]);
  }
  return out;
}

// Forward algorithm over all alignments. The states are the target with a blank before, between and after its labels. A
// state is entered from itself and its predecessor; a label also from the previous label unless a blank must separate
// them. Without merging, a label cannot be entered from itself.
double ctc_log_probability(const double* log_probability, int64_t steps, int64_t classes,
                           const std::vector<int64_t>& target, int64_t blank, bool merge) {
  size_t states = 2 * target.size() + 1;
  auto class_of = [&](size_t s) { return s % 2 ? target[s / 2] : blank; };
  std::vector<double> now(states, -INFINITY), next(states);
  now[0] = 0;  // before the first step, as if a blank had been emitted
  for (int64_t t = 0; t < steps; ++t) {
    for (size_t s = 0; s < states; ++s) {
      bool label = s % 2;
      double sum = label && !merge ? -INFINITY : now[s];
      if (s > 0) sum = ctc_log_add(sum, now[s - 1]);
      if (label && s > 1 && (!merge || class_of(s) != class_of(s - 2))) sum = ctc_log_add(sum, now[s - 2]);
      next[s] = sum + log_probability[t * classes + class_of(s)];
    }
    now.swap(next);
  }
  return states > 1 ? ctc_log_add(now[states - 1], now[states - 2]) : now[0];
}

void ctc_loss_run(Run& ctx, const CtcLoss& a) {
  TensorView logits = ctx.input(0);
  int64_t batch = logits.dim(0), steps = logits.dim(1), classes = logits.dim(2);
  std::vector<double> x = logits.to<double>(), out;
  std::vector<int64_t> lengths = ctx.input(1).to<int64_t>(), labels = ctx.input(2).to<int64_t>(),
                       label_lengths = ctx.input(3).to<int64_t>();
  int64_t blank = ctx.has_input(4) ? ctx.input(4).scalar<int64_t>() : classes - 1;
  if (blank < 0 || blank >= classes) fail("expected a blank index of 0 to ", classes - 1, ", got ", blank);
  for (int64_t row = 0; row < batch * steps; ++row) {
    double* scores = x.data() + row * classes;
    double most = *std::max_element(scores, scores + classes), sum = 0;
    for (int64_t c = 0; c < classes; ++c) sum += std::exp(scores[c] - most);
    for (int64_t c = 0; c < classes; ++c) scores[c] -= most + std::log(sum);
  }
  for (int64_t b = 0; b < batch; ++b) {
    int64_t length = lengths[static_cast<size_t>(b)], label_length = label_lengths[static_cast<size_t>(b)];
    if (length < 0 || length > steps || label_length < 0 || label_length > length)
      fail("expected label_length <= logit_length <= ", steps, " for sequence ", b, ", got ", label_length, " and ",
           length);
    std::vector<int64_t> target = ctc_target(labels.data() + b * steps, label_length, a);
    for (int64_t label : target)
      if (label < 0 || label >= classes) fail("expected labels of 0 to ", classes - 1, ", got ", label);
    out.push_back(
        -ctc_log_probability(x.data() + b * steps * classes, length, classes, target, blank, a.ctc_merge_repeated));
  }
  ctx.output(0).assign(out);
}

}  // namespace

Definitions define_ctc_loss() {
  return op<CtcLoss>("CTCLoss", 4)
      .doc("Negative log-probability of the labels given the logits [N, T, C] (connectionist temporal classification)")
      .inputs("logits, logit_length, labels, label_length, blank_index?")
      .infer(ctc_loss_infer)
      .reference(ctc_loss_run);
}

}  // namespace graft
