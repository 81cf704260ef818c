// The most probable label sequences of CTC: prefix beam search (Graves, "Supervised sequence labelling with recurrent
// neural networks", 7.5.3). The last class is the blank.
#include <cmath>
#include <graft/kit/expressions.hpp>
#include <graft/op.hpp>
#include <map>
#include <set>

namespace graft {
namespace {

struct CtcBeamSearch {
  int64_t beam_width = 100, top_paths = 1;
  bool merge_repeated = true;
  static constexpr std::tuple schema{
      attr("beam_width", &CtcBeamSearch::beam_width, "number of prefixes kept after each step").between(1, 1 << 16),
      attr("top_paths", &CtcBeamSearch::top_paths, "number of sequences in the result, at most the beam width")
          .at_least(1),
      attr("merge_repeated", &CtcBeamSearch::merge_repeated, "merge equal labels in a row of a sequence")};
};

void ctc_beam_infer(Infer& ctx, const CtcBeamSearch& a) {
  Shape data = merge(ctx.shape(0), Shape::of_rank(3)), lengths = merge(ctx.shape(1), Shape{data[1]});
  if (a.top_paths > a.beam_width)
    fail("expected top_paths of at most beam_width, ", a.beam_width, ", got ", a.top_paths);
  if (!is_real(ctx.type(0)) && ctx.type(0) != DType::undefined)
    fail("expected floating-point scores, got ", ctx.type(0));
  ctx.output(0, DType::i64, Shape{lengths[0], Dim(a.top_paths), data[0]});
  ctx.output(1, ctx.type(0), Shape{lengths[0], Dim(a.top_paths)});
}

double ctc_log_of_sum(double a, double b) {
  double most = std::max(a, b);
  return most == -INFINITY ? most : most + std::log1p(std::exp(std::min(a, b) - most));
}

// The prefixes as a tree. Probabilities are logarithms: that the prefix ends with a blank, with its label, and both.
class CtcBeam {
 public:
  explicit CtcBeam(int64_t width) : width_(static_cast<size_t>(width)) {
    prefixes_.push_back({});
    prefixes_[0].now = {0, -INFINITY, 0};
    insert(0);
  }
  // `scores`: logarithms of the probabilities of all classes.
  void step(const std::vector<double>& scores) {
    std::vector<size_t> old;
    for (auto it = beam_.rbegin(); it != beam_.rend(); ++it) old.push_back(it->second);
    beam_.clear();
    for (size_t p : old) prefixes_[p].before = prefixes_[p].now;
    for (size_t p : old) stay(p, scores);
    for (size_t p : old) grow(p, scores);
  }
  struct Found {
    std::vector<int64_t> labels;
    double probability;
  };
  std::vector<Found> best(size_t count, bool merge) const {
    std::vector<Found> out;
    for (auto it = beam_.rbegin(); it != beam_.rend() && out.size() < count; ++it) {
      Found f{{}, it->first};
      int64_t next = -1;
      for (size_t p = it->second; p != 0; p = prefixes_[p].parent) {
        int64_t label = prefixes_[p].label;
        if (!merge || label != next) f.labels.push_back(label);
        next = label;
      }
      std::reverse(f.labels.begin(), f.labels.end());
      out.push_back(std::move(f));
    }
    return out;
  }

 private:
  struct Chances {
    double blank = -INFINITY, label = -INFINITY, total = -INFINITY;
  };
  struct Prefix {
    size_t parent = 0;
    int64_t label = -1;
    Chances before, now;
    std::map<int64_t, size_t> children;
  };

  void insert(size_t p) { beam_.emplace(prefixes_[p].now.total, p); }
  // The probability of what a prefix can be extended from: a repeated label only after a blank.
  double extended(size_t parent, int64_t label) const {
    const Prefix& p = prefixes_[parent];
    return label == p.label ? p.before.blank : p.before.total;
  }
  void stay(size_t at, const std::vector<double>& scores) {
    Prefix& p = prefixes_[at];
    if (at != 0) {
      if (prefixes_[p.parent].now.total != -INFINITY)
        p.now.label = ctc_log_of_sum(p.now.label, extended(p.parent, p.label));
      p.now.label += scores[static_cast<size_t>(p.label)];
    }
    p.now.blank = p.before.total + scores.back();
    p.now.total = ctc_log_of_sum(p.now.blank, p.now.label);
    insert(at);
  }
  bool fits(double total) const { return total > -INFINITY && (beam_.size() < width_ || total > beam_.begin()->first); }
  void grow(size_t at, const std::vector<double>& scores) {
    if (!fits(prefixes_[at].before.total)) return;
    for (int64_t label = 0; label + 1 < static_cast<int64_t>(scores.size()); ++label) {
      auto known = prefixes_[at].children.find(label);
      size_t child = known == prefixes_[at].children.end() ? 0 : known->second;
      if (child != 0 && prefixes_[child].now.total != -INFINITY) continue;
      double chance = extended(at, label) + scores[static_cast<size_t>(label)];
      if (!fits(chance)) {
        if (child != 0) prefixes_[child].before = {};
        continue;
      }
      if (beam_.size() == width_) {
        prefixes_[beam_.begin()->second].now = {};
        beam_.erase(beam_.begin());
      }
      if (child == 0) {
        child = prefixes_.size();
        prefixes_.push_back({at, label, {}, {}, {}});
        prefixes_[at].children.emplace(label, child);
      }
      prefixes_[child].now = {-INFINITY, chance, chance};
      insert(child);
    }
  }

