// RNN, GRU and LSTM, cells and sequences, in f32.
//
// Fast because the products with the input do not depend on the state: those of many steps are one matrix product. The
// product with the state is a vector (or a few of them) times a matrix that was packed when the model was compiled,
// read once per step from beginning to end. Each gate is padded to whole panels, so that gates need no scalar code, and
// threads share a step by panels of units. Weights that are not constant are used as they are, row by row.
#include <algorithm>
#include <array>
#include <cstring>
#include <graft/op.hpp>

#include "gates.hpp"
#include "gemm.hpp"
#include "scratch.hpp"

namespace graft {
namespace {

// Which inputs mean what, and how many gates W, R and B have.
struct RecurrentPorts {
  CellKind kind;
  bool sequence;
  size_t states, lengths, w, r, b, p;
  int64_t gates;

  explicit RecurrentPorts(std::string_view type)
      : kind(type.starts_with("RNN")   ? CellKind::rnn
             : type.starts_with("GRU") ? CellKind::gru
                                       : CellKind::lstm),
        sequence(type.ends_with("Sequence")),
        states(states_of(kind)),
        lengths(1 + states),
        w(1 + states + (sequence ? 1 : 0)),
        r(w + 1),
        b(w + 2),
        p(w + 3),
        gates(gates_of(kind)) {}
};

struct RecurrentNames : RecurrentAttributes {
  static constexpr auto schema = RecurrentAttributes::common;
};

// Positions of the gates in the weights.
std::array<int64_t, 4> recurrent_order(const NodeView& node) {
  auto format = node.attr<std::optional<std::string>>("weights_format");
  std::array<int64_t, 4> order{0, 1, 2, 3};
  constexpr std::string_view gates = "fico";
  for (size_t i = 0; format && i < 4; ++i) order[i] = static_cast<int64_t>(format->find(gates[i]));
  return order;
}

int64_t recurrent_padded(int64_t hidden) { return gemm_round_up(hidden, gemm().nr); }

// Packed W and R of each direction, gate by gate; empty if they are not constant.
struct RecurrentWeights {
  Floats packed;
};

RecurrentWeights recurrent_pack(Pack& ctx) {
  RecurrentPorts ports(ctx.op_type());
  RecurrentWeights out;
  if (!ctx.is_constant(ports.w) || !ctx.is_constant(ports.r)) return out;  // they are constant for these shapes only
  TensorView w = ctx.take(ports.w), r = ctx.take(ports.r);
  int64_t input = w.dim(w.rank() - 1), hidden = r.dim(r.rank() - 1), padded = recurrent_padded(hidden);
  int64_t directions = ports.sequence ? w.dim(0) : 1;
  auto order = recurrent_order(ctx);
  out.packed = allocate_floats(static_cast<size_t>(directions * ports.gates * padded * (input + hidden)));
  float* to = out.packed.get();
  for (int64_t d = 0; d < directions; ++d)
    for (auto [from, k] : {std::pair{w, input}, {r, hidden}})
      for (int64_t g = 0; g < ports.gates; ++g, to += padded * k) {
        int64_t row = (d * ports.gates + order[static_cast<size_t>(g)]) * hidden;
        gemm().pack_b({from.data<float>() + row * k, 1, k}, k, hidden, to);
      }
  return out;
}

struct RecurrentPlan {
  RecurrentPorts ports;
  int64_t directions = 1, batch = 0, steps = 1, input = 0, hidden = 0, padded = 0;
  int64_t chunk = 1;  // steps whose products with the input are computed together
  bool reverse = false;
  std::array<GateRules, 2> rules;
  std::array<int64_t, 4> order{};
  const float* packed = nullptr;
  GemmBlocks blocks{};
  int64_t row() const { return ports.gates * padded; }  // the values of all gates of one sequence
};

void recurrent_accept(Accept& ctx) {
  RecurrentPorts ports(ctx.op_type());
  if (ctx.type(0) != DType::f32) unsupported("expected f32, got ", ctx.type(0));
  for (size_t i = 0; i < ctx.inputs(); ++i)
    if (ctx.has_input(i) && !ctx.shape(i).is_static()) unsupported("requires static shapes");
  if (!ports.sequence) return;
  DType lengths = ctx.type(ports.lengths);
  if (lengths != DType::i32 && lengths != DType::i64) unsupported("expected lengths of type i32 or i64, got ", lengths);
}

GateRules recurrent_rules(Prepare& ctx, const RecurrentPorts& ports, size_t d) {
  auto a = ctx.attributes<RecurrentNames>();
  GateRules rules;
  size_t n = activations_of(ports.kind);
  rules.f = a.activation(ports.kind, 0, d);
  if (n > 1) rules.g = a.activation(ports.kind, 1, d);
  if (n > 2) rules.h = a.activation(ports.kind, 2, d);
  rules.clip = a.clip;
  rules.linear_before_reset = ctx.attr<std::optional<bool>>("linear_before_reset").value_or(false);
  // The gate that is derived differs: cells follow opset1, sequences ONNX.
  if (ctx.attr<std::optional<bool>>("input_forget").value_or(false))
    rules.coupling = ports.sequence ? GateRules::forget_from_input : GateRules::input_from_forget;
  return rules;
}

// The memory of a call. `base` is null to find out its size.
struct RecurrentMemory {
  float *bias, *peephole, *h[2], *c, *reset, *left, *r, *x, *rows;
  int64_t* lengths;
  size_t size = 0;

