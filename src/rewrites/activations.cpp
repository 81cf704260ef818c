// Fuses decomposed formulas of smooth activations into the activation.

#include <graft/formula.hpp>
#include <graft/op.hpp>
namespace graft {
namespace {

// Returns x if the node is ln(1 + e^x).
Value softplus_argument(const NodeRef& log) {
  if (!log.is("Log")) return {};
  NodeRef sum = piece(log.input(0), "Add");
  WithNumber e = sum ? beside_number(sum) : WithNumber();
  NodeRef exp = e && e.number == 1 ? piece(e.value, "Exp") : NodeRef();
  return exp ? exp.input(0) : Value();
}

// ln(1 + e^x)  =>  SoftPlus(x)
Value to_softplus(Rewrite& at) {
  Value x = softplus_argument(at.node());
  return x && suits(at, x) ? at.op("SoftPlus", {x}) : Value();
}

// x * tanh(SoftPlus(x)), x * tanh(ln(1 + e^x))  =>  Mish(x)
Value to_mish(Rewrite& at) {
  for (size_t i : {0, 1}) {
    Value x = at.input(1 - i);
    NodeRef tanh = piece(at.input(i), "Tanh");
    if (!tanh || !at.node().is("Multiply") || !suits(at, x)) continue;
    NodeRef plus = piece(tanh.input(0), "SoftPlus"), log = piece(tanh.input(0), "Log");
    if ((plus && plus.input(0) == x) || (log && softplus_argument(log) == x)) return at.op("Mish", {x});
  }
  return {};
}

// Returns u if the value is 1 / (1 + e^u).
Value logistic_argument(const Value& v) {
  NodeRef over = piece(v, "Divide");
  if (!over || single(over.input(0)) != 1.0) return {};
  NodeRef sum = piece(over.input(1), "Add");
  WithNumber e = sum ? beside_number(sum) : WithNumber();
  NodeRef exp = e && e.number == 1 ? piece(e.value, "Exp") : NodeRef();
  return exp ? exp.input(0) : Value();
}

Value swish_of(Rewrite& at, const Value& x, const std::optional<Polynomial>& inside, double sign) {
  if (!inside || !suits(at, x)) return {};
  auto [free, beta, square, cube] = *inside;
  if (free != 0 || beta == 0 || square != 0 || cube != 0) return {};
  beta *= sign;
  return beta == 1 ? at.op("Swish", {x}) : at.op("Swish", {x, at.scalar(beta, x.type())});
}

// x * sigmoid(x * beta), x * (1 / (1 + e^(-beta * x)))  =>  Swish(x, beta)
// x / (1 + e^(-beta * x))                               =>  Swish(x, beta)
Value to_swish(Rewrite& at) {
  NodeRef self = at.node();
  if (self.is("Divide")) {
    Value x = at.input(0);
    NodeRef sum = piece(at.input(1), "Add");
    WithNumber e = sum ? beside_number(sum) : WithNumber();
    NodeRef exp = e && e.number == 1 ? piece(e.value, "Exp") : NodeRef();
    return exp ? swish_of(at, x, polynomial(exp.input(0), x), -1) : Value();
  }
  if (!self.is("Multiply")) return {};
  for (size_t i : {0, 1}) {
    Value x = at.input(1 - i), y;
    if (NodeRef s = piece(at.input(i), "Sigmoid")) y = swish_of(at, x, polynomial(s.input(0), x), 1);
    else if (Value u = logistic_argument(at.input(i))) y = swish_of(at, x, polynomial(u, x), -1);
    if (y) return y;
  }
  return {};
}

// The function inside an affine expression.
NodeRef inner_function(const Value& v, int depth = 3) {
  NodeRef n = used_once(v) ? producer(v) : NodeRef();
  if (n.is("Erf") || n.is("Tanh")) return n;
  if (depth == 0) return {};
  if (n.is("Subtract") && (single(n.input(0)) || single(n.input(1))))
    return inner_function(n.input(single(n.input(0)) ? 1 : 0), depth - 1);
  if (!n.is("Add") && !n.is("Multiply")) return {};
  WithNumber w = beside_number(n);
  return w ? inner_function(w.value, depth - 1) : NodeRef();
}

// 0.5 * x * (1 + erf(x / sqrt(2)))                               =>  Gelu(x) {ERF}
// 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))      =>  Gelu(x) {TANH}
Value to_gelu(Rewrite& at) {
  constexpr double half_root = 0.70710678118654752440, slope = 0.79788456080286535588;
  Product p = product(at.node());
  if (p.terms.size() != 2) return {};
  for (size_t i : {0, 1}) {
    Value x = p.terms[i], bend = p.terms[1 - i];
    NodeRef f = inner_function(bend);
    if (!f || !suits(at, x)) continue;
    DType type = x.type();
    auto outside = polynomial(bend, f.output()), inside = polynomial(f.input(0), x);
    bool tanh = f.is("Tanh");
    for (double sign : {1.0, -1.0}) {  // both functions are odd: 1 + f(x) is 1 - f(-x)
      if (!near(outside, {0.5, 0.5 * sign, 0, 0}, type, p.number)) continue;
      if (tanh ? near(inside, {0, sign * slope, 0, sign * slope * 0.044715}, type)
               : near(inside, {0, sign * half_root, 0, 0}, type))
        return at.op("Gelu@7", {x}, {{"approximation_mode", tanh ? "TANH" : "ERF"}});
    }
  }
  return {};
}

std::optional<int64_t> reduced_axis(const NodeRef& n) {
  auto axes = n && n.get<bool>("keep_dims", false) ? whole_numbers(n.input(1)) : std::nullopt;
  return axes && axes->size() == 1 ? std::optional((*axes)[0]) : std::nullopt;
}

// e = exp(x - ReduceMax(x));  e / ReduceSum(e)  =>  Softmax(x)
// e = exp(x);                 e / ReduceSum(e)  =>  Softmax(x)
Value to_softmax(Rewrite& at) {
  Value e = at.input(0);
  NodeRef sum = piece(at.input(1), "ReduceSum"), exp = made_by(e, "Exp");
  auto axis = reduced_axis(sum);
  if (!at.node().is("Divide") || !exp || !axis || !(sum.input(0) == e) || !used_only_by(e, {at.node(), sum})) return {};
  Value x = exp.input(0);
  if (!suits(at, x) || x.rank() == 0) return {};
  auto place = normalize_axis(*axis, x.rank());
  if (NodeRef less = piece(x, "Subtract")) {
    NodeRef most = made_by(less.input(1), "ReduceMax");
    auto along = reduced_axis(most);
    if (along && most.input(0) == less.input(0) && normalize_axis(*along, x.rank()) == place) x = less.input(0);
  }
  return at.op("Softmax@8", {x}, {{"axis", static_cast<int64_t>(place)}});
}

}  // namespace

Definitions rewrite_activations() {
  return {
      Pass("fuse_softmax").doc("fuse e^x / sum(e^x) into Softmax").visit({"Divide"}, to_softmax),
      Pass("fuse_softplus").doc("fuse ln(1 + e^x) into SoftPlus").visit({"Log"}, to_softplus),
      Pass("fuse_mish").doc("fuse x * tanh(softplus(x)) into Mish").visit({"Multiply"}, to_mish),
      Pass("fuse_gelu")
          .doc("fuse 0.5 * x * (1 + erf(x / sqrt(2))), or its tanh form, into Gelu")
          .visit({"Multiply", "Divide"}, to_gelu),
      Pass("fuse_swish").doc("fuse x * sigmoid(x) into Swish").visit({"Multiply", "Divide"}, to_swish),
  };
}

}  // namespace graft
