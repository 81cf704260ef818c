// The CPU's own passes: convolutions take in what follows them.
#include <graft/formula.hpp>
#include <graft/kit/expressions.hpp>
#include <graft/kit/windows.hpp>
#include <graft/op.hpp>

#include "fuse_epilogue.hpp"

namespace graft {
namespace {

constexpr std::string_view fused = "FusedConvolution";

// The taps [first, last) of an axis that are inside the input at some position; at least one.
std::pair<int64_t, int64_t> used_taps(const WindowAxis& w) {
  int64_t first = 0, last = w.kernel;
  auto unused = [&](int64_t tap) {
    auto [begin, end] = w.inside(tap);
    return begin == end;
  };
  while (first + 1 < last && unused(first)) ++first;
  while (first + 1 < last && unused(last - 1)) --last;
  return {first, last};
}

struct Windows {
  Value weights;
  std::vector<NamedAttr> attrs;
};

// A window that is large for its image, such as a dilated one, has taps that are in the padding at every position. They
// contribute nothing, and are cut off.
std::optional<Windows> cut_taps(const NodeRef& n) {
  Value w = n.input(1);
  auto x = static_dims(n.input(0)), y = static_dims(n.output());
  if (!x || !y || w.constant().size() == 0) return std::nullopt;
  using List = std::vector<int64_t>;
  WindowAttributes a{n.get<List>("strides", {}), n.get<List>("dilations", {}), n.get<List>("pads_begin", {}),
                     n.get<List>("pads_end", {})};
  std::string mode = n.get<std::string>("auto_pad", "explicit");
  if (mode != "explicit")
    a.auto_pad = mode == "valid" ? AutoPad::valid : mode == "same_lower" ? AutoPad::same_lower : AutoPad::same_upper;
  size_t spatial = x->size() - 2, leading = w.rank() - spatial;
  List kernel = w.shape().values();
  WindowAxes axes =
      window_axes(std::span(*x).subspan(2), std::span(*y).subspan(2), std::span(kernel).subspan(leading), a);
  List begins, ends;
  bool cut = false;
  for (size_t i = 0; i < spatial; ++i) {
    const WindowAxis& axis = axes[3 - spatial + i];
    auto [first, last] = used_taps(axis);
    if (last - first < axis.kernel) w = build::slice(w, static_cast<int64_t>(leading + i), first, last), cut = true;
    int64_t begin = -axis.offset(first), extent = (last - first - 1) * axis.dilation + 1;
    begins.push_back(begin);
    ends.push_back((axis.output - 1) * axis.stride + extent - axis.input - begin);
  }
  if (!cut) return std::nullopt;
  return Windows{w, {{"pads_begin", begins}, {"pads_end", ends}, {"auto_pad", "explicit"}}};
}

// Whether a window over three axes extends along two at most, or along the first only: that is one in images.
bool is_flat(const NodeRef& n) {
  std::vector<int64_t> kernel = n.input(1).shape().values();
  auto still = [&](size_t axis) {
    auto at = [&](std::string_view name, int64_t otherwise) {
      auto list = n.get<std::vector<int64_t>>(name, {});
      return axis < list.size() ? list[axis] : otherwise;
    };
    return kernel[kernel.size() - 3 + axis] == 1 && at("strides", 1) == 1 && at("pads_begin", 0) == 0 &&
           at("pads_end", 0) == 0;
  };
  return still(0) || (still(1) && still(2));
}

// Convolution(x, w)  =>  FusedConvolution(x, w)
Value from_convolution(Rewrite& at) {
  Value x = at.input(0), w = at.input(1);
  if (x.type() != DType::f32 || !w.constant() || !x.shape().ranked()) return {};
  if (x.rank() > 5 || (x.rank() == 5 && !is_flat(at.node()))) return {};
  std::vector<NamedAttr> attrs{{"grouped", at.node().is("GroupConvolution")}};
  std::optional<Windows> smaller = cut_taps(at.node());
  std::vector<std::string_view> kept{"strides", "dilations"};
  if (!smaller) kept.insert(kept.end(), {"pads_begin", "pads_end", "auto_pad"});
  for (const NamedAttr& a : at.node().attributes())  // an IR may have others, which mean nothing
    for (std::string_view known : kept)
      if (a.name == known) attrs.push_back(a);
  if (smaller) attrs.insert(attrs.end(), smaller->attrs.begin(), smaller->attrs.end());
  return at.op(fused, {x, smaller ? smaller->weights : w}, attrs);
}

// A fused convolution that has no epilogue yet and no other consumer.
NodeRef open(const Value& v) {
  NodeRef n = producer(v);
  return n.is(fused) && used_once(v) && has_no_epilogue(n) ? n : NodeRef();
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
  return conv ? with_epilogue(at, conv, inputs_of(conv)) : Value();
}

}  // namespace

Definitions cpu_fuse_convolution() {
  return {Pass("cpu_convolutions")
              .doc("give convolutions the form that takes in what follows them")
              .device("CPU")
              .visit({"Convolution", "GroupConvolution"}, from_convolution),
          Pass("cpu_fuse_add").doc("fuse biases and sums into convolutions").device("CPU").visit({"Add"}, add),
          Pass("cpu_fuse_activation")
              .doc("fuse element-wise operations of one tensor into convolutions")
              .device("CPU")
              .after("cpu_fuse_add")
              .visit({Trait::elementwise, Trait::per_channel}, activation)};
}

}  // namespace graft
