// Passes: graph rewrites, as extensions and built-ins define them.
//
//   // x * sigmoid(x)  =>  Swish(x)
//   Value to_swish(Rewrite& at) {
//     for (size_t i : {0, 1})
//       if (NodeRef s = producer(at.input(i)); s.is("Sigmoid") && s.input(0) == at.input(1 - i))
//         return at.op("Swish", {s.input(0)});
//     return {};
//   }
//   Pass("fuse_swish").doc("fuse x * sigmoid(x) into Swish").visit({"Multiply"}, to_swish)
//
// The function sees one node at a time and returns the replacement of its output, or an empty Value to leave it. It can
// inspect producers and consumers of values, and builds nodes like an import rule. Nodes that become unused are removed
// automatically, and new nodes are visited again. Layer names are kept.
//
// Everything is valid only during the visit, on its thread. A function that throws `unsupported` (for an unknown rank,
// say) leaves the node unchanged; any other error aborts the pass and is reported with the name of the node.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>

#include "builder.hpp"
#include "traits.hpp"

namespace [[gnu::visibility("hidden")]] graft {

// The same output of the same node.
inline bool operator==(const Value& a, const Value& b) { return a.ref() == b.ref(); }

// A node of the graph; empty (false in a condition) if there is none that a pass may use. `is` of an empty one is
// false, so that patterns need no extra checks:
//
//   NodeRef add = producer(at.input(0));
//   if (add.is("Add") && producer(add.input(0)).is("MatMul") && used_once(add.output())) ...
class NodeRef {
 public:
  NodeRef() = default;
  NodeRef(Builder* in, const graft_node* node) : in_(in), node_(node) {}
  explicit operator bool() const { return node_ != nullptr; }
  bool is(std::string_view type) const { return node_ && view(host->node_type(node_)) == type; }
  // Whether the definition of the operation promises it; false for an empty one. Passes that ask for traits instead of
  // names take operations of extensions, too.
  bool has(Trait trait) const {
    if (!node_ || host->size < offsetof(graft_host, node_traits) + sizeof(void*)) return false;
    return host->node_traits(node_) & static_cast<uint32_t>(trait);
  }
  // Type ("Convolution"), opset ("opset1") and layer name.
  std::string_view type() const { return view(host->node_type(node_)); }
  std::string_view opset() const { return view(host->node_opset(node_)); }
  std::string_view name() const { return view(host->node_name(node_)); }
  size_t inputs() const { return host->input_count(node_); }
  size_t outputs() const { return host->output_count(node_); }
  // Empty if the input is absent.
  Value input(size_t i) const { return {in_, host->node_input(in_->raw(), node_, i)}; }
  // Empty if there is no such output.
  Value output(size_t i = 0) const { return {in_, host->node_output(in_->raw(), node_, i)}; }
  // An attribute; fails if it does not exist, unless there is a fallback:
  //
  //   auto axis = node.get<int64_t>("axis");
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
  // Whether a kernel of another operation may compute this element-wise operation in rows (Prepare::element_rows): its
  // inputs but the first are single numbers that are known, and all is f32.
  bool has_rows() const {
    return node_ && host->size >= offsetof(graft_host, has_rows) + sizeof(void*) && host->has_rows(in_->raw(), node_);
  }
  // All attributes, to create a similar node. They refer to this node: valid until the visit ends.
  std::vector<NamedAttr> attributes() const {
    const graft_named_value* list = nullptr;
    size_t n = host->node_attributes(node_, &list);
    std::vector<NamedAttr> out;
    for (size_t i = 0; i < n; ++i) out.push_back({view(list[i].name), AttrValue(list[i].value)});
    return out;
  }
  // Whether an attribute (a boolean, a number, a string or an element type) has this value.
  bool has(const NamedAttr& wanted) const {
    const graft_value* v = host->attribute(node_, str(wanted.name));
    graft_value w = wanted.value.raw();
    if (!v || v->kind != w.kind) return false;
    if (v->kind == GRAFT_TEXT) return view(v->s) == view(w.s);
    if (v->kind == GRAFT_FLOAT) return v->f == w.f;
    return (v->kind == GRAFT_BOOL || v->kind == GRAFT_INT || v->kind == GRAFT_DTYPE) && v->i == w.i;
  }
  // "Convolution@opset1", as Rewrite::op expects it.
  std::string versioned() const { return std::string(type()) + "@" + std::string(opset()); }
  const graft_node* raw() const { return node_; }

