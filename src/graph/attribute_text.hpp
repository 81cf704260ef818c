// Attribute values as an IR stores them: text.
#pragma once

#include "graph/attribute.hpp"

namespace graft {

// Items are separated by commas; a comma inside one is written "\,".
std::vector<std::string> parse_names(std::string_view s);
// The value of an attribute of this kind; throws if the text is none.
Attribute parse_attribute(std::string_view s, graft_kind kind);
// A value as an IR has it, all kinds except tensors. With `single`, lists of numbers have the shortest text that
// denotes the same f32: their schema rounds what is read.
std::string attribute_text(const Attribute& a, bool single = false);
// Whether the text parses as exactly this value. Not so for lists with a blank or empty string, for example: commas
// separate items, blanks around them are dropped, and no text is no item.
bool reads_back(const Attribute& a, bool single = false);
// Numbers rounded to f32; other values as they are.
Attribute rounded_to_f32(const Attribute& a);
std::string escape_commas(const std::string& s);  // an item of a list

}  // namespace graft
