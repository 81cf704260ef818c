// Convolution and pooling: a work item per output element, over up to three spatial axes.
#include <graft/kit/windows.hpp>

#include "cl_kernel.hpp"

namespace graft {
namespace {

struct ClWindows : WindowAttributes {
  static constexpr std::tuple schema{strides_attr, dilations_attr, pads_begin_attr, pads_end_attr, auto_pad_attr};
};
struct ClPool : WindowAttributes {
  static constexpr std::tuple schema{strides_attr, pads_begin_attr, pads_end_attr, auto_pad_attr};
};

// Arguments of the axes z, y, x: sizes of input, output and kernel, strides, dilations, padding.
void window_arguments(ClKernel& k, const WindowAxes& axes) {
  const char* names[] = {"z", "y", "x"};
  for (size_t i = 0; i < 3; ++i) {
    const WindowAxis& w = axes[i];
    std::string n = names[i];
    k.number("i" + n, w.input).number("o" + n, w.output).number("k" + n, w.kernel);
    k.number("s" + n, w.stride).number("d" + n, w.dilation).number("b" + n, w.begin);
  }
}
// From `int i`, a position in the output: `plane` (of a batch and channel) and the first tap.
constexpr const char* window_begin = R"(
  int px = i % ox, py = i / ox % oy, pz = i / (ox * oy) % oz, plane = i / (ox * oy * oz);
  int fx = px * sx - bx, fy = py * sy - by, fz = pz * sz - bz;
)";
// Loops over the taps inside of the input: `at` in the plane, `t` of the kernel.
std::string each_tap(const std::string& body) {
  return R"(  for (int tz = 0; tz < kz; ++tz) {
    int cz = fz + tz * dz;
    if (cz < 0 || cz >= iz) continue;
    for (int ty = 0; ty < ky; ++ty) {
      int cy = fy + ty * dy;
      if (cy < 0 || cy >= iy) continue;
      for (int tx = 0; tx < kx; ++tx) {
        int cx = fx + tx * dx;
        if (cx < 0 || cx >= ix) continue;
        int at = (cz * iy + cy) * ix + cx, t = (tz * ky + ty) * kx + tx;
        )" +
         body + "\n      }\n    }\n  }\n";
}

void emit_convolution(Emit& ctx, bool grouped) {
  std::vector<int64_t> x = ctx.shape(0).values(), w = ctx.shape(1).values(), y = ctx.output(0).shape.values();
  size_t leading = grouped ? 3 : 2;
  WindowAxes axes = window_axes(std::span(x).subspan(2), std::span(y).subspan(2), std::span(w).subspan(leading),
                                ctx.attributes<ClWindows>());
  int64_t groups = grouped ? w[0] : 1;
  ClKernel k(ctx, "convolution");
  k.input(0, "data").input(1, "weights").output(0, "result");
  window_arguments(k, axes);
  k.number("inputs", w[leading - 1]).number("outputs", w[leading - 2]).number("groups", groups);
  std::string body = std::string("  int i = get_global_id(0);") + window_begin + R"(
  int o = plane % (outputs * groups), batch = plane / (outputs * groups), g = o / outputs;
  int volume = ix * iy * iz, taps = kx * ky * kz;
  T_data sum = 0;
  for (int c = 0; c < inputs; ++c) {
    int from = ((batch * groups + g) * inputs + c) * volume, weight = (o * inputs + c) * taps;
)" + each_tap("sum += LOAD_data(from + at) * LOAD_weights(weight + t);") +
                     "  }\n  STORE_result(i, sum);";
  k.run(body, {cl_count(y)});
}

// Padding contributes nothing, but an infinite weight times the zeros of padding would be NaN.
bool multiplies_padding_safely(Emit& ctx, const WindowAxes& axes) {
  bool padded = false;
  for (const WindowAxis& a : axes)
    padded |= a.begin > 0 || (a.output - 1) * a.stride + a.offset(a.kernel - 1) >= a.input;
  if (!padded) return true;
  TensorView w = ctx.constant(1);
  if (!w) return false;
  std::vector<double> values = w.to<double>();
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

// A convolution of many channels is a matrix product: output channels x taps of all input channels x positions. The
// tiles of the data are gathered while they are loaded.
void emit_tiled_convolution(Emit& ctx, bool grouped) {
  constexpr int64_t tile = 16;
  std::vector<int64_t> x = ctx.shape(0).values(), w = ctx.shape(1).values(), y = ctx.output(0).shape.values();
  size_t leading = grouped ? 3 : 2;
  int64_t groups = grouped ? w[0] : 1, outputs = w[leading - 2];
  if (outputs < tile) unsupported("expected at least ", tile, " output channels per group, got ", outputs);
  WindowAxes axes = window_axes(std::span(x).subspan(2), std::span(y).subspan(2), std::span(w).subspan(leading),
                                ctx.attributes<ClWindows>());
  if (!multiplies_padding_safely(ctx, axes)) unsupported("padding requires finite constant weights");
  ClKernel k(ctx, "convolution");
  k.input(0, "data").input(1, "weights").output(0, "result");
  window_arguments(k, axes);
  k.number("inputs", w[leading - 1]).number("outputs", outputs).number("groups", groups);
  k.define("TILE", std::to_string(tile));
  k.run(R"(  __local T_data tw[TILE][TILE + 1];
  __local T_data td[TILE][TILE + 1];
  int n = get_global_id(0), m = get_global_id(1), part = get_global_id(2), lx = get_local_id(0), ly = get_local_id(1);
  int positions = ox * oy * oz, taps = kx * ky * kz, K = inputs * taps, g = part % groups;
  int px = n % ox, py = n / ox % oy, pz = n / (ox * oy);
  int fx = px * sx - bx, fy = py * sy - by, fz = pz * sz - bz;
  int from = part * inputs * ix * iy * iz, weight = (g * outputs + m) * K;
  T_data sum = 0;
  for (int k = 0; k < K; k += TILE) {
    tw[ly][lx] = m < outputs && k + lx < K ? LOAD_weights(weight + k + lx) : 0;
    int c = (k + ly) / taps, t = (k + ly) % taps;
    int cx = fx + t % kx * dx, cy = fy + t / kx % ky * dy, cz = fz + t / (kx * ky) * dz;
    bool inside = n < positions && k + ly < K && cx >= 0 && cx < ix && cy >= 0 && cy < iy && cz >= 0 && cz < iz;
    td[ly][lx] = inside ? LOAD_data(from + ((c * iz + cz) * iy + cy) * ix + cx) : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = 0; j < TILE; ++j) sum += tw[ly][j] * td[j][lx];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (m < outputs && n < positions) STORE_result((part * outputs + m) * positions + n, sum);)",
        {(output_plane(axes) + tile - 1) / tile * tile, (outputs + tile - 1) / tile * tile, x[0] * groups},
        {tile, tile, 1});
}

// Every output element gathers the inputs whose window reaches it.
void emit_backprop(Emit& ctx, bool grouped) {
  std::vector<int64_t> x = ctx.shape(0).values(), w = ctx.shape(1).values(), y = ctx.output(0).shape.values();
  size_t leading = grouped ? 3 : 2, spatial = x.size() - 2;
  WindowAttributes a = complete_windows(static_cast<WindowAttributes>(ctx.attributes<ClWindows>()), spatial);
  bool same = pads_to_same(a.auto_pad), upper = a.auto_pad == AutoPad::same_upper;
  a.auto_pad = AutoPad::given;
  // In terms of the forward convolution: our output is its image, our input its result.
  WindowAxes axes = window_axes(std::span(y).subspan(2), std::span(x).subspan(2), std::span(w).subspan(leading), a);
  auto more = ctx.attr<std::vector<int64_t>>("output_padding");
  for (size_t i = 0; i < spatial && same && ctx.has_input(2); ++i) {
    WindowAxis& axis = axes[3 - spatial + i];
    int64_t full =
        (axis.output - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1 + (i < more.size() ? more[i] : 0);
    int64_t total = std::max<int64_t>(full - axis.input, 0);
    axis.begin = upper ? total - total / 2 : total / 2;
  }
  ClKernel k(ctx, "backprop");
  k.input(0, "data").input(1, "weights").output(0, "result");
  window_arguments(k, axes);
  k.number("inputs", w[leading - 2]).number("outputs", w[leading - 1]).number("groups", grouped ? w[0] : 1);
  k.run(R"(  int i = get_global_id(0);
  int px = i % ix, py = i / ix % iy, pz = i / (ix * iy) % iz, plane = i / (ix * iy * iz);
  int o = plane % (outputs * groups), batch = plane / (outputs * groups), g = o / outputs;
  int volume = ox * oy * oz, taps = kx * ky * kz;
  T_data sum = 0;
  for (int tz = 0; tz < kz; ++tz) {
    int cz = pz + bz - tz * dz;
    if (cz < 0 || cz % sz || cz / sz >= oz) continue;
    for (int ty = 0; ty < ky; ++ty) {
      int cy = py + by - ty * dy;
      if (cy < 0 || cy % sy || cy / sy >= oy) continue;
      for (int tx = 0; tx < kx; ++tx) {
        int cx = px + bx - tx * dx;
        if (cx < 0 || cx % sx || cx / sx >= ox) continue;
        int at = ((cz / sz) * oy + cy / sy) * ox + cx / sx, t = (tz * ky + ty) * kx + tx;
        for (int c = 0; c < inputs; ++c)
          sum += LOAD_data(((batch * groups + g) * inputs + c) * volume + at) *
                 LOAD_weights(((g * inputs + c) * outputs + o % outputs) * taps + t);
      }
    }
  }
  STORE_result(i, sum);)",
        {cl_count(y)});
}

// ---- pooling ----

WindowAxes pool_axes(Emit& ctx) {
  std::vector<int64_t> x = ctx.shape(0).values(), y = ctx.output(0).shape.values();
  WindowAttributes a = ctx.attributes<ClPool>();
  if (auto d = ctx.attr<std::optional<std::vector<int64_t>>>("dilations")) a.dilations = *d;
  return window_axes(std::span(x).subspan(2), std::span(y).subspan(2), ctx.attr<std::vector<int64_t>>("kernel"), a);
}

void emit_max_pool(Emit& ctx) {
  WindowAxes axes = pool_axes(ctx);
  std::vector<int64_t> x = ctx.shape(0).values();
  bool indices = ctx.outputs() > 1;
  ClKernel k(ctx, "max_pool");
  k.input(0, "data").output(0, "result");
  if (indices) k.output(1, "index");
  window_arguments(k, axes);
  DType t = ctx.type(0);
  int bits = bits_of(t);
  k.define("LEAST", t == DType::f64        ? "-DBL_MAX"
                    : t == DType::f16      ? "-65504.0f"
                    : t == DType::bf16     ? "-0x1.fep127f"
                    : is_real(t)           ? "-FLT_MAX"
                    : is_signed_integer(t) ? "(-" + std::to_string((uint64_t{1} << (bits - 1)) - 1) + "L - 1)"
                                           : "0");
  std::string body = std::string("  int i = get_global_id(0);") + window_begin +
                     "  int from = plane * ix * iy * iz, found = -1; T_data best = LEAST;\n" +
                     each_tap(
                         "T_data v = LOAD_data(from + at);\n        if (found < 0 || v > best || (v != v && best == "
                         "best)) best = v, found = at;") +
                     "  STORE_result(i, best);\n";
  if (indices) {
    size_t axis = cl_axis(ctx.attr<int64_t>("axis"), x.size());
    k.number("modulus", std::max<int64_t>(cl_count(std::span(x).subspan(axis)), 1));
    body += "  STORE_index(i, (max(found, 0) + from) % modulus);";
  }
  k.run(body, {cl_count(ctx.output(0).shape.values())});
}

void emit_avg_pool(Emit& ctx) {
  WindowAxes axes = pool_axes(ctx);
  bool all = !ctx.attr<bool>("exclude-pad") && (axes[0].padded || axes[1].padded || axes[2].padded);
  ClKernel k(ctx, "avg_pool");
  k.input(0, "data").output(0, "result");
  window_arguments(k, axes);
  k.define("COUNT", all ? "(kx * ky * kz)" : "count");
  bool small = is_integer(ctx.type(0)) && bits_of(ctx.type(0)) <= 8;
  k.run(std::string("  int i = get_global_id(0);") + window_begin +
            "  int from = plane * ix * iy * iz, count = 0; SUM sum = 0;\n" +
            each_tap("sum += LOAD_data(from + at), ++count;") + "  SUM mean = COUNT == 0 ? 0 : sum / COUNT;\n" +
            (small ? "  STORE_REAL_result(i, rint(mean));" : "  STORE_REAL_result(i, mean);"),
        {cl_count(ctx.output(0).shape.values())});
}

}  // namespace

Definitions gpu_windows() {
  auto add = [](const char* name, const char* op, std::function<void(Emit&)> f) {
    return SourceKernel("GPU", name).of(op).emit(std::move(f));
  };
  return {add("convolution_tiled", "Convolution", [](Emit& ctx) { emit_tiled_convolution(ctx, false); }),
          add("convolution", "Convolution", [](Emit& ctx) { emit_convolution(ctx, false); }),
          add("convolution_tiled", "GroupConvolution", [](Emit& ctx) { emit_tiled_convolution(ctx, true); }),
          add("convolution", "GroupConvolution", [](Emit& ctx) { emit_convolution(ctx, true); }),
          add("backprop", "ConvolutionBackpropData", [](Emit& ctx) { emit_backprop(ctx, false); }),
          add("backprop", "GroupConvolutionBackpropData", [](Emit& ctx) { emit_backprop(ctx, true); }),
          add("max_pool", "MaxPool", emit_max_pool),
          add("avg_pool", "AvgPool", emit_avg_pool)};
}

}  // namespace graft
