// Transpose -> Relu -> Add(constant) -> Transpose back  =>  Relu -> Add(constant')
//
// A transpose is moved past operations that can work on the transposed layout, with their axes and constants adapted,
// until it cancels out with another one or reaches an operation that needs it. Channels-last layers import with one
// before and one after every convolution; few of them remain.
#include <algorithm>
#include <numeric>
#include <optional>

#include "base/tensor.hpp"
#include "passes/passes.hpp"

namespace graft {
namespace {

using Order = std::vector<int64_t>;

bool is_identity(const Order& p) {
  for (size_t i = 0; i < p.size(); ++i)
    if (p[i] != static_cast<int64_t>(i)) return false;
  return true;
}
Order inverse(const Order& p) {
  Order q(p.size());
  for (size_t i = 0; i < p.size(); ++i) q[static_cast<size_t>(p[i])] = static_cast<int64_t>(i);
  return q;
}
bool is_order(const Order& p) {
  Order sorted = p;
  std::sort(sorted.begin(), sorted.end());
  return !p.empty() && is_identity(sorted);
}

class Sinking {
 public:
  Sinking(Editor& editor, Changes& changes)
      : editor_(editor), g_(editor.graph()), inference_(editor.inference()), changes_(changes) {}

  void run() {
    for (NodeId id : g_.topological_order()) visit(id);
    editor_.sweep();
    for (NodeId id : std::vector<NodeId>(editor_.of_type("Transpose"))) flatten(id);
    editor_.sweep();
  }

 private:
  struct Transposed {
    ValueId from;
    Order order;
  };
  // The value that this one is a transpose of.
  std::optional<Transposed> transposed(ValueId v) {
    if (!v.present()) return std::nullopt;
    const Node& n = g_[v.node];
    if (!n.is("Transpose") || editor_.is_foreign(v.node) || n.inputs.size() != 2) return std::nullopt;
    const Tensor* t = inference_.constant(n.inputs[1]);
    if (!t) return std::nullopt;
    Order p = values_of<int64_t>(*t);
    if (!is_order(p)) return std::nullopt;
    return Transposed{n.inputs[0], std::move(p)};
  }

  void visit(NodeId id) {
    if (g_[id].outputs.empty() || g_[id].inputs.empty() || g_[id].is("Result") || g_[id].opaque) return;
    if (inference_.constant({id, 0})) return;
    if (g_[id].is("Transpose")) return join(id);
    std::optional<Transposed> t;
    for (ValueId v : g_[id].inputs)
      if (!t) t = transposed(v);
    if (!t) return;
    const Order p = t->order;
    Node n;
    n.type = g_[id].type, n.opset = g_[id].opset, n.attrs = g_[id].attrs, n.inputs = g_[id].inputs;
    n.origin = g_[id].origin, n.rt_info = g_[id].rt_info;
    Order out = p;
    if (!adapt(id, n, p, out)) return;
    n.outputs.resize(g_[id].outputs.size());
    std::string name = g_[id].name;
    NodeId fresh{};
    try {
      fresh = editor_.add(std::move(n));
    } catch (const Error&) {
      return;  // it refuses inputs of other ranks, as a BatchNormInference does: nothing has changed
    }
    for (uint32_t i = 0; i < g_[fresh].outputs.size(); ++i) {
      ValueId result = is_identity(out) ? ValueId{fresh, i} : transposition({fresh, i}, out, name);
      editor_.replace({id, i}, result);
    }
    editor_.take_name(id, fresh);
    changes_.at(name);
  }

  // Two consecutive transposes are merged into one, or none.
  void join(NodeId id) {
    auto second = transposed({id, 0});
    auto first = second ? transposed(second->from) : std::nullopt;
    if (second && is_identity(second->order)) {
      changes_.at(g_[id].name);
      editor_.replace({id, 0}, second->from);
      return;
    }
    if (!first || first->order.size() != second->order.size()) return;
    Order p;
    for (int64_t k : second->order) p.push_back(first->order[static_cast<size_t>(k)]);
    changes_.at(g_[id].name);
    editor_.replace({id, 0}, is_identity(p) ? first->from : transposition(first->from, p, g_[id].name));
  }

