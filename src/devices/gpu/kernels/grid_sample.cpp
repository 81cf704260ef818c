// GridSample: a work item per element of the result finds its position in the grid, and the elements around it.
#include "cl_kernel.hpp"

namespace graft {
namespace {

// The element at a position, or -1 for none.
constexpr std::string_view grid_functions = R"(
int element(float i, int n) {
  if (i >= 0 && i < n) return (int)i;
#if PADDING == 0
  return -1;
#endif
  if (isnan(i)) return -1;
#if PADDING == 1
  return i < 0 ? 0 : n - 1;
#endif
  if (isinf(i)) return 0;
  float period = CORNERS ? 2 * (n - 1) : 2 * n;
  if (period == 0) return 0;
  float r = fmod(fmod(i, period) + period, period);
  if (r >= n) r = CORNERS ? period - r : period - 1 - r;
  return min(max((int)r, 0), n - 1);
}
)";

std::string grid_weights(const std::string& mode, const std::string& n) {
  if (mode == "nearest") return "  float base" + n + " = rint(at" + n + "), w" + n + "[1] = {1};\n";
  std::string begin = "  float base" + n + " = floor(at" + n + "), d" + n + " = at" + n + " - base" + n + ";\n";
  if (mode.find("linear") != mode.npos) return begin + "  float w" + n + "[2] = {1 - d" + n + ", d" + n + "};\n";
  auto far = [&](const std::string& d) {
    return "((-0.75f * (" + d + ") + 3.75f) * (" + d + ") - 6.0f) * (" + d + ") + 3.0f";
  };
  auto near = [&](const std::string& d) { return "(1.25f * (" + d + ") - 2.25f) * (" + d + ") * (" + d + ") + 1"; };
  return begin + "  float w" + n + "[4] = {" + far("d" + n + " + 1") + ", " + near("d" + n) + ", " + near("1 - d" + n) +
         ", " + far("2 - d" + n) + "};\n  base" + n + " -= 1;\n";
}

void emit_grid_sample(Emit& ctx) {
  std::vector<int64_t> x = ctx.shape(0).values(), y = ctx.output(0).shape.values();
  if (!is_real(ctx.type(0)) || ctx.type(0) == DType::f64 || ctx.type(1) == DType::f64)
    unsupported("expected f32 or smaller, got ", ctx.type(0));
  auto mode = ctx.attr<std::string>("mode"), padding = ctx.attr<std::string>("padding_mode");
  bool corners = ctx.attr<bool>("align_corners");
  size_t axes = x.size() - 2;
  std::span<const int64_t> sides = std::span(x).subspan(2);
  std::vector<int64_t> strides = cl_strides(sides);
  ClKernel k(ctx, "grid_sample");
  k.input(0, "x").input(1, "grid").output(0, "y").number("channels", x[1]).number("plane", cl_count(sides));
  k.number("places", cl_count(std::span(y).subspan(2))).numbers("n", sides).numbers("s", strides);
  k.define("PADDING", padding == "zeros"    ? "0"
                      : padding == "border" ? "1"
                                            : "2")
      .define("CORNERS", corners ? "1" : "0");
  std::string taps = mode == "nearest" ? "1" : mode.find("linear") != mode.npos ? "2" : "4";
  std::string body =
      "  int i = get_global_id(0), place = i % places, nc = i / places, p = (nc / channels * places + place) * " +
      std::to_string(axes) + ";\n  T_x sum = 0;\n";
  std::string loops, inside = "1", from = "nc * plane", weight = "1";
  for (size_t a = 0; a < axes; ++a) {
    std::string n = std::to_string(a);
    // The grid lists coordinates from the last axis to the first.
    body += "  float g" + n + " = LOAD_grid(p + " + std::to_string(axes - 1 - a) + ");\n  float at" + n + " = " +
            (corners ? "(g" + n + " + 1) * (n" + n + " - 1) / 2" : "((g" + n + " + 1) * n" + n + " - 1) / 2") + ";\n" +
            grid_weights(mode, n);
    loops += "  for (int k" + n + " = 0; k" + n + " < " + taps + "; ++k" + n + ") { int e" + n + " = element(base" + n +
             " + k" + n + ", n" + n + "); if (e" + n + " < 0) continue;\n";
    from += " + e" + n + " * s" + n;
    weight += " * w" + n + "[k" + n + "]";
  }
  k.with(grid_functions);
  k.run(body + loops + "    sum += " + weight + " * LOAD_x(" + from + ");\n  " + std::string(axes, '}') +
            "\n  STORE_y(i, sum);",
        {cl_count(y)});
}

}  // namespace

Definitions gpu_grid_sample() {
  return {SourceKernel("GPU", "grid_sample").of("GridSample").emit(emit_grid_sample),
          SourceKernel("GPU", "grid_sample").of("GridSampleND").emit(emit_grid_sample)};
}

}  // namespace graft
