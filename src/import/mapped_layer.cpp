// Layers that become a single node without a rule: by a mapping file, or because they name an operation.
#include "base/text.hpp"
#include "import/layer.hpp"
#include "schema/resolve.hpp"

namespace graft {
namespace {

// Formatted as in an IR: lists with commas, booleans as 1 and 0.
std::string mapped_text(const Attribute& a) {
  auto list = [](const auto& items, auto&& one) {
    std::string out;
    for (const auto& i : items) out += (out.empty() ? "" : ",") + one(i);
    return out;
  };
  switch (a.kind()) {
    case GRAFT_BOOL: return a.as<bool>() ? "1" : "0";
    case GRAFT_INT: return text(a.as<int64_t>());
    case GRAFT_FLOAT: return number_text(a.as<double>());
    case GRAFT_INTS: return list(a.as<std::vector<int64_t>>(), [](int64_t i) { return text(i); });
    case GRAFT_FLOATS: return list(a.as<std::vector<double>>(), number_text);
    case GRAFT_TEXTS: return list(a.as<std::vector<std::string>>(), [](const std::string& s) { return s; });
    case GRAFT_TEXT: return a.as<std::string>();
    default: throw_internal("a field of a Caffe layer is ", kind_name(a.kind()));
  }
}

// "outer.inner" -> "inner" or "outer__inner".
std::string mapped_name(std::string_view path, bool nested_names) {
  if (!nested_names) return std::string(path.substr(path.rfind('.') + 1));
  std::string out;
  for (std::string_view part : split(path, '.')) out += (out.empty() ? "" : "__") + std::string(part);
  return out;
}

bool is_attribute_name(std::string_view s) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (s.empty() || !letter(s[0])) return false;
  for (char c : s)
    if (!letter(c) && !(c >= '0' && c <= '9') && c != '-') return false;
  return true;
}

std::string operation_title(const OpDef& op) { return text(op.name(), " of ", op.opset()); }

}  // namespace

void Layer::make_operation(const OpDef& op, Attributes attributes) {
  std::vector<std::string> extra, known;
  for (const graft_attr* a : op.attrs()) known.emplace_back(view(a->name));
  for (const auto& [name, value] : attributes)
    if (std::find(known.begin(), known.end(), name) == known.end()) extra.push_back(name);
  if (!extra.empty())
    throw Error(ErrorKind::user,
                text("operation ", operation_title(op), " has no attribute", extra.size() > 1 ? "s '" : " '",
                     join(extra, "', '"), "'"),
                known.empty() ? "it takes none" : text("its attributes are ", join(known, ", ")));
  Node node;
  node.type = op.name();
  node.opset = op.opset();
  node.inputs = inputs_;
  node.attrs = std::move(attributes);
  NodeId id = scope_.add(std::move(node));
  made_.push_back(id);
  size_t n = scope_.graph[id].outputs.size();
  for (uint32_t i = 0; i < outputs_.size() && i < n; ++i) outputs_[i] = {id, i};
}

OperationName operation_name(const std::string& written) {
  size_t at = written.find('@');
  OperationName out{written.substr(0, at), at == written.npos ? "" : written.substr(at + 1)};
  if (!out.opset.empty() && out.opset[0] >= '0' && out.opset[0] <= '9') out.opset = "opset" + out.opset;
  return out;
}

const OpDef* Layer::named_operation() const {
  const Registry& registry = scope_.state().registry;
  auto [type, opset] = operation_name(raw_.type);
  return opset.empty() ? registry.newest(type) : registry.find(type, opset);
}

void Layer::apply_operation() {
  const OpDef* op = named_operation();
  if (!op) throw_internal("unknown operation ", raw_.type);
  Attributes attributes;
  for (const auto& [path, f] : raw_.fields) attributes[path] = f.value, read_.insert(path);
  make_operation(*op, std::move(attributes));
}

