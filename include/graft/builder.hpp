// Building nodes, and importing a framework's layer as a sub-graph of them.
//
//   Value gemm(Builder& layer) {
//     Value y = layer.op("MatMul", {layer.input(0), layer.input(1)},
//                        {{"transpose_a", layer.get<bool>("transA", false)},
//                         {"transpose_b", layer.get<bool>("transB", false)}});
//     y = y * layer.get<float>("alpha", 1);
//     return layer.has_input(2) ? y + layer.input(2) * layer.get<float>("beta", 1) : y;
//   }
//
// A rule (rule.hpp) names the function. Every node is inferred as soon as it is added, so the types, shapes and
// constants of intermediate values are available right away; constants are folded.
//
// Values and the Builder are valid only during the call of the function, and on its thread. Errors are thrown: `fail`
// for an invalid layer, `unsupported` for one that this rule cannot convert (types.hpp). The host adds the name of the
// layer and its position in the file.
#pragma once

#include "context.hpp"

namespace [[gnu::visibility("hidden")]] graft {

class Builder;

// Reports that a rule needs to know more of a shape (`unsupported`). The host adds which inputs of the model leave
// their shapes open, and how to set them.
template <class... Parts>
[[noreturn]] void needs_shape(const Parts&... parts) {
  throw Failure{GRAFT_UNSUPPORTED, text(parts...), "set the shapes of the inputs with `shapes`"};
}

// A value in the graph under construction: an output of a node, or an input of the layer. Cheap to copy. An empty
// Value (false in a condition) stands for an omitted optional input.
class Value {
 public:
  Value() = default;
  Value(Builder* in, graft_ref ref) : in_(in), ref_(ref) {}
  explicit operator bool() const { return ref_ != 0; }
  graft_ref ref() const { return ref_; }
  // The graph that it belongs to; helper functions use it to add nodes: v.in().op(...). This and all below fail for an
  // absent value, because which inputs are present is up to untrusted files.
  Builder& in() const {
    if (!in_) fail("this layer requires an input that is absent");
    return *in_;
  }

  // Type and shape, as inferred so far.
  Info info() const;
  DType type() const { return info().type; }
  Shape shape() const { return info().shape; }
  // Fails (unsupported) if the rank is unknown. Rules that can do without the rank should ask shape().ranked()
  // instead.
  size_t rank() const {
    Shape s = shape();
    if (!s.ranked()) needs_shape("the rank of an input is unknown, but this conversion requires it");
    return s.rank();
  }
  // The value if it is known at import time, otherwise an empty view.
  TensorView constant() const;
  // The same, converted to numbers:
  //
  //   if (auto axes = layer.input(1).values<int64_t>()) return squeeze(x, *axes);   // constant axes
  template <class T>
  std::optional<std::vector<T>> values() const {
    if (TensorView t = constant()) return t.to<T>();
    return std::nullopt;
  }
  // The values of a small integer tensor as far as they are known: for shapes computed by the model, of which the batch
  // is unknown. See NodeView::known.
  std::optional<Shape> known() const;
  // The items of a list (an ONNX sequence); none if this is a tensor.
  std::optional<std::vector<Value>> items() const;

