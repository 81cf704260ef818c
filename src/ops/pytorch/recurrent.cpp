// Recurrent layers of ATen.
#include "pytorch/call.hpp"

namespace graft {
namespace {

using pt::Call, pt::Ints;

// ---- recurrent layers ----

struct PtCell {
  const char* op;
  Ints gates;  // torch's order of our gates
  bool cell_state;
};
Value pt_gates(const Value& v, const Ints& order) {
  if (order.empty()) return v;
  std::vector<Value> parts = build::split(v, 0, static_cast<int64_t>(order.size())), out;
  for (int64_t i : order) out.push_back(parts[static_cast<size_t>(i)]);
  return build::concat(out, 0);
}
std::vector<Value> pt_recurrent(Call& c, const PtCell& cell, const char* activation) {
  Builder& in = c.in;
  Value x = c["input"];
  if (c.find("batch_sizes")) unsupported("packed sequences are not supported");
  std::vector<Value> state = c.list("hx"), params = c.tensors("params");
  if (Value h = c.find("hx")) state = {h};
  if (state.empty()) fail("expected an initial state");
  bool biases = c.flag("has_biases"), both = c.flag("bidirectional"), batch_first = c.flag("batch_first");
  int64_t layers = c.integer("num_layers"), directions = both ? 2 : 1;
  size_t each = biases ? 4 : 2;
  if (layers < 1 || params.size() != each * static_cast<size_t>(layers * directions))
    unsupported("expected ", each, " parameters for each layer and direction, got ", params.size(),
                ": projections are not supported");
  bool gru = std::string_view(cell.op).starts_with("GRU");
  bool single = x.rank() == 2;
  if (single) {
    x = unsqueeze(x, {batch_first ? 0 : 1});
    for (Value& v : state) v = unsqueeze(v, {1});
  }
  Value y = batch_first ? x : transpose(x, {1, 0, 2});
  std::vector<std::vector<Value>> last(cell.cell_state ? 2 : 1);
  size_t at = 0;
  for (int64_t l = 0; l < layers; ++l) {
    std::vector<Value> w, r, b;
    for (int64_t d = 0; d < directions; ++d) {
      Value wi = params[at], wh = params[at + 1];
      w.push_back(unsqueeze(pt_gates(wi, cell.gates), {0})), r.push_back(unsqueeze(pt_gates(wh, cell.gates), {0}));
      Shape s = wh.shape();
      if (!s[0].known() || !s[1].known()) needs_shape("the shape of recurrence weights is unknown");
      Value bi = biases ? params[at + 2] : build::fill(in, 0, wi.type(), in.ints({s[0].value()}));
      Value bh = biases ? params[at + 3] : bi;
      Value sum;
      if (gru) {
        // z, r: both biases; h: apart, as the reset gate is applied to one of them.
        std::vector<Value> i = build::split(pt_gates(bi, cell.gates), 0, 3),
                           h = build::split(pt_gates(bh, cell.gates), 0, 3);
        sum = build::concat({i[0] + h[0], i[1] + h[1], i[2], h[2]}, 0);
      } else {
        sum = pt_gates(bi, cell.gates) + pt_gates(bh, cell.gates);
      }
      b.push_back(unsqueeze(sum, {0}));
      at += each;
    }
    int64_t hidden = r[0].shape()[2].value();
    std::vector<Value> inputs{y};
    for (const Value& v : state)
      inputs.push_back(transpose(build::slice(v, 0, l * directions, (l + 1) * directions), {1, 0, 2}));
    Value lengths = build::broadcast(dimension_of(y, 1), build::dim(y, 0));
    inputs.insert(inputs.end(), {lengths, build::concat(w, 0), build::concat(r, 0), build::concat(b, 0)});
    std::vector<NamedAttr> attributes{{"direction", both ? "bidirectional" : "forward"}, {"hidden_size", hidden}};
    if (gru) attributes.push_back({"linear_before_reset", true});
    if (activation) attributes.push_back({"activations", std::vector<std::string>{activation}});
    std::vector<Value> out = in.make(cell.op, inputs, attributes, cell.cell_state ? 3 : 2, {});
    // [batch, directions, time, hidden] -> [batch, time, directions * hidden]
    y = transpose(out[0], {0, 2, 1, 3});
    y = build::reshape(y, {build::dims(y, {0, 1}), in.ints({directions * hidden})});
    for (size_t k = 0; k < last.size(); ++k) last[k].push_back(transpose(out[k + 1], {1, 0, 2}));
  }
  std::vector<Value> result{batch_first ? y : transpose(y, {1, 0, 2})};
  if (single) result[0] = squeeze(result[0], {batch_first ? 0 : 1});
  for (const std::vector<Value>& states : last) {
    Value all = build::concat(states, 0);
    result.push_back(single ? squeeze(all, {1}) : all);
  }
  return result;
}
void pt_without_dropout(Call& c) {
  if (c.flag("train") && c.given("dropout") && c.real("dropout") != 0)
    unsupported("dropout in training mode is not supported: it is random");
}
// With projections, step by step: no operation has them.
std::vector<Value> pt_projected_lstm(Call& c) {
  Builder& in = c.in;
  std::vector<Value> state = c.tensors("hx"), params = c.tensors("params"), hidden, cells;
  bool biases = c.flag("has_biases"), both = c.flag("bidirectional"), batch_first = c.flag("batch_first");
  int64_t layers = c.integer("num_layers"), directions = both ? 2 : 1;
  size_t each = biases ? 5 : 3, at = 0;
  if (state.size() != 2 || params.size() != each * static_cast<size_t>(layers * directions))
    fail("expected two states and ", each, " parameters for each layer and direction, got ", params.size());
  Value y = c["input"];
  if (y.rank() != 3) unsupported("an LSTM with projections is supported for batches alone");
  if (batch_first) y = transpose(y, {1, 0, 2});
  Shape s = y.shape();
  constexpr int64_t longest = 256;
  if (!s[0].known()) needs_shape("an LSTM with projections needs sequences of known length");
  int64_t steps = s[0].value();
  if (steps > longest) unsupported("an LSTM with projections is supported for up to ", longest, " steps, got ", steps);
  auto sigmoid = [&](const Value& v) { return in.op("Sigmoid", {v}); };
  for (int64_t l = 0; l < layers; ++l) {
    std::vector<Value> outputs;
    for (int64_t d = 0; d < directions; ++d, at += each) {
      auto first = [&](const Value& v) {
        return squeeze(build::slice(v, 0, l * directions + d, l * directions + d + 1), {0});
      };
      Value h = first(state[0]), cell = first(state[1]);
      std::vector<Value> rows(static_cast<size_t>(steps));
      Value input = build::matmul(y, params[at], false, true);
      if (biases) input = input + params[at + 2] + params[at + 3];
      for (int64_t i = 0; i < steps; ++i) {
        int64_t t = d == 0 ? i : steps - 1 - i;
        Value now = squeeze(build::slice(input, 0, t, t + 1), {0}) + build::matmul(h, params[at + 1], false, true);
        std::vector<Value> g = build::split(now, -1, 4);
        cell = sigmoid(g[1]) * cell + sigmoid(g[0]) * in.op("Tanh", {g[2]});
        h = build::matmul(sigmoid(g[3]) * in.op("Tanh", {cell}), params[at + each - 1], false, true);
        rows[static_cast<size_t>(t)] = unsqueeze(h, {0});
      }
      outputs.push_back(build::concat(rows, 0));
      hidden.push_back(unsqueeze(h, {0})), cells.push_back(unsqueeze(cell, {0}));
    }
    y = build::concat(outputs, 2);
  }
  return {batch_first ? transpose(y, {1, 0, 2}) : y, build::concat(hidden, 0), build::concat(cells, 0)};
}
std::vector<Value> import_pt_lstm(Builder& layer) {
  Call c(layer);
  pt_without_dropout(c);
  size_t plain =
      (c.flag("has_biases") ? 4 : 2) * static_cast<size_t>(c.integer("num_layers") * (c.flag("bidirectional") ? 2 : 1));
  if (c.list("params").size() != plain && !c.find("batch_sizes")) return pt_projected_lstm(c);
  return pt_recurrent(c, {"LSTMSequence@5", {1, 0, 2, 3}, true}, nullptr);
}
std::vector<Value> import_pt_gru(Builder& layer) {
  Call c(layer);
  pt_without_dropout(c);
  return pt_recurrent(c, {"GRUSequence@5", {1, 0, 2}, false}, nullptr);
}
std::vector<Value> import_pt_rnn(Builder& layer) {
  Call c(layer);
  pt_without_dropout(c);
  return pt_recurrent(c, {"RNNSequence@5", {}, false}, layer.type() == "aten::rnn_relu" ? "relu" : "tanh");
}
Value pt_cell_gate(Call& c, const Value& x, const char* weight, const char* bias) {
  Value y = build::matmul(x, c[weight], false, true);
  Value b = c.find(bias);
  return b ? y + b : y;
}
Value import_pt_gru_cell(Builder& layer) {
  Call c(layer);
  Value h = c["hx"];
  std::vector<Value> i = build::split(pt_cell_gate(c, c["input"], "w_ih", "b_ih"), -1, 3),
                     g = build::split(pt_cell_gate(c, h, "w_hh", "b_hh"), -1, 3);
  auto sigmoid = [&](const Value& v) { return layer.op("Sigmoid", {v}); };
  Value reset = sigmoid(i[0] + g[0]), update = sigmoid(i[1] + g[1]), fresh = layer.op("Tanh", {i[2] + reset * g[2]});
  return fresh + update * (h - fresh);
}
std::vector<Value> import_pt_lstm_cell(Builder& layer) {
  Call c(layer);
  std::vector<Value> state = c.tensors("hx");
  if (state.size() != 2) fail("expected two states, got ", state.size());
  std::vector<Value> g =
      build::split(pt_cell_gate(c, c["input"], "w_ih", "b_ih") + pt_cell_gate(c, state[0], "w_hh", "b_hh"), -1, 4);
  auto sigmoid = [&](const Value& v) { return layer.op("Sigmoid", {v}); };
  Value cell = sigmoid(g[1]) * state[1] + sigmoid(g[0]) * layer.op("Tanh", {g[2]});
  return {sigmoid(g[3]) * layer.op("Tanh", {cell}), cell};
}
Value import_pt_rnn_cell(Builder& layer) {
  Call c(layer);
  Value y = pt_cell_gate(c, c["input"], "w_ih", "b_ih") + pt_cell_gate(c, c["hx"], "w_hh", "b_hh");
  return layer.op(layer.type() == "aten::rnn_relu_cell" ? "Relu" : "Tanh", {y});
}

}  // namespace

Definitions define_pytorch_recurrent() {
  return {
      pt::rules({"aten::lstm"}, import_pt_lstm),
      pt::rules({"aten::gru"}, import_pt_gru),
      pt::rules({"aten::rnn_tanh", "aten::rnn_relu"}, import_pt_rnn),
      pt::rules({"aten::gru_cell"}, import_pt_gru_cell),
      pt::rules({"aten::lstm_cell"}, import_pt_lstm_cell),
      pt::rules({"aten::rnn_tanh_cell", "aten::rnn_relu_cell"}, import_pt_rnn_cell),
  };
}

}  // namespace graft
