// Stubs in an IR: the layer of the framework with its fields, sub-graphs and tensors, inside the <layer> of its node.
//
//   <stub framework="onnx" file="net.onnx" unit="byte" type="Frob" domain="acme" name="first" position="42">
//     <opset domain="acme" version="1" />
//     <value name="x" />                              inputs of the node
//     <input name="x" /> <output name="y" />          of the layer
//     <field name="gain" kind="float" value="2.5" />
//     <field name="body"> <graph name="body"> <input/> <output/> <value/> <constant/> <node/> </graph> </field>
//   </stub>
//
// Tensors are in the .bin; text that XML cannot express is in hexadecimal digits.
#pragma once

#include <functional>
#include <pugixml.hpp>

#include "base/xml.hpp"
#include "import/stub.hpp"
#include "ir/weights.hpp"

namespace graft {

void write_stub(XmlWriter& xml, WeightsStore& weights, const Stub& stub);

struct StubReading {
  const Limits& limits;
  size_t& layers;  // read so far, those of sub-graphs included
  // The tensor that an element describes: element_type, shape, offset, size.
  std::function<Tensor(pugi::xml_node)> tensor;
};
Stub read_stub(pugi::xml_node element, const StubReading& reading);

}  // namespace graft
