// Ten custom layers as users write them. Each is defined twice: in the opset `plain` only with a reference, for the
// kernels of layers/layers.xml, and in the opset `cl` with the same OpenCL source in its definition.
#include <cmath>
#include <fstream>
#include <graft/extension.hpp>
#include <iterator>

namespace {

using namespace graft;

std::string source_of(const std::string& name) {
  std::ifstream file(LAYERS_FOLDER "/" + name + ".cl");
  return {std::istreambuf_iterator<char>(file), {}};
}
SourceKernel kernel_of(const std::string& name) {
  return SourceKernel("GPU", name + "_cl").source(source_of(name), name);
}

// A tensor with four dimensions.
struct Planes {
  std::vector<double> v;
  size_t b, f, y, x;
  explicit Planes(const TensorView& t) : v(t.to<double>()), b(dim(t, 0)), f(dim(t, 1)), y(dim(t, 2)), x(dim(t, 3)) {}
  static size_t dim(const TensorView& t, size_t i) { return static_cast<size_t>(t.dim(i)); }
  double at(size_t n, size_t c, size_t row, size_t column) const { return v[((n * f + c) * y + row) * x + column]; }
};
// Calls `body(b, f, y, x)` for each element of an output in its order.
template <class F>
void fill(OutputView out, F&& body) {
  std::vector<double> v;
  for (size_t b = 0; b < Planes::dim(out, 0); ++b)
    for (size_t f = 0; f < Planes::dim(out, 1); ++f)
      for (size_t y = 0; y < Planes::dim(out, 2); ++y)
        for (size_t x = 0; x < Planes::dim(out, 3); ++x) v.push_back(body(b, f, y, x));
  out.assign(v);
}

struct NegRelu {
  float negative_slope = 0;
  static constexpr std::tuple schema{attr("negative_slope", &NegRelu::negative_slope, "factor below 0")};
};

struct Reorg {
  int64_t stride = 2;
  static constexpr std::tuple schema{attr("stride", &Reorg::stride, "side of the squares")};
};
void reorg_infer(Infer& ctx, const Reorg& a) {
  Shape s = ctx.shape(0);
  ctx.output(0, ctx.type(0), Shape{s[0], s[1] * (a.stride * a.stride), s[2] / a.stride, s[3] / a.stride});
}
void reorg_run(Run& ctx, const Reorg& a) {
  Planes in(ctx.input(0));
  auto stride = static_cast<size_t>(a.stride);
  fill(ctx.output(0), [&](size_t b, size_t f, size_t y, size_t x) {
    size_t part = f / in.f;
    return in.at(b, f % in.f, y * stride + part / stride, x * stride + part % stride);
  });
}

struct Grn {
  float bias = 1;
  static constexpr std::tuple schema{attr("bias", &Grn::bias, "added to the sum of squares")};
};
void grn_infer(Infer& ctx, const Grn&) { ctx.output(0, ctx.input(0)); }
void grn_run(Run& ctx, const Grn& a) {
  Planes in(ctx.input(0));
  fill(ctx.output(0), [&](size_t b, size_t f, size_t y, size_t x) {
    double sum = a.bias;
    for (size_t c = 0; c < in.f; ++c) sum += in.at(b, c, y, x) * in.at(b, c, y, x);
    return in.at(b, f, y, x) / std::sqrt(sum);
  });
}

struct PriorGrid {
  std::vector<float> sizes;
  static constexpr std::tuple schema{attr("sizes", &PriorGrid::sizes, "sides of the boxes in pixels").required()};
};
void prior_infer(Infer& ctx, const PriorGrid& a) {
  Shape s = ctx.shape(0);
  ctx.output(0, ctx.type(0), Shape{1, s[2] * s[3] * static_cast<int64_t>(a.sizes.size()), 4});
}
void prior_run(Run& ctx, const PriorGrid& a) {
  Planes cells(ctx.input(0)), image(ctx.input(1));
  std::vector<double> out;
  for (size_t y = 0; y < cells.y; ++y)
    for (size_t x = 0; x < cells.x; ++x)
      for (double size : a.sizes) {
        double cx = (static_cast<double>(x) + 0.5) / static_cast<double>(cells.x),
               w = size / static_cast<double>(image.x);
        double cy = (static_cast<double>(y) + 0.5) / static_cast<double>(cells.y),
               h = size / static_cast<double>(image.y);
        for (double v : {cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2}) out.push_back(v);
      }
  ctx.output(0).assign(out);
}

struct Blend {
  float weight = 0.5f;
  static constexpr std::tuple schema{attr("weight", &Blend::weight, "of the first input")};
};

void range_infer(Infer& ctx, const NoAttributes&) {
  for (size_t i = 0; i < 2; ++i) ctx.output(i, ctx.type(0), Shape{ctx.shape(0)[0], ctx.shape(0)[1]});
}
void range_run(Run& ctx, const NoAttributes&) {
  Planes in(ctx.input(0));
  std::vector<double> low(in.b * in.f, INFINITY), high(in.b * in.f, -INFINITY);
  for (size_t i = 0; i < in.v.size(); ++i) {
    size_t channel = i / (in.y * in.x);
    low[channel] = std::min(low[channel], in.v[i]), high[channel] = std::max(high[channel], in.v[i]);
  }
  ctx.output(0).assign(low);
  ctx.output(1).assign(high);
}

struct PickChannels {
  std::vector<int64_t> order;
  static constexpr std::tuple schema{attr("order", &PickChannels::order, "a channel for each output").required()};
};
void pick_infer(Infer& ctx, const PickChannels& a) {
  Shape s = ctx.shape(0);
  ctx.output(0, ctx.type(0), Shape{s[0], static_cast<int64_t>(a.order.size()), s[2], s[3]});
}
void pick_run(Run& ctx, const PickChannels& a) {
  Planes in(ctx.input(0));
  fill(ctx.output(0),
       [&](size_t b, size_t f, size_t y, size_t x) { return in.at(b, static_cast<size_t>(a.order[f]), y, x); });
}

void peak_infer(Infer& ctx, const NoAttributes&) {
  ctx.output(0, ctx.type(0), Shape{ctx.shape(0)[0], 1, ctx.shape(0)[2], ctx.shape(0)[3]});
}
void peak_run(Run& ctx, const NoAttributes&) {
  Planes in(ctx.input(0));
  fill(ctx.output(0), [&](size_t b, size_t, size_t y, size_t x) {
    double best = in.at(b, 0, y, x);
    for (size_t f = 1; f < in.f; ++f) best = std::max(best, in.at(b, f, y, x));
    return best;
  });
}

void mean_infer(Infer& ctx, const NoAttributes&) {
  ctx.output(0, ctx.type(0), Shape{ctx.shape(0)[0], ctx.shape(0)[1], ctx.shape(0)[2], 1});
}
void mean_run(Run& ctx, const NoAttributes&) {
  Planes in(ctx.input(0));
  fill(ctx.output(0), [&](size_t b, size_t f, size_t y, size_t) {
    double sum = 0;
    for (size_t x = 0; x < in.x; ++x) sum += in.at(b, f, y, x);
    return sum / static_cast<double>(in.x);
  });
}

auto neg_relu(std::string_view opset) {
  return op<NegRelu>("NegRelu", opset).elementwise([](auto x, const NegRelu& a) {
    return x < 0 ? x * a.negative_slope : x;
  });
}
auto reorg(std::string_view opset) {
  return op<Reorg>("Reorg", opset).inputs("x").infer(reorg_infer).reference(reorg_run);
}
auto grn(std::string_view opset) { return op<Grn>("Grn", opset).inputs("x").infer(grn_infer).reference(grn_run); }
auto prior_grid(std::string_view opset) {
  return op<PriorGrid>("PriorGrid", opset).inputs("cells, image").infer(prior_infer).reference(prior_run);
}
auto blend(std::string_view opset) {
  return op<Blend>("Blend", opset).elementwise<2>([](auto x, auto y, const Blend& a) {
    return a.weight * x + (1 - a.weight) * y;
  });
}
auto range(std::string_view opset) {
  return op("Range2", opset).inputs("x").outputs("smallest, largest").infer(range_infer).reference(range_run);
}
auto pick_channels(std::string_view opset) {
  return op<PickChannels>("PickChannels", opset).inputs("x").infer(pick_infer).reference(pick_run);
}
auto half_swish(std::string_view opset) {
  return op("HalfSwish", opset).elementwise([](auto x) { return x / (1 + exp(-x)); });
}
auto channel_peak(std::string_view opset) {
  return op("ChannelPeak", opset).inputs("x").infer(peak_infer).reference(peak_run);
}
auto row_mean(std::string_view opset) { return op("RowMean", opset).inputs("x").infer(mean_infer).reference(mean_run); }

}  // namespace

