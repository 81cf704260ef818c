// The attributes of a layer: <data>. A value is the text of an XML attribute where that reads back exactly, and an
// element of its own (exact_value.hpp) where it does not. OpenVINO knows the former only, and writes no value of its
// operations that needs the latter.
#pragma once

#include <functional>
#include <pugixml.hpp>

#include "base/limits.hpp"
#include "base/xml.hpp"
#include "graph/graph.hpp"
#include "ir/weights.hpp"
#include "schema/registry.hpp"

namespace graft {

// `op`: null for an unknown operation.
void write_attributes(XmlWriter& xml, WeightsStore& weights, const Node& n, const OpDef* op);

struct AttributeReading {
  const Limits& limits;
  std::function<const std::vector<const RuleDef*>&()> extension_rules;  // those that are not built in
  // The tensor that an element describes, its attributes being called `prefix`element_type and so on.
  std::function<Tensor(pugi::xml_node, const std::string& prefix)> tensor;
};
void read_attributes(Node& node, pugi::xml_node data, const OpDef* op, const AttributeReading& reading);

// Tensor names as a port lists them.
std::string tensor_names_text(const std::vector<std::string>& names);

}  // namespace graft
