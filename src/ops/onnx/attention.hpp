// Attention built from matrix products and a softmax, for the layers of ONNX and ONNX Runtime.
#pragma once

#include <graft/kit/expressions.hpp>

namespace graft::build {

// [batch, length, heads * size] -> [batch, heads, length, size]
inline Value split_heads(const Value& v, int64_t heads) {
  return transpose(reshape_keeping(v, {0, 0, heads, -1}), {0, 2, 1, 3});
}
inline Value join_heads(const Value& v) { return reshape_keeping(transpose(v, {0, 2, 1, 3}), {0, 0, -1}); }

// Repeats each head: [h0, h0, h1, h1].
inline Value repeat_heads(const Value& v, int64_t heads, int64_t times) {
  if (times == 1) return v;
  constexpr int64_t most = 1 << 20;
  if (heads > most || times > most / std::max<int64_t>(heads, 1))
    fail("expected at most ", most, " heads, got ", heads, " * ", times);
  std::vector<int64_t> indices;
  for (int64_t h = 0; h < heads; ++h) indices.insert(indices.end(), static_cast<size_t>(times), h);
  return gather(v, v.in().ints(indices), 1);
}

inline Value scalar_dim(const Value& v, int64_t axis) { return squeeze(dim(v, axis), {0}); }

// Query position minus key position, [queries, keys]; queries begin at `offset` (a scalar or [batch, 1, 1, 1]).
inline Value query_minus_key(const Value& q, const Value& k, const Value& offset) {
  Builder& in = q.in();
  Value zero = in.scalar(int64_t{0});
  Value rows = unsqueeze(range(zero, scalar_dim(q, 2), DType::i64), {1}),
        columns = range(zero, scalar_dim(k, 2), DType::i64);
  return (offset ? rows + offset : rows) - columns;
}

// The bias to add to the scores: 0 where `allowed` holds, `otherwise` elsewhere.
inline Value bias_of(const Value& allowed, DType type, double otherwise) {
  Builder& in = allowed.in();
  return select(allowed, in.scalar(0.0, type), in.scalar(otherwise, type));
}

struct Attention {
  Value q, k, v;                // [batch, heads, length, size], with the same number of heads
  std::optional<double> scale;  // none: 1 / sqrt(size)
  double softcap = 0;
  Value bias;                             // added to the scores; optional
  bool empty_rows = false;                // a query may have no keys at all; its result is zero
  DType softmax_type = DType::undefined;  // undefined: the type of the scores

  Value scores, capped, biased, weights, result;  // set by `run`

  void run() {
    Builder& in = q.in();
    Value root = root_of_scale();
    scores = matmul(q * root, k * root, false, true);
    capped = softcap == 0 ? scores : in.op("Tanh", {scores / softcap}) * softcap;
    biased = bias ? capped + bias : capped;
    DType type = biased.type(), wide = softmax_type == DType::undefined ? type : softmax_type;
    weights = convert(softmax(convert(biased, wide), -1), type);
    if (empty_rows && bias) {
      Value most = in.op("ReduceMax", {bias, in.ints({-1})}, {{"keep_dims", true}});
      Value none = in.op("Equal", {most, like(most, -std::numeric_limits<double>::infinity())});
      weights = select(none, like(weights, 0), weights);
    }
    result = matmul(convert(weights, v.type()), v);
  }

 private:
  // Queries and keys are each multiplied by the square root of the scale, so that the product does not overflow in f16.
  Value root_of_scale() {
    Shape s = q.shape();
    if (scale) return like(q, std::sqrt(*scale));
    if (s.ranked() && s[3].known()) return like(q, 1 / std::sqrt(std::sqrt(static_cast<double>(s[3].value()))));
    return q.in().op("Power", {convert(scalar_dim(q, 3), q.type()), like(q, -0.25)});
  }
};

// Rotary embedding: rotates pairs of elements by the angle of their position. `x` has its positions along the
// second-to-last axis (cos and sin: [batch, 1, length, half]) or the one before (cos and sin: [batch, length, 1,
// half]). Elements from 2 * `half` on stay unchanged; -1: there are none.
inline Value rotate(const Value& x, const Value& cos, const Value& sin, bool interleaved, int64_t half) {
  Value turned = x, rest;
  if (half >= 0) {
    Shape s = x.shape();
    if (!s.ranked() || !s[3].known() || s[3].value() != 2 * half) {
      turned = slice(x, 3, 0, 2 * half);
      rest = slice(x, 3, 2 * half, INT64_MAX);
    }
  }
  Value a, b;
  if (interleaved) {
    a = slice(turned, 3, 0, INT64_MAX, 2), b = slice(turned, 3, 1, INT64_MAX, 2);
  } else {
    std::vector<Value> halves = split(turned, 3, 2);
    a = halves[0], b = halves[1];
  }
  Value real = cos * a - sin * b, imaginary = sin * a + cos * b;
  if (interleaved)
    turned = reshape_keeping(concat({unsqueeze(real, {4}), unsqueeze(imaginary, {4})}, 4), {0, 0, 0, -1});
  else turned = concat({real, imaginary}, 3);
  return rest ? concat({turned, rest}, 3) : turned;
}

}  // namespace graft::build
