#include <dlfcn.h>

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

}  // namespace

std::shared_ptr<const Records> load_library(const std::string& path) {
  return read_records(enter_extension(open_library(path)), Source::library, path);
}

std::shared_ptr<const Records> load_python(const std::string& path) {
  return read_records(run_python_file(path), Source::library, path);
}

}  // namespace graft
