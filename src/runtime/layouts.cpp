// Planning, stage 2: the layout of every value.
//
// Producers come first, and each node takes the combination of layouts that moves the fewest bytes, given the layouts
// of its inputs. That is not always the global optimum, but a network is mostly a chain of layers that prefer the same
// layout.
//
// A transpose between [N, C, H, W] and [N, H, W, C] has nothing to do where the first is stored with the channels last:
// it becomes a view, as do reshapes of the plane, [N, C, H, W] to [N, C, H * W] and back.
#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <set>

#include "base/tensor.hpp"
#include "base/threads.hpp"
#include "runtime/planning.hpp"
#include "schema/resolve.hpp"

namespace graft {

bool same_order(std::span<const int64_t> dims) {
  if (dims.size() < 3 || dims[1] == 1) return true;
  return std::all_of(dims.begin() + 2, dims.end(), [](int64_t d) { return d == 1; });
}

std::vector<int64_t> memory_order(std::vector<int64_t> dims, size_t rank) {
  if (dims.size() < rank) dims.insert(dims.begin(), rank - dims.size(), 1);
  if (dims.size() > 2) std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
  return dims;
}

namespace {

// The layouts of all ports of a node.
struct Ports {
  std::vector<Layout> inputs, outputs;
  bool in_memory_order = false;
  double bytes = 0;  // to be reordered

  bool operator==(const Ports& o) const {
    return inputs == o.inputs && outputs == o.outputs && in_memory_order == o.in_memory_order;
  }
};

class Layouts {
 public:
  explicit Layouts(Draft& draft) : d_(draft), g_(draft.plan->graph) {}

  // Chooses for all nodes; a kernel that is given other layouts than before has to be prepared again.
  void choose() {
    for (NodeId id : d_.order) {
      Work& w = d_.works[id];
      if (w.kind == Work::view) follow(id);
      if (w.kind != Work::kernel) continue;
      if (as_view(id)) continue;
      Ports best = best_ports(id);
      Ports now{w.inputs, w.outputs, w.in_memory_order, 0};
      if (!(best == now)) w.prepared = {};
      w.inputs = best.inputs, w.outputs = best.outputs, w.in_memory_order = best.in_memory_order;
      for (uint32_t i = 0; i < g_[id].outputs.size(); ++i)
        d_.value({id, i}).layout = is_plain({id, i}) ? Layout::plain : w.outputs[i];
    }
  }
  // Packing weights takes most of the time, so built-in kernels are prepared on all threads. Those of extensions are
  // called by one thread, in order.
  bool prepare() {
    std::vector<NodeId> built_in, others;
    for (NodeId id : d_.order) {
      const Work& w = d_.works[id];
      if (w.kind != Work::kernel || w.prepared || views_.contains(id)) continue;
      (w.kernels.kernel().source->built_in() ? built_in : others).push_back(id);
    }
    std::vector<std::exception_ptr> errors(built_in.size());
    std::atomic<bool> all = true;
    auto part = [&](int64_t begin, int64_t end) {
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) try {
          if (!prepare(built_in[i])) all = false;
        } catch (...) {
          errors[i] = std::current_exception();
        }
    };
    ThreadPool::shared().parallel_for(
        static_cast<int64_t>(built_in.size()), 1,
        [](void* f, int64_t begin, int64_t end) { (*static_cast<decltype(part)*>(f))(begin, end); }, &part,
        d_.options.threads);
    for (const std::exception_ptr& e : errors)
      if (e) std::rethrow_exception(e);
    for (NodeId id : others)
      if (!prepare(id)) all = false;
    return all;
  }

  // Transposes that have nothing to do.
  void make_views() {
    for (NodeId id : views_) {
      Work& w = d_.works[id];
      w.kind = Work::view, w.prepared = {};
      w.choice.device = w.choice.kernel = {}, w.choice.note = "view of its input";
    }
  }

  void insert_reorders() {
    std::vector<NodeId> order;
    for (NodeId id : d_.order) {
      for (size_t i = 0; i < g_[id].inputs.size(); ++i) {
        ValueId v = g_[id].inputs[i];
        if (!v.present()) continue;
        const std::vector<Layout>& inputs = d_.works[id].inputs;  // empty: all are plain
        Layout needed = i < inputs.size() ? inputs[i] : Layout::plain;
        if (needed == d_.value(v).layout || has_same_order(v)) continue;
        auto [it, fresh] = reordered_.try_emplace({v, needed});
        if (fresh) it->second = reorder(v, needed), order.push_back(it->second.node);
        g_[id].inputs[i] = it->second;
      }
      order.push_back(id);
    }
    d_.order = std::move(order);
  }

 private:
  bool prepare(NodeId id) {
    bool done = false;
    with_context([&] { done = prepare_chosen(d_, id); }, [&] { return text("compiling ", describe(g_[id])); });
    return done;
  }

  static constexpr size_t least_rank = 3, most_rank = 5;