  // A transpose that only moves dimensions of 1 leaves the elements in place.
  void flatten(NodeId id) {
    auto t = transposed({id, 0});
    if (!t || !editor_.users().read({id, 0})) return;
    Shape s = g_.info(t->from).shape;
    if (!s.ranked() || s.rank() != t->order.size()) return;
    std::vector<int64_t> target;
    int64_t last = -1, unknown = 0;
    for (int64_t k : t->order) {
      const Dim& d = s[static_cast<size_t>(k)];
      target.push_back(d.known() ? d.value() : -1);
      if (d.known() && d.value() == 1) continue;
      if (k < last || (d.known() && d.value() == 0)) return;
      last = k;
      unknown += !d.known();
    }
    if (unknown > 1) return;
    changes_.at(g_[id].name);
    editor_.replace({id, 0}, editor_.reshape(t->from, target, g_[id].name + "/Reshape"));
  }

  // ---- how operations adapt; false: not at all ----

  bool adapt(NodeId id, Node& n, const Order& p, Order& out) {
    if (editor_.has(id, Trait::elementwise)) return broadcasting(n, p);
    if (editor_.has(id, Trait::per_channel)) return per_channel(n, p);
    if (editor_.has(id, Trait::axis_attribute)) return all_inputs(n, p) && axis_attribute(n, p);
    if (editor_.has(id, Trait::axes_input)) return axes_input(n, p, out);
    return n.is("Pad") && !editor_.is_foreign(id) && pad(n, p);
  }

  bool data_only(Node& n, const Order& p) {
    auto t = transposed(n.inputs[0]);
    if (!t || t->order != p) return false;
    n.inputs[0] = t->from;
    return true;
  }

  bool single(ValueId v) {
    Shape s = g_.info(v).shape;
    return s.is_static() && s.elements().value() == 1;
  }

  // Every input is a value with the same transpose, a constant, or a scalar.
  bool broadcasting(Node& n, const Order& p) {
    if (const Attribute* b = n.attrs.find("auto_broadcast"))
      if (const std::string* mode = b->get_if<std::string>(); mode && *mode != "numpy") return false;
    std::vector<ValueId> inputs;
    for (ValueId v : n.inputs) {
      auto t = transposed(v);
      if (t && t->order == p) {
        inputs.push_back(t->from);
        continue;
      }
      Shape s = g_.info(v).shape;
      if (!s.is_static() || s.rank() > p.size()) return false;
      bool one = s.elements().value() == 1;
      if (!one && !inference_.constant(v)) return false;
      inputs.push_back(v);
    }
    for (size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i] == n.inputs[i] && !single(inputs[i])) inputs[i] = turned_back(inputs[i], p);
    n.inputs = std::move(inputs);
    return true;
  }

  // c' with transpose(c', p) == c, where dimensions of 1 are first prepended to c.
  ValueId turned_back(ValueId c, const Order& p) {
    std::vector<int64_t> dims = g_.info(c).shape.values();
    if (dims.size() < p.size()) {
      dims.insert(dims.begin(), p.size() - dims.size(), 1);
      c = editor_.reshape(c, dims, g_[c.node].name + "/widened");
    }
    return transposition(c, inverse(p), g_[c.node].name);
  }

  // Input 0 is the transposed value, the others are constants or single numbers. One with one dimension has a value per
  // channel; it gets the other dimensions, in which it is one, unless the channels stay where they are.
  bool per_channel(Node& n, const Order& p) {
    Shape x = g_.info(n.inputs[0]).shape;
    if (!x.ranked() || x.rank() < 2 || x.rank() != p.size()) return false;
    std::vector<ValueId> inputs = n.inputs;
    for (size_t i = 1; i < inputs.size(); ++i) {
      ValueId v = inputs[i];
      if (!v.present()) return false;
      if (single(v)) continue;
      Shape s = g_.info(v).shape;
      if (!inference_.constant(v) || !s.is_static() || s.rank() > p.size()) return false;
      if (s.rank() == 1 && !x[1].same(s[0])) return false;
    }
    if (!data_only(n, p)) return false;
    for (size_t i = 1; i < inputs.size(); ++i) {
      ValueId v = inputs[i];
      if (single(v)) continue;
      std::vector<int64_t> dims = g_.info(v).shape.values();
      if (dims.size() == 1) {
        if (p[1] == 1) continue;
        dims.insert(dims.begin(), 1);
        dims.resize(p.size(), 1);
        v = editor_.reshape(v, dims, g_[v.node].name + "/widened");
      }
      n.inputs[i] = turned_back(v, p);
    }
    return true;
  }

