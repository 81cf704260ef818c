// Feature preprocessing of ai.onnx.ml: Binarizer, Scaler, ArrayFeatureExtractor.
#include <graft/op.hpp>

namespace graft {
namespace {

Value import_binarizer(Builder& layer) {
  Value x = layer.input(0);
  float threshold = layer.get<float>("threshold", 0.0f);
  // An integer exceeds a threshold exactly if it exceeds the floor of it.
  double bound = is_real(x.type()) ? threshold : std::floor(threshold);
  return convert(layer.op("Greater", {x, like(x, bound)}), x.type());
}

// (x - offset) * scale, with one value for all features or one per feature.
Value import_scaler(Builder& layer) {
  Value x = convert(layer.input(0), DType::f32);
  auto list = [&](const char* name) {
    auto v = layer.get<std::vector<float>>(name);
    auto n = static_cast<int64_t>(v.size());
    return layer.constant(std::move(v), {n});
  };
  if (layer.has("offset")) x = x - list("offset");
  return layer.has("scale") ? x * list("scale") : x;
}

// A 1-D input yields a matrix of one row.
Value import_array_feature_extractor(Builder& layer) {
  Value x = layer.input(0), index = layer.op("Reshape", {layer.input(1), layer.ints({-1})}, {{"special_zero", false}});
  if (x.rank() == 1) x = unsqueeze(x, {0});
  return layer.op("Gather", {x, index, layer.scalar(int64_t{-1})});
}

}  // namespace

Definitions define_onnx_features() {
  return {
      onnx("Binarizer").domain("ai.onnx.ml").expand(import_binarizer),
      onnx("Scaler").domain("ai.onnx.ml").expand(import_scaler),
      onnx("ArrayFeatureExtractor").domain("ai.onnx.ml").expand(import_array_feature_extractor),
  };
}

}  // namespace graft
