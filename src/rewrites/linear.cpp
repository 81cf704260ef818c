// Folds multiplications before and after convolutions and matrix products into their weights, and moves additions from
// before to after them if there is no padding.

#include <graft/formula.hpp>
#include <graft/kit/dequantize.hpp>
#include <graft/op.hpp>
namespace graft {
namespace {

// Plain constant weights. Quantized weights keep their dequantization: folding a factor would undo the compression.
bool are_plain_weights(const Value& w) { return producer(w).is("Constant") && is_plain_constant(w); }

// The channel axes within the weights of a layer and, for grouped ones, whether a group axis precedes them.
struct WeightAxes {
  std::string_view type;
  size_t out, in;  // axes of output and input channels within a group
  bool grouped;    // axis 0 is the group axis
};
constexpr WeightAxes weight_axes[] = {{"Convolution", 0, 1, false},
                                      {"GroupConvolution", 1, 2, true},
                                      {"ConvolutionBackpropData", 1, 0, false},
                                      {"GroupConvolutionBackpropData", 2, 1, true}};
std::optional<WeightAxes> axes_of(const NodeRef& n) {
  for (const WeightAxes& axes : weight_axes)
    if (n.is(axes.type)) return axes;
  return std::nullopt;
}

// Reshapes a per-channel constant (`length` channels) to broadcast against the weights; a single number stays one.
Value along_weights(const Value& c, int64_t length, const std::vector<int64_t>& weights, size_t axis, bool grouped) {
  if (length == 1) return reshape(c, {});
  std::vector<int64_t> dims(weights.size(), 1);
  dims[axis] = weights[axis];
  if (grouped) dims[0] = weights[0];
  return reshape(c, dims);
}

// A constant per input channel, repeated for each tap: arithmetic on long rows is faster than on a few taps.
Value by_tap(Rewrite& at, const Value& c, std::vector<int64_t> weights, size_t out) {
  weights[out] = 1;
  return at.op("Broadcast", {c, at.ints(weights)}, {{"mode", "numpy"}});
}

// The layer with new weights.
Value with_weights(Rewrite& at, const NodeRef& layer, const Value& data, const Value& weights) {
  std::vector<Value> inputs{data, weights};
  for (size_t i = 2; i < layer.inputs(); ++i) inputs.push_back(layer.input(i));
  return at.like(layer, inputs);
}

// Multiplies the weights of a convolution by `c`, which is per input or output channel.
Value scale_convolution(Rewrite& at, const NodeRef& layer, const Value& data, const Value& c, bool by_output) {
  auto axes = axes_of(layer);
  Value w = layer.input(1);
  auto dims = static_dims(w);
  if (!axes || !are_plain_weights(w) || !dims || w.type() != c.type()) return {};
  size_t axis = by_output ? axes->out : axes->in;
  int64_t channels = (*dims)[axis] * (axes->grouped ? (*dims)[0] : 1);
  auto length = length_along(c, layer.output().rank(), 1);
  if (!length || (*length != 1 && *length != channels)) return {};
  Value factor = along_weights(c, *length, *dims, axis, axes->grouped);
  if (!by_output && *length != 1) factor = by_tap(at, factor, *dims, axes->out);
  return with_weights(at, layer, data, w * factor);
}

// The same for a product with a constant matrix on the right.
Value scale_product(Rewrite& at, const NodeRef& layer, const Value& data, const Value& c, bool by_output) {
  Value w = layer.input(1);
  auto dims = static_dims(w);
  if (!are_plain_weights(w) || !dims || dims->size() != 2 || w.type() != c.type()) return {};
  if (!by_output && layer.get<bool>("transpose_a", false)) return {};
  size_t rank = by_output ? layer.output().rank() : data.rank();
  bool turned = layer.get<bool>("transpose_b", false);
  size_t axis = by_output != turned ? 1 : 0;
  auto length = length_along(c, rank, rank - 1);
  if (rank < 2 || !length || (*length != 1 && *length != (*dims)[axis])) return {};
  return with_weights(at, layer, data, w * along_weights(c, *length, *dims, axis, false));
}

// layer(x, w) * c  =>  layer(x, w * c)
Value multiply_behind(Rewrite& at) {
  auto [y, c] = with_constant(at.node());
  if (!c || !used_once(y)) return {};
  NodeRef layer = producer(y);
  if (!layer.is("MatMul") && !axes_of(layer)) return {};
  return layer.is("MatMul") ? scale_product(at, layer, layer.input(0), c, true)
                            : scale_convolution(at, layer, layer.input(0), c, true);
}

// Whether arithmetic with a constant keeps the shape of a value: weights cannot express broadcasting.
bool keeps_shape(const Value& before, const Value& after) {
  Shape a = before.shape(), b = after.shape();
  if (!a.ranked() || !b.ranked() || a.rank() != b.rank()) return false;
  for (size_t i = 0; i < a.rank(); ++i)
    if (!a[i].known() ? b[i].known() : !b[i].known() || a[i].value() != b[i].value()) return false;
  return true;
}

// layer(x * c, w)        =>  layer(x, w * c)
// layer(x * c + b, w)    =>  layer(x + b / c, w * c)
Value multiply_before(Rewrite& at) {
  NodeRef layer = at.node(), m = producer(at.input(0));
  if (!used_once(at.input(0))) return {};
  Value shift;
  if (m.is("Add")) {
    auto [inner, b] = with_constant(m);
    if (!b || !used_once(inner) || !keeps_shape(inner, at.input(0))) return {};
    shift = b;
    m = producer(inner);
  }
  // The numbers that a quantized layer is fed are not changed: its result is rounded to levels again.
  if (!m.is("Multiply") || dequantizes(m)) return {};
  auto [x, c] = with_constant(m);
  if (!c || !keeps_shape(x, at.input(0))) return {};
  if (shift) {
    Value moved = shift / c;
    if (!is_plain_constant(moved)) return {};
    x = x + moved;
  }
  return layer.is("MatMul") ? scale_product(at, layer, x, c, false) : scale_convolution(at, layer, x, c, false);
}

bool is_padded(const NodeRef& layer) {
  std::string mode = layer.get<std::string>("auto_pad", "explicit");
  if (mode == "valid") return false;
  if (mode != "explicit") return true;
  for (std::string_view pads : {"pads_begin", "pads_end"})
    for (int64_t p : layer.get<std::vector<int64_t>>(pads, {}))
      if (p != 0) return true;
  return false;
}

// layer(x + b, w)  =>  layer(x, w) + layer(b, w), if b contributes equally to every output
Value add_before(Rewrite& at) {
  NodeRef layer = at.node(), m = producer(at.input(0));
  if (!m.is("Add") || !used_once(at.input(0))) return {};
  auto [x, b] = with_constant(m);
  Value w = at.input(1);
  auto dims = static_dims(w);
  if (!b || !keeps_shape(x, at.input(0)) || !are_plain_weights(w) || !dims || w.type() != b.type()) return {};
  size_t rank = x.rank();
  if (layer.is("MatMul")) {
    if (dims->size() != 2 || rank < 2 || at.get<bool>("transpose_a", false)) return {};
    bool turned = at.get<bool>("transpose_b", false);
    int64_t inner = (*dims)[turned ? 1 : 0];
    auto length = length_along(b, rank, rank - 1);
    if (!length || *length != inner) return {};
    Value row = at.op("MatMul", {reshape(b, {1, inner}), w}, {{"transpose_b", turned}});
    return with_weights(at, layer, x, w) + reshape(row, {(*dims)[turned ? 0 : 1]});
  }
  auto length = length_along(b, rank, 1);
  if (!layer.is("Convolution") || is_padded(layer) || !length || *length != (*dims)[1]) return {};
  std::vector<int64_t> by_channel(rank, 1);
  by_channel[1] = (*dims)[0];
  Value column = by_tap(at, along_weights(b, *length, *dims, 1, false), *dims, 0);
  Value sums = at.op("MatMul", {reshape(w, {(*dims)[0], -1}), reshape(column, {-1, 1})});
  return with_weights(at, layer, x, w) + reshape(sums, by_channel);
}

// Whether the output is multiplied by a constant next. That is folded first: an addition in between would prevent it.
bool multiplied_next(const Value& y) {
  std::vector<Consumer> all = consumers(y);
  return all.size() == 1 && all[0].node.is("Multiply") && with_constant(all[0].node).second;
}

Value fuse(Rewrite& at) {
  if (at.node().is("Multiply")) return multiply_behind(at);
  if (multiplied_next(at.self())) return {};
  Value v = add_before(at);  // first: otherwise the addend is divided by the factor
  return v ? v : multiply_before(at);
}

}  // namespace

Definitions rewrite_linear() {
  return Pass("fuse_linear")
      .doc(
          "fold multiplications around convolutions and matrix products into their weights, and move additions after "
          "them")
      .visit_rows(weight_axes, fuse, {"Multiply", "MatMul"});
}

}  // namespace graft