  RecurrentMemory(const RecurrentPlan& s, void* base) {
    auto take = [&](int64_t count) {
      auto* at = reinterpret_cast<float*>(static_cast<unsigned char*>(base) + size);
      size += static_cast<size_t>(gemm_round_up(count, 16)) * sizeof(float);
      return at;
    };
    int64_t states = s.directions * s.batch * s.padded;
    bias = take(s.directions * 4 * s.padded), peephole = take(s.directions * 3 * s.padded);
    h[0] = take(states), h[1] = take(states), c = take(states), reset = take(states);
    left = take(s.directions * s.batch * s.hidden);
    r = take(s.directions * s.batch * s.row());
    x = take(s.directions * s.chunk * s.batch * s.row());
    rows = take(s.chunk * s.batch * s.input);
    lengths = reinterpret_cast<int64_t*>(take(2 * s.batch));
  }
};

RecurrentPlan recurrent_prepare(Prepare& ctx) {
  RecurrentPlan s{RecurrentPorts(ctx.op_type())};
  const RecurrentPorts& ports = s.ports;
  Shape x = ctx.shape(0), state = ctx.shape(1);
  s.batch = x[0].value(), s.input = x[x.rank() - 1].value(), s.hidden = state[state.rank() - 1].value();
  s.padded = recurrent_padded(s.hidden);
  if (ports.sequence) {
    s.steps = x[1].value(), s.directions = state[1].value();
    s.reverse = ctx.attr<std::string>("direction") == "reverse";
  }
  for (size_t d = 0; d < static_cast<size_t>(s.directions); ++d) s.rules[d] = recurrent_rules(ctx, ports, d);
  s.order = recurrent_order(ctx);
  if (ctx.is_constant(ports.w) && ctx.is_constant(ports.r) && s.hidden > 0)
    s.packed = ctx.packed<RecurrentWeights>().packed.get();
  // Enough rows to read W seldom, few enough that the products stay in the cache.
  constexpr int64_t most_rows = 192, most_values = 1 << 19;
  int64_t rows = std::clamp<int64_t>(most_values / std::max<int64_t>(1, s.row()), 1, most_rows);
  s.chunk = std::clamp<int64_t>(rows / std::max<int64_t>(1, s.batch), 1, std::max<int64_t>(1, s.steps));
  s.blocks = gemm_blocks(gemm(), s.chunk * s.batch, s.row(), s.input, GemmPacks::a, 1);
  ctx.scratch(RecurrentMemory(s, nullptr).size);
  return s;
}

class RecurrentCall {
 public:
  RecurrentCall(Run& ctx, const RecurrentPlan& plan)
      : ctx_(ctx), s_(plan), ports_(plan.ports), m_(plan, ctx.scratch()) {}

  void run() {
    int64_t longest = read_lengths();
    read_weights();
    read_states();
    for (int64_t first = 0; first < longest; first += s_.chunk) {
      if (ctx_.cancelled()) fail("the request was cancelled");
      int64_t count = std::min(s_.chunk, longest - first);
      for (int64_t d = 0; d < s_.directions; ++d) project(d, first, count);
      for (int64_t t = 0; t < count; ++t) step(first + t, t);
    }
    write_states();
  }

