#include "simulator.hpp"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <graft/text.hpp>
#include <set>
#include <sstream>

namespace graft::cli {
namespace {

namespace fs = std::filesystem;

// The driver that OpenCL's loader takes, in the place where the program is installed.
std::string simulator_library() {
  const char* path = ::getenv("PATH");
  std::istringstream folders(path ? path : "");
  std::error_code ec;
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (!fs::is_regular_file(fs::path(folder) / "oclgrind", ec)) continue;
    for (const char* place : {"lib/oclgrind", "lib", "lib64"}) {
      fs::path library = fs::path(folder).parent_path() / place / "liboclgrind-rt-icd.so";
      if (fs::is_regular_file(library, ec)) return library.string();
    }
  }
  return "";
}

std::string kind_of(std::string_view line) {
  if (line.find("data race") != line.npos) return "race";
  if (line.starts_with("Invalid read") || line.starts_with("Invalid write")) return "out of bounds";
  if (line.find("divergence") != line.npos) return "divergence";
  return "";
}

}  // namespace

std::unique_ptr<Simulator> Simulator::find() {
  std::string library = simulator_library();
  return library.empty() ? nullptr : std::unique_ptr<Simulator>(new Simulator(library));
}

Simulator::Simulator(const std::string& library) {
  std::string name = (fs::temp_directory_path() / "graft-oclgrind-XXXXXX").string();
  if (!::mkdtemp(name.data())) throw Error(ErrorKind::io, text("cannot create the folder '", name, "'"));
  folder_ = name;
  std::ofstream(folder_ + "/oclgrind.icd") << library << "\n";
}

Simulator::~Simulator() {
  std::error_code ec;
  fs::remove_all(folder_, ec);
}

std::vector<std::string> Simulator::environment() const {
  return {"OCL_ICD_VENDORS=" + folder_, "OCLGRIND_LOG=" + log(), "OCLGRIND_DATA_RACES=1", "GRAFT_OPENCL_CACHE=off"};
}

// A fault is a line with its kind, then lines with the kernel and, for each access, the place in the source.
std::vector<Simulator::Fault> Simulator::faults() const {
  std::vector<Fault> out;
  std::set<std::string> known;
  std::string kind, what, kernel;
  std::ifstream file(log());
  for (std::string line; std::getline(file, line);) {
    if (std::string k = kind_of(line); !k.empty()) {
      kind = k, what = line.substr(0, line.find(" at ")), kernel.clear();
    } else if (size_t at = line.find("Kernel: "); at != line.npos) {
      kernel = line.substr(at + 8);
    } else if (at = line.find("At line "); at != line.npos && !kind.empty()) {
      std::string place = line.substr(at + 3, line.find_last_not_of(": ") - at - 2);
      std::string detail = text(what, " in the kernel '", kernel, "', ", place);
      if (known.insert(detail).second) out.push_back({kind, detail});
      kind.clear();
    }
  }
  return out;
}

}  // namespace graft::cli
