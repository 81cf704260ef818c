// Layers that change shapes, and join, repeat and reorder tensors.
#include "mxnet/building.hpp"

namespace graft {
namespace {

// ---- Reshape ----

// The codes of Reshape: a dimension, 0 keeps one, -1 is inferred, -2 keeps all that remain, -3 merges two, -4 splits
// one into the two numbers that follow. `from` is the shape, also of a reversed one. With `skips`, -5 leaves out a
// dimension of size 1.
class MxnetReshape {
 public:
  MxnetReshape(Builder& layer, const Value& x, std::vector<int64_t> codes, bool reverse, bool skips = false)
      : layer_(layer), x_(x), codes_(std::move(codes)), reverse_(reverse), skips_(skips) {}

  Value run() {
    if (!reverse_ && std::all_of(codes_.begin(), codes_.end(), [](int64_t c) { return c >= -1; }))
      return build::reshape_keeping(x_, codes_);
    rank_ = x_.rank();
    if (reverse_) std::reverse(codes_.begin(), codes_.end());
    for (size_t i = 0; i < codes_.size(); ++i) step(i);
    if (reverse_) std::reverse(parts_.begin(), parts_.end());
    if (parts_.empty()) return reshape(x_, {});
    return build::reshape(x_, parts_);
  }

 private:
  Value next() {
    if (at_ >= rank_) fail("'shape' has more codes than the ", rank_, " dimensions of the input");
    size_t axis = reverse_ ? rank_ - 1 - at_ : at_;
    ++at_;
    return build::dim(x_, static_cast<int64_t>(axis));
  }
  void step(size_t& i) {
    int64_t code = codes_[i];
    if (code > 0) parts_.push_back(layer_.ints({code})), ++at_;
    else if (code == 0) parts_.push_back(next());
    else if (code == -1) parts_.push_back(layer_.ints({-1})), ++at_;
    else if (code == -2) {
      while (at_ < rank_) parts_.push_back(next());
    } else if (code == -3) {
      Value first = next();
      parts_.push_back(first * next());
    } else if (code == -4) split(i);
    else if (code == -5 && skips_) skip();
    else fail("expected codes of -4 or more in 'shape', got ", code);
  }
  void skip() {
    Value left_out = next();
    auto size = left_out.values<int64_t>();
    if (size && size->at(0) != 1) fail("expected a dimension of size 1 to leave out, got ", size->at(0));
  }
  void split(size_t& i) {
    if (i + 2 >= codes_.size()) fail("expected two numbers after -4 in 'shape'");
    Value whole = next();
    int64_t a = codes_[i + 1], b = codes_[i + 2];
    if (a == 0 || b == 0 || a < -1 || b < -1 || (a == -1 && b == -1))
      fail("expected one positive number and another or -1 after -4 in 'shape', got ", a, " and ", b);
    Value left = a > 0 ? layer_.ints({a}) : layer_.op("Divide", {whole, layer_.ints({b})});
    parts_.push_back(left);
    parts_.push_back(b > 0 ? layer_.ints({b}) : layer_.op("Divide", {whole, layer_.ints({a})}));
    i += 2;
  }

