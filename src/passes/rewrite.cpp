// Runs a pass written with graft/pass.hpp: visits nodes, applies the changes that its function asks for, and visits the
// new nodes, until nothing changes.
#include <cstring>
#include <deque>
#include <unordered_map>
#include <unordered_set>

#include "base/error.hpp"
#include "base/given.hpp"
#include "base/tensor.hpp"
#include "base/text.hpp"
#include "graph/port_nodes.hpp"
#include "kernels/rows.hpp"
#include "passes/passes.hpp"
#include "schema/host.hpp"
#include "schema/new_node.hpp"
#include "schema/resolve.hpp"

namespace graft {
namespace {

// A node as a pass sees it.
class SeenNode final : public graft_node {
 public:
  SeenNode(Editor& editor, NodeId id) : editor_(editor), id_(id) {}
  NodeId id() const { return id_; }

  graft_str name() const override { return str(node().name); }
  graft_str type() const override { return str(node().type); }
  graft_str opset() const override { return str(node().opset); }
  const graft_value* attribute(std::string_view name) const override {
    for (const graft_named_value& a : attributes())
      if (view(a.name) == name) return &a.value;
    return nullptr;
  }
  std::span<const graft_named_value> attributes() const override {
    if (list_.empty())
      for (const auto& [name, a] : node().attrs) {
        auto& [texts, types] = store_.emplace_back();
        list_.push_back({str(name), a.raw(texts, types)});
      }
    return list_;
  }
  size_t input_count() const override { return node().inputs.size(); }
  size_t output_count() const override { return node().outputs.size(); }
  bool input(size_t i, graft_info& info) const override {
    if (i >= node().inputs.size() || !node().inputs[i].present()) return false;
    info = editor_.graph().info(node().inputs[i]).raw();
    return true;
  }
  bool output(size_t i, graft_info& info) const override {
    if (i >= node().outputs.size()) return false;
    info = node().outputs[i].info.raw();
    return true;
  }
  const graft_tensor* constant(size_t i) const override {
    const Tensor* t = i < node().inputs.size() ? editor_.inference().constant(node().inputs[i]) : nullptr;
    return t ? t->raw() : nullptr;
  }
  bool known_values(size_t i, graft_shape& values) const override {
    const Shape* s = i < node().inputs.size() ? editor_.inference().known_values(node().inputs[i]) : nullptr;
    if (s) values = s->raw();
    return s != nullptr;
  }
  void set_output(size_t, const graft_info&) override { throw_user("a pass cannot set output types or shapes"); }
  void set_known_values(size_t, const graft_shape&) override { set_output(0, {}); }
  size_t body_count() const override { return node().bodies.size(); }
  const graft_body* body(size_t) const override { return nullptr; }
  const graft_info* infer_body(size_t, const graft_info*) override { throw_user("a pass cannot infer bodies"); }
  void request_scratch(size_t) override { throw_user("only a kernel can request scratch memory"); }
  uint32_t traits() const override { return editor_.traits(id_); }

 private:
  const Node& node() const { return editor_.graph()[id_]; }
  Editor& editor_;
  NodeId id_;
  mutable std::vector<graft_named_value> list_;
  mutable std::deque<std::pair<std::vector<graft_str>, std::vector<graft_type>>> store_;
};

// Nodes seen by the visits of one pass, and the consumers of the value queried last: a value with thousands of
// consumers is queried by each of them.
class Sight {
 public:
  Sight(Editor& editor, const PassDef& pass, const PassOptions& options)
      : editor_(editor),
        built_in_(pass.source->built_in()),
        restates_(pass.record->phase == GRAFT_WRITE),
        is_kept_(options.is_kept) {}
  // A node that the pass may not change or match: one that the user asked to keep, unless the pass only changes how it
  // is written, and, for built-in passes, one that has the name of a built-in operation but is an extension's.
  bool kept(NodeId id) const {
    return (built_in_ && editor_.is_impostor(id)) || (!restates_ && is_kept_ && is_kept_(editor_.graph()[id].name));
  }
  // Whether the pass may make this node: where an extension took the place of an earlier version, that is not the same
  // operation.
  bool may_make(NodeId id) const { return !(built_in_ && restates_ && editor_.is_foreign(id)); }
  const SeenNode* node(NodeId id) { return &nodes_.try_emplace(id, editor_, id).first->second; }
  std::span<const graft_consumer> readers(ValueId v) {
    if (v == of_) return readers_;
    readers_.clear();
    for (const Use& u : editor_.users().of(v)) readers_.push_back({kept(u.node) ? nullptr : node(u.node), u.input});
    of_ = v;
    return readers_;
  }
  void graph_changed() { of_ = {}; }

