// Runs .test files.
//
//   graft_tests [-v] [--extensions PATH,...] FILE|FOLDER...
//   graft_tests --write-corpus DIR FILE|FOLDER...     seeds for fuzzing
//   graft_tests --write-models DIR FILE|FOLDER...     IRs with inputs and results, for oracles
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "base/error.hpp"
#include "base/text.hpp"
#include "corpus.hpp"
#include "toolkit/built_ins.hpp"

int main(int argc, char** argv) {
  using namespace graft;
  using namespace graft::testing;
  namespace fs = std::filesystem;
  Registry registry;
  add_built_ins(registry);
  std::vector<std::string> files;
  std::string corpus, models;
  bool verbose = false;
  int passed = 0, failed = 0;
  try {
    for (int i = 1; i < argc; ++i) {
      std::string a = argv[i];
      if (a == "-v") verbose = true;
      else if (a == "--extensions" && i + 1 < argc) {
        for (std::string_view p : split(argv[++i], ',')) registry.add(open_extension(std::string(p)));
      } else if (a == "--write-corpus" && i + 1 < argc) corpus = argv[++i];
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
