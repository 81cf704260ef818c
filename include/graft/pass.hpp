// Passes: rewrites of a graph, as extensions and built-ins write them.
//
//   // x * sigmoid(x)  =>  Swish(x)
//   Value to_swish(Rewrite& at) {
//     for (size_t i : {0, 1})
//       if (NodeRef s = maker(at.input(i)); s.is("Sigmoid") && s.input(0) == at.input(1 - i))
//         return at.op("Swish", {s.input(0)});
//     return {};
//   }
//   Pass("fuse_swish").doc("...").visit({"Multiply"}, to_swish)
//
// The function sees one node at a time and returns what takes the place of its output, or nothing. It may look at who
// makes a value and who reads it, and builds nodes as an import rule does. What is no longer read goes away by itself,
// and what was made is visited again. A function that says `unsupported` (an unknown rank, say) leaves things as they
// are.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>

#include "import.hpp"

namespace [[gnu::visibility("hidden")]] graft {

inline bool operator==(const Value& a, const Value& b) { return a.ref() == b.ref(); }

// A node of the graph; empty where there is none that a pass may use.
class NodeRef {
 public:
  NodeRef() = default;
  NodeRef(Import* in, const graft_node* node) : in_(in), node_(node) {}
  explicit operator bool() const { return node_ != nullptr; }
  bool is(std::string_view type) const { return node_ && view(host->node_type(node_)) == type; }
  std::string_view type() const { return view(host->node_type(node_)); }
  std::string_view opset() const { return view(host->node_opset(node_)); }
  std::string_view name() const { return view(host->node_name(node_)); }
  size_t inputs() const { return host->input_count(node_); }
  size_t outputs() const { return host->output_count(node_); }
  Value input(size_t i) const { return {in_, host->node_input(in_->raw(), node_, i)}; }  // empty: absent
  Value output(size_t i = 0) const { return {in_, host->node_output(in_->raw(), node_, i)}; }
  template <class T>
  T get(std::string_view name) const {
    const graft_value* v = host->attribute(node_, str(name));
    if (!v) fail("node '", this->name(), "' (", type(), ") has no attribute '", name, "'");
    return field_as<T>(name, *v);
  }
  template <class T>
  T get(std::string_view name, T fallback) const {
    const graft_value* v = host->attribute(node_, str(name));
    return v ? field_as<T>(name, *v) : fallback;
  }
  // All of them, to make a node like this one; valid until the visit ends.
  std::vector<NamedAttr> attributes() const {
    const graft_named_value* list = nullptr;
    size_t n = host->node_attributes(node_, &list);
    std::vector<NamedAttr> out;
    for (size_t i = 0; i < n; ++i) out.push_back({view(list[i].name), AttrValue(list[i].value)});
    return out;
  }
  // Whether an attribute (a truth value, a number, a text or an element type) has this value.
  bool has(const NamedAttr& wanted) const {
    const graft_value* v = host->attribute(node_, str(wanted.name));
    graft_value w = wanted.value.raw();
    if (!v || v->kind != w.kind) return false;
    if (v->kind == GRAFT_TEXT) return view(v->s) == view(w.s);
    if (v->kind == GRAFT_FLOAT) return v->f == w.f;
    return (v->kind == GRAFT_BOOL || v->kind == GRAFT_INT || v->kind == GRAFT_DTYPE) && v->i == w.i;
  }
  // "Convolution@opset1", for Rewrite::op.
  std::string versioned() const { return std::string(type()) + "@" + std::string(opset()); }
  const graft_node* raw() const { return node_; }

