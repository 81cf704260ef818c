// The tensor names of a value in the order in which they are shown.
//
// Merging layers can give one value as many names as a file has layers, one by one. So Output::add_name keeps only
// short lists in order, and appends to long ones.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace graft {

inline constexpr size_t names_in_order = 64;

// Sorted and without duplicates.
inline std::vector<std::string> ordered_names(std::vector<std::string> names) {
  if (names.size() <= names_in_order) return names;
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace graft
