// Attention, QAttention, MultiHeadAttention, DecoderMaskedMultiHeadAttention and RotaryEmbedding of ONNX Runtime
// (com.microsoft).
#include <graft/op.hpp>

#include "attention.hpp"
#include "onnx/quantize.hpp"

namespace graft {
namespace {

struct MsAttention : build::Attention {
  void add_bias(const Value& more) { bias = bias ? bias + more : more; }
};

// A mask may be lengths [batch], ends and starts [2 * batch], more numbers of which the first are the lengths, or ones
// and zeros [batch, keys], [batch, queries, keys], [batch, 1, keys, keys]. Masked scores are not excluded; a large
// negative number is added to them.
void ms_add_mask(Builder& layer, MsAttention& a, const Value& mask, bool starts) {
  double filter = layer.get<float>("mask_filter_value", -10000.0f);
  Value allowed;
  size_t rank = mask.rank();
  if (rank == 1) {
    Value batch = build::dim(a.q, 0), whole = convert(mask, DType::i64);
    Value keys = build::range(layer.scalar(int64_t{0}), build::scalar_dim(a.k, 2), DType::i64);
    Value ends = reshape(build::slice(whole, 0, layer.ints({0}), batch), {-1, 1, 1, 1});
    allowed = layer.op("Less", {keys, ends});
    Shape m = mask.shape(), q = a.q.shape();
    if (starts && m[0].known() && q[0].known() && m[0].value() == 2 * q[0].value()) {
      Value first = reshape(build::slice(whole, 0, batch, batch * layer.ints({2})), {-1, 1, 1, 1});
      allowed = layer.op("LogicalAnd", {allowed, layer.op("GreaterEqual", {keys, first})});
    }
  } else {
    Value ones = rank == 2 ? unsqueeze(mask, {1, 2}) : rank == 3 ? unsqueeze(mask, {1}) : mask;
    if (rank == 4) {
      // A square mask for the longest sequence; its last rows belong to the queries.
      Value total = build::dim(a.k, 2);
      ones = build::slice(ones, 2, total - build::dim(a.q, 2), total);
      ones = build::slice(ones, 3, layer.ints({0}), total);
    }
    allowed = convert(ones, DType::boolean);
  }
  a.add_bias(build::bias_of(allowed, a.q.type(), filter));
}

// `past`: number of keys before the first query, a scalar; empty: none.
void ms_add_causal_mask(Builder& layer, MsAttention& a, const Value& past) {
  if (!layer.get<bool>("unidirectional", false)) return;
  Value distance = build::query_minus_key(a.q, a.k, past);
  Value allowed = layer.op("GreaterEqual", {distance, layer.scalar(int64_t{0})});
  a.add_bias(build::bias_of(allowed, a.q.type(), -std::numeric_limits<double>::infinity()));
}

void ms_set_scale(Builder& layer, MsAttention& a) {
  if (float scale = layer.get<float>("scale", 0); scale != 0) a.scale = scale;
}

// Keys and values of earlier calls, [batch, heads, length, size]. If `length` is set, they are buffers with `length`
// valid elements, and the new keys and values are written after these.
struct MsCache {
  Value keys, values, length, beams;  // empty: none

  void add_to(MsAttention& a) {
    if (!keys) return;
    if (!length) {
      present_k = a.k = build::concat({keys, a.k}, 2);
      present_v = a.v = build::concat({values, a.v}, 2);
      past = build::scalar_dim(keys, 2);
      return;
    }
    Value whole = reshape(convert(length, DType::i64), {1}), added = build::dim(a.k, 2);
    past = squeeze(whole, {0});
    append(keys, whole, added, a.k, present_k);
    append(values, whole, added, a.v, present_v);
  }
  Value past, present_k, present_v;  // set by `add_to`