  // Every input is a value with the same transpose, or a constant.
  bool all_inputs(Node& n, const Order& p) {
    std::vector<ValueId> inputs;
    for (ValueId v : n.inputs) {
      auto t = transposed(v);
      bool same = t && t->order == p;
      if (!same && !v.present()) return false;
      Shape s = g_.info(v).shape;
      if (!same && !(inference_.constant(v) && s.is_static() && s.rank() == p.size())) return false;
      inputs.push_back(same ? t->from : ValueId{});
    }
    for (size_t i = 0; i < inputs.size(); ++i)
      n.inputs[i] = inputs[i].present() ? inputs[i] : turned_back(n.inputs[i], p);
    return true;
  }

  static std::optional<int64_t> moved(int64_t axis, const Order& p) {
    auto rank = static_cast<int64_t>(p.size());
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) return std::nullopt;
    return p[static_cast<size_t>(axis)];
  }
  static bool axis_attribute(Node& n, const Order& p) {
    const Attribute* a = n.attrs.find("axis");
    const int64_t* axis = a ? a->get_if<int64_t>() : nullptr;
    auto to = axis ? moved(*axis, p) : std::nullopt;
    if (!to) return false;
    n.attrs["axis"] = *to;
    return true;
  }

  bool pad(Node& n, const Order& p) {
    std::vector<int64_t> turned[2];
    for (size_t side = 0; side < 2; ++side) {
      const Tensor* t = inference_.constant(n.inputs[side + 1]);
      if (!t || t->size() != static_cast<int64_t>(p.size())) return false;
      std::vector<int64_t> pads = values_of<int64_t>(*t);
      turned[side].resize(pads.size());
      for (size_t k = 0; k < pads.size(); ++k) turned[side][static_cast<size_t>(p[k])] = pads[k];
    }
    if (!data_only(n, p)) return false;
    for (size_t side = 0; side < 2; ++side) n.inputs[side + 1] = editor_.constant(turned[side]);
    return true;
  }

  bool axes_input(Node& n, const Order& p, Order& out) {
    if (n.inputs.size() < 2 || !n.inputs[1].present()) return false;
    const Tensor* t = inference_.constant(n.inputs[1]);
    if (!t || !data_only(n, p)) return false;
    std::vector<int64_t> axes;
    std::vector<bool> gone(p.size(), false);
    for (int64_t a : values_of<int64_t>(*t)) {
      auto to = moved(a, p);
      if (!to) return false;
      axes.push_back(*to);
      gone[static_cast<size_t>(*to)] = true;
    }
    const Attribute* keep = n.attrs.find("keep_dims");
    if (keep && keep->get_if<bool>() && !keep->as<bool>()) {
      out.clear();
      for (int64_t k : p)
        if (!gone[static_cast<size_t>(k)]) out.push_back(std::count(gone.begin(), gone.begin() + k, false));
    }
    n.inputs[1] = editor_.constant(make_tensor<int64_t>(t->dims(), axes));
    return true;
  }

  ValueId transposition(ValueId v, const Order& p, const std::string& name) {
    return editor_.transpose(v, p, name + "/Transpose");
  }

  Editor& editor_;
  Graph& g_;
  Inference& inference_;
  Changes& changes_;
};

}  // namespace

void sink_transposes(Editor& editor, Changes& changes) { Sinking(editor, changes).run(); }

}  // namespace graft
