// Recurrent layers fused into a single node.
#include <graft/op.hpp>

#include "layout.hpp"

namespace graft {
namespace {

// TensorFlow's gate order is input, cell, forget, output; ours is forget, input, cell, output.
Value tf_gates(const Value& w, int64_t axis, std::string_view order) {
  std::vector<Value> parts = build::split(w, axis, 4);
  auto gate = [&](char c) { return parts[order.find(c)]; };
  return build::concat({gate('f'), gate('i'), gate('c'), gate('o')}, axis);
}

struct TfBlock {
  double clip, forget;
  bool peephole;
  std::string_view order;  // of the gates
};

// Unrolled step by step, if cells are clipped, there are peepholes, or outputs other than the hidden states are used.
void tf_block_steps(Builder& layer, const TfBlock& b) {
  Value x = layer.input(1), cells = layer.input(2), hidden = layer.input(3), w = layer.input(4), bias = layer.input(8);
  Shape s = x.shape();
  auto longest = layer.input(0).values<int64_t>();
  if (longest && longest->size() != 1) fail("expected a scalar seq_len_max, got ", longest->size(), " values");
  bool known = s.ranked() && s.rank() == 3 && s[0].known();
  if (!known && !longest) unsupported("the number of steps is unknown, but this form of the layer requires it");
  int64_t steps = known ? s[0].value() : (*longest)[0];
  if (longest && (*longest)[0] < steps)
    unsupported("running only ", (*longest)[0], " of ", steps, " steps is not supported");
  if (steps < 1 || steps > 1000) unsupported("unrolling ", steps, " steps is not supported, at most 1000");
  auto gate = [&](const std::vector<Value>& parts, char c) { return parts[b.order.find(c)]; };
  std::vector<Value> made[7];
  for (int64_t t = 0; t < steps; ++t) {
    Value in = build::concat({squeeze(build::slice(x, 0, t, t + 1), {0}), hidden}, 1);
    std::vector<Value> gates = build::split(build::matmul(in, w) + bias, 1, 4);
    Value i = gate(gates, 'i'), c = gate(gates, 'c'), f = gate(gates, 'f') + b.forget, o = gate(gates, 'o');
    if (b.peephole) i = i + cells * layer.input(5), f = f + cells * layer.input(6);
    i = layer.op("Sigmoid", {i}), f = layer.op("Sigmoid", {f}), c = layer.op("Tanh", {c});
    cells = c * i + cells * f;
    if (b.clip > 0) cells = layer.op("Clamp", {cells}, {{"min", -b.clip}, {"max", b.clip}});
    if (b.peephole) o = o + cells * layer.input(7);
    o = layer.op("Sigmoid", {o});
    Value co = layer.op("Tanh", {cells});
    hidden = co * o;
    const Value all[7] = {i, cells, f, o, c, co, hidden};
    for (size_t k = 0; k < 7; ++k) made[k].push_back(all[k]);
  }
  for (size_t k = 0; k < 7; ++k) {
    if (!layer.output_used(k)) continue;
    for (Value& v : made[k]) v = unsqueeze(v, {0});
    layer.output(k, build::concat(made[k], 0));
  }
}

void tf_block_sequence(Builder& layer, const TfBlock& b) {
  Value x = layer.input(1), cells = layer.input(2), hidden = layer.input(3), w = layer.input(4);
  Shape h = hidden.shape(), ws = w.shape();
  if (!h.ranked() || h.rank() != 2 || !h[1].known())
    unsupported("the size of the hidden state is unknown, but this conversion requires it");
  int64_t size = h[1].value();
  if (!ws.ranked() || ws.rank() != 2 || !ws[0].known() || ws[0].value() <= size)
    fail("weights of shape ", ws, " do not match a hidden state of ", size);
  Value weights = transpose(tf_gates(w, 1, b.order), {1, 0});  // [4 hidden, input + hidden]
  std::vector<Value> parts = build::split(weights, 1, {ws[0].value() - size, size});
  std::vector<Value> biases = build::split(layer.input(8), 0, 4);
  Value& forget = biases[b.order.find('f')];
  forget = forget + b.forget;
  Value bias = tf_gates(build::concat(biases, 0), 0, b.order);
  Value data = transpose(x, {1, 0, 2}), batch = build::dim(data, 0);
  Value steps = convert(tf::as_list(layer.input(0)), DType::i32);
  Value out = layer.ops("LSTMSequence@5",
                        {data, unsqueeze(hidden, {1}), unsqueeze(cells, {1}), build::broadcast(steps, batch),
                         unsqueeze(parts[0], {0}), unsqueeze(parts[1], {0}), unsqueeze(bias, {0})},
                        {{"hidden_size", size}, {"direction", "forward"}}, 3)[0];
  layer.output(6, transpose(squeeze(out, {1}), {1, 0, 2}));
}

// seq_len_max, x [time, batch, input], cs, h, w [input + hidden, 4 hidden], wci, wcf, wco, b [4 hidden]
template <bool v2>
void tf_block_lstm(Builder& layer) {
  TfBlock b{layer.get<float>("cell_clip", v2 ? 0 : 3), v2 ? 0 : layer.get<float>("forget_bias", 1),
            layer.get<bool>("use_peephole", false), v2 ? "ifco" : "icfo"};
  bool plain = b.clip <= 0 && !b.peephole;
  for (size_t i = 1; i < 6; ++i) plain = plain && !layer.output_used(i);
  if (layer.outputs() != 7) plain = false;
  plain ? tf_block_sequence(layer, b) : tf_block_steps(layer, b);
}

}  // namespace

Definitions define_tensorflow_recurrent() {
  return {
      tensorflow("BlockLSTM").expand(tf_block_lstm<false>),
      tensorflow("BlockLSTMV2").expand(tf_block_lstm<true>),
  };
}

}  // namespace graft
