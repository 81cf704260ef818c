// x -> Gather([2,1,0], axis) -> Add(b) -> Convolution(w)   =>   x -> Add(b') -> Convolution(w')
//
// The Gather is moved past channel-wise operations, whose constants are reordered, and is absorbed by the weights of a
// convolution. A depthwise convolution passes it on to its outputs.
#include <algorithm>
#include <numeric>

#include "base/tensor.hpp"
#include "base/text.hpp"
#include "passes/insert.hpp"
#include "passes/preprocess.hpp"

namespace graft {
namespace {

using Channels = std::vector<int64_t>;

// Channel c of the value that consumers read is channel order[c] of `from`.
struct Reordering {
  ValueId from;
  size_t axis;
  Channels order;
};

class ChannelReversal {
 public:
  ChannelReversal(Graph& g, const Registry& registry) : editor_(g, registry), g_(g) {}

  void start(NodeId input, size_t axis) {
    std::vector<Use> uses = readers({input, 0});
    gather({{input, 0}, axis, {2, 1, 0}}, uses, g_[input].name);
    while (!open_.empty()) {
      auto [id, r] = open_.back();
      open_.pop_back();
      for (Use u : readers({id, 0})) carry(u, r);
      editor_.suspect(id);
    }
    editor_.sweep();
  }

 private:
  void gather(Reordering r, const std::vector<Use>& uses, const std::string& name) {
    ValueId indices = editor_.constant(make_tensor<int64_t>({static_cast<int64_t>(r.order.size())}, r.order),
                                       name + "/channels/order");
    ValueId axis = editor_.constant(make_tensor<int64_t>({}, {static_cast<int64_t>(r.axis)}), name + "/channels/axis");
    ValueId v = insert(editor_, "Gather", "opset8", {r.from, indices, axis}, name + "/channels");
    redirect(editor_, uses, v);
    open_.emplace_back(v.node, std::move(r));
  }
  std::vector<Use> readers(ValueId v) { return editor_.users().of(v); }

  // Moves the reordering past one consumer, or leaves it where it is.
  void carry(Use u, const Reordering& r) {
    Node& n = g_[u.node];
    if (n.is("ShapeOf")) return editor_.set_input(u.node, u.input, r.from);
    if (n.opaque || n.outputs.size() != 1) return;
    if (n.is("Convolution") && n.opset == "opset1") return into_weights(u, r);
    if (n.is("GroupConvolution") && n.opset == "opset1") return through_groups(u, r);
    Reordering behind = r;
    bool passes = n.is("Transpose")                         ? transpose(u, behind)
                  : n.is("Pad")                             ? pad(u, r)
                  : editor_.has(u.node, Trait::channelwise) ? u.input == 0 && r.axis == 1
                                                            : elementwise(u, behind);
    if (!passes) return;
    editor_.set_input(u.node, u.input, r.from);
    pass_on(u.node, behind);
  }

  // The node reads the channels in their original order, so its output is reordered instead.
  void pass_on(NodeId id, Reordering behind) {
    behind.from = {id, 0};
    std::vector<Use> uses = readers(behind.from);
    gather(behind, uses, g_[id].name);
    // The tensor names belong to the value in the requested order.
    Output& made = g_[id].outputs[0];
    for (const std::string& name : made.names) g_[open_.back().first].outputs[0].add_name(name);
    made.names.clear();
  }