 private:
  Builder* in_ = nullptr;
  graft_ref ref_ = 0;
};

// An attribute of a new node: {"axis", 1}. The name is referenced, not copied. A name that the operation does not have
// is an error.
struct NamedAttr {
  std::string_view name;
  AttrValue value;
};

// A sub-graph of the framework's model (the body of a loop, a branch), imported. Its parameters are the declared ones,
// followed by one per captured value of the outer graph.
struct ImportedBody {
  int64_t id = 0;
  size_t declared = 0;
  std::vector<Value> captured;
  std::vector<Info> results;
};
// How a new node uses an imported body: the port maps connect its inputs and outputs, the back edges its iterations;
// see graft_port_map and graft_back_edge in abi.h.
struct BodyUse {
  int64_t id;
  std::vector<graft_port_map> inputs, outputs;
  std::vector<graft_back_edge> back_edges;
};

// A field converted to T; fails if its kind does not allow that. Numbers of any kind convert into each other, and a
// single value converts to a list.
template <class T>
T field_as(std::string_view path, const graft_value& v) {
  T out{};
  constexpr graft_kind want = kind_of<T>();
  bool number = v.kind == GRAFT_INT || v.kind == GRAFT_FLOAT || v.kind == GRAFT_BOOL;
  bool numbers = v.kind == GRAFT_INTS || v.kind == GRAFT_FLOATS;
  bool fits = v.kind == want || (number && (want == GRAFT_INT || want == GRAFT_FLOAT || want == GRAFT_BOOL)) ||
              (numbers && (want == GRAFT_INTS || want == GRAFT_FLOATS));
  // In a format without a schema, a list with one element looks like a single value.
  if constexpr (want == GRAFT_INTS || want == GRAFT_FLOATS)
    if (number) return {field_as<typename T::value_type>(path, v)};
  if constexpr (want == GRAFT_TEXTS)
    if (v.kind == GRAFT_TEXT) return {std::string(view(v.s))};
  if (!fits) fail("expected another kind of value of attribute '", path, "'");
  try {
    read_value(v, out);
  } catch (Failure& f) {
    f.message = text("attribute '", path, "': ", f.message);
    throw;
  }
  return out;
}

// A layer under import: its inputs and fields, and the functions to build nodes. Passes use it for the visited node.
//
// A rule's function gets it as its argument, reads the layer (inputs, fields), adds nodes, and returns or sets the
// values that become the outputs of the layer. Nodes that turn out to be unused are removed later; it is fine to build
// something and not use it.
class Builder {
 public:
  explicit Builder(graft_builder* im) : im_(im) {}
  Builder(const Builder&) = delete;

  // ---- the layer ----
  // The name of the layer as in the file, and its type ("Conv").
  std::string_view name() const { return view(host->layer_name(im_)); }
  std::string_view type() const { return view(host->layer_type(im_)); }
  // The operator-set version of the layer's domain (ONNX), or 0.
  int64_t version() const { return host->layer_version(im_); }
  // "onnx", "caffe", ...: for rules of every framework. Empty in a pass, and on hosts that do not tell.
  std::string_view framework() const {
    constexpr size_t least = offsetof(graft_host, layer_framework) + sizeof(void*);
    return host->size < least ? std::string_view() : view(host->layer_framework(im_));
  }
  // The number of inputs and outputs in the file, including omitted optional ones in between.
  size_t inputs() const { return host->layer_input_count(im_); }
  size_t outputs() const { return host->layer_output_count(im_); }
  // Whether an output of the layer is used; unused ones need not be set:
  //
  //   if (layer.output_used(1)) layer.output(1, indices);
  bool output_used(size_t output) const { return host->layer_output_used(im_, output) != 0; }
  bool has_input(size_t i) const { return i < inputs() && host->layer_input(im_, i); }
  // Fails if the input is missing; test has_input for optional ones:
  //
  //   Value bias = layer.has_input(2) ? layer.input(2) : Value();
  Value input(size_t i) {
    if (!has_input(i)) fail("required input ", i, " is missing");
    return {this, host->layer_input(im_, i)};
  }
  // Weights that the framework stores with the layer (blobs of Caffe). They are its last inputs, after the regular
  // ones.
  size_t weights() const {
    constexpr size_t least = offsetof(graft_host, layer_weight_count) + sizeof(void*);
    return host->size >= least ? host->layer_weight_count(im_) : 0;
  }
  // The number of regular inputs.
  size_t flows() const { return inputs() - weights(); }  // inputs without the weights
  // Weight `i`; fails with a hint at the missing weights file if there is none.
  Value weight(size_t i) {
    if (i >= weights() && !weights())
      fail("layer '", name(), "' (", type(), ") requires weights, but has none: is the weights file missing?");
    if (i >= weights())
      fail("expected at least ", i + 1, " weight tensors in layer '", name(), "' (", type(), "), got ", weights());
    return input(flows() + i);
  }

