// The CPU's own passes: matrix products take in the transposes before and after them, and what follows them.
#include <graft/formula.hpp>
#include <graft/kit/expressions.hpp>
#include <graft/op.hpp>

#include "fuse_epilogue.hpp"

namespace graft {
namespace {

constexpr std::string_view fused = "FusedMatMul";

// MatMul(a, b)  =>  FusedMatMul(a, b)
Value from_matmul(Rewrite& at) {
  Value a = at.input(0), b = at.input(1);
  if (!at.node().is("MatMul") || a.type() != DType::f32 || b.type() != DType::f32) return {};
  if (!a.shape().ranked() || !b.shape().ranked() || a.rank() < 2 || b.rank() < 2) return {};
  return at.op(
      fused, {a, b},
      {{"transpose_a", at.get<bool>("transpose_a", false)}, {"transpose_b", at.get<bool>("transpose_b", false)}});
}

std::vector<Value> inputs_of(const NodeRef& n) {
  std::vector<Value> all;
  for (size_t i = 0; i < n.inputs(); ++i) all.push_back(n.input(i));
  all.resize(4);
  return all;
}
std::vector<int64_t> order_of(const NodeRef& n, std::string_view name) {
  return n.get<std::vector<int64_t>>(name, std::vector<int64_t>());
}

// A product that has no epilogue and no order of its result yet, and no other consumer.
NodeRef open(const Value& v) {
  NodeRef n = piece(v, fused);
  return n && has_no_epilogue(n) && order_of(n, "order_y").empty() ? n : NodeRef();
}

// The order of a Transpose of static shape.
std::vector<int64_t> moved(const NodeRef& transpose) {
  auto given = transpose ? whole_numbers(transpose.input(1)) : std::nullopt;
  Shape s = transpose ? transpose.input(0).shape() : Shape::unknown();
  if (!given || !s.ranked()) return {};
  if (given->empty())
    for (size_t i = s.rank(); i-- > 0;) given->push_back(static_cast<int64_t>(i));
  if (given->size() != s.rank()) return {};
  std::vector<int64_t> order;
  for (size_t axis : normalize_axes(*given, s.rank())) order.push_back(static_cast<int64_t>(axis));
  return order;
}

// FusedMatMul(Transpose(x), y)  =>  FusedMatMul(x, y) {order_a}, if the matrices keep a contiguous axis
Value operand(Rewrite& at) {
  NodeRef self = at.node();
  constexpr std::string_view names[] = {"order_a", "order_b"};
  for (size_t i : {size_t{0}, size_t{1}}) {
    std::vector<int64_t> order = moved(made_by(at.input(i), "Transpose"));
    if (order.size() < 2 || at.input(i).constant() || !order_of(self, names[i]).empty()) continue;
    auto last = static_cast<int64_t>(order.size()) - 1;
    if (order[order.size() - 1] != last && order[order.size() - 2] != last) continue;
    std::vector<Value> all = inputs_of(self);
    all[i] = producer(at.input(i)).input(0);
    return at.like(self, all, {{names[i], order}});
  }
  return {};
}

// Transpose(FusedMatMul(x, y))  =>  FusedMatMul(x, y) {order_y}, if the rows stay contiguous
Value result(Rewrite& at) {
  NodeRef product = piece(at.input(0), fused);
  if (!product || !order_of(product, "order_y").empty()) return {};
  std::vector<int64_t> order = moved(at.node());
  if (order.size() < 2 || order.back() != static_cast<int64_t>(order.size()) - 1) return {};
  return at.like(product, inputs_of(product), {{"order_y", order}});
}

// product * number  =>  product with a scale
Value scale(Rewrite& at) {
  for (size_t i : {size_t{0}, size_t{1}}) {
    NodeRef product = open(at.input(i));
    auto factor = product ? single(at.input(1 - i)) : std::nullopt;
    if (!factor || !has_rank_of(at.self(), at.input(i))) continue;
    std::vector<Value> all = inputs_of(product);
    if (all[2] || all[3]) continue;
    return at.like(product, all, {{"scale", *factor * product.get<double>("scale", 1.0)}});
  }
  return {};
}

// product + bias  =>  product with bias;  product + x  =>  product with sum
Value add(Rewrite& at) {
  for (size_t i : {size_t{0}, size_t{1}}) {
    NodeRef product = open(at.input(i));
    Value other = at.input(1 - i);
    if (!product || !other.constant() || other.type() != DType::f32) continue;
    std::vector<Value> all = inputs_of(product);
    Shape y = product.output().shape();
    Dim columns = y[y.rank() - 1];
    if (all[2] || !columns.known() || other.rank() > y.rank()) continue;
    auto length = length_along(other, y.rank(), y.rank() - 1);
    if (!length || *length != columns.value()) continue;
    all[2] = reshape(other, {columns.value()});
    return at.like(product, all);
  }
  for (size_t i : {size_t{0}, size_t{1}}) {
    NodeRef product = open(at.input(i));
    Value other = at.input(1 - i);
    if (!product || other.type() != DType::f32) continue;
    std::vector<Value> all = inputs_of(product);
    Shape y = product.output().shape(), s = other.shape();
    if (all[3] || !fills(s, y) || s.rank() == 0 || !s[s.rank() - 1].same(y[y.rank() - 1])) continue;
    all[3] = other;
    return at.like(product, all);
  }
  return {};
}

Value activation(Rewrite& at) {
  NodeRef product = open(at.input(0));
  return product ? with_epilogue(at, product, inputs_of(product)) : Value();
}

}  // namespace

Definitions cpu_fuse_matmul() {
  return {Pass("cpu_products")
              .doc("give matrix products the form that takes in what surrounds them")
              .device("CPU")
              .visit({"MatMul"}, from_matmul),
          Pass("cpu_product_operands")
              .doc("fuse transposes of operands into matrix products")
              .device("CPU")
              .after("cpu_products")
              .visit({fused}, operand),
          Pass("cpu_product_scale")
              .doc("fuse factors into matrix products")
              .device("CPU")
              .after("cpu_product_operands")
              .visit({"Multiply"}, scale),
          Pass("cpu_product_add")
              .doc("fuse biases and sums into matrix products")
              .device("CPU")
              .after("cpu_product_scale")
              .visit({"Add"}, add),
          Pass("cpu_product_activation")
              .doc("fuse element-wise operations of one tensor into matrix products")
              .device("CPU")
              .after("cpu_product_add")
              .visit({Trait::elementwise, Trait::per_channel}, activation),
          Pass("cpu_product_result")
              .doc("fuse the transpose of the result into matrix products")
              .device("CPU")
              .after("cpu_product_activation")
              .visit({"Transpose"}, result)};
}

}  // namespace graft
