// Building nodes, and turning a framework's layer into them.
//
//   Value gemm(Import& layer) {
//     Value y = layer.op("MatMul", {layer.input(0), layer.input(1)},
//                        {{"transpose_a", layer.get<bool>("transA", false)}, {"transpose_b", layer.get<bool>("transB",
//                        false)}});
//     y = y * layer.get<float>("alpha", 1);
//     return layer.has_input(2) ? y + layer.input(2) * layer.get<float>("beta", 1) : y;
//   }
//
// Every node is inferred as it is added, so shapes, types and constants of values can be asked for at once.
#pragma once

#include "context.hpp"

namespace [[gnu::visibility("hidden")]] graft {

class Import;

// A value in the graph under construction. Arithmetic with numbers makes constants of this value's element type.
class Value {
 public:
  Value() = default;
  Value(Import* in, graft_ref ref) : in_(in), ref_(ref) {}
  explicit operator bool() const { return ref_ != 0; }
  graft_ref ref() const { return ref_; }
  Import& in() const { return *in_; }

  Info info() const;
  DType type() const { return info().type; }
  Shape shape() const { return info().shape; }
  size_t rank() const {  // refuses when it is not known
    Shape s = shape();
    if (!s.ranked()) unsupported("the rank of an input is not known here, and this conversion needs it");
    return s.rank();
  }
  TensorView constant() const;  // empty: not a constant
  template <class T>
  std::optional<std::vector<T>> values() const {
    if (TensorView t = constant()) return t.to<T>();
    return std::nullopt;
  }
  std::optional<Shape> known() const;
  std::optional<std::vector<Value>> items() const;  // of a list

 private:
  Import* in_ = nullptr;
  graft_ref ref_ = 0;
};

struct NamedAttr {
  std::string_view name;
  AttrValue value;
};

// A framework's sub-graph, imported. Its parameters: the declared ones, then one per captured value.
struct ImportedBody {
  int64_t id = 0;
  size_t declared = 0;
  std::vector<Value> captured;
  std::vector<Info> results;
};
struct BodyUse {
  int64_t id;
  std::vector<graft_port_map> inputs, outputs;
  std::vector<graft_back_edge> back_edges;
};

// A field's value as T, where the framework's kind of it allows that.
template <class T>
T field_as(std::string_view path, const graft_value& v) {
  T out{};
  constexpr graft_kind want = kind_of<T>();
  bool number = v.kind == GRAFT_INT || v.kind == GRAFT_FLOAT || v.kind == GRAFT_BOOL;
  bool numbers = v.kind == GRAFT_INTS || v.kind == GRAFT_FLOATS;
  bool fits = v.kind == want || (number && (want == GRAFT_INT || want == GRAFT_FLOAT || want == GRAFT_BOOL)) ||
              (numbers && (want == GRAFT_INTS || want == GRAFT_FLOATS));
  // Without a schema nobody knows that a field which stands once is a list.
  if constexpr (want == GRAFT_INTS || want == GRAFT_FLOATS)
    if (number) return {field_as<typename T::value_type>(path, v)};
  if constexpr (want == GRAFT_TEXTS)
    if (v.kind == GRAFT_TEXT) return {std::string(view(v.s))};
  if (!fits) fail("attribute '", path, "' has another kind of value than expected");
  read_value(v, out);
  return out;
}

class Import {
 public:
  explicit Import(graft_import* im) : im_(im) {}
  Import(const Import&) = delete;

  // ---- the layer ----
  std::string_view name() const { return view(host->layer_name(im_)); }
  std::string_view type() const { return view(host->layer_type(im_)); }
  int64_t version() const { return host->layer_version(im_); }
  size_t inputs() const { return host->layer_input_count(im_); }
  size_t outputs() const { return host->layer_output_count(im_); }
  bool wants(size_t output) const { return host->layer_output_wanted(im_, output) != 0; }
  bool has_input(size_t i) const { return i < inputs() && host->layer_input(im_, i); }
  Value input(size_t i) {
    if (!has_input(i)) fail("input ", i, " is missing");
    return {this, host->layer_input(im_, i)};
  }
  // Weights that the framework keeps with the layer (Caffe's blobs). They are its last inputs, after what flows in.
  size_t weights() const {
    constexpr size_t wanted = offsetof(graft_host, layer_weight_count) + sizeof(void*);
    return host->size >= wanted ? host->layer_weight_count(im_) : 0;
  }
  size_t flows() const { return inputs() - weights(); }  // inputs without the weights
  Value weight(size_t i) {
    if (i >= weights() && !weights())
      fail("layer '", name(), "' (", type(), ") has no weights and needs some: is the file with the weights missing?");
    if (i >= weights())
      fail("layer '", name(), "' (", type(), ") has ", weights(), " tensors of weights, it needs at least ", i + 1);
    return input(flows() + i);
  }

