#include "readers/framework.hpp"

#include "base/error.hpp"
#include "readers/kaldi/kaldi.hpp"

namespace graft {
namespace {

RawModel read_kaldi_files(const std::vector<std::string>& files, const ReadOptions& request, const Limits& limits) {
  if (files.size() > 1) throw_user("expected one file of a Kaldi model, got ", files.size());
  return read_kaldi(files[0], request, limits);
}

}  // namespace

Framework kaldi_framework() {
  return {.traits = {.name = "kaldi",
                     .title = "Kaldi",
                     .aliases = {},
                     .files = ".nnet, .mdl, .raw",
                     .endings = {".nnet", ".mdl"},
                     .conventions = {}},
          .recognize = [](const ModelCandidate& c) { return looks_like_kaldi(c.bytes); },
          .read = read_kaldi_files};
}

}  // namespace graft
