// Optical flow operations (FlowNet).
#include <graft/op.hpp>

namespace graft {
namespace {

struct Correlation {
  int64_t pad = 0, kernel_size = 1, max_displacement = 0, stride_1 = 1, stride_2 = 1;
  static constexpr std::tuple schema{
      attr("pad", &Correlation::pad, "zero padding around both images").between(0, 1024),
      attr("kernel_size", &Correlation::kernel_size, "side length of the compared patches").between(1, 255),
      attr("max_displacement", &Correlation::max_displacement, "maximum displacement of a patch").between(0, 256),
      attr("stride_1", &Correlation::stride_1, "stride of the output positions in the first image").between(1, 1024),
      attr("stride_2", &Correlation::stride_2, "stride of the displacements").between(1, 1024)};
  int64_t radius() const { return max_displacement / stride_2; }
  int64_t side() const { return 2 * radius() + 1; }
  Dim positions(const Dim& size) const {
    if (!size.known()) return {};
    int64_t room = size.value() + 2 * pad - 2 * (max_displacement + (kernel_size - 1) / 2);
    if (room < 1) fail("an image of ", size, " elements along an axis is too small for these displacements");
    return (room + stride_1 - 1) / stride_1;
  }
};

void correlation_infer(Infer& ctx, const Correlation& a) {
  Shape s = merge(ctx.shape(0), ctx.shape(1));
  if (!s.ranked()) s = Shape::of_rank(4);
  if (s.rank() != 4) fail("expected images of rank 4, got shape ", s);
  ctx.output(0, common_type(ctx), Shape{s[0], Dim(a.side() * a.side()), a.positions(s[2]), a.positions(s[3])});
}
void correlation_run(Run& ctx, const Correlation& a) {
  OutputView y = ctx.output(0);
  std::vector<double> x0 = ctx.input(0).to<double>(), x1 = ctx.input(1).to<double>();
  int64_t n = ctx.input(0).dim(0), c = ctx.input(0).dim(1), h = ctx.input(0).dim(2), w = ctx.input(0).dim(3);
  int64_t out_h = y.dim(2), out_w = y.dim(3);
  auto at = [&](const std::vector<double>& x, int64_t plane, int64_t row, int64_t column) {
    row -= a.pad, column -= a.pad;
    bool inside = row >= 0 && row < h && column >= 0 && column < w;
    return inside ? x[static_cast<size_t>((plane * h + row) * w + column)] : 0.0;
  };
  std::vector<double> out;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t d = 0; d < a.side() * a.side(); ++d) {
      int64_t down = (d / a.side() - a.radius()) * a.stride_2, right = (d % a.side() - a.radius()) * a.stride_2;
      for (int64_t oy = 0; oy < out_h; ++oy)
        for (int64_t ox = 0; ox < out_w; ++ox) {
          double sum = 0;
          for (int64_t k = 0; k < c; ++k)
            for (int64_t ky = 0; ky < a.kernel_size; ++ky)
              for (int64_t kx = 0; kx < a.kernel_size; ++kx) {
                int64_t row = oy * a.stride_1 + a.max_displacement + ky;
                int64_t column = ox * a.stride_1 + a.max_displacement + kx;
                sum += at(x0, i * c + k, row, column) * at(x1, i * c + k, row + down, column + right);
              }
          out.push_back(c ? sum / static_cast<double>(a.kernel_size * a.kernel_size * c) : 0);
        }
    }
  y.assign(out);
}

void flow_warp_infer(Infer& ctx, const NoAttributes&) {
  Shape s = ctx.shape(0), flow = ctx.shape(1);
  for (const Shape& one : {s, flow})
    if (one.ranked() && one.rank() != 4) fail("expected an image and a flow of rank 4, got shape ", one);
  if (flow.ranked() && flow[1].known() && flow[1].value() != 2)
    fail("expected a flow with 2 channels, got shape ", flow);
  if (s.ranked() && flow.ranked()) s = merge(s, Shape{flow[0], s[1], flow[2], flow[3]});
  else if (flow.ranked()) s = Shape{flow[0], Dim(), flow[2], flow[3]};
  ctx.output(0, common_type(ctx), s);
}
void flow_warp_run(Run& ctx, const NoAttributes&) {
  TensorView image = ctx.input(0);
  std::vector<double> x = image.to<double>(), flow = ctx.input(1).to<double>();
  int64_t n = image.dim(0), c = image.dim(1), h = image.dim(2), w = image.dim(3), area = h * w;
  std::vector<double> out(x.size(), 0.0);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t p = 0; p < area; ++p) {
      double fx = static_cast<double>(p % w) + flow[static_cast<size_t>(2 * i * area + p)];
      double fy = static_cast<double>(p / w) + flow[static_cast<size_t>((2 * i + 1) * area + p)];
      if (!(fx >= 0 && fy >= 0 && fx < static_cast<double>(w) && fy < static_cast<double>(h))) continue;
      auto left = static_cast<int64_t>(fx), top = static_cast<int64_t>(fy);
      double alpha = fx - static_cast<double>(left), beta = fy - static_cast<double>(top);
      int64_t right = std::min(left + 1, w - 1), bottom = std::min(top + 1, h - 1);
      for (int64_t k = 0; k < c; ++k) {
        const double* plane = x.data() + (i * c + k) * area;
        out[static_cast<size_t>((i * c + k) * area + p)] =
            (1 - alpha) * (1 - beta) * plane[top * w + left] + (1 - alpha) * beta * plane[bottom * w + left] +
            alpha * (1 - beta) * plane[top * w + right] + alpha * beta * plane[bottom * w + right];
      }
    }
  ctx.output(0).assign(out);
}

