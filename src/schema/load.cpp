#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/error.hpp"
#include "schema/host.hpp"
#include "schema/library.hpp"
#include "schema/registry.hpp"

namespace graft {

const graft_extension& enter_extension(const std::function<const graft_extension*(const graft_host*)>& entry) {
  const graft_extension* extension = entry(&host_table());
  if (!extension)
    throw Error(ErrorKind::user, "the extension requires a newer version of Graft",
                "rebuild it against the headers of this Graft");
  return *extension;
}

namespace {

// The library that runs Python files; see python/native/bridge.cpp.
constexpr const char* bridge_name = "libgraft_python.so";
using PythonLoad = const graft_extension* (*)(const char* path, const graft_host* host, char* message, size_t size);

// Beside this library, or where the loader finds it.
void* open_bridge() {
  Dl_info here{};
  if (::dladdr(reinterpret_cast<void*>(&host_table), &here) && here.dli_fname) {
    std::filesystem::path beside = std::filesystem::path(here.dli_fname).parent_path() / bridge_name;
    if (void* library = ::dlopen(beside.c_str(), RTLD_NOW | RTLD_GLOBAL)) return library;
  }
  return ::dlopen(bridge_name, RTLD_NOW | RTLD_GLOBAL);
}

const graft_extension& run_python_file(const std::string& path) {
  void* library = open_bridge();
  if (!library)
    throw Error(ErrorKind::user, text("cannot load the bridge to Python: ", ::dlerror()),
                text("a Python file requires ", bridge_name, ", which is built if pybind11 and NumPy are installed"));
  auto load = reinterpret_cast<PythonLoad>(::dlsym(library, "graft_python_load"));
  if (!load) throw_user("the library ", bridge_name, " does not export graft_python_load");
  std::string message(16 * 1024, '\0');
  const graft_extension* extension = load(path.c_str(), &host_table(), message.data(), message.size());
  if (!extension) throw_user(message.c_str());
  return *extension;
}

// A folder of Python extensions for the Model Optimizer.
void check_folder(const std::filesystem::path& folder) {
  constexpr std::array parts{"ops", "front", "middle", "back"};
  std::error_code ec;
  for (const char* part : parts)
    if (std::filesystem::is_directory(folder / part, ec)) return;
  constexpr size_t most = 8;
  std::vector<std::string> found;
  for (const auto& e : std::filesystem::directory_iterator(folder, ec)) {
    if (found.size() > 1000) break;
    found.push_back(e.path().filename().string());
  }
  std::sort(found.begin(), found.end());
  std::string list;
  for (size_t i = 0; i < found.size() && i < most; ++i) list += (i ? ", " : "") + found[i];
  throw Error(ErrorKind::user,
              text("expected a folder with ops/, front/, middle/ or back/ as an extension, got one with ",
                   found.empty() ? "no files" : list, found.size() > most ? ", ..." : ""),
              "name a shared library, a Python file, or the folder that holds those folders");
}

}  // namespace

std::shared_ptr<const Records> open_extension(const std::string& path) {
  return with_context(
      [&] {
        std::error_code ec;
        // An absolute path keeps dlopen from searching elsewhere.
        std::filesystem::path full = std::filesystem::canonical(path, ec);
        if (ec) throw_io("cannot open '", path, "': ", ec.message());
        if (std::filesystem::is_directory(full, ec)) {
          check_folder(full);
          return read_records(run_python_file(full), Source::library, full.string());
        }
        if (full.extension() == ".py") return read_records(run_python_file(full), Source::library, full.string());
        return read_records(enter_extension(open_library(full)), Source::library, full.string());
      },
      [&] { return text("loading the extension '", path, "'"); });
}

}  // namespace graft
