// Ensembles of decision trees whose leaves vote for targets.
#include <graft/op.hpp>

namespace graft {
namespace {

struct TreeEnsemble {
  int64_t n_targets = 1;
  enum Aggregate { average, sum, min, max } aggregate_function = sum;
  enum Transform { none, softmax, logistic, softmax_zero, probit } post_transform = none;
  static constexpr std::tuple schema{
      attr("n_targets", &TreeEnsemble::n_targets, "number of targets").between(1, 1 << 24).required(),
      attr("aggregate_function", &TreeEnsemble::aggregate_function, "aggregation of the votes for a target")
          .one_of("average", "sum", "min", "max"),
      attr("post_transform", &TreeEnsemble::post_transform, "transformation of the aggregated scores of a row")
          .one_of("none", "softmax", "logistic", "softmax_zero", "probit")};
};
struct TreeInput {
  enum Which : size_t {
    x,
    splits,
    features,
    modes,
    when_true,
    when_false,
    missing,
    roots,
    leaf_starts,
    targets,
    weights,
    members,
    base
  };
};
enum class TreeMode { less_equal, less, greater_equal, greater, equal, not_equal, member };

void tree_ensemble_infer(Infer& ctx, const TreeEnsemble& a) {
  Shape in = ctx.shape(0);
  if (in.ranked() && in.rank() != 2) fail("expected rows of rank 2, got shape ", in);
  Dim nodes;
  for (size_t i = TreeInput::splits; i <= TreeInput::missing; ++i) nodes = merge(nodes, ctx.shape(i).elements());
  merge(ctx.shape(TreeInput::targets).elements(), ctx.shape(TreeInput::weights).elements());
  ctx.output(0, ctx.type(0), Shape{in.ranked() ? in[0] : Dim(), Dim(a.n_targets)});
}

class TreeForest {
 public:
  explicit TreeForest(Run& ctx)
      : splits_(ctx.input(TreeInput::splits).to<double>()),
        features_(numbers(ctx, TreeInput::features)),
        modes_(numbers(ctx, TreeInput::modes)),
        when_true_(numbers(ctx, TreeInput::when_true)),
        when_false_(numbers(ctx, TreeInput::when_false)),
        missing_(numbers(ctx, TreeInput::missing)),
        leaf_starts_(numbers(ctx, TreeInput::leaf_starts)) {
    // The sets of member nodes, concatenated, each terminated by NaN.
    std::vector<double> members;
    if (ctx.has_input(TreeInput::members)) members = ctx.input(TreeInput::members).to<double>();
    sets_.resize(modes_.size());
    size_t next = 0;
    for (size_t i = 0; i < modes_.size(); ++i) {
      if (modes_[i] < 0 || modes_[i] > static_cast<int64_t>(TreeMode::member))
        fail("expected node modes of 0 to 6, got ", modes_[i], " at node ", i);
      if (static_cast<TreeMode>(modes_[i]) != TreeMode::member) continue;
      for (; next < members.size() && !std::isnan(members[next]); ++next) sets_[i].push_back(members[next]);
      if (next++ >= members.size()) fail("membership_values has no set for node ", i);
    }
  }

  // The range of votes that a row receives from the tree with this root.
  std::pair<size_t, size_t> votes(const double* row, int64_t columns, int64_t root) const {
    int64_t at = root;
    for (size_t steps = 0; at >= 0; ++steps) {
      if (at >= static_cast<int64_t>(modes_.size())) fail("node ", at, " is out of range");
      if (steps > modes_.size()) fail("the nodes of a tree form a cycle");
      auto n = static_cast<size_t>(at);
      if (features_[n] < 0 || features_[n] >= columns)
        fail("expected feature ids below ", columns, ", got ", features_[n], " at node ", n);
      at = holds(n, row[features_[n]]) ? when_true_[n] : when_false_[n];
    }
    if (-1 - at >= static_cast<int64_t>(leaf_starts_.size()) - 1) fail("leaf ", -1 - at, " is out of range");
    auto leaf = static_cast<size_t>(-1 - at);
    int64_t first = leaf_starts_[leaf], last = leaf_starts_[leaf + 1];
    if (first < 0 || last < first) fail("leaf ", leaf, " has an invalid range of votes, ", first, " to ", last);
    return {static_cast<size_t>(first), static_cast<size_t>(last)};
  }

