// How long the names of a model may be. Names are put together with others, and many layers and values may be named
// after one: a single long name would take a multiple of its length for each of them.
#pragma once

#include <string_view>

#include "base/error.hpp"

namespace graft {

inline constexpr size_t longest_name = 4096;

inline void check_name(std::string_view name) {
  if (name.size() > longest_name)
    throw_user("expected names of at most ", longest_name, " characters, got one of ", name.size());
}

}  // namespace graft
