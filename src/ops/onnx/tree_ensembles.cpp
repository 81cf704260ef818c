// TreeEnsembleRegressor and TreeEnsembleClassifier, the predecessors of TreeEnsemble in ONNX.
#include <graft/kit/expressions.hpp>
#include <graft/op.hpp>
#include <map>
#include <set>

namespace graft {
namespace {

class OldTrees {
 public:
  // `what` is "target" or "class": the prefix of the leaf weight attributes.
  OldTrees(Builder& layer, std::string what) : layer_(layer), what_(std::move(what)) {
    for (const char* f : {"nodes_hitrates", "nodes_hitrates_as_tensor"}) layer.has(f);
    std::vector<int64_t> trees = list("nodes_treeids"), nodes = list("nodes_nodeids"), yes = list("nodes_truenodeids"),
                         no = list("nodes_falsenodeids"), features = list("nodes_featureids");
    auto modes = layer.get<std::vector<std::string>>("nodes_modes");
    size_t n = modes.size();
    for (const std::vector<int64_t>* l : {&trees, &nodes, &yes, &no, &features})
      if (l->size() != n)
        fail("expected ", n, " values in every nodes_* attribute, as in nodes_modes, got ", l->size());
    std::vector<double> splits = reals("nodes_values");
    std::vector<int64_t> missing = layer.get<std::vector<int64_t>>("nodes_missing_value_tracks_true", {});
    splits.resize(n), missing.resize(n);

    // Nodes by tree and id; leaves by their position among the leaves.
    std::map<std::pair<int64_t, int64_t>, size_t> place;
    std::vector<int64_t> leaf(n, -1), codes;
    int64_t leaves = 0;
    for (size_t i = 0; i < n; ++i) {
      if (!place.emplace(std::pair{trees[i], nodes[i]}, i).second)
        fail("node ", nodes[i], " occurs twice in tree ", trees[i]);
      if (modes[i] == "LEAF") leaf[i] = leaves++;
      codes.push_back(mode(modes[i]));
    }
    auto child = [&](size_t i, int64_t id) {
      if (leaf[i] >= 0) return int64_t{0};
      auto it = place.find({trees[i], id});
      if (it == place.end()) fail("tree ", trees[i], " has no node ", id);
      return leaf[it->second] >= 0 ? -1 - leaf[it->second] : static_cast<int64_t>(it->second);
    };
    std::vector<int64_t> when_true, when_false, roots;
    std::set<int64_t> seen;
    for (size_t i = 0; i < n; ++i) {
      when_true.push_back(child(i, yes[i]));
      when_false.push_back(child(i, no[i]));
      if (seen.insert(trees[i]).second) roots.push_back(leaf[i] >= 0 ? -1 - leaf[i] : static_cast<int64_t>(i));
    }
    read_votes(place, leaf, leaves);
    inputs_ = {{},
               layer.typed(splits, {static_cast<int64_t>(n)}, DType::f64),
               layer.ints(features),
               layer.ints(codes),
               layer.ints(when_true),
               layer.ints(when_false),
               layer.ints(missing),
               layer.ints(roots),
               layer.ints(starts_),
               layer.ints(targets_),
               layer.typed(weights_, {static_cast<int64_t>(weights_.size())}, DType::f64),
               {}};
  }

  // The raw scores.
  Value scores(int64_t targets, std::string_view aggregate, std::string_view transform) {
    std::vector<Value> in = inputs_;
    Value x = layer_.input(0);
    in[0] = is_real(x.type()) ? x : convert(x, DType::f32);
    std::vector<double> base = reals("base_values");
    if (!base.empty()) in.push_back(layer_.typed(base, {static_cast<int64_t>(base.size())}, DType::f64));
    Value y = layer_.op("TreeEnsemble@graft", in,
                        {{"n_targets", targets}, {"aggregate_function", aggregate}, {"post_transform", transform}});
    return convert(y, DType::f32);
  }
  const std::vector<int64_t>& targets() const { return targets_; }
  const std::vector<double>& weights() const { return weights_; }

  static std::string lower(std::string s) {
    for (char& c : s)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return s;
  }