 private:
  Editor& editor_;
  bool built_in_, restates_;
  const std::function<bool(const std::string&)>& is_kept_;
  std::unordered_map<NodeId, SeenNode> nodes_;
  std::vector<graft_consumer> readers_;
  ValueId of_;
};

// One visit.
class Visit final : public graft_builder {
 public:
  Visit(Editor& editor, Sight& sight, const PassCall* call, NodeId id)
      : editor_(editor), sight_(sight), call_(call), id_(id) {
    if (id != no_node) outputs_.resize(node().outputs.size());
  }

  // Puts the new nodes in place; false: nothing changed.
  bool finish(bool fold);
  const std::vector<NodeId>& made() const { return made_; }

  graft_str layer_name() const override { return id_ == no_node ? graft_str{} : str(node().name); }
  graft_str layer_type() const override { return id_ == no_node ? graft_str{} : str(node().type); }
  int64_t layer_version() const override { return id_ == no_node ? 0 : opset_number(node().opset); }
  const graft_value* field(std::string_view path) override {
    return id_ == no_node ? nullptr : seen(id_)->attribute(path);
  }
  size_t input_count() const override { return id_ == no_node ? 0 : node().inputs.size(); }
  size_t output_count() const override { return outputs_.size(); }
  bool output_used(size_t i) const override {
    return i < outputs_.size() && editor_.users().read({id_, static_cast<uint32_t>(i)});
  }
  graft_ref input(size_t i) const override { return i < input_count() ? ref_of(node().inputs[i]) : 0; }
  graft_info ref_info(graft_ref ref) override { return editor_.graph().info(checked(ref)).raw(); }
  const graft_tensor* ref_constant(graft_ref ref) override {
    const Tensor* t = editor_.inference().constant(checked(ref));
    return t ? t->raw() : nullptr;
  }
  bool ref_known_values(graft_ref ref, graft_shape& values) override {
    const Shape* s = editor_.inference().known_values(checked(ref));
    if (s) values = s->raw();
    return s != nullptr;
  }
  graft_ref add_constant(const graft_tensor& t) override { return ref_of({added(constant_node(copy_of(t))), 0}); }
  void add_node(const graft_new_node& spec, std::span<graft_ref> outputs) override {
    if (spec.body_count) throw_unsupported("a pass cannot create nodes with bodies");
    NodeId id =
        added(given_node(new_node(editor_.registry(), editor_.graph(), spec, outputs.size()), given_infos(spec)));
    if (std::string name = given_name(spec); !name.empty()) rename(id, name);
    if (!sight_.may_make(id)) throw_unsupported("an extension defines ", spec.op, " of ", spec.opset);
    size_t n = editor_.graph()[id].outputs.size();
    if (outputs.size() > n) throw_user("expected at most ", n, " outputs of ", spec.op, ", got ", outputs.size());
    for (uint32_t i = 0; i < outputs.size(); ++i) outputs[i] = ref_of({id, i});
  }
  void set_output(size_t i, graft_ref ref) override {
    if (i >= outputs_.size()) throw_user("the node has no output ", i);
    outputs_[i] = checked(ref);
  }
  const graft_imported_body* import_body(std::string_view, std::span<const graft_info>, Callback, Callback,
                                         void*) override {
    throw_user("only an import rule can import a sub-graph");
  }
  graft_ref add_list(std::span<const graft_ref>) override { throw_user("only an import rule can create lists"); }
  const std::vector<graft_ref>* ref_list(graft_ref) override { return nullptr; }
  size_t weight_count() const override { return 0; }
  std::span<const graft_ref> ref_outputs(graft_ref ref) override {
    return outputs_of_ = output_refs(editor_.graph(), checked(ref));
  }

