// Operations that write to tensors, in functional form.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "readers/pytorch/graph.hpp"

namespace graft {

using nlohmann::json;

bool PytorchGraph::ends_in_place(const std::string& name) { return name.ends_with('_') && !name.ends_with("__"); }

// x.add_(y): the functional operation, then its result takes the type of x.
void PytorchGraph::in_place_call(const json& j, Call call) {
  std::vector<std::string> outputs = outputs_of(j), tensors;
  if (call.name.starts_with("__i")) call.name = "__" + call.name.substr(3);
  else call.name.pop_back();
  RawNode n = call_node(j, call, &tensors);
  if (tensors.empty()) throw_user("expected a tensor that is changed in place");
  if (pytorch_view(n.type) != ViewKind::none && outputs.size() == 1 && n.type != "aten::dropout") {
    // It only looks different from now on.
    plain_call(j, call);
    return aliases_.define_same(tensors[0], outputs[0]);
  }
  // Of lists, each item.
  size_t changed = 1;
  if (call.name.starts_with("_foreach")) {
    changed = 0;
    const auto& names = *n.find("call.inputs")->value.get_if<std::vector<std::string>>();
    while (changed < names.size() && names[changed].starts_with("self.")) ++changed;
  }
  if (changed == 0) throw_user("expected a tensor that is changed in place");
  std::vector<std::string> before(n.inputs.begin(), n.inputs.begin() + static_cast<ptrdiff_t>(changed));
  bool whole = n.type == "aten::fill" || n.type == "aten::zero" || n.type == "aten::copy";
  for (size_t i = 0; i < changed; ++i) {
    bool named = outputs.size() == changed && whole;
    n.outputs.push_back(named ? own(outputs[i]) : aliases_.fresh(tensors[i]));
  }
  n.name = n.outputs[0];
  std::vector<std::string> results = n.outputs;
  emit(std::move(n));
  for (size_t i = 0; i < changed; ++i) {
    if (!whole) {
      RawNode copy;
      copy.type = "aten::copy", copy.inputs = {before[i], results[i]};
      copy.name = outputs.size() == changed ? own(outputs[i]) : aliases_.fresh(tensors[i]);
      copy.outputs = {copy.name};
      copy.fields.emplace_back("call.inputs", RawField{std::vector<std::string>{"self", "src"}, {}, {}, {}});
      results[i] = copy.name;
      emit(std::move(copy));
    }
    aliases_.write(tensors[i], results[i]);
    if (outputs.size() == changed) aliases_.define_same(outputs[i], tensors[i]);
  }
}

// add.out(x, y, out=z): z gets the result, in its own type.
void PytorchGraph::out_call(const json& j, const Call& call, const std::vector<std::string>& to) {
  std::vector<std::string> outputs = outputs_of(j), targets;
  for (const json& i : member(j, "inputs"))
    if (std::find(to.begin(), to.end(), text_member(i, "name")) != to.end())
      targets.push_back(name_in(tagged(member(i, "arg")).value));
  RawNode n = call_node(j, call, nullptr, to);
  for (const std::string& t : targets) n.outputs.push_back(aliases_.fresh(t));
  n.name = n.outputs[0];
  std::vector<std::string> results = n.outputs;
  emit(std::move(n));
  for (size_t i = 0; i < targets.size(); ++i) {
    RawNode typed;
    typed.type = "aten::type_as", typed.inputs = {results[i], aliases_.read(targets[i])};
    typed.name = own(outputs[i]), typed.outputs = {typed.name};
    typed.fields.emplace_back("call.inputs", RawField{std::vector<std::string>{"self", "other"}, {}, {}, {}});
    std::string value = typed.name;
    emit(std::move(typed));
    aliases_.write(targets[i], value);
    aliases_.define_same(outputs[i], targets[i]);
  }
}

// An operation of the user that changes its first tensor: the layer has an output for it, before its others.
void PytorchGraph::mutating_call(const json& j, const Call& call) {
  std::vector<std::string> outputs = outputs_of(j), tensors;
  RawNode n = call_node(j, call, &tensors);
  if (tensors.empty()) {  // an assertion
    if (!outputs.empty()) return plain_call(j, call);
    return;
  }
  bool returned = ends_in_place(call.name) && !outputs.empty();  // the tensor itself
  n.outputs.push_back(returned ? own(outputs[0]) : aliases_.fresh(tensors[0]));
  for (size_t i = returned ? 1 : 0; i < outputs.size(); ++i) n.outputs.push_back(own(outputs[i]));
  n.name = n.outputs[0];
  if (const json* m = meta(tensors[0])) out_.values[n.name] = {n.name, program_.info(*m), {}, {}, {}, {}};
  std::vector<std::string> results = n.outputs;
  emit(std::move(n));
  aliases_.write(tensors[0], results[0]);
  if (returned) aliases_.define_same(outputs[0], tensors[0]);
  for (size_t i = 1; i < results.size(); ++i) aliases_.define(outputs[returned ? i : i - 1], results[i]);
}

// The same after run_decompositions(): auto_functionalized_v2(op, x=..., _state_base_index=0, _all_bases=[...]).
void PytorchGraph::functionalized_call(const json& j) {
  Arguments args([&](const std::string& name) { return aliases_.read(name); });
  Call call;
  const json* bases = nullptr;
  std::vector<std::pair<std::string, size_t>> changed;
  std::vector<std::string> changed_names;  // the bases, or views of them
  for (const json& i : member(j, "inputs")) {
    std::string name = text_member(i, "name");
    const json& arg = member(i, "arg");
    if (arg.contains("as_operator")) call = call_of(text_member(arg, "as_operator"));
    else if (name == "_all_bases") bases = &tagged(arg).value;
    else if (name.starts_with("_") && name.ends_with("_base_index") && arg.contains("as_int"))
      changed.emplace_back(name.substr(1, name.size() - 12), arg["as_int"].get<size_t>());
  }
  if (!bases || !bases->is_array() || changed.empty()) throw_user("expected the tensors that the operator changes");
  for (const auto& [name, index] : changed) {
    if (index >= bases->size()) throw_user("expected an index below ", bases->size(), " for '", name, "', got ", index);
    changed_names.push_back(part_of(j, name, name_in((*bases)[index])));
    args.add_input(name, aliases_.read(changed_names.back()));
  }
  for (const json& i : member(j, "inputs"))
    if (std::string name = text_member(i, "name"); !name.empty() && !name.starts_with("_"))
      args.add(name, member(i, "arg"));
  RawNode n;
  n.type = call.type();
  std::move(args).finish(n, call.overload);
  std::vector<std::string> outputs = outputs_of(j);
  if (outputs.size() < changed.size()) throw_user("expected an output for each tensor that the operator changes");
  std::rotate(outputs.begin(), outputs.end() - static_cast<ptrdiff_t>(changed.size()), outputs.end());
  for (size_t i = 0; i < outputs.size(); ++i) {
    bool whole = i >= changed.size() || changed_names[i] == name_in((*bases)[changed[i].second]);
    n.outputs.push_back(whole ? own(outputs[i]) : aliases_.fresh(changed_names[i]));
    if (const json* m = meta(outputs[i]); whole && m)
      out_.values[n.outputs[i]] = {n.outputs[i], program_.info(*m), {}, {}, {}, {}};
  }
  n.name = n.outputs[0];
  std::vector<std::string> results = n.outputs;
  emit(std::move(n));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (i >= changed.size()) {
      aliases_.define(outputs[i], results[i]);
      continue;
    }
    // The base itself stays as it was; the output is the base with what was written.
    std::string base = name_in((*bases)[changed[i].second]), before = aliases_.read(base);
    aliases_.write(changed_names[i], results[i]);
    aliases_.define(outputs[i], aliases_.read(base));
    aliases_.write(base, before);
  }
}

// The part of a base that is changed: _x_slice_dim, _x_slice_start, _x_slice_end, or all of it.
std::string PytorchGraph::part_of(const json& j, const std::string& name, const std::string& base) {
  const std::string begin = "_" + name + "_";
  Arguments args([&](const std::string& n) { return aliases_.read(n); });
  args.add_input("self", aliases_.read(base));
  bool slice = false;
  for (const json& i : member(j, "inputs")) {
    std::string n = text_member(i, "name");
    if (!n.starts_with(begin) || n.ends_with("_base_index") || member(i, "arg").contains("as_none")) continue;
    if (n == begin + "alias") return base;
    if (!n.starts_with(begin + "slice_"))
      throw_unsupported("writing to a part of a tensor by '", n, "' is not supported");
    args.add(n.substr(begin.size() + 6), member(i, "arg"));
    slice = true;
  }
  if (!slice) return base;
  RawNode view;
  view.type = "aten::slice";
  std::move(args).finish(view, {});
  view.name = aliases_.fresh(base), view.outputs = {view.name};
  std::string part = view.name;
  aliases_.define_view(part, part, base, view, 0);
  emit(std::move(view));
  return part;
}

}  // namespace graft