 private:
  std::vector<int64_t> list(const std::string& name) { return layer_.get<std::vector<int64_t>>(name); }
  // Double-precision values have a separate attribute.
  std::vector<double> reals(const std::string& name) {
    if (layer_.has(name + "_as_tensor")) return layer_.get<TensorView>(name + "_as_tensor").to<double>();
    return layer_.get<std::vector<double>>(name, {});
  }
  static int64_t mode(std::string_view name) {
    constexpr std::string_view names[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                          "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
    if (name == "LEAF") return 0;
    for (size_t i = 0; i < std::size(names); ++i)
      if (names[i] == name) return static_cast<int64_t>(i);
    fail("'", name, "' is not a known node mode");
  }
  void read_votes(const std::map<std::pair<int64_t, int64_t>, size_t>& place, const std::vector<int64_t>& leaf,
                  int64_t leaves) {
    std::vector<int64_t> trees = list(what_ + "_treeids"), nodes = list(what_ + "_nodeids"), ids = list(what_ + "_ids");
    std::vector<double> weights = reals(what_ + "_weights");
    if (trees.size() != nodes.size() || trees.size() != ids.size() || trees.size() != weights.size())
      fail("expected leaf weight attributes (", what_, "_*) of equal length");
    std::vector<std::vector<size_t>> of(static_cast<size_t>(leaves));
    for (size_t i = 0; i < ids.size(); ++i) {
      auto it = place.find({trees[i], nodes[i]});
      if (it == place.end() || leaf[it->second] < 0) fail("tree ", trees[i], " has no leaf ", nodes[i]);
      of[static_cast<size_t>(leaf[it->second])].push_back(i);
    }
    for (const std::vector<size_t>& votes : of) {
      starts_.push_back(static_cast<int64_t>(targets_.size()));
      for (size_t v : votes) targets_.push_back(ids[v]), weights_.push_back(weights[v]);
    }
    starts_.push_back(static_cast<int64_t>(targets_.size()));
  }

  Builder& layer_;
  std::string what_;
  std::vector<Value> inputs_;
  std::vector<int64_t> starts_, targets_;
  std::vector<double> weights_;
};

Value import_tree_ensemble_regressor(Builder& layer) {
  OldTrees trees(layer, "target");
  return trees.scores(layer.get<int64_t>("n_targets", 1),
                      OldTrees::lower(layer.get<std::string>("aggregate_function", "SUM")),
                      OldTrees::lower(layer.get<std::string>("post_transform", "NONE")));
}

std::vector<Value> import_tree_ensemble_classifier(Builder& layer) {
  OldTrees trees(layer, "class");
  auto names = layer.get<std::vector<std::string>>("classlabels_strings", {});
  auto numbers = layer.get<std::vector<int64_t>>("classlabels_int64s", {});
  auto classes = static_cast<int64_t>(names.empty() ? numbers.size() : names.size());
  if (classes < 1) fail("expected at least one class label, got none");
  std::string transform = OldTrees::lower(layer.get<std::string>("post_transform", "NONE"));
  Value labels;
  if (names.empty()) {
    labels = layer.ints(numbers);
  } else {
    std::vector<graft_str> texts;
    for (const std::string& s : names) texts.push_back(str(s));
    labels = layer.constant(std::move(texts), {classes});
  }
  const std::vector<int64_t>& voted = trees.targets();
  for (int64_t t : voted)
    if (t < 0 || t >= classes) fail("expected class ids from 0 to ", classes - 1, ", got ", t);
  bool one = classes == 2 && std::all_of(voted.begin(), voted.end(), [&](int64_t t) { return t == voted[0]; });
  Value scores, chosen;
  if (one && !voted.empty()) {
    // Binary classification where all leaves vote for one class: its score decides. ONNX Runtime assigns the score of
    // the first class to the second one, and converters rely on it.
    bool probability = std::all_of(trees.weights().begin(), trees.weights().end(), [](double w) { return w >= 0; });
    Value p = build::slice(trees.scores(classes, "sum", "none"), 1, voted[0], voted[0] + 1);
    chosen = convert(layer.op("Greater", {squeeze(p, {1}), like(p, probability ? 0.5 : 0)}), DType::i64);
    if (voted[0] == 1) scores = trees.scores(classes, "sum", transform);
    else if (transform == "logistic") scores = layer.op("Sigmoid", {build::concat({-p, p}, 1)});
    else scores = build::concat({probability ? 1.0 - p : -p, p}, 1);
  } else {
    Value raw = trees.scores(classes, "sum", "none");
    chosen =
        squeeze(layer.ops("TopK", {raw, layer.scalar(int64_t{1})},
                          {{"axis", 1}, {"mode", "max"}, {"sort", "value"}, {"index_element_type", DType::i64}}, 2)[1],
                {1});
    scores = transform == "none" ? raw : trees.scores(classes, "sum", transform);
  }
  return {build::gather(labels, chosen, 0), scores};
}

}  // namespace

Definitions define_onnx_tree_ensembles() {
  return {
      onnx("TreeEnsembleRegressor").domain("ai.onnx.ml").expand(import_tree_ensemble_regressor),
      onnx("TreeEnsembleClassifier").domain("ai.onnx.ml").expand(import_tree_ensemble_classifier),
  };
}

}  // namespace graft
