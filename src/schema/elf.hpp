// What must be right of a shared library before the loader of the system gets it: that trusts what it reads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace graft {

struct ElfLibrary {
  std::vector<std::string> needed;    // libraries that it links
  std::vector<std::string> runpaths;  // where they are searched first, before $ORIGIN is replaced
  struct Segment {
    uint64_t begin, end;  // addresses, relative to where it is loaded
  };
  std::vector<Segment> code;
  bool is_code(uint64_t address) const;
};

// Refuses what is not a whole shared library for this machine.
ElfLibrary read_elf(std::string_view file);

}  // namespace graft
