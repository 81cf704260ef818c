// Runs .test files. Usage: graft_tests [-v] [--extensions PATH,...] FILE|FOLDER...
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "base/error.hpp"
#include "base/text.hpp"
#include "case.hpp"
#include "registry.hpp"
#include "schema/host.hpp"

namespace graft {
const graft_extension* enter_built_ins(const graft_host*);
}

namespace graft::testing {
namespace {
Registry& registry() {
  static const auto r = [] {
    auto made = std::make_unique<Registry>();
    made->add(*enter_built_ins(&host_table()), "");
    return made;
  }();
  return *r;
}
}  // namespace
const Registry& shared_registry() { return registry(); }
void load_extensions(const std::string& paths) {
  for (std::string_view p : split(paths, ',')) load_extension(registry(), std::string(p));
}
}  // namespace graft::testing

int main(int argc, char** argv) {
  using namespace graft::testing;
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  bool verbose = false;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "-v") verbose = true;
    else if (std::string(argv[i]) == "--extensions" && i + 1 < argc) load_extensions(argv[++i]);
    else if (fs::is_directory(argv[i])) {
      for (const auto& e : fs::recursive_directory_iterator(argv[i]))
        if (e.path().extension() == ".test") files.push_back(e.path().string());
    } else files.push_back(argv[i]);
  }
  std::sort(files.begin(), files.end());
  int passed = 0, failed = 0;
  for (const std::string& f : files) {
    try {
      for (const Case& c : read_cases(f)) {
        std::string why = run_graph_case(c);
        if (why.empty()) {
          ++passed;
          if (verbose) std::printf("ok   %s: %s\n", c.file.c_str(), c.name.c_str());
        } else {
          ++failed;
          std::printf("FAIL %s:%d: %s\n     %s\n", c.file.c_str(), c.line, c.name.c_str(), why.c_str());
        }
      }
    } catch (const std::exception& e) {
      ++failed;
      std::printf("FAIL %s: %s\n", f.c_str(), e.what());
    }
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed ? 1 : 0;
}
