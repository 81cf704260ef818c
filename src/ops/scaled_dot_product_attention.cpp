#include <graft/op.hpp>

#include "one_way.hpp"

namespace graft {
namespace {

struct Attention {
  bool causal = false;
  static constexpr std::tuple schema{
      attr("causal", &Attention::causal,
           "causal attention: mask out keys after the query position and ignore attention_mask")
          .required()};
};
enum AttentionInput : size_t {
  attention_query,
  attention_key,
  attention_value,
  attention_mask,
  attention_scale,
  attention_sink
};

Shape without_last(const Shape& s, size_t n) {
  return Shape(std::vector<Dim>(s.begin(), s.end() - static_cast<ptrdiff_t>(n)));
}

void attention_infer(Infer& ctx, const Attention& a) {
  DType type = common_type(ctx, {attention_query, attention_key, attention_value, attention_scale, attention_sink});
  check_single(ctx, attention_scale, "scale");
  Shape q = ctx.shape(attention_query), k = ctx.shape(attention_key), v = ctx.shape(attention_value);
  Shape mask = ctx.has_input(attention_mask) ? ctx.shape(attention_mask) : Shape();
  if (ctx.has_input(attention_mask)) {
    DType m = ctx.type(attention_mask);
    if (m != DType::boolean && m != DType::undefined && m != type)
      fail("expected a mask of type boolean or ", type, ", got ", m);
  }
  for (const Shape* s : {&q, &k, &v})
    if (s->ranked() && s->rank() < 2) fail("expected query, key and value of rank 2 or more, got shape ", *s);
  if (!q.ranked() || !k.ranked() || !v.ranked()) return ctx.output(0, type, Shape::unknown());
  Dim length = q[q.rank() - 2], keys = merge(k[k.rank() - 2], v[v.rank() - 2]);
  merge(q[q.rank() - 1], k[k.rank() - 1]);
  Shape out = broadcast(broadcast(without_last(q, 2), without_last(k, 2)), without_last(v, 2));
  if (!a.causal && mask.ranked() && mask.rank() > 2) out = broadcast(out, without_last(mask, 2));
  Shape scores = out;
  scores.push_back(length), scores.push_back(keys);
  if (!a.causal) check_one_way(scores, mask, "mask");
  if (ctx.has_input(attention_sink)) {
    Shape sink = ctx.shape(attention_sink);
    scores[scores.rank() - 1] = Dim(1);
    check_one_way(scores, sink, "sink");
  }
  out.push_back(length), out.push_back(v[v.rank() - 1]);
  ctx.output(0, type, out);
}

// Strides of an input broadcast to the batch axes of the result.
std::vector<int64_t> attention_strides(TensorView x, std::span<const int64_t> batch) {
  std::vector<int64_t> dims(x.dims().begin(), x.dims().end() - 2);
  std::vector<int64_t> strides = broadcast_strides(dims, batch);
  for (int64_t& s : strides) s *= x.dim(x.rank() - 2) * x.dim(x.rank() - 1);
  return strides;
}

// The bias added to the scores before the softmax, with the shape of the scores.
std::vector<double> attention_bias(Run& ctx, bool causal, std::span<const int64_t> scores) {
  std::vector<double> bias(static_cast<size_t>(count_of(scores)), 0.0);
  if (bias.empty()) return bias;
  int64_t length = scores[scores.size() - 2], keys = scores[scores.size() - 1];
  if (causal) {
    for (size_t i = 0; i < bias.size(); ++i) {
      auto at = static_cast<int64_t>(i) % (length * keys);
      if (at % keys > at / keys) bias[i] = -INFINITY;
    }
  } else if (ctx.has_input(attention_mask)) {
    TensorView mask = ctx.input(attention_mask);
    std::vector<double> m = mask.to<double>();
    Walk walk(scores, {broadcast_strides(mask.dims(), scores)});
    auto next = bias.begin();
    do {
      double x = m[static_cast<size_t>(walk[0])];
      *next++ = mask.type() != DType::boolean ? x : x != 0 ? 0 : -INFINITY;
    } while (walk.next());
  }
  return bias;
}

// The softmax of one query's scores; a sink takes part in the denominator.
void attention_weights(std::span<double> scores, std::optional<double> sink) {
  double most = sink.value_or(-INFINITY);
  for (double s : scores) most = std::max(most, s);
  double sum = sink ? std::exp(*sink - most) : 0;
  for (double& s : scores) sum += s = std::exp(s - most);
  for (double& s : scores) s /= sum;
}

void attention_run(Run& ctx, const Attention& a) {
  TensorView q = ctx.input(attention_query), k = ctx.input(attention_key), v = ctx.input(attention_value);
  OutputView y = ctx.output(0);
  int64_t length = q.dim(q.rank() - 2), width = q.dim(q.rank() - 1), keys = k.dim(k.rank() - 2),
          out_width = v.dim(v.rank() - 1);
  std::span<const int64_t> batch = y.dims().first(y.rank() - 2);
  std::vector<int64_t> scores(batch.begin(), batch.end()), one;
  scores.push_back(length);
  one = scores;
  scores.push_back(keys), one.push_back(1);
  std::vector<double> queries = q.to<double>(), key = k.to<double>(), value = v.to<double>(),
                      bias = attention_bias(ctx, a.causal, scores), out(static_cast<size_t>(y.size()), 0.0);
  double scale = ctx.has_input(attention_scale) ? ctx.input(attention_scale).scalar<double>()
                                                : 1 / std::sqrt(static_cast<double>(width));
  std::vector<double> sinks;
  std::vector<int64_t> sink_strides(one.size(), 0);
  if (ctx.has_input(attention_sink)) {
    sinks = ctx.input(attention_sink).to<double>();
    sink_strides = broadcast_strides(ctx.input(attention_sink).dims(), one);
  }
  Walk walk(batch, {attention_strides(q, batch), attention_strides(k, batch), attention_strides(v, batch),
                    std::vector<int64_t>(sink_strides.begin(), sink_strides.end() - 2)});
  if (out.empty()) return;
  double *score = bias.data(), *to = out.data();
  do {
    for (int64_t i = 0; i < length; ++i, score += keys, to += out_width) {
      const double* query = queries.data() + walk[0] + i * width;
      for (int64_t j = 0; j < keys; ++j) {
        const double* other = key.data() + walk[1] + j * width;
        double dot = 0;
        for (int64_t e = 0; e < width; ++e) dot += query[e] * other[e];
        score[j] += dot * scale;
      }
      std::optional<double> sink;
      if (!sinks.empty()) sink = sinks[static_cast<size_t>(walk[3] + i * sink_strides[sink_strides.size() - 2])];
      attention_weights({score, static_cast<size_t>(keys)}, sink);
      for (int64_t j = 0; j < keys; ++j)
        for (int64_t e = 0; e < out_width; ++e)
          to[e] += score[j] * value[static_cast<size_t>(walk[2] + j * out_width + e)];
    }
  } while (walk.next());
  y.assign(out);
}

}  // namespace

Definitions define_scaled_dot_product_attention() {
  return op<Attention>("ScaledDotProductAttention", 13)
      .doc("softmax(query * key^T * scale + mask) * value; the default scale is 1 / sqrt(head size)")
      .inputs("query, key, value, attention_mask?, scale?, sink?")
      .infer(attention_infer)
      .reference(attention_run);
}

}  // namespace graft
