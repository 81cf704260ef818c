#include "readers/pytorch/alias.hpp"

#include "base/error.hpp"

namespace graft {

ViewKind pytorch_view(std::string_view type) {
  static const std::unordered_map<std::string_view, ViewKind> views = [] {
    std::unordered_map<std::string_view, ViewKind> out;
    auto all = [&](ViewKind kind, std::initializer_list<std::string_view> types) {
      for (std::string_view t : types) out.emplace(t, kind);
    };
    all(ViewKind::select, {"aten::select", "aten::slice", "aten::diagonal", "aten::as_strided"});
    all(ViewKind::reshape, {"aten::view",         "aten::_unsafe_view", "aten::unsqueeze",    "aten::squeeze",
                            "aten::alias",        "aten::detach",       "aten::lift_fresh",   "aten::view_as",
                            "aten::unflatten",    "aten::positive",     "aten::resolve_conj", "aten::resolve_neg",
                            "aten::real",         "aten::atleast_1d",   "aten::atleast_2d",   "aten::atleast_3d",
                            "aten::reshape",      "aten::reshape_as",   "aten::flatten",      "aten::ravel",
                            "aten::contiguous",   "aten::to",           "aten::dropout",      "aten::feature_dropout",
                            "aten::alpha_dropout"});
    all(ViewKind::itself, {"aten::transpose", "aten::t", "aten::swapaxes", "aten::swapdims", "aten::mT", "aten::mH",
                           "aten::numpy_T", "aten::matrix_H", "aten::adjoint"});
    all(ViewKind::elements,
        {"aten::permute", "aten::narrow", "aten::movedim", "aten::moveaxis", "aten::unfold", "aten::split",
         "aten::split_with_sizes", "aten::chunk", "aten::unbind", "aten::tensor_split", "aten::hsplit", "aten::vsplit",
         "aten::dsplit", "aten::expand", "aten::expand_as", "aten::broadcast_to", "aten::linalg_diagonal"});
    return out;
  }();
  auto it = views.find(type);
  return it == views.end() ? ViewKind::none : it->second;
}

void Aliases::define(const std::string& name, std::string value) {
  names_[name] = cells_.size();
  Cell c;
  c.name = name, c.value = std::move(value), c.root = cells_.size();
  cells_.push_back(std::move(c));
}

void Aliases::define_view(const std::string& name, std::string value, const std::string& of, const RawNode& node,
                          size_t output) {
  size_t parent = cell(of), root = cells_[parent].root;
  names_[name] = cells_.size();
  Cell c;
  c.name = name, c.value = std::move(value), c.of = parent, c.root = root, c.output = output;
  c.version = cells_[root].version, c.node = node;
  cells_.push_back(std::move(c));
}

void Aliases::define_same(const std::string& name, const std::string& of) { names_[name] = cell(of); }

size_t Aliases::cell(const std::string& name) const {
  auto it = names_.find(name);
  if (it == names_.end()) throw_user("value '", name, "' is used before it is produced");
  return it->second;
}

std::string Aliases::read(const std::string& name) { return read(cell(name)); }

// Views are made anew, from the root down, where it was written to since.
std::string Aliases::read(size_t i) {
  std::vector<size_t> stale;
  uint64_t version = cells_[cells_[i].root].version;
  for (size_t at = i; cells_[at].of != SIZE_MAX && cells_[at].version != version; at = cells_[at].of)
    stale.push_back(at);
  while (!stale.empty()) {
    Cell& c = cells_[stale.back()];
    stale.pop_back();
    RawNode again = c.node;
    again.inputs[0] = cells_[c.of].value;
    for (std::string& o : again.outputs) o = fresh(c.name);
    again.name = again.outputs[c.output];
    c.value = again.outputs[c.output], c.version = version;
    emit_(std::move(again));
  }
  return cells_[i].value;
}

void Aliases::write(const std::string& name, std::string value) { write(cell(name), std::move(value)); }

void Aliases::write(size_t i, std::string value) {
  // From the view up to the root: each becomes what it was with the new part in it.
  std::vector<size_t> changed{i};
  while (cells_[i].of != SIZE_MAX) {
    size_t parent = cells_[i].of;
    std::string before = read(parent), after = written_back(cells_[i], before, value);
    cells_[i].value = std::move(value), value = std::move(after), i = parent;
    changed.push_back(i);
  }
  cells_[i].value = std::move(value);
  uint64_t version = ++cells_[i].version;
  for (size_t c : changed) cells_[c].version = version;
}

std::string Aliases::written_back(const Cell& view, const std::string& parent, const std::string& value) {
  RawNode n;
  n.position = view.node.position;
  std::string out = fresh(cells_[view.of].name);
  n.name = out, n.outputs = {out};
  auto names = [&](std::vector<std::string> inputs) {
    for (auto& [name, f] : n.fields)
      if (name == "call.inputs") return void(f.value = inputs);
    n.fields.emplace_back("call.inputs", RawField{std::move(inputs), {}, {}, {}});
  };
  switch (pytorch_view(view.node.type)) {
    case ViewKind::select: {
      n = view.node;
      n.type += "_scatter", n.name = out, n.outputs = {out};
      n.inputs[0] = parent;
      n.inputs.insert(n.inputs.begin() + 1, value);
      std::vector<std::string> inputs = *view.node.find("call.inputs")->value.get_if<std::vector<std::string>>();
      inputs.insert(inputs.begin() + 1, "src");
      names(std::move(inputs));
      break;
    }
    case ViewKind::reshape:
      n.type = "aten::reshape_as", n.inputs = {value, parent};
      names({"self", "other"});
      break;
    case ViewKind::itself:
      n = view.node;
      n.inputs[0] = value, n.name = out, n.outputs = {out};
      break;
    default: {
      RawNode positions, looked = view.node;
      positions.type = "graft::positions", positions.position = n.position;
      positions.name = fresh(cells_[view.of].name), positions.outputs = {positions.name}, positions.inputs = {parent};
      looked.inputs[0] = positions.name;
      for (std::string& o : looked.outputs) o = fresh(view.name);
      looked.name = looked.outputs[view.output];
      n.type = "graft::replace", n.inputs = {parent, looked.name, value};
      emit_(std::move(positions));
      emit_(std::move(looked));
    }
  }
  emit_(std::move(n));
  return out;
}

}  // namespace graft
