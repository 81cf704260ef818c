// Recurrent layers that come as one node.
#include "layout.hpp"

namespace graft {
namespace {

// The framework's gates are input, cell, forget, output; ours forget, input, cell, output.
Value tf_gates(const Value& w, int64_t axis, std::string_view order) {
  std::vector<Value> parts = build::split(w, axis, 4);
  auto gate = [&](char c) { return parts[order.find(c)]; };
  return build::concat({gate('f'), gate('i'), gate('c'), gate('o')}, axis);
}

// seq_len_max, x [time, batch, input], cs, h, w [input + hidden, 4 hidden], wci, wcf, wco, b [4 hidden]
template <bool v2>
void tf_block_lstm(Import& layer) {
  double clip = layer.get<float>("cell_clip", v2 ? 0 : 3), forget = v2 ? 0 : layer.get<float>("forget_bias", 1);
  if (clip > 0) unsupported("cell_clip is ", clip, ", cells that are cut cannot be expressed");
  if (layer.get<bool>("use_peephole", false)) unsupported("peephole connections are not supported");
  for (size_t i = 1; i < 6; ++i)
    if (layer.wants(i)) unsupported("output ", i, " is read, only the hidden states can be had");
  std::string_view order = v2 ? "ifco" : "icfo";  // where each gate stands
  Value x = layer.input(1), cells = layer.input(2), hidden = layer.input(3), w = layer.input(4);
  Shape h = hidden.shape();
  if (!h.ranked() || h.rank() != 2 || !h[1].known()) unsupported("the size of the hidden state is not known");
  int64_t size = h[1].value();
  Value weights = transpose(tf_gates(w, 1, order), {1, 0});  // [4 hidden, input + hidden]
  Shape ws = w.shape();
  if (!ws.ranked() || ws.rank() != 2 || !ws[0].known() || ws[0].value() <= size)
    fail("the weights have shape ", ws, " for a hidden state of ", size);
  int64_t inputs = ws[0].value() - size;
  std::vector<Value> parts = build::split(weights, 1, {inputs, size});
  Value bias = layer.input(8);
  std::vector<Value> b = build::split(bias, 0, 4);
  b[order.find('f')] = b[order.find('f')] + forget;
  bias = tf_gates(build::concat(b, 0), 0, order);
  Value data = transpose(x, {1, 0, 2});
  Value steps = convert(tf::as_list(layer.input(0)), DType::i32), batch = build::dim(data, 0);
  std::vector<Value> out = layer.ops("LSTMSequence@5",
                                     {data, unsqueeze(hidden, {1}), unsqueeze(cells, {1}),
                                      build::broadcast(steps, batch), unsqueeze(parts[0], {0}),
                                      unsqueeze(parts[1], {0}), unsqueeze(bias, {0})},
                                     {{"hidden_size", size}, {"direction", "forward"}},
                                     3);
  layer.output(6, transpose(squeeze(out[0], {1}), {1, 0, 2}));
}

}  // namespace

Ops define_tensorflow_recurrent() {
  return {
      tensorflow("BlockLSTM").expand(tf_block_lstm<false>),
      tensorflow("BlockLSTMV2").expand(tf_block_lstm<true>),
  };
}

}  // namespace graft
