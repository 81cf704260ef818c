// The CPU's own pass for networks of 8 bits: QuantizeLinear and DequantizeLinear around convolutions and products
// become operations on bytes.
//
// It runs before constants are folded, since dequantized weights would take four times the memory, and before
// transposes are moved in between.
#include <graft/formula.hpp>
#include <graft/kit/dequantize.hpp>
#include <graft/kit/expressions.hpp>
#include <graft/kit/quantized.hpp>
#include <graft/op.hpp>

#include "fuse_epilogue.hpp"

namespace graft {
namespace {

constexpr std::string_view layer = "QuantizedConvolution";
constexpr double infinity = std::numeric_limits<double>::infinity();

bool is_level(double v, DType type) {
  double low = type == DType::u8 ? 0 : -128;
  return v == std::floor(v) && v >= low && v <= low + 255;
}

// Convert(Clamp(Round(x / scale) + zero))  =>  Quantize(x)
Value to_quantize(Rewrite& at) {
  DType type = at.self().type();
  NodeRef clamp = is_byte(type) ? piece(at.input(0), "Clamp") : NodeRef();
  double low = type == DType::u8 ? 0 : -128;
  if (!clamp || clamp.get<double>("min") != low || clamp.get<double>("max") != low + 255) return {};
  Value y = clamp.input(0);
  double zero = 0;
  if (NodeRef add = piece(y, "Add")) {
    WithNumber z = beside_number(add);
    if (!z || !is_level(z.number, type)) return {};
    y = z.value, zero = z.number;
  }
  NodeRef round = piece(y, "Round");
  NodeRef divide = round && round.has({"mode", "half_to_even"}) ? piece(round.input(0), "Divide") : NodeRef();
  auto scale = divide ? single(divide.input(1)) : std::nullopt;
  if (!scale || !(*scale > 0)) return {};
  Value x = divide.input(0);
  if (x.type() != DType::f32 || x.constant() || !has_rank_of(at.self(), x)) return {};
  return at.op("Quantize", {x}, {{"scale", *scale}, {"zero", static_cast<int64_t>(zero)}, {"type", type}});
}

// (Convert(q) - zero) * scale  =>  Dequantize(q); signed bytes become unsigned ones where they are made.
Value to_dequantize(Rewrite& at) {
  Levels l = levels_of(at.node());
  if (!l.q || l.q.constant() || !has_rank_of(at.self(), l.q)) return {};
  auto scale = single(l.scale), zero = l.zero ? single(l.zero) : std::optional(0.0);
  if (!scale || !(*scale > 0) || !zero || !is_level(*zero, l.q.type())) return {};
  auto level = static_cast<int64_t>(*zero);
  NodeRef made = made_by(l.q, "Quantize");
  if (made && l.q.type() == DType::i8) {
    constexpr int64_t shift = 128;
    level += shift;
    l.q = at.like(made, {made.input(0)}, {{"type", DType::u8}, {"zero", made.get<int64_t>("zero") + shift}});
  }
  return at.op("Dequantize", {l.q}, {{"scale", *scale}, {"zero", level}});
}

// Constant weights as i8, and their scales.
struct Weights {
  Value levels;
  std::vector<double> scales;  // one per output channel
};
Weights weights_of(const Value& w, size_t axis) {
  NodeRef multiply = made_by(w, "Multiply");
  Levels l = multiply ? levels_of(multiply) : Levels();
  auto dims = static_dims(w);
  if (!l.q || l.q.type() != DType::i8 || !l.q.constant() || !dims || !certainly_same(l.q.shape(), w.shape())) return {};
  if (l.zero && number(l.zero) != std::optional(0.0)) return {};
  auto length = length_along(l.scale, dims->size(), axis);
  auto scales = l.scale.values<double>();
  auto channels = static_cast<size_t>((*dims)[axis]);
  if (!length || !scales || channels == 0 || (scales->size() != 1 && scales->size() != channels)) return {};
  if (scales->size() == 1) scales->resize(channels, (*scales)[0]);
  return {l.q, *scales};
}

// The scales of a product: those of the weights times that of the data.
Value product_scales(Rewrite& at, const Weights& w, const NodeRef& data) {
  std::vector<double> scales = w.scales;
  for (double& s : scales) s = static_cast<float>(s) * static_cast<float>(data.get<double>("scale"));
  auto count = static_cast<int64_t>(scales.size());
  return at.typed(scales, {count}, DType::f32);
}

// The Dequantize that the data comes from.
NodeRef bytes_behind(const Value& x) {
  NodeRef n = made_by(x, "Dequantize");
  return n && n.input(0).type() == DType::u8 ? n : NodeRef();
}

// The same with signed bytes, which become unsigned ones here: those of an input, or behind a layer that moves them.
struct Data {
  NodeRef made;
  bool is_signed = false;
  explicit operator bool() const { return static_cast<bool>(made); }
  Value levels(Rewrite& at) const {
    Value q = made.input(0);
    if (!is_signed) return q;
    Value numbers = at.op("Dequantize", {q}, {{"scale", 1.0}, {"zero", int64_t{0}}});
    return at.op("Quantize", {numbers}, {{"scale", 1.0}, {"zero", int64_t{128}}, {"type", DType::u8}});
  }
  int64_t zero() const { return made.get<int64_t>("zero", 0) + (is_signed ? 128 : 0); }
};
Data data_behind(const Value& x) {
  NodeRef n = made_by(x, "Dequantize");
  return {n, n && n.input(0).type() == DType::i8};
}

Value from_convolution(Rewrite& at) {
  Value x = at.input(0);
  Data data = data_behind(x);
  if (!data || !x.shape().ranked() || x.rank() > 4) return {};
  Weights w = weights_of(at.input(1), 0);
  if (!w.levels) return {};
  std::vector<NamedAttr> attrs{{"data_zero", data.zero()}};
  for (const NamedAttr& a : at.node().attributes())
    for (std::string_view known : {"strides", "dilations", "pads_begin", "pads_end", "auto_pad"})
      if (a.name == known) attrs.push_back(a);
  return at.op(layer, {data.levels(at), w.levels, product_scales(at, w, data.made)}, attrs);
}

// MatMul(x, w)  =>  a convolution with one tap of the rows of x
Value from_matmul(Rewrite& at) {
  Value x = at.input(0);
  Data data = data_behind(x);
  auto dims = data ? static_dims(x) : std::nullopt;
  if (!dims || dims->size() < 2 || at.input(1).shape().rank() != 2 || at.get<bool>("transpose_a", false)) return {};
  bool transposed = at.get<bool>("transpose_b", false);
  Weights w = weights_of(at.input(1), transposed ? 0 : 1);
  if (!w.levels) return {};
  int64_t depth = dims->back(), outputs = static_cast<int64_t>(w.scales.size());
  Value rows = transposed ? w.levels : transpose(w.levels, {1, 0});
  Value y = at.op(
      layer,
      {reshape(data.levels(at), {-1, depth, 1}), reshape(rows, {outputs, depth, 1}), product_scales(at, w, data.made)},
      {{"data_zero", data.zero()}});
  dims->back() = outputs;
  return reshape(y, *dims);
}

// Integers as ONNX's integer layers widen them: (Convert(q) - zero), in i32.
struct Widened {
  Value q, zero;  // `zero` may be empty
};
Widened widened_of(Value v, DType type) {
  Value zero;
  if (NodeRef subtract = made_by(v, "Subtract")) {
    NodeRef level = made_by(subtract.input(1), "Convert");
    v = subtract.input(0), zero = level ? level.input(0) : subtract.input(1);
  }
  NodeRef convert = made_by(v, "Convert");
  if (!convert || v.type() != DType::i32 || convert.input(0).type() != type) return {};
  return {convert.input(0), zero};
}

// Convert(MatMul(a - zero, b) in i32) to f32  =>  a layer; the zero point is computed at run time
Value from_integers(Rewrite& at) {
  NodeRef product = at.self().type() == DType::f32 ? piece(at.input(0), "MatMul") : NodeRef();
  if (!product || at.input(0).type() != DType::i32 || product.get<bool>("transpose_a", false)) return {};
  Widened a = widened_of(product.input(0), DType::u8), b = widened_of(product.input(1), DType::i8);
  if (!a.q || !b.q || !b.q.constant() || b.q.rank() != 2 || (b.zero && number(b.zero) != std::optional(0.0))) return {};
  auto dims = static_dims(a.q), weights = static_dims(b.q);
  if (!dims || dims->size() < 2 || count_of(*weights) == 0) return {};
  if (a.zero && (a.zero.type() != DType::u8 || !a.zero.shape().is_static() || a.zero.shape().elements().value() != 1))
    return {};
  bool transposed = product.get<bool>("transpose_b", false);
  int64_t depth = dims->back(), outputs = (*weights)[transposed ? 0 : 1];
  Value rows = transposed ? b.q : transpose(b.q, {1, 0});
  Value ones = at.typed(std::vector<double>(static_cast<size_t>(outputs), 1.0), {outputs}, DType::f32);
  Value y = at.op(layer, {reshape(a.q, {-1, depth, 1}), reshape(rows, {outputs, depth, 1}), ones, {}, {}, a.zero}, {});
  dims->back() = outputs;
  return reshape(y, *dims);
}

// ---- what follows a layer ----

bool gives_bytes(const NodeRef& n) { return n.get<double>("factor", 0) > 0; }
bool is_bounded(const NodeRef& n) {
  return n.get<double>("low", -infinity) != -infinity || n.get<double>("high", infinity) != infinity;
}
bool has(const NodeRef& n, size_t input) { return input < n.inputs() && n.input(input); }
// A layer that gives numbers to one consumer.
NodeRef open(const Value& v) {
  NodeRef n = piece(v, layer);
  return n && !gives_bytes(n) ? n : NodeRef();
}
std::vector<Value> inputs_of(const NodeRef& n) {
  std::vector<Value> all;
  for (size_t i = 0; i < n.inputs(); ++i) all.push_back(n.input(i));
  all.resize(6);
  return all;
}

Value with_bias(Rewrite& at, const NodeRef& conv, const Value& other) {
  Shape y = conv.output().shape();
  if (has(conv, 3) || has(conv, 4) || is_bounded(conv) || !other.constant() || !y.ranked() || !y[1].known()) return {};
  auto length = length_along(other, y.rank(), 1);
  if (!length || *length != y[1].value() || other.type() != DType::f32) return {};
  std::vector<Value> all = inputs_of(conv);
  auto values = other.values<double>();
  if (!values) return {};
  all[3] = at.typed(*values, {*length}, DType::f32);
  return at.like(conv, all);
}

// Adds what is beside it to a layer. A layer of bytes whose result is made numbers again rounds before the sum.
Value with_sum(Rewrite& at, NodeRef conv, const NodeRef& again, const Value& other) {
  if (has(conv, 4) || other.constant() || other.type() != DType::f32) return {};
  Shape y = conv.output().shape();
  if (!y.is_static() || !other.shape().is_static() || y.values() != other.shape().values()) return {};
  std::vector<NamedAttr> attrs;
  if (again) {
    double factor = conv.get<double>("factor"), zero = static_cast<double>(conv.get<int64_t>("zero"));
    double low = std::nearbyint(conv.get<double>("low", -infinity) * factor);
    double high = std::nearbyint(conv.get<double>("high", infinity) * factor);
    if (again.get<int64_t>("zero") != conv.get<int64_t>("zero")) return {};
    attrs = {{"level_factor", factor},
             {"level_low", std::max(low, -zero)},
             {"level_high", std::min(high, 255 - zero)},
             {"level_step", again.get<double>("scale")},
             {"low", -infinity},
             {"high", infinity},
             {"factor", 0.0},
             {"zero", int64_t{0}}};
  } else if (is_bounded(conv)) {
    return {};
  }
  std::vector<Value> all = inputs_of(conv);
  all[4] = other;
  if (NodeRef bytes = bytes_behind(other)) {
    all[4] = bytes.input(0);
    attrs.push_back({"sum_zero", static_cast<double>(bytes.get<int64_t>("zero"))});
    attrs.push_back({"sum_scale", bytes.get<double>("scale")});
  }
  return at.like(conv, all, attrs);
}

Value after_add(Rewrite& at) {
  for (size_t i : {size_t{0}, size_t{1}})
    if (NodeRef conv = open(at.input(i)))
      if (Value y = with_bias(at, conv, at.input(1 - i))) return y;
  for (size_t i : {size_t{0}, size_t{1}}) {
    if (NodeRef conv = open(at.input(i)))
      if (Value y = with_sum(at, conv, {}, at.input(1 - i))) return y;
    NodeRef again = piece(at.input(i), "Dequantize"), conv = again ? piece(again.input(0), layer) : NodeRef();
    if (conv)
      if (Value y = with_sum(at, conv, again, at.input(1 - i))) return y;
  }
  return {};
}

Value after_bounds(Rewrite& at) {
  NodeRef conv = open(at.input(0));
  auto bounds = conv && !is_bounded(conv) ? bounds_of(at.node()) : std::nullopt;
  return bounds ? at.like(conv, inputs_of(conv), {{"low", bounds->low}, {"high", bounds->high}}) : Value();
}

// A layer that gives bytes. The levels per unit become part of the last factors, so that the result needs none.
Value in_levels(Rewrite& at, const NodeRef& conv, double scale, int64_t zero) {
  double factor = 1 / static_cast<float>(scale);
  std::vector<Value> all = inputs_of(conv);
  std::vector<NamedAttr> attrs{{"factor", 1.0}, {"zero", zero}};
  auto scaled = [&](std::string_view name, double absent) {
    attrs.push_back({name, conv.get<double>(name, absent) * factor});
  };
  scaled("low", -infinity), scaled("high", infinity);
  if (has(conv, 4)) scaled("sum_scale", 1);
  if (conv.get<double>("level_factor", 0) > 0) {
    scaled("level_step", 0);
    return at.like(conv, all, attrs);
  }
  for (size_t port : {size_t{2}, size_t{3}}) {
    if (!all[port]) continue;
    auto values = all[port].values<double>();
    if (!values) return {};
    for (double& v : *values) v *= factor;
    auto count = static_cast<int64_t>(values->size());
    all[port] = at.typed(*values, {count}, DType::f32);
  }
  return at.like(conv, all, attrs);
}

// Quantize(Dequantize(q)) with the same levels  =>  q;  Quantize(layer)  =>  a layer that gives bytes
Value after_quantize(Rewrite& at) {
  Value x = at.input(0);
  auto scale = at.get<double>("scale");
  auto zero = at.get<int64_t>("zero", 0);
  NodeRef back = made_by(x, "Dequantize");
  if (back && back.get<double>("scale") == scale && back.get<int64_t>("zero", 0) == zero &&
      back.input(0).type() == at.self().type())
    return back.input(0);
  NodeRef conv = open(x);
  if (!conv || at.self().type() != DType::u8) return {};
  return in_levels(at, conv, scale, zero);
}

// MaxPool(Dequantize(q))  =>  Dequantize(MaxPool(q))
Value after_pool(Rewrite& at) {
  NodeRef data = bytes_behind(at.input(0)), pool = at.node();
  if (!data || at.input(0).rank() > 4 || (pool.outputs() > 1 && at.output_used(1))) return {};
  auto rounding = pool.get<std::string>("rounding_type", "floor");
  auto kernel = pool.get<std::vector<int64_t>>("kernel");
  for (std::string_view pads : {"pads_begin", "pads_end"}) {
    auto all = pool.get<std::vector<int64_t>>(pads);
    for (size_t i = 0; i < std::min(all.size(), kernel.size()); ++i)
      if (all[i] >= kernel[i]) return {};
  }
  for (int64_t d : pool.get<std::vector<int64_t>>("dilations", {}))
    if (d != 1) return {};
  if (rounding != "floor" && rounding != "ceil") return {};
  std::vector<NamedAttr> attrs;
  for (const NamedAttr& a : pool.attributes())
    for (std::string_view known : {"strides", "pads_begin", "pads_end", "kernel", "rounding_type", "auto_pad"})
      if (a.name == known) attrs.push_back(a);
  return at.like(data, {at.op("MaxPool@1", {data.input(0)}, attrs)});
}

Value from_convert(Rewrite& at) { return at.self().type() == DType::f32 ? from_integers(at) : to_quantize(at); }

struct Visit {
  std::string_view type;
  Value (*rewrite)(Rewrite&);
};
constexpr Visit visits[] = {
    {"Add", after_add},      {"Clamp", after_bounds}, {"Convert", from_convert},   {"Convolution", from_convolution},
    {"MatMul", from_matmul}, {"MaxPool", after_pool}, {"Multiply", to_dequantize}, {"Quantize", after_quantize},
    {"Relu", after_bounds}};

Value visit(Rewrite& at) {
  for (const Visit& v : visits)
    if (at.node().is(v.type)) return v.rewrite(at);
  return {};
}

}  // namespace

Definitions cpu_fuse_quantized() {
  return Pass("cpu_quantized")
      .doc("compute quantized convolutions and products, and what surrounds them, with bytes")
      .device("CPU")
      .before("sink_transposes")
      .visit_rows(visits, visit);
}

}  // namespace graft