  // ---- its fields, by (dotted) path ----
  bool has(std::string_view path) const { return host->field(im_, str(path)) != nullptr; }
  const graft_value* field(std::string_view path) const { return host->field(im_, str(path)); }
  template <class T>
  T get(std::string_view path) const {
    const graft_value* v = field(path);
    if (!v) fail("attribute '", path, "' is missing");
    return field_as<T>(path, *v);
  }
  template <class T>
  T get(std::string_view path, T fallback) const {
    const graft_value* v = field(path);
    return v ? field_as<T>(path, *v) : fallback;
  }

  // ---- nodes ----
  std::vector<Value> ops(std::string_view op, std::initializer_list<Value> inputs, std::vector<NamedAttr> attrs,
                         size_t outputs) {
    return make(op, std::vector<Value>(inputs), attrs, outputs, {});
  }
  // "Softmax" is the newest known version, "Softmax@8" that of opset8, "Twist@acme" one of another opset.
  Value op(std::string_view op, std::initializer_list<Value> inputs, std::vector<NamedAttr> attrs = {}) {
    return make(op, std::vector<Value>(inputs), attrs, 1, {})[0];
  }
  Value op(std::string_view op, const std::vector<Value>& inputs, std::vector<NamedAttr> attrs = {}) {
    return make(op, inputs, attrs, 1, {})[0];
  }
  std::vector<Value> make(std::string_view op, const std::vector<Value>& inputs, const std::vector<NamedAttr>& attrs,
                          size_t outputs, const std::vector<BodyUse>& bodies) {
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
    check(host->add_node(im_, &node, out.data(), out.size()));
    std::vector<Value> values;
    for (graft_ref r : out) values.emplace_back(this, r);
    return values;
  }

  Value constant(TensorView t) {
    graft_ref r = host->add_constant(im_, t.raw());
    if (!r) throw Failure{GRAFT_INTERNAL, {}, {}};
    return {this, r};
  }
  template <class T>
  Value constant(std::vector<T> values, std::vector<int64_t> dims) {
    return constant(LocalTensor<T>(std::move(values), std::move(dims)).view());
  }
  // One number of the given element type.
  Value scalar(double value, DType type) { return typed({value}, {}, type); }
  Value truth(bool value) { return typed({value ? 1.0 : 0.0}, {}, DType::boolean); }
  Value scalar(int64_t value) { return constant<int64_t>({value}, {}); }
  // A list of whole numbers (i64), for axes, shapes and the like.
  Value ints(std::vector<int64_t> values) {
    auto n = static_cast<int64_t>(values.size());
    return constant<int64_t>(std::move(values), {n});
  }
  // Numbers of the given element type.
  Value typed(std::vector<double> values, std::vector<int64_t> dims, DType type) {
    LocalTensor<double> wide(std::move(values), std::move(dims));
    std::vector<unsigned char> bytes(
        (static_cast<size_t>(wide.view().size()) * static_cast<size_t>(bits_of(type)) + 7) / 8 + 1);
    graft_tensor t = *wide.view().raw();
    t.type = static_cast<graft_type>(type);
    t.data = bytes.data();
    TensorView(&t).assign(wide.view());
    return constant(TensorView(&t));
  }

  // Several values that layers hand on as one (a sequence in ONNX); no operation takes it.
  Value list(const std::vector<Value>& items) {
    std::vector<graft_ref> refs;
    for (const Value& v : items) refs.push_back(v.ref());
    graft_ref r = host->add_list(im_, refs.data(), refs.size());
    if (!r) throw Failure{GRAFT_INTERNAL, {}, {}};
    return {this, r};
  }

