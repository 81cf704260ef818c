#include "import/mapping.hpp"

#include <algorithm>
#include <unordered_map>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "readers/xml_source.hpp"

namespace graft {
namespace {

using pugi::xml_node;

class MappingReader {
 public:
  MappingReader(std::string_view xml, const std::string& file, const MappingLimits& limits)
      : source_(xml, file), limits_(limits) {
    out_.file = file;
  }

  LayerMapping run() {
    pugi::xml_document doc;
    source_.parse(doc, limits_.bytes);
    xml_node root = doc.document_element();
    if (!root) throw_user(out_.file, ": the file has no XML element");
    for (xml_node other : doc.children())
      if (other.type() == pugi::node_element && other != root)
        broken(other, "<", other.name(), "> is a second root element");
    source_.check_attributes(root, {});
    std::unordered_map<std::string, size_t> seen;
    for (xml_node n : root.children()) {
      element(root, n, "CustomLayer");
      if (out_.layers.size() == limits_.layers) broken(n, "the file has more than ", limits_.layers, " layers");
      layer(n);
      const MappedLayer& l = out_.layers.back();
      auto [it, fresh] = seen.emplace(to_lower(l.type), l.line);
      if (!fresh)
        broken(n, "NativeType '", l.type, "' is a duplicate, first used at line ", it->second,
               " (names are case-insensitive)");
    }
    return std::move(out_);
  }

 private:
  template <class... Parts>
  [[noreturn]] void broken(xml_node n, const Parts&... parts) const {
    source_.broken(n, parts...);
  }

  void element(xml_node parent, xml_node n, std::string_view wanted) const {
    if (n.type() != pugi::node_element)
      broken(parent, "expected <", wanted, "> elements in <", parent.name(), ">, got the text '",
             std::string_view(trim(n.value())).substr(0, 40), "'");
    if (n.name() != wanted) broken(n, "expected <", wanted, "> in <", parent.name(), ">, got <", n.name(), ">");
  }

  void layer(xml_node n) {
    source_.check_attributes(n, {"NativeType", "hasParam", "protoParamName", "outputShape"});
    MappedLayer l;
    l.line = source_.line_of(n);
    l.type = source_.required(n, "NativeType");
    std::string has = source_.required(n, "hasParam");
    if (!equal_ignoring_case(has, "true") && !equal_ignoring_case(has, "false"))
      broken(n, "hasParam of '", l.type, "': expected true or false, got '", has, "'");
    l.has_parameters = equal_ignoring_case(has, "true");
    if (l.has_parameters) {
      if (!n.attribute("protoParamName"))
        broken(n, "'", l.type, "' has hasParam=\"true\" but no protoParamName, the message that holds the parameters");
      l.block = source_.required(n, "protoParamName");
      if (l.block.find_first_of(" .\t\n\r") != l.block.npos)
        broken(n, "protoParamName of '", l.type, "': expected the name of a message of the layer, got '", l.block, "'");
    } else if (n.attribute("protoParamName")) {
      broken(n, "'", l.type, "' has both protoParamName and hasParam=\"false\": remove one of them");
    }
    if (n.attribute("outputShape"))
      l.outputs.push_back({expression(n, l.type, source_.required(n, "outputShape")), DType::undefined});
    bool short_form = !l.outputs.empty();
    for (xml_node o : n.children()) {
      element(n, o, "Output");
      if (short_form) broken(o, "'", l.type, "' has both outputShape and <Output>: remove one of them");
      if (l.outputs.size() == limits_.outputs) broken(o, "'", l.type, "' has more than ", limits_.outputs, " outputs");
      l.outputs.push_back(output(o, l.type));
    }
    out_.layers.push_back(std::move(l));
  }

  MappedOutput output(xml_node n, const std::string& type) const {
    source_.check_attributes(n, {"shape", "type"});
    if (n.first_child()) broken(n, "<Output> of '", type, "': expected only attributes, got content");
    MappedOutput o{expression(n, type, source_.required(n, "shape")), DType::undefined};
    if (!n.attribute("type")) return o;
    std::string word = source_.required(n, "type");
    auto t = parse_dtype(word);
    if (!t || *t == DType::undefined)
      broken(n, "type of an <Output> of '", type, "': expected an element type like f32, got '", word, "'");
    o.type = *t;
    return o;
  }

  ShapeExpression expression(xml_node n, const std::string& type, const std::string& source) const {
    try {
      return ShapeExpression::parse(source);
    } catch (const Error& e) {
      broken(n, "'", type, "': ", e.message());
    }
  }

  XmlSource source_;
  MappingLimits limits_;
  LayerMapping out_;
};

}  // namespace

const MappedLayer* LayerMapping::find(std::string_view type) const {
  for (const MappedLayer& l : layers)
    if (equal_ignoring_case(l.type, type)) return &l;
  return nullptr;
}

LayerMapping parse_mapping(std::string_view xml, const std::string& name, const MappingLimits& limits) {
  return MappingReader(xml, name, limits).run();
}

LayerMapping read_mapping(const std::string& path, const MappingLimits& limits) {
  return with_context([&] { return parse_mapping(MappedFile::open(path)->chars(), path, limits); },
                      [&] { return text("reading the mapping file '", path, "'"); });
}

}  // namespace graft