 private:
  const float* data(size_t input) const { return ctx_.input(input).data<const float>(); }
  bool backwards(int64_t d) const { return d == 1 || s_.reverse; }

  // Returns the longest one.
  int64_t read_lengths() {
    int64_t longest = ports_.sequence ? 0 : 1;
    for (int64_t b = 0; b < s_.batch; ++b) {
      int64_t n = 1;
      if (ports_.sequence) {
        TensorView v = ctx_.input(ports_.lengths);
        n = v.type() == DType::i64 ? v.data<const int64_t>()[b] : v.data<const int32_t>()[b];
        if (n < 0 || n > s_.steps) fail("expected a length of 0 to ", s_.steps, " for sequence ", b, ", got ", n);
      }
      m_.lengths[b] = n;
      longest = std::max(longest, n);
    }
    return s_.batch > 0 && s_.hidden > 0 ? longest : 0;
  }

  // Biases and peephole weights, padded.
  void read_weights() {
    int64_t parts = ports_.gates + (s_.rules[0].linear_before_reset ? 1 : 0);
    std::fill(m_.bias, m_.bias + s_.directions * 4 * s_.padded, 0.0f);
    std::fill(m_.peephole, m_.peephole + s_.directions * 3 * s_.padded, 0.0f);
    for (int64_t d = 0; d < s_.directions; ++d) {
      for (int64_t g = 0; g < parts && ctx_.has_input(ports_.b); ++g)
        std::copy_n(data(ports_.b) + (d * parts + s_.order[static_cast<size_t>(g)]) * s_.hidden, s_.hidden,
                    m_.bias + (d * 4 + g) * s_.padded);
      for (int64_t g = 0; g < 3 && ctx_.has_input(ports_.p); ++g)
        std::copy_n(data(ports_.p) + (d * 3 + g) * s_.hidden, s_.hidden, m_.peephole + (d * 3 + g) * s_.padded);
    }
  }

  // Steps past the end of a sequence yield zeros; so does the state of a sequence without steps.
  void read_states() {
    int64_t states = s_.directions * s_.batch * s_.padded;
    for (float* to : {m_.h[0], m_.h[1], m_.c, m_.reset}) std::fill(to, to + states, 0.0f);
    std::fill(m_.r, m_.r + s_.directions * s_.batch * s_.row(), 0.0f);
    for (int64_t b = 0; b < s_.batch; ++b)
      for (int64_t d = 0; d < s_.directions; ++d) {
        int64_t from = (b * s_.directions + d) * s_.hidden, to = (d * s_.batch + b) * s_.padded, n = m_.lengths[b];
        if (n > 0) std::copy_n(data(1) + from, s_.hidden, m_.h[0] + to);
        if (n > 0 && ports_.states == 2) std::copy_n(data(2) + from, s_.hidden, m_.c + to);
        if (ports_.sequence) {
          float* y = ctx_.output(0).data<float>() + from * s_.steps;
          std::fill(y + n * s_.hidden, y + s_.steps * s_.hidden, 0.0f);
        }
      }
  }

  void write_states() {
    size_t first = ports_.sequence ? 1 : 0;
    for (int64_t b = 0; b < s_.batch; ++b)
      for (int64_t d = 0; d < s_.directions; ++d) {
        int64_t to = (b * s_.directions + d) * s_.hidden, from = (d * s_.batch + b) * s_.padded;
        std::copy_n(m_.h[now_] + from, s_.hidden, ctx_.output(first).data<float>() + to);
        if (ports_.states == 2) std::copy_n(m_.c + from, s_.hidden, ctx_.output(first + 1).data<float>() + to);
      }
  }

