// Recurrent components, and recurrences of nodes: run frame by frame.
#include "kaldi/building.hpp"
#include "onnx/loop_body.hpp"

namespace graft {
namespace {

Value kaldi_sigmoid(const Value& x) { return x.in().op("Sigmoid", {x}); }
Value kaldi_tanh(const Value& x) { return x.in().op("Tanh", {x}); }

// A body over the rows of `rows`, with states that begin with zeros or, for streaming, with the last ones of the chunk
// before. Its results are the next states, and what is collected.
std::vector<Value> kaldi_iterate(Builder& layer, const ImportedBody& body, const std::vector<Value>& rows,
                                 const std::vector<int64_t>& states, bool backward,
                                 const std::vector<std::string>& variables = {}) {
  BodyUse use{body.id, {}, {}, {}};
  std::vector<Value> inputs = rows;
  for (size_t i = 0; i < rows.size(); ++i) {
    auto port = static_cast<int64_t>(i);
    use.inputs.push_back(stacked_port(port, port, 0, backward));
  }
  for (size_t i = 0; i < states.size(); ++i) {
    auto port = static_cast<int64_t>(inputs.size());
    use.inputs.push_back(plain_port(port, port));
    use.back_edges.push_back({static_cast<int64_t>(i), port});
    Value zeros = layer.typed(std::vector<double>(static_cast<size_t>(states[i]), 0), {1, states[i]}, DType::f32);
    inputs.push_back(variables.empty() ? zeros : kaldi_variable(zeros, variables[i]));
  }
  for (const Value& captured : body.captured) {
    auto port = static_cast<int64_t>(inputs.size());
    use.inputs.push_back(plain_port(port, port));
    inputs.push_back(captured);
  }
  size_t collected = body.results.size() - states.size();
  for (size_t i = 0; i < collected; ++i)
    use.outputs.push_back(stacked_port(static_cast<int64_t>(i), static_cast<int64_t>(states.size() + i), 0, backward));
  for (size_t i = 0; i < variables.size(); ++i)
    use.outputs.push_back(plain_port(static_cast<int64_t>(collected + i), static_cast<int64_t>(i)));
  std::vector<Value> out = layer.make("TensorIterator", inputs, {}, collected + variables.size(), {use});
  for (size_t i = 0; i < variables.size(); ++i) kaldi_assign(out[collected + i], variables[i]);
  out.resize(collected);
  return out;
}

Info kaldi_row(Dim dim) { return {DType::f32, Shape{Dim(1), dim}}; }

// Nodes of nnet3 that depend on their own earlier frames. The widths of the states follow from the body.
std::vector<Value> import_kaldi_recurrence(Builder& layer) {
  auto count = static_cast<size_t>(kaldi_size(layer, "states", 0));
  bool backward = layer.get<bool>("backward", false);
  std::vector<Value> rows;
  std::vector<Info> parameters;
  for (size_t i = 0; i < layer.inputs(); ++i) {
    rows.push_back(layer.input(i));
    Shape s = rows.back().shape();
    parameters.push_back(kaldi_row(s.ranked() && s.rank() == 2 ? s[1] : Dim()));
  }
  for (size_t i = 0; i < count; ++i) parameters.push_back(kaldi_row(Dim()));
  std::vector<int64_t> states(count, 0);
  ImportedBody body;
  // What one round finds out about a state, the next one uses.
  for (size_t round = 0, known = 0;; ++round) {
    body = layer.body("body", parameters);
    if (body.results.size() < count)
      fail("expected a body with ", count, " states, got ", body.results.size(), " results");
    size_t before = known;
    known = 0;
    for (size_t i = 0; i < count; ++i) {
      const Shape& s = body.results[i].shape;
      if (!s.ranked() || s.rank() != 2 || !s[1].known()) continue;
      ++known;
      states[i] = s[1].value();
      parameters[rows.size() + i] = kaldi_row(s[1]);
    }
    if (known == count && round > 0) break;
    if (known == before && round > 0) unsupported("the dimensions of the states of the recurrence are unknown");
  }
  auto variables = layer.get<std::vector<std::string>>("variables", {});
  if (!variables.empty() && variables.size() != count)
    fail("expected ", count, " variables for the states, got ", variables.size());
  return kaldi_iterate(layer, body, rows, states, backward, variables);
}

// ---- nnet1 ----

// What a component keeps between chunks of an utterance, in variables. If there are frames before its first one, a
// column behind those of `x` is 0 for them.
struct KaldiStates {
  Value rows;
  int64_t columns;
  std::vector<std::string> variables;
  bool masked = false;

