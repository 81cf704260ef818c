#include "readers/framework.hpp"

#include "readers/tflite/tflite.hpp"

namespace graft {

Framework tflite_framework() {
  return {.traits = {.name = "tflite",
                     .title = "TensorFlow Lite",
                     .aliases = {"litert"},
                     .files = ".tflite",
                     .endings = {".tflite"},
                     .conventions = tflite_conventions},
          .recognize = [](const ModelCandidate& c) { return looks_like_tflite(c.bytes); },
          .read = [](const std::vector<std::string>& files, const ReadOptions& request,
                     const Limits& limits) { return read_tflite(files[0], request, limits); }};
}

}  // namespace graft