void Layer::apply(const MappedLayer& entry, const LayerMapping& mapping) {
  ImportReport& report = scope_.state().report;
  std::string prefix = entry.block + ".";
  Attributes attributes;
  std::vector<std::string> blocks;
  for (const auto& [path, f] : raw_.fields) {
    read_.insert(path);  // the entry keeps all or none of them
    std::string block = path.substr(0, path.find('.'));
    if (std::find(blocks.begin(), blocks.end(), block) == blocks.end()) blocks.push_back(block);
    if (!entry.has_parameters || !path.starts_with(prefix)) continue;
    std::string name = mapped_name(std::string_view(path).substr(prefix.size()), mapping.nested_names);
    if (!is_attribute_name(name))
      throw_user("parameter '", path, "' becomes an attribute with the invalid name '", name, "'");
    if (attributes.find(name))
      report.warnings.push_back(text("parameter '", path, "' of layer '", name_, "' (", raw_.type,
                                     ") overwrites another one named '", name, "'; `nested_names` keeps both"));
    attributes[name] = f.value;
  }
  if (entry.has_parameters && attributes.empty() && !blocks.empty())
    throw Error(ErrorKind::user,
                text("the layer has no '", entry.block, "', which ", mapping.file, ':', entry.line,
                     " specifies as the message with its parameters"),
                text("the layer has ", join(blocks, ", ")));

  std::vector<const OpDef*> known = extension_operations(scope_.state().registry, raw_.type);
  if (known.size() > 1) {
    std::vector<std::string> titles;
    for (const OpDef* d : known) titles.push_back(operation_title(*d));
    throw Error(ErrorKind::user, text("several operations have this type: ", join(titles, ", ")),
                "load one extension that defines it");
  }
  if (known.size() == 1) {
    if (!entry.outputs.empty())
      report.warnings.push_back(text(mapping.file, ':', entry.line, ": the output shape of '", entry.type,
                                     "' is ignored, extension '", known[0]->source->name, "' defines it"));
    return make_operation(*known[0], std::move(attributes));
  }

  bool shaped = !entry.outputs.empty();
  if (shaped && entry.outputs.size() != outputs_.size())
    throw_user("expected ", outputs_.size(), " output shapes in ", mapping.file, ':', entry.line, ", got ",
               entry.outputs.size());
  std::vector<Shape> shapes;
  for (ValueId v : inputs_) {
    if (scope_.is_list(v)) throw_unsupported("expected tensors as inputs, got a list of tensors");
    shapes.push_back(v.present() ? scope_.graph.info(v).shape : Shape::unknown());
  }
  auto parameter = [&](std::string_view name) -> const Attribute* {
    if (const RawField* f = raw_.find(prefix + std::string(name)); f && entry.has_parameters) return &f->value;
    if (const Attribute* a = attributes.find(name)) return a;
    const RawField* f = raw_.find(name);
    return f ? &f->value : nullptr;
  };
  Node node;
  node.type = raw_.type;
  node.opset = "extension";
  node.inputs = inputs_;
  DType first = inputs_.empty() || !inputs_[0].present() ? DType::undefined : scope_.graph.info(inputs_[0]).type;
  for (const MappedOutput& o : entry.outputs) {
    DType type = o.type == DType::undefined ? first : o.type;
    if (type == DType::undefined)
      throw Error(ErrorKind::user, text("the element type of output ", node.outputs.size(), " is unknown"),
                  "specify it: <Output shape=\"...\" type=\"f32\"/>");
    node.outputs.push_back({{type, o.shape.evaluate(shapes, parameter)}, {}, {}});
  }
  // Blobs of Caffe are f32 where nothing says otherwise.
  if (!shaped)
    node.outputs.resize(outputs_.size(), {{first == DType::undefined ? DType::f32 : first, Shape::unknown()}, {}, {}});
  for (const auto& [name, value] : attributes) node.attrs[name] = mapped_text(value);

  NodeId id = pass_on(std::move(node), attributes);
  for (uint32_t i = 0; i < outputs_.size(); ++i) outputs_[i] = {id, i};
  if (shaped) return;
  scope_.state().shapeless[id] = text(mapping.file, ':', entry.line);
  scope_.state().shapeless_from[id] = id;
  report.warnings.push_back(text(mapping.file, ':', entry.line, ": the output shape of '", entry.type,
                                 "' is unknown; set outputShape=\"...\" in the entry, or load an extension that "
                                 "defines the operation"));
}

NodeId Layer::shapeless_source() const {
  const auto& from = scope_.state().shapeless_from;
  for (ValueId v : inputs_)
    if (auto it = v.present() ? from.find(v.node) : from.end(); it != from.end())
      if (!scope_.graph.info(v).shape.ranked()) return it->second;
  return no_node;
}

void Layer::hand_on_missing_shape() {
  if (scope_.state().shapeless_from.empty()) return;
  NodeId source = shapeless_source();
  if (source != no_node)
    for (NodeId id : made_) scope_.state().shapeless_from.emplace(id, source);
}

Error Layer::with_missing_shape(Error e) const {
  NodeId source = shapeless_source();
  if (source == no_node) return e;
  const Node& n = scope_.graph[source];
  std::string title = text("'", n.name, "' (", n.type, ")");
  // Shapes of inputs would not help.
  std::string hint = e.code() == ErrorCode::shape_needed || e.hint().empty() ? "" : e.hint() + "; ";
  Error out(e.kind(), text(e.message(), "; its input depends on ", title, ", whose output shape is unknown"),
            text(hint, "to set the shape of ", title, " add outputShape=\"...\" at ",
                 scope_.state().shapeless.at(source), ", or load an extension that defines the operation"));
  for (const std::string& c : e.context()) out.while_(c);
  return out;
}

}  // namespace graft
