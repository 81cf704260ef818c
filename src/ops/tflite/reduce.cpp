// Reductions, searching, resizing, boxes, random numbers, variables and tables.
#include "building.hpp"
#include "tensorflow/rules.hpp"

namespace graft {
namespace {

using tfl::real, tfl::result;

struct Reduction {
  std::string_view type, op;
  bool orders;  // gives one of the elements: integers can be compared as they are
};
constexpr Reduction reductions[] = {{"MEAN", "ReduceMean", false},           {"SUM", "ReduceSum", false},
                                    {"REDUCE_PROD", "ReduceProd", false},    {"REDUCE_MAX", "ReduceMax", true},
                                    {"REDUCE_MIN", "ReduceMin", true},       {"REDUCE_ANY", "ReduceLogicalOr", true},
                                    {"REDUCE_ALL", "ReduceLogicalAnd", true}};
template <size_t i>
Value tfl_reduced(Builder& layer) {
  constexpr Reduction r = reductions[i];
  Value x = r.orders ? layer.input(0) : real(layer, 0);
  Value y = layer.op(r.op, {x, tf::as_list(layer.input(1))}, {{"keep_dims", layer.get<bool>("keep_dims", false)}});
  return r.orders ? tfl::moved(layer, y) : result(layer, y, 0, tfl::Halves::away);
}
// The number of elements is part of the factor, whose fraction it makes longer.
Value tfl_mean(Builder& layer) {
  auto from = tfl::input_steps(layer, 0), to = tfl::output_steps(layer);
  Value x = layer.input(0), axes = tf::as_list(layer.input(1));
  auto list = axes.values<int64_t>();
  Shape s = x.shape();
  int64_t count = 1;
  bool known = tfl::is_plain(from) && tfl::is_plain(to) && bits_of(x.type()) == 8 && list && s.is_static();
  for (size_t i = 0; known && i < list->size(); ++i) count *= s[normalize_axis((*list)[i], s.rank())].value();
  if (!known || count < 1 || count > 1 << 16) return tfl_reduced<0>(layer);
  Value sum =
      layer.op("ReduceSum", {tfl::centred(x, *from), axes}, {{"keep_dims", layer.get<bool>("keep_dims", false)}});
  double factor = from->scale[0] / to->scale[0];
  int length = tfl::exponent_of(static_cast<double>(count)) - 1;
  Value y = tfl::rescaled(sum, factor / static_cast<double>(count), length - tfl::exponent_of(factor));
  return tfl::in_steps(layer, y, *to, tfl::output_type(layer));
}
template <size_t... i>
void add_reductions(Definitions& to, std::index_sequence<i...>) {
  (void(to += tfl::rule(reductions[i].type, i == 0 ? tfl_mean : tfl_reduced<i>)), ...);
}

// The first of equal elements.
template <bool largest>
Value tfl_arg_extreme(Builder& layer) {
  int64_t axis = tf::constant_int(layer.input(1), "axis");
  Value index = layer.ops("TopK@11", {layer.input(0), layer.scalar(int64_t{1})},
                          {{"axis", axis},
                           {"mode", largest ? "max" : "min"},
                           {"sort", "value"},
                           {"index_element_type", DType::i64},
                           {"stable", true}},
                          2)[1];
  DType type = layer.get<DType>("output_type", DType::i64);
  if (DType real_type = tfl::output_type(layer); real_type != DType::undefined) type = real_type;
  return convert(squeeze(index, {axis}), type);
}
std::vector<Value> tfl_top_k(Builder& layer) {
  DType index = tfl::output_type(layer, 1);
  std::vector<Value> out = layer.ops(
      "TopK@11", {layer.input(0), tf::as_scalar(layer.input(1))},
      {{"axis", -1}, {"mode", "max"}, {"sort", "value"}, {"index_element_type", DType::i64}, {"stable", true}}, 2);
  return {tfl::moved(layer, out[0]), convert(out[1], index == DType::undefined ? DType::i32 : index)};
}
Value tfl_cumsum(Builder& layer) {
  return result(layer, layer.op("CumSum", {real(layer, 0), tf::as_scalar(layer.input(1))},
                                {{"exclusive", layer.get<bool>("exclusive", false)},
                                 {"reverse", layer.get<bool>("reverse", false)}}));
}

// Integers are interpolated as they are: the result has the same steps, halves go away from zero.
// Along an axis, places are multiples of 1/1024: a matrix of weights where this moves them.
Value tfl_weights(Builder& layer, int64_t in, int64_t out, bool aligned, bool half) {
  int64_t step = aligned && out > 1 ? (1024 * (in - 1) + (out - 1) / 2) / (out - 1) : (1024 * in + out / 2) / out;
  std::vector<float> w(static_cast<size_t>(in * out), 0.0f);
  for (int64_t i = 0; i < out; ++i) {
    int64_t place = half ? i * step + step / 2 - 512 : i * step;
    int64_t low = std::clamp<int64_t>(place >> 10, 0, in - 1), high = std::min(low + 1, in - 1);
    if (place < 0) high = low;
    auto part = static_cast<float>(place - 1024 * low) / 1024;
    if (low == high) part = 0;
    w[static_cast<size_t>(i * in + low)] += 1 - part, w[static_cast<size_t>(i * in + high)] += part;
  }
  return layer.constant<float>(std::move(w), {out, in});
}
std::optional<Value> tfl_resized_by_matrices(Builder& layer) {
  Value x = layer.input(0);
  Shape s = x.shape();
  auto size = layer.input(1).values<int64_t>();
  if (!s.ranked() || s.rank() != 4 || !s[1].known() || !s[2].known() || !size || size->size() != 2) return std::nullopt;
  bool aligned = layer.get<bool>("align_corners", false), half = layer.get<bool>("half_pixel_centers", false),
       exact = true;
  std::vector<Value> weights;
  for (size_t i = 0; i < 2; ++i) {
    int64_t in = s[i + 1].value(), out = (*size)[i];
    if (in < 1 || out < 1 || in > 4096 || out > 4096) return std::nullopt;
    exact = exact && (aligned && out > 1 ? 1024 * (in - 1) % (out - 1) : 1024 * in % out) == 0;
    weights.push_back(tfl_weights(layer, in, out, aligned, half));
  }
  if (exact) return std::nullopt;
  Value y = build::matmul(weights[0], convert(tf::channels_second(x, 2), DType::f32));
  return tf::channels_last(build::matmul(y, weights[1], false, true), 2);
}
Value tfl_resize_bilinear(Builder& layer) {
  DType type = layer.input(0).type();
  if (is_integer(type))
    if (auto y = tfl_resized_by_matrices(layer)) return tfl::rounded(*y, type, 0, tfl::Halves::away);
  Value y = tf::resize_bilinear(layer);
  return is_integer(type) ? tfl::rounded(y, type, 0, tfl::Halves::away) : y;
}

Value tfl_random_uniform(Builder& layer) {
  return layer.op("RandomUniform", {layer.input(0), layer.scalar(0.0, DType::f32), layer.scalar(1.0, DType::f32)},
                  {{"output_type", DType::f32},
                   {"op_seed", layer.get<int64_t>("seed2", 0)},
                   {"global_seed", layer.get<int64_t>("seed", 0)}});
}
// Pairs of uniform numbers by Box and Muller.
Value tfl_random_normal(Builder& layer) {
  constexpr double pi = 3.14159265358979323846;
  auto uniform = [&](int64_t more) {
    return layer.op("RandomUniform", {layer.input(0), layer.scalar(1e-7, DType::f32), layer.scalar(1.0, DType::f32)},
                    {{"output_type", DType::f32},
                     {"op_seed", static_cast<int64_t>(static_cast<uint64_t>(layer.get<int64_t>("seed2", 0)) +
                                                      static_cast<uint64_t>(more))},
                     {"global_seed", layer.get<int64_t>("seed", 0)}});
  };
  Value radius = layer.op("Sqrt", {layer.op("Log", {uniform(0)}) * -2});
  return radius * layer.op("Cos", {uniform(1) * (2 * pi)});
}
Value tfl_multinomial(Builder& layer) {
  DType type = tfl::output_type(layer);
  return layer.op("Multinomial", {layer.input(0), tf::as_list(layer.input(1))},
                  {{"convert_type", type == DType::undefined ? DType::i64 : type},
                   {"with_replacement", true},
                   {"log_probs", true},
                   {"global_seed", layer.get<int64_t>("seed", 0)},
                   {"op_seed", layer.get<int64_t>("seed2", 0)}});
}

// The reader gives the value of a variable before the run, and the last one it is assigned.
Value tfl_read_variable(Builder& layer) {
  std::vector<Value> in;
  if (layer.has_input(0)) in.push_back(layer.input(0));
  auto type = layer.get<DType>("type");
  auto shape = layer.get<Shape>("shape");
  if (!in.empty()) type = in[0].type(), shape = in[0].shape();
  return layer.op(
      "ReadValue@6", in,
      {{"variable_id", layer.get<std::string>("variable_id")}, {"variable_type", type}, {"variable_shape", shape}});
}
void tfl_assign_variable(Builder& layer) {
  layer.op("Assign@6", {layer.input(0)}, {{"variable_id", layer.get<std::string>("variable_id")}});
}
// Inputs: keys and values of the table, what to look up, the value of what is not there.
Value tfl_table_find(Builder& layer) {
  return layer.op("LabelEncoder@graft",
                  {layer.input(2), layer.input(0), layer.input(1), tf::as_scalar(layer.input(3))});
}
Value tfl_table_size(Builder& layer) { return build::dims(layer.input(0), {0}); }

}  // namespace

Definitions define_tflite_reduce() {
  Definitions ops;
  add_reductions(ops, std::make_index_sequence<std::size(reductions)>());
  ops += Definitions{
      tfl::rule("ARG_MAX", tfl_arg_extreme<true>),
      tfl::rule("ARG_MIN", tfl_arg_extreme<false>),
      tflite("AssignVariable").domain("graft").expand(tfl_assign_variable),
      tfl::rule("BUCKETIZE", tf::bucketize),
      tfl::rule("CUMSUM", tfl_cumsum),
      tfl::rule("MULTINOMIAL", tfl_multinomial),
      tfl::rule("NON_MAX_SUPPRESSION_V4", tf::nms_4),
      tfl::rule("NON_MAX_SUPPRESSION_V5", tf::nms_5),
      tfl::rule("RANDOM_STANDARD_NORMAL", tfl_random_normal),
      tfl::rule("RANDOM_UNIFORM", tfl_random_uniform),
      tflite("ReadVariable").domain("graft").expand(tfl_read_variable),
      tfl::rule("RESIZE_BILINEAR", tfl_resize_bilinear),
      tfl::rule("RESIZE_NEAREST_NEIGHBOR", tf::resize_nearest),
      tflite("TableFind").domain("graft").expand(tfl_table_find),
      tflite("TableSize").domain("graft").expand(tfl_table_size),
      tfl::rule("TOPK_V2", tfl_top_k),
  };
  return ops;
}

}  // namespace graft
