#include "import/mapping.hpp"

#include <algorithm>
#include <pugixml.hpp>
#include <unordered_map>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/text.hpp"

namespace graft {
namespace {

using pugi::xml_attribute;
using pugi::xml_node;

class MappingReader {
 public:
  MappingReader(std::string_view xml, const std::string& file, const MappingLimits& limits)
      : xml_(xml), limits_(limits) {
    out_.file = file;
  }

  LayerMapping run() {
    if (xml_.size() > limits_.bytes)
      throw_user(out_.file, ": expected at most ", limits_.bytes, " bytes, got ", xml_.size());
    pugi::xml_document doc;
    pugi::xml_parse_result parsed = doc.load_buffer(xml_.data(), xml_.size(), pugi::parse_default, pugi::encoding_utf8);
    if (!parsed) throw_user(out_.file, ':', line_at(parsed.offset), ": invalid XML: ", to_lower(parsed.description()));
    xml_node root = doc.document_element();
    if (!root) throw_user(out_.file, ": the file has no XML element");
    for (xml_node other : doc.children())
      if (other.type() == pugi::node_element && other != root)
        broken(other, "<", other.name(), "> is a second root element");
    for (xml_attribute a : root.attributes())
      broken(root, "<", root.name(), "> has unknown attribute '", a.name(), "', it takes none");
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
  size_t line_at(ptrdiff_t offset) const {
    auto at = std::min(static_cast<size_t>(std::max<ptrdiff_t>(offset, 0)), xml_.size());
    return 1 + static_cast<size_t>(std::count(xml_.begin(), xml_.begin() + static_cast<ptrdiff_t>(at), '\n'));
  }
  size_t line_of(xml_node n) const { return line_at(n.offset_debug()); }
  template <class... Parts>
  [[noreturn]] void broken(xml_node n, const Parts&... parts) const {
    throw_user(out_.file, ':', line_of(n), ": ", parts...);
  }

  void element(xml_node parent, xml_node n, std::string_view wanted) const {
    if (n.type() != pugi::node_element)
      broken(parent, "expected <", wanted, "> elements in <", parent.name(), ">, got the text '",
             std::string_view(trim(n.value())).substr(0, 40), "'");
    if (n.name() != wanted) broken(n, "expected <", wanted, "> in <", parent.name(), ">, got <", n.name(), ">");
  }

  void check_attributes(xml_node n, const std::vector<std::string>& known) const {
    std::vector<std::string_view> seen;
    for (xml_attribute a : n.attributes()) {
      std::string_view name = a.name();
      if (std::find(seen.begin(), seen.end(), name) != seen.end())
        broken(n, "<", n.name(), "> has the attribute '", name, "' twice");
      seen.push_back(name);
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      auto close = nearest(name, known);
      broken(n, "<", n.name(), "> has unknown attribute '", name, "', ",
             close ? text("did you mean ", *close, "?") : text("it takes ", join(known, ", ")));
    }
  }

  std::string required(xml_node n, const char* name) const {
    xml_attribute a = n.attribute(name);
    if (!a) broken(n, "<", n.name(), "> has no attribute '", name, "'");
    std::string value(trim(a.value()));
    if (value.empty()) broken(n, "the attribute '", name, "' of <", n.name(), "> is empty");
    return value;
  }

  void layer(xml_node n) {
    check_attributes(n, {"NativeType", "hasParam", "protoParamName", "outputShape"});
    MappedLayer l;
    l.line = line_of(n);
    l.type = required(n, "NativeType");
    std::string has = required(n, "hasParam");
    if (!equal_ignoring_case(has, "true") && !equal_ignoring_case(has, "false"))
      broken(n, "hasParam of '", l.type, "': expected true or false, got '", has, "'");
    l.has_parameters = equal_ignoring_case(has, "true");
    if (l.has_parameters) {
      if (!n.attribute("protoParamName"))
        broken(n, "'", l.type, "' has hasParam=\"true\" but no protoParamName, the message that holds the parameters");
      l.block = required(n, "protoParamName");
      if (l.block.find_first_of(" .\t\n\r") != l.block.npos)
        broken(n, "protoParamName of '", l.type, "': expected the name of a message of the layer, got '", l.block, "'");
    } else if (n.attribute("protoParamName")) {
      broken(n, "'", l.type, "' has both protoParamName and hasParam=\"false\": remove one of them");
    }
    if (n.attribute("outputShape"))
      l.outputs.push_back({expression(n, l.type, required(n, "outputShape")), DType::undefined});
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
    check_attributes(n, {"shape", "type"});
    if (n.first_child()) broken(n, "<Output> of '", type, "': expected only attributes, got content");
    MappedOutput o{expression(n, type, required(n, "shape")), DType::undefined};
    if (!n.attribute("type")) return o;
    std::string word = required(n, "type");
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

  std::string_view xml_;
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
