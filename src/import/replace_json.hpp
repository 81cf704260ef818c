// Internals of the replacements: the file as JSON, for reading and updating it.
#pragma once

#include <nlohmann/json.hpp>

#include "import/replace_config.hpp"

namespace graft {

// Throws on invalid JSON, duplicate keys, and anything beyond the limits.
nlohmann::json parse_replacement_json(std::string_view bytes, const std::string& file, const ReplacementLimits& limits);

// The regular expression for a node of a scope: the instance, '/', and the rest of the name. "$" alone is the node with
// the name of the scope itself.
std::string scope_port_pattern(const Pattern& instance, const std::string& node);

}  // namespace graft
