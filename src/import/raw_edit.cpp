#include "import/raw_edit.hpp"

#include <graft/abi_raw_flags.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "import/calls.hpp"
#include "import/stub.hpp"
#include "schema/new_node.hpp"

namespace graft {
namespace {

void list_strings(const std::vector<std::string>& from, std::vector<graft_str>& to) {
  to.clear();
  for (const std::string& s : from) to.push_back(str(s));
}

}  // namespace

RawEdit::RawEdit(RawModel& model, const ReplacementConfig* replacements, std::vector<bool>& taken, const Limits& limits,
                 const LayerMapping* mapping)
    : model_(model), graph_(model.graph), config_(replacements), mapping_(mapping), taken_(&taken), limits_(limits) {
  enter_layers();
}

RawEdit::RawEdit(RawModel& model, RawGraph& body, const Limits& limits)
    : model_(model), graph_(body), limits_(limits), read_only_(true) {
  enter_layers();
}

void RawEdit::enter_layers() {
  for (RawNode& n : graph_.nodes) {
    Entry& e = entries_.emplace_back();
    e.title = raw_title(n);
    // A sub-graph may be shared with other layers.
    if (read_only_) e.node = n;
    else e.node = std::move(n);
  }
  if (!read_only_) graph_.nodes.clear();
  alive_ = entries_.size();
  index_constants();
}

void RawEdit::index_constants() {
  constant_index_.clear();
  for (size_t i = 0; i < graph_.constants.size(); ++i) constant_index_.emplace(graph_.constants[i].first, i);
}

void RawEdit::finish(const std::string& by) {
  for (Entry& e : entries_) {
    if (!e.alive) continue;
    if (e.added && !by.empty()) e.node.set_origin().added_by = by;
    graph_.nodes.push_back(std::move(e.node));
  }
  entries_.clear();
}

RawEdit::Changes RawEdit::changes() const {
  Changes out;
  for (const Entry& e : entries_) {
    if (e.added && e.alive) out.added.push_back(raw_title(e.node));
    if (!e.added && !e.alive) out.removed.push_back(e.title);
    if (!e.added && e.alive && e.changed) out.changed.push_back(e.title);
  }
  for (size_t i : took_) out.took.push_back(config_->entries[i].id);
  out.other = other_;
  return out;
}

std::vector<std::string> RawEdit::new_names() const {
  std::vector<std::string> out;
  for (const Entry& e : entries_)
    if (e.alive && (e.added || e.renamed) && !e.node.name.empty()) out.push_back(e.node.name);
  return out;
}

RawEdit::Entry& RawEdit::entry(graft_layer id) {
  if (id < 1 || static_cast<size_t>(id) > entries_.size()) throw_user("there is no layer ", id);
  Entry& e = entries_[static_cast<size_t>(id) - 1];
  if (!e.alive) throw_user("the layer ", e.title, " was removed");
  return e;
}

void RawEdit::require_writable() const {
  if (read_only_) throw_unsupported("a sub-graph of a layer cannot be changed");
}

RawEdit::Entry& RawEdit::writable(graft_layer id) {
  require_writable();
  return entry(id);
}

// ---- reading ----

std::span<const graft_layer> RawEdit::layers() {
  ids_.clear();
  for (size_t i = 0; i < entries_.size(); ++i)
    if (entries_[i].alive) ids_.push_back(static_cast<graft_layer>(i + 1));
  return ids_;
}

graft_raw_layer RawEdit::layer(graft_layer id) {
  Entry& e = entry(id);
  const RawNode& n = e.node;
  list_strings(n.inputs, e.inputs);
  list_strings(n.outputs, e.outputs);
  graft_raw_layer out{};
  out.size = sizeof out;
  out.flags = n.is_operation ? GRAFT_RAW_OPERATION : mapping_ && mapped_layer(*mapping_, n) ? GRAFT_RAW_MAPPED : 0;
  out.name = str(n.name), out.type = str(n.type), out.domain = str(n.domain);
  out.inputs = e.inputs.data(), out.input_count = e.inputs.size();
  out.outputs = e.outputs.data(), out.output_count = e.outputs.size();
  out.weight_count = n.weights;
  auto opset = model_.opsets.find(n.domain);
  out.version = opset == model_.opsets.end() ? 1 : opset->second;
  return out;
}

const graft_value& RawEdit::value_of(Entry& e, const std::string& path, const RawField& f) {
  std::unique_ptr<FieldValue>& made = e.values[path];
  if (!made) {
    made = std::make_unique<FieldValue>(f);
    if (auto t = f.value.get_if<Tensor>(); t && *t) handed_out_.emplace(t->raw(), *t);
    for (const Tensor& t : f.tensors) handed_out_.emplace(t.raw(), t);
  }
  return made->value;
}

std::span<const graft_named_value> RawEdit::fields(graft_layer id) {
  Entry& e = entry(id);
  if (e.list.empty())
    for (const auto& [path, f] : e.node.fields) e.list.push_back({str(path), value_of(e, path, f)});
  return e.list;
}

const graft_value* RawEdit::field(graft_layer id, std::string_view path) {
  Entry& e = entry(id);
  for (const auto& [name, f] : e.node.fields)
    if (name == path) return &value_of(e, name, f);
  return nullptr;
}

graft_raw_model* RawEdit::body(graft_layer id, std::string_view path, size_t index) {
  const RawField* f = entry(id).node.find(path);
  if (!f || index >= f->graphs.size()) return nullptr;
  return &bodies_.emplace_back(model_, *f->graphs[index], limits_);
}

std::span<const graft_raw_value> RawEdit::listed(const std::vector<RawValue>& from, std::vector<graft_raw_value>& to) {
  to.clear();
  for (const RawValue& v : from) to.push_back({str(v.name), str(v.kind), v.info.raw()});
  return to;
}

bool RawEdit::value_info(std::string_view value, graft_info& info) {
  auto find = [&](const std::vector<RawValue>& list) {
    auto it = std::find_if(list.begin(), list.end(), [&](const RawValue& v) { return v.name == value; });
    if (it != list.end()) info = it->info.raw();
    return it != list.end();
  };
  if (auto it = graph_.values.find(std::string(value)); it != graph_.values.end()) {
    info = it->second.info.raw();
    return true;
  }
  return find(graph_.inputs) || find(graph_.outputs);
}

std::span<const graft_str> RawEdit::constants() {
  names_.clear();
  for (const auto& [name, t] : graph_.constants) names_.push_back(str(name));
  return names_;
}

const Tensor* RawEdit::find_constant(std::string_view name) const {
  auto it = constant_index_.find(std::string(name));
  return it == constant_index_.end() ? nullptr : &graph_.constants[it->second].second;
}

const graft_tensor* RawEdit::constant(std::string_view name) {
  const Tensor* t = find_constant(name);
  if (!t || !*t) return nullptr;
  handed_out_.emplace(t->raw(), *t);
  return t->raw();
}

void* RawEdit::keep_tensor(const graft_tensor* tensor) {
  auto it = handed_out_.find(tensor);
  return it == handed_out_.end() ? nullptr : new Tensor(it->second);
}

std::span<const graft_raw_replacement> RawEdit::replacements() {
  replacement_list_.clear(), attribute_lists_.clear(), attribute_store_.clear();
  for (size_t i = 0; config_ && i < config_->entries.size(); ++i) {
    const Replacement& r = config_->entries[i];
    auto& list = attribute_lists_.emplace_back();
    for (const auto& [name, value] : r.attributes) {
      auto& [texts, types] = attribute_store_.emplace_back();
      list.push_back({str(name), value.raw(texts, types)});
    }
    replacement_list_.push_back({str(r.id), str(r.json), list.data(), list.size(), (*taken_)[i]});
  }
  return replacement_list_;
}

// ---- producers and consumers ----

bool RawEdit::reads_inside(const RawNode& node, const std::string& value) const {
  for (const auto& [path, f] : node.fields)
    for (const auto& g : f.graphs) {
      std::set<std::string> reads;
      outer_reads(*g, reads);
      if (reads.count(value)) return true;
    }
  return false;
}

bool RawEdit::reads(graft_layer id, const std::string& value) const {
  const Entry& e = entries_[static_cast<size_t>(id) - 1];
  if (!e.alive) return false;
  const auto& in = e.node.inputs;
  return std::find(in.begin(), in.end(), value) != in.end() || reads_inside(e.node, value);
}

void RawEdit::index(graft_layer id) {
  if (!indexed_) return;
  const RawNode& n = entries_[static_cast<size_t>(id) - 1].node;
  auto add = [&](auto& map, const std::string& value) {
    if (value.empty()) return;
    auto& list = map[value];
    if (list.empty() || list.back() != id) list.push_back(id);
  };
  for (const std::string& v : n.outputs) add(makers_, v);
  for (const std::string& v : n.inputs) add(readers_, v);
  for (const auto& [path, f] : n.fields)
    for (const auto& g : f.graphs) {
      std::set<std::string> reads;
      outer_reads(*g, reads);
      for (const std::string& v : reads) add(readers_, v);
    }
}

void RawEdit::index_all() {
  if (indexed_) return;
  indexed_ = true;
  for (size_t i = 0; i < entries_.size(); ++i)
    if (entries_[i].alive) index(static_cast<graft_layer>(i + 1));
}

graft_layer RawEdit::producer(std::string_view value) {
  index_all();
  auto it = makers_.find(std::string(value));
  if (value.empty() || it == makers_.end()) return 0;
  for (graft_layer id : it->second) {
    const Entry& e = entries_[static_cast<size_t>(id) - 1];
    const auto& out = e.node.outputs;
    if (e.alive && std::find(out.begin(), out.end(), value) != out.end()) return id;
  }
  return 0;
}

std::span<const graft_layer> RawEdit::consumers(std::string_view value) {
  index_all();
  found_.clear();
  auto it = readers_.find(std::string(value));
  if (it == readers_.end()) return found_;
  std::sort(it->second.begin(), it->second.end());
  it->second.erase(std::unique(it->second.begin(), it->second.end()), it->second.end());
  for (graft_layer id : it->second)
    if (reads(id, it->first)) found_.push_back(id);
  return found_;
}

}  // namespace graft
