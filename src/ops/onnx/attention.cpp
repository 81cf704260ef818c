// Attention and RotaryEmbedding of ONNX.
#include "attention.hpp"

#include <graft/op.hpp>

namespace graft {
namespace {

int64_t attention_head_count(const Value& v, int64_t given) {
  Shape s = v.shape();
  if (given > 0) return given;
  if (s.ranked() && s.rank() == 4 && s[1].known()) return s[1].value();
  unsupported("the number of heads must be known, got an input of shape ", s);
}

// Missing columns of a mask are treated as masked.
Value attention_widen_mask(Builder& layer, const Value& mask, const Value& k) {
  Shape m = mask.shape(), keys = k.shape();
  if (!m.ranked() || m.rank() == 0) return mask;
  Dim has = m[m.rank() - 1], wants = keys.ranked() ? keys[2] : Dim();
  bool same = has.same(wants), broadcasts = layer.version() < 24 && (!has.known() || !wants.known() || has.can_be(1));
  if (same || broadcasts) return mask;
  std::vector<int64_t> front;
  for (size_t i = 0; i + 1 < m.rank(); ++i) front.push_back(static_cast<int64_t>(i));
  Value missing = build::dim(k, 2) - build::dim(mask, -1);
  std::vector<Value> shape;
  if (!front.empty()) shape.push_back(build::dims(mask, front));
  shape.push_back(missing);
  double hidden = mask.type() == DType::boolean ? 0 : -std::numeric_limits<double>::infinity();
  return build::concat({mask, build::fill(layer, hidden, mask.type(), build::concat(shape, 0))}, -1);
}

std::vector<Value> import_attention(Builder& layer) {
  constexpr double hidden = -std::numeric_limits<double>::infinity();
  build::Attention a{layer.input(0), layer.input(1), layer.input(2)};
  int64_t q_heads = layer.get<int64_t>("q_num_heads", 0), kv_heads = layer.get<int64_t>("kv_num_heads", 0);
  bool flat = a.q.rank() == 3;
  if (flat) {
    if (q_heads < 1 || kv_heads < 1) fail("inputs of rank 3 require q_num_heads and kv_num_heads");
    a.q = build::split_heads(a.q, q_heads);
    a.k = build::split_heads(a.k, kv_heads);
    a.v = build::split_heads(a.v, kv_heads);
  }
  Value past = layer.has_input(4) ? layer.input(4) : Value();
  if (past) a.k = build::concat({past, a.k}, 2);
  if (layer.has_input(5)) a.v = build::concat({layer.input(5), a.v}, 2);
  Value present_key = a.k, present_value = a.v;
  bool cached = layer.has_input(6);
  Value filled = cached ? reshape(layer.input(6), {-1, 1, 1, 1}) : Value();

  // The keys that a query may attend to.
  Value allowed;
  auto also = [&](const Value& condition) {
    allowed = allowed ? layer.op("LogicalAnd", {allowed, condition}) : condition;
  };
  int64_t left = layer.get<int64_t>("left_window_size", -1), right = layer.get<int64_t>("right_window_size", -1);
  if (layer.get<bool>("is_causal", false)) right = right < 0 ? 0 : std::min<int64_t>(right, 0);
  if (left >= 0 || right >= 0) {
    Value offset;
    if (past) offset = build::scalar_dim(past, 2);
    else if (cached) offset = filled - build::scalar_dim(a.q, 2);
    Value distance = build::query_minus_key(a.q, a.k, offset);
    if (left >= 0) also(layer.op("LessEqual", {distance, layer.scalar(left)}));
    if (right >= 0) also(layer.op("GreaterEqual", {distance, layer.scalar(-right)}));
    a.empty_rows = cached || left >= 0;
  }
  if (cached) {
    Value columns = build::range(layer.scalar(int64_t{0}), build::scalar_dim(a.k, 2), DType::i64);
    also(layer.op("Less", {columns, filled}));
    a.empty_rows = true;
  }
  if (layer.has_input(3)) {
    Value mask = attention_widen_mask(layer, layer.input(3), a.k);
    if (mask.type() == DType::boolean) also(mask);
    else a.bias = mask;
    a.empty_rows = true;
  }
  if (allowed) {
    Value bias = build::bias_of(allowed, a.q.type(), hidden);
    a.bias = a.bias ? a.bias + bias : bias;
  }

  int64_t heads = attention_head_count(a.q, q_heads), groups = attention_head_count(a.k, kv_heads);
  if (groups < 1 || heads % groups != 0)
    fail("expected a number of query heads divisible by the ", groups, " key heads, got ", heads);
  a.k = build::repeat_heads(a.k, groups, heads / groups);
  a.v = build::repeat_heads(a.v, groups, heads / groups);
  if (layer.has("scale")) a.scale = layer.get<float>("scale");
  a.softcap = layer.get<float>("softcap", 0);
  if (int64_t type = layer.get<int64_t>("softmax_precision", 0)) a.softmax_type = onnx_element_type(type);
  a.run();
  int64_t mode = layer.get<int64_t>("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) fail("expected qk_matmul_output_mode 0, 1, 2 or 3, got ", mode);
  Value seen[] = {a.scores, a.capped, a.biased, a.weights};
  return {flat ? build::join_heads(a.result) : a.result, present_key, present_value, seen[mode]};
}

Value import_rotary_embedding(Builder& layer) {
  Value x = layer.input(0), cos = layer.input(1), sin = layer.input(2);
  bool flat = x.rank() == 3;
  int64_t heads = layer.get<int64_t>("num_heads", 0), size = layer.get<int64_t>("rotary_embedding_dim", 0);
  if (flat && heads < 1) fail("an input of rank 3 requires num_heads");
  if (flat) x = build::split_heads(x, heads);
  if (layer.has_input(3)) {
    cos = build::gather(cos, layer.input(3), 0);
    sin = build::gather(sin, layer.input(3), 0);
  }
  int64_t half = size > 0 ? size / 2 : -1;
  if (Shape s = cos.shape(); half >= 0 && (!s.ranked() || !s[2].known() || s[2].value() != half))
    cos = build::slice(cos, 2, 0, half), sin = build::slice(sin, 2, 0, half);
  x = build::rotate(x, unsqueeze(cos, {1}), unsqueeze(sin, {1}), layer.get<bool>("interleaved", false), half);
  return flat ? build::join_heads(x) : x;
}

}  // namespace

Definitions define_onnx_attention() {
  return {
      onnx("Attention").rank(0, 3, 4).rank(1, 3, 4).rank(2, 3, 4).expand(import_attention),
      onnx("RotaryEmbedding").rank(0, 3, 4).expand(import_rotary_embedding),
  };
}

}  // namespace graft
