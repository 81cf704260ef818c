#include "readers/framework.hpp"

#include <filesystem>

#include "base/text.hpp"
#include "readers/tensorflow/tensorflow.hpp"

namespace graft {
namespace {

bool is_tensorflow(const ModelCandidate& c) {
  if (!c.folder) return looks_like_tensorflow(c.bytes);
  std::error_code ec;
  return std::filesystem::exists(c.path + "/saved_model.pb", ec) ||
         std::filesystem::exists(c.path + "/saved_model.pbtxt", ec);
}

// Further files are data that the model itself refers to; only a checkpoint may be passed.
RawModel read_tensorflow_files(const std::vector<std::string>& files, ReadOptions request, const Limits& limits) {
  for (size_t i = 1; i < files.size(); ++i)
    if (extension_of(files[i]) == ".index" && stem_of(files[0]) != "saved_model") request.checkpoint = files[i];
  return read_tensorflow(files[0], request, limits);
}

}  // namespace

Framework tensorflow_framework() {
  return {.traits = {.name = "tensorflow",
                     .title = "TensorFlow",
                     .aliases = {"tf"},
                     .files = "frozen .pb, SavedModel",
                     .endings = {},
                     .conventions = tensorflow_conventions},
          .recognize = is_tensorflow,
          .read = read_tensorflow_files};
}

}  // namespace graft
