#include "schema/library.hpp"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <tuple>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/hash.hpp"
#include "base/log.hpp"
#include "schema/elf.hpp"

namespace graft {
namespace {

// A file in memory with a copy of `content`; -1: not available.
int private_copy(std::string_view content, const std::string& name) {
  int fd = ::memfd_create(name.substr(0, 200).c_str(), MFD_CLOEXEC);
  while (fd >= 0 && !content.empty()) {
    ssize_t n = ::write(fd, content.data(), content.size());
    if (n <= 0) return ::close(fd), -1;
    content.remove_prefix(static_cast<size_t>(n));
  }
  return fd;
}

// A path of the descriptor that was not used before: the loader remembers paths, and descriptors are used again. With
// the number of the process, so that a debugger finds it, too.
std::string unused_path(int fd) {
  static uint64_t count = 0;
  std::string out = "/proc/" + std::to_string(::getpid()) + "/fd/";
  for (uint64_t bits = ++count; bits; bits >>= 1) out += bits & 1 ? "./" : ".//";
  return out + std::to_string(fd);
}

// Libraries that are searched relative to the file, which the copy is not beside.
void open_neighbors(const ElfLibrary& elf, const std::filesystem::path& folder) {
  for (const std::string& name : elf.needed)
    for (std::string place : elf.runpaths) {
      bool relative = false;
      for (std::string_view origin : {"$ORIGIN", "${ORIGIN}"})
        for (size_t at = 0; (at = place.find(origin, at)) != place.npos; at += folder.string().size(), relative = true)
          place.replace(at, origin.size(), folder.string());
      std::filesystem::path file = std::filesystem::path(place) / name;
      std::error_code ec;
      if (relative && std::filesystem::exists(file, ec) && ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) break;
    }
}

void* open_copy(const ElfLibrary& elf, std::string_view content, const std::filesystem::path& file) {
  const char* in_place = std::getenv("GRAFT_EXTENSIONS_IN_PLACE");
  if (in_place && std::strcmp(in_place, "0") != 0) return ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  int fd = private_copy(content, file.filename().string());
  if (fd < 0) {
    log_info("no memory for a copy of '", file.string(), "': the file itself is loaded");
    return ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  open_neighbors(elf, file.parent_path());
  void* library = ::dlopen(unused_path(fd).c_str(), RTLD_NOW | RTLD_LOCAL);
  ::close(fd);
  if (!library) return nullptr;
  link_map* map = nullptr;
  if (::dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map)
    map->l_name = ::strdup(file.c_str());  // never freed, as the library is never closed
  return library;
}

graft_entry entry_of(void* library, const ElfLibrary& elf) {
  void* entry = ::dlsym(library, GRAFT_ENTRY_SYMBOL);
  if (!entry)
    throw Error(ErrorKind::user, text("the library does not export '", GRAFT_ENTRY_SYMBOL, "'"),
                "an extension ends with GRAFT_EXTENSION(name, version) { return {...}; }");
  // One that the library itself exports: dlsym also finds those of libraries that it links.
  link_map* map = nullptr;
  Dl_info found{};
  bool own = ::dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && ::dladdr(entry, &found) != 0 &&
             reinterpret_cast<uintptr_t>(found.dli_fbase) == map->l_addr;
  if (own && !elf.is_code(reinterpret_cast<uintptr_t>(entry) - map->l_addr))
    throw Error(ErrorKind::user, text("expected '", GRAFT_ENTRY_SYMBOL, "' to be a function, got data"),
                "an extension ends with GRAFT_EXTENSION(name, version) { return {...}; }");
  return reinterpret_cast<graft_entry>(entry);
}

}  // namespace

graft_entry open_library(const std::filesystem::path& file) {
  static std::mutex mutex;
  // By path, size and hash of the content.
  static auto* opened = new std::map<std::tuple<std::string, uint64_t, uint64_t>, graft_entry>;  // never destroyed
  std::lock_guard lock(mutex);
  std::string content = read_text_file(file.string());
  ContentHash hash;
  hash.add(content);
  graft_entry& entry = (*opened)[{file.string(), hash.size(), hash.value()}];
  if (entry) return entry;
  ElfLibrary elf = read_elf(content);
  void* library = open_copy(elf, content, file);
  if (!library) throw_user("cannot load the shared library: ", ::dlerror());
  return entry = entry_of(library, elf);
}

}  // namespace graft
