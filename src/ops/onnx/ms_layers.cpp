// Layers of ONNX Runtime (com.microsoft) that combine an activation, a sum or a normalization with an addition.

#include <graft/kit/expressions.hpp>
#include <graft/op.hpp>
namespace graft {
namespace {

Rule ms_rule(std::string_view type) { return onnx(type).domain("com.microsoft"); }

Value ms_with_bias(Builder& layer, size_t input) {
  Value x = layer.input(0);
  return layer.has_input(input) ? x + layer.input(input) : x;
}
Value ms_gelu(Builder& layer, const Value& x, const char* mode) {
  return layer.op("Gelu@7", {x}, {{"approximation_mode", mode}});
}
Value import_ms_gelu(Builder& layer) { return ms_gelu(layer, layer.input(0), "ERF"); }
Value import_bias_gelu(Builder& layer) { return ms_gelu(layer, ms_with_bias(layer, 1), "ERF"); }
Value import_fast_gelu(Builder& layer) { return ms_gelu(layer, ms_with_bias(layer, 1), "TANH"); }
Value import_quick_gelu(Builder& layer) {
  Value x = layer.input(0);
  return x * layer.op("Sigmoid", {x * layer.get<float>("alpha", 1.702f)});
}
Value import_bias_add(Builder& layer) { return layer.input(0) + layer.input(1) + layer.input(2); }

// The right half decides how much of the left one passes.
Value import_bias_split_gelu(Builder& layer) {
  std::vector<Value> halves = build::split(ms_with_bias(layer, 1), -1, 2);
  return halves[0] * ms_gelu(layer, halves[1], "ERF");
}

// Distances between the rows of two matrices: |a - b|^2 = |a|^2 + |b|^2 - 2 a b
Value import_cdist(Builder& layer) {
  auto metric = layer.get<std::string>("metric", "sqeuclidean");
  if (metric != "sqeuclidean" && metric != "euclidean") unsupported("the metric '", metric, "' is not supported");
  Value a = layer.input(0), b = layer.input(1);
  auto squares = [&](const Value& v) { return layer.op("ReduceSum", {v * v, layer.ints({1})}, {{"keep_dims", true}}); };
  Value sums = squares(a) + transpose(squares(b), {1, 0});
  Value y = layer.op("Relu", {sums - build::matmul(a, b, false, true) * 2.0});  // rounding may leave less than 0
  return metric == "euclidean" ? layer.op("Sqrt", {y}) : y;
}

Value import_expand_dims(Builder& layer) {
  auto axis = layer.input(1).values<int64_t>();
  if (!axis || axis->size() != 1) unsupported("expected a constant axis");
  return unsqueeze(layer.input(0), *axis);
}

// ---- normalizations ----

struct MsNormalized {
  Value result, mean, inverse_deviation;
};
// Normalizes over the axes from `axis` on; `simple` (RMS) does not subtract the mean.
MsNormalized ms_normalize(Builder& layer, const Value& x, int64_t axis, double epsilon, bool simple) {
  std::vector<int64_t> axes{-1};
  if (axis != -1) {
    axes.clear();
    size_t rank = x.rank();
    for (size_t i = normalize_axis(axis, rank); i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
  }
  MsNormalized n;
  n.mean = simple ? Value() : build::reduce_mean(x, axes);
  Value centred = simple ? x : x - n.mean;
  Value variance = build::reduce_mean(centred * centred, axes);
  n.inverse_deviation = 1.0 / layer.op("Sqrt", {variance + epsilon});
  n.result = centred * n.inverse_deviation;
  return n;
}

// Squares overflow in half precision, so sums are computed in f32.
DType ms_wide_type(const Value& x, int64_t stash = 1) {
  DType asked = onnx_element_type(stash);
  return x.type() == DType::f16 || x.type() == DType::bf16 ? asked : x.type();
}

Value ms_simplified(Builder& layer, std::vector<Value>* more) {
  Value x = layer.input(0), scale = layer.input(1);
  Value wide = convert(x, ms_wide_type(x, layer.get<int64_t>("stash_type", 1)));
  MsNormalized n = ms_normalize(layer, wide, layer.get<int64_t>("axis", -1), layer.get<float>("epsilon", 1e-5f), true);
  if (more) *more = {n.inverse_deviation};
  return convert(n.result, scale.type()) * scale;
}
std::vector<Value> import_simplified_layer_normalization(Builder& layer) {
  std::vector<Value> more;
  Value y = ms_simplified(layer, &more);
  return {y, more[0]};
}

// Both variants first add the input, a skip connection and a bias; that sum is also an output.
std::vector<Value> ms_skip_normalization(Builder& layer, bool simple) {
  size_t bias = simple ? 3 : 4;
  Value sum = layer.input(0) + layer.input(1);
  if (layer.has_input(bias)) sum = sum + layer.input(bias);
  MsNormalized n =
      ms_normalize(layer, convert(sum, ms_wide_type(sum)), -1, layer.get<float>("epsilon", 1e-12f), simple);
  Value y = convert(n.result, sum.type()) * layer.input(2);
  if (!simple && layer.has_input(3)) y = y + layer.input(3);
  return {y, n.mean, n.inverse_deviation, sum};
}
std::vector<Value> import_skip_layer_normalization(Builder& layer) { return ms_skip_normalization(layer, false); }
std::vector<Value> import_skip_simplified_layer_normalization(Builder& layer) {
  return ms_skip_normalization(layer, true);
}

// Embeds words, their positions and segments, then adds and normalizes them.
std::vector<Value> import_embed_layer_normalization(Builder& layer) {
  Value ids = layer.input(0), positions = layer.input(3);
  Value sum = build::gather(layer.input(2), ids, 0);
  if (layer.has_input(8)) positions = build::gather(positions, layer.input(8), 0);
  else positions = build::slice(positions, 0, layer.ints({0}), build::dim(ids, 1));
  sum = sum + positions;
  if (layer.has_input(1) && layer.has_input(4)) sum = sum + build::gather(layer.input(4), layer.input(1), 0);
  MsNormalized n = ms_normalize(layer, convert(sum, ms_wide_type(sum)), -1, layer.get<float>("epsilon", 1e-12f), false);
  Value y = convert(n.result, sum.type()) * layer.input(5) + layer.input(6);
  layer.has("mask_index_type");
  // The number of valid words per sentence.
  Value words;
  if (layer.has_input(7))
    words = layer.op("ReduceSum", {convert(layer.input(7), DType::i32), layer.ints({1})}, {{"keep_dims", false}});
  else words = build::fill(layer, 0, DType::i32, build::dim(ids, 0));
  return {y, words, sum};
}

}  // namespace

Definitions define_onnx_ms_layers() {
  return {
      ms_rule("Gelu").expand(import_ms_gelu),
      ms_rule("BiasGelu").expand(import_bias_gelu),
      ms_rule("FastGelu").expand(import_fast_gelu),
      ms_rule("QuickGelu").expand(import_quick_gelu),
      ms_rule("BiasAdd").expand(import_bias_add),
      ms_rule("BiasSplitGelu").expand(import_bias_split_gelu),
      ms_rule("CDist").rank(0, 2, 2).rank(1, 2, 2).expand(import_cdist),
      ms_rule("ExpandDims").expand(import_expand_dims),
      ms_rule("SimplifiedLayerNormalization").expand(import_simplified_layer_normalization),
      onnx("SimplifiedLayerNormalization").expand(import_simplified_layer_normalization),
      ms_rule("SkipLayerNormalization").expand(import_skip_layer_normalization),
      ms_rule("SkipSimplifiedLayerNormalization").expand(import_skip_simplified_layer_normalization),
      ms_rule("EmbedLayerNormalization").expand(import_embed_layer_normalization),
  };
}

}  // namespace graft