  const graft_node* visited() override { return id_ == no_node ? nullptr : seen(id_); }
  const graft_node* ref_producer(graft_ref ref, size_t& output) override {
    ValueId v = checked(ref);
    output = v.port;
    return sight_.kept(v.node) ? nullptr : seen(v.node);
  }
  std::span<const graft_consumer> ref_consumers(graft_ref ref) override { return sight_.readers(checked(ref)); }
  size_t consumer_count(graft_ref ref) override { return editor_.users().of(checked(ref)).size(); }
  graft_ref node_input(const graft_node* n, size_t i) override {
    const Node& x = editor_.graph()[static_cast<const SeenNode*>(n)->id()];
    return i < x.inputs.size() ? ref_of(x.inputs[i]) : 0;
  }
  graft_ref node_output(const graft_node* n, size_t i) override {
    NodeId id = static_cast<const SeenNode*>(n)->id();
    return i < editor_.graph()[id].outputs.size() ? ref_of({id, static_cast<uint32_t>(i)}) : 0;
  }
  std::span<const graft_node* const> graph_nodes() override {
    all_.clear();
    for (NodeId id : editor_.graph().topological_order())
      if (!sight_.kept(id)) all_.push_back(seen(id));
    return all_;
  }
  void replace(graft_ref from, graft_ref to) override {
    ValueId a = checked(from), b = checked(to);
    if (a == b) return;
    check_same(a, b);
    put(a, b);
  }
  void set_node_input(const graft_node* n, size_t i, graft_ref ref) override {
    NodeId id = static_cast<const SeenNode*>(n)->id();
    const Node& x = editor_.graph()[id];
    if (!x.alive || i >= x.inputs.size()) throw_user("the node has no input ", i);
    if (sight_.kept(id)) throw_user("the node '", x.name, "' is kept as it is");
    ValueId to = checked(ref);
    if (depends_on(to.node, id)) throw_user("input ", i, " of '", x.name, "' would depend on its own outputs");
    editor_.set_input(id, static_cast<uint32_t>(i), to);
    sight_.graph_changed();
    changed_ = reinfer_ = true;
  }
  bool has_rows(const graft_node* n) override {
    NodeId id = static_cast<const SeenNode*>(n)->id();
    const Node& x = editor_.graph()[id];
    bool elementwise = editor_.has(id, Trait::elementwise) || editor_.has(id, Trait::per_channel);
    if (!elementwise || x.outputs.size() != 1 || x.inputs.empty()) return false;
    std::optional<std::vector<float>> numbers = numbers_beside(x);
    if (!numbers || x.outputs[0].info.type != DType::f32) return false;
    try {
      Node plain;
      plain.type = x.type, plain.opset = x.opset, plain.attrs = x.attrs;
      return static_cast<bool>(prepare_rows(editor_.registry(), std::move(plain), *numbers));
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::unsupported) throw;
      return false;
    }
  }
  void set_node_name(const graft_node* n, std::string_view name) override {
    if (name.empty()) throw_user("expected a name of the node, got an empty one");
    rename(static_cast<const SeenNode*>(n)->id(), std::string(name));
    changed_ = true;
  }
  const graft_value* configured(std::string_view path) override {
    const Attribute* a = call_ ? call_->attributes.find(path) : nullptr;
    if (!a) return nullptr;
    auto& [value, texts, types] = configured_.emplace_back();
    value = a->raw(texts, types);
    return &value;
  }