 private:
  void append(const Value& buffer, const Value& used, const Value& added, Value& fresh, Value& present) {
    Builder& in = buffer.in();
    Value zero = in.ints({0}), old = build::slice(buffer, 2, zero, used);
    Value behind = build::slice(buffer, 2, used + added, in.ints({INT64_MAX}));
    present = build::concat({old, fresh, behind}, 2);
    fresh = build::concat({beams ? build::slice(by_beam(buffer), 2, zero, used) : old, fresh}, 2);
  }
  // Each position of a sequence is taken from the beam it descends from: `beams` is [batch / beams, beams, length].
  Value by_beam(const Value& buffer) {
    Builder& in = buffer.in();
    Value number = in.scalar(int64_t{0}), batch = build::dim(buffer, 0), length = build::dim(buffer, 2);
    Value width = build::dim(beams, 1), sequence = build::range(number, squeeze(batch, {0}), DType::i64);
    Value first = in.op("Divide", {sequence, width}) * width;  // first beam of the same batch entry
    Value from = unsqueeze(first, {1}) + build::reshape(convert(beams, DType::i64), {batch, in.ints({-1})});
    Value position = build::range(number, squeeze(length, {0}), DType::i64);
    std::vector<Value> rows{batch * length, build::dim(buffer, 1), build::dim(buffer, 3)};
    Value by_place = build::reshape(transpose(buffer, {0, 2, 1, 3}), rows);
    Value picked = build::gather(by_place, from * length + position, 0);
    return transpose(picked, {0, 2, 1, 3});
  }
};

// The optional inputs of self-attention; empty if omitted.
struct MsSelfInputs {
  Value mask, past, bias, length;  // length: of a past that shares its buffer
};

// Attention of queries, keys and values that lie side by side in `x`.
std::vector<Value> ms_self_attention(Builder& layer, const Value& x, const MsSelfInputs& in) {
  int64_t heads = layer.get<int64_t>("num_heads");
  if (heads < 1) fail("expected a positive num_heads, got ", heads);
  if (layer.get<bool>("do_rotary", false)) unsupported("Attention with do_rotary is not supported");
  bool shared = layer.get<bool>("past_present_share_buffer", false);
  auto sizes = layer.get<std::vector<int64_t>>("qkv_hidden_sizes", {});
  if (!sizes.empty() && sizes.size() != 3) fail("expected 3 values in qkv_hidden_sizes, got ", sizes.size());
  std::vector<Value> parts = sizes.empty() ? build::split(x, 2, 3) : build::split(x, 2, sizes);
  MsAttention a;
  a.q = build::split_heads(parts[0], heads);
  a.k = build::split_heads(parts[1], heads);
  a.v = build::split_heads(parts[2], heads);
  MsCache cache;
  if (in.past) {
    std::vector<Value> old = build::split(in.past, 0, 2);
    cache.keys = squeeze(old[0], {0}), cache.values = squeeze(old[1], {0});
    if (shared && !in.length) fail("past_present_share_buffer requires past_sequence_length");
    if (shared) cache.length = in.length;
    cache.add_to(a);
  } else {
    cache.present_k = a.k, cache.present_v = a.v;
  }
  if (in.mask) ms_add_mask(layer, a, in.mask, true);
  ms_add_causal_mask(layer, a, cache.past);
  if (in.bias) a.add_bias(in.bias);
  ms_set_scale(layer, a);
  a.run();
  Value present;
  if (layer.output_used(1))
    present = build::concat({unsqueeze(cache.present_k, {0}), unsqueeze(cache.present_v, {0})}, 0);
  return {build::join_heads(a.result), present};
}

std::vector<Value> import_ms_attention(Builder& layer) {
  Value x = build::matmul(layer.input(0), layer.input(1));
  if (layer.has_input(2)) x = x + layer.input(2);
  return ms_self_attention(
      layer, x,
      {optional_input(layer, 3), optional_input(layer, 4), optional_input(layer, 5), optional_input(layer, 6)});
}

// Data and weights of 8 bits; what follows their product is computed in f32.
std::vector<Value> import_ms_qattention(Builder& layer) {
  Value sum = integer_matmul(layer, layer.input(0), optional_input(layer, 6), layer.input(1), optional_input(layer, 7));
  Value scale = flat_scalar(layer.input(3)) * flat_scalar(layer.input(4));
  Value x = convert(sum, scale.type()) * scale + layer.input(2);
  return ms_self_attention(layer, x, {optional_input(layer, 5), optional_input(layer, 8), {}, {}});
}

// [batch, length, heads, parts, size] -> `parts` times [batch, heads, length, size]
std::vector<Value> ms_unpack_heads(const Value& packed, int64_t parts) {
  std::vector<Value> out;
  for (const Value& p : build::split(packed, 3, parts)) out.push_back(transpose(squeeze(p, {3}), {0, 2, 1, 3}));
  return out;
}

// The inputs of layers with separate queries, keys and values, by name; empty if omitted.
struct MsInputs {
  Value q, k, v, bias, mask, scores_bias, past_k, past_v, past_length, beams;
};

std::vector<Value> ms_multi_head(Builder& layer, const MsInputs& in) {
  int64_t heads = layer.get<int64_t>("num_heads");
  if (heads < 1) fail("expected a positive num_heads, got ", heads);
  auto split = [&](const Value& v) { return v.rank() == 4 ? v : build::split_heads(v, heads); };
  MsAttention a;
  bool ready = false;  // keys and values of another layer (cross-attention): no bias, no past
  if (in.q.rank() == 5) {
    std::vector<Value> p = ms_unpack_heads(in.q, 3);
    a.q = p[0], a.k = p[1], a.v = p[2];
  } else if (!in.k) {
    std::vector<Value> p = build::split(in.q, 2, 3);
    a.q = split(p[0]), a.k = split(p[1]), a.v = split(p[2]);
  } else if (in.k.rank() == 5) {
    std::vector<Value> p = ms_unpack_heads(in.k, 2);
    a.q = split(in.q), a.k = p[0], a.v = p[1];
  } else {
    ready = in.k.rank() == 4;
    a.q = split(in.q), a.k = split(in.k), a.v = split(in.v);
  }
  if (in.bias) {
    // The biases of queries, keys and values, concatenated, each as long as all its heads together.
    Value* parts[] = {&a.q, &a.k, &a.v};
    Value start = layer.ints({0});
    for (size_t i = 0; i < 3; ++i) {
      Value end = start + build::dim(*parts[i], 3) * layer.ints({heads});
      if (i == 0 || !ready) *parts[i] = *parts[i] + reshape(build::slice(in.bias, 0, start, end), {1, heads, 1, -1});
      start = end;
    }
  }
  MsCache cache;
  if (in.past_k && in.past_v && !ready) cache = {in.past_k, in.past_v, in.past_length, in.beams};
  cache.present_k = a.k, cache.present_v = a.v;
  cache.add_to(a);
  if (in.mask) ms_add_mask(layer, a, in.mask, false);
  ms_add_causal_mask(layer, a, cache.past);
  if (in.scores_bias) a.add_bias(in.scores_bias);
  ms_set_scale(layer, a);
  a.run();
  return {build::join_heads(a.result), cache.present_k, cache.present_v, a.scores};
}

Value ms_input(Builder& layer, size_t i) { return layer.has_input(i) ? layer.input(i) : Value(); }

std::vector<Value> import_multi_head_attention(Builder& layer) {
  auto in = [&](size_t i) { return ms_input(layer, i); };
  return ms_multi_head(layer, {in(0), in(1), in(2), in(3), in(4), in(5), in(6), in(7), in(8), in(9)});
}
// One decoding step. With a single beam the cache is used unchanged.
std::vector<Value> import_decoder_attention(Builder& layer) {
  auto in = [&](size_t i) { return ms_input(layer, i); };
  bool shared = layer.get<bool>("past_present_share_buffer", false);
  if (shared && in(5) && !in(7)) fail("past_present_share_buffer requires past_sequence_length");
  layer.has("output_qk");
  return ms_multi_head(layer,
                       {in(0), in(1), in(2), in(10), in(3), in(4), in(5), in(6), shared ? in(7) : Value(), in(9)});
}

// A single position (the first of consecutive ones), or one per element.
Value import_ms_rotary_embedding(Builder& layer) {
  Value x = layer.input(0), positions = layer.input(1), cos = layer.input(2), sin = layer.input(3);
  if (layer.get<bool>("is_packed_batching", false)) unsupported("RotaryEmbedding of a packed batch is not supported");
  int64_t heads = layer.get<int64_t>("num_heads", 0), size = layer.get<int64_t>("rotary_embedding_dim", 0);
  double scale = layer.get<float>("scale", 1);
  bool flat = x.rank() == 3;
  if (flat) {
    // If the number of heads is not given, the head size follows from the table.
    Shape table = cos.shape();
    if (heads < 1 && (!table.ranked() || !table[1].known()))
      unsupported("the number of heads is unknown: set the attribute 'num_heads'");
    x = heads > 0 ? build::split_heads(x, heads)
                  : transpose(build::reshape_keeping(x, {0, 0, -1, 2 * table[1].value()}), {0, 2, 1, 3});
  }
  Shape p = positions.shape();
  if (p.ranked() && p.rank() == 1) {
    Value steps = build::range(layer.scalar(int64_t{0}), build::scalar_dim(x, 2), DType::i64);
    positions = unsqueeze(convert(positions, DType::i64) + steps, {0});
  }
  cos = unsqueeze(build::gather(cos, positions, 0), {1});
  sin = unsqueeze(build::gather(sin, positions, 0), {1});
  x = build::rotate(x, cos, sin, layer.get<bool>("interleaved", false), size > 0 ? size / 2 : -1) * scale;
  return flat ? build::join_heads(x) : x;
}

}  // namespace

Definitions define_onnx_ms_attention() {
  return {
      onnx("Attention").domain("com.microsoft").expand(import_ms_attention),
      onnx("QAttention").domain("com.microsoft").expand(import_ms_qattention),
      onnx("MultiHeadAttention").domain("com.microsoft").expand(import_multi_head_attention),
      onnx("DecoderMaskedMultiHeadAttention").domain("com.microsoft").expand(import_decoder_attention),
      onnx("RotaryEmbedding").domain("com.microsoft").expand(import_ms_rotary_embedding),
  };
}

}  // namespace graft
