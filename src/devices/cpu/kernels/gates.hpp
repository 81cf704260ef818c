// The element-wise part of a step of a recurrent cell: from the sums of the gates to the new state.
#pragma once

#include <graft/kit/recurrent.hpp>

namespace graft {

// The functions of a cell, for one direction.
struct GateRules {
  GateFunction f, g, h;
  float clip = 0;                                                         // of the arguments; 0: disabled
  bool linear_before_reset = false;                                       // GRU
  enum { apart, input_from_forget, forget_from_input } coupling = apart;  // LSTM: one gate is 1 - the other
};

// `n` units of one sequence. `x` holds the products with the input and `r` those with the state, which are overwritten;
// the values of the next gate are `step` further on, also in `bias` and `peephole`. Gates are in the order z, r, h for
// GRU and f, i, c, o for LSTM.
struct GateRow {
  int64_t n;  // a multiple of Gates::unit
  int64_t step;
  const float* x;
  float* r;
  const float* bias;
  const float* peephole;  // LSTM; may be null
  float* c;               // LSTM: updated
  const float* h;         // the state before
  float* to;              // the state after
};

struct Gates {
  int64_t unit;  // vector length
  void (*rnn)(const GateRules& rules, const GateRow& row);
  void (*lstm)(const GateRules& rules, const GateRow& row);
  // GRU in two steps: gates z and r, the latter multiplied by the state in `to` unless linear_before_reset; then the
  // rest, whose product with the state is in the third gate of `r`.
  void (*gru_gates)(const GateRules& rules, const GateRow& row);
  void (*gru_state)(const GateRules& rules, const GateRow& row);
};

// The functions for this processor.
const Gates& gates();

}  // namespace graft
