// Recurrent operators of old converters, with numbers and with weights of 8 bits. Their states are variables of the
// model: the reader gives the value before the run as an input and the name of the variable as "variable.input<i>".
#include "building.hpp"

namespace graft {
namespace {

using tfl::real;

Value tfl_weights_of(Builder& layer, size_t i, const Value& x) { return convert(real(layer, i), x.type()); }
// The first value of a state, of a type that a number can be computed with.
Value tfl_state(Builder& layer, size_t i) {
  Value s = layer.input(i);
  if (!is_real(s.type())) unsupported("a state of ", s.type(), " is not supported, only numbers are");
  return s;
}
void tfl_keep(Builder& layer, size_t i, const Value& v) {
  std::string field = text("variable.input", i);
  if (!layer.has(field)) return;
  layer.op("Assign@6", {v}, {{"variable_id", layer.get<std::string>(field)}});
}
void tfl_expect_absent(Builder& layer, std::initializer_list<size_t> inputs, std::string_view what) {
  for (size_t i : inputs)
    if (layer.has_input(i)) unsupported(what, " are not supported");
}
Value tfl_first_numbers(Builder& layer) {
  Value x = layer.input(0);
  if (!is_real(x.type())) unsupported("an input of ", x.type(), " is not supported, only numbers are");
  return x;
}
// [batch, time, ...], whatever the order in the file; and back.
Value tfl_batch_first(Builder& layer, const Value& x) {
  return layer.get<bool>("time_major", false) ? transpose(x, {1, 0, 2}) : x;
}
Value tfl_lengths(const Value& x) {
  return build::broadcast(convert(build::dims(x, {1}), DType::i32), build::dims(x, {0}));
}
// The name of a function in our operations.
std::string tfl_function(Builder& layer) {
  auto name = layer.get<std::string>("fused_activation_function", "NONE");
  if (name == "TANH") return "tanh";
  if (name == "RELU") return "relu";
  unsupported("the activation ", name, " of a recurrent operator is not supported");
}
Value tfl_column(Builder& layer, size_t i) { return unsqueeze(layer.input(i), {0}); }

// Inputs: data, weights of the data and of the state (input, forget, cell, output gate), peepholes, biases, projection,
// states, normalization.
Value tfl_lstm(Builder& layer) {
  tfl_expect_absent(layer, {9, 10, 11}, "peephole weights");
  tfl_expect_absent(layer, {16, 17}, "projections");
  tfl_expect_absent(layer, {20, 21, 22, 23}, "normalized gates");
  if (!layer.has_input(1)) unsupported("coupled input and forget gates are not supported");
  if (layer.get<float>("cell_clip", 0) != 0 || layer.get<float>("proj_clip", 0) != 0)
    unsupported("clipped cells are not supported");
  if (layer.get<bool>("diagonal_recurrent_tensors", false)) unsupported("diagonal recurrent weights are not supported");
  if (tfl_function(layer) != "tanh") unsupported("an activation of the cell other than TANH is not supported");
  Value x = tfl_batch_first(layer, tfl_first_numbers(layer));
  auto gates = [&](size_t first) {  // input, forget, cell, output -> forget, input, cell, output
    std::vector<Value> parts;
    for (size_t gate : {1, 0, 2, 3}) parts.push_back(tfl_weights_of(layer, first + gate, x));
    return unsqueeze(build::concat(parts, 0), {0});
  };
  Value w = gates(1), r = gates(5), b = gates(12);
  Shape s = r.shape();
  if (!s.ranked() || !s[2].known()) unsupported("the size of the state is unknown, but this conversion requires it");
  std::vector<Value> y = layer.ops(
      "LSTMSequence",
      {x, unsqueeze(tfl_state(layer, 18), {1}), unsqueeze(tfl_state(layer, 19), {1}), tfl_lengths(x), w, r, b},
      {{"hidden_size", s[2].value()}, {"direction", "forward"}}, 3);
  tfl_keep(layer, 18, squeeze(y[1], {1})), tfl_keep(layer, 19, squeeze(y[2], {1}));
  return tfl_batch_first(layer, squeeze(y[0], {1}));
}

// Inputs: data, weights of the data and of the state, bias, state.
Value tfl_sequence_rnn(Builder& layer) {
  Value x = tfl_batch_first(layer, tfl_first_numbers(layer));
  Value w = tfl_weights_of(layer, 1, x), r = tfl_weights_of(layer, 2, x);
  Shape s = r.shape();
  if (!s.ranked() || s.rank() != 2 || !s[0].known())
    unsupported("the size of the state is unknown, but this conversion requires it");
  std::vector<Value> y = layer.ops("RNNSequence",
                                   {x, unsqueeze(tfl_state(layer, 4), {1}), tfl_lengths(x), unsqueeze(w, {0}),
                                    unsqueeze(r, {0}), tfl_column(layer, 3)},
                                   {{"hidden_size", s[0].value()},
                                    {"direction", "forward"},
                                    {"activations", std::vector<std::string>{tfl_function(layer)}}},
                                   2);
  tfl_keep(layer, 4, squeeze(y[1], {1}));
  return tfl_batch_first(layer, squeeze(y[0], {1}));
}
Value tfl_rnn(Builder& layer) {
  Value x = tfl_first_numbers(layer);
  Value y = build::matmul(x, tfl_weights_of(layer, 1, x), false, true) +
            build::matmul(tfl_state(layer, 4), tfl_weights_of(layer, 2, x), false, true) + layer.input(3);
  y = tfl::activated(layer, y);
  tfl_keep(layer, 4, y);
  return y;
}

// A filter over the last inputs as a product of two of rank 1. Inputs: data [n, i], weights [f, i] of a step and
// [f, memory] over time, bias, state [n, f * memory].
Value tfl_svdf(Builder& layer) {
  Value x = tfl_first_numbers(layer), over_time = tfl_weights_of(layer, 2, x);
  auto rank = layer.get<int64_t>("rank");
  Shape s = over_time.shape();
  if (!s.is_static() || s.rank() != 2) unsupported("expected weights over time of known shape, got ", s);
  int64_t filters = s[0].value(), memory = s[1].value();
  if (rank < 1 || filters % rank != 0 || memory < 1)
    fail("expected a 'rank' that divides ", filters, " filters, got ", rank);
  Value now = unsqueeze(build::matmul(x, tfl_weights_of(layer, 1, x), false, true), {2});
  Value before = reshape(tfl_state(layer, 4), {-1, filters, memory});
  Value all = memory == 1 ? now : build::concat({build::slice(before, 2, 1, memory), now}, 2);
  tfl_keep(layer, 4, reshape(all, {-1, filters * memory}));
  Value y = layer.op("ReduceSum", {all * over_time, layer.ints({2})}, {{"keep_dims", false}});
  y = layer.op("ReduceSum", {reshape(y, {-1, filters / rank, rank}), layer.ints({2})}, {{"keep_dims", false}});
  if (layer.has_input(3)) y = y + layer.input(3);
  return tfl::activated(layer, y);
}

}  // namespace

Definitions define_tflite_recurrent() {
  return {
      tfl::rule("RNN", tfl_rnn),
      tfl::rule("SVDF", tfl_svdf),
      tfl::rule("UNIDIRECTIONAL_SEQUENCE_LSTM", tfl_lstm),
      tfl::rule("UNIDIRECTIONAL_SEQUENCE_RNN", tfl_sequence_rnn),
  };
}

}  // namespace graft
