// Layers that reshape, split and join.
#include <graft/op.hpp>

#include "caffe/building.hpp"

namespace graft {
namespace {

// `axis`, or its older name.
int64_t caffe_axis_of(Builder& layer, std::string_view path, std::string_view before) {
  return layer.has(path) ? layer.get<int64_t>(path) : layer.get<int64_t>(before, 1);
}

Value import_caffe_concat(Builder& layer) {
  int64_t axis = caffe_axis_of(layer, "concat_param.axis", "concat_param.concat_dim");
  std::vector<Value> parts;
  for (size_t i = 0; i < layer.flows(); ++i) parts.push_back(layer.input(i));
  if (parts.empty()) fail("layer '", layer.name(), "' has no inputs");
  return build::concat(parts, axis);
}

std::vector<Value> import_caffe_slice(Builder& layer) {
  int64_t axis = caffe_axis_of(layer, "slice_param.axis", "slice_param.slice_dim");
  std::vector<int64_t> points = layer.get<std::vector<int64_t>>("slice_param.slice_point", {});
  if (points.empty()) return build::split(layer.input(0), axis, static_cast<int64_t>(layer.outputs()));
  if (points.size() + 1 != layer.outputs())
    fail("expected ", layer.outputs() - 1, " values of 'slice_param.slice_point' for ", layer.outputs(),
         " outputs, got ", points.size());
  std::vector<int64_t> lengths;
  int64_t before = 0;
  for (int64_t p : points) {
    if (p <= before) fail("expected strictly increasing values of 'slice_param.slice_point', got ", points);
    lengths.push_back(p - before);
    before = p;
  }
  lengths.push_back(-1);
  return build::split(layer.input(0), axis, lengths);
}

std::vector<Value> import_caffe_split(Builder& layer) { return std::vector<Value>(layer.outputs(), layer.input(0)); }

// The dimensions of a value from axis `first` on, as a 1-D tensor.
Value caffe_sizes_from(Builder& layer, const Value& x, int64_t first) {
  Shape s = x.shape();
  if (s.ranked()) return build::dims(x, caffe_axes_from(static_cast<size_t>(first), s.rank()));
  return build::slice(shape_of(layer.input(0)), 0, first, INT64_MAX);
}

// Replaces the axes [first, end) by `middle`; 0 keeps the dimension at that position, -1 is inferred.
Value caffe_replace_axes(Builder& layer, const Value& x, int64_t first, std::optional<int64_t> end,
                         const std::vector<int64_t>& middle) {
  std::vector<int64_t> target(static_cast<size_t>(first), 0);
  target.insert(target.end(), middle.begin(), middle.end());
  Shape s = x.shape();
  if (!end || (s.ranked() && static_cast<size_t>(*end) >= s.rank())) return build::reshape_keeping(x, target);
  bool known = s.ranked();
  for (size_t i = static_cast<size_t>(*end); known && i < s.rank(); ++i) known = s[i].known();
  if (known) {
    for (size_t i = static_cast<size_t>(*end); i < s.rank(); ++i) target.push_back(s[i].value());
    return build::reshape_keeping(x, target);
  }
  std::vector<Value> parts;
  for (size_t i = 0; i < target.size(); ++i)
    parts.push_back(target[i] ? layer.ints({target[i]}) : build::dim(x, static_cast<int64_t>(i)));
  parts.push_back(caffe_sizes_from(layer, x, *end));
  return build::reshape(x, parts);
}

Value import_caffe_reshape(Builder& layer) {
  Value x = layer.input(0);
  std::vector<int64_t> dims = layer.get<std::vector<int64_t>>("reshape_param.shape.dim", {});
  auto axis = layer.get<int64_t>("reshape_param.axis", 0), count = layer.get<int64_t>("reshape_param.num_axes", -1);
  if (axis < 0) axis += static_cast<int64_t>(x.rank()) + 1;
  if (axis < 0 || axis > 32)
    fail("expected 'reshape_param.axis' within the rank of the input, got ",
         layer.get<int64_t>("reshape_param.axis", 0));
  if (count < -1 || count > 32) fail("expected 'reshape_param.num_axes' of -1 to 32, got ", count);
  if (Shape s = x.shape(); s.ranked() && axis + std::max<int64_t>(count, 0) > static_cast<int64_t>(s.rank()))
    fail("cannot replace axes ", axis, " to ", axis + std::max<int64_t>(count, 0), " of an input of shape ", s);
  return caffe_replace_axes(layer, x, axis, count < 0 ? std::nullopt : std::optional(axis + count), dims);
}

Value import_caffe_flatten(Builder& layer) {
  Value x = layer.input(0);
  auto axis = layer.get<int64_t>("flatten_param.axis", 1), end = layer.get<int64_t>("flatten_param.end_axis", -1);
  if (axis < 0) axis = static_cast<int64_t>(caffe_axis(axis, x.rank()));
  if (axis > 32) fail("expected 'flatten_param.axis' within the rank of the input, got ", axis);
  if (end == -1) return caffe_replace_axes(layer, x, axis, std::nullopt, {-1});
  end = static_cast<int64_t>(caffe_axis(end, x.rank()));
  if (end < axis) fail("expected the last axis to follow the first one (", axis, "), got ", end);
  return caffe_replace_axes(layer, x, axis, end + 1, {-1});
}

Value import_caffe_permute(Builder& layer) {
  Value x = layer.input(0);
  std::vector<int64_t> order = layer.get<std::vector<int64_t>>("permute_param.order");
  Shape s = x.shape();
  auto rank = static_cast<int64_t>(s.ranked() ? s.rank() : order.size());
  for (int64_t axis = 0; axis < rank; ++axis)
    if (std::find(order.begin(), order.end(), axis) == order.end()) order.push_back(axis);
  return transpose(x, order);
}

// Only the shape of the second input matters.
Value import_caffe_crop(Builder& layer) {
  Value x = layer.input(0), like_this = layer.input(1);
  size_t rank = x.rank(), first = caffe_axis(layer.get<int64_t>("crop_param.axis", 2), rank);
  std::vector<int64_t> axes = caffe_axes_from(first, rank);
  std::vector<int64_t> offsets = layer.get<std::vector<int64_t>>("crop_param.offset", {0});
  if (offsets.size() == 1) offsets.resize(axes.size(), offsets[0]);
  if (offsets.size() != axes.size())
    fail("expected 1 or ", axes.size(), " values of 'crop_param.offset', got ", offsets.size());
  Shape from = x.shape(), to = like_this.shape();
  for (size_t i = 0; i < axes.size(); ++i) {
    auto at = static_cast<size_t>(axes[i]);
    if (offsets[i] < 0) fail("expected non-negative values of 'crop_param.offset', got ", offsets[i]);
    if (!to.ranked() || at >= to.rank() || !to[at].known() || !from[at].known()) continue;
    if (offsets[i] > from[at].value() - to[at].value())
      fail("cannot crop ", to[at], " elements from offset ", offsets[i], " on: axis ", at, " has ", from[at]);
  }
  Value start = layer.ints(offsets), sizes = build::dims(like_this, axes);
  return layer.op("Slice",
                  {x, start, start + sizes, layer.ints(std::vector<int64_t>(axes.size(), 1)), layer.ints(axes)});
}

Value import_caffe_tile(Builder& layer) {
  Value x = layer.input(0);
  std::vector<int64_t> repeats(x.rank(), 1);
  auto tiles = layer.get<int64_t>("tile_param.tiles");
  if (tiles < 1) fail("expected a positive 'tile_param.tiles', got ", tiles);
  repeats[caffe_axis(layer.get<int64_t>("tile_param.axis", 1), x.rank())] = tiles;
  return layer.op("Tile", {x, layer.ints(repeats)});
}

// A layer of the first Caffe version (V0).
Value import_caffe_padding(Builder& layer) {
  Value x = layer.input(0);
  auto pad = layer.get<int64_t>("padding_param.pad", 0);
  if (pad < 0 || pad > 1 << 24) fail("expected 'padding_param.pad' of 0 to ", 1 << 24, ", got ", pad);
  Value around = layer.ints({0, 0, pad, pad});
  return layer.op("Pad@1", {x, around, around, like(x, 0)}, {{"pad_mode", "constant"}});
}

Value import_caffe_softmax(Builder& layer) {
  return build::softmax(layer.input(0), layer.get<int64_t>("softmax_param.axis", 1));
}

Value import_caffe_arg_max(Builder& layer) {
  Value x = layer.input(0);
  bool values = layer.get<bool>("argmax_param.out_max_val", false), one_axis = layer.has("argmax_param.axis");
  int64_t axis = one_axis ? layer.get<int64_t>("argmax_param.axis") : 1;
  if (!one_axis) x = build::reshape_keeping(x, {0, -1});
  std::vector<Value> top =
      layer.ops("TopK@11", {x, layer.scalar(layer.get<int64_t>("argmax_param.top_k", 1))},
                {{"axis", axis}, {"mode", "max"}, {"sort", "value"}, {"index_element_type", DType::i32}}, 2);
  Value indices = convert(top[1], x.type());
  if (one_axis) return values ? top[0] : indices;
  indices = unsqueeze(indices, {1});
  return values ? build::concat({indices, unsqueeze(top[0], {1})}, 1) : indices;
}

Value import_caffe_reduction(Builder& layer) {
  Value x = layer.input(0);
  std::string operation = caffe_word(layer, "reduction_param.operation", {"", "SUM", "ASUM", "SUMSQ", "MEAN"}, "SUM");
  Value axes =
      layer.ints(caffe_axes_from(caffe_axis(layer.get<int64_t>("reduction_param.axis", 0), x.rank()), x.rank()));
  std::string_view op = operation == "MEAN" ? "ReduceMean" : operation == "ASUM" ? "ReduceL1" : "ReduceSum";
  if (operation == "SUMSQ") x = x * x;
  else if (operation != "SUM" && operation != "ASUM" && operation != "MEAN")
    fail("expected 'reduction_param.operation' SUM, ASUM, SUMSQ or MEAN, got ", operation);
  return layer.op(op, {x, axes}, {{"keep_dims", false}}) * double{layer.get<float>("reduction_param.coeff", 1)};
}

Value import_caffe_embed(Builder& layer) {
  auto outputs = layer.get<int64_t>("embed_param.num_output");
  Value table = reshape(layer.weight(0), {-1, outputs});
  Value y = build::gather(table, convert(layer.input(0), DType::i32), 0);
  return layer.get<bool>("embed_param.bias_term", true) ? y + caffe_vector(layer.weight(1)) : y;
}

}  // namespace

Definitions define_caffe_shapes() {
  return {
      caffe("Concat").expand(import_caffe_concat),
      caffe("Slice").expand(import_caffe_slice),
      caffe("Split").expand(import_caffe_split),
      caffe("Reshape").expand(import_caffe_reshape),
      caffe("Flatten").expand(import_caffe_flatten),
      caffe("Permute").expand(import_caffe_permute),
      caffe("Crop").expand(import_caffe_crop),
      caffe("Tile").expand(import_caffe_tile),
      caffe("Padding").expand(import_caffe_padding),
      caffe("Softmax").ignore("softmax_param.engine").expand(import_caffe_softmax),
      caffe("ArgMax").expand(import_caffe_arg_max),
      caffe("Reduction").expand(import_caffe_reduction),
      caffe("Embed")
          .ignore("embed_param.input_dim")
          .ignore("embed_param.weight_filler.*")
          .ignore("embed_param.bias_filler.*")
          .expand(import_caffe_embed),
      caffe("ShuffleChannel").to("ShuffleChannels", "opset1").attr("group", "shuffle_channel_param.group"),
  };
}

}  // namespace graft
