// The user-defined operators of the recorded pytorch-custom cases, each from its description there. Most are rules that
// build known operations; those with attributes of their own are operations with a kernel.
#include <cmath>
#include <graft/extension.hpp>
#include <graft/kit/expressions.hpp>

namespace {

using namespace graft;

// ---- coshc: attributes by their names in torch ----

struct Coshc {
  std::vector<int64_t> axes;
  double gain = 1;
  enum Mode { mean, max } mode = mean;
  static constexpr std::tuple schema{attr("axes", &Coshc::axes, "axes of the mean or maximum").required(),
                                     attr("gain", &Coshc::gain, "factor of the argument"),
                                     attr("mode", &Coshc::mode, "what is subtracted").one_of("mean", "max")};
};
void coshc_infer(Infer& ctx, const Coshc&) { ctx.output(0, ctx.type(0), ctx.shape(0)); }
void coshc_run(Run& ctx, const Coshc& a) {
  std::vector<double> x = ctx.input(0).to<double>();
  auto dims = ctx.input(0).dims();
  std::vector<size_t> group(x.size());
  std::vector<double> taken(x.size(), 0), count(x.size(), 0);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = std::cosh(a.gain * x[i]);
    // The place of the element with 0 along the reduced axes.
    size_t rest = i, step = 1, at = 0;
    for (size_t d = dims.size(); d-- > 0;) {
      auto size = static_cast<size_t>(dims[d]);
      bool reduced = false;
      for (int64_t axis : a.axes)
        reduced |= (axis < 0 ? axis + static_cast<int64_t>(dims.size()) : axis) == static_cast<int64_t>(d);
      if (!reduced) at += rest % size * step;
      rest /= size, step *= size;
    }
    group[i] = at;
    bool first = count[at] == 0;
    if (a.mode == Coshc::mean) taken[at] += x[i];
    else taken[at] = first ? x[i] : std::max(taken[at], x[i]);
    ++count[at];
  }
  for (size_t i = 0; i < x.size(); ++i)
    x[i] -= a.mode == Coshc::mean ? taken[group[i]] / count[group[i]] : taken[group[i]];
  ctx.output(0).assign(x);
}

// ---- popcount ----

void popcount_infer(Infer& ctx, const NoAttributes&) { ctx.output(0, DType::i32, ctx.shape(0)); }
void popcount_run(Run& ctx, const NoAttributes&) {
  std::vector<int64_t> bits;
  for (int64_t v : ctx.input(0).to<int64_t>()) bits.push_back(__builtin_popcountll(static_cast<uint64_t>(v)));
  ctx.output(0).assign(bits);
}

// ---- decay_: what it changes is its first output ----

struct Decay {
  double rate = 0;
  static constexpr std::tuple schema{attr("rate", &Decay::rate, "weight of the state").required()};
};
void decay_infer(Infer& ctx, const Decay&) { ctx.output(0, ctx.type(0), ctx.shape(0)); }
void decay_run(Run& ctx, const Decay& a) {
  std::vector<double> state = ctx.input(0).to<double>(), x = ctx.input(1).to<double>();
  for (size_t i = 0; i < state.size(); ++i) state[i] = a.rate * state[i] + (1 - a.rate) * x.at(i);
  ctx.output(0).assign(state);
}

// ---- rules that build known operations ----

