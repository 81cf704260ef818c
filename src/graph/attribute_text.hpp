// Attribute values as an IR stores them: text.
#pragma once

#include "graph/attribute.hpp"

namespace graft {

// Items are separated by commas; a comma inside one is written "\,".
std::vector<std::string> parse_names(std::string_view s);
// The value of an attribute of this kind; throws if the text is none.
Attribute parse_attribute(std::string_view s, graft_kind kind);
// A value as an IR has it, all kinds except tensors.
std::string attribute_text(const Attribute& a);
std::string escape_commas(const std::string& s);  // an item of a list

}  // namespace graft
