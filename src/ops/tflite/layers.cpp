// Convolutions, products and pools. Images are [n, h, w, c]; integers are transposed before they become numbers, since
// they take less memory.
#include <graft/numeric.hpp>

#include "building.hpp"

namespace graft {
namespace {

using tfl::activated, tfl::real, tfl::result;

// Input `i` with its axes in another order, as numbers.
Value tfl_ordered(Builder& layer, size_t i, const std::vector<int64_t>& order) {
  Value x = layer.input(i);
  if (x.rank() != order.size()) fail("expected rank ", order.size(), " for input ", i, ", got shape ", x.shape());
  auto s = tfl::input_steps(layer, i);
  x = transpose(x, order);
  if (!s) return x;
  if (s->scale.size() > 1) {
    auto at = std::find(order.begin(), order.end(), s->axis);
    if (at == order.end()) fail("expected steps along one of ", order.size(), " axes, got axis ", s->axis);
    s->axis = at - order.begin();
  }
  return tfl::dequantized(x, *s);
}
std::vector<int64_t> tfl_second(size_t spatial) {  // of the channels, which are the last axis
  std::vector<int64_t> order{0, static_cast<int64_t>(spatial) + 1};
  for (size_t i = 1; i <= spatial; ++i) order.push_back(static_cast<int64_t>(i));
  return order;
}
Value tfl_data(Builder& layer, size_t i, size_t spatial) { return tfl_ordered(layer, i, tfl_second(spatial)); }
// Hybrid operators have weights of 8 bits and numbers.
Value tfl_as_data(const Value& w, const Value& x) {
  return is_real(w.type()) && w.type() != x.type() ? convert(w, x.type()) : w;
}
// The end of a layer with channels second: bias, activation, channels last.
Value tfl_finished(Builder& layer, Value y, size_t bias, size_t spatial) {
  if (Value b = tfl::real_or_none(layer, bias)) {
    std::vector<int64_t> dims(spatial + 2, 1);
    dims[1] = -1;
    y = y + reshape(tfl_as_data(convert(b, y.type()), y), dims);
  }
  return tf::channels_last(result(layer, activated(layer, y)), spatial);
}
std::vector<NamedAttr> tfl_windows(const std::vector<int64_t>& strides, const std::vector<int64_t>& dilations,
                                   const std::string& auto_pad) {
  std::vector<int64_t> none(strides.size(), 0);
  return {
      {"strides", strides}, {"dilations", dilations}, {"pads_begin", none}, {"pads_end", none}, {"auto_pad", auto_pad}};
}

// A convolution of data [n, c, ...] with weights [o, i, ...]; c is a multiple of i.
Value tfl_convolved(const Value& x, const Value& w, const std::vector<NamedAttr>& windows) {
  Builder& layer = x.in();
  Shape in = x.shape(), ws = w.shape();
  int64_t groups = 1;
  if (in.ranked() && ws.ranked() && in[1].known() && ws[1].known() && ws[1].value() > 0) {
    if (in[1].value() % ws[1].value() != 0)
      fail("expected a multiple of ", ws[1], " channels in the data, got ", in[1]);
    groups = in[1].value() / ws[1].value();
  }
  if (groups <= 1) return layer.op("Convolution", {x, w}, windows);
  std::vector<int64_t> target{groups, -1};
  for (size_t i = 1; i < ws.rank(); ++i) {
    if (!ws[i].known()) unsupported("the shape of the filter is unknown, but this conversion requires it");
    target.push_back(ws[i].value());
  }
  return layer.op("GroupConvolution", {x, reshape(w, target)}, windows);
}

Value tfl_conv_2d(Builder& layer) {  // weights [o, y, x, i]
  Value x = tfl_data(layer, 0, 2), w = tfl_as_data(tfl_ordered(layer, 1, {0, 3, 1, 2}), x);
  auto strides = tfl::pair_of(layer, "stride_h", "stride_w"),
       dilations = tfl::pair_of(layer, "dilation_h_factor", "dilation_w_factor");
  return tfl_finished(layer, tfl_convolved(x, w, tfl_windows(strides, dilations, tfl::auto_pad(layer))), 2, 2);
}

Value tfl_depthwise(Builder& layer) {  // weights [1, y, x, channels * multiplier]
  Value x = tfl_data(layer, 0, 2), w = tfl_as_data(tfl_ordered(layer, 1, {3, 0, 1, 2}), x);
  auto strides = tfl::pair_of(layer, "stride_h", "stride_w"),
       dilations = tfl::pair_of(layer, "dilation_h_factor", "dilation_w_factor");
  Shape in = x.shape(), ws = w.shape();
  int64_t multiplier = layer.get<int64_t>("depth_multiplier", 0);
  if (in[1].known() && in[1].value() > 0 && ws[0].known()) multiplier = ws[0].value() / in[1].value();
  if (multiplier < 1 || !ws[2].known() || !ws[3].known())
    unsupported("the number of channels is unknown, but this conversion requires it");
  w = reshape(w, {-1, multiplier, 1, ws[2].value(), ws[3].value()});
  return tfl_finished(
      layer, layer.op("GroupConvolution", {x, w}, tfl_windows(strides, dilations, tfl::auto_pad(layer))), 2, 2);
}

// Data [n, i, ...], weights [i, o, ...]; `sizes` is the shape of the result with the channels last.
Value tfl_spread(Builder& layer, const Value& x, const Value& w, const Value& sizes,
                 const std::vector<int64_t>& strides, const std::vector<int64_t>& dilations) {
  size_t spatial = strides.size();
  bool same = tfl::auto_pad(layer) != "valid";
  Shape in = x.shape(), ws = w.shape();
  std::optional<Shape> wanted = sizes.known();
  bool known = wanted && in.ranked() && ws.ranked() && wanted->rank() == spatial + 2;
  std::vector<int64_t> begin(spatial, 0), end(spatial, 0), behind(spatial, 0);
  for (size_t i = 0; known && i < spatial; ++i) {
    const Dim out = (*wanted)[i + 1];
    known = out.known() && in[i + 2].known() && ws[i + 2].known();
    if (!known) break;
    // Padding is what the unpadded result has in excess; a deficit becomes output padding.
    int64_t extra = spread_extent(in[i + 2], ws[i + 2], strides[i], dilations[i]).max() - out.value();
    if (extra > 0) begin[i] = same ? extra / 2 : 0, end[i] = extra - begin[i];
    else behind[i] = -extra;
  }
  if (known)
    return layer.op("ConvolutionBackpropData", {x, w},
                    {{"strides", strides},
                     {"dilations", dilations},
                     {"pads_begin", begin},
                     {"pads_end", end},
                     {"auto_pad", "explicit"},
                     {"output_padding", behind}});
  Value space = build::slice(convert(sizes, DType::i64), 0, 1, 1 + static_cast<int64_t>(spatial));
  // With an odd excess, the extra element is removed at the end, which is "same_lower" in the transposed direction.
  return layer.op("ConvolutionBackpropData", {x, w, space},
                  {{"strides", strides}, {"dilations", dilations}, {"auto_pad", same ? "same_lower" : "valid"}});
}
// Inputs: shape of the result, weights [o, y, x, i], data, bias.
Value tfl_transpose_conv(Builder& layer) {
  Value x = tfl_data(layer, 2, 2), w = tfl_as_data(tfl_ordered(layer, 1, {3, 0, 1, 2}), x);
  Value y = tfl_spread(layer, x, w, layer.input(0), tfl::pair_of(layer, "stride_h", "stride_w"), {1, 1});
  return tfl_finished(layer, y, 3, 2);
}

std::vector<int64_t> tfl_triple(Builder& layer, std::string_view d, std::string_view h, std::string_view w) {
  std::vector<int64_t> v{layer.get<int64_t>(d), layer.get<int64_t>(h), layer.get<int64_t>(w)};
  within_limits(d, v);
  return v;
}
std::vector<int64_t> tfl_strides_3d(Builder& layer) { return tfl_triple(layer, "stride_d", "stride_h", "stride_w"); }
std::vector<int64_t> tfl_dilations_3d(Builder& layer) {
  return tfl_triple(layer, "dilation_d_factor", "dilation_h_factor", "dilation_w_factor");
}
Value tfl_conv_3d(Builder& layer) {  // weights [z, y, x, i, o]
  Value x = tfl_data(layer, 0, 3), w = tfl_as_data(tfl_ordered(layer, 1, {4, 3, 0, 1, 2}), x);
  auto windows = tfl_windows(tfl_strides_3d(layer), tfl_dilations_3d(layer), tfl::auto_pad(layer));
  return tfl_finished(layer, tfl_convolved(x, w, windows), 2, 3);
}
Value tfl_conv_3d_transpose(Builder& layer) {  // weights [z, y, x, o, i]
  Value x = tfl_data(layer, 2, 3), w = tfl_as_data(tfl_ordered(layer, 1, {4, 3, 0, 1, 2}), x);
  return tfl_finished(layer, tfl_spread(layer, x, w, layer.input(0), tfl_strides_3d(layer), tfl_dilations_3d(layer)), 3,
                      3);
}

Value tfl_fully_connected(Builder& layer) {  // weights [o, i]
  if (layer.get<std::string>("weights_format", "DEFAULT") != "DEFAULT")
    unsupported("weights in the format ", layer.get<std::string>("weights_format"), " are not supported");
  Value x = layer.input(0), w = layer.input(1);
  Shape s = x.shape(), ws = w.shape();
  if (w.rank() != 2) fail("expected weights of rank 2, got shape ", ws);
  bool keep = layer.get<bool>("keep_num_dims", false);
  // Everything but the depth is one axis.
  if (!keep && !(s.ranked() && s.rank() == 2 && s[1].known() && ws[1].known() && s[1].value() == ws[1].value())) {
    if (!ws[1].known()) unsupported("the depth of the weights is unknown, but this conversion requires it");
    x = reshape(x, {-1, ws[1].value()});
  }
  if (auto steps = tfl::input_steps(layer, 0)) x = tfl::dequantized(x, *steps);
  Value y = build::matmul(x, tfl_as_data(real(layer, 1), x), false, true);
  if (Value b = tfl::real_or_none(layer, 2)) y = y + convert(b, y.type());
  return result(layer, activated(layer, y));
}
Value tfl_batch_matmul(Builder& layer) {
  auto left = tfl::input_steps(layer, 0), right = tfl::input_steps(layer, 1), to = tfl::output_steps(layer);
  bool bytes = tfl::is_plain(left) && tfl::is_plain(right) && tfl::is_plain(to) && bits_of(layer.input(0).type()) == 8;
  // Constant matrices are products of bytes on the CPU, which round once.
  if (bytes && !layer.input(1).constant()) {
    Value y = build::matmul(tfl::centred(layer.input(0), *left), tfl::centred(layer.input(1), *right),
                            layer.get<bool>("adj_x", false), layer.get<bool>("adj_y", false));
    y = tfl::rescaled(y, left->scale[0] * right->scale[0] / to->scale[0]);
    return tfl::in_steps(layer, y, *to, tfl::output_type(layer));
  }
  Value a = real(layer, 0), b = tfl_as_data(real(layer, 1), a);
  Value y = build::matmul(a, b, layer.get<bool>("adj_x", false), layer.get<bool>("adj_y", false));
  return result(layer, is_real(y.type()) || tfl::output_type(layer) == DType::undefined
                           ? y
                           : convert(y, tfl::output_type(layer)));
}

// ---- pools ----

std::vector<NamedAttr> tfl_pool_windows(Builder& layer) {
  std::vector<int64_t> none(2, 0);
  return {{"strides", tfl::pair_of(layer, "stride_h", "stride_w")},
          {"pads_begin", none},
          {"pads_end", none},
          {"kernel", tfl::pair_of(layer, "filter_height", "filter_width")},
          {"rounding_type", "floor"},
          {"auto_pad", tfl::auto_pad(layer)}};
}
Value tfl_averages(Builder& layer, const Value& x) {
  std::vector<NamedAttr> attrs = tfl_pool_windows(layer);
  attrs.push_back({"exclude-pad", true});
  return layer.op("AvgPool@1", {x}, attrs);
}
// Of integers, the average is one of the integers around it, halves away from zero.
Value tfl_average_pool(Builder& layer) {
  auto steps = tfl::input_steps(layer, 0);
  if (!steps) return tf::channels_last(activated(layer, tfl_averages(layer, tfl_data(layer, 0, 2))), 2);
  DType type = layer.input(0).type();
  Value x = convert(tf::channels_second(layer.input(0), 2), DType::f32);
  Value y = tfl::rounded(tfl_averages(layer, x), type, 0, tfl::Halves::away);
  if (layer.get<std::string>("fused_activation_function", "NONE") != "NONE")
    y = result(layer, activated(layer, tfl::dequantized(y, *steps)));
  return tf::channels_last(y, 2);
}
Value tfl_max_pool(Builder& layer) {
  Value y = layer.op("MaxPool@1", {tfl_data(layer, 0, 2)}, tfl_pool_windows(layer));
  return tf::channels_last(result(layer, activated(layer, y)), 2);
}
Value tfl_l2_pool(Builder& layer) {
  Value x = tfl_data(layer, 0, 2);
  return tf::channels_last(result(layer, activated(layer, layer.op("Sqrt", {tfl_averages(layer, x * x)}))), 2);
}

// ---- normalization ----

// Of 16 bits: exp and 1 / (1 + x) come from tables of 512 intervals, with lines in between, in 15 bits.
template <class F>
std::vector<int64_t> tfl_table(F f, double low, double high) {
  constexpr int count = 512;
  constexpr double one = 32768;
  std::vector<int64_t> out;
  double step = (high - low) / count;
  auto clamped = [](double v) { return static_cast<int64_t>(std::clamp(v, -one, one - 1)); };
  for (int i = 0; i < count; ++i) {
    double at = low + i * step, here = std::round(f(at) * one);
    // Half of what the line misses in the middle is taken off.
    double line = std::round((f(at + step) * one + here) / 2), middle = std::round(f(at + step / 2) * one);
    out.push_back(clamped(here - std::round((line - middle) / 2)));
  }
  out.push_back(clamped(std::round(f(high) * one)));
  return out;
}
Value tfl_floor_div(const Value& a, int64_t b) {
  return a.in().op("Divide", {a, a.in().scalar(b)}, {{"m_pythondiv", true}});
}
Value tfl_clamped_16(const Value& v) {
  Builder& layer = v.in();
  return layer.op("Minimum", {layer.op("Maximum", {v, layer.scalar(int64_t{-32768})}), layer.scalar(int64_t{32767})});
}
Value tfl_looked_up(const Value& v, const std::vector<int64_t>& table) {
  Builder& layer = v.in();
  Value place = tfl_floor_div(v, 128), part = v - place * 128.0, values = layer.ints(table);
  place = place + 256;
  Value base = build::gather(values, place, 0);
  Value next = build::gather(values, layer.op("Minimum", {place + 1, layer.scalar(int64_t{512})}), 0);
  return base + tfl_floor_div((next - base) * part + 64, 128);
}
Value tfl_softmax_16(Builder& layer, double factor) {
  Value q = layer.input(0), last = layer.ints({-1});
  Value distance =
      convert(q, DType::f32) - convert(layer.op("ReduceMax", {q, last}, {{"keep_dims", true}}), DType::f32);
  Value e = tfl_looked_up(tfl_clamped_16(convert(tfl::rescaled(distance, factor * 65535 / 10), DType::i64) + 32767),
                          tfl_table([](double x) { return std::exp(x); }, -10, 0));
  Value sum = layer.op("ReduceSum", {e, last}, {{"keep_dims", true}});
  // The bits above the first one of the sum, as 32 bits.
  std::vector<int64_t> powers;
  for (int i = 0; i < 32; ++i) powers.push_back(int64_t{1} << i);
  Value above = layer.op("Less", {sum, layer.ints(powers)});
  Value free = layer.op("ReduceSum", {convert(above, DType::i64), last}, {{"keep_dims", true}});
  auto power = [&](const Value& v) { return build::gather(layer.ints(powers), v, 0); };
  Value fraction = tfl_floor_div(sum * power(free - 1) + (1 << 13), 1 << 14) - ((1 << 15) + (1 << 16));
  Value inverse = tfl_looked_up(tfl_clamped_16(fraction), tfl_table([](double x) { return 1 / (1 + x); }, 0, 1));
  Value shift = 31 - free;
  Value y = layer.op("Divide", {e * inverse + power(shift - 1), power(shift)}, {{"m_pythondiv", true}});
  return convert(layer.op("Maximum", {tfl_clamped_16(y), layer.scalar(int64_t{0})}), DType::i16);
}
Value tfl_softmax(Builder& layer) {
  double beta = layer.get<float>("beta", 1);
  auto steps = tfl::input_steps(layer, 0);
  if (tfl::is_plain(steps) && layer.input(0).type() == DType::i16 && beta > 0)
    return tfl_softmax_16(layer, steps->scale[0] * beta);
  Value x = real(layer, 0);
  return result(layer, build::softmax(x * beta, -1));
}
Value tfl_log_softmax(Builder& layer) {
  return result(layer, layer.op("LogSoftmax", {real(layer, 0)}, {{"axis", -1}}));
}
Value tfl_l2_normalization(Builder& layer) {
  Value x = real(layer, 0);
  Value sum = layer.op("ReduceSum", {x * x, layer.ints({-1})}, {{"keep_dims", true}});
  Value norm = layer.op("Maximum", {layer.op("Sqrt", {sum}), like(x, 1e-6)});
  return result(layer, activated(layer, x / norm));
}
// alpha and beta as in TensorFlow: alpha is not divided by the size.
Value tfl_local_response(Builder& layer) {
  auto radius = layer.get<int64_t>("radius");
  if (radius < 0 || radius > 1 << 20) fail("expected 'radius' of 0 to ", 1 << 20, ", got ", radius);
  auto size = 2 * radius + 1;
  Value y = layer.op("LRN", {tfl_data(layer, 0, 2), layer.ints({1})},
                     {{"alpha", static_cast<double>(layer.get<float>("alpha")) * static_cast<double>(size)},
                      {"beta", static_cast<double>(layer.get<float>("beta"))},
                      {"bias", static_cast<double>(layer.get<float>("bias"))},
                      {"size", size}});
  return tf::channels_last(y, 2);
}

}  // namespace

Definitions define_tflite_layers() {
  return {
      tfl::rule("AVERAGE_POOL_2D", tfl_average_pool),
      tfl::rule("BATCH_MATMUL", tfl_batch_matmul),
      tfl::rule("CONV_2D", tfl_conv_2d),
      tfl::rule("CONV_3D", tfl_conv_3d),
      tfl::rule("CONV_3D_TRANSPOSE", tfl_conv_3d_transpose),
      tfl::rule("DEPTHWISE_CONV_2D", tfl_depthwise),
      tfl::rule("FULLY_CONNECTED", tfl_fully_connected),
      tfl::rule("L2_NORMALIZATION", tfl_l2_normalization),
      tfl::rule("L2_POOL_2D", tfl_l2_pool),
      tfl::rule("LOCAL_RESPONSE_NORMALIZATION", tfl_local_response),
      tfl::rule("LOG_SOFTMAX", tfl_log_softmax),
      tfl::rule("MAX_POOL_2D", tfl_max_pool),
      tfl::rule("SOFTMAX", tfl_softmax),
      tfl::rule("TRANSPOSE_CONV", tfl_transpose_conv),
  };
}

}  // namespace graft