Value import_caffe_correlation(Builder& layer) {
  std::string m = "correlation_param.";
  const graft_value* type = layer.field(m + "correlation_type");
  if (type && (type->kind == GRAFT_TEXT ? view(type->s) != "MULTIPLY" : type->i != 0))
    unsupported("only correlation by multiplication (MULTIPLY) is supported");
  if (layer.get<int64_t>(m + "single_direction", 0) != 0)
    unsupported("correlation in a single direction is not supported");
  std::vector<NamedAttr> attrs;
  for (std::string_view name : {"pad", "kernel_size", "max_displacement", "stride_1", "stride_2"})
    if (std::string path = m + std::string(name); layer.has(path)) attrs.push_back({name, layer.get<int64_t>(path)});
  return layer.op("Correlation@graft", {layer.input(0), layer.input(1)}, attrs);
}
Value import_caffe_flow_warp(Builder& layer) {
  const graft_value* fill = layer.field("flow_warp_param.fill_value");
  if (fill && (fill->kind == GRAFT_TEXT ? view(fill->s) != "ZERO" : fill->i != 1))
    unsupported("only zero filling (fill_value ZERO) outside the image is supported");
  return layer.op("FlowWarp@graft", {layer.input(0), layer.input(1)});
}

// At inference time the layer subtracts the mean: the stored one or, during its first iterations, a mixture with the
// mean of the input. The iteration is the last one counted in training.
Value import_caffe_data_augmentation(Builder& layer) {
  std::string m = "augmentation_param.";
  Value x = layer.input(0);
  for (std::string_view crop : {"crop_width", "crop_height"})
    if (layer.get<int64_t>(m + std::string(crop), 0) > 0) unsupported("cropping in DataAugmentation is not supported");
  auto recompute = layer.get<int64_t>(m + "recompute_mean", 0);
  if (recompute <= 0) return x;
  if (x.rank() != 4) fail("expected an input of rank 4, got rank ", x.rank());
  bool per_pixel = layer.get<bool>(m + "mean_per_pixel", false);
  auto steps = layer.weight(0).values<double>();
  double step = steps && !steps->empty() ? std::max((*steps)[0], 1.0) : 1;
  bool mixes = step <= static_cast<double>(recompute);
  Value mean;
  if (!mixes || step > 1) {
    mean = reshape(layer.weight(per_pixel ? 1 : 2), {1, -1, 1, 1});
    if (per_pixel) {
      Shape s = x.shape();
      for (size_t i = 1; i < 4; ++i)
        if (!s[i].known()) needs_shape("the size of the input is unknown, but this conversion requires it");
      mean = reshape(layer.weight(1), {1, s[1].value(), s[2].value(), s[3].value()});
    }
  }
  if (!mixes) return x - mean;
  std::vector<int64_t> axes = per_pixel ? std::vector<int64_t>{0} : std::vector<int64_t>{0, 2, 3};
  Value own = layer.op("ReduceMean", {x, layer.ints(axes)}, {{"keep_dims", true}});
  return x - (step > 1 ? mean * ((step - 1) / step) + own * (1 / step) : own);
}

}  // namespace

Definitions define_flow() {
  return {
      op<Correlation>("Correlation", "graft")
          .doc("Correlate patches of the first image with displaced patches of the second; one output channel per "
               "displacement")
          .inputs("a, b")
          .infer(correlation_infer)
          .reference(correlation_run)
          .import(caffe("Correlation").expand(import_caffe_correlation)),
      op("FlowWarp", "graft")
          .doc("Warp an image by a flow field (x, y) with bilinear interpolation; positions outside the image are 0")
          .inputs("image, flow")
          .infer(flow_warp_infer)
          .reference(flow_warp_run)
          .import(caffe("FlowWarp").expand(import_caffe_flow_warp)),
      caffe("DataAugmentation").ignore("augmentation_param.*").expand(import_caffe_data_augmentation),
  };
}

}  // namespace graft
