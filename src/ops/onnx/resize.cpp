// Resize and Upsample: becomes Interpolate where the semantics agree, otherwise our own Resize operation.
#include <graft/list.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

struct LayerResize {
  Value x, region, scales, sizes;
  std::string mode, coordinates, nearest, policy;
  CheckedList<int64_t> axes;
  bool antialias, exclude_outside;
  float cubic;
};

// Opset 11 passes empty tensors for omitted inputs.
Value resize_input(Builder& layer, size_t i) {
  if (!layer.has_input(i)) return {};
  Value v = layer.input(i);
  Dim n = v.shape().elements();
  return n.known() && n.value() == 0 ? Value() : v;
}

LayerResize read_resize(Builder& layer) {
  LayerResize r{layer.input(0),
                resize_input(layer, 1),
                resize_input(layer, 2),
                resize_input(layer, 3),
                layer.get<std::string>("mode", "nearest"),
                layer.get<std::string>("coordinate_transformation_mode", "half_pixel"),
                layer.get<std::string>("nearest_mode", "round_prefer_floor"),
                layer.get<std::string>("keep_aspect_ratio_policy", "stretch"),
                layer.get<std::vector<int64_t>>("axes", {}),
                layer.get<bool>("antialias", false),
                layer.get<bool>("exclude_outside", false),
                layer.get<float>("cubic_coeff_a", -0.75f)};
  if (r.sizes) r.scales = Value();  // some files have both
  if (!r.scales && !r.sizes) fail("expected scales or sizes, got neither");
  Dim count = (r.sizes ? r.sizes : r.scales).shape().elements();
  if (!r.axes.empty() && !count.can_be(static_cast<int64_t>(r.axes.size())))
    fail("expected as many ", r.sizes ? "sizes" : "scales", " as axes (", r.axes.size(), "), got ", count);
  return r;
}

// Interpolate computes the same coordinates if, for every axis, ...
bool same_places(const LayerResize& r) {
  if (r.sizes) {
    // ... a size is given (except that cubic interpolation places a single output element differently),
    if (r.coordinates != "pytorch_half_pixel" || r.mode != "cubic") return true;
    auto sizes = r.sizes.values<int64_t>();
    return sizes && std::find(sizes->begin(), sizes->end(), 1) == sizes->end();
  }
  auto scales = r.scales.values<double>();
  Shape shape = r.x.shape();
  if (!scales || !shape.ranked()) return false;
  for (size_t i = 0; i < scales->size(); ++i) {
    double scale = (*scales)[i];
    if (scale == 1) continue;
    size_t axis = r.axes.empty() ? i : normalize_axis(r.axes[i], shape.rank());
    if (axis >= shape.rank()) return false;
    const Dim& d = shape[axis];
    // ... or the scale yields an integer size, which is neither the old one nor 1.
    bool whole_factor = scale == std::floor(scale) && d.min() >= 1;
    double size = d.known() ? static_cast<double>(d.value()) * scale : 0;
    bool whole_size = d.known() && size == std::floor(size);
    if (!whole_factor && !whole_size) {
      // A truncated size gives the same coordinates only in the modes that use the scale alone.
      bool by_scale = r.coordinates == "half_pixel" || r.coordinates == "asymmetric";
      if (!by_scale || !d.known() || std::floor(size) == static_cast<double>(d.value())) return false;
    }
    if (r.coordinates == "pytorch_half_pixel" && r.mode == "cubic" && !(d.known() && size > 1.5)) return false;
  }
  return true;
}

bool interpolate_can(const LayerResize& r) {
  constexpr std::string_view known[] = {"half_pixel", "pytorch_half_pixel", "asymmetric", "tf_half_pixel_for_nn",
                                        "align_corners"};
  bool coordinates = std::find(std::begin(known), std::end(known), r.coordinates) != std::end(known);
  return coordinates && !r.antialias && r.policy == "stretch" && !(r.exclude_outside && r.mode == "cubic") &&
         same_places(r);
}

Value interpolated(Builder& layer, const LayerResize& r) {
  std::vector<Value> inputs{r.x, r.scales ? convert(r.scales, DType::f32) : r.sizes};
  if (!r.axes.empty()) inputs.push_back(layer.ints(r.axes));
  return layer.op("Interpolate@11", inputs,
                  {{"mode", r.mode == "linear" ? "linear_onnx" : r.mode},
                   {"shape_calculation_mode", r.scales ? "scales" : "sizes"},
                   {"coordinate_transformation_mode", r.coordinates},
                   {"nearest_mode", r.nearest},
                   {"pads_begin", std::vector<int64_t>{0}},
                   {"pads_end", std::vector<int64_t>{0}},
                   {"cube_coeff", r.cubic}});
}

Value resized(Builder& layer, const LayerResize& r, float outside) {
  if (interpolate_can(r)) return interpolated(layer, r);
  bool crops = r.coordinates == "tf_crop_and_resize";
  return layer.op("Resize@graft", {r.x, crops ? r.region : Value(), r.scales, r.sizes},
                  {{"antialias", r.antialias},
                   {"axes", r.axes},
                   {"coordinate_transformation_mode", r.coordinates},
                   {"cubic_coeff_a", r.cubic},
                   {"exclude_outside", r.exclude_outside},
                   {"extrapolation_value", outside},
                   {"keep_aspect_ratio_policy", r.policy},
                   {"mode", r.mode},
                   {"nearest_mode", r.nearest}});
}
Value import_resize(Builder& layer) {
  return resized(layer, read_resize(layer), layer.get<float>("extrapolation_value", 0));
}

// Before opset 11, coordinates depend on the scale alone, and downsampling rounds up.
Value scaled_simply(Builder& layer, Value scales) {
  auto mode = layer.get<std::string>("mode", "nearest");
  if (mode == "bilinear" || mode == "trilinear") mode = "linear";
  LayerResize r{layer.input(0), {}, scales, {}, mode, "asymmetric", "simple", "stretch", {}, false, false, -0.75f};
  return resized(layer, r, 0);
}
Value import_resize10(Builder& layer) { return scaled_simply(layer, layer.input(1)); }
Value import_upsample(Builder& layer) {
  if (layer.has_input(1)) return scaled_simply(layer, layer.input(1));
  std::vector<float> scales;
  if (layer.has("scales")) scales = layer.get<std::vector<float>>("scales");
  else scales = {1, 1, layer.get<float>("height_scale"), layer.get<float>("width_scale")};
  auto n = static_cast<int64_t>(scales.size());
  return scaled_simply(layer, layer.constant(std::move(scales), {n}));
}

}  // namespace

Definitions define_onnx_resize() {
  return {
      onnx("Resize").until(11).expand(import_resize10),
      onnx("Resize").expand(import_resize),
      onnx("Upsample").expand(import_upsample),
  };
}

}  // namespace graft
