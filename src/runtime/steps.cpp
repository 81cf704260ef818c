// Planning, stage 3: slots and steps.
#include <algorithm>
#include <map>

#include "base/tensor.hpp"
#include "kernels/call.hpp"
#include "runtime/planning.hpp"

namespace graft {
namespace {

class Steps {
 public:
  explicit Steps(Draft& draft) : d_(draft), p_(*draft.plan) { slot_of_.resize(p_.graph.end_id()); }

  void make() {
    const Graph& g = p_.graph;
    for (size_t i = 0; i < g.parameters().size(); ++i)
      p_.inputs.push_back(add_slot({g.parameters()[i], 0}, Slot::input, i));
    for (NodeId id : d_.order) node(id);
    for (NodeId id : g.results()) p_.results.push_back(slot(g[id].inputs[0]));
    keep_constants();
  }

 private:
  uint32_t& slot(ValueId v) {
    auto& ports = slot_of_[v.node];
    if (ports.size() <= v.port) ports.resize(v.port + 1, no_slot);
    return ports[v.port];
  }
  uint32_t add_slot(ValueId v, Slot::Kind kind, size_t index = 0) {
    auto id = static_cast<uint32_t>(p_.slots.size());
    Slot& s = p_.slots.emplace_back();
    s.kind = kind;
    s.info = p_.graph.info(v);
    s.layout = d_.value(v).layout;
    s.root = id;
    s.index = index;
    if (s.info.shape.is_static()) s.dims = s.info.shape.values();
    return slot(v) = id;
  }
  // Another view of the same memory.
  uint32_t add_alias(uint32_t of, std::vector<int64_t> dims, Layout layout) {
    auto [it, fresh] = aliases_.try_emplace({of, dims, layout}, static_cast<uint32_t>(p_.slots.size()));
    if (!fresh) return it->second;
    Slot s = p_.slots[of];
    s.info.shape = Shape::of(dims);
    s.dims = std::move(dims);
    s.layout = layout;
    s.is_alias = true;
    p_.slots.push_back(std::move(s));
    return it->second;
  }

  void node(NodeId id) {
    const Node& n = p_.graph[id];
    Work& w = d_.works[id];
    if (w.kind == Work::none) return;
    if (w.kind == Work::constant) constants(id);
    if (w.kind == Work::view) view(id);
    if (w.kind == Work::kernel || w.kind == Work::run_time) step(id);
    if (n.is("Constant")) return;
    // Taken here, where the inputs are those that run: reorders are among them.
    for (ValueId v : n.inputs) w.choice.producers.push_back(v.present() ? p_.graph[v.node].name : "");
    p_.explanation.choices.push_back(std::move(w.choice));
  }
  void constants(NodeId id) {
    for (uint32_t i = 0; i < p_.graph[id].outputs.size(); ++i) {
      const auto& [constant, released] = std::tie(d_.value({id, i}).constant, d_.value({id, i}).released);
      if (!constant && !released) continue;
      p_.constants.push_back(constant);
      uint32_t s = add_slot({id, i}, Slot::constant, p_.constants.size() - 1);
      if (constant) p_.slots[s].info = constant.info(), p_.slots[s].dims = constant.dims();
      p_.explanation.constant_bytes += bytes_for(p_.slots[s].info.type, count_checked(p_.slots[s].dims));
    }
  }
  // Constants that steps read, aligned. Of the others only packed forms are needed.
  void keep_constants() {
    std::vector<bool> read(p_.constants.size());
    auto mark = [&](uint32_t s) {
      if (s != no_slot && p_.slots[s].kind == Slot::constant) read[p_.slots[s].index] = true;
    };
    for (const Step& s : p_.steps)
      for (size_t i = 0; i < s.inputs.size(); ++i)
        if (const auto& taken = s.kernel.taken; std::find(taken.begin(), taken.end(), i) == taken.end())
          mark(s.inputs[i]);
    for (uint32_t s : p_.results) mark(s);
    for (size_t i = 0; i < read.size(); ++i)
      p_.constants[i] = read[i] ? d_.kernels.packs.aligned(p_.constants[i]) : Tensor();
  }
  void view(NodeId id) {
    const Slot source = p_.slots[slot(p_.graph[id].inputs[0])];
    uint32_t s = add_slot({id, 0}, source.kind, source.index);
    p_.slots[s].root = source.root;
  }

  // A slot as a port of the kernel sees it.
  uint32_t seen(const Work& w, uint32_t s, Layout layout, size_t rank) {
    if (w.kind == Work::run_time) return s;
    if (w.in_memory_order && layout == Layout::channels_last)
      return add_alias(s, memory_order(p_.slots[s].dims, rank), Layout::plain);
    return p_.slots[s].layout == layout ? s : add_alias(s, p_.slots[s].dims, layout);
  }

  void step(NodeId id) {
    const Node& n = p_.graph[id];
    Work& w = d_.works[id];
    Step s{id, w.op, w.prepared, {}, {}, {}, 0, w.may_overwrite};
    size_t rank = !n.outputs.empty() && n.outputs[0].info.shape.ranked() ? n.outputs[0].info.shape.rank() : 0;
    for (size_t i = 0; i < n.inputs.size(); ++i)
      s.inputs.push_back(!n.inputs[i].present()
                             ? no_slot
                             : seen(w, slot(n.inputs[i]), w.inputs.empty() ? Layout::plain : w.inputs[i], rank));
    for (uint32_t i = 0; i < n.outputs.size(); ++i) {
      const Draft::Value& v = d_.value({id, i});
      if (v.planned && d_.options.body)
        check_dynamic(d_.options.limits.value_bytes, n.outputs[i].info.type, n.outputs[i].info.shape.values());
      s.used.push_back(v.consumers > 0);
      uint32_t made = add_slot({id, i}, !v.planned                                               ? Slot::dynamic
                                        : v.is_result && n.outputs[i].info.type != DType::string ? Slot::output
                                                                                                 : Slot::arena);
      s.outputs.push_back(v.planned && w.kind == Work::kernel ? seen(w, made, w.outputs[i], rank) : made);
    }
    p_.steps.push_back(std::move(s));
  }

  Draft& d_;
  Plan& p_;
  std::vector<std::vector<uint32_t>> slot_of_;
  std::map<std::tuple<uint32_t, std::vector<int64_t>, Layout>, uint32_t> aliases_;
};

}  // namespace

void make_steps(Draft& draft) { Steps(draft).make(); }

}  // namespace graft
