// Recurrent cells: one step of RNN, GRU and LSTM, shared by their cell and sequence operations.
#pragma once

#include <cmath>
#include <graft/kit/recurrent.hpp>
#include <graft/op.hpp>

namespace graft {

// The formulas of the activation functions; `a` and `b` are their parameters.
inline double gate_value(const GateFunction& f, double x) {
  double a = f.alpha, b = f.beta;
  switch (f.kind) {
    case GateKind::sigmoid: return 1 / (1 + std::exp(-x));
    case GateKind::tanh: return std::tanh(x);
    case GateKind::relu: return x < 0 ? 0 : x;
    case GateKind::hard_sigmoid: return std::min(std::max(a * x + b, 0.0), 1.0);
    case GateKind::affine: return a * x + b;
    case GateKind::leaky_relu: return x < 0 ? a * x : x;
    case GateKind::thresholded_relu: return x > a ? x : 0;
    case GateKind::scaled_tanh: return a * std::tanh(b * x);
    case GateKind::elu: return x < 0 ? a * std::expm1(x) : x;
    case GateKind::softsign: return x / (1 + std::fabs(x));
    case GateKind::softplus: return x > 30 ? x : std::log1p(std::exp(x));
  }
  return x;
}

// ---- cells ----

// The weights of one direction and how to use them. Gates are stored in the order z, r, h for GRU and f, i, c, o for
// LSTM unless `order` says otherwise.
struct RecurrentCell {
  CellKind kind;
  int64_t input = 0, hidden = 0;
  const double *w = nullptr, *r = nullptr;
  const double* b = nullptr;  // optional
  const double* p = nullptr;  // LSTM: peephole weights f, i, o; optional
  GateFunction f, g, h;
  double clip = 0;
  bool linear_before_reset = false;                                       // GRU
  enum { apart, input_from_forget, forget_from_input } coupling = apart;  // LSTM: one gate is 1 - the other
  std::array<int64_t, 4> order = {0, 1, 2, 3};                            // LSTM: positions of f, i, c, o
  std::vector<double> xw, hr, reset;                                      // scratch

  double cut(double v) const { return clip > 0 ? std::min(std::max(v, -clip), clip) : v; }
  // One step of one sequence; updates `state` (and `c` for LSTM) in place.
  void step(const double* x, double* state, double* c);

