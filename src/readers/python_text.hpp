// Values in the syntax of Python, as parameters of layers are stored.
#pragma once

#include <optional>

#include "graph/attribute.hpp"

namespace graft {

// The fields of a string in the syntax of a Python dictionary, outer braces optional: {'stride': 16, scales: [8, 16]}.
// Nested dictionaries have dotted paths. Empty when the string is not a dictionary.
std::vector<std::pair<std::string, Attribute>> parse_python_fields(std::string_view text);

// A number, True or False, a word, a quoted string, or a list of these: "(3, 3)". Absent for anything else.
std::optional<Attribute> parse_python_value(std::string_view text);

}  // namespace graft
