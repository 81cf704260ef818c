// LSTM, CTCGreedyDecoder and SpatialTransformer.
#include <graft/op.hpp>

#include "caffe/building.hpp"

namespace graft {
namespace {

// Caffe stores the gates in the order input, forget, output, cell; the operation expects forget, input, cell, output.
Value caffe_gates(const Value& weights, const std::vector<int64_t>& dims) {
  std::vector<Value> gates = build::split(reshape(weights, dims), 0, 4);
  return build::concat({gates[1], gates[0], gates[3], gates[2]}, 0);
}

// Unrolled into one cell per step: the second input says at each step whether the sequence continues (0 resets the
// state).
std::vector<Value> import_caffe_lstm(Builder& layer) {
  auto hidden = layer.get<int64_t>("recurrent_param.num_output");
  if (hidden < 1 || hidden > 1 << 24) fail("expected 'recurrent_param.num_output' of 1 to ", 1 << 24, ", got ", hidden);
  bool exposed = layer.get<bool>("recurrent_param.expose_hidden", false);
  if (layer.flows() != (exposed ? 4u : 2u)) unsupported("an LSTM with ", layer.flows(), " inputs is not supported");
  if (layer.weights() != 3)
    fail("expected 3 weight tensors in layer '", layer.name(), "' (LSTM), got ", layer.weights());
  Value x = layer.input(0), goes_on = layer.input(1);
  Shape s = x.shape();
  if (!s.ranked() || s.rank() < 2 || !s[0].known() || !s[1].known())
    unsupported("the number of steps and the batch size must be known, got an input of shape ", s);
  int64_t steps = s[0].value(), batch = s[1].value();
  if (steps < 1 || steps > 1024) unsupported("an LSTM of ", steps, " steps is not supported, only 1 to 1024");
  Value w = caffe_gates(layer.weight(0), {4 * hidden, -1}), b = caffe_gates(layer.weight(1), {4 * hidden}),
        r = caffe_gates(layer.weight(2), {4 * hidden, hidden});
  auto initial = [&](size_t input) {
    if (exposed) return reshape(layer.input(input), {batch, hidden});
    return build::fill(layer, 0, x.type(), layer.ints({batch, hidden}));
  };
  Value h = initial(2), c = initial(3);
  std::vector<Value> xs = build::split(reshape(x, {steps, batch, -1}), 0, steps),
                     flags = build::split(reshape(goes_on, {steps, batch, 1}), 0, steps), out;
  for (size_t t = 0; t < xs.size(); ++t) {
    Value keep = squeeze(flags[t], {0});
    std::vector<Value> next =
        layer.ops("LSTMCell@4", {squeeze(xs[t], {0}), h * keep, c * keep, w, r, b}, {{"hidden_size", hidden}}, 2);
    h = next[0], c = next[1];
    out.push_back(unsqueeze(h, {0}));
  }
  std::vector<Value> results{build::concat(out, 0)};
  if (exposed) results.push_back(unsqueeze(h, {0})), results.push_back(unsqueeze(c, {0}));
  return results;
}

// theta maps output positions to input positions, both normalized to -1..1.
Value import_caffe_spatial_transformer(Builder& layer) {
  if (std::string type = layer.get<std::string>("st_param.transform_type", "affine"); type != "affine")
    unsupported("transformation '", type, "' is not supported, only 'affine'");
  Value x = layer.input(0), theta = layer.input(1);
  Shape s = x.shape();
  if (!s.ranked() || s.rank() != 4 || !s[2].known() || !s[3].known() || s[2].value() < 1 || s[3].value() < 1)
    unsupported("the height and width of the input must be known, got shape ", s);
  auto h = layer.get<int64_t>("st_param.output_H", s[2].value()),
       w = layer.get<int64_t>("st_param.output_W", s[3].value());
  constexpr int64_t most = 1 << 22;
  if (h < 1 || w < 1 || h > most / w) fail("expected an output of 1 to ", most, " positions, got ", h, " x ", w);
  std::vector<float> places;
  for (int64_t i = 0; i < h; ++i)
    for (int64_t j = 0; j < w; ++j) {
      places.push_back(static_cast<float>(i) / static_cast<float>(h) * 2 - 1);
      places.push_back(static_cast<float>(j) / static_cast<float>(w) * 2 - 1);
      places.push_back(1);
    }
  // Coefficients of theta given as attributes are fixed; the second input provides the others.
  constexpr std::string_view names[] = {"st_param.theta_1_1", "st_param.theta_1_2", "st_param.theta_1_3",
                                        "st_param.theta_2_1", "st_param.theta_2_2", "st_param.theta_2_3"};
  theta = build::reshape_keeping(theta, {0, -1});
  bool any = false;
  for (std::string_view name : names) any |= layer.has(name);
  if (any) {
    std::vector<Value> parts;
    Value zero = build::slice(theta, 1, 0, 1) * 0.0;
    int64_t next = 0;
    for (std::string_view name : names) {
      if (layer.has(name)) parts.push_back(zero + double{layer.get<float>(name)});
      else parts.push_back(build::slice(theta, 1, next, next + 1)), ++next;
    }
    theta = build::concat(parts, 1);
  }
  Value grid =
      build::matmul(layer.constant<float>(std::move(places), {h * w, 3}), reshape(theta, {-1, 2, 3}), false, true);
  Value shift =
      layer.constant<float>({1 / static_cast<float>(s[3].value()), 1 / static_cast<float>(s[2].value())}, {2});
  grid = build::gather(grid, layer.ints({1, 0}), 2) + shift;  // Caffe puts rows first, GridSample columns
  return layer.op("GridSample", {x, reshape(grid, {-1, h, w, 2})},
                  {{"align_corners", false}, {"mode", "bilinear"}, {"padding_mode", "zeros"}});
}

}  // namespace

Definitions define_caffe_sequence() {
  return {
      caffe("LSTM")
          .ignore("recurrent_param.weight_filler.*")
          .ignore("recurrent_param.bias_filler.*")
          .ignore("recurrent_param.debug_info")
          .expand(import_caffe_lstm),
      caffe("SpatialTransformer")
          .ignore("st_param.sampler_type")
          .ignore("st_param.to_compute_dU")
          .expand(import_caffe_spatial_transformer),
      caffe("CTCGreedyDecoder")
          .to("CTCGreedyDecoder", "opset1")
          .attr("ctc_merge_repeated", "ctc_decoder_param.ctc_merge_repeated", true),
  };
}

}  // namespace graft
