// Layers that take parts of tensors by position.
#include "mxnet/building.hpp"

namespace graft {
namespace {

constexpr int64_t slice_first = std::numeric_limits<int64_t>::min(), slice_last = std::numeric_limits<int64_t>::max();

Value mxnet_slice_axis(const Value& x, int64_t axis, std::optional<int64_t> begin, std::optional<int64_t> end,
                       int64_t step) {
  if (step == 0) fail("expected a 'step' other than 0");
  int64_t from = begin.value_or(step > 0 ? 0 : slice_last), to = end.value_or(step > 0 ? slice_last : slice_first);
  if (from == 0 && to == slice_last && step == 1) return x;
  return build::slice(x, axis, from, to, step);
}

Value import_mxnet_slice(Builder& layer) {
  Value x = layer.input(0);
  auto begin = mx::optional_ints(layer, "begin"), end = mx::optional_ints(layer, "end"),
       step = mx::optional_ints(layer, "step");
  if (begin.size() != end.size() || (!step.empty() && step.size() > begin.size()))
    fail("expected as many values of 'end' as of 'begin', got ", end.size(), " and ", begin.size());
  for (size_t i = 0; i < begin.size(); ++i)
    x = mxnet_slice_axis(x, static_cast<int64_t>(i), begin[i], end[i], i < step.size() ? step[i].value_or(1) : 1);
  return x;
}
Value import_mxnet_slice_axis(Builder& layer) {
  return mxnet_slice_axis(layer.input(0), layer.get<int64_t>("axis"), mx::optional_int(layer, "begin"),
                          mx::optional_int(layer, "end"), 1);
}
Value import_mxnet_slice_like(Builder& layer) {
  Value x = layer.input(0), as = layer.input(1);
  std::vector<int64_t> axes = mx::ints(layer, "axes");
  if (axes.empty()) axes = mx::axes_from(0, as.rank());
  std::vector<int64_t> ones(axes.size(), 1), zeros(axes.size(), 0);
  return layer.op("Slice", {x, layer.ints(zeros), build::dims(as, axes), layer.ints(ones), layer.ints(axes)});
}

std::vector<Value> mxnet_without_axis(Builder& layer, std::vector<Value> parts, int64_t axis) {
  if (mx::bool_or(layer, "squeeze_axis", false))
    for (Value& p : parts) p = mx::at_least_1d(squeeze(p, {axis}));
  return parts;
}
std::vector<Value> import_mxnet_slice_channel(Builder& layer) {
  auto count = layer.get<int64_t>("num_outputs"), axis = mx::int_or(layer, "axis", 1);
  if (count < 1 || count > 65'536) fail("expected 'num_outputs' of 1 to 65536, got ", count);
  return mxnet_without_axis(layer, build::split(layer.input(0), axis, count), axis);
}
// 'indices' are the beginnings of the parts.
std::vector<Value> import_mxnet_split_v2(Builder& layer) {
  auto sections = mx::int_or(layer, "sections", 0), axis = mx::int_or(layer, "axis", 0);
  if (sections > 65'536) fail("expected 'sections' of at most 65536, got ", sections);
  std::vector<int64_t> begins = mx::ints(layer, "indices");
  if (sections > 0) return mxnet_without_axis(layer, build::split(layer.input(0), axis, sections), axis);
  if (begins.empty() || begins[0] != 0) begins.insert(begins.begin(), 0);
  std::vector<Value> parts;
  for (size_t i = 0; i < begins.size(); ++i)
    parts.push_back(build::slice(layer.input(0), axis, begins[i], i + 1 < begins.size() ? begins[i + 1] : slice_last));
  return mxnet_without_axis(layer, std::move(parts), axis);
}

// Height and width of the second input, or h_w.
Value import_mxnet_crop(Builder& layer) {
  Value x = layer.input(0), size;
  std::vector<int64_t> offset = mx::windows(layer, "offset", 2, 0, 0), given = mx::windows(layer, "h_w", 2, 0, 0);
  if (mx::int_or(layer, "num_args", static_cast<int64_t>(layer.inputs())) == 2)
    size = build::dims(layer.input(1), {2, 3});
  else size = layer.ints(given);
  Value begin = layer.ints(offset);
  if (mx::bool_or(layer, "center_crop", false))
    begin = layer.op("Divide", {build::dims(x, {2, 3}) - size, layer.ints({2, 2})});
  return layer.op("Slice", {x, begin, begin + size, layer.ints({1, 1}), layer.ints({2, 3})});
}

}  // namespace

Definitions define_mxnet_slicing() {
  return {
      mx::rules({"slice", "crop", "_npi_slice"}, import_mxnet_slice),
      mx::rules({"slice_axis"}, import_mxnet_slice_axis),
      mx::rules({"slice_like"}, import_mxnet_slice_like),
      mx::rules({"SliceChannel", "split"}, import_mxnet_slice_channel),
      mx::rules({"_split_v2"}, import_mxnet_split_v2),
      mx::rules({"Crop"}, import_mxnet_crop),
  };
}

}  // namespace graft
