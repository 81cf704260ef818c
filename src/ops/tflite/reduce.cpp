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
constexpr Reduction reductions[] = {{"MEAN", "ReduceMean", false},      {"SUM", "ReduceSum", false},
                                    {"REDUCE_PROD", "ReduceProd", false}, {"REDUCE_MAX", "ReduceMax", true},
                                    {"REDUCE_MIN", "ReduceMin", true},  {"REDUCE_ANY", "ReduceLogicalOr", true},
                                    {"REDUCE_ALL", "ReduceLogicalAnd", true}};
template <size_t i>
Value tfl_reduced(Builder& layer) {
  constexpr Reduction r = reductions[i];
  Value x = r.orders ? layer.input(0) : real(layer, 0);
  Value y = layer.op(r.op, {x, tf::as_list(layer.input(1))}, {{"keep_dims", layer.get<bool>("keep_dims", false)}});
  return r.orders ? tfl::moved(layer, y) : result(layer, y, 0, tfl::Halves::away);
}
template <size_t... i>
void add_reductions(Definitions& to, std::index_sequence<i...>) {
  (void(to += tfl::rule(reductions[i].type, tfl_reduced<i>)), ...);
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
  std::vector<Value> out = layer.ops("TopK@11", {layer.input(0), tf::as_scalar(layer.input(1))},
                                     {{"axis", -1},
                                      {"mode", "max"},
                                      {"sort", "value"},
                                      {"index_element_type", DType::i64},
                                      {"stable", true}},
                                     2);
  return {tfl::moved(layer, out[0]), convert(out[1], index == DType::undefined ? DType::i32 : index)};
}
Value tfl_cumsum(Builder& layer) {
  return result(layer, layer.op("CumSum", {real(layer, 0), tf::as_scalar(layer.input(1))},
                                {{"exclusive", layer.get<bool>("exclusive", false)},
                                 {"reverse", layer.get<bool>("reverse", false)}}));
}

// Integers are interpolated as they are: the result has the same steps, halves go away from zero.
Value tfl_resize_bilinear(Builder& layer) {
  Value y = tf::resize_bilinear(layer);
  DType type = layer.input(0).type();
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
                     {"op_seed", static_cast<int64_t>(static_cast<uint64_t>(layer.get<int64_t>("seed2", 0)) + static_cast<uint64_t>(more))},
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
  return layer.op("ReadValue@6", in,
                  {{"variable_id", layer.get<std::string>("variable_id")}, {"variable_type", type}, {"variable_shape", shape}});
}
void tfl_assign_variable(Builder& layer) {
  layer.op("Assign@6", {layer.input(0)}, {{"variable_id", layer.get<std::string>("variable_id")}});
}
// Inputs: keys and values of the table, what to look up, the value of what is not there.
Value tfl_table_find(Builder& layer) {
  return layer.op("LabelEncoder@graft", {layer.input(2), layer.input(0), layer.input(1), tf::as_scalar(layer.input(3))});
}
Value tfl_table_size(Builder& layer) { return build::dims(layer.input(0), {0}); }

}  // namespace

Definitions define_tflite_reduce() {
  Definitions ops;
  add_reductions(ops, std::make_index_sequence<std::size(reductions)>());
  ops += Definitions{
      tfl::rule("ARG_MAX", tfl_arg_extreme<true>),
      tfl::rule("ARG_MIN", tfl_arg_extreme<false>),
      Rule("tflite", "AssignVariable").domain("graft").expand(tfl_assign_variable),
      tfl::rule("BUCKETIZE", tf::bucketize),
      tfl::rule("CUMSUM", tfl_cumsum),
      tfl::rule("MULTINOMIAL", tfl_multinomial),
      tfl::rule("NON_MAX_SUPPRESSION_V4", tf::nms_4),
      tfl::rule("NON_MAX_SUPPRESSION_V5", tf::nms_5),
      tfl::rule("RANDOM_STANDARD_NORMAL", tfl_random_normal),
      tfl::rule("RANDOM_UNIFORM", tfl_random_uniform),
      Rule("tflite", "ReadVariable").domain("graft").expand(tfl_read_variable),
      tfl::rule("RESIZE_BILINEAR", tfl_resize_bilinear),
      tfl::rule("RESIZE_NEAREST_NEIGHBOR", tf::resize_nearest),
      Rule("tflite", "TableFind").domain("graft").expand(tfl_table_find),
      Rule("tflite", "TableSize").domain("graft").expand(tfl_table_size),
      tfl::rule("TOPK_V2", tfl_top_k),
  };
  return ops;
}

}  // namespace graft
