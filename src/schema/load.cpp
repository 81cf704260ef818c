#include <dlfcn.h>

#include <filesystem>

#include "base/error.hpp"
#include "schema/host.hpp"
#include "schema/registry.hpp"

namespace graft {

const graft_extension& enter_extension(const std::function<const graft_extension*(const graft_host*)>& entry) {
  const graft_extension* extension = entry(&host_table());
  if (!extension)
    throw Error(ErrorKind::user, "the extension requires a newer version of Graft",
                "rebuild it against the headers of this Graft");
  return *extension;
}

std::shared_ptr<const Records> open_extension(const std::string& path) {
  return with_context(
      [&] {
        std::error_code ec;
        // An absolute path keeps dlopen from searching elsewhere.
        std::filesystem::path full = std::filesystem::canonical(path, ec);
        if (ec) throw_io("cannot open '", path, "': ", ec.message());
        void* library = ::dlopen(full.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (!library) throw_user("cannot load the shared library: ", ::dlerror());
        auto entry = reinterpret_cast<graft_entry>(::dlsym(library, GRAFT_ENTRY_SYMBOL));
        if (!entry)
          throw Error(ErrorKind::user, text("the library does not export '", GRAFT_ENTRY_SYMBOL, "'"),
                      "an extension ends with GRAFT_EXTENSION(name, version) { return {...}; }");
        return read_records(enter_extension(entry), Source::library, full.string());
      },
      [&] { return text("loading the extension '", path, "'"); });
}

}  // namespace graft
