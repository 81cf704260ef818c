#include "ir/attributes.hpp"

#include <algorithm>
#include <unordered_map>

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/xml_text.hpp"
#include "graph/tensor_names.hpp"
#include "ir/exact_value.hpp"
#include "ir/xml_values.hpp"

namespace graft {
namespace {

using pugi::xml_attribute;
using pugi::xml_node;

// A constant's own value needs no prefix; any other tensor attribute is prefixed with its name.
std::string tensor_prefix(std::string_view name) { return name == "value" ? "" : text(name, "_"); }

bool is_part(std::string_view name, const std::string& prefix) {
  return name == prefix + "element_type" || name == prefix + "shape" || name == prefix + "offset" ||
         name == prefix + "size";
}

const graft_attr* declared(const OpDef* op, std::string_view name) {
  if (op)
    for (const graft_attr* a : op->attrs())
      if (view(a->name) == name) return a;
  return nullptr;
}

// Whether the operation has attributes of its own that are called like the parts of a tensor.
bool parts_are_taken(const OpDef& op, const std::string& prefix) {
  return std::any_of(op.attrs().begin(), op.attrs().end(),
                     [&](const graft_attr* a) { return is_part(view(a->name), prefix); });
}

// Tensors of unknown operations are elements: without a schema, their parts could not be recognized as a tensor.
bool is_in_parts(const Node& n, const OpDef* op, std::string_view name) {
  std::string prefix = tensor_prefix(name);
  return op && declared(op, name) && !parts_are_taken(*op, prefix) &&
         std::none_of(n.attrs.begin(), n.attrs.end(), [&](const auto& a) { return is_part(a.first, prefix); });
}

bool is_single(const OpDef* op, std::string_view name) {
  const graft_attr* a = declared(op, name);
  return a && (a->flags & GRAFT_ATTR_F32);
}

bool is_text(const Node& n, const OpDef* op, const std::string& name, const Attribute& v) {
  if (!is_xml_name(name)) return false;
  if (v.kind() == GRAFT_TENSOR) return is_in_parts(n, op, name);
  if (auto s = v.get_if<std::string>()) return xml_can_hold(*s);
  bool single = is_single(op, name);
  return reads_back(v, single) && xml_can_hold(attribute_text(v, single));
}

// A layer that was written before its operation was known has its fields under the framework's names. The import
// rules of the operation say which attributes those are.
template <class Has>
std::string written_name(const AttributeReading& reading, const OpDef& op, const std::string& name, Has&& has) {
  if (op.source->built_in() || has(name)) return name;
  for (const RuleDef* r : reading.extension_rules()) {
    if (r->source != op.source || view(r->record->op) != op.name() || view(r->record->opset) != op.opset()) continue;
    for (size_t i = 0; i < r->record->attr_count; ++i) {
      std::string path(view(r->record->attrs[i].path));
      if (view(r->record->attrs[i].name) == name && has(path)) return path;
    }
  }
  return name;
}

class AttributesReader {
 public:
  AttributesReader(Node& node, xml_node data, const OpDef* op, const AttributeReading& reading)
      : node_(node), data_(data), op_(op), r_(reading) {}

  void read() {
    auto given = static_cast<size_t>(std::distance(data_.attributes_begin(), data_.attributes_end()));
    for (xml_node x : data_.children("value"))
      if (++given, !exact_.emplace(read_bytes(x, "name"), x).second)
        throw_user("attribute '", read_bytes(x, "name"), "' is given twice");
    if (given > r_.limits.attributes)
      throw_limit(&Limits::attributes, "expected at most ", r_.limits.attributes, " attributes, got ", given);
    if (op_)
      for (const graft_attr* a : op_->attrs()) declared_one(*a);
    // Attributes outside the schema are kept, those without a kind as strings.
    for (xml_attribute x : data_.attributes())
      if (!used_.count(x.name())) node_.attrs[x.name()] = std::string(x.value());
    for (xml_node x : data_.children("value"))
      if (std::string name = read_bytes(x, "name"); exact_.count(name)) {
        if (data_.attribute(name.c_str())) throw_user("attribute '", name, "' is given twice");
        node_.attrs[name] = element(x);
      }
  }