Value reduced(std::string_view op, const Value& v, int64_t axis, bool keep) {
  return v.in().op(op, {v, v.in().ints({axis})}, {{"keep_dims", keep}});
}
std::vector<Value> minmax(Builder& layer) {
  Value x = layer.input(0);
  auto dim = layer.get<int64_t>("dim", -1);
  bool keep = layer.get<bool>("keepdim", false);
  return {reduced("ReduceMin", x, dim, keep), reduced("ReduceMax", x, dim, keep)};
}
Value wsum(Builder& layer) {
  auto weights = layer.get<std::vector<double>>("weights");
  Value sum = like(layer.input(0), layer.get<double>("shift", 0));
  for (size_t i = 0; i < layer.inputs(); ++i) sum = sum + layer.input(i) * weights.at(i);
  return sum;
}
std::vector<Value> cuts(Builder& layer) {
  std::vector<Value> parts = build::split(layer.input(0), 1, layer.get<std::vector<int64_t>>("sizes"));
  for (size_t i = 0; i < parts.size(); ++i) parts[i] = parts[i] * static_cast<double>(i + 1);
  return parts;
}
std::vector<Value> keep_above(Builder& layer) {
  Value x = reshape(layer.input(0), {-1});
  Value above = layer.op("Greater", {x, like(x, layer.get<double>("limit"))});
  Value at = reshape(layer.op("NonZero", {above}, {{"output_type", DType::i64}}), {-1});
  return {build::gather(x, at, 0), at};
}
Value scaled(Builder& layer) { return layer.input(0) * layer.get<double>("k"); }
Value scaled_by_tensor(Builder& layer) { return layer.input(0) * layer.input(1) + 1.0; }
Value scaled_twice(Builder& layer) {
  Value y = layer.input(0) * layer.get<double>("a", 1) * layer.get<double>("b", 2);
  const graft_value* type = layer.field("dtype");
  return type ? convert(y, static_cast<DType>(type->i)) : y;
}
// A tensor that may be None: its name tells which one an input is.
Value affine(Builder& layer) {
  auto names = layer.get<std::vector<std::string>>("call.inputs");
  auto named = [&](std::string_view name) {
    for (size_t i = 0; i < names.size(); ++i)
      if (names[i] == name) return layer.input(i);
    return Value();
  };
  Value y = named("x");
  if (Value w = named("weight")) y = y * w;
  if (Value b = named("bias")) y = y + b;
  if (layer.has("eps")) y = y / (layer.op("Abs", {y}) + layer.get<double>("eps"));
  return y;
}
// Sizes may be inputs: size.0, size.1, ...
Value size_at(Builder& layer, std::string_view name) {
  auto names = layer.get<std::vector<std::string>>("call.inputs");
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return reshape(convert(layer.input(i), DType::i64), {1});
  size_t dot = name.find('.');
  auto plain = layer.get<std::vector<int64_t>>(name.substr(0, dot), {0});
  size_t at = dot == name.npos ? 0 : static_cast<size_t>(name[dot + 1] - '0');
  return layer.ints({plain.at(at)});
}
Value fit(Builder& layer) {
  Value x = layer.input(0);
  std::vector<int64_t> axes;
  for (size_t i = 0; i < x.rank(); ++i) axes.push_back(static_cast<int64_t>(i));
  Value mean = layer.op("ReduceMean", {x, layer.ints(axes)}, {{"keep_dims", false}});
  Value pad = as_scalar(convert(size_at(layer, "pad"), x.type()));
  // As many sizes as the list or the names of the inputs have.
  size_t count = layer.get<std::vector<int64_t>>("size", {}).size();
  for (const std::string& name : layer.get<std::vector<std::string>>("call.inputs"))
    if (name.starts_with("size.")) count = std::max(count, static_cast<size_t>(name[5] - '0') + 1);
  std::vector<Value> sizes;
  for (size_t i = 0; i < count; ++i) sizes.push_back(size_at(layer, "size." + std::to_string(i)));
  return build::broadcast(mean + pad, build::concat(sizes, 0));
}
Value patches(Builder& layer) {
  Value x = layer.input(0);
  auto size = layer.get<std::vector<int64_t>>("size");
  auto step = layer.get<int64_t>("stride", 1);
  Shape s = x.shape();
  int64_t rows = (s[2].value() - size.at(0)) / step + 1, columns = (s[3].value() - size.at(1)) / step + 1;
  std::vector<Value> taps;
  for (int64_t i = 0; i < size[0]; ++i)
    for (int64_t k = 0; k < size[1]; ++k) {
      Value part = build::slice(build::slice(x, 2, i, i + (rows - 1) * step + 1, step), 3, k,
                                k + (columns - 1) * step + 1, step);
      taps.push_back(reshape(part, {s[0].value(), s[1].value(), 1, rows * columns}));
    }
  Value all = reshape(build::concat(taps, 2), {s[0].value(), s[1].value() * size[0] * size[1], rows * columns});
  return layer.get<std::string>("layout", "bnc") == "bnc" ? transpose(all, {0, 2, 1}) : all;
}
std::vector<Value> flash(Builder& layer) {
  Value q = layer.input(0), k = layer.input(1), v = layer.input(2);
  Value scores = build::matmul(q, k, false, true) * layer.get<double>("scale");
  if (layer.get<bool>("causal")) {
    Value rows = unsqueeze(counting(dimension_of(q, -2), DType::i64), {1}),
          columns = unsqueeze(counting(dimension_of(k, -2), DType::i64), {0});
    scores = build::select(layer.op("LessEqual", {columns, rows}), scores, like(scores, -INFINITY));
  }
  auto last = static_cast<int64_t>(scores.rank()) - 1;
  Value most = reduced("ReduceMax", scores, last, true);
  Value sum = reduced("ReduceSum", layer.op("Exp", {scores - most}), last, true);
  return {build::matmul(build::softmax(scores, last), v), squeeze(layer.op("Log", {sum}) + most, {last})};
}

}  // namespace

GRAFT_EXTENSION("recorded_torch", "1.0") {
  return {op<Coshc>("Coshc", "acme").inputs("x").infer(coshc_infer).reference(coshc_run).import(torch("acme::coshc")),
          op<NoAttributes>("Popcount", "acme")
              .inputs("x")
              .infer(popcount_infer)
              .reference(popcount_run)
              .import(torch("acme::popcount")),
          op<Decay>("Decay", "acme")
              .inputs("state, x")
              .infer(decay_infer)
              .reference(decay_run)
              .import(torch("acme::decay_")),
          torch("acme::minmax").expand(minmax),
          torch("acme::wsum").expand(wsum),
          torch("acme::cuts").expand(cuts),
          torch("acme::keep_above").expand(keep_above),
          torch("acme::scale.default").expand(scaled),
          torch("acme::scale.tensor").expand(scaled_by_tensor),
          torch("acme::scale.twice").expand(scaled_twice),
          torch("acme::affine").expand(affine),
          torch("acme_vision::fit").expand(fit),
          torch("acme_vision::patches").expand(patches),
          torch("acme::flash").expand(flash)};
}
