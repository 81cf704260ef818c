// PyTorch operators that its exporter writes into ONNX files unconverted.

#include <graft/kit/expressions.hpp>
#include <graft/op.hpp>
namespace graft {
namespace {

// Sums of embedding rows per bag: the rows of `indices`, or its ranges that begin at the offsets.
Value import_embedding_bag(Builder& layer) {
  for (const char* other : {"scale_grad_by_freq", "sparse"}) layer.has(other);
  if (int64_t mode = layer.get<int64_t>("mode"); mode != 0)
    unsupported("embedding_bag of mode ", mode, " is not supported, only sum (0)");
  Value table = layer.input(0), indices = layer.input(1);
  Value weights = layer.has_input(3) ? layer.input(3) : Value();
  if (!layer.has_input(2))
    return weights ? layer.op("EmbeddingBagPackedSum", {table, indices, weights})
                   : layer.op("EmbeddingBagPackedSum", {table, indices});
  if (!weights) return layer.op("EmbeddingBagOffsetsSum@3", {table, indices, layer.input(2)});
  // An empty bag yields zeros: -1 stands for no default row.
  return layer.op("EmbeddingBagOffsetsSum@3",
                  {table, indices, layer.input(2), layer.scalar(-1.0, indices.type()), weights});
}
std::vector<Value> import_aten(Builder& layer) {
  auto name = layer.get<std::string>("operator", "");
  if (name != "embedding_bag") unsupported("the ATen operator '", name, "' is not supported");
  return std::vector<Value>(std::max<size_t>(layer.outputs(), 1), import_embedding_bag(layer));
}

Value import_adaptive_avg_pool(Builder& layer) { return layer.op("AdaptiveAvgPool", {layer.input(0), layer.input(1)}); }

}  // namespace

Definitions define_onnx_aten() {
  return {
      onnx("ATen").expand(import_aten),
      onnx("ATen").domain("org.pytorch.aten").expand(import_aten),
      onnx("adaptive_avg_pool2d").domain("org.pytorch.aten").expand(import_adaptive_avg_pool),
  };
}

}  // namespace graft
