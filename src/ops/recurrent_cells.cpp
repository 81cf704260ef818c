// RNNCell, GRUCell, LSTMCell: one step of a recurrent network.
#include <graft/op.hpp>

#include "recurrent.hpp"

namespace graft {
namespace {

struct RnnCell : RecurrentAttributes {
  RnnCell() { activations = {"tanh"}; }
  static constexpr auto schema = RecurrentAttributes::common;
};
struct GruCell : RecurrentAttributes {
  GruCell() { activations = {"sigmoid", "tanh"}; }
  bool linear_before_reset = false;
  static constexpr auto schema =
      std::tuple_cat(std::tuple{attr("linear_before_reset", &GruCell::linear_before_reset,
                                     "apply the reset gate after the multiplication with the recurrence weights")},
                     RecurrentAttributes::common);
};
struct LstmCell : RecurrentAttributes {
  LstmCell() { activations = {"sigmoid", "tanh", "tanh"}; }
  static constexpr auto schema = RecurrentAttributes::common;
};
struct LstmCell1 : LstmCell {
  bool input_forget = false;
  std::string weights_format = "fico";
  static constexpr auto schema = std::tuple_cat(
      RecurrentAttributes::common,
      std::tuple{attr("input_forget", &LstmCell1::input_forget, "couple the gates: input gate = 1 - forget gate"),
                 attr("weights_format", &LstmCell1::weights_format, "order of the gates in W, R and B")
                     .one_of("fico", "icof", "ifco", "ifoc", "iofc")});
};

// Inputs are X, the states, W, R, then optionally B and P.
void cell_run(Run& ctx, RecurrentCell& cell, const RecurrentAttributes& a) {
  set_activations(cell, a);
  cell.clip = a.clip;
  size_t states = states_of(cell.kind), w = 1 + states;
  TensorView x = ctx.input(0);
  cell.input = x.dim(1), cell.hidden = ctx.input(1).dim(1);
  std::vector<double> in = x.to<double>(), h = ctx.input(1).to<double>(), c, bias, peepholes;
  if (states == 2) c = ctx.input(2).to<double>();
  std::vector<double> weights = ctx.input(w).to<double>(), recurrence = ctx.input(w + 1).to<double>();
  if (ctx.has_input(w + 2)) bias = ctx.input(w + 2).to<double>();
  if (ctx.has_input(w + 3)) peepholes = ctx.input(w + 3).to<double>();
  cell.w = weights.data(), cell.r = recurrence.data();
  if (!bias.empty()) cell.b = bias.data();
  if (!peepholes.empty()) cell.p = peepholes.data();
  for (int64_t i = 0; i < x.dim(0); ++i)
    cell.step(in.data() + i * cell.input, h.data() + i * cell.hidden,
              states == 2 ? c.data() + i * cell.hidden : nullptr);
  ctx.output(0).assign(h);
  if (states == 2) ctx.output(1).assign(c);
}

void rnn_cell_infer(Infer& ctx, const RnnCell& a) {
  check_activations(a, CellKind::rnn, 1, false);
  recurrent_infer(ctx, CellKind::rnn, a, 0, 1);
}
void rnn_cell_run(Run& ctx, const RnnCell& a) {
  RecurrentCell cell{.kind = CellKind::rnn};
  cell_run(ctx, cell, a);
}

void gru_cell_infer(Infer& ctx, const GruCell& a) {
  check_activations(a, CellKind::gru, 1, false);
  recurrent_infer(ctx, CellKind::gru, a, 0, a.linear_before_reset ? 4 : 3);
}
void gru_cell_run(Run& ctx, const GruCell& a) {
  RecurrentCell cell{.kind = CellKind::gru};
  cell.linear_before_reset = a.linear_before_reset;
  cell_run(ctx, cell, a);
}

void lstm_cell_infer(Infer& ctx, const LstmCell& a) {
  check_activations(a, CellKind::lstm, 1, false);
  recurrent_infer(ctx, CellKind::lstm, a, 0, 4);
}
void lstm_cell_run(Run& ctx, const LstmCell& a) {
  RecurrentCell cell{.kind = CellKind::lstm};
  cell_run(ctx, cell, a);
}
void lstm_cell1_infer(Infer& ctx, const LstmCell1& a) {
  lstm_cell_infer(ctx, a);
  if (!ctx.has_input(6)) return;
  Dim p = recurrent_dim(ctx.shape(6), 6, 1, 0), hidden = recurrent_dim(ctx.shape(1), 1, 2, 1);
  if (hidden.known() && !p.can_be(3 * hidden.value()))
    fail("expected 3 x ", hidden, " peephole weights in input 6, got ", p);
}
void lstm_cell1_run(Run& ctx, const LstmCell1& a) {
  RecurrentCell cell{.kind = CellKind::lstm};
  if (a.input_forget) cell.coupling = RecurrentCell::input_from_forget;
  constexpr std::string_view gates = "fico";
  for (size_t i = 0; i < 4; ++i) cell.order[i] = static_cast<int64_t>(a.weights_format.find(gates[i]));
  cell_run(ctx, cell, a);
}

}  // namespace

Definitions define_recurrent_cells() {
  return {
      op<RnnCell>("RNNCell", 1)
          .doc("One step of a vanilla RNN")
          .inputs("X, initial_hidden_state, W, R, B?")
          .outputs("Ho")
          .infer(rnn_cell_infer)
          .reference(rnn_cell_run),
      op<GruCell>("GRUCell", 3)
          .doc("One step of a GRU; gates in the order z, r, h")
          .inputs("X, initial_hidden_state, W, R, B?")
          .outputs("Ho")
          .infer(gru_cell_infer)
          .reference(gru_cell_run),
      op<LstmCell1>("LSTMCell", 1)
          .doc("One step of an LSTM, with optional peephole weights P (f, i, o)")
          .inputs("X, initial_hidden_state, initial_cell_state, W, R, B?, P?")
          .outputs("Ho, Co")
          .infer(lstm_cell1_infer)
          .reference(lstm_cell1_run),
      op<LstmCell>("LSTMCell", 4)
          .doc("One step of an LSTM; gates in the order f, i, c, o")
          .inputs("X, initial_hidden_state, initial_cell_state, W, R, B?")
          .outputs("Ho, Co")
          .infer(lstm_cell_infer)
          .reference(lstm_cell_run),
  };
}

}  // namespace graft