  // ---- its fields, by (dotted) path ----
  // Whether the file contains the field. A field that has been queried, by any of these functions, counts as used;
  // unused ones are reported to the user, so that nothing is dropped silently.
  bool has(std::string_view path) const { return host->field(im_, str(path)) != nullptr; }
  // The raw value, or null.
  const graft_value* field(std::string_view path) const { return host->field(im_, str(path)); }
  // All fields of the layer, in the order of the file; they count as used. Valid until the rule returns.
  std::span<const graft_named_value> fields() const {
    constexpr size_t least = offsetof(graft_host, layer_fields) + sizeof(void*);
    if (host->size < least) unsupported("this host does not list the fields of a layer");
    const graft_named_value* list = nullptr;
    size_t count = host->layer_fields(im_, &list);
    return {list, count};
  }
  // The field as T. Without a fallback, a missing field is an error:
  //
  //   auto axis = layer.get<int64_t>("axis", -1);                        // optional
  //   auto kernel = layer.get<std::vector<int64_t>>("kernel_shape");     // required
  //   auto slope = layer.get<float>("relu_param.negative_slope", 0);     // nested
  template <class T>
  T get(std::string_view path) const {
    const graft_value* v = field(path);
    if (!v) fail("required attribute '", path, "' is missing");
    return field_as<T>(path, *v);
  }
  template <class T>
  T get(std::string_view path, T fallback) const {
    const graft_value* v = field(path);
    return v ? field_as<T>(path, *v) : fallback;
  }

  // ---- nodes ----
  // Adds a node:
  //
  //   Value y = layer.op("Softmax", {x}, {{"axis", -1}});
  //   std::vector<Value> parts = layer.ops("Split", {x, axis}, {{"num_splits", 2}}, 2);
  //
  // "Softmax" is the newest known version of an operation, "Softmax@8" the one of opset8, "Twist@acme" one of another
  // opset. Attributes that are not listed have their defaults. `ops` and `make` are for nodes with several outputs or
  // bodies. Fails if the node is invalid, with the message of its shape function. An empty Value as an input omits it.
  std::vector<Value> ops(std::string_view op, std::initializer_list<Value> inputs, std::vector<NamedAttr> attrs,
                         size_t outputs) {
    return make(op, std::vector<Value>(inputs), attrs, outputs, {});
  }
  Value op(std::string_view op, std::initializer_list<Value> inputs, std::vector<NamedAttr> attrs = {}) {
    return make(op, std::vector<Value>(inputs), attrs, 1, {})[0];
  }
  Value op(std::string_view op, const std::vector<Value>& inputs, std::vector<NamedAttr> attrs = {}) {
    return make(op, inputs, attrs, 1, {})[0];
  }
  // The general form, with bodies for operations like Loop and If.
  std::vector<Value> make(std::string_view op, const std::vector<Value>& inputs, const std::vector<NamedAttr>& attrs,
                          size_t outputs, const std::vector<BodyUse>& bodies) {
    return make_node(op, inputs, attrs, outputs, bodies, {});
  }
  // A node of an operation that may be unknown, with the types and shapes of its outputs. If an extension defines the
  // operation, the node becomes that one; if not, it is written to the IR as it is ("Twist" has the version
  // "extension", "Twist@acme" the version "acme") and cannot run.
  std::vector<Value> opaque(std::string_view op, const std::vector<Value>& inputs, const std::vector<NamedAttr>& attrs,
                            const std::vector<Info>& outputs) {
    constexpr size_t least = offsetof(graft_host, set_node_name) + sizeof(void*);
    if (host->size < least) unsupported("this host does not support operations without a definition");
    if (outputs.empty()) fail("expected types and shapes of the outputs of ", op, ", got none");
    return make_node(op, inputs, attrs, outputs.size(), {}, outputs);
  }

