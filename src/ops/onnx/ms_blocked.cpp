// Layers that ONNX Runtime writes into models which are saved after all of its optimizations (com.microsoft.nchwc).
//
// Their channels and weights are in blocks of 8 or 16 channels, depending on the processor that saved the file. Nothing
// in the file says which: weights of 16, 32 or 64 channels have the same shape in both orders.
#include <graft/op.hpp>

namespace graft {
namespace {

Value refuse_blocked(Builder&) {
  unsupported(
      "weights in the order of the processor that saved the model cannot be read elsewhere: save it again with a "
      "graph_optimization_level of ORT_ENABLE_EXTENDED or below");
}

}  // namespace

Definitions define_onnx_ms_blocked() {
  Definitions all;
  for (std::string_view type : {"AveragePool", "Conv", "GlobalAveragePool", "GlobalMaxPool", "MaxPool", "ReorderInput",
                                "ReorderOutput", "Upsample"})
    all += onnx(type).domain("com.microsoft.nchwc").expand(refuse_blocked);
  return all;
}

}  // namespace graft
