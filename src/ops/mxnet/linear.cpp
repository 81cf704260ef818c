// Products of matrices.
#include "mxnet/building.hpp"

namespace graft {
namespace {

Value import_mxnet_fully_connected(Builder& layer) {
  auto outputs = layer.get<int64_t>("num_hidden");
  if (outputs < 1 || outputs > 1 << 30) fail("expected 'num_hidden' of 1 to ", 1 << 30, ", got ", outputs);
  Value x = layer.input(0);
  bool flatten = mx::bool_or(layer, "flatten", true);
  Shape s = x.shape();
  if (flatten && !(s.ranked() && s.rank() == 2)) x = build::reshape_keeping(x, {0, -1});
  Value y = build::matmul(x, layer.input(1), false, true);
  return mx::bool_or(layer, "no_bias", false) ? y : y + layer.input(2);
}

// The last axis of the first with the first axis of the second.
Value import_mxnet_dot(Builder& layer) {
  Value a = layer.input(0), b = layer.input(1);
  bool transpose_a = mx::bool_or(layer, "transpose_a", false), transpose_b = mx::bool_or(layer, "transpose_b", false);
  size_t ra = a.rank(), rb = b.rank();
  if (ra == 1 && rb == 1) return layer.op("ReduceSum", {a * b, layer.ints({0})}, {{"keep_dims", true}});
  if (ra == 2 && rb == 2) return build::matmul(a, b, transpose_a, transpose_b);
  // Transposition moves the first axis to the end, or the last axis to the front.
  auto moved = [](const Value& v, size_t rank, bool to_end) {
    std::vector<int64_t> order = mx::axes_from(0, rank);
    if (to_end) std::rotate(order.begin(), order.begin() + 1, order.end());
    else std::rotate(order.begin(), order.end() - 1, order.end());
    return transpose(v, order);
  };
  if (transpose_a && ra > 1) a = moved(a, ra, true);
  if (transpose_b && rb > 1) b = moved(b, rb, false);
  Shape sa = a.shape(), sb = b.shape();
  Value k = build::dim(a, -1), all = layer.ints({-1});
  Value y = build::matmul(build::reshape(a, {all, k}), build::reshape(b, {k, all}));
  std::vector<int64_t> left = mx::axes_from(0, ra - 1), right = mx::axes_from(1, rb);
  std::vector<Value> dims;
  if (!left.empty()) dims.push_back(build::dims(a, left));
  if (!right.empty()) dims.push_back(build::dims(b, right));
  return build::reshape(y, dims);
}

Value import_mxnet_batch_dot(Builder& layer) {
  return build::matmul(layer.input(0), layer.input(1), mx::bool_or(layer, "transpose_a", false),
                       mx::bool_or(layer, "transpose_b", false));
}

Value import_mxnet_gemm(Builder& layer) {
  if (auto axis = mx::int_or(layer, "axis", -2); axis != -2)
    unsupported("matrices along axis ", axis, " are not supported, only -2");
  Value y = import_mxnet_batch_dot(layer) * double{layer.get<float>("alpha", 1)};
  return layer.has_input(2) ? y + layer.input(2) * double{layer.get<float>("beta", 1)} : y;
}

Value import_mxnet_einsum(Builder& layer) {
  return layer.op("Einsum", mx::all_inputs(layer), {{"equation", layer.get<std::string>("subscripts")}});
}

// ---- attention of GluonNLP: queries, keys and values interleaved per head ----

// [length, batch, heads * parts * size] -> the given parts as [batch * heads, length, size]
std::vector<Value> mxnet_heads(Builder& layer, const Value& x, int64_t parts) {
  auto heads = layer.get<int64_t>("heads");
  if (heads < 1 || heads > 1 << 20) fail("expected 'heads' of 1 to ", 1 << 20, ", got ", heads);
  Value split = build::reshape_keeping(x, {0, 0, heads, parts, -1});
  std::vector<Value> out;
  for (Value& p : build::split(split, 3, parts)) {
    Value v = transpose(squeeze(p, {3}), {1, 2, 0, 3});  // [batch, heads, length, size]
    out.push_back(build::reshape(v, {layer.ints({-1}), build::dims(v, {2, 3})}));
  }
  return out;
}
Value mxnet_scaled(const Value& q) {
  Value size = convert(build::dim(q, -1), q.type());
  return q / q.in().op("Sqrt", {size});
}
// [batch * heads, length, size] -> [length, batch, heads * size]
Value mxnet_joined_heads(Builder& layer, const Value& y) {
  auto heads = layer.get<int64_t>("heads");
  Value split = build::reshape(y, {layer.ints({-1, heads}), build::dims(y, {1, 2})});
  return build::reshape_keeping(transpose(split, {2, 0, 1, 3}), {0, 0, -1});
}
Value import_mxnet_selfatt_qk(Builder& layer) {
  std::vector<Value> p = mxnet_heads(layer, layer.input(0), 3);
  return build::matmul(mxnet_scaled(p[0]), p[1], false, true);
}
Value import_mxnet_selfatt_valatt(Builder& layer) {
  std::vector<Value> p = mxnet_heads(layer, layer.input(0), 3);
  return mxnet_joined_heads(layer, build::matmul(layer.input(1), p[2]));
}
Value import_mxnet_encdec_qk(Builder& layer) {
  Value q = mxnet_heads(layer, layer.input(0), 1)[0];
  return build::matmul(mxnet_scaled(q), mxnet_heads(layer, layer.input(1), 2)[0], false, true);
}
Value import_mxnet_encdec_valatt(Builder& layer) {
  return mxnet_joined_heads(layer, build::matmul(layer.input(1), mxnet_heads(layer, layer.input(0), 2)[1]));
}
Value import_mxnet_div_sqrt_dim(Builder& layer) { return mxnet_scaled(layer.input(0)); }

}  // namespace

Definitions define_mxnet_linear() {
  return {
      mx::rules({"FullyConnected"}, import_mxnet_fully_connected),
      mx::rules({"dot"}, import_mxnet_dot, {"forward_stype"}),
      mx::rules({"batch_dot"}, import_mxnet_batch_dot, {"forward_stype"}),
      mx::rules({"_linalg_gemm", "_linalg_gemm2", "linalg_gemm", "linalg_gemm2"}, import_mxnet_gemm),
      mx::rules({"_np_einsum", "_npi_einsum"}, import_mxnet_einsum, {"num_args", "optimize"}),
      mx::rules({"_contrib_interleaved_matmul_selfatt_qk"}, import_mxnet_selfatt_qk),
      mx::rules({"_contrib_interleaved_matmul_selfatt_valatt"}, import_mxnet_selfatt_valatt),
      mx::rules({"_contrib_interleaved_matmul_encdec_qk"}, import_mxnet_encdec_qk),
      mx::rules({"_contrib_interleaved_matmul_encdec_valatt"}, import_mxnet_encdec_valatt),
      mx::rules({"_contrib_div_sqrt_dim"}, import_mxnet_div_sqrt_dim),
  };
}

}  // namespace graft