 private:
  std::vector<Value> make_node(std::string_view op, const std::vector<Value>& inputs,
                               const std::vector<NamedAttr>& attrs, size_t outputs, const std::vector<BodyUse>& bodies,
                               const std::vector<Info>& infos) {
    // The number may come from a dimension of an untrusted file.
    constexpr size_t most = 65'536;
    if (outputs > most) unsupported("expected at most ", most, " outputs of an operation, got ", outputs);
    std::vector<graft_ref> in, out(outputs);
    for (const Value& v : inputs) in.push_back(v.ref());
    std::vector<graft_named_value> raw;
    for (const NamedAttr& a : attrs) raw.push_back({str(a.name), a.value.raw()});
    std::vector<graft_new_body> raw_bodies;
    for (const BodyUse& b : bodies)
      raw_bodies.push_back({b.id, b.inputs.data(), b.inputs.size(), b.outputs.data(), b.outputs.size(),
                            b.back_edges.data(), b.back_edges.size()});
    graft_new_node node{};
    node.size = sizeof node;
    auto at = op.find('@');
    std::string opset(at == op.npos ? std::string_view() : op.substr(at + 1));
    if (!opset.empty() && opset[0] >= '0' && opset[0] <= '9') opset = "opset" + opset;
    node.op = str(op.substr(0, at));
    node.opset = str(opset);
    node.inputs = in.data(), node.input_count = in.size();
    node.attrs = raw.data(), node.attr_count = raw.size();
    node.bodies = raw_bodies.data(), node.body_count = raw_bodies.size();
    std::vector<graft_info> raw_infos;
    for (const Info& i : infos) raw_infos.push_back(i.raw());
    node.infos = raw_infos.data(), node.info_count = raw_infos.size();
    check(host->add_node(im_, &node, out.data(), out.size()));
    std::vector<Value> values;
    for (graft_ref r : out) values.emplace_back(this, r);
    return values;
  }

 public:
  // A constant; the elements are copied.
  Value constant(TensorView t) {
    graft_ref r = host->add_constant(im_, t.raw());
    if (!r) throw Failure{GRAFT_INTERNAL, {}, {}};
    return {this, r};
  }
  // A constant with these values and dimensions:
  //
  //   layer.constant<float>({1, 2, 3, 4}, {2, 2})
  template <class T>
  Value constant(std::vector<T> values, std::vector<int64_t> dims) {
    return constant(LocalTensor<T>(std::move(values), std::move(dims)).view());
  }
  // A scalar of the given element type; below, a boolean scalar and an i64 scalar.
  Value scalar(double value, DType type) { return typed({value}, {}, type); }
  Value truth(bool value) { return typed({value ? 1.0 : 0.0}, {}, DType::boolean); }
  Value scalar(int64_t value) { return constant<int64_t>({value}, {}); }
  // A 1-D i64 tensor, for axes, shapes and the like.
  Value ints(std::vector<int64_t> values) {
    auto n = static_cast<int64_t>(values.size());
    return constant<int64_t>(std::move(values), {n});
  }
  // A constant of any shape, converted to the given element type; fails if the number of values does not match the
  // shape.
  Value typed(std::vector<double> values, std::vector<int64_t> dims, DType type) {
    LocalTensor<double> wide(std::move(values), std::move(dims));
    std::vector<unsigned char> bytes(
        (static_cast<size_t>(wide.view().size()) * static_cast<size_t>(bits_of(type)) + 7) / 8 + 1);
    graft_tensor t = *wide.view().raw();
    t.type = static_cast<graft_type>(type);
    t.data = bytes.data();
    OutputView(&t).assign(wide.view());
    return constant(TensorView(&t));
  }

  // Several values passed on as one (an ONNX sequence). Exists only at import time: layers that take the list unpack it
  // with Value::items. No operation accepts it.
  Value list(const std::vector<Value>& items) {
    std::vector<graft_ref> refs;
    for (const Value& v : items) refs.push_back(v.ref());
    graft_ref r = host->add_list(im_, refs.data(), refs.size());
    if (!r) throw Failure{GRAFT_INTERNAL, {}, {}};
    return {this, r};
  }

