// Runs .test files.
//
//   graft_tests [-v] [--extensions PATH,...] FILE|FOLDER...
//   graft_tests --device GPU FILE|FOLDER...           on this device alone; exit code 77 where there is none
//   graft_tests --write-corpus DIR FILE|FOLDER...     seeds for fuzzing
//   graft_tests --write-models DIR FILE|FOLDER...     IRs with inputs and results, for oracles
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "base/error.hpp"
#include "base/text.hpp"
#include "corpus.hpp"
#include "devices/gpu/gpu.hpp"
#include "extensions/open.hpp"
#include "toolkit/built_ins.hpp"

namespace {

// The cases on the GPU. Those that it does not support are counted by reason, not failures.
int run_on_gpu(const std::vector<graft::testing::Case>& cases, const graft::Registry& registry, bool verbose) {
  auto device = graft::make_gpu_device();
  if (auto why = device->unavailable()) {
    std::printf("skipped: %s; %s\n", why->message().c_str(), why->hint().c_str());
    return 77;
  }
  int passed = 0, failed = 0, left = 0;
  for (const graft::testing::Case& c : cases) {
    std::string unsupported, why = run_case_on(*device, c, registry, unsupported);
    if (!unsupported.empty()) ++left;
    else why.empty() ? ++passed : ++failed;
    if (!why.empty()) std::printf("FAIL %s:%d: %s\n     %s\n", c.file.c_str(), c.line, c.name.c_str(), why.c_str());
    if (!unsupported.empty() && verbose)
      std::printf("left %s:%d: %s: %s\n", c.file.c_str(), c.line, c.name.c_str(), unsupported.c_str());
    std::fflush(stdout);
  }
  std::printf("%d passed, %d failed, %d not supported\n", passed, failed, left);
  return failed ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace graft;
  using namespace graft::testing;
  namespace fs = std::filesystem;
  Registry registry;
  add_built_ins(registry);
  std::vector<std::string> files;
  std::string corpus, models, device;
  bool verbose = false;
  int passed = 0, failed = 0;
  try {
    for (int i = 1; i < argc; ++i) {
      std::string a = argv[i];
      if (a == "-v") verbose = true;
      else if (a == "--extensions" && i + 1 < argc) {
        for (std::string_view p : split(argv[++i], ','))
          for (const auto& records : open_extension(std::string(p))) registry.add(records);
      } else if (a == "--write-corpus" && i + 1 < argc) corpus = argv[++i];
      else if (a == "--device" && i + 1 < argc) device = argv[++i];
      else if (a == "--write-models" && i + 1 < argc) models = argv[++i];
      else if (fs::is_directory(a)) {
        for (const auto& e : fs::recursive_directory_iterator(a))
          if (e.path().extension() == ".test") files.push_back(e.path().string());
      } else files.push_back(a);
    }
    std::sort(files.begin(), files.end());
    std::vector<Case> cases;
    for (const std::string& f : files)
      for (Case& c : read_cases(f)) cases.push_back(std::move(c));
    if (!corpus.empty()) write_corpus(cases, registry, corpus);
    if (!models.empty()) write_models(cases, registry, models);
    if (!corpus.empty() || !models.empty()) return 0;
    if (device == "GPU") return run_on_gpu(cases, registry, verbose);
    if (!device.empty()) throw Error(ErrorKind::user, text("expected --device GPU, got ", device));
    for (const Case& c : cases) {
      std::string why = run_case(c, registry);
      why.empty() ? ++passed : ++failed;
      if (why.empty() && verbose) std::printf("ok   %s:%d: %s\n", c.file.c_str(), c.line, c.name.c_str());
      if (!why.empty()) std::printf("FAIL %s:%d: %s\n     %s\n", c.file.c_str(), c.line, c.name.c_str(), why.c_str());
    }
  } catch (const std::exception& e) {
    std::printf("error: %s\n", e.what());
    return 2;
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed ? 1 : 0;
}
