// Parts of feature maps of a size that depends on the place: ROIAlign and its variants, adaptive pooling; and
// ReorgYolo.
#include "cl_kernel.hpp"

namespace graft {
namespace {

void expect_small_reals(Emit& ctx, std::initializer_list<size_t> inputs) {
  for (size_t i : inputs)
    if (!is_real(ctx.type(i)) || ctx.type(i) == DType::f64) unsupported("expected f32 or smaller, got ", ctx.type(i));
}

// ---- ROIAlign ----

// A region with image index -1 ends the list; the results from there on are 0, and so are those of other images that
// do not exist.
constexpr std::string_view region_body = R"(
  int i = get_global_id(0), column = i % columns, row = i / columns % rows, c = i / (columns * rows) % channels;
  int roi = i / (columns * rows * channels);
  for (int j = 0; j <= roi; ++j)
    if (LOAD_images(j) == -1) { STORE_y(i, 0); return; }
  long image = LOAD_images(roi);
  if (image < 0 || image >= count) { STORE_y(i, 0); return; }
  REGION
  float bin_width = width / columns, bin_height = height / rows;
  int across = ratio > 0 ? ratio : (int)fmin(fmax(0.0f, ceil(bin_width)), 32768.0f);
  int down = ratio > 0 ? ratio : (int)fmin(fmax(0.0f, ceil(bin_height)), 32768.0f);
  float from_x = left + column * bin_width, from_y = top + row * bin_height;
  int plane = ((int)image * channels + c) * map_height * map_width;
  SUM sum = 0;
  float most = CORNERS && across > 0 && down > 0 ? -INFINITY : 0;
  for (int v = 0; v < down; ++v)
    for (int u = 0; u < across; ++u) {
      float ax = from_x + bin_width / across * (u + 0.5f), ay = from_y + bin_height / down * (v + 0.5f);
      float px = ay * sine + ax * cosine + center_x, py = ay * cosine - ax * sine + center_y;
      if (!(px >= -1 && px <= map_width && py >= -1 && py <= map_height) || map_width == 0 || map_height == 0) {
        most = fmax(most, 0.0f);
        continue;
      }
      px = fmax(px, 0.0f), py = fmax(py, 0.0f);
      int x0 = (int)px, y0 = (int)py, x1 = x0 + 1, y1 = y0 + 1;
      float lx = px - x0, ly = py - y0;
      if (x0 >= map_width - 1) x0 = x1 = map_width - 1, lx = 0;
      if (y0 >= map_height - 1) y0 = y1 = map_height - 1, ly = 0;
      float a = (1 - ly) * (1 - lx) * LOAD_x(plane + y0 * map_width + x0);
      float b = (1 - ly) * lx * LOAD_x(plane + y0 * map_width + x1);
      float d = ly * (1 - lx) * LOAD_x(plane + y1 * map_width + x0);
      float e = ly * lx * LOAD_x(plane + y1 * map_width + x1);
      float value = a + b + d + e;
      sum += value;
      most = fmax(most, CORNERS ? fmax(fmax(a, b), fmax(d, e)) : value);
    }
  STORE_y(i, AVERAGE ? (float)(sum / max(1, across * down)) : most);
)";
constexpr std::string_view plain_region = R"(
  float left = (LOAD_rois(roi * 4) + BEFORE) * scale + AFTER, top = (LOAD_rois(roi * 4 + 1) + BEFORE) * scale + AFTER;
  float width = (LOAD_rois(roi * 4 + 2) + BEFORE) * scale + AFTER - left;
  float height = (LOAD_rois(roi * 4 + 3) + BEFORE) * scale + AFTER - top;
  if (AT_LEAST_ONE) width = fmax(width, 1.0f), height = fmax(height, 1.0f);
  float sine = 0, cosine = 1, center_x = 0, center_y = 0;
)";
constexpr std::string_view rotated_region = R"(
  float width = LOAD_rois(roi * 5 + 2) * scale, height = LOAD_rois(roi * 5 + 3) * scale;
  float angle = CLOCKWISE ? -LOAD_rois(roi * 5 + 4) : LOAD_rois(roi * 5 + 4);
  float left = -width / 2, top = -height / 2, sine = sin(angle), cosine = cos(angle);
  float center_x = LOAD_rois(roi * 5) * scale - 0.5f, center_y = LOAD_rois(roi * 5 + 1) * scale - 0.5f;
)";

