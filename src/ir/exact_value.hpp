// An attribute's value in an element of its own, for what the text of an XML attribute cannot express:
//
//   <value name="words" kind="list of strings"> <item value=" the" /> <item value_hex="ff" /> </value>
//   <value name="limit" kind="number" value_hex="010000000000f87f" />
//   <value name="table" kind="tensor" element_type="f32" shape="2" offset="0" size="8" />
//
// Every value reads back as it was: bytes that are no text, and numbers that no decimal number denotes (a NaN with a
// payload), are in hexadecimal digits. Stubs keep their fields in the same way.
#pragma once

#include <functional>
#include <pugixml.hpp>

#include "base/xml.hpp"
#include "graph/attribute.hpp"
#include "ir/weights.hpp"

namespace graft {

// Text that may be any bytes, as an attribute `name` or `name`_hex of the element that was opened last.
void write_bytes(XmlWriter& xml, std::string_view name, const std::string& value);
std::string read_bytes(pugi::xml_node x, const char* name);

// The kind and the value, as attributes and children of the element that was opened last.
void write_exactly(XmlWriter& xml, WeightsStore& weights, const Attribute& value);
// `tensor` reads the tensor that an element describes: element_type, shape, offset, size.
Attribute read_exactly(pugi::xml_node x, const std::function<Tensor(pugi::xml_node)>& tensor);

// Adds element type, shape and place of a tensor to the element that was opened last.
void write_place(XmlWriter& xml, WeightsStore& weights, const Tensor& t, const std::string& prefix = "");

}  // namespace graft