  // Imports a sub-graph of the layer, given the types and shapes of its parameters:
  //
  //   ImportedBody body = layer.body("body", {Info{DType::i64, {}}, layer.input(1).info()});
  //
  // `prologue(Builder&)` is called between the parameters and what the sub-graph considers its inputs,
  // `epilogue(Builder&)` between its outputs and the results of the body: each sees the former as inputs and sets the
  // latter as outputs. With a prologue, the number of parameters may differ from the number of inputs. An output that
  // is a list has one result per item. The result is passed to `make` in a BodyUse.
  template <class Prologue = std::nullptr_t, class Epilogue = std::nullptr_t>
  ImportedBody body(std::string_view path, const std::vector<Info>& parameters, Prologue prologue = {},
                    Epilogue epilogue = {}) {
    std::vector<graft_info> raw;
    for (const Info& p : parameters) raw.push_back(p.raw());
    std::pair both{prologue, epilogue};
    using Both = decltype(both);
    graft_status (*before)(graft_builder*, void*) = nullptr;
    graft_status (*after)(graft_builder*, void*) = nullptr;
    if constexpr (!std::is_null_pointer_v<Prologue>)
      before = [](graft_builder* im, void* user) {
        return guarded([&] {
          Builder inner(im);
          static_cast<Both*>(user)->first(inner);
        });
      };
    if constexpr (!std::is_null_pointer_v<Epilogue>)
      after = [](graft_builder* im, void* user) {
        return guarded([&] {
          Builder inner(im);
          static_cast<Both*>(user)->second(inner);
        });
      };
    const graft_imported_body* b = nullptr;
    check(host->import_body(im_, str(path), raw.data(), raw.size(), before, after, &both, &b));
    ImportedBody out{b->body, b->declared_count, {}, {}};
    for (size_t i = 0; i < b->captured_count; ++i) out.captured.emplace_back(this, b->captured[i]);
    for (size_t i = 0; i < b->result_count; ++i) out.results.push_back(Info::from(b->results[i]));
    return out;
  }

  // Inlines a sub-graph of the layer: imports it in place of the layer, with these values as its inputs, and returns
  // its outputs. Values may be lists or `nothing()`.
  std::vector<Value> inlined(std::string_view path, const std::vector<Value>& inputs) {
    constexpr size_t least = offsetof(graft_host, inline_body) + sizeof(void*);
    if (host->size < least) unsupported("this host does not support inlining sub-graphs");
    std::vector<graft_ref> in;
    for (const Value& v : inputs) in.push_back(v.ref());
    const graft_ref* refs = nullptr;
    size_t count = 0;
    check(host->inline_body(im_, str(path), in.data(), in.size(), &refs, &count));
    std::vector<Value> out;
    for (size_t i = 0; i < count; ++i) out.emplace_back(this, refs[i]);
    return out;
  }
  // An empty optional value: a layer that takes it sees an omitted input.
  Value nothing() {
    constexpr size_t least = offsetof(graft_host, add_nothing) + sizeof(void*);
    if (host->size < least) unsupported("this host does not support empty optional values");
    graft_ref r = host->add_nothing(im_);
    if (!r) throw Failure{GRAFT_INTERNAL, {}, {}};
    return {this, r};
  }
  Value input_or_nothing(size_t i) { return has_input(i) ? input(i) : nothing(); }

  // Sets an output of the layer; every used output must be set. For a pass: replaces an output of the visited node.
  void output(size_t i, Value v) { check(host->set_layer_output(im_, i, v.ref())); }
  graft_builder* raw() const { return im_; }