 private:
  Import* in_ = nullptr;
  const graft_node* node_ = nullptr;
};

struct Reader {
  NodeRef node;
  size_t input;
};

// Who makes a value; empty for one that the user wants kept as it is.
inline NodeRef maker(const Value& v) {
  size_t output = 0;
  return v ? NodeRef(&v.in(), host->ref_maker(v.in().raw(), v.ref(), &output)) : NodeRef();
}
inline std::vector<Reader> readers(const Value& v) {
  const graft_reader* list = nullptr;
  size_t n = host->ref_readers(v.in().raw(), v.ref(), &list);
  std::vector<Reader> out;
  for (size_t i = 0; i < n; ++i) out.push_back({NodeRef(&v.in(), list[i].node), list[i].input});
  return out;
}
inline bool read_once(const Value& v) { return host->ref_readers(v.in().raw(), v.ref(), nullptr) == 1; }
// The one number that all elements of a constant are.
inline std::optional<double> number(const Value& v) {
  TensorView t = v ? v.constant() : TensorView();
  if (!t || t.size() == 0 || t.size() > 65536 || t.type() == DType::string) return std::nullopt;
  std::vector<double> all = t.to<double>();
  for (double x : all)
    if (x != all[0]) return std::nullopt;
  return all[0];
}
// A constant of one element: what a formula calls a number.
inline bool is_number(const Value& v, double wanted, double tolerance = 1e-6) {
  Shape s = v ? v.shape() : Shape();
  if (!v || !s.is_static() || s.elements().value() != 1) return false;
  auto n = number(v);
  return n && *n >= wanted - tolerance && *n <= wanted + tolerance;
}

// The node that is visited, as an Import: its attributes are fields, its inputs are inputs, new nodes are made the same
// way. For a pass over the whole graph there is no such node.
class Rewrite : public Import {
 public:
  using Import::Import;
  NodeRef node() { return {this, host->visited(raw())}; }
  // The value that is to be replaced.
  Value self(size_t output = 0) { return node().output(output); }
  std::vector<NodeRef> nodes() {  // all of the graph, producers first
    const graft_node* const* list = nullptr;
    size_t n = host->graph_nodes(raw(), &list);
    std::vector<NodeRef> out;
    for (size_t i = 0; i < n; ++i) out.emplace_back(this, list[i]);
    return out;
  }
  // A node like another one, with other inputs and some attributes changed.
  Value like(const NodeRef& n, const std::vector<Value>& inputs, const std::vector<NamedAttr>& changed = {}) {
    std::vector<NamedAttr> attrs = n.attributes();
    for (const NamedAttr& c : changed) {
      bool found = false;
      for (NamedAttr& a : attrs)
        if (a.name == c.name) a.value = c.value, found = true;
      if (!found) attrs.push_back(c);
    }
    return make(n.versioned(), inputs, attrs, 1, {})[0];
  }
  // Puts another version of the visited operation in its place, output by output: `op` is "TopK@3", `without` names
  // attributes which that version lacks, `changed` sets others. It may have fewer outputs, as long as the last ones of
  // the visited node are unused.
  void restate(std::string_view op, const std::vector<Value>& inputs, const std::vector<std::string_view>& without = {},
               const std::vector<NamedAttr>& changed = {}, size_t outputs = SIZE_MAX) {
    std::vector<NamedAttr> attrs = changed;
    for (const NamedAttr& a : node().attributes()) {
      auto is = [&](std::string_view name) { return name == a.name; };
      bool set = std::any_of(changed.begin(), changed.end(), [&](const NamedAttr& c) { return is(c.name); });
      if (!set && std::none_of(without.begin(), without.end(), is)) attrs.push_back(a);
    }
    outputs = std::min(outputs, node().outputs());
    for (size_t i = outputs; i < node().outputs(); ++i)
      if (wants(i)) return;
    std::vector<Value> made = make(op, inputs, attrs, outputs, {});
    for (size_t i = 0; i < made.size(); ++i) output(i, made[i]);
  }
  // The inputs of the visited node; absent ones are empty.
  std::vector<Value> all_inputs() {
    std::vector<Value> out;
    for (size_t i = 0; i < inputs(); ++i) out.push_back(node().input(i));
    return out;
  }
  // Every reader of `from` reads `to` from now on.
  void replace(const Value& from, const Value& to) { check(host->replace_ref(raw(), from.ref(), to.ref())); }
  // A custom attribute of the replacement file's entry that called this pass.
  template <class T>
  T configured(std::string_view path, T fallback) {
    const graft_value* v = host->configured(raw(), str(path));
    return v ? field_as<T>(path, *v) : fallback;
  }
};

// `write` runs only when an IR is written, after all others; its passes of the same name are one.
enum class Phase { front = GRAFT_FRONT, middle = GRAFT_MIDDLE, back = GRAFT_BACK, write = GRAFT_WRITE };

// The pass that expresses operations in the earliest opset that has them, see OpOf::earlier.
inline constexpr std::string_view lower_opsets = "lower_opsets";

class Pass {
 public:
  explicit Pass(std::string_view name) {
    r_.size = sizeof r_;
    r_.name = str(name);
    r_.phase = GRAFT_MIDDLE;
  }
  Pass& doc(std::string_view d) { return r_.doc = str(d), *this; }
  Pass& phase(Phase p) { return r_.phase = static_cast<int32_t>(p), *this; }
  // Passes of the same phase that this one runs before or after; a name that nobody has is fine.
  Pass& before(std::string_view name) { return before_.push_back(str(name)), *this; }
  Pass& after(std::string_view name) { return after_.push_back(str(name)), *this; }
  // Runs only when it is asked for.
  Pass& on_request() { return r_.flags |= GRAFT_PASS_ON_REQUEST, *this; }
  // What it makes of constants alone is not computed at once: for weights that are kept small.
  Pass& keep_constants() { return r_.flags |= GRAFT_PASS_KEEPS_CONSTANTS, *this; }
  // Runs for entries of kind "general" in a replacement file whose id is the pass's name.
  Pass& when_configured() { return r_.flags |= GRAFT_PASS_CONFIGURED, *this; }

