// The functions of a raw pass that change the model.
#include <algorithm>

#include "base/error.hpp"
#include "base/given.hpp"
#include "base/text.hpp"
#include "import/calls.hpp"
#include "import/raw_edit.hpp"
#include "schema/new_node.hpp"

namespace graft {
namespace {

std::vector<std::string> strings(const graft_str* items, size_t count) {
  constexpr size_t most = 65'536;
  if (count > most) throw_user("expected at most ", most, " inputs or outputs of a layer, got ", count);
  std::vector<std::string> out;
  for (graft_str s : given_list(items, count, "names")) out.emplace_back(given_text(s, "a name"));
  return out;
}

}  // namespace

std::string raw_title(const RawNode& n) {
  std::string name = n.name;
  for (size_t i = 0; i < n.outputs.size() && name.empty(); ++i) name = n.outputs[i];
  return text("'", name, "' (", n.domain.empty() ? "" : n.domain + "::", n.type, ")");
}

void RawEdit::assign(RawNode& n, const graft_raw_layer& layer) {
  given_text(layer.name, "the name of a layer"), given_text(layer.type, "the type of a layer");
  if (!layer.type.size) throw_user("expected a type of the layer '", layer.name, "', got an empty one");
  if (layer.weight_count > layer.input_count)
    throw_user("expected at most ", layer.input_count, " weights of the layer '", layer.name, "', got ",
               layer.weight_count);
  n.name = view(layer.name), n.type = view(layer.type), n.domain = given_text(layer.domain, "a domain");
  n.inputs = strings(layer.inputs, layer.input_count);
  n.outputs = strings(layer.outputs, layer.output_count);
  n.weights = layer.weight_count;
  n.is_operation = layer.flags & GRAFT_RAW_OPERATION;
}

graft_layer RawEdit::add_layer(const graft_raw_layer& layer, std::span<const graft_info> infos) {
  require_writable();
  if (alive_ >= limits_.nodes) throw_limit(&Limits::nodes, "the model has more than ", limits_.nodes, " layers");
  RawNode n;
  assign(n, layer);
  if (!infos.empty() && !n.is_operation)
    throw_user("types and shapes of outputs are only for an operation; '", n.name, "' is a layer of the framework");
  if (!infos.empty() && infos.size() != n.outputs.size())
    throw_user("expected types and shapes of ", n.outputs.size(), " outputs of '", n.name, "', got ", infos.size());
  for (const graft_info& i : infos) n.set_origin().infos.push_back(given_info(i));
  Entry& e = entries_.emplace_back();
  e.node = std::move(n);
  e.title = raw_title(e.node);
  e.added = true;
  ++alive_;
  auto id = static_cast<graft_layer>(entries_.size());
  index(id);
  return id;
}

void RawEdit::remove_layer(graft_layer id) {
  writable(id).alive = false;
  --alive_;
}

void RawEdit::set_layer(graft_layer id, const graft_raw_layer& layer) {
  Entry& e = writable(id);
  RawNode n = e.node;  // stays as it is if the new form is refused
  assign(n, layer);
  e.renamed |= n.name != e.node.name;
  e.node = std::move(n);
  e.changed = true;
  e.forget();
  index(id);
}

void RawEdit::set_field(graft_layer id, std::string_view path, const graft_value* value) {
  Entry& e = writable(id);
  if (path.empty()) throw_user("expected a name of a field of ", e.title, ", got an empty one");
  e.changed = true;
  e.forget();
  auto& fields = e.node.fields;
  auto at = std::find_if(fields.begin(), fields.end(), [&](const auto& f) { return f.first == path; });
  if (!value || value->kind == GRAFT_NONE) {
    if (at != fields.end()) fields.erase(at);
    return;
  }
  if (value->kind < GRAFT_NONE || value->kind > GRAFT_DTYPES)
    throw_user("field '", path, "' of ", e.title, " cannot have a value of kind ", value->kind);
  if (value->kind == GRAFT_TENSOR && !value->tensor) throw_user("field '", path, "' of ", e.title, " has no tensor");
  if (at == fields.end()) {
    if (fields.size() >= limits_.attributes)
      throw_limit(&Limits::attributes, "the layer ", e.title, " has more than ", limits_.attributes, " fields");
    at = fields.insert(fields.end(), {std::string(path), {}});
  }
  at->second = {};
  at->second.value = Attribute::from(*value);
}

void RawEdit::copy_field(graft_layer from, std::string_view path, graft_layer to, std::string_view to_path) {
  const RawField* f = entry(from).node.find(path);
  if (!f) throw_user("the layer ", entry(from).title, " has no field '", path, "'");
  RawField copy = *f;
  graft_value any{};
  any.kind = GRAFT_BOOL;
  set_field(to, to_path, &any);
  Entry& e = writable(to);
  for (auto& [name, field] : e.node.fields)
    if (name == to_path) field = std::move(copy);
  e.forget();
  index(to);
}

void RawEdit::add_constant(std::string_view name, const graft_tensor& tensor) {
  require_writable();
  if (name.empty()) throw_user("expected a name of the constant, got an empty one");
  if (find_constant(name)) throw_user("duplicate constant name '", name, "'");
  Tensor copy = copy_of(tensor);
  constant_index_.emplace(name, graph_.constants.size());
  graph_.constants.emplace_back(std::string(name), std::move(copy));
  other_ = true;
}

void RawEdit::remove_constant(std::string_view name) {
  require_writable();
  if (!find_constant(name)) throw_user("the model has no constant '", name, "'");
  std::erase_if(graph_.constants, [&](const auto& c) { return c.first == name; });
  index_constants();
  other_ = true;
}

void RawEdit::rename_uses(const std::string& from, const std::string& to, graft_layer except) {
  std::vector<graft_layer> users;
  for (graft_layer id : consumers(from)) users.push_back(id);
  for (graft_layer id : users) {
    if (id == except) continue;
    Entry& e = writable(id);
    for (std::string& in : e.node.inputs)
      if (in == from) in = to;
    if (reads_inside(e.node, from))
      for (auto& [path, f] : e.node.fields)
        for (std::shared_ptr<RawGraph>& g : f.graphs) {
          g = std::make_shared<RawGraph>(*g);
          rename_outer(*g, from, to);
        }
    e.changed = true;
    e.forget();
    index(id);
  }
}

std::string RawEdit::fresh_name(const std::string& stem) {
  auto taken = [&](const std::string& name) {
    graft_info info;
    return producer(name) || find_constant(name) || value_info(name, info);
  };
  std::string name = stem;
  for (size_t i = 1; taken(name); ++i) name = text(stem, '_', i);
  return name;
}

void RawEdit::replace_value(std::string_view old_name, std::string_view new_name) {
  require_writable();
  std::string from(old_name), to(new_name);
  if (from.empty() || to.empty()) throw_user("expected the names of two values, got an empty one");
  if (from == to) return;
  auto is_output = [&](const std::string& name) {
    return std::any_of(graph_.outputs.begin(), graph_.outputs.end(), [&](const RawValue& v) { return v.name == name; });
  };
  graft_layer maker = producer(to);
  if (!is_output(from)) return rename_uses(from, to, maker);
  // The name of an output belongs to the model: the new producer takes it over.
  graft_layer before = producer(from);
  std::string aside = fresh_name(from + "/replaced");
  auto rename_made = [&](graft_layer id, const std::string& a, const std::string& b) {
    Entry& e = writable(id);
    for (std::string& o : e.node.outputs)
      if (o == a) o = b;
    e.changed = true;
    index(id);
  };
  // What the new producer itself reads stays as it was.
  auto keeps_reading = [&](graft_layer id) {
    if (!id) return;
    Entry& e = writable(id);
    for (std::string& in : e.node.inputs)
      if (in == from) in = aside;
    index(id);
  };
  if (maker && !is_output(to)) {
    if (before) rename_made(before, from, aside);
    keeps_reading(maker);
    rename_made(maker, to, from);
    return rename_uses(to, from, maker);
  }
  // An input, a constant or another output of the model: a layer that copies it has the name.
  if (before) rename_made(before, from, aside);
  RawNode copy;
  graft_str in = str(to), out = str(from);
  graft_raw_layer layer{};
  layer.size = sizeof layer;
  layer.flags = GRAFT_RAW_OPERATION;
  std::string name = fresh_name(from + "/copy");
  layer.name = str(name), layer.type = str("Identity");
  layer.inputs = &in, layer.input_count = 1;
  layer.outputs = &out, layer.output_count = 1;
  add_layer(layer, {});
}

void RawEdit::set_inputs(std::span<const graft_raw_value> values) {
  require_writable();
  std::vector<RawValue> out;
  for (const graft_raw_value& v : values) {
    if (given_text(v.name, "the name of an input").empty())
      throw_user("expected a name of an input of the model, got an empty one");
    auto same = [&](const RawValue& r) { return r.name == view(v.name); };
    if (std::any_of(out.begin(), out.end(), same)) throw_user("duplicate input '", v.name, "' of the model");
    auto old = std::find_if(graph_.inputs.begin(), graph_.inputs.end(), same);
    RawValue& r = out.emplace_back();
    if (old != graph_.inputs.end()) r = *old;
    r.name = view(v.name);
    if (r.kind.empty()) r.info = given_info(v.info);
  }
  graph_.inputs = std::move(out);
  other_ = true;
}

void RawEdit::set_outputs(std::span<const graft_str> values) {
  require_writable();
  if (values.empty()) throw_user("expected at least one output of the model, got none");
  std::vector<RawValue> out;
  for (const graft_str& s : values) {
    given_text(s, "the name of an output");
    auto same = [&](const RawValue& v) { return v.name == view(s); };
    if (std::any_of(out.begin(), out.end(), same)) throw_user("duplicate output '", s, "' of the model");
    auto old = std::find_if(graph_.outputs.begin(), graph_.outputs.end(), same);
    RawValue& r = out.emplace_back();
    r.name = view(s);
    if (old != graph_.outputs.end()) r = *old;
    else if (auto it = graph_.values.find(r.name); it != graph_.values.end()) r = it->second;
  }
  graph_.outputs = std::move(out);
  other_ = true;
}

void RawEdit::take_replacement(size_t index) {
  if (!config_ || index >= taken_->size()) throw_user("there is no entry ", index, " of a replacement file");
  if ((*taken_)[index]) return;
  (*taken_)[index] = true;
  took_.push_back(index);
}

void RawEdit::set_position(graft_layer id, int64_t position) {
  if (position < 0) throw_user("expected a position of ", entry(id).title, " of at least 0, got ", position);
  writable(id).node.position = static_cast<size_t>(position);
}

void RawEdit::set_version(std::string_view domain, int64_t version) {
  require_writable();
  if (version < 0) throw_user("expected a version of the domain '", domain, "' of at least 0, got ", version);
  model_.opsets[std::string(domain)] = version;
  other_ = true;
}

void RawEdit::set_value_info(std::string_view value, const graft_info& info) {
  require_writable();
  if (value.empty()) throw_user("expected the name of a value, got an empty one");
  RawValue& v = graph_.values[std::string(value)];
  v.name = value;
  v.info = given_info(info);
  other_ = true;
}

}  // namespace graft
