// Expressions over nodes, and what moves along the frames: context, time offsets, splices, statistics.
#include <limits>

#include "kaldi/building.hpp"

namespace graft {
namespace {

Value import_kaldi_append(Builder& layer) {
  std::vector<Value> parts;
  for (size_t i = 0; i < layer.flows(); ++i) parts.push_back(layer.input(i));
  return build::concat(parts, 1);
}
Value import_kaldi_sum(Builder& layer) {
  Value y = layer.input(0);
  for (size_t i = 1; i < layer.flows(); ++i) y = y + layer.input(i);
  return y;
}
Value import_kaldi_scale_expression(Builder& layer) { return layer.input(0) * layer.get<float>("scale"); }

// The first and the last frame repeated.
Value kaldi_repeat_edges(const Value& x, int64_t left, int64_t right) {
  if (left == 0 && right == 0) return x;
  Builder& in = x.in();
  return in.op("Pad@1", {x, in.ints({left, 0}), in.ints({right, 0})}, {{"pad_mode", "edge"}});
}
Value import_kaldi_context(Builder& layer) {
  return kaldi_repeat_edges(layer.input(0), layer.get<int64_t>("left"), layer.get<int64_t>("right"));
}

// Without the first and the last frames; a negative number adds frames of zeros instead.
Value kaldi_frames_of(const Value& x, int64_t front, int64_t back) {
  Builder& in = x.in();
  Value y = x;
  if (front < 0 || back < 0)
    y = in.op("Pad@1", {x, in.ints({std::max<int64_t>(-front, 0), 0}), in.ints({std::max<int64_t>(-back, 0), 0})},
              {{"pad_mode", "constant"}});
  if (front <= 0 && back <= 0) return y;
  return build::slice(y, 0, std::max<int64_t>(front, 0), back > 0 ? -back : std::numeric_limits<int64_t>::max());
}
Value import_kaldi_frames(Builder& layer) {
  return kaldi_frames_of(layer.input(0), layer.get<int64_t>("front"), layer.get<int64_t>("back"));
}

// The number of frames of a value, and some more.
Value kaldi_rows_of(Builder& layer, const Value& x) {
  return build::dim(x, 0) + layer.ints({layer.get<int64_t>("extra")});
}
// One row, for all frames.
Value import_kaldi_replace_index(Builder& layer) {
  auto row = layer.get<int64_t>("row");
  Value x = build::slice(layer.input(0), 0, row, row + 1);
  return build::broadcast(x, build::concat({kaldi_rows_of(layer, layer.input(1)), build::dim(x, 1)}, 0));
}
Value import_kaldi_const(Builder& layer) {
  Value rows = kaldi_rows_of(layer, layer.input(0));
  return build::fill(layer, layer.get<float>("value"), DType::f32,
                     build::concat({rows, layer.ints({kaldi_size(layer, "dim")})}, 0));
}

// The numbers of the frames of the output.
Value kaldi_times(Builder& layer, const Value& rows) {
  return counting(as_scalar(rows), DType::i64) + layer.scalar(layer.get<int64_t>("start"));
}
// In a model for streaming the last input is the number of the first frame of the chunk, which `start` counts from.
bool kaldi_has_clock(Builder& layer) { return layer.get<bool>("clock", false); }
Value kaldi_floor_mod(const Value& t, int64_t m) { return t.in().op("FloorMod", {t, t.in().scalar(m)}); }

Value import_kaldi_round(Builder& layer) {
  Value x = layer.input(0), t = kaldi_times(layer, kaldi_rows_of(layer, x)), number = t;
  if (kaldi_has_clock(layer)) number = t + layer.input(1);
  t = t - kaldi_floor_mod(number, layer.get<int64_t>("modulus"));
  return build::gather(x, t - layer.scalar(layer.get<int64_t>("input_start")), 0);
}
Value import_kaldi_switch(Builder& layer) {
  auto count = static_cast<int64_t>(layer.flows()) - kaldi_has_clock(layer);
  Value t = kaldi_times(layer, build::dim(layer.input(0), 0)), y = layer.input(0);
  if (kaldi_has_clock(layer)) t = t + layer.input(static_cast<size_t>(count));
  t = kaldi_floor_mod(t, count);
  for (int64_t i = 1; i < count; ++i) {
    Value mine = unsqueeze(layer.op("Equal", {t, layer.scalar(i)}), {1});
    y = build::select(mine, layer.input(static_cast<size_t>(i)), y);
  }
  return y;
}
// The second input where the first one has no frames: at the edges.
Value import_kaldi_failover(Builder& layer) {
  auto front = layer.get<int64_t>("front"), back = layer.get<int64_t>("back");
  Value a = layer.input(0), b = layer.input(1);
  if (front == 0 && back == 0) return a;
  std::vector<Value> parts{kaldi_frames_of(a, front, back)};
  if (front > 0) parts.insert(parts.begin(), build::slice(b, 0, 0, front));
  if (back > 0) parts.push_back(build::slice(b, 0, -back, std::numeric_limits<int64_t>::max()));
  return build::concat(parts, 0);
}

// ---- splices ----

// nnet1: at the edges of the utterance the first and the last frame are repeated.
Value import_kaldi_splice1(Builder& layer) {
  std::vector<int64_t> offsets = layer.get<std::vector<int64_t>>("Splice.0");
  if (offsets.empty() || offsets.size() > 4096) fail("expected 1 to 4096 frame offsets, got ", offsets.size());
  int64_t left = 0, right = 0;
  for (int64_t o : offsets) {
    if (o < -(1 << 20) || o > 1 << 20) fail("expected frame offsets of at most ", 1 << 20, ", got ", o);
    left = std::max(left, -o), right = std::max(right, o);
  }
  Value x = kaldi_repeat_edges(layer.input(0), left, right);
  std::vector<Value> parts;
  for (int64_t o : offsets) parts.push_back(kaldi_frames_of(x, left + o, right - o));
  return build::concat(parts, 1);
}

// nnet2: one input per offset; the last columns are the same for all of them and occur once.
Value import_kaldi_splice2(Builder& layer) {
  for (const char* field : {"Context", "LeftContext", "RightContext"}) layer.field(field);
  auto constant = layer.get<int64_t>("ConstComponentDim", 0);
  int64_t dim = kaldi_columns(layer.input(0));
  if (constant < 0 || constant > dim) fail("expected ConstComponentDim of 0 to ", dim, ", got ", constant);
  std::vector<Value> parts;
  for (size_t i = 0; i < layer.flows(); ++i)
    parts.push_back(constant ? build::slice(layer.input(i), 1, 0, dim - constant) : layer.input(i));
  if (constant) parts.push_back(build::slice(layer.input(0), 1, dim - constant, dim));
  return build::concat(parts, 1);
}
Value import_kaldi_splice_max(Builder& layer) {
  for (const char* field : {"Context", "LeftContext", "RightContext"}) layer.field(field);
  Value y = layer.input(0);
  for (size_t i = 1; i < layer.flows(); ++i) y = layer.op("Maximum", {y, layer.input(i)});
  return y;
}

// ---- statistics ----

// Sums over the rows of x whose frame numbers are multiples of `period`, from begin to end (exclusive) for each frame
// of the output, as far as there are rows. Running sums, in double precision: windows may be as long as an utterance.
Value kaldi_window_sums(Builder& layer, Value x, int64_t period, const Value& begin, const Value& end) {
  auto start = layer.get<int64_t>("input_start");
  Value rows = dimension_of(x, 0);
  if (period > 1) {
    Value t = counting(rows, DType::i64) + layer.scalar(start);
    Value counts = layer.op("Equal", {kaldi_floor_mod(t, period), layer.scalar(int64_t{0})});
    x = x * unsqueeze(convert(counts, x.type()), {1});
  }
  DType type = x.type();
  Value sums = layer.op("CumSum", {convert(x, DType::f64), layer.scalar(int64_t{0})});
  sums = layer.op("Pad@1", {sums, layer.ints({1, 0}), layer.ints({0, 0})}, {{"pad_mode", "constant"}});
  auto at = [&](const Value& t) {
    Value i = layer.op("Maximum", {t - layer.scalar(start), layer.scalar(int64_t{0})});
    return build::gather(sums, layer.op("Minimum", {i, rows}), 0);
  };
  return convert(at(end) - at(begin), type);
}

// The number of frames, their sum, and the sum of their squares, for each block of OutputPeriod frames.
Value import_kaldi_statistics(Builder& layer) {
  Value x = layer.input(0);
  int64_t period = kaldi_size(layer, "OutputPeriod"), step = kaldi_size(layer, "InputPeriod");
  std::vector<Value> parts{build::fill(layer, 1, x.type(), build::concat({build::dim(x, 0), layer.ints({1})}, 0)), x};
  if (layer.get<bool>("IncludeVarinance", true)) parts.push_back(x * x);  // as Kaldi spells it
  Value t = kaldi_times(layer, kaldi_rows_of(layer, x));
  Value begin = t - kaldi_floor_mod(t, period);
  return kaldi_window_sums(layer, build::concat(parts, 1), step, begin, begin + layer.scalar(period));
}

// The mean of such statistics over a window, and their standard deviation.
Value import_kaldi_pooling(Builder& layer) {
  Value x = layer.input(0);
  int64_t period = kaldi_size(layer, "InputPeriod"), left = layer.get<int64_t>("LeftContext"),
          right = layer.get<int64_t>("RightContext");
  Value t = kaldi_times(layer, kaldi_rows_of(layer, x));
  Value sums = kaldi_window_sums(layer, x, period, t - layer.scalar(left), t + layer.scalar(right + 1));
  int64_t dim = kaldi_columns(x) - 1, logs = layer.get<int64_t>("NumLogCountFeatures", 0);
  if (dim < 1 || logs < 0 || logs > 1 << 20) fail("expected statistics of 2 or more columns, got ", dim + 1);
  Value counts = build::slice(sums, 1, 0, 1), means = build::slice(sums, 1, 1, dim + 1) / counts;
  std::vector<Value> parts;
  if (logs) parts.push_back(layer.op("Tile", {layer.op("Log", {counts}), layer.ints({1, logs})}));
  if (!layer.get<bool>("OutputStddevs", false)) {
    layer.field("VarianceFloor");
    parts.push_back(means);
    return build::concat(parts, 1);
  }
  if (dim % 2 != 0) fail("expected statistics of an odd number of columns, got ", dim + 1);
  std::vector<Value> moments = build::split(means, 1, 2);
  Value variance = layer.op("Maximum", {moments[1] - moments[0] * moments[0],
                                        like(means, double{layer.get<float>("VarianceFloor", 1e-10f)})});
  parts.push_back(moments[0]);
  parts.push_back(layer.op("Sqrt", {variance}));
  return build::concat(parts, 1);
}

// ---- streaming: what a model keeps between the chunks of an utterance ----

// The rows behind the last ones of the chunk before; zeros at first.
Value import_kaldi_memory(Builder& layer) {
  Value x = layer.input(0);
  int64_t rows = kaldi_size(layer, "rows"), dim = kaldi_columns(x);
  if (rows * dim > 1 << 28) fail("expected a memory of at most ", 1 << 28, " values, got ", rows, " rows of ", dim);
  auto variable = layer.get<std::string>("variable");
  Value before = kaldi_variable(build::fill(layer, 0, x.type(), layer.ints({rows, dim})), variable);
  Value all = build::concat({before, x}, 0);
  kaldi_assign(build::slice(all, 0, -rows, std::numeric_limits<int64_t>::max()), variable);
  return all;
}

// The number of the first frame of the chunk; that of the first frame of the utterance is 0.
Value import_kaldi_clock(Builder& layer) {
  auto variable = layer.get<std::string>("variable");
  // As i32: OpenVINO's CPU has no variables of i64.
  Value count = convert(kaldi_variable(layer.typed({0}, {1}, DType::i32), variable), DType::i64);
  kaldi_assign(convert(count + build::dim(layer.input(0), 0), DType::i32), variable);
  return count - layer.ints({layer.get<int64_t>("left")});
}

// Whether the rows of x belong to frame `first` or a later one: [rows, 1].
Value kaldi_reached(Builder& layer, const Value& x, const Value& clock) {
  Value t = counting(dimension_of(x, 0), DType::i64) + clock;
  return unsqueeze(layer.op("GreaterEqual", {t, layer.scalar(layer.get<int64_t>("first"))}), {1});
}
Value import_kaldi_if_defined(Builder& layer) {
  Value x = layer.input(0), other = layer.inputs() > 2 ? layer.input(2) : like(x, 0);
  return build::select(kaldi_reached(layer, x, layer.input(1)), x, other);
}
Value import_kaldi_started(Builder& layer) {
  return convert(kaldi_reached(layer, layer.input(0), layer.input(1)), DType::f32);
}
Value import_kaldi_hold(Builder& layer) { return kaldi_held(layer.input(0), layer.input(1)); }

}  // namespace

Definitions define_kaldi_frames() {
  return {
      kaldi("Append").expand(import_kaldi_append),
      kaldi("Sum").expand(import_kaldi_sum),
      kaldi("Scale").expand(import_kaldi_scale_expression),
      kaldi("Context").expand(import_kaldi_context),
      kaldi("Frames").expand(import_kaldi_frames),
      kaldi("ReplaceIndex").expand(import_kaldi_replace_index),
      kaldi("Const").expand(import_kaldi_const),
      kaldi("Round").expand(import_kaldi_round),
      kaldi("Switch").expand(import_kaldi_switch),
      kaldi("Failover").expand(import_kaldi_failover),
      kaldi_component("Splice").expand(import_kaldi_splice1),
      kaldi_component("SpliceComponent").expand(import_kaldi_splice2),
      kaldi_component("SpliceMaxComponent").expand(import_kaldi_splice_max),
      kaldi_component("StatisticsExtractionComponent").expand(import_kaldi_statistics),
      kaldi_component("StatisticsPoolingComponent").expand(import_kaldi_pooling),
      kaldi("Memory").expand(import_kaldi_memory),
      kaldi("Clock").expand(import_kaldi_clock),
      kaldi("IfDefined").expand(import_kaldi_if_defined),
      kaldi("Started").expand(import_kaldi_started),
      kaldi("Hold").expand(import_kaldi_hold),
  };
}

}  // namespace graft
