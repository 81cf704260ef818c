// Limits on what a model, or a file with the value of an input, may ask for: nodes, nesting, memory, work. They keep a
// small file from taking hours or all memory. docs/guide/errors.md lists them; an error that one causes names it.
//
//   graft::ReadOptions options;
//   options.limits = {{"nodes", 5'000'000}, graft::parse_limit("fold-bytes=2G")};   // for a file that you trust
#pragma once

#include <cstdint>
#include <map>

#include "../error.hpp"

namespace graft {

// Limits to change, by name.
using LimitChanges = std::map<std::string, uint64_t>;

struct Limit {
  std::string name, doc;
  uint64_t value;  // by default
};
GRAFT_API std::vector<Limit> list_limits();
// "name=value", with K, M or G for powers of 1024. Throws an Error of kind `request` if it is none.
GRAFT_API std::pair<const std::string, uint64_t> parse_limit(const std::string& name_and_value);

}  // namespace graft