 private:
  graft_builder* im_;
};

inline Info Value::info() const {
  graft_info i;
  check(host->ref_info(in().raw(), ref_, &i));
  return Info::from(i);
}
inline TensorView Value::constant() const { return TensorView(host->ref_constant(in().raw(), ref_)); }
inline std::optional<Shape> Value::known() const {
  graft_shape s;
  if (host->ref_known_values(in().raw(), ref_, &s)) return Shape(s);
  return std::nullopt;
}

inline std::optional<std::vector<Value>> Value::items() const {
  const graft_ref* refs = nullptr;
  size_t count = 0;
  if (!host->ref_list(in().raw(), ref_, &refs, &count)) return std::nullopt;
  std::vector<Value> out;
  for (size_t i = 0; i < count; ++i) out.emplace_back(in_, refs[i]);
  return out;
}

// A scalar constant of the element type of `v`:
//
//   layer.op("Maximum", {x, like(x, 0)})
inline Value like(const Value& v, double number) { return v.in().scalar(number, v.type()); }

// Arithmetic adds nodes, with NumPy broadcasting:
//
//   Value y = (x - mean) / (deviation + 1e-5);
//
// A number becomes a constant of the value's element type; neutral operands (x + 0, x * 1) add nothing.
inline Value operator+(const Value& a, const Value& b) { return a.in().op("Add", {a, b}); }
inline Value operator-(const Value& a, const Value& b) { return a.in().op("Subtract", {a, b}); }
inline Value operator*(const Value& a, const Value& b) { return a.in().op("Multiply", {a, b}); }
inline Value operator/(const Value& a, const Value& b) { return a.in().op("Divide", {a, b}); }
inline Value operator-(const Value& a) { return a.in().op("Negative", {a}); }
inline Value operator+(const Value& a, double b) { return b == 0 ? a : a + like(a, b); }
inline Value operator-(const Value& a, double b) { return b == 0 ? a : a - like(a, b); }
inline Value operator*(const Value& a, double b) { return b == 1 ? a : a * like(a, b); }
inline Value operator/(const Value& a, double b) { return b == 1 ? a : a / like(a, b); }
inline Value operator+(double a, const Value& b) { return like(b, a) + b; }
inline Value operator-(double a, const Value& b) { return like(b, a) - b; }
inline Value operator*(double a, const Value& b) { return like(b, a) * b; }
inline Value operator/(double a, const Value& b) { return like(b, a) / b; }

// The element type with this number in ONNX (TensorProto.DataType), as used by Cast and others. Fails for unknown
// numbers, and for complex numbers, which are not supported.
inline DType onnx_element_type(int64_t code) {
  constexpr DType types[] = {DType::undefined,  DType::f32,  DType::u8,     DType::i8,         DType::u16,
                             DType::i16,        DType::i32,  DType::i64,    DType::string,     DType::boolean,
                             DType::f16,        DType::f64,  DType::u32,    DType::u64,        DType::undefined,
                             DType::undefined,  DType::bf16, DType::f8e4m3, DType::f8e4m3fnuz, DType::f8e5m2,
                             DType::f8e5m2fnuz, DType::u4,   DType::i4,     DType::f4e2m1,     DType::f8e8m0};
  if (code == 14 || code == 15) unsupported("complex numbers are not supported");
  if (code < 0 || code >= static_cast<int64_t>(std::size(types)))
    fail("expected an element type number of ONNX, got ", code);
  return types[code];
}

// Frequent single-node steps. `convert` returns the value itself if it has the type already.
inline Value convert(const Value& v, DType type) {
  return v.type() == type ? v : v.in().op("Convert", {v}, {{"destination_type", type}});
}
// -1 is inferred; 0 is a size here, it does not copy a dimension.
inline Value reshape(const Value& v, const std::vector<int64_t>& dims) {
  return v.in().op("Reshape", {v, v.in().ints(dims)}, {{"special_zero", false}});
}
// Axis i of the result is axis order[i] of the value.
inline Value transpose(const Value& v, const std::vector<int64_t>& order) {
  return v.in().op("Transpose", {v, v.in().ints(order)});
}
inline Value unsqueeze(const Value& v, const std::vector<int64_t>& axes) {
  return v.in().op("Unsqueeze", {v, v.in().ints(axes)});
}
inline Value squeeze(const Value& v, const std::vector<int64_t>& axes) {
  return v.in().op("Squeeze@1", {v, v.in().ints(axes)});
}
// The shape as a 1-D i64 tensor.
inline Value shape_of(const Value& v) { return v.in().op("ShapeOf@3", {v}, {{"output_type", DType::i64}}); }

}  // namespace graft