 private:
  const Node& node() const { return editor_.graph()[id_]; }
  ValueId checked(graft_ref ref) const { return checked_value(editor_.graph(), ref); }
  const SeenNode* seen(NodeId id) { return sight_.node(id); }
  // The inputs of an f32 operation but the first, if all of them are single numbers.
  std::optional<std::vector<float>> numbers_beside(const Node& n) {
    std::vector<float> out;
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      if (!n.inputs[i].present() || editor_.graph().info(n.inputs[i]).type != DType::f32) return std::nullopt;
      if (i == 0) continue;
      const Tensor* t = editor_.inference().constant(n.inputs[i]);
      if (!t || t->size() != 1) return std::nullopt;
      std::memcpy(&out.emplace_back(), t->data(), sizeof(float));  // of any alignment
    }
    return out;
  }
  void rename(NodeId id, const std::string& name) {
    Graph& g = editor_.graph();
    if (g[id].name != name) g[id].name = g.unique_name(name);
  }
  // A node of an operation that may be unknown: of its definition, or an opaque one with these outputs.
  Node given_node(Node n, const std::vector<Info>& infos) const {
    if (infos.empty()) return n;
    if (const OpDef* op = known_definition(editor_.registry(), n)) {
      n.type = op->name(), n.opset = op->opset();
      parse_texts(n.attrs, *op);
      return n;
    }
    n.opaque = true;
    for (const Info& i : infos) {
      if (i.type == DType::undefined)
        throw_user(n.type, ": the element type of output ", n.outputs.size(), " is unknown");
      n.outputs.push_back({i, {}, {}});
    }
    return n;
  }
  bool depends_on(NodeId from, NodeId on) const {
    const Graph& g = editor_.graph();
    std::vector<NodeId> todo{from};
    std::unordered_set<NodeId> seen;
    while (!todo.empty()) {
      NodeId at = todo.back();
      todo.pop_back();
      if (at == on) return true;
      if (!seen.insert(at).second) continue;
      for (ValueId v : g[at].inputs)
        if (v.present()) todo.push_back(v.node);
    }
    return false;
  }
  NodeId added(Node n) {
    if (id_ != no_node) n.origin = node().origin;
    NodeId id = editor_.add(std::move(n));
    made_.push_back(id);
    sight_.graph_changed();
    return id;
  }
  void check_same(ValueId from, ValueId to) const {
    const Info &a = editor_.graph().info(from), &b = editor_.graph().info(to);
    bool same = a.type == b.type || a.type == DType::undefined || b.type == DType::undefined;
    if (same && a.shape.ranked() && b.shape.ranked()) {
      same = a.shape.rank() == b.shape.rank();
      for (size_t i = 0; same && i < a.shape.rank(); ++i)
        same = a.shape[i].min() <= b.shape[i].max() && b.shape[i].min() <= a.shape[i].max();
    }
    if (!same)
      throw_user("expected a replacement of type ", a, " for '", editor_.graph()[from.node].name, "', got ", b);
  }
  // Redirects consumers, and moves the name to a new node that has none yet.
  void put(ValueId from, ValueId to) {
    Graph& g = editor_.graph();
    auto is_made = [&](NodeId id) { return std::find(made_.begin(), made_.end(), id) != made_.end(); };
    // New nodes that read the value keep reading it: this is how a pass inserts something after a node.
    std::vector<Use> behind;
    for (const Use& u : editor_.users().of(from))
      if (is_made(u.node)) behind.push_back(u);
    editor_.replace(from, to);
    for (const Use& u : behind) editor_.set_input(u.node, u.input, from);
    sight_.graph_changed();
    changed_ = true;
    bool fresh = behind.empty() && is_made(to.node) && g[to.node].name.empty();
    if (fresh && g[from.node].outputs.size() == 1) editor_.take_name(from.node, to.node);
  }
  void take_name_of_all();
  void name_made(const std::string& stem);
  void fold_made();

  Editor& editor_;
  Sight& sight_;
  const PassCall* call_;
  NodeId id_;
  std::vector<ValueId> outputs_;
  std::vector<NodeId> made_;
  std::vector<const graft_node*> all_;
  std::vector<graft_ref> outputs_of_;  // of the node queried last
  struct Configured {
    graft_value value;
    std::vector<graft_str> texts;
    std::vector<graft_type> types;
  };
  std::deque<Configured> configured_;
  bool changed_ = false;
  bool reinfer_ = false;  // a node has another input, maybe of another shape
};

// New nodes that depend only on constants are folded at once, so that later patterns see a plain constant.
void Visit::fold_made() {
  Graph& g = editor_.graph();
  for (size_t k = 0; k < made_.size(); ++k) {
    NodeId id = made_[k];
    if (!g[id].alive || g[id].is("Constant") || g[id].outputs.size() != 1 || !editor_.users().read({id, 0})) continue;
    const Tensor* t = editor_.inference().constant({id, 0});
    if (!t) continue;
    Tensor value = *t;
    bool last = false;  // last of a chain of constants; the others are removed with it
    for (const Use& u : editor_.users().of({id, 0}))
      last |= g[u.node].is("Result") || g[u.node].outputs.empty() || !editor_.inference().constant({u.node, 0});
    if (!last) continue;
    std::string name = g[id].name;
    NodeId c = added(constant_node(std::move(value)));
    g[c].name = g.unique_name(name);
    editor_.replace({id, 0}, {c, 0});
    if (!name.empty()) editor_.take_name(id, c);
  }
}

