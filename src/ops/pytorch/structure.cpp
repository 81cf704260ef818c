// What is not ATen in exported programs: arithmetic of sizes, assertions, control flow, quantization.
#include "onnx/loops.hpp"
#include "pytorch/call.hpp"

namespace graft {
namespace {

using pt::Call, pt::Ints;

// ---- sizes and numbers ----

Value import_pt_sym_size(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  return dimension_of(x, pt::axis_of(c.integer("dim"), x.rank()));
}
Value import_pt_sym_numel(Builder& layer) {
  Call c(layer);
  Value x = c.find("self") ? c["self"] : c["a"];
  return layer.op("ReduceProd", {shape_of(x), layer.ints({0})}, {{"keep_dims", false}});
}
Value import_pt_sym_offset(Builder& layer) { return layer.scalar(int64_t{0}); }

// An operand that is a value or a plain number. Numbers of Python are 64 bits wide.
Value pt_operand(Call& c, std::string_view name) {
  if (Value v = c.find(name))
    return pt::is_float(v.type()) ? convert(v, DType::f64) : v.type() == DType::boolean ? v : convert(v, DType::i64);
  const graft_value* f = c.in.field(name);
  if (f && f->kind == GRAFT_FLOAT) return c.in.scalar(f->f, DType::f64);
  if (f && f->kind == GRAFT_BOOL) return c.in.truth(f->i != 0);
  return c.in.scalar(c.integer(name));
}
struct PtOperator {
  std::string_view type, op;
};
constexpr PtOperator pt_operators[] = {
    {"_operator::add", "Add"},         {"_operator::sub", "Subtract"},  {"_operator::mul", "Multiply"},
    {"_operator::floordiv", "Divide"}, {"_operator::mod", "FloorMod"},  {"_operator::pow", "Power"},
    {"_operator::eq", "Equal"},        {"_operator::ne", "NotEqual"},   {"_operator::lt", "Less"},
    {"_operator::le", "LessEqual"},    {"_operator::gt", "Greater"},    {"_operator::ge", "GreaterEqual"},
    {"_operator::and_", "LogicalAnd"}, {"_operator::or_", "LogicalOr"}, {"torch::sym_max", "Maximum"},
    {"torch::sym_min", "Minimum"}};
Value import_pt_operator(Builder& layer) {
  Call c(layer);
  Value a = pt_operand(c, "a"), b = pt_operand(c, "b");
  if (a.type() != b.type() && a.type() != DType::boolean && b.type() != DType::boolean)
    a = convert(a, DType::f64), b = convert(b, DType::f64);
  for (const PtOperator& row : pt_operators)
    if (row.type == layer.type()) {
      if (row.op == "Divide" && pt::is_float(a.type())) return layer.op("Floor", {a / b});
      return layer.op(row.op, {a, b});
    }
  fail("no operation for '", layer.type(), "'");
}
Value import_pt_true_quotient(Builder& layer) {
  Call c(layer);
  return convert(pt_operand(c, "a"), DType::f64) / convert(pt_operand(c, "b"), DType::f64);
}
Value import_pt_negative(Builder& layer) {
  Call c(layer);
  return -pt_operand(c, "a");
}
Value import_pt_not(Builder& layer) {
  Call c(layer);
  return pt::sign_not(pt::truth_of(pt_operand(c, c.given("a") ? "a" : "self")));
}
Value import_pt_sym_float(Builder& layer) {
  Call c(layer);
  return convert(pt_operand(c, "a"), DType::f64);
}
Value import_pt_to_int(Builder& layer) {
  Call c(layer);
  Value a = pt_operand(c, "a");
  if (!pt::is_float(a.type())) return a;
  std::string_view t = layer.type();
  if (t.find("ceil") != t.npos) a = layer.op("Ceiling", {a});
  if (t.find("floor") != t.npos) a = layer.op("Floor", {a});
  if (t.find("round") != t.npos) a = layer.op("Round", {a});
  return convert(pt::truncated(a), DType::i64);
}
Value import_pt_sym_ite(Builder& layer) {
  Call c(layer);
  return pt::where(pt_operand(c, "b"), pt_operand(c, "t"), pt_operand(c, "f"));
}
Value import_pt_item(Builder& layer) {
  Call c(layer);
  Value x = as_scalar(c["self"]);
  return pt::is_float(x.type()) ? convert(x, DType::f64) : x.type() == DType::boolean ? x : convert(x, DType::i64);
}
std::vector<Value> import_pt_assertion(Builder&) { return {}; }
// Exported programs draw numbers that they do not use.
std::vector<Value> import_pt_random(Builder& layer) {
  if (layer.output_used(0)) unsupported("random numbers are not supported");
  return {};
}

// ---- quantization ----

struct PtLevels {
  Value scale, zero;
};
Value pt_along(const Value& v, size_t rank, int64_t axis) {
  Ints dims(rank, 1);
  dims[static_cast<size_t>(axis)] = -1;
  return reshape(v, dims);
}
PtLevels pt_levels(Call& c, const Value& x) {
  bool channels = c.in.type().find("per_channel") != std::string_view::npos;
  auto one = [&](std::initializer_list<const char*> names) {
    for (const char* n : names)
      if (c.given(n)) return c.number(n, DType::f32);
    return Value();
  };
  Value scale = one({"scales", "scale"}), zero = one({"zero_points", "zero_point"});
  if (!scale) fail("expected a scale");
  if (!zero) zero = like(scale, 0);
  if (channels) {
    int64_t axis = pt::axis_of(c.integer("axis"), x.rank());
    return {pt_along(scale, x.rank(), axis), pt_along(zero, x.rank(), axis)};
  }
  if (scale.rank() == 1) scale = as_scalar(scale);
  if (zero.rank() == 1) zero = as_scalar(zero);
  return {scale, zero};
}
Value pt_rounded_levels(Call& c, const Value& x, const PtLevels& l) {
  Value q = c.in.op("Round", {x / l.scale}) + l.zero;
  double low = c.real("quant_min"), high = c.real("quant_max");
  return c.in.op("Clamp", {q}, {{"min", low}, {"max", high}});
}
Value import_pt_quantize(Builder& layer) {
  Call c(layer);
  Value x = convert(c["input"], DType::f32);
  return convert(pt_rounded_levels(c, x, pt_levels(c, x)), c.dtype().value_or(DType::i8));
}
Value import_pt_dequantize(Builder& layer) {
  Call c(layer);
  for (const char* n : {"quant_min", "quant_max", "dtype"}) layer.has(n);
  Value x = convert(c["input"], DType::f32);
  PtLevels l = pt_levels(c, x);
  Value zero = l.zero;
  if (auto v = zero.values<double>(); v && v->size() == 1 && (*v)[0] == 0) return x * l.scale;
  return (x - zero) * l.scale;
}
Value import_pt_fake_quantize(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  PtLevels l = pt_levels(c, x);
  return (pt_rounded_levels(c, x, l) - l.zero) * l.scale;
}
std::vector<Value> import_pt_choose_qparams(Builder& layer) {
  Call c(layer);
  Value x = convert(c["input"], DType::f32);
  layer.has("dtype");
  double low = c.real("quant_min"), high = c.real("quant_max"), eps = c.real("eps");
  Ints all = pt::counting_to(x.rank());
  Value least = pt::reduce("ReduceMin", x, all, false), most = pt::reduce("ReduceMax", x, all, false);
  least = layer.op("Minimum", {least, like(least, 0)}), most = layer.op("Maximum", {most, like(most, 0)});
  if (layer.type().find("symmetric") != std::string_view::npos) {
    Value size = layer.op("Maximum", {-least, most});
    Value scale = layer.op("Maximum", {size / ((high - low) / 2), like(size, eps)});
    return {convert(scale, DType::f64), layer.scalar(int64_t{0})};
  }
  Value scale = layer.op("Maximum", {(most - least) / (high - low), like(most, eps)});
  Value zero = layer.op("Clamp", {low - layer.op("Round", {least / scale})}, {{"min", low}, {"max", high}});
  return {reshape(convert(scale, DType::f64), {1}), reshape(convert(zero, DType::i64), {1})};
}

// ---- loops ----

std::vector<Value> import_pt_loop(Builder& layer) { return make_loop(layer, layer.scalar(int64_t{-1})); }

}  // namespace

Definitions define_pytorch_structure() {
  Definitions out;
  for (const PtOperator& row : pt_operators) out += pt::rule_of(row.type).expand(import_pt_operator);
  out += Definitions{
      pt::rules({"aten::sym_size"}, import_pt_sym_size),
      pt::rules({"aten::sym_numel", "aten::numel"}, import_pt_sym_numel),
      pt::rules({"aten::sym_storage_offset"}, import_pt_sym_offset),
      pt::rules({"_operator::truediv"}, import_pt_true_quotient),
      pt::rules({"_operator::neg"}, import_pt_negative),
      pt::rules({"_operator::not_", "torch::sym_not"}, import_pt_not),
      pt::rules({"torch::sym_float"}, import_pt_sym_float),
      pt::rules({"torch::sym_int", "math::trunc", "math::ceil", "math::floor", "_operator::round", "builtins::round"},
                import_pt_to_int),
      pt::rules({"torch::sym_ite"}, import_pt_sym_ite),
      pt::rules({"aten::item", "aten::_local_scalar_dense"}, import_pt_item),
      pt::rules({"aten::_assert_scalar", "aten::_assert_async", "aten::_assert_tensor_metadata",
                 "aten::sym_constrain_range", "aten::sym_constrain_range_for_size"},
                import_pt_assertion,
                {"assert_msg", "a", "dtype", "size", "stride", "self", "min", "max", "device", "layout"}),
      pt::rules({"aten::rand", "aten::randn", "aten::rand_like", "aten::randn_like", "aten::randint", "aten::bernoulli",
                 "aten::normal", "aten::uniform", "aten::randperm", "aten::multinomial"},
                import_pt_random,
                {"size", "dtype", "low", "high", "p", "mean", "std", "n", "num_samples", "replacement"}),
      pt::rules({"quantized_decomposed::quantize_per_tensor", "quantized_decomposed::quantize_per_channel"},
                import_pt_quantize, {"eps"}),
      pt::rules({"quantized_decomposed::dequantize_per_tensor", "quantized_decomposed::dequantize_per_channel"},
                import_pt_dequantize, {"out_dtype"}),
      pt::rules({"aten::fake_quantize_per_tensor_affine", "aten::fake_quantize_per_channel_affine"},
                import_pt_fake_quantize),
      pt::rules({"quantized_decomposed::choose_qparams", "quantized_decomposed::choose_qparams_symmetric"},
                import_pt_choose_qparams),
      torch("Loop").domain("graft").expand(import_pt_loop),
  };
  return out;
}

}  // namespace graft
