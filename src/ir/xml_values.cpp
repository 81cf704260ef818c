#include "ir/xml_values.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

namespace graft {

using pugi::xml_attribute;
using pugi::xml_node;

std::string_view required(xml_node n, const char* name) {
  xml_attribute a = n.attribute(name);
  if (!a) throw_user("<", n.name(), "> has no attribute '", name, "'");
  return a.value();
}
int64_t required_int(xml_node n, const char* name) {
  std::string_view s = required(n, name);
  auto v = parse_int(s);
  if (!v) throw_user("attribute '", name, "' of <", n.name(), ">: expected an integer, got '", s, "'");
  return *v;
}
int64_t optional_int(xml_node n, const char* name, int64_t otherwise) {
  return n.attribute(name) ? required_int(n, name) : otherwise;
}

std::shared_ptr<const Xml> keep(xml_node n, int depth) {
  if (!n) return nullptr;
  if (depth > 64) throw_user("<", n.name(), "> is nested too deeply");
  auto x = std::make_shared<Xml>();
  x->name = n.name();
  x->text = n.text().get();
  for (xml_attribute a : n.attributes()) x->attributes.emplace_back(a.name(), a.value());
  for (xml_node c : n.children())
    if (c.type() == pugi::node_element) x->children.push_back(*keep(c, depth + 1));
  if (!x->children.empty()) x->text.clear();
  return x;
}

}  // namespace graft