  // The products of W with the inputs of `count` steps, in the order in which they are used: [step][sequence][gates].
  void project(int64_t d, int64_t first, int64_t count) {
    int64_t k = s_.input, m = count * s_.batch;
    for (int64_t i = 0; i < m; ++i) {
      int64_t b = i % s_.batch, t = first + i / s_.batch, n = m_.lengths[b];
      int64_t at = backwards(d) ? n - 1 - t : t;
      if (t < n) std::copy_n(data(0) + (b * s_.steps + at) * k, k, m_.rows + i * k);
      else std::fill_n(m_.rows + i * k, k, 0.0f);
    }
    float* to = m_.x + d * s_.chunk * s_.batch * s_.row();
    if (k == 0) return void(std::fill(to, to + m * s_.row(), 0.0f));
    ctx_.parallel_for(s_.blocks.count(), s_.blocks.grain, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        int64_t i = block / s_.blocks.across * s_.blocks.rows, j = block % s_.blocks.across * s_.blocks.columns;
        int64_t rows = std::min(s_.blocks.rows, m - i), columns = std::min(s_.blocks.columns, s_.row() - j);
        if (rows > 0) project_block(d, m_.rows + i * k, rows, j, columns, to + i * s_.row() + j);
      }
    });
  }

  void project_block(int64_t d, const float* from, int64_t rows, int64_t column, int64_t columns, float* to) const {
    if (!s_.packed) {
      for (int64_t j = column; j < column + columns; j += gemm().nr)
        for (int64_t i = 0; i < rows; ++i)
          vector(d, ports_.w, s_.input, j / s_.padded, j % s_.padded, gemm().nr, from + i * s_.input,
                 to + i * s_.row() + j - column);
      return;
    }
    const float* w = s_.packed + d * s_.row() * (s_.input + s_.hidden) + column * s_.input;
    int64_t depth = s_.blocks.depth;
    float* left = thread_floats(static_cast<size_t>(rows * depth));
    for (int64_t k = 0; k < s_.input; k += depth) {
      int64_t n = std::min(depth, s_.input - k);
      gemm().pack_a({from + k, s_.input, 1}, rows, n, left);
      gemm().multiply(rows, columns, n, left, n, 0, w, s_.input, k, to, s_.row(), k > 0);
    }
  }

  // `n` units from `unit` on of gate `g`: rows of W or R as they are in the file, times `x`.
  void vector(int64_t d, size_t matrix, int64_t k, int64_t g, int64_t unit, int64_t n, const float* x,
              float* to) const {
    n = std::min(n, s_.hidden - unit);
    int64_t row = (d * ports_.gates + s_.order[static_cast<size_t>(g)]) * s_.hidden + unit;
    if (n > 0) gemm().vector(x, 1, k, {data(matrix) + row * k, 1, k}, n, to);
  }

  // The products of R with `states` (one row per direction and sequence), for `n` units of a gate. The rows are packed
  // in `left`, unless they need no packing.
  void recur(int64_t d, int64_t g, int64_t unit, int64_t n, const float* states) const {
    int64_t at = g * s_.padded + unit;
    const float* from = states + d * s_.batch * s_.padded;
    float* to = m_.r + d * s_.batch * s_.row() + at;
    if (!s_.packed) {
      for (int64_t b = 0; b < s_.batch; ++b)
        vector(d, ports_.r, s_.hidden, g, unit, n, from + b * s_.padded, to + b * s_.row());
      return;
    }
    const float* left = s_.batch == 1 ? from : m_.left + d * s_.batch * s_.hidden;
    const float* r = s_.packed + d * s_.row() * (s_.input + s_.hidden) + s_.row() * s_.input + at * s_.hidden;
    gemm().multiply(s_.batch, n, s_.hidden, left, s_.hidden, 0, r, s_.hidden, 0, to, s_.row(), false);
  }
  void pack_rows(const float* states) const {
    if (s_.batch == 1 || !s_.packed) return;
    for (int64_t d = 0; d < s_.directions; ++d)
      gemm().pack_a({states + d * s_.batch * s_.padded, s_.padded, 1}, s_.batch, s_.hidden,
                    m_.left + d * s_.batch * s_.hidden);
  }

  // Calls f(direction, first unit, number of units), distributed among the threads.
  template <class F>
  void for_units(const F& f) const {
    int64_t panels = s_.padded / gemm().nr, work = s_.batch * s_.row() * s_.hidden / panels;
    int64_t grain = std::max<int64_t>(4, (1 << 18) / std::max<int64_t>(1, work));
    ctx_.parallel_for(s_.directions * panels, grain, [&](int64_t begin, int64_t end) {
      while (begin < end) {
        int64_t d = begin / panels, first = begin % panels, count = std::min(end - begin, panels - first);
        f(d, first * gemm().nr, count * gemm().nr);
        begin += count;
      }
    });
  }

