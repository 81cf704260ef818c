// Normalizes arithmetic with constants: at most one multiplication, then one addition.

#include <graft/formula.hpp>
#include <graft/kit/dequantize.hpp>
#include <graft/op.hpp>
namespace graft {
namespace {

bool numpy_broadcast(const NodeRef& n) { return n.get<std::string>("auto_broadcast", "numpy") == "numpy"; }

// Rounding amplifies a difference in the last bit to a whole step: what is rounded next is computed as written.
bool rounded_next(const Value& y) {
  for (const Consumer& r : consumers(y)) {
    if (r.node.has(Trait::rounds)) return true;
    if (r.node.is("Convert") && is_integer(r.node.output(0).type())) return true;
  }
  return false;
}
// Integers minus an integer (a zero point) are exact, so their product is correctly rounded.
bool exact_sum(const Value& x, const Value& a) {
  NodeRef n = producer(x);
  if (!n.is("Convert") || !is_integer(n.input(0).type()) || a.constant().size() > (1 << 20)) return false;
  for (double v : a.constant().to<double>())
    if (v != std::nearbyint(v) || std::fabs(v) > (1 << 23)) return false;
  return true;
}

// x - c  =>  x + -c, unless c is the zero point of bytes: devices look for that
Value subtract_to_add(Rewrite& at) {
  Value x = at.input(0), c = at.input(1);
  if (!numpy_broadcast(at.node()) || x.constant() || !is_plain_constant(c)) return {};
  if (single(c) && exact_sum(x, c)) return {};
  return x + at.op("Negative", {c});
}

// x / c  =>  x * (1 / c)
Value divide_to_multiply(Rewrite& at) {
  Value x = at.input(0), c = at.input(1);
  if (!numpy_broadcast(at.node()) || x.constant() || !is_plain_constant(c)) return {};
  if (rounded_next(at.node().output(0))) return {};
  Value inverse = 1 / c;
  return is_plain_constant(inverse) ? x * inverse : Value();
}

// Two constants are combined only if the result is not larger than both together.
bool joins(const Value& a, const Value& b, const Value& both) {
  auto x = static_dims(a), y = static_dims(b), z = static_dims(both);
  return x && y && z && is_plain_constant(both) &&
         count_of(std::span<const int64_t>(*z)) <=
             std::max(count_of(std::span<const int64_t>(*x)), count_of(std::span<const int64_t>(*y)));
}

// (x * a) * b  =>  x * (a * b)        (x + a) * b  =>  x * b + a * b
Value join_multiply(Rewrite& at) {
  auto [inner, b] = with_constant(at.node());
  if (!b || !numpy_broadcast(at.node())) return {};
  NodeRef n = producer(inner);
  if (!(n.is("Multiply") || n.is("Add")) || !numpy_broadcast(n) || !used_once(inner) || dequantizes(n)) return {};
  auto [x, a] = with_constant(n);
  if (!a) return {};
  Value both = a * b;
  if (!joins(a, b, both) || (n.is("Add") && exact_sum(x, a))) return {};
  return n.is("Multiply") ? x * both : x * b + both;
}

// (x + a) + b  =>  x + (a + b)
Value join_add(Rewrite& at) {
  auto [inner, b] = with_constant(at.node());
  if (!b || !numpy_broadcast(at.node())) return {};
  NodeRef n = producer(inner);
  if (!n.is("Add") || !numpy_broadcast(n) || !used_once(inner)) return {};
  auto [x, a] = with_constant(n);
  if (!a) return {};
  Value both = a + b;
  return joins(a, b, both) ? x + both : Value();
}

Value join(Rewrite& at) {
  if (rounded_next(at.node().output(0))) return {};
  return at.node().is("Multiply") ? join_multiply(at) : join_add(at);
}

// Whether the layer that produces a value can absorb arithmetic with constants that follows it.
bool absorbed_by_producer(const Value& x) {
  NodeRef n = producer(x);
  bool takes = is_convolution(n) || is_backprop(n) || n.is("MatMul") || n.is("Multiply") || n.is("Add");
  if (!takes || !used_once(x)) return false;
  return (!n.is("Multiply") && !n.is("Add")) || with_constant(n).second;
}

// The same for the only consumer of a value. A convolution with padding takes the factor, but not the addend.
bool absorbed_by_consumer(const Value& y) {
  std::vector<Consumer> all = consumers(y);
  if (all.size() != 1 || all[0].input != 0 || !all[0].node.is("Convolution")) return false;
  NodeRef n = all[0].node;
  for (std::string_view pads : {"pads_begin", "pads_end"})
    for (int64_t p : n.get<std::vector<int64_t>>(pads, {}))
      if (p != 0) return false;
  std::string mode = n.get<std::string>("auto_pad", "explicit");
  return (mode == "explicit" || mode == "valid") && is_plain_constant(n.input(1));
}

// Reshape(MatMul(x, w)) to a matrix  =>  MatMul(Reshape(x), w)
Value product_of_rows(Rewrite& at, const Value& y) {
  NodeRef rows = piece(y, "Reshape"), product = rows ? piece(rows.input(0), "MatMul") : NodeRef();
  if (!product || product.get<bool>("transpose_a", false)) return {};
  Value x = product.input(0), w = product.input(1);
  auto from = static_dims(x), to = static_dims(y), weights = static_dims(w);
  if (!from || from->size() < 2 || !to || to->size() != 2 || !weights || weights->size() != 2) return {};
  if (!is_plain_constant(w) || to->back() != (*weights)[product.get<bool>("transpose_b", false) ? 0 : 1]) return {};
  return at.like(product, {reshape(x, {to->front(), from->back()}), w});
}

// BatchNormInference next to a layer that can absorb it  =>  x * scale + shift
Value open_batch_norm(Rewrite& at) {
  size_t data = at.node().opset() == "opset1" ? 2 : 0;
  Value x = at.input(data);
  Value product = product_of_rows(at, x);
  if (!product && !absorbed_by_producer(x) && !absorbed_by_consumer(at.self())) return {};
  if (product) x = product;
  std::vector<Value> rest;
  for (size_t i = 0; i < 5; ++i)
    if (i != data) rest.push_back(at.input(i));
  for (const Value& v : rest)
    if (!is_plain_constant(v)) return {};
  // Rounded once: what is rounded here is an error of a whole channel.
  const DType type = rest[0].type();
  for (Value& v : rest) v = convert(v, DType::f64);
  auto& [gamma, beta, mean, variance] = *reinterpret_cast<Value(*)[4]>(rest.data());
  std::vector<int64_t> by_channel(x.rank(), 1);
  by_channel[1] = -1;
  Value scale = gamma / at.op("Sqrt", {variance + at.get<double>("epsilon")});
  Value shift = convert(beta - mean * scale, type);
  scale = convert(scale, type);
  if (!is_plain_constant(scale) || !is_plain_constant(shift)) return {};
  return x * reshape(scale, by_channel) + reshape(shift, by_channel);
}

}  // namespace

Definitions rewrite_multiply_add() {
  return {
      Pass("subtract_to_add")
          .doc("replace the subtraction of a constant by the addition of its negative")
          .visit({"Subtract"}, subtract_to_add),
      Pass("divide_to_multiply")
          .doc("replace the division by a constant by the multiplication with its reciprocal, unless the quotient is "
               "rounded next")
          .visit({"Divide"}, divide_to_multiply),
      Pass("fuse_batch_norm")
          .doc("replace a batch norm next to a linear layer by a multiplication and an addition, to be folded into the "
               "layer")
          .visit({"BatchNormInference"}, open_batch_norm),
      Pass("fuse_multiply_add")
          .doc("combine chains of multiplications and additions with constants into one of each, unless the result is "
               "rounded next")
          .visit({"Multiply", "Add"}, join),
  };
}

}  // namespace graft
