// JSON from files: bounded, and with the line in errors. nlohmann-json itself limits neither the nesting nor the number
// of values, and keeps the last of two equal keys.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace graft {

struct JsonRules {
  int depth = 64;
  std::function<void()> too_deep;  // throws; by default an error of kind user
  size_t values = SIZE_MAX;
  bool unique_keys = false;
  std::string hint;  // of errors in the syntax
};

// `file` is its name in errors.
nlohmann::json parse_json(std::string_view bytes, const std::string& file, const JsonRules& rules);

}  // namespace graft