  // Step `t`, whose products with the input are number `at` of the chunk.
  void step(int64_t t, int64_t at) {
    const float* h = m_.h[now_];
    bool two_stages = ports_.kind == CellKind::gru && !s_.rules[0].linear_before_reset;
    pack_rows(h);
    for_units([&](int64_t d, int64_t unit, int64_t n) {
      for (int64_t g = 0; g < ports_.gates - (two_stages ? 1 : 0); ++g) recur(d, g, unit, n, h);
      for (int64_t b = 0; b < s_.batch; ++b)
        if (two_stages) reset(d, b, unit, n, at);
        else update(d, b, unit, n, t, at);
    });
    if (two_stages) {
      pack_rows(m_.reset);
      for_units([&](int64_t d, int64_t unit, int64_t n) {
        recur(d, 2, unit, n, m_.reset);
        for (int64_t b = 0; b < s_.batch; ++b) update(d, b, unit, n, t, at);
      });
    }
    now_ = 1 - now_;
  }

  // GRU: the state as the reset gate leaves it.
  void reset(int64_t d, int64_t b, int64_t unit, int64_t n, int64_t at) const {
    GateRow row = gate_row(d, b, unit, n, at);
    row.to = m_.reset + (d * s_.batch + b) * s_.padded + unit;
    gates().gru_gates(rules(d), row);
  }

  // The new state of one sequence, which stays as it was after the last step.
  void update(int64_t d, int64_t b, int64_t unit, int64_t n, int64_t t, int64_t at) const {
    GateRow row = gate_row(d, b, unit, n, at);
    if (t >= m_.lengths[b]) return void(std::copy_n(row.h, n, row.to));
    switch (ports_.kind) {
      case CellKind::rnn: gates().rnn(rules(d), row); break;
      case CellKind::lstm: gates().lstm(rules(d), row); break;
      case CellKind::gru:
        if (rules(d).linear_before_reset) gates().gru_gates(rules(d), row);
        gates().gru_state(rules(d), row);
        break;
    }
    if (!ports_.sequence) return;
    int64_t place = backwards(d) ? m_.lengths[b] - 1 - t : t;
    float* y = ctx_.output(0).data<float>() + ((b * s_.directions + d) * s_.steps + place) * s_.hidden + unit;
    std::copy_n(row.to, std::min(n, s_.hidden - unit), y);
  }

  const GateRules& rules(int64_t d) const { return s_.rules[static_cast<size_t>(d)]; }

  GateRow gate_row(int64_t d, int64_t b, int64_t unit, int64_t n, int64_t at) const {
    int64_t state = (d * s_.batch + b) * s_.padded + unit;
    return {.n = n,
            .step = s_.padded,
            .x = m_.x + ((d * s_.chunk + at) * s_.batch + b) * s_.row() + unit,
            .r = m_.r + (d * s_.batch + b) * s_.row() + unit,
            .bias = m_.bias + d * 4 * s_.padded + unit,
            .peephole = ctx_.has_input(ports_.p) ? m_.peephole + d * 3 * s_.padded + unit : nullptr,
            .c = m_.c + state,
            .h = m_.h[now_] + state,
            .to = m_.h[1 - now_] + state};
  }

  Run& ctx_;
  const RecurrentPlan& s_;
  const RecurrentPorts& ports_;
  RecurrentMemory m_;
  size_t now_ = 0;  // which of the two states is current
};

void recurrent_run(Run& ctx, const RecurrentPlan& s) { RecurrentCall(ctx, s).run(); }

}  // namespace

Definitions cpu_recurrent() {
  auto kernel = [](std::string_view type, auto versions) {
    return Kernel("CPU", "recurrent_f32")
        .of(type, versions)
        .accept(recurrent_accept)
        .pack(recurrent_pack)
        .run(recurrent_prepare, recurrent_run);
  };
  Definitions ops{kernel("RNNCell", since(1)), kernel("GRUCell", since(3)), kernel("LSTMCell", since(1))};
  for (std::string_view type : {"RNNSequence", "GRUSequence", "LSTMSequence"})
    ops += Definitions{kernel(type, since(5)), kernel(type, std::string_view("graft"))};
  return ops;
}

}  // namespace graft