  // A sub-graph of the layer, with the types and shapes that its declared parameters will have. `prologue(Import&)` may
  // stand between the parameters and what the sub-graph calls its inputs, `epilogue(Import&)` between its outputs and
  // the body's results: each sees the former as inputs and sets the latter as outputs. With a prologue there may be
  // more or fewer parameters than inputs; an output that is a list has a result for every item.
  template <class Prologue = std::nullptr_t, class Epilogue = std::nullptr_t>
  ImportedBody body(std::string_view path, const std::vector<Info>& parameters, Prologue prologue = {},
                    Epilogue epilogue = {}) {
    std::vector<graft_info> raw;
    for (const Info& p : parameters) raw.push_back(p.raw());
    std::pair both{prologue, epilogue};
    using Both = decltype(both);
    graft_status (*before)(graft_import*, void*) = nullptr;
    graft_status (*after)(graft_import*, void*) = nullptr;
    if constexpr (!std::is_null_pointer_v<Prologue>)
      before = [](graft_import* im, void* user) {
        return guarded([&] {
          Import inner(im);
          static_cast<Both*>(user)->first(inner);
        });
      };
    if constexpr (!std::is_null_pointer_v<Epilogue>)
      after = [](graft_import* im, void* user) {
        return guarded([&] {
          Import inner(im);
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

  // A sub-graph of the layer in the layer's own place, with these values as its inputs; its outputs. Values may be
  // lists or `nothing()`.
  std::vector<Value> inlined(std::string_view path, const std::vector<Value>& inputs) {
    constexpr size_t least = offsetof(graft_host, inline_body) + sizeof(void*);
    if (host->size < least) unsupported("this host cannot put a sub-graph in the place of its layer");
    std::vector<graft_ref> in;
    for (const Value& v : inputs) in.push_back(v.ref());
    const graft_ref* refs = nullptr;
    size_t count = 0;
    check(host->inline_body(im_, str(path), in.data(), in.size(), &refs, &count));
    std::vector<Value> out;
    for (size_t i = 0; i < count; ++i) out.emplace_back(this, refs[i]);
    return out;
  }
  // An optional value that holds nothing: whoever takes it sees an input that is left out.
  Value nothing() {
    constexpr size_t least = offsetof(graft_host, add_nothing) + sizeof(void*);
    if (host->size < least) unsupported("this host knows no empty optional values");
    graft_ref r = host->add_nothing(im_);
    if (!r) throw Failure{GRAFT_INTERNAL, {}, {}};
    return {this, r};
  }
  Value input_or_nothing(size_t i) { return has_input(i) ? input(i) : nothing(); }

  void output(size_t i, Value v) { check(host->set_layer_output(im_, i, v.ref())); }
  graft_import* raw() const { return im_; }

 private:
  graft_import* im_;
};

inline Info Value::info() const {
  graft_info i;
  check(host->ref_info(in_->raw(), ref_, &i));
  return Info::from(i);
}
inline TensorView Value::constant() const { return TensorView(host->ref_constant(in_->raw(), ref_)); }
inline std::optional<Shape> Value::known() const {
  graft_shape s;
  if (host->ref_known_values(in_->raw(), ref_, &s)) return Shape(s);
  return std::nullopt;
}

inline std::optional<std::vector<Value>> Value::items() const {
  const graft_ref* refs = nullptr;
  size_t count = 0;
  if (!host->ref_list(in_->raw(), ref_, &refs, &count)) return std::nullopt;
  std::vector<Value> out;
  for (size_t i = 0; i < count; ++i) out.emplace_back(in_, refs[i]);
  return out;
}

// A number where a value is wanted.
inline Value like(const Value& v, double number) { return v.in().scalar(number, v.type()); }

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

// The element type with this number in ONNX (TensorProto.DataType), as Cast and others name it.
inline DType onnx_element_type(int64_t code) {
  constexpr DType types[] = {DType::undefined,  DType::f32,  DType::u8,     DType::i8,         DType::u16,
                             DType::i16,        DType::i32,  DType::i64,    DType::string,     DType::boolean,
                             DType::f16,        DType::f64,  DType::u32,    DType::u64,        DType::undefined,
                             DType::undefined,  DType::bf16, DType::f8e4m3, DType::f8e4m3fnuz, DType::f8e5m2,
                             DType::f8e5m2fnuz, DType::u4,   DType::i4,     DType::f4e2m1,     DType::f8e8m0};
  if (code == 14 || code == 15) unsupported("complex numbers are not supported");
  if (code < 0 || code >= static_cast<int64_t>(std::size(types)))
    fail("element type ", code, " is not one that ONNX defines");
  return types[code];
}

// The steps that conversions keep needing.
inline Value convert(const Value& v, DType type) {
  return v.type() == type ? v : v.in().op("Convert", {v}, {{"destination_type", type}});
}
inline Value reshape(const Value& v, const std::vector<int64_t>& dims) {
  return v.in().op("Reshape", {v, v.in().ints(dims)}, {{"special_zero", false}});
}
inline Value transpose(const Value& v, const std::vector<int64_t>& order) {
  return v.in().op("Transpose", {v, v.in().ints(order)});
}
inline Value unsqueeze(const Value& v, const std::vector<int64_t>& axes) {
  return v.in().op("Unsqueeze", {v, v.in().ints(axes)});
}
inline Value squeeze(const Value& v, const std::vector<int64_t>& axes) {
  return v.in().op("Squeeze@1", {v, v.in().ints(axes)});
}
inline Value shape_of(const Value& v) { return v.in().op("ShapeOf@3", {v}, {{"output_type", DType::i64}}); }

}  // namespace graft
