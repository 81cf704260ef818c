// The CPU's own passes: convolutions take in what follows them.
#include <graft/activation.hpp>
#include <graft/expressions.hpp>
#include <graft/formula.hpp>
#include <graft/op.hpp>

#include "fuse_activation.hpp"

namespace graft {
namespace {

constexpr std::string_view fused = "FusedConvolution";

// Convolution(x, w)  =>  FusedConvolution(x, w)
Value from_convolution(Rewrite& at) {
  Value x = at.input(0), w = at.input(1);
  if (x.type() != DType::f32 || !w.constant() || !x.shape().ranked() || x.rank() > 4) return {};
  std::vector<NamedAttr> attrs{{"grouped", at.node().is("GroupConvolution")}};
  for (const NamedAttr& a : at.node().attributes())  // an IR may have others, which mean nothing
    for (std::string_view known : {"strides", "dilations", "pads_begin", "pads_end", "auto_pad"})
      if (a.name == known) attrs.push_back(a);
  return at.op(fused, {x, w}, attrs);
}

// A fused convolution that has no activation yet and no other consumer.
NodeRef open(const Value& v) {
  NodeRef n = producer(v);
  return n.is(fused) && used_once(v) && n.has({"activation", "none"}) ? n : NodeRef();
}

std::vector<Value> inputs_of(const NodeRef& n) {
  std::vector<Value> all;
  for (size_t i = 0; i < n.inputs(); ++i) all.push_back(n.input(i));
  all.resize(4);
  return all;
}

// conv + bias  =>  conv with bias;  conv + x  =>  conv with sum
Value add(Rewrite& at) {
  for (size_t i : {size_t{0}, size_t{1}}) {
    NodeRef conv = open(at.input(i));
    Value other = at.input(1 - i);
    if (!conv) continue;
    std::vector<Value> all = inputs_of(conv);
    Shape y = conv.output().shape(), s = other.shape();
    if (all[3] || !y.ranked() || !s.is_static() || other.type() != DType::f32) continue;
    auto channels = y[1];
    if (other.constant() && !all[2] && channels.known()) {
      auto length = length_along(other, y.rank(), 1);
      if (!length || *length != channels.value()) continue;
      all[2] = reshape(other, {channels.value()});
      return at.like(conv, all);
    }
  }
  for (size_t i : {size_t{0}, size_t{1}}) {
    NodeRef conv = open(at.input(i));
    Value other = at.input(1 - i);
    if (!conv) continue;
    std::vector<Value> all = inputs_of(conv);
    Shape y = conv.output().shape();
    if (all[3] || other.constant() || !y.is_static() || other.type() != DType::f32) continue;
    if (!other.shape().is_static() || other.shape().values() != y.values()) continue;
    all[3] = other;
    return at.like(conv, all);
  }
  return {};
}

Value activation(Rewrite& at) {
  NodeRef conv = open(at.input(0));
  auto attributes = conv ? fused_activation(at.node()) : std::nullopt;
  return attributes ? at.like(conv, inputs_of(conv), *attributes) : Value();
}

}  // namespace

Definitions cpu_fuse_convolution() {
  return {Pass("cpu_convolutions")
              .doc("give convolutions the form that takes in what follows them")
              .device("CPU")
              .visit({"Convolution", "GroupConvolution"}, from_convolution),
          Pass("cpu_fuse_add").doc("fuse biases and sums into convolutions").device("CPU").visit({"Add"}, add),
          Pass("cpu_fuse_activation")
              .doc("fuse activations into convolutions")
              .device("CPU")
              .after("cpu_fuse_add")
              .visit({"Relu", "Sigmoid", "Tanh", "HSwish", "HSigmoid", "Clamp", "Swish", "PRelu"}, activation)};
}

}  // namespace graft
