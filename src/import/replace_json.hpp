// Inside of the replacements: the file as JSON, for reading and for bringing it up to date.
#pragma once

#include <nlohmann/json.hpp>

#include "import/replace_config.hpp"

namespace graft {

// Refuses what is not JSON, equal keys, and what is nested or repeated beyond the limits.
nlohmann::json parse_replacement_json(std::string_view bytes, const std::string& file, const ReplacementLimits& limits);

// The regular expression for a node of a scope: the instance, '/', and the rest of the name. "$" alone is the node that
// is called like the scope itself.
std::string scope_port_pattern(const Pattern& instance, const std::string& node);

}  // namespace graft
