// Reductions, matrix products, softmax and searching.
#include <graft/op.hpp>

#include "layout.hpp"
#include "rules.hpp"

namespace graft {
namespace {

Value tf_reduced(Builder& layer, std::string_view op) {
  return layer.op(op, {layer.input(0), tf::as_list(layer.input(1))},
                  {{"keep_dims", layer.get<bool>("keep_dims", false)}});
}

template <bool largest>
Value tf_arg_extreme(Builder& layer) {
  Value x = layer.input(0);
  int64_t axis = layer.has_input(1) ? tf::constant_int(layer.input(1), "axis") : 0;
  DType type = layer.get<DType>("output_type", DType::i64);
  Value index = layer.ops("TopK@11", {x, layer.scalar(int64_t{1})},
                          {{"axis", axis},
                           {"mode", largest ? "max" : "min"},
                           {"sort", "value"},
                           {"index_element_type", DType::i64},
                           {"stable", true}},
                          2)[1];
  return convert(squeeze(index, {axis}), type);
}

std::vector<Value> tf_top_k(Builder& layer) {
  Value k = layer.has_input(1) ? tf::as_scalar(layer.input(1)) : layer.scalar(layer.get<int64_t>("k"));
  layer.get<bool>("sorted", true);
  std::vector<Value> out = layer.ops("TopK@11", {layer.input(0), k},
                                     {{"axis", -1},
                                      {"mode", "max"},
                                      {"sort", "value"},
                                      {"index_element_type", layer.get<DType>("index_type", DType::i32)},
                                      {"stable", true}},
                                     2);
  return out;
}

Value tf_matmul(Builder& layer) {
  layer.has("grad_a"), layer.has("grad_b");
  return build::matmul(layer.input(0), layer.input(1), layer.get<bool>("transpose_a", false),
                       layer.get<bool>("transpose_b", false));
}
// The matrices are stored densely; the sparsity flags are only hints. Low-precision inputs yield f32.
Value tf_sparse_matmul(Builder& layer) {
  layer.has("a_is_sparse"), layer.has("b_is_sparse");
  auto wide = [&](size_t i) { return convert(layer.input(i), DType::f32); };
  return build::matmul(wide(0), wide(1), layer.get<bool>("transpose_a", false), layer.get<bool>("transpose_b", false));
}
Value tf_batch_matmul(Builder& layer) {
  layer.has("grad_x"), layer.has("grad_y");
  return build::matmul(layer.input(0), layer.input(1), layer.get<bool>("adj_x", false),
                       layer.get<bool>("adj_y", false));
}
Value tf_softmax(Builder& layer) { return build::softmax(layer.input(0), -1); }
Value tf_log_softmax(Builder& layer) { return layer.op("LogSoftmax", {layer.input(0)}, {{"axis", -1}}); }
Value tf_einsum(Builder& layer) {
  std::vector<Value> in;
  for (size_t i = 0; i < layer.inputs(); ++i) in.push_back(layer.input(i));
  return layer.op("Einsum", in, {{"equation", layer.get<std::string>("equation")}});
}
Value tf_running(Builder& layer, std::string_view op) {
  return layer.op(op, {layer.input(0), tf::as_scalar(layer.input(1))},
                  {{"exclusive", layer.get<bool>("exclusive", false)}, {"reverse", layer.get<bool>("reverse", false)}});
}
template <bool after_equal>
Value tf_search_sorted(Builder& layer) {
  DType type = layer.get<DType>("out_type", DType::i32);
  return layer.op("SearchSorted", {layer.input(0), layer.input(1)},
                  {{"right_mode", after_equal}, {"output_type", type}});
}
// Keeps the elements at most `lower` below and `upper` above the diagonal; a negative number keeps all.
Value tf_band_part(Builder& layer) {
  Value x = layer.input(0), lower = convert(tf::as_scalar(layer.input(1)), DType::i64),
        upper = convert(tf::as_scalar(layer.input(2)), DType::i64), zero = layer.scalar(int64_t{0});
  auto count = [&](int64_t axis) { return build::range(zero, tf::as_scalar(build::dim(x, axis)), DType::i64); };
  Value below = unsqueeze(count(-2), {1}) - unsqueeze(count(-1), {0});
  auto within = [&](const Value& distance, const Value& limit) {
    return layer.op("LogicalOr", {layer.op("Less", {limit, zero}), layer.op("LessEqual", {distance, limit})});
  };
  Value kept = layer.op("LogicalAnd", {within(below, lower), within(-below, upper)});
  return build::select(kept, x, like(x, 0));
}
Value tf_inverse(Builder& layer) {
  return layer.op("Inverse", {layer.input(0)}, {{"adjoint", layer.get<bool>("adjoint", false)}});
}
// The cross product of vectors of three elements.
Value tf_cross(Builder& layer) {
  auto turned = [&](size_t input, std::vector<int64_t> order) {
    return build::gather(layer.input(input), layer.ints(std::move(order)), -1);
  };
  return turned(0, {1, 2, 0}) * turned(1, {2, 0, 1}) - turned(0, {2, 0, 1}) * turned(1, {1, 2, 0});
}
// Sign and logarithm of the determinant, computed in f64 because f32 would overflow.
std::vector<Value> tf_log_determinant(Builder& layer) {
  DType type = layer.input(0).type();
  Value det = layer.op("Det@graft", {convert(layer.input(0), DType::f64)});
  return {convert(layer.op("Sign", {det}), type), convert(layer.op("Log", {layer.op("Abs", {det})}), type)};
}
// Whether fewer than k classes score higher than the target; never in a row with a score that is not finite, or for a
// target that is no class. Inputs: scores, targets, k.
Value tf_in_top_k(Builder& layer) {
  Value scores = layer.input(0), target = convert(layer.input(1), DType::i64), zero = layer.scalar(int64_t{0});
  Value k =
      layer.has_input(2) ? tf::as_scalar(convert(layer.input(2), DType::i64)) : layer.scalar(layer.get<int64_t>("k"));
  Value is_class = layer.op(
      "LogicalAnd", {layer.op("GreaterEqual", {target, zero}), layer.op("Less", {target, build::dims(scores, {1})})});
  Value place = unsqueeze(build::select(is_class, target, zero), {1});
  Value of_target = layer.op("GatherElements", {scores, place}, {{"axis", int64_t{1}}});
  Value higher = convert(layer.op("Greater", {scores, of_target}), DType::i64), axis = layer.ints({1});
  Value few = layer.op("Less", {layer.op("ReduceSum", {higher, axis}, {{"keep_dims", false}}), k});
  Value finite = layer.op("ReduceLogicalAnd", {layer.op("IsFinite", {scores}), axis}, {{"keep_dims", false}});
  return layer.op("LogicalAnd", {layer.op("LogicalAnd", {is_class, finite}), few});
}
Value tf_bucketize(Builder& layer) {
  auto bounds = layer.get<std::vector<double>>("boundaries", {});
  auto n = static_cast<int64_t>(bounds.size());
  return layer.op("Bucketize", {layer.input(0), layer.typed(bounds, {n}, DType::f32)},
                  {{"output_type", DType::i32}, {"with_right_bound", false}});
}
Value tf_random_uniform(Builder& layer) {
  DType type = layer.get<DType>("dtype", DType::f32);
  return layer.op("RandomUniform", {layer.input(0), layer.scalar(0.0, type), layer.scalar(1.0, type)},
                  {{"output_type", type},
                   {"op_seed", layer.get<int64_t>("seed2", 0)},
                   {"global_seed", layer.get<int64_t>("seed", 0)}});
}
Value tf_random_uniform_int(Builder& layer) {
  Value low = tf::as_scalar(layer.input(1)), high = tf::as_scalar(layer.input(2));
  return layer.op("RandomUniform", {layer.input(0), low, high},
                  {{"output_type", low.type()},
                   {"op_seed", layer.get<int64_t>("seed2", 0)},
                   {"global_seed", layer.get<int64_t>("seed", 0)}});
}

}  // namespace

namespace tf {
Value bucketize(Builder& layer) { return tf_bucketize(layer); }
}  // namespace tf

Definitions define_tensorflow_reduce() {
  return {
      tensorflow("All").expand(+[](Builder& l) { return tf_reduced(l, "ReduceLogicalAnd"); }),
      tensorflow("Any").expand(+[](Builder& l) { return tf_reduced(l, "ReduceLogicalOr"); }),
      tensorflow("ArgMax").expand(tf_arg_extreme<true>),
      tensorflow("ArgMin").expand(tf_arg_extreme<false>),
      tensorflow("BatchMatMul").expand(tf_batch_matmul),
      tensorflow("BatchMatMulV2").expand(tf_batch_matmul),
      tensorflow("BatchMatMulV3").expand(tf_batch_matmul),
      tensorflow("Bucketize").expand(tf_bucketize),
      tensorflow("Cross").expand(tf_cross),
      tensorflow("Cumprod").expand(+[](Builder& l) { return tf_running(l, "CumProd@graft"); }),
      tensorflow("Cumsum").expand(+[](Builder& l) { return tf_running(l, "CumSum"); }),
      tensorflow("CumulativeLogsumexp").expand(+[](Builder& l) { return tf_running(l, "CumLogSumExp@graft"); }),
      tensorflow("Einsum").ignore("N").expand(tf_einsum),
      tensorflow("EuclideanNorm").expand(+[](Builder& l) { return tf_reduced(l, "ReduceL2"); }),
      tensorflow("InTopK").expand(tf_in_top_k),
      tensorflow("InTopKV2").expand(tf_in_top_k),
      tensorflow("LogMatrixDeterminant").expand(tf_log_determinant),
      tensorflow("LogSoftmax").expand(tf_log_softmax),
      tensorflow("LowerBound").expand(tf_search_sorted<false>),
      tensorflow("MatMul").expand(tf_matmul),
      tensorflow("MatrixBandPart").expand(tf_band_part),
      tensorflow("MatrixDeterminant").expand(+[](Builder& l) { return l.op("Det@graft", {l.input(0)}); }),
      tensorflow("MatrixInverse").expand(tf_inverse),
      tensorflow("Max").expand(+[](Builder& l) { return tf_reduced(l, "ReduceMax"); }),
      tensorflow("Mean").expand(+[](Builder& l) { return tf_reduced(l, "ReduceMean"); }),
      tensorflow("Min").expand(+[](Builder& l) { return tf_reduced(l, "ReduceMin"); }),
      tensorflow("Prod").expand(+[](Builder& l) { return tf_reduced(l, "ReduceProd"); }),
      tensorflow("RandomUniform").expand(tf_random_uniform),
      tensorflow("RandomUniformInt").expand(tf_random_uniform_int),
      tensorflow("Softmax").expand(tf_softmax),
      tensorflow("SparseMatMul").expand(tf_sparse_matmul),
      tensorflow("Sum").expand(+[](Builder& l) { return tf_reduced(l, "ReduceSum"); }),
      tensorflow("TopK").expand(tf_top_k),
      tensorflow("TopKV2").expand(tf_top_k),
      tensorflow("UpperBound").expand(tf_search_sorted<true>),
  };
}

}  // namespace graft