 private:
  Builder* in_ = nullptr;
  const graft_node* node_ = nullptr;
};

// A consumer of a value: a node, and which of its inputs. (Elsewhere in Graft, a reader is a file-format reader.)
struct Consumer {
  NodeRef node;
  size_t input;
};

// The node that produces a value. Empty for values that a pass must not look through: what the user wants to keep as
// it is.
inline NodeRef producer(const Value& v) {
  size_t output = 0;
  return v ? NodeRef(&v.in(), host->ref_producer(v.in().raw(), v.ref(), &output)) : NodeRef();
}
// All consumers of a value. Model outputs count as consumers.
inline std::vector<Consumer> consumers(const Value& v) {
  const graft_consumer* list = nullptr;
  size_t n = host->ref_consumers(v.in().raw(), v.ref(), &list);
  std::vector<Consumer> out;
  for (size_t i = 0; i < n; ++i) out.push_back({NodeRef(&v.in(), list[i].node), list[i].input});
  return out;
}
// Whether a value has exactly one consumer, and so disappears when that one is replaced. A rewrite that would otherwise
// duplicate work must check it.
inline bool used_once(const Value& v) { return host->ref_consumers(v.in().raw(), v.ref(), nullptr) == 1; }
// The value of a constant whose elements are all equal; none otherwise, or if it is large.
inline std::optional<double> number(const Value& v) {
  TensorView t = v ? v.constant() : TensorView();
  if (!t || t.size() == 0 || t.size() > 65536 || t.type() == DType::string) return std::nullopt;
  std::vector<double> all = t.to<double>();
  for (double x : all)
    if (x != all[0]) return std::nullopt;
  return all[0];
}
// Whether it is a constant with a single element of this value, as numbers in a formula are.
inline bool is_number(const Value& v, double wanted, double tolerance = 1e-6) {
  Shape s = v ? v.shape() : Shape();
  if (!v || !s.is_static() || s.elements().value() != 1) return false;
  auto n = number(v);
  return n && *n >= wanted - tolerance && *n <= wanted + tolerance;
}

// The visited node as a Builder: its attributes are the fields, its inputs the inputs, and nodes are built the same
// way:
//
//   Value without_scale(Rewrite& at) {
//     if (!is_number(at.input(1), 1)) return {};     // x * 1  =>  x
//     return at.input(0);
//   }
//
// A pass over the whole graph has no visited node.
class Rewrite : public Builder {
 public:
  using Builder::Builder;
  // The visited node; empty for a pass over the whole graph. `is` and `get` on it are the quickest way to reject a
  // candidate: check the cheapest condition first.
  NodeRef node() { return {this, host->visited(raw())}; }
  // The output to be replaced.
  Value self(size_t output = 0) { return node().output(output); }
  // All nodes of the graph, producers first.
  std::vector<NodeRef> nodes() {
    const graft_node* const* list = nullptr;
    size_t n = host->graph_nodes(raw(), &list);
    std::vector<NodeRef> out;
    for (size_t i = 0; i < n; ++i) out.emplace_back(this, list[i]);
    return out;
  }
  // A copy of a node with other inputs and some attributes changed:
  //
  //   at.like(conv, {x, weights}, {{"strides", std::vector<int64_t>{1, 1}}})
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
  // Replaces the visited operation by another version of it, output by output: `op` is for example "TopK@3",
  // `without` names attributes which that version lacks, `changed` sets others. It may have fewer outputs, provided
  // that the remaining ones of the visited node are unused; otherwise the node is left unchanged.
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
      if (output_used(i)) return;
    std::vector<Value> made = make(op, inputs, attrs, outputs, {});
    for (size_t i = 0; i < made.size(); ++i) output(i, made[i]);
  }
  // The inputs of the visited node; absent ones are empty.
  std::vector<Value> all_inputs() {
    std::vector<Value> out;
    for (size_t i = 0; i < inputs(); ++i) out.push_back(node().input(i));
    return out;
  }
  // Makes all consumers of `from` consume `to` instead. Type and shape must be compatible; consumers are inferred
  // again.
  void replace(const Value& from, const Value& to) { check(host->replace_ref(raw(), from.ref(), to.ref())); }
  // A custom attribute of the entry in a replacement file that configures this pass, or the fallback if the entry does
  // not have it.
  template <class T>
  T configured(std::string_view path, T fallback) {
    const graft_value* v = host->configured(raw(), str(path));
    return v ? field_as<T>(path, *v) : fallback;
  }
};

// front: right after the import, when layers without a rule are still in the graph; middle: optimization; back: the
// final form. Passes of an earlier phase run first. write: after all others, only when an IR is written; passes of the
// same name are merged into one. compile: when a model is compiled for a device, never when it is converted; see
// Pass::device.
enum class Phase {
  front = GRAFT_FRONT,
  middle = GRAFT_MIDDLE,
  back = GRAFT_BACK,
  write = GRAFT_WRITE,
  compile = GRAFT_COMPILE
};

// The pass that lowers operations to the earliest opset that can express them; see OpOf::earlier.
inline constexpr std::string_view lower_opsets = "lower_opsets";

