// What XML can express as it is.
#pragma once

#include <string_view>

namespace graft {

// Whether an attribute or element can have this as its text: UTF-8 without NUL. Other control characters are escaped.
bool xml_can_hold(std::string_view text);
bool is_xml_name(std::string_view name);  // of an element or attribute

}  // namespace graft
