// ScaledDotProductAttention in two launches: a team of work items per query computes the weights of its keys, then a
// work item per element of the result adds up values.
#include "cl_kernel.hpp"

namespace graft {
namespace {

enum { query, key, value, mask, scale, sink };

constexpr std::string_view weights_body = R"(
  int row = get_group_id(0), lane = get_local_id(0), i = row / length, at = row % length;
  __local float members[TEAM];
WALK
  float factor = SCALE, most = SINK;
  int from = at_0 + at * width;
  for (int j = lane; j < keys; j += TEAM) {
    float s = -INFINITY;
    if (!CAUSAL || j <= at) {
      float sum = 0;
      for (int w = 0; w < width; ++w) sum += LOAD_q(from + w) * LOAD_k(at_1 + j * width + w);
      s = sum * factor + BIAS;
    }
    STORE_p(row * keys + j, s);
    most = fmax(most, s);
  }
  members[lane] = most;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int n = 0; n < TEAM; ++n) most = fmax(most, members[n]);
  barrier(CLK_LOCAL_MEM_FENCE);
  float sum = 0;
  for (int j = lane; j < keys; j += TEAM) {
    float e = exp(LOAD_p(row * keys + j) - most);
    STORE_p(row * keys + j, e);
    sum += e;
  }
  members[lane] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  sum = HAS_SINK ? exp(SINK - most) : 0;
  for (int n = 0; n < TEAM; ++n) sum += members[n];
  for (int j = lane; j < keys; j += TEAM) STORE_p(row * keys + j, LOAD_p(row * keys + j) / sum);
)";

struct Attention {
  Emit& ctx;
  std::vector<int64_t> q = ctx.shape(query).values(), k = ctx.shape(key).values(), v = ctx.shape(value).values(),
                       y = ctx.output(0).shape.values(), batch{y.begin(), y.end() - 2};
  int64_t length = q[q.size() - 2], width = q.back(), keys = k[k.size() - 2];
  size_t weights = ctx.scratch(static_cast<size_t>(cl_count(batch) * length * keys) * sizeof(float));

  // Strides of a matrix along the batch axes.
  std::vector<int64_t> matrix(const std::vector<int64_t>& dims) const {
    std::vector<int64_t> outer(dims.begin(), dims.end() - 2), strides = cl_broadcast(outer, batch);
    for (int64_t& s : strides) s *= dims[dims.size() - 2] * dims.back();
    return strides;
  }
  // Those of an input broadcast to [batch, length, last]; the last two are apart.
  std::pair<std::vector<int64_t>, std::pair<int64_t, int64_t>> rows(size_t input, int64_t last) const {
    std::vector<int64_t> all = batch;
    all.push_back(length), all.push_back(last);
    std::vector<int64_t> s = cl_broadcast(ctx.shape(input).values(), all);
    return {{s.begin(), s.end() - 2}, {s[s.size() - 2], s.back()}};
  }

  void emit_weights() const {
    constexpr int64_t team = 64;
    bool causal = ctx.attr<bool>("causal"), has_sink = ctx.has_input(sink), has_mask = ctx.has_input(mask) && !causal;
    ClKernel kernel(ctx, "attention_weights");
    kernel.input(query, "q").input(key, "k").scratch(weights, "p", DType::f32);
    kernel.number("length", length).number("width", width).number("keys", keys);
    std::vector<std::vector<int64_t>> strides{matrix(q), matrix(k)};
    std::string bias = "0", from_sink = "-INFINITY", factor = literal_scale();
    if (has_mask) {
      auto [outer, inner] = rows(mask, keys);
      kernel.input(mask, "m").number("m_row", inner.first).number("m_column", inner.second);
      std::string at = "at_" + std::to_string(strides.size()) + " + at * m_row + j * m_column";
      bias = ctx.type(mask) == DType::boolean ? "(LOAD_m(" + at + ") ? 0 : -INFINITY)" : "LOAD_m(" + at + ")";
      strides.push_back(outer);
    }
    if (has_sink) {
      auto [outer, inner] = rows(sink, 1);
      kernel.input(sink, "last").number("last_row", inner.first);
      from_sink = "LOAD_last(at_" + std::to_string(strides.size()) + " + at * last_row)";
      strides.push_back(outer);
    }
    if (ctx.has_input(scale)) kernel.input(scale, "factors"), factor = "LOAD_factors(0)";
    kernel.define("TEAM", std::to_string(team)).define("CAUSAL", causal ? "1" : "0").define("SCALE", factor);
    kernel.define("BIAS", bias).define("SINK", from_sink).define("HAS_SINK", has_sink ? "1" : "0");
    std::string body(weights_body);
    body.replace(body.find("WALK"), 4, ClWalk(batch, strides).code(kernel));
    kernel.run(body, {cl_count(batch) * length * team}, {static_cast<size_t>(team)});
  }
  std::string literal_scale() const {
    return detail::number_text(static_cast<float>(1 / std::sqrt(static_cast<double>(width)))) + "f";
  }

  void emit_sums() const {
    ClKernel kernel(ctx, "attention_sums");
    kernel.scratch(weights, "p", DType::f32).input(value, "v").output(0, "y");
    kernel.number("length", length).number("keys", keys).number("out_width", v.back());
    std::string walk = ClWalk(batch, {matrix(v)}).code(kernel);
    kernel.run(
        "  int o = get_global_id(0), d = o % out_width, i = o / out_width / length, row = o / out_width;\n" + walk +
            "  float sum = 0;\n  for (int j = 0; j < keys; ++j) sum += LOAD_p(row * keys + j) * LOAD_v(at_0 + j * "
            "out_width + d);\n  STORE_y(o, sum);",
        {cl_count(y)});
  }
};

void emit_attention(Emit& ctx) {
  if (!is_real(ctx.type(0)) || ctx.type(0) == DType::f64) unsupported("expected f32 or smaller, got ", ctx.type(0));
  if (ctx.has_input(mask) && !ctx.attr<bool>("causal") && ctx.shape(mask).rank() == 0)
    unsupported("expected a mask with dimensions, got a scalar");
  Attention a{ctx};
  a.emit_weights();
  a.emit_sums();
}

}  // namespace

Definitions gpu_attention() {
  return SourceKernel("GPU", "attention").of("ScaledDotProductAttention").emit(emit_attention);
}

}  // namespace graft
