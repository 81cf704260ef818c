// Attention, MultiHeadAttention and RotaryEmbedding of ONNX Runtime (com.microsoft).
#include "attention.hpp"

namespace graft {
namespace {

struct MsAttention : build::Attention {
  void add_bias(const Value& more) { bias = bias ? bias + more : more; }
};

// Masks come as lengths [batch], as lengths and starts [2 * batch], as more numbers of which the first are the
// lengths, or as ones and zeros [batch, keys], [batch, queries, keys], [batch, 1, keys, keys]. What is masked is not
// excluded, but gets a large negative number added.
void ms_add_mask(Import& layer, MsAttention& a, const Value& mask, bool starts) {
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
      // A square for the longest sentence; the last rows belong to the queries.
      Value total = build::dim(a.k, 2);
      ones = build::slice(ones, 2, total - build::dim(a.q, 2), total);
      ones = build::slice(ones, 3, layer.ints({0}), total);
    }
    allowed = convert(ones, DType::boolean);
  }
  a.add_bias(build::bias_of(allowed, a.q.type(), filter));
}

void ms_add_causal_mask(Import& layer, MsAttention& a, const Value& past) {
  if (!layer.get<bool>("unidirectional", false)) return;
  Value distance = build::query_minus_key(a.q, a.k, past ? build::scalar_dim(past, 2) : Value());
  Value allowed = layer.op("GreaterEqual", {distance, layer.scalar(int64_t{0})});
  a.add_bias(build::bias_of(allowed, a.q.type(), -std::numeric_limits<double>::infinity()));
}

void ms_set_scale(Import& layer, MsAttention& a) {
  if (float scale = layer.get<float>("scale", 0); scale != 0) a.scale = scale;
}

std::vector<Value> import_ms_attention(Import& layer) {
  int64_t heads = layer.get<int64_t>("num_heads");
  if (heads < 1) fail("num_heads is ", heads);
  if (layer.get<bool>("do_rotary", false)) unsupported("Attention that rotates its inputs");
  layer.has("past_present_share_buffer");
  Value x = build::matmul(layer.input(0), layer.input(1));
  if (layer.has_input(2)) x = x + layer.input(2);
  auto sizes = layer.get<std::vector<int64_t>>("qkv_hidden_sizes", {});
  if (!sizes.empty() && sizes.size() != 3) fail("qkv_hidden_sizes has ", sizes.size(), " numbers, 3 are wanted");
  std::vector<Value> parts = sizes.empty() ? build::split(x, 2, 3) : build::split(x, 2, sizes);
  MsAttention a;
  a.q = build::split_heads(parts[0], heads);
  a.k = build::split_heads(parts[1], heads);
  a.v = build::split_heads(parts[2], heads);
  Value past;
  if (layer.has_input(4)) {
    std::vector<Value> old = build::split(layer.input(4), 0, 2);
    past = squeeze(old[0], {0});
    a.k = build::concat({past, a.k}, 2);
    a.v = build::concat({squeeze(old[1], {0}), a.v}, 2);
  }
  if (layer.has_input(3)) ms_add_mask(layer, a, layer.input(3), true);
  ms_add_causal_mask(layer, a, past);
  if (layer.has_input(5)) a.add_bias(layer.input(5));
  ms_set_scale(layer, a);
  a.run();
  Value present;
  if (layer.wants(1)) present = build::concat({unsqueeze(a.k, {0}), unsqueeze(a.v, {0})}, 0);
  return {build::join_heads(a.result), present};
}

// [batch, length, heads, parts, size] -> `parts` times [batch, heads, length, size]
std::vector<Value> ms_unpack_heads(const Value& packed, int64_t parts) {
  std::vector<Value> out;
  for (const Value& p : build::split(packed, 3, parts)) out.push_back(transpose(squeeze(p, {3}), {0, 2, 1, 3}));
  return out;
}

std::vector<Value> import_multi_head_attention(Import& layer) {
  int64_t heads = layer.get<int64_t>("num_heads");
  if (heads < 1) fail("num_heads is ", heads);
  if (layer.has_input(8) || layer.has_input(9)) unsupported("MultiHeadAttention for beam search");
  auto split = [&](const Value& v) { return v.rank() == 4 ? v : build::split_heads(v, heads); };
  MsAttention a;
  Value q = layer.input(0);
  bool ready = false;  // keys and values of another layer: nothing is added to them, nothing comes before them
  if (q.rank() == 5) {
    std::vector<Value> p = ms_unpack_heads(q, 3);
    a.q = p[0], a.k = p[1], a.v = p[2];
  } else {
    a.q = split(q);
    Value k = layer.input(1);
    if (k.rank() == 5) {
      std::vector<Value> p = ms_unpack_heads(k, 2);
      a.k = p[0], a.v = p[1];
    } else {
      ready = k.rank() == 4;
      a.k = split(k);
      a.v = split(layer.input(2));
    }
  }
  if (layer.has_input(3)) {
    // The biases of queries, keys and values one after the other, each as long as its heads together.
    Value* parts[] = {&a.q, &a.k, &a.v};
    Value bias = layer.input(3), start = layer.ints({0});
    for (size_t i = 0; i < 3; ++i) {
      Value end = start + build::dim(*parts[i], 3) * layer.ints({heads});
      if (i == 0 || !ready) *parts[i] = *parts[i] + reshape(build::slice(bias, 0, start, end), {1, heads, 1, -1});
      start = end;
    }
  }
  Value past = layer.has_input(6) && !ready ? layer.input(6) : Value();
  if (past) a.k = build::concat({past, a.k}, 2);
  if (past && layer.has_input(7)) a.v = build::concat({layer.input(7), a.v}, 2);
  if (layer.has_input(4)) ms_add_mask(layer, a, layer.input(4), false);
  ms_add_causal_mask(layer, a, past);
  if (layer.has_input(5)) a.add_bias(layer.input(5));
  ms_set_scale(layer, a);
  a.run();
  return {build::join_heads(a.result), a.k, a.v, a.scores};
}

// One position for all (the first of consecutive ones), or one for each element.
Value import_ms_rotary_embedding(Import& layer) {
  Value x = layer.input(0), positions = layer.input(1), cos = layer.input(2), sin = layer.input(3);
  if (layer.get<bool>("is_packed_batching", false)) unsupported("RotaryEmbedding of a packed batch");
  int64_t heads = layer.get<int64_t>("num_heads", 0), size = layer.get<int64_t>("rotary_embedding_dim", 0);
  double scale = layer.get<float>("scale", 1);
  bool flat = x.rank() == 3;
  if (flat) {
    // The table tells the size of a head where the number of heads is not given.
    Shape table = cos.shape();
    if (heads < 1 && (!table.ranked() || !table[1].known())) unsupported("the number of heads is not known");
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

Ops define_onnx_ms_attention() {
  return {
      onnx("Attention").domain("com.microsoft").expand(import_ms_attention),
      onnx("MultiHeadAttention").domain("com.microsoft").expand(import_multi_head_attention),
      onnx("RotaryEmbedding").domain("com.microsoft").expand(import_ms_rotary_embedding),
  };
}

}  // namespace graft
