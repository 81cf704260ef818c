// Multiplications before and after convolutions and matrix products go into their weights.
#include "channels.hpp"

namespace graft {
namespace {

// Where the channels are in the weights of a layer: the axis and, for groups, the axis before it that they count along.
struct WeightAxes {
  size_t out, in;  // axes of output and input channels within a group
  bool grouped;    // axis 0 counts groups
};
std::optional<WeightAxes> axes_of(const NodeRef& n) {
  if (n.is("Convolution")) return WeightAxes{0, 1, false};
  if (n.is("GroupConvolution")) return WeightAxes{1, 2, true};
  if (n.is("ConvolutionBackpropData")) return WeightAxes{1, 0, false};
  if (n.is("GroupConvolutionBackpropData")) return WeightAxes{2, 1, true};
  return std::nullopt;
}

// A constant along the channels (`length` of them) as the weights need it; one number stays one.
Value along_weights(const Value& c, int64_t length, const std::vector<int64_t>& weights, size_t axis, bool grouped) {
  if (length == 1) return reshape(c, {});
  std::vector<int64_t> dims(weights.size(), 1);
  dims[axis] = weights[axis];
  if (grouped) dims[0] = weights[0];
  return reshape(c, dims);
}

// The layer with other weights.
Value with_weights(Rewrite& at, const NodeRef& layer, const Value& data, const Value& weights) {
  std::vector<Value> inputs{data, weights};
  for (size_t i = 2; i < layer.inputs(); ++i) inputs.push_back(layer.input(i));
  return at.like(layer, inputs);
}

// Multiplies the weights of a convolution by `c`, which stands along the input or the output channels of the layer.
Value scale_convolution(Rewrite& at, const NodeRef& layer, const Value& data, const Value& c, bool by_output) {
  auto axes = axes_of(layer);
  Value w = layer.input(1);
  auto dims = static_dims(w);
  if (!axes || !is_plain_constant(w) || !dims || w.type() != c.type()) return {};
  size_t axis = by_output ? axes->out : axes->in;
  int64_t channels = (*dims)[axis] * (axes->grouped ? (*dims)[0] : 1);
  auto length = length_along(c, layer.output().rank(), 1);
  if (!length || (*length != 1 && *length != channels)) return {};
  return with_weights(at, layer, data, w * along_weights(c, *length, *dims, axis, axes->grouped));
}

// The same for a product with a constant matrix on the right.
Value scale_product(Rewrite& at, const NodeRef& layer, const Value& data, const Value& c, bool by_output) {
  Value w = layer.input(1);
  auto dims = static_dims(w);
  if (!is_plain_constant(w) || !dims || dims->size() != 2 || w.type() != c.type()) return {};
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
  if (!c || !read_once(y)) return {};
  NodeRef layer = maker(y);
  if (!layer.is("MatMul") && !axes_of(layer)) return {};
  return layer.is("MatMul") ? scale_product(at, layer, layer.input(0), c, true)
                            : scale_convolution(at, layer, layer.input(0), c, true);
}

// layer(x * c, w)  =>  layer(x, w * c)
Value multiply_before(Rewrite& at) {
  NodeRef layer = at.node(), m = maker(at.input(0));
  if (!m.is("Multiply") || !read_once(at.input(0))) return {};
  auto [x, c] = with_constant(m);
  // A multiplication that also broadcasts its value does more than weights can.
  if (!c || x.rank() != at.input(0).rank()) return {};
  Shape before = x.shape(), after = at.input(0).shape();
  for (size_t i = 0; i < before.rank(); ++i)
    if (!before[i].known() ? after[i].known() : before[i].value() != after[i].value()) return {};
  return layer.is("MatMul") ? scale_product(at, layer, x, c, false) : scale_convolution(at, layer, x, c, false);
}

Value fuse(Rewrite& at) { return at.node().is("Multiply") ? multiply_behind(at) : multiply_before(at); }

}  // namespace

Ops rewrite_linear() {
  return Pass("fuse_linear")
      .doc("multiplications before and after convolutions and matrix products go into their weights")
      .visit({"Multiply", "Convolution", "GroupConvolution", "ConvolutionBackpropData", "GroupConvolutionBackpropData",
              "MatMul"},
             fuse);
}

}  // namespace graft