 private:
  static std::vector<int64_t> numbers(Run& ctx, size_t input) { return ctx.input(input).to<int64_t>(); }
  bool holds(size_t node, double v) const {
    if (std::isnan(v) && missing_[node] != 0) return true;
    double split = splits_[node];
    switch (static_cast<TreeMode>(modes_[node])) {
      case TreeMode::less_equal: return v <= split;
      case TreeMode::less: return v < split;
      case TreeMode::greater_equal: return v >= split;
      case TreeMode::greater: return v > split;
      case TreeMode::equal: return v == split;
      case TreeMode::not_equal: return v != split;
      case TreeMode::member: return std::find(sets_[node].begin(), sets_[node].end(), v) != sets_[node].end();
    }
    return false;
  }
  std::vector<double> splits_;
  std::vector<int64_t> features_, modes_, when_true_, when_false_, missing_, leaf_starts_;
  std::vector<std::vector<double>> sets_;
};

// Inverse error function: Winitzki's approximation refined by Newton's method.
double tree_inverse_erf(double y) {
  if (!(std::fabs(y) < 1)) return std::fabs(y) == 1 ? std::copysign(INFINITY, y) : std::nan("");
  constexpr double pi = 3.14159265358979323846, a = 0.147;
  double log = std::log1p(-y * y), b = 2 / (pi * a) + log / 2;
  double x = std::copysign(std::sqrt(std::max(0.0, std::sqrt(b * b - log / a) - b)), y);
  for (int i = 0; i < 3; ++i) x -= (std::erf(x) - y) / (2 / std::sqrt(pi) * std::exp(-x * x));
  return x;
}

void tree_transform(std::span<double> row, TreeEnsemble::Transform how) {
  if (how == TreeEnsemble::logistic)
    for (double& v : row) v = 1 / (1 + std::exp(-v));
  if (how == TreeEnsemble::probit)
    for (double& v : row) v = std::sqrt(2.0) * tree_inverse_erf(2 * v - 1);
  if (how != TreeEnsemble::softmax && how != TreeEnsemble::softmax_zero) return;
  double most = *std::max_element(row.begin(), row.end()), sum = 0;
  for (double& v : row) {
    // A score of zero stays zero, since it means that no leaf voted.
    bool voted = how == TreeEnsemble::softmax || std::fabs(v) > 1e-7;
    v = voted ? std::exp(v - most) : 0;
    sum += v;
  }
  for (double& v : row) v = sum != 0 ? v / sum : v;
}

void tree_ensemble_run(Run& ctx, const TreeEnsemble& a) {
  TensorView input = ctx.input(0);
  std::vector<double> rows = input.to<double>(), weights = ctx.input(TreeInput::weights).to<double>(), base;
  std::vector<int64_t> targets = ctx.input(TreeInput::targets).to<int64_t>(),
                       roots = ctx.input(TreeInput::roots).to<int64_t>();
  if (ctx.has_input(TreeInput::base)) base = ctx.input(TreeInput::base).to<double>();
  if (base.size() > 1 && static_cast<int64_t>(base.size()) != a.n_targets)
    fail("expected 0, 1 or ", a.n_targets, " base values, got ", base.size());
  for (int64_t t : targets)
    if (t < 0 || t >= a.n_targets) fail("expected vote targets below ", a.n_targets, ", got ", t);
  TreeForest forest(ctx);
  auto n = static_cast<size_t>(a.n_targets);
  std::vector<double> out;
  for (int64_t r = 0; r < input.dim(0); ++r) {
    std::vector<double> scores(n, 0);
    std::vector<bool> voted(n, false);
    for (int64_t root : roots) {
      auto [first, last] = forest.votes(rows.data() + r * input.dim(1), input.dim(1), root);
      if (last > weights.size()) fail("expected ", last, " vote weights, got ", weights.size());
      for (size_t v = first; v < last; ++v) {
        auto t = static_cast<size_t>(targets[v]);
        if (a.aggregate_function == TreeEnsemble::min)
          scores[t] = voted[t] ? std::min(scores[t], weights[v]) : weights[v];
        else if (a.aggregate_function == TreeEnsemble::max)
          scores[t] = voted[t] ? std::max(scores[t], weights[v]) : weights[v];
        else scores[t] += weights[v];
        voted[t] = true;
      }
    }
    for (size_t t = 0; t < n; ++t) {
      if (a.aggregate_function == TreeEnsemble::average && !roots.empty())
        scores[t] /= static_cast<double>(roots.size());
      if (!base.empty()) scores[t] += base[base.size() == 1 ? 0 : t];
    }
    tree_transform(scores, a.post_transform);
    out.insert(out.end(), scores.begin(), scores.end());
  }
  ctx.output(0).assign(out);
}

// ONNX numbers leaves and nodes separately; here a leaf is -1 - its number. Each leaf has one vote.
Value import_tree_ensemble(Builder& layer) {
  auto list = [&](const char* name) { return layer.get<std::vector<int64_t>>(name); };
  auto children = [&](const char* ids, const char* leaves) {
    std::vector<int64_t> to = list(ids), leaf = list(leaves);
    if (to.size() != leaf.size())
      fail("expected as many values in '", leaves, "' as in '", ids, "' (", to.size(), "), got ", leaf.size());
    for (size_t i = 0; i < to.size(); ++i)
      if (leaf[i]) to[i] = to[i] < 0 ? INT64_MIN : -1 - to[i];
    return layer.ints(to);
  };
  layer.has("nodes_hitrates");
  auto targets = list("leaf_targetids");
  std::vector<int64_t> features = list("nodes_featureids"), starts, missing(features.size(), 0);
  for (size_t i = 0; i <= targets.size(); ++i) starts.push_back(static_cast<int64_t>(i));
  auto aggregate = layer.get<int64_t>("aggregate_function", 1), transform = layer.get<int64_t>("post_transform", 0);
  if (aggregate < 0 || aggregate > 3) fail("expected aggregate_function 0 to 3, got ", aggregate);
  if (transform < 0 || transform > 4) fail("expected post_transform 0 to 4, got ", transform);
  std::vector<Value> inputs{
      layer.input(0),
      layer.constant(layer.get<TensorView>("nodes_splits")),
      layer.ints(features),
      layer.constant(layer.get<TensorView>("nodes_modes")),
      children("nodes_truenodeids", "nodes_trueleafs"),
      children("nodes_falsenodeids", "nodes_falseleafs"),
      layer.ints(layer.get("nodes_missing_value_tracks_true", missing)),
      layer.ints(list("tree_roots")),
      layer.ints(starts),
      layer.ints(targets),
      layer.constant(layer.get<TensorView>("leaf_weights")),
      layer.has("membership_values") ? layer.constant(layer.get<TensorView>("membership_values")) : Value()};
  constexpr const char* aggregates[] = {"average", "sum", "min", "max"};
  constexpr const char* transforms[] = {"none", "softmax", "logistic", "softmax_zero", "probit"};
  return layer.op("TreeEnsemble@graft", inputs,
                  {{"n_targets", layer.get<int64_t>("n_targets", 1)},
                   {"aggregate_function", aggregates[aggregate]},
                   {"post_transform", transforms[transform]}});
}

}  // namespace

Definitions define_tree_ensemble() {
  return op<TreeEnsemble>("TreeEnsemble", "graft")
      .doc(
          "Ensemble of decision trees: compare features with split values to reach a leaf per tree, and aggregate the "
          "votes of the leaves per target. A negative child or root is leaf -1 - value, whose votes are "
          "leaf_starts[leaf] to leaf_starts[leaf + 1] (exclusive)")
      .inputs(
          "X, nodes_splits, nodes_featureids, nodes_modes, nodes_true, nodes_false, nodes_missing_tracks_true, "
          "tree_roots, leaf_starts, vote_targets, vote_weights, membership_values?, base_values?")
      .infer(tree_ensemble_infer)
      .reference(tree_ensemble_run)
      .import(onnx("TreeEnsemble").domain("ai.onnx.ml").expand(import_tree_ensemble));
}

}  // namespace graft
