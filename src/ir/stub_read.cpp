#include "base/tensor.hpp"
#include "base/text.hpp"
#include "ir/exact_value.hpp"
#include "ir/stub.hpp"
#include "ir/xml_values.hpp"

namespace graft {
namespace {

using pugi::xml_node;

class StubReader {
 public:
  explicit StubReader(const StubReading& reading) : r_(reading) {}

  Stub stub(xml_node x) {
    Stub s;
    s.framework = required(x, "framework");
    s.file = x.attribute("file").value(), s.position_unit = x.attribute("unit").value();
    s.first_output = x.attribute("first_output").value();
    s.opsets = opsets(x);
    for (xml_node v : x.children("value")) {
      Stub::Value value{v.attribute("name").value(), {}};
      if (v.attribute("items")) value.items = count(v, "items");
      s.values.push_back(std::move(value));
    }
    s.layer = node(x, 0);
    for (xml_node f : x.children("function")) s.functions.push_back(function(f));
    return s;
  }

 private:
  static size_t count(xml_node x, const char* name) {
    int64_t n = optional_int(x, name, 0);
    if (n < 0) throw_user("attribute '", name, "' of <", x.name(), ">: expected 0 or more, got ", n);
    return static_cast<size_t>(n);
  }

  static std::map<std::string, int64_t> opsets(xml_node x) {
    std::map<std::string, int64_t> out;
    for (xml_node o : x.children("opset")) out[o.attribute("domain").value()] = required_int(o, "version");
    return out;
  }

  static std::vector<std::string> names(xml_node x, const char* element) {
    std::vector<std::string> out;
    for (xml_node n : x.children(element)) out.emplace_back(n.attribute("name").value());
    return out;
  }

  RawNode node(xml_node x, int depth) {
    if (++r_.layers > r_.limits.nodes)
      throw_limit(&Limits::nodes, "the model has more than ", r_.limits.nodes, " layers");
    RawNode n;
    n.type = required(x, "type"), n.domain = x.attribute("domain").value(), n.name = x.attribute("name").value();
    if (auto by = x.attribute("stands_for")) n.set_origin().stands_for = by.value();
    n.weights = count(x, "weights"), n.position = count(x, "position");
    n.is_operation = x.attribute("is_operation").as_bool();
    n.inputs = names(x, "input"), n.outputs = names(x, "output");
    if (n.weights > n.inputs.size()) throw_user("expected at most ", n.inputs.size(), " weights, got ", n.weights);
    for (xml_node f : x.children("field")) {
      if (n.fields.size() >= r_.limits.attributes)
        throw_limit(&Limits::attributes, "expected at most ", r_.limits.attributes, " attributes");
      n.fields.emplace_back(read_bytes(f, "name"), field(f, depth));
    }
    return n;
  }

  RawField field(xml_node x, int depth) {
    RawField f;
    f.refers_to = x.attribute("refers_to").value();
    f.value = read_exactly(x, r_.tensor);
    for (xml_node t : x.children("tensor")) f.tensors.push_back(r_.tensor(t));
    for (xml_node g : x.children("graph")) f.graphs.push_back(std::make_shared<RawGraph>(graph(g, depth + 1)));
    return f;
  }

  RawValue value(xml_node x, int depth) {
    if (depth > r_.limits.levels()) throw_limit(&Limits::depth, "types are nested more than ", depth, " deep");
    RawValue v;
    v.name = required(x, "name");
    std::string_view type = required(x, "element_type"), shape = required(x, "shape");
    auto parsed_type = parse_dtype(type);
    auto parsed_shape = parse_shape(shape);
    if (!parsed_type) throw_user("unknown element type '", type, "' of the value '", v.name, "'");
    if (!parsed_shape || (parsed_shape->ranked() && parsed_shape->rank() > r_.limits.rank))
      throw_user("expected a shape of the value '", v.name, "', got '", shape, "'");
    v.info = {*parsed_type, *parsed_shape};
    v.kind = x.attribute("kind").value(), v.also = x.attribute("also").value();
    v.unused = x.attribute("unused").as_bool();
    for (xml_node part : x.children("part")) v.parts.push_back(value(part, depth + 1));
    return v;
  }

  RawGraph graph(xml_node x, int depth) {
    if (depth > r_.limits.levels()) throw_limit(&Limits::depth, "graphs are nested more than ", depth, " deep");
    RawGraph g;
    g.name = x.attribute("name").value();
    for (xml_node v : x.children("input")) g.inputs.push_back(value(v, 0));
    for (xml_node v : x.children("output")) g.outputs.push_back(value(v, 0));
    for (xml_node v : x.children("value")) {
      RawValue known = value(v, 0);
      std::string name = known.name;
      g.values.emplace(std::move(name), std::move(known));
    }
    for (xml_node c : x.children("constant")) g.constants.emplace_back(required(c, "name"), r_.tensor(c));
    for (xml_node n : x.children("node")) g.nodes.push_back(node(n, depth));
    return g;
  }

  RawFunction function(xml_node x) {
    RawFunction f;
    f.domain = x.attribute("domain").value(), f.name = required(x, "name");
    f.opsets = opsets(x);
    f.inputs = names(x, "input"), f.outputs = names(x, "output"), f.fields = names(x, "takes");
    for (xml_node d : x.children("default")) f.defaults.emplace_back(read_bytes(d, "name"), field(d, 0));
    for (xml_node n : x.children("node")) f.nodes.push_back(node(n, 0));
    return f;
  }

  const StubReading& r_;
};

}  // namespace

Stub read_stub(xml_node element, const StubReading& reading) { return StubReader(reading).stub(element); }

}  // namespace graft
