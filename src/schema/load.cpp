#include <dlfcn.h>

#include <filesystem>

#include "base/error.hpp"
#include "base/log.hpp"
#include "schema/host.hpp"
#include "schema/registry.hpp"

namespace graft {

void load_extension(Registry& registry, const std::string& path) {
  with_context(
      [&] {
        std::error_code ec;
        // An absolute path keeps dlopen from searching elsewhere.
        std::filesystem::path full = std::filesystem::canonical(path, ec);
        if (ec) throw_io("cannot open '", path, "': ", ec.message());
        if (registry.has_library(full.string())) return log_info("the extension '", path, "' is already loaded");
        void* library = ::dlopen(full.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (!library) throw_user("cannot load the shared library: ", ::dlerror());
        auto entry = reinterpret_cast<graft_entry>(::dlsym(library, GRAFT_ENTRY_SYMBOL));
        if (!entry)
          throw Error(ErrorKind::user, text("the library does not export '", GRAFT_ENTRY_SYMBOL, "'"),
                      "an extension ends with GRAFT_EXTENSION(name, version) { return {...}; }");
        const graft_extension* extension = entry(&host_table());
        if (!extension)
          throw Error(ErrorKind::user, "the extension requires a newer version of Graft",
                      "rebuild it against the headers of this Graft");
        registry.add(read_records(*extension, full.string()));
        log_info("loaded the extension '", extension->name, "' ", extension->version, " from '", full.string(),
                 "': ", extension->op_count, " operations, ", extension->rule_count, " import rules, ",
                 extension->kernel_count, " kernels");
      },
      [&] { return text("loading the extension '", path, "'"); });
}

}  // namespace graft
