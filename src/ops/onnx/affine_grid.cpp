#include <graft/op.hpp>

namespace graft {
namespace {

// Normalized coordinates (-1..1) along axis `i` of an output of these sizes: the centers of its elements, or from
// exactly -1 to 1 if corners are aligned.
Value grid_places(Builder& layer, Value sizes, int64_t i, bool align_corners) {
  Value n = layer.op("Gather", {sizes, layer.scalar(i), layer.scalar(int64_t{0})});
  Value steps =
      layer.op("Range", {layer.scalar(int64_t{0}), n, layer.scalar(int64_t{1})}, {{"output_type", DType::f32}});
  Value last = convert(n, DType::f32) - 1;
  return (steps * 2 - last) / (align_corners ? layer.op("Maximum", {last, like(last, 1)}) : last + 1);
}

// theta [N, axes, axes + 1] times the homogeneous coordinates (positions..., 1), column by column.
Value import_affine_grid(Builder& layer) {
  Value theta = layer.input(0), sizes = layer.input(1);
  Shape list = sizes.shape();
  if (!list.ranked() || list.rank() != 1 || !list[0].known())
    needs_shape("the number of spatial axes is unknown, but this conversion requires it");
  int64_t axes = list[0].value() - 2;
  if (axes != 2 && axes != 3) fail("expected 4 or 5 sizes, got shape ", list);
  bool align_corners = layer.get<bool>("align_corners", false);
  std::vector<int64_t> ones;
  for (int64_t i = 1; i <= axes; ++i) ones.push_back(i);
  auto column = [&](int64_t k) {
    return unsqueeze(layer.op("Gather", {theta, layer.scalar(k), layer.scalar(int64_t{2})}), ones);
  };
  Value grid = column(axes);
  for (int64_t k = 0; k < axes; ++k) {
    // The first column belongs to the last axis.
    std::vector<int64_t> dims(static_cast<size_t>(axes) + 2, 1);
    dims[static_cast<size_t>(axes - k)] = -1;
    Value places = reshape(grid_places(layer, sizes, axes + 1 - k, align_corners), dims);
    grid = grid + column(k) * convert(places, theta.type());
  }
  return grid;
}

}  // namespace

Definitions define_onnx_affine_grid() { return onnx("AffineGrid").expand(import_affine_grid); }

}  // namespace graft