void emit_regions(Emit& ctx, bool corners, bool rotated) {
  expect_small_reals(ctx, {0, 1});
  std::vector<int64_t> x = ctx.shape(0).values(), y = ctx.output(0).shape.values();
  ClKernel k(ctx, "regions");
  k.input(0, "x").input(1, "rois").input(2, "images").output(0, "y");
  k.number("count", x[0]).number("channels", x[1]).number("map_height", x[2]).number("map_width", x[3]);
  k.number("rows", y[2]).number("columns", y[3]).number("ratio", ctx.attr<int64_t>("sampling_ratio"));
  k.real("scale", ctx.attr<float>("spatial_scale"));
  std::string aligned = ctx.attr<std::optional<std::string>>("aligned_mode").value_or("asymmetric");
  std::string mode = ctx.attr<std::optional<std::string>>("mode").value_or("avg");
  k.define("CORNERS", corners ? "1" : "0").define("AVERAGE", !corners && mode == "avg" ? "1" : "0");
  k.define("BEFORE", aligned == "half_pixel" ? "0.5f" : "0.0f");
  k.define("AFTER", aligned == "asymmetric" ? "0.0f" : "-0.5f");
  k.define("AT_LEAST_ONE", aligned == "asymmetric" ? "1" : "0");
  if (rotated) k.define("CLOCKWISE", ctx.attr<bool>("clockwise_mode") ? "1" : "0");
  std::string body(region_body), region(rotated ? rotated_region : plain_region);
  body.replace(body.find("REGION"), 6, region);
  k.run(body, {cl_count(y)});
}

// ---- adaptive pooling ----

constexpr std::string_view adaptive_body = R"(
  int i = get_global_id(0), at = i % (o0 * o1 * o2), plane = i / (o0 * o1 * o2) * (n0 * n1 * n2);
  int z = at / (o1 * o2), r = at / o2 % o1, c = at % o2;
  int z0 = (long)z * n0 / o0, z1 = ((long)(z + 1) * n0 + o0 - 1) / o0;
  int r0 = (long)r * n1 / o1, r1 = ((long)(r + 1) * n1 + o1 - 1) / o1;
  int c0 = (long)c * n2 / o2, c1 = ((long)(c + 1) * n2 + o2 - 1) / o2;
  SUM sum = 0;
  T_x best = 0;
  int best_at = -1;
  for (int p = z0; p < z1; ++p)
    for (int q = r0; q < r1; ++q)
      for (int s = c0; s < c1; ++s) {
        int from = (p * n1 + q) * n2 + s;
        T_x v = LOAD_x(plane + from);
        sum += v;
        if (best_at < 0 || v > best) best = v, best_at = from;
      }
)";

void emit_adaptive(Emit& ctx, bool largest) {
  expect_small_reals(ctx, {0});
  std::vector<int64_t> x = ctx.shape(0).values(), y = ctx.output(0).shape.values();
  std::vector<int64_t> in(3, 1), out(3, 1);
  for (size_t i = 2; i < x.size(); ++i) in[i + 3 - x.size()] = x[i], out[i + 3 - x.size()] = y[i];
  ClKernel k(ctx, "adaptive");
  k.input(0, "x").output(0, "y");
  if (largest) k.output(1, "index");
  k.numbers("n", in).numbers("o", out);
  std::string result = largest ? "  STORE_y(i, best);\n  STORE_index(i, best_at);"
                               : "  STORE_y(i, sum / ((SUM)(z1 - z0) * (r1 - r0) * (c1 - c0)));";
  k.run(std::string(adaptive_body) + result, {cl_count(y)});
}

// ---- ReorgYolo ----

void emit_reorg(Emit& ctx) {
  std::vector<int64_t> x = ctx.shape(0).values();
  int64_t stride = ctx.attr<std::vector<int64_t>>("stride").at(0);
  if (x[1] % (stride * stride)) unsupported("expected a number of channels divisible by ", stride * stride);
  ClKernel k(ctx, "reorg");
  k.cells_in(0, "x").cells_out(0, "y");
  k.number("channels", x[1]).number("height", x[2]).number("width", x[3]).number("side", stride);
  k.run(R"(
  int i = get_global_id(0), w = i % width, h = i / width % height, c = i / (width * height) % channels;
  int n = i / (width * height * channels), depth = channels / (side * side), offset = c / depth;
  int row = h * side + offset / side, column = w * side + offset % side;
  y[i] = x[((n * depth + c % depth) * height * side + row) * width * side + column];
)",
        {cl_count(x)});
}

}  // namespace

Definitions gpu_regions() {
  auto kernel = [](const char* op, std::function<void(Emit&)> f) {
    return SourceKernel("GPU", "regions").of(op).emit(std::move(f));
  };
  return {kernel("ROIAlign", [](Emit& ctx) { emit_regions(ctx, false, false); }),
          kernel("ROIAlignCorner", [](Emit& ctx) { emit_regions(ctx, true, false); }),
          kernel("ROIAlignRotated", [](Emit& ctx) { emit_regions(ctx, false, true); }),
          kernel("AdaptiveAvgPool", [](Emit& ctx) { emit_adaptive(ctx, false); }),
          kernel("AdaptiveMaxPool", [](Emit& ctx) { emit_adaptive(ctx, true); }),
          kernel("ReorgYolo", emit_reorg)};
}

}  // namespace graft