  bool has_same_order(ValueId v) const { return same_order(d_.info(v).shape.values()); }
  // A value that only exists in the plain layout, or for which there is no difference.
  bool is_plain(ValueId v) const { return !may_be_last(v) || has_same_order(v); }
  bool may_be_last(ValueId v) const {
    const Info& i = d_.info(v);
    return d_.values[v.node][v.port].planned && i.shape.is_static() && i.shape.rank() >= least_rank &&
           i.shape.rank() <= most_rank && bits_of(i.type) >= 8 && i.type != DType::string;
  }

  void set_view(NodeId id, Layout from, Layout to) {
    d_.works[id].inputs = {from};
    d_.value({id, 0}).layout = to;
  }
  // A view of a value with the channels last can have them last as well if it only changes the plane.
  void follow(NodeId id) {
    ValueId x = g_[id].inputs[0], y{id, 0};
    std::vector<int64_t> from = d_.info(x).shape.values(), to = d_.info(y).shape.values();
    bool last = d_.value(x).layout == Layout::channels_last && may_be_last(y) && !has_same_order(y) &&
                std::equal(from.begin(), from.begin() + 2, to.begin());
    Layout layout = last ? Layout::channels_last : Layout::plain;
    set_view(id, layout, layout);
  }
  // Whether the node is a transpose that leaves the memory as it is, given the layout of its input.
  bool as_view(NodeId id) {
    views_.erase(id);
    std::vector<size_t> order = transposed_axes(id);
    if (order.empty() || d_.value({id, 0}).is_result) return false;
    ValueId x = g_[id].inputs[0], y{id, 0};
    std::vector<int64_t> dims = d_.info(x).shape.values();
    std::vector<size_t> same(order.size());
    for (size_t i = 0; i < same.size(); ++i) same[i] = i;
    Layout from = d_.value(x).layout;
    for (Layout to : {Layout::plain, Layout::channels_last}) {
      if (to == Layout::channels_last && !may_be_last(y)) continue;
      if (in_memory(same, dims, from) != in_memory(order, dims, to)) continue;
      views_.insert(id);
      set_view(id, from, to);
      return true;
    }
    return false;
  }
  // The axes of a list in the order of the memory, without those of one element.
  static std::vector<size_t> in_memory(std::vector<size_t> axes, const std::vector<int64_t>& dims, Layout layout) {
    if (layout == Layout::channels_last) std::rotate(axes.begin() + 1, axes.begin() + 2, axes.end());
    std::erase_if(axes, [&](size_t a) { return dims[a] == 1; });
    return axes;
  }
  // Which axis of its input each axis of a transpose's output is; empty if it is no transpose, or not known.
  std::vector<size_t> transposed_axes(NodeId id) {
    const Node& n = g_[id];
    const Work& w = d_.works[id];
    if (!n.is("Transpose") || w.op->opset() != "opset1" || w.op->overrides) return {};
    const Info& x = d_.info(n.inputs[0]);
    const Shape* order = d_.inference.known_values(n.inputs[1]);
    if (!x.shape.is_static() || x.type == DType::string || !order || !order->is_static()) return {};
    std::vector<size_t> axes;
    auto rank = static_cast<int64_t>(x.shape.rank());
    for (int64_t a : order->values()) axes.push_back(static_cast<size_t>(a < 0 ? a + rank : a));
    for (int64_t a = rank; order->rank() == 0 && a-- > 0;) axes.push_back(static_cast<size_t>(a));
    return axes;
  }

  static Layout entry(const int32_t* list, size_t count, size_t i) {
    return count == 0 ? Layout::plain : static_cast<Layout>(list[std::min(i, count - 1)]);
  }
  // `any` stands for this layout.
  Ports ports(NodeId id, const graft_layouts& form, Layout any) const {
    Ports out;
    auto add = [&](std::vector<Layout>& to, Layout l) {
      out.in_memory_order |= l == Layout::any && any != Layout::plain;
      to.push_back(l == Layout::any ? any : l);
    };
    for (size_t i = 0; i < g_[id].inputs.size(); ++i) add(out.inputs, entry(form.inputs, form.input_count, i));
    for (size_t i = 0; i < g_[id].outputs.size(); ++i) add(out.outputs, entry(form.outputs, form.output_count, i));
    return out;
  }

