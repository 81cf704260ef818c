#include <graft/op.hpp>

#include "convolution.hpp"

namespace graft {
namespace {

struct BinaryConvolution : WindowAttributes {
  std::string mode = "xnor-popcount";
  float pad_value = 0;
  static constexpr std::tuple schema{strides_attr,
                                     pads_begin_attr,
                                     pads_end_attr,
                                     dilations_attr,
                                     attr("mode", &BinaryConvolution::mode,
                                          "interpretation of the bits: 0 stands for -1, 1 for +1 (XNOR and popcount)")
                                         .one_of("xnor-popcount"),
                                     attr("pad_value", &BinaryConvolution::pad_value, "value of the padding"),
                                     auto_pad_attr};
};

void binary_convolution_infer(Infer& ctx, const BinaryConvolution& attributes) {
  Shape data = ctx.shape(0), weights = ctx.shape(1);
  if (!match_spatial_rank(data, weights, 2)) return ctx.output(0, ctx.type(0), Shape::unknown());
  WindowAttributes a = complete_windows(attributes, data.rank() - 2);
  check_channels(data[1], weights[1]);
  Shape out{data[0], weights[0]};
  for (size_t i = 2; i < data.rank(); ++i)
    out.push_back(window_positions(data[i], weights[i], a, i - 2, Rounding::floor));
  ctx.output(0, ctx.type(0), out);
}

// The sum of +1 for matching and -1 for differing bits: twice the number of matches minus the number of taps.
void binary_convolution_run(Run& ctx, const BinaryConvolution& a) {
  TensorView x = ctx.input(0), w = ctx.input(1);
  OutputView y = ctx.output(0);
  if (y.size() == 0) return;
  WindowAxes axes = window_axes(x.dims().subspan(2), y.dims().subspan(2), w.dims().subspan(2), a);
  std::vector<double> data = x.to<double>(), bits = w.to<double>(), out(static_cast<size_t>(y.size()));
  int64_t channels = w.dim(1), filters = w.dim(0), from = input_plane(axes), to = output_plane(axes);
  int64_t taps = count_of(w.dims().subspan(2));
  if (bits.empty()) return y.assign(out);
  for (int64_t n = 0; n < x.dim(0); ++n)
    for (int64_t o = 0; o < filters; ++o) {
      double* target = out.data() + (n * filters + o) * to;
      for (int64_t i = 0; i < channels; ++i) {
        const double* source = data.data() + (n * channels + i) * from;
        const double* kernel = bits.data() + (o * channels + i) * taps;
        each_tap(axes, [&](int64_t at, int64_t tz, int64_t ty, int64_t tx) {
          // Treat every position as padding first, then correct the positions that lie inside the image.
          double outside = a.pad_value == kernel[at] ? 1 : -1;
          for (int64_t k = 0; k < to; ++k) target[k] += outside;
          each_run(axes, tz, ty, tx, [&](int64_t dense, int64_t spread, int64_t count) {
            for (int64_t k = 0; k < count; ++k)
              target[dense + k] += (source[spread + k * axes[2].stride] == kernel[at] ? 1 : -1) - outside;
          });
        });
      }
    }
  y.assign(out);
}

}  // namespace

Definitions define_binary_convolution() {
  return op<BinaryConvolution>("BinaryConvolution", 1)
      .doc("Convolution of binary data with 1-bit weights")
      .inputs("data, weights")
      .infer(binary_convolution_infer)
      .reference(binary_convolution_run);
}

}  // namespace graft
