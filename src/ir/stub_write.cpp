#include "base/tensor.hpp"
#include "base/text.hpp"
#include "ir/exact_value.hpp"
#include "ir/stub.hpp"
#include "ir/xml_values.hpp"

namespace graft {
namespace {

class StubWriter {
 public:
  StubWriter(XmlWriter& xml, WeightsStore& weights) : xml_(xml), weights_(weights) {}

  void stub(const Stub& s) {
    xml_.open("stub").attribute("framework", s.framework);
    optional("file", s.file), optional("unit", s.position_unit), optional("first_output", s.first_output);
    attributes(s.layer);
    opsets(s.opsets);
    for (const Stub::Value& v : s.values) {
      xml_.open("value");
      optional("name", v.name);
      if (v.items) xml_.attribute("items", *v.items);
      xml_.close();
    }
    contents(s.layer);
    for (const RawFunction& f : s.functions) function(f);
    xml_.close();
  }

 private:
  void optional(std::string_view name, const std::string& value) {
    if (!value.empty()) xml_.attribute(name, value);
  }

  void opsets(const std::map<std::string, int64_t>& all) {
    for (const auto& [domain, version] : all) {
      xml_.open("opset");
      optional("domain", domain);
      xml_.attribute("version", version);
      xml_.close();
    }
  }

  void names(std::string_view element, const std::vector<std::string>& all) {
    for (const std::string& name : all) {
      xml_.open(element);
      optional("name", name);
      xml_.close();
    }
  }

  void attributes(const RawNode& n) {
    xml_.attribute("type", n.type);
    optional("domain", n.domain), optional("name", n.name), optional("stands_for", n.origin().stands_for);
    if (n.weights) xml_.attribute("weights", n.weights);
    if (n.position) xml_.attribute("position", n.position);
    if (n.is_operation) xml_.attribute("is_operation", "true");
  }

  void contents(const RawNode& n) {
    names("input", n.inputs);
    names("output", n.outputs);
    for (const auto& [name, f] : n.fields) field("field", name, f);
  }

  void tensor(std::string_view element, const Tensor& t) {
    xml_.open(element);
    write_place(xml_, weights_, t);
    xml_.close();
  }

  void field(std::string_view element, const std::string& name, const RawField& f) {
    xml_.open(element);
    write_bytes(xml_, "name", name);
    optional("refers_to", f.refers_to);
    write_exactly(xml_, weights_, f.value);
    for (const Tensor& t : f.tensors) tensor("tensor", t);
    for (const auto& g : f.graphs) graph(*g);
    xml_.close();
  }

  void value(std::string_view element, const RawValue& v) {
    xml_.open(element).attribute("name", v.name).attribute("element_type", name_of(v.info.type));
    std::string shape = text(v.info.shape);
    xml_.attribute("shape", std::string_view(shape).substr(1, shape.size() - 2));
    optional("kind", v.kind), optional("also", v.also);
    if (v.unused) xml_.attribute("unused", "true");
    for (const RawValue& part : v.parts) value("part", part);
    xml_.close();
  }

  void graph(const RawGraph& g) {
    xml_.open("graph");
    optional("name", g.name);
    for (const RawValue& v : g.inputs) value("input", v);
    for (const RawValue& v : g.outputs) value("output", v);
    for (const auto& [name, v] : g.values) value("value", v);
    for (const auto& [name, t] : g.constants) {
      xml_.open("constant").attribute("name", name);
      write_place(xml_, weights_, t);
      xml_.close();
    }
    for (const RawNode& n : g.nodes) node(n);
    xml_.close();
  }

  void node(const RawNode& n) {
    xml_.open("node");
    attributes(n);
    contents(n);
    xml_.close();
  }

  void function(const RawFunction& f) {
    xml_.open("function");
    optional("domain", f.domain);
    xml_.attribute("name", f.name);
    opsets(f.opsets);
    names("input", f.inputs), names("output", f.outputs), names("takes", f.fields);
    for (const auto& [name, d] : f.defaults) field("default", name, d);
    for (const RawNode& n : f.nodes) node(n);
    xml_.close();
  }

  XmlWriter& xml_;
  WeightsStore& weights_;
};

}  // namespace

void write_stub(XmlWriter& xml, WeightsStore& weights, const Stub& stub) { StubWriter(xml, weights).stub(stub); }

}  // namespace graft
