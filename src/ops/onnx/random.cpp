// Random layers of ONNX, all built from uniform random numbers.
#include <bit>
#include <graft/kit/expressions.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

// ONNX stores the seed as a float; its bit pattern serves as the seed. If it is omitted, results differ between runs.
int64_t random_seed(Builder& layer) { return std::bit_cast<uint32_t>(layer.get<float>("seed", 0)); }

DType random_type(Builder& layer, DType fallback) {
  return layer.has("dtype") ? onnx_element_type(layer.get<int64_t>("dtype")) : fallback;
}
// Half precision provides few random bits, and integers none: generate those from f32.
DType random_wide(DType type) { return type == DType::f64 ? type : DType::f32; }

Value random_uniform_numbers(Builder& layer, const Value& shape, DType type, double low, double high, int64_t seed) {
  if (low == high) return build::fill(layer, low, type, shape);
  return layer.op("RandomUniform", {shape, layer.scalar(low, type), layer.scalar(high, type)},
                  {{"output_type", type}, {"global_seed", 0}, {"op_seed", seed}});
}

Value random_uniform_layer(Builder& layer, const Value& shape, DType type) {
  double low = layer.get<float>("low", 0), high = layer.get<float>("high", 1);
  if (low > high) fail("expected low <= high, got ", low, " and ", high);
  return convert(random_uniform_numbers(layer, shape, random_wide(type), low, high, random_seed(layer)), type);
}

// Box-Muller transform: two uniform numbers yield a normally distributed one.
Value random_normal_layer(Builder& layer, const Value& shape, DType type) {
  double mean = layer.get<float>("mean", 0), scale = layer.get<float>("scale", 1);
  int64_t seed = random_seed(layer), other = seed ? seed + 10000 : 0;
  DType wide = random_wide(type);
  constexpr double pi = 3.14159265358979323846;
  Value a = random_uniform_numbers(layer, shape, wide, std::numeric_limits<float>::min(), 1, seed),
        b = random_uniform_numbers(layer, shape, wide, 0, 1, other);
  Value radius = layer.op("Sqrt", {layer.op("Log", {a}) * -2.0}), angle = layer.op("Cos", {b * (2 * pi)});
  return convert(radius * angle * scale + mean, type);
}

Value random_shape(Builder& layer) { return layer.ints(layer.get<std::vector<int64_t>>("shape")); }
DType random_like_type(Builder& layer) {
  DType type = random_type(layer, layer.input(0).type());
  if (type == DType::undefined) unsupported("the element type of the input is unknown: set the attribute 'dtype'");
  return type;
}

Value import_random_uniform(Builder& layer) {
  return random_uniform_layer(layer, random_shape(layer), random_type(layer, DType::f32));
}
Value import_random_uniform_like(Builder& layer) {
  return random_uniform_layer(layer, shape_of(layer.input(0)), random_like_type(layer));
}
Value import_random_normal(Builder& layer) {
  return random_normal_layer(layer, random_shape(layer), random_type(layer, DType::f32));
}
Value import_random_normal_like(Builder& layer) {
  return random_normal_layer(layer, shape_of(layer.input(0)), random_like_type(layer));
}

Value import_bernoulli(Builder& layer) {
  Value p = layer.input(0);
  DType wide = random_wide(p.type());
  Value drawn = random_uniform_numbers(layer, shape_of(p), wide, 0, 1, random_seed(layer));
  return convert(layer.op("Less", {drawn, convert(p, wide)}), random_like_type(layer));
}

Value import_multinomial(Builder& layer) {
  return layer.op("Multinomial", {layer.input(0), layer.ints({layer.get<int64_t>("sample_size", 1)})},
                  {{"convert_type", random_type(layer, DType::i32)},
                   {"with_replacement", true},
                   {"log_probs", true},
                   {"global_seed", 0},
                   {"op_seed", random_seed(layer)}});
}

}  // namespace

Definitions define_onnx_random() {
  return {
      onnx("RandomUniform").expand(import_random_uniform), onnx("RandomUniformLike").expand(import_random_uniform_like),
      onnx("RandomNormal").expand(import_random_normal),   onnx("RandomNormalLike").expand(import_random_normal_like),
      onnx("Bernoulli").expand(import_bernoulli),          onnx("Multinomial").expand(import_multinomial),
  };
}

}  // namespace graft