  const Tensor* weights(NodeId id) {
    if (g_[id].inputs.size() < 2) return nullptr;
    const Tensor* w = editor_.inference().constant(g_[id].inputs[1]);
    return w && !is_packed(w->type()) && w->type() != DType::string ? w : nullptr;
  }
  static Channels inverse_of(const Channels& order) {
    Channels q(order.size());
    for (size_t i = 0; i < order.size(); ++i) q[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    return q;
  }

  void into_weights(Use u, const Reordering& r) {
    const Tensor* w = weights(u.node);
    if (u.input != 0 || r.axis != 1 || !w || w->dims().size() < 3 ||
        w->dims()[1] != static_cast<int64_t>(r.order.size()))
      return;
    replace_input(u.node, 1, reordered(*w, 1, inverse_of(r.order)));
    editor_.set_input(u.node, 0, r.from);
  }

  // One channel per group: the groups are reordered, and so are the output channels of each.
  void through_groups(Use u, const Reordering& r) {
    const Tensor* w = weights(u.node);
    if (u.input != 0 || r.axis != 1 || !w || w->dims().size() < 4 || w->dims()[2] != 1 ||
        w->dims()[0] != static_cast<int64_t>(r.order.size()))
      return;
    int64_t each = w->dims()[1];
    replace_input(u.node, 1, reordered(*w, 0, inverse_of(r.order)));
    editor_.set_input(u.node, 0, r.from);
    Reordering behind{{}, 1, {}};
    for (int64_t group : r.order)
      for (int64_t k = 0; k < each; ++k) behind.order.push_back(group * each + k);
    pass_on(u.node, behind);
  }

  void replace_input(NodeId id, uint32_t input, Tensor value) {
    const std::string& name = g_[g_[id].inputs[input].node].name;
    ValueId v = editor_.constant(std::move(value), name + "/reordered");
    editor_.set_input(id, input, v);
  }

  bool transpose(Use u, Reordering& behind) {
    const Tensor* t = u.input == 0 ? editor_.inference().constant(g_[u.node].inputs[1]) : nullptr;
    if (!t) return false;
    Channels order = values_of<int64_t>(*t);
    auto at = std::find(order.begin(), order.end(), static_cast<int64_t>(behind.axis));
    if (at == order.end()) return false;
    behind.axis = static_cast<size_t>(at - order.begin());
    return true;
  }

  bool pad(Use u, const Reordering& r) {
    if (u.input != 0) return false;
    for (size_t side : {1, 2}) {
      const Tensor* t = editor_.inference().constant(g_[u.node].inputs[side]);
      if (!t || t->size() <= static_cast<int64_t>(r.axis) || values_of<int64_t>(*t)[r.axis] != 0) return false;
    }
    return true;
  }

  // All other inputs must be constants; those that vary along the channels are reordered too.
  bool elementwise(Use u, Reordering& behind) {
    const Node& n = g_[u.node];
    bool per_channel = editor_.has(u.node, Trait::per_channel);
    if (!per_channel && !editor_.has(u.node, Trait::elementwise)) return false;
    if (per_channel && u.input != 0) return false;
    const Attribute* rule = n.attrs.find("auto_broadcast");
    if (rule && rule->get_if<std::string>() && rule->as<std::string>() != "numpy") return false;
    const Shape &in = g_.info(behind.from).shape, &out = g_.info({u.node, 0}).shape;
    if (!in.ranked() || !out.ranked() || out.rank() < in.rank()) return false;
    size_t from_end = in.rank() - behind.axis;  // broadcasting aligns shapes at their ends
    auto count = static_cast<int64_t>(behind.order.size());
    std::vector<std::pair<uint32_t, Tensor>> changed;
    for (uint32_t i = 0; i < n.inputs.size(); ++i) {
      if (i == u.input) continue;
      const Tensor* t = n.inputs[i].present() ? editor_.inference().constant(n.inputs[i]) : nullptr;
      if (!t || is_packed(t->type()) || t->type() == DType::string) return false;
      bool along_1 = per_channel && t->dims().size() == 1 && t->size() > 1;
      if (along_1 && behind.axis != 1) return false;
      if (!along_1 && t->dims().size() < from_end) continue;
      size_t axis = along_1 ? 0 : t->dims().size() - from_end;
      if (t->dims()[axis] == 1) continue;
      if (t->dims()[axis] != count) return false;
      changed.emplace_back(i, reordered(*t, axis, inverse_of(behind.order)));
    }
    for (auto& [i, t] : changed) replace_input(u.node, i, std::move(t));
    behind.axis = out.rank() - from_end;
    return true;
  }

  Editor editor_;
  Graph& g_;
  std::vector<std::pair<NodeId, Reordering>> open_;  // Gathers that may still be moved
};

}  // namespace

void reverse_channels(Graph& g, const Registry& registry, const Preprocess& request,
                      std::vector<std::string>& warnings) {
  std::vector<std::string> left;
  ChannelReversal reversal(g, registry);
  for (NodeId id : std::vector<NodeId>(g.parameters())) {
    const Shape& s = g.info({id, 0}).shape;
    auto axis = channel_axis(g, request, id);
    if (axis && s.rank() == 4 && s[*axis].known() && s[*axis].value() == 3) reversal.start(id, *axis);
    else left.push_back(text(g[id].name, " ", s));
  }
  if (!left.empty())
    warnings.push_back(
        text("`reverse_channels` applies only to inputs with four dimensions and three channels, not to: ",
             join(left, ", ")));
}

}  // namespace graft
