#include "readers/framework.hpp"

#include "readers/onnx/onnx.hpp"

namespace graft {

Framework onnx_framework() {
  return {.traits = {.name = "onnx",
                     .title = "ONNX",
                     .aliases = {},
                     .files = ".onnx",
                     .endings = {".onnx"},
                     .conventions = onnx_conventions},
          .recognize = [](const ModelCandidate& c) { return looks_like_onnx(c.bytes); },
          // Further files are data that the model itself refers to.
          .read = [](const std::vector<std::string>& files, const ReadOptions&,
                     const Limits& limits) { return read_onnx(files[0], limits); }};
}

}  // namespace graft
