// Reading values of an IR's elements and attributes.
#pragma once

#include <pugixml.hpp>

#include "graph/graph.hpp"

namespace graft {

std::string_view required(pugi::xml_node n, const char* name);
int64_t required_int(pugi::xml_node n, const char* name);
int64_t optional_int(pugi::xml_node n, const char* name, int64_t otherwise);
// Items are separated by commas; a comma inside one is written "\,".
std::vector<std::string> parse_names(std::string_view s);
Attribute parse_attribute(std::string_view s, graft_kind kind);
// A value as an IR has it, all kinds except tensors.
std::string attribute_text(const Attribute& a);
std::string escape_commas(const std::string& s);  // an item of a list
// An element that is preserved; null for none.
std::shared_ptr<const Xml> keep(pugi::xml_node n, int depth = 0);

}  // namespace graft
