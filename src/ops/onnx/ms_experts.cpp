// Mixtures of experts of ONNX Runtime (com.microsoft): MoE, and QMoE with weights that are quantized in blocks.
//
// A router chooses k of E feed-forward networks for each token. All of them are computed for all tokens, and the k
// results are picked: the choice depends on the data, the products do not.
#include <graft/kit/expressions.hpp>
#include <graft/op.hpp>

#include "onnx/packed_bits.hpp"

namespace graft {
namespace {

// The weights [E, N, K] and biases [E, N] of a layer of all experts.
struct ExpertLayer {
  Value weights, bias;
  explicit operator bool() const { return static_cast<bool>(weights); }
};

// Of tokens [T, K] or, expert by expert, [E, T, K]; the result is [E, T, N].
Value expert_product(const Value& x, const ExpertLayer& fc) {
  Value y = build::matmul(x, fc.weights, false, true);
  return fc.bias ? y + unsqueeze(fc.bias, {1}) : y;
}

// swiglu(gate, linear) = g * sigmoid(alpha * g) * (l + beta), with both clamped.
Value swish_gate(Builder& layer, Value gate, Value linear) {
  if (layer.has("swiglu_limit")) {
    double limit = layer.get<float>("swiglu_limit");
    gate = layer.op("Minimum", {gate, like(gate, limit)});
    linear = layer.op("Clamp", {linear}, {{"min", -limit}, {"max", limit}});
  }
  Value open = layer.op("Sigmoid", {gate * layer.get<float>("activation_alpha", 1.0f)});
  return gate * open * (linear + layer.get<float>("activation_beta", 0.0f));
}

Value expert_activation(Builder& layer, Value x, const std::string& type) {
  if (type == "identity") return x;
  if (type == "relu") return layer.op("Relu", {x});
  if (type == "silu") return layer.op("Swish", {x});
  if (type == "gelu") return layer.op("Gelu@7", {x}, {{"approximation_mode", "TANH"}});
  fail("expected activation_type relu, gelu, silu, swiglu or identity, got '", type, "'");
}

// What is between the two products; fc3 is a second product with the tokens.
Value expert_middle(Builder& layer, const Value& tokens, const ExpertLayer& fc1, const ExpertLayer& fc3) {
  auto type = layer.get<std::string>("activation_type", "relu");
  auto fusion = layer.get<int64_t>("swiglu_fusion", 0);
  Value y = expert_product(tokens, fc1);
  if (type != "swiglu") {
    y = expert_activation(layer, y, type);
    return fc3 ? y * expert_product(tokens, fc3) : y;
  }
  if (fusion == 0 && !fc3) fail("swiglu without fusion requires the weights of fc3");
  if (fusion == 0) return swish_gate(layer, y, expert_product(tokens, fc3));
  if (fusion != 1 && fusion != 2) fail("expected swiglu_fusion 0, 1 or 2, got ", fusion);
  if (fc3) fail("expected no weights of fc3 with swiglu_fusion ", fusion);
  std::vector<Value> parts;
  if (fusion == 2) parts = build::split(y, -1, 2);
  else parts = {build::slice(y, -1, 0, INT64_MAX, 2), build::slice(y, -1, 1, INT64_MAX, 2)};
  return swish_gate(layer, parts[0], parts[1]);
}

// `weights`: what the results are weighted by, or empty: the router's probabilities.
Value mixture(Builder& layer, const ExpertLayer& fc1, const ExpertLayer& fc2, const ExpertLayer& fc3,
              const Value& weights) {
  if (layer.get<bool>("use_sparse_mixer", false)) unsupported("the sparse mixer is not supported");
  auto k = layer.get<int64_t>("k", 1);
  Shape experts = fc1.weights.shape();
  if (k < 1 || (experts.ranked() && experts.rank() > 0 && experts[0].max() < k))
    fail("expected k of 1 to ", experts[0], " experts, got ", k);
  Value x = layer.input(0), width = build::dim(x, -1);
  Value tokens = build::reshape(x, {layer.ints({-1}), width});
  Value y = expert_product(expert_middle(layer, tokens, fc1, fc3), fc2);  // [E, T, H]

  Value probabilities = build::softmax(layer.input(1), -1);
  std::vector<Value> best =
      layer.ops("TopK@11", {probabilities, layer.scalar(static_cast<double>(k), DType::i64)},
                {{"axis", -1}, {"mode", "max"}, {"sort", "value"}, {"index_element_type", DType::i64}}, 2);
  Value share = weights ? layer.op("GatherElements", {weights, best[1]}, {{"axis", 1}}) : best[0];
  if (layer.get<bool>("normalize_routing_weights", false))
    share = share / layer.op("ReduceSum", {share, layer.ints({-1})}, {{"keep_dims", true}});
  Value chosen = layer.op("Gather", {transpose(y, {1, 0, 2}), best[1], layer.scalar(1)}, {{"batch_dims", 1}});
  Value sum = layer.op("ReduceSum", {chosen * unsqueeze(share, {2}), layer.ints({1})}, {{"keep_dims", false}});
  return layer.op("Reshape", {sum, shape_of(x)}, {{"special_zero", false}});
}

Value import_moe(Builder& layer) {
  auto given = [&](size_t i) { return layer.has_input(i) ? layer.input(i) : Value(); };
  return mixture(layer, {layer.input(2), given(3)}, {layer.input(4), given(5)}, {given(6), given(7)}, {});
}

// The weights of a layer: [E, N, K * bits / 8] bytes in input i, scales and bias behind them.
ExpertLayer quantized_layer(Builder& layer, size_t i, size_t zero, std::string_view bits_name, DType type) {
  if (!layer.has_input(i)) return {};
  Value bytes = layer.input(i), scales = layer.input(i + 1);
  auto bits = layer.get<int64_t>(bits_name, layer.get<int64_t>("expert_weight_bits", 4));
  check_packed_bits(bits);
  Shape s = bytes.shape();
  constexpr int64_t most = int64_t{1} << 31;
  bool fits = s.is_static() && s.rank() == 3 && s.elements().max() <= most;
  for (size_t d = 0; fits && d < 3; ++d) fits = s[d].value() <= most;  // next to one of 0
  if (!fits) fail("expected packed weights of a known shape [experts, rows, bytes], got ", s);
  int64_t experts = s[0].value(), rows = s[1].value(), columns = s[2].value() * (8 / bits);
  auto block = layer.get<int64_t>("block_size", 0);
  if (block != 0) check_block_size(block);
  else block = std::max<int64_t>(columns, 1);
  if (columns % block != 0) fail("expected a multiple of block_size ", block, " columns, got ", columns);
  PackedBlocks p{bits, experts * rows, columns / block, block};
  Value zeros = layer.has_input(zero) ? layer.input(zero) : Value();
  // Without blocks, the zero points of an expert are packed one after the other.
  if (zeros && p.blocks == 1 && zeros.rank() == 2 && zeros.type() == DType::u8) {
    Value all = unpack_bits(layer, zeros, bits, experts, (rows + 8 / bits - 1) / (8 / bits) * (8 / bits));
    zeros = reshape(build::slice(convert(all, type), 1, 0, rows), {p.rows, 1});
  }
  Value w = dequantize_blocks(layer, bytes, scales, zeros, p, type);
  return {reshape(w, {experts, rows, columns}), layer.has_input(i + 2) ? layer.input(i + 2) : Value()};
}

Value import_qmoe(Builder& layer) {
  if (auto type = layer.get<std::string>("quant_type", "int"); type != "int")
    unsupported("experts of quant_type '", type, "' are not supported");
  if (auto packed = layer.get<int64_t>("weights_prepacked", -1); packed > 0)
    unsupported("weights in the layout of an execution provider are not supported: save them with weights_prepacked 0");
  layer.has("accuracy_level");
  DType type = layer.input(0).type();
  return mixture(layer, quantized_layer(layer, 2, 11, "fc1_expert_weight_bits", type),
                 quantized_layer(layer, 5, 12, "fc2_expert_weight_bits", type),
                 quantized_layer(layer, 8, 13, "fc3_expert_weight_bits", type),
                 layer.has_input(14) ? layer.input(14) : Value());
}

}  // namespace

Definitions define_onnx_ms_experts() {
  return {
      onnx("MoE").domain("com.microsoft").expand(import_moe),
      onnx("QMoE").domain("com.microsoft").expand(import_qmoe),
  };
}

}  // namespace graft