  KaldiStates(Builder& layer, const Value& x, std::initializer_list<const char*> names)
      : rows(x), columns(kaldi_columns(x)) {
    if (!layer.has("variable")) return;
    for (const char* name : names) variables.push_back(text(layer.get<std::string>("variable"), '/', name));
    masked = layer.flows() > 1;
    if (masked) rows = build::concat({x, layer.input(1)}, 1);
  }
  Info parameter() const { return kaldi_row(Dim(columns + masked)); }
  Value row(Builder& body) const { return masked ? build::slice(body.input(0), 1, 0, columns) : body.input(0); }
  Value held(Builder& body, const Value& v) const {
    return masked ? kaldi_held(build::slice(body.input(0), 1, columns, columns + 1), v) : v;
  }
};

// Weights from number `first` on: input, recurrent, bias, three peepholes, projection. Gates: g, i, f, o.
Value kaldi_lstm(Builder& layer, size_t first, bool backward) {
  auto weight = [&](size_t i) { return kaldi_weight(layer, text(first + i)); };
  Value w_r = weight(1), w_p = weight(6);
  int64_t cells = kaldi_columns(w_p), out = kaldi_columns(w_r);
  double clip = layer.get<float>("CellClip", 50);
  KaldiStates states(layer, kaldi_affine(layer.input(0), weight(0), weight(2)), {"h", "c"});
  auto step = [&](Builder& body) {
    auto constant = [&](const Value& v) {
      TensorView t = v.constant();
      if (!t) fail("expected constant weights");
      return body.constant(t);
    };
    Value x = states.row(body), h = body.input(1), c = body.input(2);
    std::vector<Value> y = build::split(x + build::matmul(h, constant(w_r), false, true), 1, 4);
    Value i = kaldi_sigmoid(y[1] + c * constant(weight(3))), f = kaldi_sigmoid(y[2] + c * constant(weight(4)));
    c = kaldi_tanh(y[0]) * i + c * f;
    if (clip > 0) c = body.op("Clamp", {c}, {{"min", -clip}, {"max", clip}});
    Value o = kaldi_sigmoid(y[3] + c * constant(weight(5)));
    h = build::matmul(kaldi_tanh(c) * o, constant(w_p), false, true);
    body.output(0, states.held(body, h));
    body.output(1, states.held(body, c));
    body.output(2, h);
  };
  ImportedBody body =
      layer.body("body", {states.parameter(), kaldi_row(Dim(out)), kaldi_row(Dim(cells))}, nullptr, step);
  return kaldi_iterate(layer, body, {states.rows}, {out, cells}, backward, states.variables)[0];
}
Value import_kaldi_lstm(Builder& layer) {
  layer.field("CellDim");
  return kaldi_lstm(layer, 0, false);
}
Value import_kaldi_blstm(Builder& layer) {
  layer.field("CellDim");
  return build::concat({kaldi_lstm(layer, 0, false), kaldi_lstm(layer, 7, true)}, 1);
}

// Frame by frame, with the state in a variable.
Value kaldi_rnn_steps(Builder& layer) {
  Value w = kaldi_weight(layer, "1");
  int64_t hidden = kaldi_columns(w);
  KaldiStates states(layer, kaldi_affine(layer.input(0), kaldi_weight(layer, "0"), kaldi_weight(layer, "2")), {"h"});
  auto step = [&](Builder& body) {
    TensorView weights = w.constant();
    if (!weights) fail("expected constant weights");
    Value h = body.input(1);
    h = kaldi_tanh(states.row(body) + build::matmul(h, body.constant(weights), false, true));
    body.output(0, states.held(body, h));
    body.output(1, h);
  };
  ImportedBody body = layer.body("body", {states.parameter(), kaldi_row(Dim(hidden))}, nullptr, step);
  return kaldi_iterate(layer, body, {states.rows}, {hidden}, false, states.variables)[0];
}
Value import_kaldi_rnn(Builder& layer) {
  if (layer.has("variable")) return kaldi_rnn_steps(layer);
  Value x = unsqueeze(layer.input(0), {0}), w = kaldi_weight(layer, "0"), r = kaldi_weight(layer, "1");
  int64_t hidden = kaldi_columns(r);
  Value state = layer.typed(std::vector<double>(static_cast<size_t>(hidden), 0), {1, 1, hidden}, DType::f32);
  Value length = build::dim(x, 1);
  std::vector<Value> y = layer.ops(
      "RNNSequence@5",
      {x, state, length, unsqueeze(w, {0}), unsqueeze(r, {0}), unsqueeze(kaldi_weight(layer, "2"), {0})},
      {{"hidden_size", hidden}, {"direction", "forward"}, {"activations", std::vector<std::string>{"tanh"}}}, 2);
  return squeeze(y[0], {0, 1});
}

// ---- steps of nnet3 ----

// (i, f, c, o, c of the frame before[, scales of i, f, o]) -> (c, m)
Value import_kaldi_lstm_nonlinearity(Builder& layer) {
  Value x = layer.input(0), params = kaldi_weight(layer, "Params");
  bool dropout = layer.get<bool>("UseDropout", false);
  int64_t n = kaldi_columns(params);
  auto part = [&](int64_t k) { return kaldi_with_columns(build::slice(x, 1, k * n, (k + 1) * n), n); };
  auto peephole = [&](int64_t k) { return build::slice(params, 0, k, k + 1); };
  auto scaled = [&](const Value& gate, int64_t k) {
    return dropout ? gate * build::slice(x, 1, 5 * n + k, 5 * n + k + 1) : gate;
  };
  Value before = part(4);
  Value i = scaled(kaldi_sigmoid(part(0) + before * peephole(0)), 0);
  Value f = scaled(kaldi_sigmoid(part(1) + before * peephole(1)), 1);
  Value c = f * before + i * kaldi_tanh(part(2));
  Value o = scaled(kaldi_sigmoid(part(3) + c * peephole(2)), 2);
  return build::concat({c, o * kaldi_tanh(c)}, 1);
}

// (z, r, h part, c before[, s before]) -> (h, c)
Value import_kaldi_gru(Builder& layer) {
  Value x = layer.input(0);
  int64_t c = kaldi_size(layer, "CellDim"), r = kaldi_size(layer, "RecurrentDim");
  int64_t dim = c == r ? 4 * c : 3 * c + 2 * r;
  auto columns = [&](int64_t from, int64_t to) { return kaldi_with_columns(build::slice(x, 1, from, to), to - from); };
  Value z = columns(0, c), reset = columns(c, c + r), part = columns(c + r, 2 * c + r),
        before = columns(2 * c + r, 3 * c + r), s = columns(dim - r, dim);
  Value h = kaldi_tanh(part + build::matmul(reset * s, kaldi_weight(layer, "w_h"), false, true));
  return build::concat({h, h - z * h + z * before}, 1);
}
// (z, h part, c before) -> (h, c)
Value import_kaldi_output_gru(Builder& layer) {
  int64_t n = kaldi_size(layer, "CellDim");
  std::vector<Value> x = build::split(layer.input(0), 1, std::vector<int64_t>{n, n, n});
  Value h = kaldi_tanh(x[1] + x[2] * kaldi_weight(layer, "w_h"));
  return build::concat({h, h - x[0] * h + x[0] * x[2]}, 1);
}

Value import_kaldi_truncation(Builder& layer) { return layer.input(0) * layer.get<float>("Scale", 1); }

}  // namespace

Definitions define_kaldi_recurrent() {
  Definitions out{
      kaldi("Recurrence").expand(import_kaldi_recurrence),
      kaldi_component("RecurrentComponent").expand(import_kaldi_rnn),
      kaldi_component("LstmNonlinearityComponent").expand(import_kaldi_lstm_nonlinearity),
      kaldi_component("GruNonlinearityComponent").expand(import_kaldi_gru),
      kaldi_component("OutputGruNonlinearityComponent").expand(import_kaldi_output_gru),
      kaldi_component("BackpropTruncationComponent")
          .ignore("ClippingThreshold")
          .ignore("ZeroingThreshold")
          .ignore("ZeroingInterval")
          .ignore("RecurrenceInterval")
          .ignore("NumElementsClipped")
          .ignore("NumElementsZeroed")
          .ignore("NumElementsProcessed")
          .ignore("NumZeroingBoundaries")
          .expand(import_kaldi_truncation),
  };
  for (const char* type : {"LstmProjected", "LstmProjectedStreams"})
    out += kaldi_component(type).ignore("body").expand(import_kaldi_lstm);
  for (const char* type : {"BlstmProjected", "BlstmProjectedStreams"})
    out += kaldi_component(type).ignore("body").expand(import_kaldi_blstm);
  return out;
}

}  // namespace graft
