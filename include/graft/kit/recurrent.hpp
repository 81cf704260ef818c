// What the recurrent operations (RNN, GRU, LSTM cells and sequences) and their kernels share: the activation functions
// of the gates and the attributes.
#pragma once

#include <string>
#include <vector>

#include "../attr.hpp"

namespace [[gnu::visibility("hidden")]] graft {

enum class CellKind { rnn, gru, lstm };
constexpr int64_t gates_of(CellKind kind) { return kind == CellKind::lstm ? 4 : kind == CellKind::gru ? 3 : 1; }
constexpr size_t states_of(CellKind kind) { return kind == CellKind::lstm ? 2 : 1; }
constexpr size_t activations_of(CellKind kind) { return kind == CellKind::lstm ? 3 : kind == CellKind::gru ? 2 : 1; }

enum class GateKind {
  sigmoid,
  tanh,
  relu,
  hard_sigmoid,
  affine,
  leaky_relu,
  thresholded_relu,
  scaled_tanh,
  elu,
  softsign,
  softplus
};

struct GateFunctionRow {
  GateKind kind;
  std::string_view name;  // in lower case; files use any case
  bool takes_alpha, takes_beta;
  double alpha, beta;  // defaults
  bool common;         // known to the numbered opsets
};
inline constexpr GateFunctionRow gate_functions[] = {
    {GateKind::sigmoid, "sigmoid", false, false, 0, 0, true},
    {GateKind::tanh, "tanh", false, false, 0, 0, true},
    {GateKind::relu, "relu", false, false, 0, 0, true},
    {GateKind::hard_sigmoid, "hardsigmoid", true, true, 0.2, 0.5, true},
    {GateKind::affine, "affine", true, true, 1, 0, false},
    {GateKind::leaky_relu, "leakyrelu", true, false, 0.01, 0, false},
    {GateKind::thresholded_relu, "thresholdedrelu", true, false, 1, 0, false},
    {GateKind::scaled_tanh, "scaledtanh", true, true, 1, 1, false},
    {GateKind::elu, "elu", true, false, 1, 0, false},
    {GateKind::softsign, "softsign", false, false, 0, 0, false},
    {GateKind::softplus, "softplus", false, false, 0, 0, false},
};
inline const GateFunctionRow& gate_function(std::string_view name) {
  std::string lower(name);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  for (const GateFunctionRow& row : gate_functions)
    if (row.name == lower) return row;
  fail("'", name, "' is not a known activation function");
}

struct GateFunction {
  GateKind kind = GateKind::sigmoid;
  double alpha = 0, beta = 0;
};

struct RecurrentAttributes {
  int64_t hidden_size = 0;
  std::vector<std::string> activations;
  std::vector<float> activations_alpha, activations_beta;
  float clip = 0;
  static constexpr std::tuple common{
      attr("hidden_size", &RecurrentAttributes::hidden_size, "size of the hidden state"),
      attr("activations", &RecurrentAttributes::activations, "activation functions of the gates"),
      attr("activations_alpha", &RecurrentAttributes::activations_alpha, "first parameter of each activation"),
      attr("activations_beta", &RecurrentAttributes::activations_beta, "second parameter of each activation"),
      attr("clip", &RecurrentAttributes::clip, "clip the inputs of activations to -clip..clip; 0: disabled")};

  GateFunction activation(size_t i) const {
    if (i >= activations.size()) fail("expected at least ", i + 1, " activations, got ", activations.size());
    const GateFunctionRow& row = gate_function(activations[i]);
    return {row.kind, i < activations_alpha.size() ? activations_alpha[i] : row.alpha,
            i < activations_beta.size() ? activations_beta[i] : row.beta};
  }
  // Activation `i` of a cell, or of direction `d` of a sequence with separate ones per direction.
  GateFunction activation(CellKind kind, size_t i, size_t d) const {
    size_t n = activations_of(kind);
    return activation((activations.size() > n ? d * n : 0) + i);
  }
};

}  // namespace graft
