// Experimental layers of early ONNX files: ImageScaler, Affine, Crop, ConstantFill.
#include <graft/op.hpp>

namespace graft {
namespace {

Value import_image_scaler(Builder& layer) {
  Value x = layer.input(0) * layer.get<float>("scale", 1.0f);
  auto bias = layer.get<std::vector<double>>("bias", {});
  if (bias.empty()) return x;
  auto n = static_cast<int64_t>(bias.size());
  return x + layer.typed(bias, {1, n, 1, 1}, x.type());
}

Value import_affine(Builder& layer) {
  return layer.input(0) * layer.get<float>("alpha", 1.0f) + layer.get<float>("beta", 0.0f);
}

// Borders are left, top, right, bottom; with a scale (height, width) only the first two are used.
Value import_crop(Builder& layer) {
  auto border = layer.get<std::vector<int64_t>>("border");
  auto scale = layer.get<std::vector<int64_t>>("scale", {});
  bool sized = layer.has("scale");
  if (border.size() != 4 && !(sized && border.size() >= 2)) fail("expected 4 values in 'border', got ", border.size());
  if (sized && scale.size() != 2) fail("expected 2 values in 'scale', got ", scale.size());
  for (int64_t b : border)
    if (b < 0 || b > INT32_MAX) fail("expected non-negative values in 'border', got ", b);
  for (int64_t s : scale)
    if (s < 0 || s > INT32_MAX) fail("expected non-negative values in 'scale', got ", s);
  auto until = [](int64_t off) { return off == 0 ? INT64_MAX : -off; };
  std::vector<int64_t> stop =
      sized ? std::vector{border[1] + scale[0], border[0] + scale[1]} : std::vector{until(border[3]), until(border[2])};
  return layer.op("Slice", {layer.input(0), layer.ints({border[1], border[0]}), layer.ints(stop), layer.ints({1, 1}),
                            layer.ints({2, 3})});
}

Value import_constant_fill(Builder& layer) {
  DType type = onnx_element_type(layer.get<int64_t>("dtype", 1));
  Value value = layer.scalar(layer.get<float>("value", 0.0f), type), target;
  if (layer.has_input(0) && layer.get<bool>("input_as_shape", true)) {
    target = layer.input(0);
    if (layer.has("extra_shape")) {
      Value extra = convert(layer.ints(layer.get<std::vector<int64_t>>("extra_shape")), target.type());
      target = layer.op("Concat", {target, extra}, {{"axis", 0}});
    }
  } else if (layer.has("shape")) {
    target = layer.ints(layer.get<std::vector<int64_t>>("shape"));
  } else if (layer.has_input(0)) {
    target = shape_of(layer.input(0));
  } else {
    fail("expected an attribute 'shape' or an input, got neither");
  }
  return layer.op("Broadcast", {value, target}, {{"mode", "numpy"}});
}

}  // namespace

Definitions define_onnx_old() {
  return {
      onnx("ImageScaler").expand(import_image_scaler),
      onnx("Affine").expand(import_affine),
      onnx("Crop").expand(import_crop),
      onnx("ConstantFill").expand(import_constant_fill),
  };
}

}  // namespace graft
