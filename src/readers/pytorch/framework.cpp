#include "readers/framework.hpp"

#include "readers/pytorch/program.hpp"

namespace graft {

Framework pytorch_framework() {
  return {.traits = {.name = "pytorch",
                     .title = "PyTorch",
                     .aliases = {"torch", "pt"},
                     .files = ".pt2",
                     .endings = {".pt2"},
                     .conventions = {}},
          .recognize = [](const ModelCandidate& c) { return looks_like_pytorch(c.bytes); },
          // All of a program is in one file.
          .read = [](const std::vector<std::string>& files, const ReadOptions&,
                     const Limits& limits) { return read_pytorch(files[0], limits); }};
}

}  // namespace graft
