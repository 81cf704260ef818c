// Results and options as data, for the tables of the documentation (scripts/describe.py).
#pragma once

#include <string>

namespace graft::cli {

// {"options": {"read": [...], "convert": [...]}, "results": {"Report": [...], ...}}
std::string description();

}  // namespace graft::cli
