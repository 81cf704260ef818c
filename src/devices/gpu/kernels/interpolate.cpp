// Resampling, one axis after the other: each element of the result is a weighted sum of elements along the axis.
#include "cl_kernel.hpp"

namespace graft {
namespace {

struct ResampledAxis {
  size_t axis;
  int64_t before, padded, input, output;
  double scale;
};

// The coordinate in the input of output element `r`.
std::string place_of(const std::string& how) {
  if (how == "half_pixel") return "(r + 0.5f) / scale - 0.5f";
  if (how == "pytorch_half_pixel") return "output > 1 ? (r + 0.5f) / scale - 0.5f : 0";
  if (how == "asymmetric") return "r / scale";
  if (how == "tf_half_pixel_for_nn") return "(r + 0.5f) / scale";
  return "output == 1 ? 0 : r * (padded - 1.0f) / (output - 1.0f)";
}
std::string nearest_of(const std::string& how) {
  if (how == "round_prefer_floor") return "ceil(place - 0.5f)";
  if (how == "round_prefer_ceil") return "floor(place + 0.5f)";
  if (how == "floor") return "floor(place)";
  if (how == "ceil") return "ceil(place)";
  return "scale < 1 ? ceil(place) : trunc(place)";
}

// Positions beyond the ends are those of the ends; padding is 0.
constexpr std::string_view tap = R"(
#define TAP(at, weight) { \
    int e = (int)clamp((float)(at), 0.0f, padded - 1.0f) - before; \
    if (e >= 0 && e < input) sum += (T_from)(weight) * LOAD_from((o * input + e) * inner + in); }
)";

std::string taps_of(Emit& ctx, const std::string& mode) {
  if (mode == "nearest") return "  TAP(" + nearest_of(ctx.attr<std::string>("nearest_mode")) + ", 1)\n";
  if (mode == "linear_onnx") return "  TAP(first, 1 - (place - first)) TAP(first + 1, place - first)\n";
  if (mode == "linear")
    return R"(  float w0 = first >= 0 && first < padded ? 1 - (place - first) : 0;
  float w1 = first + 1 >= 0 && first + 1 < padded ? place - first : 0;
  if (w0 + w1 > 0) { TAP(first, w0 / (w0 + w1)) TAP(first + 1, w1 / (w0 + w1)) }
)";
  return R"(  float d = place - first;
  TAP(first - 1, ((cube * (d + 1) - 5 * cube) * (d + 1) + 8 * cube) * (d + 1) - 4 * cube)
  TAP(first, ((cube + 2) * d - (cube + 3)) * d * d + 1)
  TAP(first + 1, ((cube + 2) * (1 - d) - (cube + 3)) * (1 - d) * (1 - d) + 1)
  TAP(first + 2, ((cube * (2 - d) - 5 * cube) * (2 - d) + 8 * cube) * (2 - d) - 4 * cube)
)";
}

std::vector<ResampledAxis> resampled_axes(Emit& ctx, size_t scales_at, size_t axes_at) {
  std::vector<int64_t> x = ctx.shape(0).values(), y = ctx.output(0).shape.values(), axes;
  if (ctx.has_input(axes_at)) axes = cl_values(ctx, axes_at, "axes");
  else
    for (size_t i = 0; i < x.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  std::optional<std::vector<double>> scales;
  if (ctx.attr<std::string>("shape_calculation_mode") == "scales") {
    scales = ctx.values<double>(scales_at);
    if (!scales) unsupported("expected constant scales");
  }
  auto begin = ctx.attr<std::vector<int64_t>>("pads_begin"), end = ctx.attr<std::vector<int64_t>>("pads_end");
  auto pad = [](const std::vector<int64_t>& list, size_t i) { return i < list.size() ? list[i] : 0; };
  std::vector<ResampledAxis> out;
  for (size_t i = 0; i < x.size(); ++i) {
    ResampledAxis a{i, pad(begin, i), x[i] + pad(begin, i) + pad(end, i), x[i], y[i], 1};
    for (size_t k = 0; k < axes.size(); ++k)
      if (cl_axis(axes[k], x.size()) == i)
        a.scale =
            scales ? (*scales)[k] : static_cast<double>(static_cast<float>(a.output) / static_cast<float>(a.padded));
    if (a.scale != 1 || a.padded != a.input || a.output != a.input) out.insert(out.begin(), a);
  }
  return out;
}

void emit_interpolate(Emit& ctx, size_t scales_at, size_t axes_at) {
  auto mode = ctx.attr<std::string>("mode");
  DType type = ctx.type(0);
  if (mode.ends_with("pillow") || ctx.attr<bool>("antialias")) unsupported("expected no anti-aliasing");
  if (mode != "nearest" && !is_real(type)) unsupported("expected floating-point numbers, got ", type);
  std::vector<int64_t> dims = ctx.shape(0).values();
  std::vector<ResampledAxis> axes = resampled_axes(ctx, scales_at, axes_at);
  if (axes.empty()) return cl_move(ctx, dims, cl_dense(dims));
  DType between = is_real(type) && type != DType::f64 ? DType::f32 : type;
  size_t from = 0;
  for (size_t k = 0; k < axes.size(); ++k) {
    const ResampledAxis& a = axes[k];
    bool last = k + 1 == axes.size();
    std::span<const int64_t> all(dims);
    int64_t outer = cl_count(all.first(a.axis)), inner = cl_count(all.subspan(a.axis + 1));
    dims[a.axis] = a.output;
    ClKernel kernel(ctx, "interpolate");
    if (k == 0) kernel.input(0, "from");
    else kernel.scratch(from, "from", between);
    if (last) kernel.output(0, "to");
    else
      from = ctx.scratch(static_cast<size_t>(cl_count(dims) * bits_of(between) / 8)),
      kernel.scratch(from, "to", between);
    kernel.number("before", a.before).number("padded", a.padded).number("input", a.input).number("output", a.output);
    kernel.number("inner", inner).real("scale", a.scale).real("cube", ctx.attr<double>("cube_coeff")).with(tap);
    bool stays = a.scale == 1 || a.output == a.padded;
    kernel.define("PLACE", stays ? "r" : place_of(ctx.attr<std::string>("coordinate_transformation_mode")));
    kernel.run(
        "  int i = get_global_id(0), in = i % inner, r = i / inner % output, o = i / (inner * output);\n"
        "  float place = PLACE, first = floor(place);\n  T_from sum = 0;\n" +
            taps_of(ctx, mode) + "  STORE_to(i, sum);",
        {outer * a.output * inner});
  }
}

}  // namespace

Definitions gpu_interpolate() {
  return {SourceKernel("GPU", "interpolate").of("Interpolate", "opset4").emit([](Emit& ctx) {
            emit_interpolate(ctx, 2, 3);
          }),
          SourceKernel("GPU", "interpolate").of("Interpolate", "opset11").emit([](Emit& ctx) {
            emit_interpolate(ctx, 1, 2);
          })};
}

}  // namespace graft