 private:
  Attribute element(xml_node x) const {
    Attribute v = read_exactly(x, [&](xml_node t) { return r_.tensor(t, ""); });
    if (v.kind() == GRAFT_NONE) throw_user("<value> has no attribute 'kind'");
    return v;
  }

  void declared_one(const graft_attr& a) {
    std::string name(view(a.name));
    std::string as = written_name(r_, *op_, name,
                                  [&](const std::string& n) { return data_.attribute(n.c_str()) || exact_.count(n); });
    xml_attribute x = data_.attribute(as.c_str());
    try {
      if (auto it = exact_.find(as); it != exact_.end()) {
        if (x) throw_user("the attribute is given twice");
        node_.attrs[name] = element(it->second);
        exact_.erase(it);
      } else if (a.kind == GRAFT_TENSOR) {
        return parts(name);
      } else if (x) {
        used_[x.name()] = true;
        node_.attrs[name] = parse_attribute(x.value(), a.kind);
      }
    } catch (Error& e) {
      if (a.kind == GRAFT_TENSOR) throw;
      throw Error(e.kind(), text("attribute '", name, "': ", e.message()));
    }
  }

  void parts(const std::string& name) {
    std::string prefix = tensor_prefix(name);
    if (!data_.attribute((prefix + "offset").c_str()) || parts_are_taken(*op_, prefix)) return;
    for (const char* part : {"element_type", "shape", "offset", "size"})
      used_[data_.attribute((prefix + part).c_str()).name()] = true;
    node_.attrs[name] = r_.tensor(data_, prefix);
  }

  Node& node_;
  xml_node data_;
  const OpDef* op_;
  const AttributeReading& r_;
  std::unordered_map<std::string_view, bool> used_;
  std::unordered_map<std::string, xml_node> exact_;  // not taken yet
};

}  // namespace

void write_attributes(XmlWriter& xml, WeightsStore& weights, const Node& n, const OpDef* op) {
  if (n.attrs.empty()) return;
  xml.open("data");
  std::vector<const std::pair<std::string, Attribute>*> elements;
  for (const auto& item : n.attrs) {
    const auto& [name, v] = item;
    if (v.kind() == GRAFT_NONE) continue;
    if (!is_text(n, op, name, v)) elements.push_back(&item);
    else if (v.kind() == GRAFT_TENSOR) write_place(xml, weights, v.as<Tensor>(), tensor_prefix(name));
    else xml.attribute(name, attribute_text(v, is_single(op, name)));
  }
  for (const auto* item : elements) {
    xml.open("value");
    write_bytes(xml, "name", item->first);
    write_exactly(xml, weights, item->second);
    xml.close();
  }
  xml.close();
}

void read_attributes(Node& node, xml_node data, const OpDef* op, const AttributeReading& reading) {
  AttributesReader(node, data, op, reading).read();
}

std::string tensor_names_text(const std::vector<std::string>& names) {
  std::vector<std::string> order;
  for (const std::string& n : ordered_names(names))
    if (!n.empty()) order.push_back(n);
  // "\," is a comma inside a name: a name that ends in a backslash is safe at the end only.
  std::stable_partition(order.begin(), order.end(), [](const std::string& n) { return n.back() != '\\'; });
  std::string out;
  for (const std::string& n : order) out += (out.empty() ? "" : ",") + escape_commas(n);
  if (parse_names(out) != order) {
    std::vector<std::string> shown;
    for (const std::string& n : order) shown.push_back(in_quotes(n));
    throw_user("expected at most one tensor name of a value that ends in a backslash, got ", join(shown, ", "));
  }
  return out;
}

}  // namespace graft