  // Whether the tensors can have these layouts. Counts the bytes to be reordered.
  bool fits(NodeId id, Ports& p) const {
    const Node& n = g_[id];
    for (uint32_t i = 0; i < n.outputs.size(); ++i)
      if (p.outputs[i] == Layout::channels_last && !may_be_last({id, i})) return false;
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      ValueId v = n.inputs[i];
      if (!v.present()) continue;
      if (p.inputs[i] == Layout::channels_last && !may_be_last(v) && !(p.in_memory_order && broadcast(id, v)))
        return false;
      if (p.in_memory_order && p.inputs[i] == Layout::channels_last && has_other_order(id, v)) return false;
      if (p.inputs[i] == d_.values[v.node][v.port].layout || has_same_order(v)) continue;
      p.bytes += static_cast<double>(bytes_for(d_.info(v).type, d_.info(v).shape.elements().value()));
    }
    return true;
  }
  // An input of lower rank whose own channels are last: among the dimensions of the output, others are the channels.
  bool has_other_order(NodeId id, ValueId v) const {
    const Shape &s = d_.info(v).shape, &out = g_[id].outputs[0].info.shape;
    return s.ranked() && out.ranked() && s.rank() < out.rank() &&
           d_.values[v.node][v.port].layout == Layout::channels_last && !has_same_order(v);
  }
  // An input of lower rank that broadcasts, and has the same order however the dimensions are arranged.
  bool broadcast(NodeId id, ValueId v) const {
    const Shape &s = d_.info(v).shape, &out = g_[id].outputs[0].info.shape;
    if (!s.is_static() || s.rank() >= out.rank()) return false;
    std::vector<int64_t> dims(out.rank() - s.rank(), 1), own = s.values();
    dims.insert(dims.end(), own.begin(), own.end());
    return same_order(dims);
  }

  // Arithmetic on elements does not depend on the order of the dimensions, unless an attribute names one.
  bool is_elementwise(NodeId id) const {
    const Node& n = g_[id];
    if (!d_.works[id].op->has(GRAFT_OP_ELEMENTWISE) || n.outputs.size() != 1) return false;
    const Attribute* mode = n.attrs.find("auto_broadcast");
    if (mode && mode->kind() == GRAFT_TEXT && mode->as<std::string>() == "pdpd") return false;
    const Shape& out = n.outputs[0].info.shape;
    for (ValueId v : n.inputs)
      if (!v.present() || !d_.info(v).shape.is_static() || d_.info(v).shape.rank() > out.rank() ||
          (d_.info(v).shape.rank() < out.rank() && !broadcast(id, v)))
        return false;
    return true;
  }

  Ports best_ports(NodeId id) {
    for (;;) {
      if (std::optional<Ports> best = fitting_ports(id)) return *best;
      d_.works[id].kernels.decline({ErrorKind::unsupported, "the tensors cannot have its layouts"});
      with_context([&] { choose_kernel(d_, id); }, [&] { return text("compiling ", describe(g_[id])); });
    }
  }
  std::optional<Ports> fitting_ports(NodeId id) const {
    const graft_kernel& k = *d_.works[id].kernels.kernel().record;
    static constexpr int32_t any = GRAFT_ANY_LAYOUT;
    graft_layouts fallback{nullptr, 0, nullptr, 0};
    if (is_elementwise(id)) fallback = {&any, 1, &any, 1};
    std::span<const graft_layouts> forms(k.layouts, k.layout_count);
    if (forms.empty()) forms = std::span(&fallback, 1);
    std::optional<Ports> best;
    for (const graft_layouts& form : forms)
      for (Layout l : {Layout::plain, Layout::channels_last}) {
        Ports p = ports(id, form, l);
        if (fits(id, p) && (!best || p.bytes < best->bytes)) best = std::move(p);
      }
    return best;
  }

  ValueId reorder(ValueId v, Layout to) {
    Node n;
    n.type = "Reorder", n.opset = "graft";
    n.name = g_.unique_name(g_[v.node].name + (to == Layout::plain ? "/plain" : "/channels_last"));
    n.attrs["channels_last"] = to == Layout::channels_last;
    n.inputs = {v};
    n.outputs.emplace_back().info = d_.info(v);
    Info info = d_.info(v);
    NodeId id = g_.add(std::move(n));
    d_.works.resize(g_.end_id());
    d_.values.resize(g_.end_id());
    d_.values[id].resize(1);
    d_.value({id, 0}).planned = true;
    d_.value({id, 0}).layout = to;
    Work& w = d_.works[id];
    w.kind = Work::kernel;
    w.op = &definition(d_.kernels.registry, g_[id]);
    w.choice = {.node = g_[id].name, .type = "Reorder", .opset = "graft", .inputs = {info}, .outputs = {info}};
    w.inputs = {d_.value(v).layout}, w.outputs = {to};
    w.kernels = kernel_candidates(d_.kernels.registry, *w.op, d_.kernels.devices);
    while (!prepare_chosen(d_, id)) {
    }
    return {id, 0};
  }

  Draft& d_;
  Graph& g_;
  std::set<NodeId> views_;  // transposes with nothing to do
  std::map<std::pair<ValueId, Layout>, ValueId> reordered_;
};

}  // namespace

void choose_layouts(Draft& draft) {
  Layouts layouts(draft);
  do layouts.choose();
  while (!layouts.prepare());
  layouts.make_views();
  layouts.insert_reorders();
  for (Work& w : draft.works) {
    auto last = [](Layout l) { return l == Layout::channels_last; };
    if (std::any_of(w.outputs.begin(), w.outputs.end(), last)) w.choice.layout = "channels last";
  }
}

}  // namespace graft
