// Reading values of an IR's elements and attributes.
#pragma once

#include <pugixml.hpp>

#include "graph/attribute_text.hpp"
#include "graph/graph.hpp"

namespace graft {

std::string_view required(pugi::xml_node n, const char* name);
int64_t required_int(pugi::xml_node n, const char* name);
int64_t optional_int(pugi::xml_node n, const char* name, int64_t otherwise);
// An element that is preserved; null for none.
std::shared_ptr<const Xml> keep(pugi::xml_node n, int depth = 0);

}  // namespace graft