GRAFT_EXTENSION("custom_layers", "1.0") {
  const std::vector<std::string> pixels = {"X", "Y", "B*F"};
  return {
      neg_relu("plain"),
      reorg("plain"),
      grn("plain"),
      prior_grid("plain"),
      blend("plain"),
      range("plain"),
      pick_channels("plain"),
      half_swish("plain"),
      channel_peak("plain"),
      row_mean("plain"),
      neg_relu("cl").opencl(
          kernel_of("neg_relu").define("neg_slope", "negative_slope").options("-cl-mad-enable").global(pixels)),
      reorg("cl").opencl(kernel_of("reorg").define("STRIDE", "stride").global(pixels)),
      grn("cl").opencl(kernel_of("grn").define("BIAS", "bias").global({"X", "Y", "B"})),
      prior_grid("cl").opencl(kernel_of("prior_grid").define("SIZES", "sizes").global({"X", "Y"}).sizes_of_input(0)),
      blend("cl").opencl(kernel_of("blend").define("WEIGHT", "weight")),
      range("cl").opencl(kernel_of("range").global({"F", "B"}).sizes_of_input(0)),
      pick_channels("cl").opencl(kernel_of("pick_channels").define("ORDER", "order").global(pixels)),
      half_swish("cl").opencl(kernel_of("half_swish")),
      channel_peak("cl").opencl(kernel_of("channel_peak")
                                    .argument(Argument::input(0, Format::byxf))
                                    .argument(Argument::output(0))
                                    .global({"X", "Y", "B"})),
      row_mean("cl").opencl(kernel_of("row_mean").global({"8", "Y", "B*F"}).local({"8", "1", "1"}))};
}