  Builder& layer_;
  Value x_;
  std::vector<int64_t> codes_;
  bool reverse_, skips_;
  size_t rank_ = 0, at_ = 0;
  std::vector<Value> parts_;
};

Value import_mxnet_reshape(Builder& layer) {
  Value x = layer.input(0);
  std::vector<int64_t> codes = mx::ints(layer, "shape"), old = mx::ints(layer, "target_shape");
  bool keep_first = mx::bool_or(layer, "keep_highest", false);
  if (!codes.empty()) return MxnetReshape(layer, x, codes, mx::bool_or(layer, "reverse", false)).run();
  if (old.empty()) fail("required attribute 'shape' is missing");
  // The first form of the operator: one 0 is inferred.
  size_t unknown = 0;
  for (size_t i = 0; i < old.size(); ++i) {
    if (old[i] < 0) fail("expected dimensions of 0 or more in 'target_shape', got ", old[i]);
    if (old[i] == 0 && !(keep_first && i == 0)) old[i] = -1, ++unknown;
  }
  if (unknown > 1) fail("expected at most one 0 in 'target_shape', got ", unknown);
  return build::reshape_keeping(x, old);
}
// The codes of npx.reshape: -1 is inferred, -2 keeps a dimension, -3 leaves out one of size 1, -4 keeps all that
// remain, -5 merges two, -6 splits one. 0 is a dimension without elements.
Value import_mxnet_numpy_reshape(Builder& layer) {
  std::vector<int64_t> codes = mx::ints(layer, layer.has("newshape") ? "newshape" : "shape");
  bool reverse = mx::bool_or(layer, "reverse", false);
  if (!reverse && std::all_of(codes.begin(), codes.end(), [](int64_t c) { return c >= -1; }))
    return reshape(layer.input(0), codes);
  constexpr int64_t of_reshape[] = {-1, 0, -5, -2, -3, -4};
  for (int64_t& c : codes) {
    if (c == 0) unsupported("a dimension of 0 beside codes of reshape is not supported");
    if (c < -6) fail("expected codes of -6 or more in 'newshape', got ", c);
    if (c < 0) c = of_reshape[-c - 1];
  }
  return MxnetReshape(layer, layer.input(0), codes, reverse, true).run();
}
Value import_mxnet_reshape_like(Builder& layer) {
  for (std::string_view path : {"lhs_begin", "lhs_end", "rhs_begin", "rhs_end"})
    if (!mx::is_none(layer, path)) unsupported("reshape_like of some axes is not supported");
  return mx::same_shape(layer.input(0), layer.input(1));
}
Value import_mxnet_flatten(Builder& layer) { return build::reshape_keeping(layer.input(0), {0, -1}); }

Value import_mxnet_expand_dims(Builder& layer) { return unsqueeze(layer.input(0), {layer.get<int64_t>("axis")}); }
Value import_mxnet_squeeze(Builder& layer) {
  std::vector<int64_t> axes = mx::ints(layer, "axis");
  Value x = layer.input(0);
  if (!axes.empty()) return mx::at_least_1d(squeeze(x, axes));
  return mx::at_least_1d(layer.op("Squeeze@1", {x}));
}
Value import_mxnet_shape_array(Builder& layer) { return shape_of(layer.input(0)); }
Value import_mxnet_size_array(Builder& layer) {
  return layer.op("ReduceProd", {shape_of(layer.input(0)), layer.ints({0})}, {{"keep_dims", true}});
}

// ---- order ----

Value import_mxnet_transpose(Builder& layer) {
  std::vector<int64_t> axes = mx::ints(layer, "axes");
  Value x = layer.input(0);
  if (axes.empty()) {
    axes = mx::axes_from(0, x.rank());
    std::reverse(axes.begin(), axes.end());
  }
  for (int64_t& a : axes)
    if (a < 0) a += static_cast<int64_t>(axes.size());
  return transpose(x, axes);
}
Value import_mxnet_swap_axes(Builder& layer) {
  Value x = layer.input(0);
  size_t rank = x.rank(), a = normalize_axis(layer.get<int64_t>("dim1", 0), rank),
         b = normalize_axis(layer.get<int64_t>("dim2", 0), rank);
  std::vector<int64_t> order = mx::axes_from(0, rank);
  std::swap(order[a], order[b]);
  return transpose(x, order);
}
Value import_mxnet_reverse(Builder& layer) {
  std::vector<int64_t> axes = mx::ints(layer, "axis");
  Value x = layer.input(0);
  for (int64_t a : axes) x = build::slice(x, a, -1, std::numeric_limits<int64_t>::min(), -1);
  return x;
}
Value import_mxnet_roll(Builder& layer) {
  Value x = layer.input(0);
  std::vector<int64_t> shift = layer.get<std::vector<int64_t>>("shift"), axes = mx::ints(layer, "axis");
  if (axes.empty()) return mx::same_shape(layer.op("Roll", {reshape(x, {-1}), layer.ints(shift), layer.ints({0})}), x);
  if (shift.size() == 1) shift.resize(axes.size(), shift[0]);
  return layer.op("Roll", {x, layer.ints(shift), layer.ints(axes)});
}

// ---- joining and repeating ----

Value import_mxnet_concat(Builder& layer) {
  bool flat = layer.type() == "_rnn_param_concat";
  return build::concat(mx::all_inputs(layer), mx::int_or(layer, layer.has("axis") ? "axis" : "dim", flat ? 0 : 1));
}
Value import_mxnet_stack(Builder& layer) {
  auto axis = mx::int_or(layer, "axis", 0);
  std::vector<Value> parts = mx::all_inputs(layer);
  for (Value& p : parts) p = unsqueeze(p, {axis});
  return build::concat(parts, axis);
}
Value import_mxnet_tile(Builder& layer) {
  return layer.op("Tile", {layer.input(0), layer.ints(mx::ints(layer, "reps"))});
}
Value import_mxnet_repeat(Builder& layer) {
  Value x = layer.input(0);
  auto times = layer.get<int64_t>("repeats");
  if (times < 1 || times > 1 << 24) fail("expected 'repeats' of 1 to ", 1 << 24, ", got ", times);
  auto axis = mx::optional_int(layer, "axis");
  if (!axis) x = reshape(x, {-1}), axis = 0;
  size_t rank = x.rank(), at = normalize_axis(*axis, rank);
  std::vector<int64_t> target(rank + 1, 1);
  target[at + 1] = times;
  Value wide = layer.op("Tile", {unsqueeze(x, {static_cast<int64_t>(at) + 1}), layer.ints(target)});
  std::vector<Value> dims;
  if (at) dims.push_back(build::dims(x, mx::axes_from(0, at)));
  dims.push_back(layer.ints({-1}));
  if (at + 1 < rank) dims.push_back(build::dims(x, mx::axes_from(at + 1, rank)));
  return build::reshape(wide, dims);
}

Value import_mxnet_broadcast_axis(Builder& layer) {
  Value x = layer.input(0);
  std::vector<int64_t> axes = mx::ints(layer, "axis"), sizes = mx::ints(layer, "size");
  if (axes.size() != sizes.size()) fail("expected one 'size' per axis, got ", sizes.size(), " for ", axes.size());
  size_t rank = x.rank();
  std::vector<int64_t> target(rank, 1);
  for (size_t i = 0; i < axes.size(); ++i) target[normalize_axis(axes[i], rank)] = sizes[i];
  return layer.op("Broadcast@3", {x, layer.ints(target)}, {{"mode", "bidirectional"}});
}
Value import_mxnet_broadcast_to(Builder& layer) {
  std::vector<int64_t> target = layer.get<std::vector<int64_t>>("shape");
  for (int64_t& d : target)
    if (d <= 0) d = 1;  // the dimension stays
  return layer.op("Broadcast@3", {layer.input(0), layer.ints(target)}, {{"mode", "bidirectional"}});
}
Value import_mxnet_broadcast_like(Builder& layer) {
  Value x = layer.input(0), as = layer.input(1);
  std::vector<int64_t> left = mx::ints(layer, "lhs_axes"), right = mx::ints(layer, "rhs_axes");
  if (left.empty()) return layer.op("Broadcast@3", {x, shape_of(as)}, {{"mode", "bidirectional"}});
  if (left.size() != right.size())
    fail("expected as many 'rhs_axes' as 'lhs_axes', got ", right.size(), " and ", left.size());
  size_t rank = x.rank();
  std::vector<Value> dims(rank, layer.ints({1}));
  for (size_t i = 0; i < left.size(); ++i) dims[normalize_axis(left[i], rank)] = build::dim(as, right[i]);
  return layer.op("Broadcast@3", {x, build::concat(dims, 0)}, {{"mode", "bidirectional"}});
}

Value import_mxnet_pad(Builder& layer) {
  Value x = layer.input(0);
  std::string mode = mx::word_or(layer, "mode", "constant");
  std::vector<int64_t> widths = layer.get<std::vector<int64_t>>("pad_width"), begin, end;
  if (widths.size() % 2) fail("expected two values of 'pad_width' per axis, got ", widths.size());
  for (size_t i = 0; i < widths.size(); i += 2) begin.push_back(widths[i]), end.push_back(widths[i + 1]);
  if (mode != "constant" && mode != "edge" && mode != "reflect")
    fail("expected 'mode' constant, edge or reflect, got '", mode, "'");
  double fill = layer.get<double>("constant_value", 0);
  return layer.op("Pad@1", {x, layer.ints(begin), layer.ints(end), like(x, fill)}, {{"pad_mode", mode}});
}

Value import_mxnet_depth_to_space(Builder& layer) {
  return layer.op("DepthToSpace", {layer.input(0)},
                  {{"block_size", layer.get<int64_t>("block_size")}, {"mode", "blocks_first"}});
}
Value import_mxnet_space_to_depth(Builder& layer) {
  return layer.op("SpaceToDepth", {layer.input(0)},
                  {{"block_size", layer.get<int64_t>("block_size")}, {"mode", "blocks_first"}});
}

}  // namespace

Definitions define_mxnet_shapes() {
  return {
      mx::rules({"Reshape", "reshape"}, import_mxnet_reshape),
      mx::rules({"_np_reshape", "_npx_reshape", "_npi_reshape"}, import_mxnet_numpy_reshape, {"order"}),
      mx::rules({"reshape_like"}, import_mxnet_reshape_like),
      mx::rules({"Flatten", "flatten", "_npx_batch_flatten"}, import_mxnet_flatten),
      mx::rules({"expand_dims", "_npi_expand_dims"}, import_mxnet_expand_dims),
      mx::rules({"squeeze", "_np_squeeze"}, import_mxnet_squeeze),
      mx::rules({"shape_array", "shape_nd"}, import_mxnet_shape_array),
      mx::rules({"size_array"}, import_mxnet_size_array),
      mx::rules({"transpose", "_np_transpose"}, import_mxnet_transpose),
      mx::rules({"SwapAxis", "swapaxes"}, import_mxnet_swap_axes),
      mx::rules({"reverse", "flip"}, import_mxnet_reverse),
      mx::rules({"_np_roll"}, import_mxnet_roll),
      mx::rules({"Concat", "concat", "_rnn_param_concat", "rnn_param_concat", "_npi_concatenate"}, import_mxnet_concat,
                {"num_args"}),
      mx::rules({"stack", "_npi_stack"}, import_mxnet_stack, {"num_args"}),
      mx::rules({"tile", "Tile", "_npi_tile"}, import_mxnet_tile),
      mx::rules({"repeat", "_np_repeat"}, import_mxnet_repeat),
      mx::rules({"broadcast_axis", "broadcast_axes"}, import_mxnet_broadcast_axis),
      mx::rules({"broadcast_to", "_np_broadcast_to"}, import_mxnet_broadcast_to),
      mx::rules({"broadcast_like"}, import_mxnet_broadcast_like),
      mx::rules({"Pad", "pad"}, import_mxnet_pad),
      mx::rules({"depth_to_space"}, import_mxnet_depth_to_space),
      mx::rules({"space_to_depth"}, import_mxnet_space_to_depth),
  };
}

}  // namespace graft
