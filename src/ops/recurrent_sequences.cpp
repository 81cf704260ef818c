// RNNSequence, GRUSequence, LSTMSequence: recurrent networks over sequences with individual lengths.
#include <graft/op.hpp>

#include "recurrent.hpp"

namespace graft {
namespace {

enum class SequenceDirection { forward, reverse, bidirectional };

struct SequenceAttributes : RecurrentAttributes {
  SequenceDirection direction = SequenceDirection::forward;
  static constexpr std::tuple direction_schema{
      attr("direction", &SequenceAttributes::direction, "processing direction of the sequences")
          .one_of("forward", "reverse", "bidirectional")
          .required()};
  size_t directions() const { return direction == SequenceDirection::bidirectional ? 2 : 1; }
};
struct RnnSequence : SequenceAttributes {
  RnnSequence() { activations = {"tanh"}; }
  static constexpr auto schema = std::tuple_cat(direction_schema, RecurrentAttributes::common);
};
struct GruSequence : SequenceAttributes {
  GruSequence() { activations = {"sigmoid", "tanh"}; }
  bool linear_before_reset = false;
  static constexpr auto schema =
      std::tuple_cat(direction_schema,
                     std::tuple{attr("linear_before_reset", &GruSequence::linear_before_reset,
                                     "apply the reset gate after the multiplication with the recurrence weights")},
                     RecurrentAttributes::common);
};
struct LstmSequence : SequenceAttributes {
  LstmSequence() { activations = {"sigmoid", "tanh", "tanh"}; }
  static constexpr auto schema = std::tuple_cat(direction_schema, RecurrentAttributes::common);
};
struct PeepholeSequence : LstmSequence {
  bool input_forget = false;
  static constexpr auto schema =
      std::tuple_cat(LstmSequence::schema, std::tuple{attr("input_forget", &PeepholeSequence::input_forget,
                                                           "couple the gates: forget gate = 1 - input gate")});
};

std::vector<double> sequence_values(Run& ctx, size_t input) {
  return ctx.has_input(input) ? ctx.input(input).to<double>() : std::vector<double>();
}

// X [batch, steps, input], states [batch, directions, hidden], lengths, W, R, B [directions, ...], P. Steps past the
// length of a sequence yield zeros, and a sequence of length zero has a final state of zeros.
void sequence_run(Run& ctx, RecurrentCell& cell, const SequenceAttributes& a) {
  size_t states = states_of(cell.kind), w = 2 + states;
  TensorView x = ctx.input(0);
  int64_t batch = x.dim(0), steps = x.dim(1), directions = static_cast<int64_t>(a.directions());
  cell.input = x.dim(2), cell.hidden = ctx.input(1).dim(2);
  cell.clip = a.clip;
  std::vector<double> in = x.to<double>(), h = ctx.input(1).to<double>(), c;
  if (states == 2) c = ctx.input(2).to<double>();
  std::vector<int64_t> lengths = ctx.input(1 + states).to<int64_t>();
  std::vector<double> weights = sequence_values(ctx, w), recurrence = sequence_values(ctx, w + 1),
                      bias = sequence_values(ctx, w + 2), peepholes = sequence_values(ctx, w + 3);
  std::vector<double> y(static_cast<size_t>(batch * directions * steps * cell.hidden), 0);

  for (int64_t d = 0; d < directions; ++d) {
    set_activations(cell, a, static_cast<size_t>(d));
    auto part = [&](const std::vector<double>& v) {
      return v.empty() ? nullptr : v.data() + d * static_cast<int64_t>(v.size()) / directions;
    };
    cell.w = part(weights), cell.r = part(recurrence), cell.b = part(bias), cell.p = part(peepholes);
    bool backwards = d == 1 || a.direction == SequenceDirection::reverse;
    for (int64_t b = 0; b < batch; ++b) {
      int64_t length = lengths[static_cast<size_t>(b)];
      if (length < 0 || length > steps)
        fail("expected a length of 0 to ", steps, " for sequence ", b, ", got ", length);
      double* state = h.data() + (b * directions + d) * cell.hidden;
      double* memory = states == 2 ? c.data() + (b * directions + d) * cell.hidden : nullptr;
      if (length == 0) {
        std::fill_n(state, cell.hidden, 0.0);
        if (memory) std::fill_n(memory, cell.hidden, 0.0);
      }
      for (int64_t t = 0; t < length; ++t) {
        int64_t at = backwards ? length - 1 - t : t;
        cell.step(in.data() + (b * steps + at) * cell.input, state, memory);
        std::copy_n(state, cell.hidden, y.data() + ((b * directions + d) * steps + at) * cell.hidden);
      }
    }
  }
  ctx.output(0).assign(y);
  ctx.output(1).assign(h);
  if (states == 2) ctx.output(2).assign(c);
}

template <bool any>
void rnn_sequence_infer(Infer& ctx, const RnnSequence& a) {
  check_activations(a, CellKind::rnn, any ? a.directions() : 1, any);
  recurrent_infer(ctx, CellKind::rnn, a, static_cast<int64_t>(a.directions()), 1);
}
void rnn_sequence_run(Run& ctx, const RnnSequence& a) {
  RecurrentCell cell{.kind = CellKind::rnn};
  sequence_run(ctx, cell, a);
}

template <bool any>
void gru_sequence_infer(Infer& ctx, const GruSequence& a) {
  check_activations(a, CellKind::gru, any ? a.directions() : 1, any);
  recurrent_infer(ctx, CellKind::gru, a, static_cast<int64_t>(a.directions()), a.linear_before_reset ? 4 : 3);
}
void gru_sequence_run(Run& ctx, const GruSequence& a) {
  RecurrentCell cell{.kind = CellKind::gru};
  cell.linear_before_reset = a.linear_before_reset;
  sequence_run(ctx, cell, a);
}

void lstm_sequence_infer(Infer& ctx, const LstmSequence& a) {
  check_activations(a, CellKind::lstm, 1, false);
  recurrent_infer(ctx, CellKind::lstm, a, static_cast<int64_t>(a.directions()), 4);
}
void lstm_sequence_run(Run& ctx, const LstmSequence& a) {
  RecurrentCell cell{.kind = CellKind::lstm};
  sequence_run(ctx, cell, a);
}
void peephole_sequence_infer(Infer& ctx, const PeepholeSequence& a) {
  check_activations(a, CellKind::lstm, a.directions(), true);
  recurrent_infer(ctx, CellKind::lstm, a, static_cast<int64_t>(a.directions()), 4);
  if (!ctx.has_input(7)) return;
  Shape p = ctx.shape(7), state = ctx.shape(1);
  Dim hidden = recurrent_dim(state, 1, 3, 2);
  if (!recurrent_dim(p, 7, 2, 0).can_be(static_cast<int64_t>(a.directions())) ||
      (hidden.known() && !recurrent_dim(p, 7, 2, 1).can_be(3 * hidden.value())))
    fail("expected 3 x ", hidden, " peephole weights, got shape ", p);
}
void peephole_sequence_run(Run& ctx, const PeepholeSequence& a) {
  RecurrentCell cell{.kind = CellKind::lstm};
  if (a.input_forget) cell.coupling = RecurrentCell::forget_from_input;
  sequence_run(ctx, cell, a);
}

}  // namespace

Definitions define_recurrent_sequences() {
  constexpr std::string_view one_state = "X, initial_hidden_state, sequence_lengths, W, R, B",
                             two_states = "X, initial_hidden_state, initial_cell_state, sequence_lengths, W, R, B",
                             peepholes = "X, initial_hidden_state, initial_cell_state, sequence_lengths, W, R, B, P?";
  return {
      op<RnnSequence>("RNNSequence", 5)
          .doc("RNN over sequences")
          .inputs(one_state)
          .outputs("Y, Ho")
          .infer(rnn_sequence_infer<false>)
          .reference(rnn_sequence_run),
      op<RnnSequence>("RNNSequence", "graft")
          .doc("RNN over sequences, with arbitrary activation functions per direction")
          .inputs(one_state)
          .outputs("Y, Ho")
          .infer(rnn_sequence_infer<true>)
          .reference(rnn_sequence_run),
      op<GruSequence>("GRUSequence", 5)
          .doc("GRU over sequences; gates in the order z, r, h")
          .inputs(one_state)
          .outputs("Y, Ho")
          .infer(gru_sequence_infer<false>)
          .reference(gru_sequence_run),
      op<GruSequence>("GRUSequence", "graft")
          .doc("GRU over sequences, with arbitrary activation functions per direction")
          .inputs(one_state)
          .outputs("Y, Ho")
          .infer(gru_sequence_infer<true>)
          .reference(gru_sequence_run),
      op<LstmSequence>("LSTMSequence", 5)
          .doc("LSTM over sequences; gates in the order f, i, c, o")
          .inputs(two_states)
          .outputs("Y, Ho, Co")
          .infer(lstm_sequence_infer)
          .reference(lstm_sequence_run),
      op<PeepholeSequence>("LSTMSequence", "graft")
          .doc("LSTM over sequences, with peephole weights (f, i, o) and arbitrary activation functions")
          .inputs(peepholes)
          .outputs("Y, Ho, Co")
          .infer(peephole_sequence_infer)
          .reference(peephole_sequence_run),
  };
}

}  // namespace graft
