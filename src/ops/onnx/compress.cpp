// Compress: selects the slices along an axis for which a condition is true.
#include <graft/op.hpp>

namespace graft {
namespace {

// Finds the true positions, then gathers them; a condition shorter than the axis drops the rest.
Value import_compress(Builder& layer) {
  Value x = layer.input(0), condition = layer.input(1);
  int64_t axis = layer.get<int64_t>("axis", 0);
  if (!layer.has("axis")) x = reshape(x, {-1});
  Value positions = squeeze(layer.op("NonZero", {condition}, {{"output_type", DType::i64}}), {0});
  return layer.op("Gather", {x, positions, layer.scalar(axis)});
}

}  // namespace

Definitions define_onnx_compress() { return onnx("Compress").expand(import_compress); }

}  // namespace graft