// A node of several outputs that was replaced altogether: what has its first one takes its name.
void Visit::take_name_of_all() {
  Graph& g = editor_.graph();
  if (outputs_.size() < 2 || !outputs_[0].present() || !g[outputs_[0].node].name.empty()) return;
  for (uint32_t i = 0; i < outputs_.size(); ++i)
    if (editor_.users().read({id_, i})) return;
  editor_.take_name(id_, outputs_[0].node);
}

void Visit::name_made(const std::string& stem) {
  Graph& g = editor_.graph();
  for (NodeId id : made_)
    if (g[id].alive && g[id].name.empty())
      g[id].name = g.unique_name(stem.empty() ? g[id].type : text(stem, '/', g[id].type));
}

bool Visit::finish(bool fold) {
  for (uint32_t i = 0; i < outputs_.size(); ++i)
    if (outputs_[i].present() && outputs_[i] != ValueId{id_, i}) check_same({id_, i}, outputs_[i]);
  std::string stem = id_ == no_node ? std::string() : node().name;
  for (uint32_t i = 0; i < outputs_.size(); ++i)
    if (outputs_[i].present() && outputs_[i] != ValueId{id_, i}) put({id_, i}, outputs_[i]);
  take_name_of_all();
  name_made(stem);
  if (changed_ && fold) fold_made();
  for (NodeId id : made_) editor_.suspect(id);
  editor_.sweep();
  if (reinfer_)
    for (NodeId id : editor_.graph().topological_order()) {
      editor_.inference().forget(id);
      editor_.inference().infer(id);
    }
  if (changed_ || !made_.empty()) sight_.graph_changed();
  return changed_;
}

}  // namespace

void run_rewrite(Editor& editor, const PassDef& def, const PassOptions& options, const PassCall* call,
                 Changes& changes) {
  const graft_pass& pass = *def.record;
  Graph& g = editor.graph();
  Sight sight(editor, def, options);
  auto run = [&](NodeId id) {
    Visit visit(editor, sight, call, id);
    std::string name = id == no_node ? g.name : g[id].name;
    bool declined = false;
    try {
      check_callback(pass.visit(&visit, pass.user));
    } catch (Error& e) {
      if (e.kind() != ErrorKind::unsupported) throw;
      declined = true;
    }
    bool changed = visit.finish(!(pass.flags & GRAFT_PASS_KEEPS_CONSTANTS));
    if (declined && changed) throw_user("the pass '", pass.name, "' declined '", name, "' after changing it");
    if (changed) changes.at(name);
    return changed ? visit.made() : std::vector<NodeId>();
  };
  if (!pass.type_count && !pass.traits) {
    with_context([&] { run(no_node); }, [&] { return text("rewriting the graph"); });
    return;
  }
  auto visits = [&](NodeId id) {
    if (pass.traits && editor.traits(id) & pass.traits) return true;
    for (size_t i = 0; i < pass.type_count; ++i)
      if (g[id].is(view(pass.types[i]))) return true;
    return false;
  };
  std::vector<NodeId> start;
  for (size_t i = 0; i < pass.type_count; ++i) {
    const auto& list = editor.of_type(std::string(view(pass.types[i])));
    start.insert(start.end(), list.begin(), list.end());
  }
  for (NodeId id = 0; pass.traits && id < g.end_id(); ++id)
    if (g[id].alive && editor.traits(id) & pass.traits) start.push_back(id);
  std::sort(start.begin(), start.end());
  start.erase(std::unique(start.begin(), start.end()), start.end());
  std::deque<NodeId> todo(start.begin(), start.end());
  // Every visit may lead to others; a pass that undoes its own work would never terminate.
  size_t left = 64 * (todo.size() + 16);
  while (!todo.empty()) {
    NodeId id = todo.front();
    todo.pop_front();
    if (!g[id].alive || sight.kept(id)) continue;
    if (!left--) throw_user("the pass '", pass.name, "' does not terminate, it last changed '", g[id].name, "'");
    std::string what = text("at '", g[id].name, "' (", g[id].type, ")");
    std::vector<NodeId> made;
    with_context([&] { made = run(id); }, [&] { return what; });
    for (NodeId m : made) {
      if (!g[m].alive) continue;
      if (visits(m)) todo.push_back(m);
      for (uint32_t i = 0; i < g[m].outputs.size(); ++i)
        for (const Use& u : editor.users().of({m, i}))
          if (visits(u.node)) todo.push_back(u.node);
    }
  }
}

}  // namespace graft
