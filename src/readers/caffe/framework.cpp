#include "readers/framework.hpp"

#include <filesystem>

#include "base/file.hpp"
#include "base/text.hpp"
#include "readers/caffe/caffe.hpp"

namespace graft {
namespace {

constexpr std::string_view definition_ending = ".prototxt", weights_ending = ".caffemodel";

// The definition and the weights, in either order. Weights alone have a definition next to them, or inside.
RawModel read_caffe_files(const std::vector<std::string>& files, const ReadOptions&, const Limits& limits) {
  std::string definition, weights;
  for (const std::string& f : files) {
    bool is_text = looks_like_caffe_text(MappedFile::open(f)->chars()) || extension_of(f) == definition_ending;
    std::string& place = is_text ? definition : weights;
    if (!place.empty())
      throw_user("expected one Caffe ", &place == &weights ? "weights" : "definition", " file, got '", place, "' and '",
                 f, "'");
    place = f;
  }
  if (definition.empty() && extension_of(weights) == weights_ending) {
    std::string beside = weights.substr(0, weights.size() - weights_ending.size()) + std::string(definition_ending);
    std::error_code ec;
    if (std::filesystem::is_regular_file(beside, ec)) definition = beside;
  }
  return read_caffe(definition, weights, limits);
}

}  // namespace

Framework caffe_framework() {
  return {
      .traits = {.name = "caffe",
                 .title = "Caffe",
                 .aliases = {},
                 .files = ".prototxt with .caffemodel",
                 .endings = {std::string(definition_ending), std::string(weights_ending)},
                 .conventions = caffe_conventions},
      .recognize =
          [](const ModelCandidate& c) { return looks_like_caffe_text(c.bytes) || looks_like_caffe_weights(c.bytes); },
      .read = read_caffe_files};
}

}  // namespace graft