// The definition of a pass. The functions change it and return it, so that calls can be chained. Strings are
// referenced, not copied: use literals.
//
//   Pass("fuse_gelu").doc("fuse the erf formula into Gelu").after("fuse_softmax").visit({"Multiply"}, to_gelu)
class Pass {
 public:
  explicit Pass(std::string_view name) {
    r_.size = sizeof r_;
    r_.name = str(name);
    r_.phase = GRAFT_MIDDLE;
  }
  // One line in the imperative, shown by `graft convert --list-passes`.
  Pass& doc(std::string_view d) { return r_.doc = str(d), *this; }
  // The default is Phase::middle.
  Pass& phase(Phase p) { return r_.phase = static_cast<int32_t>(p), *this; }
  // A pass of Phase::compile for one device; without it, for every device.
  Pass& device(std::string_view name) { return r_.phase = GRAFT_COMPILE, r_.device = str(name), *this; }
  // Order within the phase: this pass runs before or after the named one. Unknown names are ignored.
  Pass& before(std::string_view name) { return before_.push_back(str(name)), *this; }
  Pass& after(std::string_view name) { return after_.push_back(str(name)), *this; }
  // Runs only if requested by name.
  Pass& on_request() { return r_.flags |= GRAFT_PASS_ON_REQUEST, *this; }
  // Nodes whose inputs are all constant are not folded: for weights that should stay compressed.
  Pass& keep_constants() { return r_.flags |= GRAFT_PASS_KEEPS_CONSTANTS, *this; }
  // Runs once per entry of kind "general" in a replacement file whose id is the name of this pass.
  Pass& when_configured() { return r_.flags |= GRAFT_PASS_CONFIGURED, *this; }

  // Visits every node of these types, of any opset. The returned value replaces output 0 and must have the same element
  // type and a compatible shape; otherwise the replacement is rejected.
  Pass& visit(std::initializer_list<std::string_view> types, Value (*f)(Rewrite&)) {
    set_types(types);
    return set_function(f, [](graft_builder* im, void* user) {
      return guarded([&] {
        Rewrite at(im);
        if (Value v = reinterpret_cast<Value (*)(Rewrite&)>(user)(at)) at.output(0, v);
      });
    });
  }
  // The same for every node of an operation with this trait, built-in or of an extension, and of these types.
  Pass& visit(Trait trait, Value (*f)(Rewrite&), std::initializer_list<std::string_view> types = {}) {
    return set_trait(trait), visit(types, f);
  }
  Pass& visit(Trait trait, void (*f)(Rewrite&), std::initializer_list<std::string_view> types = {}) {
    return set_trait(trait), visit(types, f);
  }
  // The same for every node of an operation with any of these traits.
  Pass& visit(std::initializer_list<Trait> traits, Value (*f)(Rewrite&)) {
    for (Trait t : traits) set_trait(t);
    return visit(std::initializer_list<std::string_view>{}, f);
  }
  // The same for the member `type` of the rows of a table, which say what the pass does with each type.
  template <class Rows>
  Pass& visit_rows(const Rows& rows, Value (*f)(Rewrite&), std::initializer_list<std::string_view> types = {}) {
    for (const auto& row : rows) types_.push_back(str(row.type));
    return visit(types, f);
  }
  // The same for nodes with several outputs: the function calls at.output(i, value).
  Pass& visit(std::initializer_list<std::string_view> types, void (*f)(Rewrite&)) {
    set_types(types);
    return whole(f);
  }
  // The same for a function with captured state.
  Pass& visit_with(std::string_view type, std::function<void(Rewrite&)> f) {
    set_types({type});
    held_ = std::make_shared<std::function<void(Rewrite&)>>(std::move(f));
    r_.user = held_.get();
    r_.visit = [](graft_builder* im, void* user) {
      return guarded([&] {
        Rewrite at(im);
        (*static_cast<std::function<void(Rewrite&)>*>(user))(at);
      });
    };
    return *this;
  }
  // Called once per graph.
  Pass& whole(void (*f)(Rewrite&)) {
    return set_function(f, [](graft_builder* im, void* user) {
      return guarded([&] {
        Rewrite at(im);
        reinterpret_cast<void (*)(Rewrite&)>(user)(at);
      });
    });
  }

  // The C record, which refers to this object: valid until it is moved or destroyed.
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
  // A host that does not know traits visits nodes of the type that no operation has, instead of the whole graph.
  void set_trait(Trait trait) {
    r_.traits |= static_cast<uint32_t>(trait);
    types_.push_back({});
  }
  template <class F>
  Pass& set_function(F f, graft_status (*call)(graft_builder*, void*)) {
    r_.user = reinterpret_cast<void*>(f);
    r_.visit = call;
    return *this;
  }
  graft_pass r_{};
  std::shared_ptr<std::function<void(Rewrite&)>> held_;
  std::vector<graft_str> types_, before_, after_;
};

}  // namespace graft
