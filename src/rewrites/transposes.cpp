// input -> Pad -> Multiply(constant) -> Transpose  =>  input -> Transpose -> Pad -> Multiply(constant')
//
// Preprocessing of a model input before a layer with another layout: the transposition moves to the front, so that the
// layer can absorb the rest. Everywhere else, sink_transposes moves transpositions down.

#include <graft/formula.hpp>
#include <graft/op.hpp>
namespace graft {
namespace {

using Order = std::vector<int64_t>;

// The operations between the transposition and a model input, nearest first; empty if they are not element-wise or
// padding.
std::vector<NodeRef> way_from_input(Value v) {
  std::vector<NodeRef> way;
  for (int depth = 0; depth < 16; ++depth) {
    NodeRef n = producer(v);
    if (n.is("Parameter")) return way;
    if (!n || !used_once(v)) return {};
    if (n.has(Trait::elementwise) && n.inputs() == 2) {
      auto [x, c] = with_constant(n);
      if (!c || x.rank() != n.output().rank()) return {};
      if (c == n.input(0) && !n.is("Add") && !n.is("Multiply")) return {};
      way.push_back(n);
      v = x;
    } else if (n.is("Convert") || (n.is("Pad") && n.input(1).constant() && n.input(2).constant())) {
      way.push_back(n);
      v = n.input(0);
    } else {
      return {};
    }
  }
  return {};
}

// The constant of an operation of this rank, permuted like the other operand.
Value turned(const Value& c, const Order& order, size_t rank) {
  std::vector<int64_t> dims = c.shape().values();
  dims.insert(dims.begin(), rank - dims.size(), 1);
  return transpose(reshape(c, dims), order);
}

Value raise(Rewrite& at) {
  auto order = at.input(1).values<int64_t>();
  if (!order) return {};
  size_t rank = at.input(0).rank();
  std::vector<NodeRef> way = way_from_input(at.input(0));
  if (way.empty() || order->size() != rank) return {};
  NodeRef first = way.back();
  Value x = first.is("Pad") || first.is("Convert") ? first.input(0) : with_constant(first).first;
  Value y = transpose(x, *order);
  for (size_t i = way.size(); i-- > 0;) {
    const NodeRef& n = way[i];
    if (n.is("Convert")) {
      y = at.like(n, {y});
    } else if (n.is("Pad")) {
      std::vector<Value> inputs{y, at.op("Gather@8", {n.input(1), at.ints(*order), at.scalar(int64_t{0})}),
                                at.op("Gather@8", {n.input(2), at.ints(*order), at.scalar(int64_t{0})})};
      for (size_t k = 3; k < n.inputs(); ++k) inputs.push_back(n.input(k));
      y = at.like(n, inputs);
    } else {
      y = at.like(n, {y, turned(with_constant(n).second, *order, rank)});
    }
  }
  return y;
}

}  // namespace

Definitions rewrite_transposes() {
  return Pass("raise_transposes")
      .doc("move a transposition before the preprocessing of a model input")
      .visit({"Transpose"}, raise);
}

}  // namespace graft
