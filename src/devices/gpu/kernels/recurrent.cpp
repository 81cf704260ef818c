// RNN, GRU and LSTM, cells and sequences: one launch per time step, a work item per element of the state. The state
// before a step is read from the result of the previous one, so that no two work items meet.
#include "cl_kernel.hpp"

namespace graft {
namespace {

constexpr int64_t most_steps = 4096;

struct ClRecurrent {
  int gates, states;  // gates of the weights, states at the inputs
  bool sequence;
  int64_t batch, steps = 1, directions = 1, input, hidden;
  bool backwards = false;
  size_t weights;  // the input W; R and B follow

  ClRecurrent(Emit& ctx, int g, int s, bool is_sequence) : gates(g), states(s), sequence(is_sequence) {
    std::vector<int64_t> x = ctx.shape(0).values(), h = ctx.shape(1).values();
    if (!is_real(ctx.type(0))) unsupported("expected floating-point numbers, got ", ctx.type(0));
    batch = x[0], input = x.back(), hidden = h.back();
    weights = static_cast<size_t>(1 + states + (sequence ? 1 : 0));
    if (ctx.inputs() > weights + 3) unsupported("expected no peephole weights");
    size_t functions = gates == 4 ? 3 : gates == 3 ? 2 : 1;
    if (ctx.attr<std::vector<std::string>>("activations").size() > functions)
      unsupported("expected the same activations in both directions");
    if (!sequence) return;
    steps = x[1], directions = h[1];
    backwards = ctx.attr<std::string>("direction") == "reverse";
    if (steps > most_steps) unsupported("expected at most ", most_steps, " steps, got ", steps);
  }
  int64_t items() const { return batch * directions * hidden; }
};

// The activation function of a gate as a macro, with the value cut to the range of `clip`.
void define_gate(Emit& ctx, ClKernel& k, const char* macro, size_t index, bool cut) {
  auto names = ctx.attr<std::vector<std::string>>("activations");
  if (index >= names.size()) unsupported("expected ", index + 1, " activations, got ", names.size());
  std::string name = names[index], formula;
  for (char& c : name) c = static_cast<char>(std::tolower(c));
  if (name == "sigmoid") formula = "1 / (1 + exp(-VALUE))";
  else if (name == "tanh") formula = "tanh(VALUE)";
  else if (name == "relu") formula = "(VALUE < 0 ? (SUM)0 : VALUE)";
  else unsupported("expected the activations sigmoid, tanh or relu, got ", names[index]);
  auto clip = ctx.attr<float>("clip");
  std::string value = "(SUM)(v)", limit = "(SUM)" + detail::number_text(clip);
  // Not clamp, which loses NaN.
  if (clip > 0 && cut)
    value = "(" + value + " > " + limit + " ? " + limit + " : " + value + " < -" + limit + " ? -" + limit + " : " +
            value + ")";
  for (size_t at; (at = formula.find("VALUE")) != formula.npos;) formula.replace(at, 5, value);
  k.define(std::string(macro) + "(v)", "(" + formula + ")");
}

// Arguments that all steps have, and the position of a work item.
std::string begin_step(Emit& ctx, ClKernel& k, const ClRecurrent& r, int64_t t) {
  k.input(0, "x").input(1, "h0").input(r.weights, "w").input(r.weights + 1, "r");
  bool bias = ctx.has_input(r.weights + 2);
  if (bias) k.input(r.weights + 2, "bias");
  if (r.sequence) k.input(static_cast<size_t>(1 + r.states), "lengths");
  k.output(0, r.sequence ? "y" : "hn");
  if (r.sequence) k.output(1, "hn");
  k.number("t", t).number("I", r.input).number("H", r.hidden).number("D", r.directions).number("S", r.steps);
  k.define("BIAS(i)", bias ? "LOAD_bias(i)" : "0");
  std::string body = "  int i = get_global_id(0), h = i % H, d = i / H % D, b = i / (H * D), state = i - h;\n";
  if (!r.sequence) return body + "  int from = b * I;\n#define PREVIOUS(k) LOAD_h0(state + (k))\n";
  body += "  int length = (int)LOAD_lengths(b);\n  if (t >= length) return;\n";
  body += std::string("  int back = ") + (r.backwards ? "1" : "d == 1") + ", at = back ? length - 1 - t : t;\n";
  body += "  int from = (b * S + at) * I, before = ((b * D + d) * S + (back ? at + 1 : at - 1)) * H;\n";
  return body + "#define PREVIOUS(k) (t == 0 ? LOAD_h0(state + (k)) : LOAD_y(before + (k)))\n";
}
// Sums of the products with the input and the state for some gates: x0, x1, ... and h0, h1, ...
std::string products(const ClRecurrent& r, const std::vector<int>& gates, const std::vector<int>& of_state) {
  std::string out, row_w, row_r;
  for (int g : gates) out += "  SUM x" + std::to_string(g) + " = 0;\n";
  for (int g : of_state) out += "  SUM s" + std::to_string(g) + " = 0;\n";
  auto row = [&](int g) { return "((d * " + std::to_string(r.gates) + " + " + std::to_string(g) + ") * H + h)"; };
  out += "  for (int k = 0; k < I; ++k) {\n    SUM v = LOAD_x(from + k);\n";
  for (int g : gates) out += "    x" + std::to_string(g) + " += v * LOAD_w(" + row(g) + " * I + k);\n";
  out += "  }\n  for (int k = 0; k < H; ++k) {\n    SUM v = PREVIOUS(k);\n";
  for (int g : of_state) out += "    s" + std::to_string(g) + " += v * LOAD_r(" + row(g) + " * H + k);\n";
  return out + "  }\n";
}
std::string store_state(const ClRecurrent& r) {
  return std::string(r.sequence ? "  STORE_y(((b * D + d) * S + at) * H + h, result);\n" : "") +
         "  STORE_hn(i, result);\n";
}

// Steps past the end of a sequence give zeros.
void clear_outputs(Emit& ctx, const ClRecurrent& r) {
  if (!r.sequence) return;
  for (size_t o = 0; o < ctx.outputs(); ++o) {
    ClKernel k(ctx, "clear");
    k.output(o, "y");
    k.run("  STORE_y(get_global_id(0), 0);", {cl_count(ctx.output(o).shape.values())});
  }
}

void emit_rnn(Emit& ctx, bool sequence) {
  ClRecurrent r(ctx, 1, 1, sequence);
  clear_outputs(ctx, r);
  for (int64_t t = 0; t < r.steps; ++t) {
    ClKernel k(ctx, "rnn");
    define_gate(ctx, k, "F", 0, true);
    std::string body = begin_step(ctx, k, r, t) + products(r, {0}, {0});
    k.run(body + "  SUM result = F(x0 + s0 + BIAS(d * H + h));\n" + store_state(r), {r.items()});
  }
}

void emit_lstm(Emit& ctx, bool sequence) {
  ClRecurrent r(ctx, 4, 2, sequence);
  if (auto coupled = ctx.attr<std::optional<bool>>("input_forget"); coupled && *coupled)
    unsupported("expected separate input and forget gates");
  if (auto order = ctx.attr<std::optional<std::string>>("weights_format"); order && *order != "fico")
    unsupported("expected weights in the order fico, got ", *order);
  clear_outputs(ctx, r);
  size_t cell = ctx.scratch(static_cast<size_t>(r.items()) * 4);
  for (int64_t t = 0; t < r.steps; ++t) {
    ClKernel k(ctx, "lstm");
    define_gate(ctx, k, "F", 0, true), define_gate(ctx, k, "G", 1, true), define_gate(ctx, k, "P", 2, false);
    std::string body = begin_step(ctx, k, r, t) + products(r, {0, 1, 2, 3}, {0, 1, 2, 3});
    k.input(2, "c0").scratch(cell, "c", DType::f32).output(sequence ? 2 : 1, "cn");
    k.run(body + R"(  SUM old = t == 0 ? LOAD_c0(i) : LOAD_c(i);
#define GATE(g) x##g + s##g + BIAS((d * 4 + g) * H + h)
  SUM now = F(GATE(0)) * old + F(GATE(1)) * G(GATE(2));
  SUM result = F(GATE(3)) * P(now);
  STORE_c(i, now);
  STORE_cn(i, now);
)" + store_state(r),
          {r.items()});
  }
}

void emit_gru(Emit& ctx, bool sequence) {
  ClRecurrent r(ctx, 3, 1, sequence);
  bool linear = ctx.attr<bool>("linear_before_reset");
  clear_outputs(ctx, r);
  size_t update = ctx.scratch(static_cast<size_t>(r.items()) * 4),
         reset = ctx.scratch(static_cast<size_t>(r.items()) * 4);
  std::string bias = linear ? "4" : "3";
  for (int64_t t = 0; t < r.steps; ++t) {
    ClKernel k(ctx, linear ? "gru" : "gru_gates");
    define_gate(ctx, k, "F", 0, true), define_gate(ctx, k, "G", 1, true);
    std::string gate = "#define GATE(g) F(x##g + s##g + BIAS((d * " + bias + " + g) * H + h))\n";
    if (linear) {
      std::string body = begin_step(ctx, k, r, t) + products(r, {0, 1, 2}, {0, 1, 2}) + gate;
      k.run(body + R"(  SUM z = GATE(0), old = PREVIOUS(h);
  SUM candidate = G(x2 + BIAS((d * 4 + 2) * H + h) + GATE(1) * (s2 + BIAS((d * 4 + 3) * H + h)));
  SUM result = (1 - z) * candidate + z * old;
)" + store_state(r),
            {r.items()});
      continue;
    }
    std::string body = begin_step(ctx, k, r, t) + products(r, {0, 1}, {0, 1}) + gate;
    k.scratch(update, "z", DType::f32).scratch(reset, "rs", DType::f32);
    k.run(body + "  STORE_z(i, GATE(0));\n  STORE_rs(i, GATE(1) * PREVIOUS(h));\n", {r.items()});
    ClKernel second(ctx, "gru");
    define_gate(ctx, second, "G", 1, true);
    body = begin_step(ctx, second, r, t) + products(r, {2}, {});
    second.scratch(update, "z", DType::f32).scratch(reset, "rs", DType::f32);
    second.run(body + R"(  SUM recurrent = 0;
  for (int k = 0; k < H; ++k) recurrent += LOAD_rs(state + k) * LOAD_r(((d * 3 + 2) * H + h) * H + k);
  SUM candidate = G(x2 + recurrent + BIAS((d * 3 + 2) * H + h));
  SUM result = (1 - LOAD_z(i)) * candidate + LOAD_z(i) * PREVIOUS(h);
)" + store_state(r),
               {r.items()});
  }
}

}  // namespace

Definitions gpu_recurrent() {
  auto add = [](const char* name, const char* op, void (*f)(Emit&, bool), bool sequence) {
    return SourceKernel("GPU", name).of(op).emit([=](Emit& ctx) { f(ctx, sequence); });
  };
  return {add("rnn", "RNNSequence", emit_rnn, true),    add("rnn", "RNNCell", emit_rnn, false),
          add("gru", "GRUSequence", emit_gru, true),    add("gru", "GRUCell", emit_gru, false),
          add("lstm", "LSTMSequence", emit_lstm, true), add("lstm", "LSTMCell", emit_lstm, false)};
}

}  // namespace graft