 private:
  static void multiply(const double* matrix, const double* v, int64_t rows, int64_t columns, double* out) {
    for (int64_t i = 0; i < rows; ++i) {
      double sum = 0;
      for (int64_t k = 0; k < columns; ++k) sum += matrix[i * columns + k] * v[k];
      out[i] = sum;
    }
  }
  double bias(int64_t i) const { return b ? b[i] : 0; }
  void rnn(double* state);
  void gru(double* state);
  void lstm(double* state, double* c);
};

inline void RecurrentCell::step(const double* x, double* state, double* c) {
  int64_t rows = gates_of(kind) * hidden;
  xw.resize(static_cast<size_t>(rows)), hr.resize(static_cast<size_t>(rows));
  multiply(w, x, rows, input, xw.data());
  multiply(r, state, rows, hidden, hr.data());
  switch (kind) {
    case CellKind::rnn: return rnn(state);
    case CellKind::gru: return gru(state);
    case CellKind::lstm: return lstm(state, c);
  }
}

inline void RecurrentCell::rnn(double* state) {
  for (int64_t i = 0; i < hidden; ++i) {
    auto k = static_cast<size_t>(i);
    state[i] = gate_value(f, cut(xw[k] + hr[k] + bias(i)));
  }
}

inline void RecurrentCell::gru(double* state) {
  auto n = static_cast<size_t>(hidden);
  auto gate = [&](size_t which, size_t i) {
    size_t at = which * n + i;
    return gate_value(f, cut(xw[at] + hr[at] + bias(static_cast<int64_t>(at))));
  };
  reset.resize(n);
  for (size_t i = 0; i < n; ++i) reset[i] = gate(1, i);
  std::vector<double> z(n), recurrent(n);
  for (size_t i = 0; i < n; ++i) z[i] = gate(0, i);
  if (linear_before_reset) {
    for (size_t i = 0; i < n; ++i) recurrent[i] = reset[i] * (hr[2 * n + i] + bias(static_cast<int64_t>(3 * n + i)));
  } else {
    for (size_t i = 0; i < n; ++i) reset[i] *= state[i];
    multiply(r + 2 * hidden * hidden, reset.data(), hidden, hidden, recurrent.data());
  }
  for (size_t i = 0; i < n; ++i) {
    double candidate = gate_value(g, cut(xw[2 * n + i] + recurrent[i] + bias(static_cast<int64_t>(2 * n + i))));
    state[i] = (1 - z[i]) * candidate + z[i] * state[i];
  }
}

inline void RecurrentCell::lstm(double* state, double* c) {
  auto n = static_cast<size_t>(hidden);
  for (size_t i = 0; i < n; ++i) {
    auto sum = [&](size_t which) {
      size_t at = static_cast<size_t>(order[which]) * n + i;
      return xw[at] + hr[at] + bias(static_cast<int64_t>(at));
    };
    auto peep = [&](size_t which) { return p ? p[which * n + i] * c[i] : 0; };
    double forget = gate_value(f, cut(sum(0) + peep(0))), in = gate_value(f, cut(sum(1) + peep(1)));
    if (coupling == input_from_forget) in = 1 - forget;
    if (coupling == forget_from_input) forget = 1 - in;
    c[i] = forget * c[i] + in * gate_value(g, cut(sum(2)));
    state[i] = gate_value(f, cut(sum(3) + peep(2))) * gate_value(h, c[i]);
  }
}

// ---- shapes ----

// A dimension of an input of this rank; unknown if the rank is.
inline Dim recurrent_dim(const Shape& s, size_t input, size_t rank, size_t axis) {
  if (!s.ranked()) return Dim();
  if (s.rank() != rank) fail("expected input ", input, " of rank ", rank, ", got shape ", s);
  return s[axis];
}

// Inputs are X, states, (lengths,) W, R, B; `directions` is 0 for a cell. `biases` is the number of parts in B.
inline void recurrent_infer(Infer& ctx, CellKind kind, const RecurrentAttributes& a, int64_t directions,
                            int64_t biases) {
  size_t states = states_of(kind), extra = directions ? 1 : 0;
  int64_t gates = gates_of(kind);
  auto dim = [&](size_t input, size_t rank, size_t axis) {
    return ctx.has_input(input) ? recurrent_dim(ctx.shape(input), input, rank, axis) : Dim();
  };
  Dim batch = dim(0, 2 + extra, 0), hidden;
  for (size_t i = 1; i <= states; ++i) {
    batch = merge(batch, dim(i, 2 + extra, 0));
    hidden = merge(hidden, dim(i, 2 + extra, 1 + extra));
  }
  if (directions) batch = merge(batch, dim(1 + states, 1, 0));
  size_t w = 1 + states + extra, r = w + 1, b = w + 2;
  hidden = merge(hidden, dim(r, 2 + extra, 1 + extra));
  merge(dim(0, 2 + extra, 1 + extra), dim(w, 2 + extra, 1 + extra));
  auto fits = [&](size_t input, size_t rank, int64_t parts) {
    Dim rows = dim(input, rank, extra);
    if (!hidden.known() && rows.known() && rows.value() % parts == 0) hidden = merge(hidden, Dim(rows.value() / parts));
    if (hidden.known() && !rows.can_be(parts * hidden.value()))
      fail("expected ", parts, " x ", hidden, " rows in input ", input, ", one part per gate, got ", rows);
    if (directions && !dim(input, rank, 0).can_be(directions))
      fail("expected ", directions, " directions in input ", input, ", got ", dim(input, rank, 0));
  };
  fits(w, 2 + extra, gates);
  fits(r, 2 + extra, gates);
  if (ctx.has_input(b)) fits(b, 1 + extra, biases);
  if (a.hidden_size > 0 && !hidden.can_be(a.hidden_size))
    fail("expected a hidden_size of ", hidden, ", as states and weights have it, got ", a.hidden_size);
  if (a.hidden_size > 0) hidden = a.hidden_size;
  std::initializer_list<size_t> all = {0, 1, states, w, r, b};
  DType type = common_type(ctx, all);
  if (type != DType::undefined && !is_real(type)) fail("expected floating-point elements, got ", type);
  Shape state = directions ? Shape{batch, Dim(directions), hidden} : Shape{batch, hidden};
  if (directions) {
    for (size_t i = 1; i <= states; ++i)
      if (!dim(i, 3, 1).can_be(directions))
        fail("expected ", directions, " directions in input ", i, ", got ", dim(i, 3, 1));
    ctx.output(0, type, Shape{batch, Dim(directions), dim(0, 3, 1), hidden});
  }
  for (size_t i = 0; i < states; ++i) ctx.output(i + extra, type, state);
}

inline void set_activations(RecurrentCell& cell, const RecurrentAttributes& a, size_t d = 0) {
  size_t n = activations_of(cell.kind);
  cell.f = a.activation(cell.kind, 0, d);
  if (n > 1) cell.g = a.activation(cell.kind, 1, d);
  if (n > 2) cell.h = a.activation(cell.kind, 2, d);
}
inline void check_activations(const RecurrentAttributes& a, CellKind kind, size_t directions, bool any) {
  size_t n = activations_of(kind), given = a.activations.size();
  if (given != n && given != n * directions) fail("expected ", n, " activations, got ", given);
  for (const std::string& name : a.activations)
    if (!gate_function(name).common && !any) fail("the activation function '", name, "' is not part of this opset");
}

}  // namespace graft
