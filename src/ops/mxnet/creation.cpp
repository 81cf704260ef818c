// Tensors of given values.
#include "mxnet/building.hpp"

namespace graft {
namespace {

// A dimension of 0 is open in MXNet, and found by the consumers: the states of unrolled cells. Size 1 broadcasts to it.
Value mxnet_filled(Builder& layer, double value) {
  std::vector<int64_t> dims = mx::ints(layer, "shape");
  for (int64_t& d : dims)
    if (d <= 0) d = 1;
  if (dims.empty()) dims = {1};
  return build::fill(layer, value, mx::element_type(layer, "dtype", DType::f32), layer.ints(dims));
}
Value import_mxnet_zeros(Builder& layer) { return mxnet_filled(layer, 0); }
Value import_mxnet_ones(Builder& layer) { return mxnet_filled(layer, 1); }
Value import_mxnet_full(Builder& layer) { return mxnet_filled(layer, layer.get<double>("value")); }

Value mxnet_filled_like(Builder& layer, double value) {
  Value x = layer.input(0);
  DType type = mx::element_type(layer, "dtype", x.type());
  Shape s = x.shape();
  return build::fill(layer, value, type, s.is_static() ? layer.ints(s.values()) : shape_of(x));
}
Value import_mxnet_zeros_like(Builder& layer) { return mxnet_filled_like(layer, 0); }
Value import_mxnet_ones_like(Builder& layer) { return mxnet_filled_like(layer, 1); }
Value import_mxnet_full_like(Builder& layer) { return mxnet_filled_like(layer, layer.get<double>("fill_value")); }

Value mxnet_each_repeated(Builder& layer, const Value& v, int64_t times) {
  if (times < 1 || times > 1 << 24) fail("expected 'repeat' of 1 to ", 1 << 24, ", got ", times);
  return times == 1 ? v : reshape(layer.op("Tile", {unsqueeze(v, {1}), layer.ints({1, times})}), {-1});
}
Value import_mxnet_arange(Builder& layer) {
  double start = layer.get<double>("start", 0), step = layer.get<double>("step", 1);
  if (mx::bool_or(layer, "infer_range", false)) unsupported("arange with 'infer_range' is not supported");
  double stop = 0;
  if (mx::is_none(layer, "stop")) stop = start, start = 0;
  else stop = layer.get<double>("stop");
  DType type = mx::element_type(layer, "dtype", DType::f32);
  Value v = layer.op("Range@4",
                     {layer.scalar(start, DType::f64), layer.scalar(stop, DType::f64), layer.scalar(step, DType::f64)},
                     {{"output_type", type}});
  return mxnet_each_repeated(layer, v, mx::int_or(layer, "repeat", 1));
}
// As many numbers as the tensor has elements, or as an axis has.
Value import_mxnet_arange_like(Builder& layer) {
  Value x = layer.input(0);
  double start = layer.get<double>("start", 0), step = layer.get<double>("step", 1);
  if (auto times = mx::int_or(layer, "repeat", 1); times != 1)
    unsupported("'repeat' ", times, " is not supported, only 1");
  auto axis = mx::optional_int(layer, "axis");
  Value count =
      axis ? dimension_of(x, *axis) : layer.op("ReduceProd", {shape_of(x), layer.ints({0})}, {{"keep_dims", false}});
  Value v = counting(count, DType::i64);
  v = convert(v, x.type()) * step + start;
  return axis ? v : mx::same_shape(v, x);
}
Value import_mxnet_linspace(Builder& layer) {
  auto count = layer.get<int64_t>("num");
  if (count < 1 || count > 1 << 20) fail("expected 'num' of 1 to ", 1 << 20, ", got ", count);
  double start = layer.get<double>("start"), stop = layer.get<double>("stop");
  bool last = mx::bool_or(layer, "endpoint", true);
  double step = count - last > 0 ? (stop - start) / static_cast<double>(count - last) : 0;
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(start + step * static_cast<double>(i));
  return layer.typed(std::move(values), {count}, mx::element_type(layer, "dtype", DType::f32));
}
Value import_mxnet_eye(Builder& layer) {
  auto rows = layer.get<int64_t>("N"), columns = mx::int_or(layer, "M", 0);
  return layer.op(
      "Eye", {layer.scalar(rows), layer.scalar(columns > 0 ? columns : rows), layer.scalar(mx::int_or(layer, "k", 0))},
      {{"output_type", mx::element_type(layer, "dtype", DType::f32)}});
}
Value import_mxnet_random_uniform(Builder& layer) {
  DType type = mx::element_type(layer, "dtype", DType::f32);
  std::vector<int64_t> dims = mx::ints(layer, "shape");
  if (dims.empty()) dims = {1};
  return layer.op("RandomUniform",
                  {layer.ints(dims), layer.scalar(layer.get<double>("low", 0), type),
                   layer.scalar(layer.get<double>("high", 1), type)},
                  {{"output_type", type}});
}

}  // namespace

Definitions define_mxnet_creation() {
  return {
      mx::rules({"_zeros", "zeros", "_npi_zeros"}, import_mxnet_zeros, {"ctx"}),
      mx::rules({"_ones", "ones", "_npi_ones"}, import_mxnet_ones, {"ctx"}),
      mx::rules({"_full", "_npi_full"}, import_mxnet_full, {"ctx"}),
      mx::rules({"zeros_like"}, import_mxnet_zeros_like),
      mx::rules({"ones_like"}, import_mxnet_ones_like),
      mx::rules({"_npi_full_like"}, import_mxnet_full_like, {"ctx"}),
      mx::rules({"_arange", "arange", "_npi_arange"}, import_mxnet_arange, {"ctx"}),
      mx::rules({"_contrib_arange_like"}, import_mxnet_arange_like, {"ctx"}),
      mx::rules({"_linspace", "_npi_linspace"}, import_mxnet_linspace, {"ctx", "step", "infer_range", "repeat"}),
      mx::rules({"_eye", "_npi_eye"}, import_mxnet_eye, {"ctx"}),
      mx::rules({"_random_uniform", "random_uniform", "uniform", "_npi_uniform"}, import_mxnet_random_uniform, {"ctx"}),
  };
}

}  // namespace graft
