#include "base/text.hpp"
#include "readers/tflite/operators.hpp"

namespace graft {

void add_tflite_steps(const TfliteGraph& graph, const TfliteOperator& op,
                      std::vector<std::pair<std::string, RawField>>& fields) {
  auto add = [&](std::string path, Attribute value) {
    RawField f;
    f.value = std::move(value);
    fields.emplace_back(std::move(path), std::move(f));
  };
  for (bool output : {false, true}) {
    const std::vector<int32_t>& tensors = output ? op.outputs : op.inputs;
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i] < 0) continue;
      const TfliteTensor& t = graph.tensors[static_cast<size_t>(tensors[i])];
      DType type = tflite_known_type(t.type);
      if (output && op.is_builtin() && type != DType::undefined) add(text("types.output", i), type);
      const TfliteQuantization& q = t.quantization;
      if (q.scale.empty()) continue;
      std::string path = text("quantization.", output ? "output" : "input", i, '.');
      add(path + "scale", q.scale), add(path + "zero_point", q.zero_point);
      if (q.scale.size() > 1) add(path + "axis", q.axis);
    }
  }
}

}  // namespace graft
