#include "readers/tensorflow/flow.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "base/tensor.hpp"

namespace graft {
namespace {

class Branches {
 public:
  explicit Branches(std::vector<TensorFlowNode>& nodes) : nodes_(nodes) {
    for (size_t i = 0; i < nodes.size(); ++i) index_.emplace(nodes[i].name, i);
  }

  void resolve() {
    bool loops = false;
    for (const TensorFlowNode& n : nodes_) loops |= n.type == "NextIteration" || n.type == "RefNextIteration";
    if (loops) return;
    size_t merges = 0;
    for (const TensorFlowNode& n : nodes_) merges += n.type == "Merge" || n.type == "RefMerge";
    if (merges > 20'000 || merges * nodes_.size() > 200'000'000)
      throw_unsupported("the graph has too many Merge nodes: ", merges);
    has_many_ = std::any_of(nodes_.begin(), nodes_.end(), is_switch_of_many);
    std::vector<std::pair<size_t, TensorFlowNode>> merged;
    for (size_t i = 0; i < nodes_.size(); ++i)
      if (nodes_[i].type == "Merge" || nodes_[i].type == "RefMerge") merged.emplace_back(i, choice(nodes_[i]));
    for (auto& [i, n] : merged) nodes_[i] = std::move(n);
    for (TensorFlowNode& n : nodes_)
      if (is_switch(n) || is_switch_of_many(n)) {
        // All outputs are the first input, so consumers of the others are redirected to output 0 of the Identity.
        n.type = "Identity";
        n.inputs.resize(1);
        switches_.insert(n.name);
      }
    for (TensorFlowNode& n : nodes_)
      for (std::string& in : n.inputs) {
        auto [name, output] = tensorflow_reference(in);
        if (output > 0 && switches_.count(name)) in = std::string(name);
      }
  }

 private:
  const TensorFlowNode* find(std::string_view name) const {
    auto it = index_.find(name);
    return it == index_.end() ? nullptr : &nodes_[it->second];
  }

  static bool is_switch(const RawNode& n) { return n.type == "Switch" || n.type == "RefSwitch"; }
  static bool is_switch_of_many(const RawNode& n) { return n.type == "_SwitchN"; }

  // The branches of each condition that a value depends on: bit 0 for false, bit 1 for true; for a _SwitchN, whose
  // index has `many` before its name, the bit of the branch.
  std::map<std::string, unsigned> sides(const std::string& value) const {
    std::map<std::string, unsigned> out;
    std::set<std::pair<std::string_view, size_t>> seen;
    std::vector<std::pair<std::string_view, size_t>> stack{tensorflow_reference(value)};
    while (!stack.empty()) {
      auto at = stack.back();
      stack.pop_back();
      if (!seen.insert(at).second) continue;
      const TensorFlowNode* n = find(at.first);
      if (!n) continue;
      if (is_switch(*n) && n->inputs.size() == 2) out[condition_of(n->inputs[1])] |= at.second == 1 ? 2 : 1;
      if (is_switch_of_many(*n) && n->inputs.size() == 2)
        out[many + condition_of(n->inputs[1])] |= at.second < most_branches ? 1u << at.second : ~0u;
      for (const std::string& in : n->inputs) stack.push_back(tensorflow_reference(in));
      for (const std::string& in : n->controls) stack.push_back({in, 0});
    }
    return out;
  }

  // Skips Identity nodes, so that two names of one condition compare equal.
  std::string condition_of(std::string value) const {
    for (size_t steps = 0; steps < nodes_.size(); ++steps) {
      const TensorFlowNode* n = find(tensorflow_reference(value).first);
      bool through = n && n->inputs.size() == 1 && (n->type == "Identity" || n->type == "PlaceholderWithDefault");
      if (!through) break;
      value = n->inputs[0];
    }
    return value;
  }

  // Where branches of a switch of many meet: index, then the value of each branch in order.
  std::optional<TensorFlowNode> choice_of_many(const TensorFlowNode& merge) const {
    size_t count = merge.inputs.size();
    if (count < 2 || count > most_branches) return std::nullopt;
    std::vector<std::map<std::string, unsigned>> behind;
    for (const std::string& in : merge.inputs) behind.push_back(sides(in));
    for (const auto& [condition, side] : behind[0]) {
      if (!condition.starts_with(many)) continue;
      TensorFlowNode n = merge;
      n.fields.clear();
      n.type = "MergeMany";
      n.domain = "graft";
      n.inputs.assign(count + 1, "");
      n.inputs[0] = condition.substr(many.size());
      for (size_t i = 0; i < count; ++i) {
        auto it = behind[i].find(condition);
        for (size_t branch = 0; it != behind[i].end() && branch < count; ++branch)
          if (it->second == 1u << branch) n.inputs[branch + 1] = merge.inputs[i];
      }
      if (std::find(n.inputs.begin(), n.inputs.end(), "") == n.inputs.end()) return n;
    }
    return std::nullopt;
  }

  TensorFlowNode choice(const TensorFlowNode& merge) const {
    if (auto of_many = has_many_ ? choice_of_many(merge) : std::nullopt) return *of_many;
    if (merge.inputs.size() != 2) return merge;
    std::map<std::string, unsigned> a = sides(merge.inputs[0]), b = sides(merge.inputs[1]);
    for (const auto& [condition, side] : a) {
      auto other = b.find(condition);
      if (side == 3 || other == b.end() || side + other->second != 3) continue;
      TensorFlowNode n = merge;
      n.fields.clear();
      const std::string& yes = merge.inputs[side == 2 ? 0 : 1];
      const std::string& no = merge.inputs[side == 2 ? 1 : 0];
      const TensorFlowNode* c = find(condition);
      const RawField* value = c && c->type == "Const" ? c->find("value") : nullptr;
      const Tensor* t = value ? value->value.get_if<Tensor>() : nullptr;
      if (t && t->type() == DType::boolean && t->size() == 1) {
        n.type = "Identity";
        n.inputs = {*static_cast<const uint8_t*>(t->data()) ? yes : no};
      } else {
        n.type = "Merge";
        n.domain = "graft";
        n.inputs = {condition, yes, no};
      }
      return n;
    }
    return merge;
  }

  inline static const std::string many = "many ";  // before an index, which no name of a value has
  static constexpr size_t most_branches = 31;
  bool has_many_ = false;
  std::vector<TensorFlowNode>& nodes_;
  std::unordered_map<std::string_view, size_t> index_;
  std::set<std::string, std::less<>> switches_;
};

}  // namespace

void resolve_branches(std::vector<TensorFlowNode>& nodes) { Branches(nodes).resolve(); }

}  // namespace graft