  size_t width_;
  std::vector<Prefix> prefixes_;
  std::set<std::pair<double, size_t>> beam_;
};

// Logarithms of the probabilities at one step.
std::vector<double> ctc_log_softmax(const double* scores, int64_t classes) {
  std::vector<double> out(scores, scores + classes);
  double most = *std::max_element(out.begin(), out.end()), sum = 0;
  for (double v : out) sum += std::exp(v - most);
  if (!std::isfinite(sum)) fail("expected scores that are numbers, got a step with NaN or infinite ones");
  for (double& v : out) v -= most + std::log(sum);
  return out;
}

void ctc_beam_run(Run& ctx, const CtcBeamSearch& a) {
  TensorView data = ctx.input(0);
  std::vector<double> scores = data.to<double>();
  std::vector<int64_t> lengths = ctx.input(1).to<int64_t>();
  int64_t steps = data.dim(0), batch = data.dim(1), classes = data.dim(2);
  if (static_cast<int64_t>(lengths.size()) != batch) fail("expected ", batch, " lengths, got ", lengths.size());
  if (classes < 1) fail("expected at least one class, the blank, got none");
  OutputView paths = ctx.output(0), chances = ctx.output(1);
  std::vector<int64_t> labels(static_cast<size_t>(paths.size()), -1);
  std::vector<double> probabilities;
  for (int64_t b = 0; b < batch; ++b) {
    int64_t length = lengths[static_cast<size_t>(b)];
    if (length < 0 || length > steps) fail("expected a length of 0 to ", steps, " for sequence ", b, ", got ", length);
    CtcBeam beam(a.beam_width);
    for (int64_t t = 0; t < length; ++t) {
      if (ctx.cancelled()) fail("the request was cancelled");
      beam.step(ctc_log_softmax(scores.data() + (t * batch + b) * classes, classes));
    }
    std::vector<CtcBeam::Found> found = beam.best(static_cast<size_t>(a.top_paths), a.merge_repeated);
    if (static_cast<int64_t>(found.size()) < a.top_paths)
      fail("expected ", a.top_paths, " sequences, got only ", found.size(), " in sequence ", b);
    for (int64_t k = 0; k < a.top_paths; ++k) {
      const CtcBeam::Found& f = found[static_cast<size_t>(k)];
      std::copy(f.labels.begin(), f.labels.end(), labels.begin() + (b * a.top_paths + k) * steps);
      probabilities.push_back(f.probability);
    }
  }
  paths.assign(labels), chances.assign(probabilities);
}

// TensorFlow's decoder gives each path of all sequences as one sparse matrix: places, values, shape.
void tf_ctc_beam(Builder& layer) {
  int64_t count = layer.get<int64_t>("top_paths");
  if (count < 1 || count > 1 << 12) fail("expected top_paths of 1 to 4096, got ", count);
  std::vector<Value> found = layer.ops("CTCBeamSearchDecoder@graft", {layer.input(0), layer.input(1)},
                                       {{"beam_width", layer.get<int64_t>("beam_width")},
                                        {"top_paths", count},
                                        {"merge_repeated", layer.get<bool>("merge_repeated", true)}},
                                       2);
  auto n = static_cast<size_t>(count);
  for (int64_t k = 0; k < count; ++k) {
    auto at = static_cast<size_t>(k);
    Value path = build::gather(found[0], layer.scalar(k), 1);
    Value there = layer.op("GreaterEqual", {path, like(path, 0)});
    Value places = transpose(layer.op("NonZero", {there}), {1, 0});
    Value lengths = layer.op("ReduceSum", {convert(there, DType::i64), layer.ints({1})}, {{"keep_dims", false}});
    Value most =
        layer.op("ReduceMax", {build::concat({lengths, layer.ints({0})}, 0), layer.ints({0})}, {{"keep_dims", true}});
    layer.output(at, places);
    layer.output(n + at, layer.op("GatherND", {path, places}));
    layer.output(2 * n + at, build::concat({build::dims(path, {0}), most}, 0));
  }
  layer.output(3 * n, found[1]);
}

}  // namespace

Definitions define_ctc_beam_search_decoder() {
  return op<CtcBeamSearch>("CTCBeamSearchDecoder", "graft")
      .doc(
          "The most probable label sequences of scores [T,N,C], padded with -1, and the logarithms of their "
          "probabilities; the last "
          "class is the blank")
      .inputs("data, sequence_length")
      .outputs("classes, log_probability")
      .infer(ctc_beam_infer)
      .reference(ctc_beam_run)
      .import(tensorflow("CTCBeamSearchDecoder").expand(tf_ctc_beam));
}

}  // namespace graft