  // Visits every node of these types; what is returned takes the place of output 0.
  Pass& visit(std::initializer_list<std::string_view> types, Value (*f)(Rewrite&)) {
    set_types(types);
    return set_function(f, [](graft_import* im, void* user) {
      return guarded([&] {
        Rewrite at(im);
        if (Value v = reinterpret_cast<Value (*)(Rewrite&)>(user)(at)) at.output(0, v);
      });
    });
  }
  // The same for nodes of several outputs: the function says at.output(i, value).
  Pass& visit(std::initializer_list<std::string_view> types, void (*f)(Rewrite&)) {
    set_types(types);
    return whole(f);
  }
  // The same with a function that holds something.
  Pass& visit_with(std::string_view type, std::function<void(Rewrite&)> f) {
    set_types({type});
    held_ = std::make_shared<std::function<void(Rewrite&)>>(std::move(f));
    r_.user = held_.get();
    r_.visit = [](graft_import* im, void* user) {
      return guarded([&] {
        Rewrite at(im);
        (*static_cast<std::function<void(Rewrite&)>*>(user))(at);
      });
    };
    return *this;
  }
  // Is called once per graph.
  Pass& whole(void (*f)(Rewrite&)) {
    return set_function(f, [](graft_import* im, void* user) {
      return guarded([&] {
        Rewrite at(im);
        reinterpret_cast<void (*)(Rewrite&)>(user)(at);
      });
    });
  }

  // The record; valid while this object stays where it is.
  const graft_pass* seal() {
    r_.types = types_.data(), r_.type_count = types_.size();
    r_.before = before_.data(), r_.before_count = before_.size();
    r_.after = after_.data(), r_.after_count = after_.size();
    return &r_;
  }

 private:
  void set_types(std::initializer_list<std::string_view> types) {
    for (std::string_view t : types) types_.push_back(str(t));
  }
  template <class F>
  Pass& set_function(F f, graft_status (*call)(graft_import*, void*)) {
    r_.user = reinterpret_cast<void*>(f);
    r_.visit = call;
    return *this;
  }
  graft_pass r_{};
  std::shared_ptr<std::function<void(Rewrite&)>> held_;
  std::vector<graft_str> types_, before_, after_;
};

}  // namespace graft
