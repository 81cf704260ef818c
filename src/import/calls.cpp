#include "import/calls.hpp"

#include <functional>
#include <set>
#include <unordered_map>

#include "base/error.hpp"

namespace graft {

CalledFunction called_function(const RawNode& raw, const RawFunction& function) {
  if (raw.inputs.size() > function.inputs.size())
    throw_user("expected ", function.inputs.size(), " inputs of the function, got ", raw.inputs.size());
  if (raw.outputs.size() > function.outputs.size())
    throw_user("expected ", function.outputs.size(), " outputs of the function, got ", raw.outputs.size());
  std::string prefix = (raw.name.empty() ? raw.outputs.empty() ? raw.type : raw.outputs[0] : raw.name) + "/";
  std::unordered_map<std::string, std::string> rename;
  for (size_t i = 0; i < function.inputs.size(); ++i)
    rename[function.inputs[i]] = i < raw.inputs.size() ? raw.inputs[i] : std::string();
  auto renamed = [&](const std::string& name) -> std::string {
    if (name.empty()) return name;
    auto it = rename.find(name);
    return it == rename.end() ? prefix + name : it->second;
  };
  for (size_t i = 0; i < raw.outputs.size(); ++i)
    if (!raw.outputs[i].empty() && !rename.count(function.outputs[i])) rename[function.outputs[i]] = raw.outputs[i];

  auto find_field = [&](const std::string& name) -> const RawField* {
    if (const RawField* f = raw.find(name)) return f;
    for (const auto& [n, f] : function.defaults)
      if (n == name) return &f;
    return nullptr;
  };
  std::function<void(RawNode&)> substitute = [&](RawNode& n) {
    std::vector<std::pair<std::string, RawField>> fields;
    for (auto& [name, f] : n.fields) {
      if (!f.refers_to.empty()) {
        if (const RawField* given = find_field(f.refers_to)) fields.emplace_back(name, *given);
        continue;
      }
      for (auto& g : f.graphs) {
        auto copy = std::make_shared<RawGraph>(*g);
        std::set<std::string> inner;
        for (const RawValue& v : copy->inputs) inner.insert(v.name);
        for (const auto& [c, t] : copy->constants) inner.insert(c);
        for (const RawNode& node : copy->nodes) inner.insert(node.outputs.begin(), node.outputs.end());
        auto outer = [&](std::string& s) {
          if (!s.empty() && !inner.count(s)) s = renamed(s);
        };
        for (RawNode& node : copy->nodes) {
          substitute(node);
          for (std::string& in : node.inputs) outer(in);
        }
        for (RawValue& v : copy->outputs) outer(v.name);
        g = copy;
      }
      fields.emplace_back(name, std::move(f));
    }
    n.fields = std::move(fields);
  };
  CalledFunction out;
  out.nodes = function.nodes;
  for (RawNode& n : out.nodes) {
    substitute(n);
    n.name = prefix + (n.name.empty() ? n.type : n.name);
    n.position = raw.position;
    for (std::string& in : n.inputs) in = renamed(in);
    for (std::string& o : n.outputs) o = renamed(o);
  }
  for (size_t i = 0; i < raw.outputs.size(); ++i) out.outputs.push_back(renamed(function.outputs[i]));
  return out;
}

void inline_calls(RawModel& model, int max_depth, size_t max_layers) {
  std::unordered_map<std::string, const RawFunction*> functions;
  for (const RawFunction& f : model.functions)
    if (f.opsets.empty() || f.opsets == model.opsets) functions.emplace(text(f.domain, '|', f.name), &f);
  if (functions.empty()) return;
  std::vector<RawNode> out;
  size_t inlined = 0;
  std::function<void(RawNode, int)> place = [&](RawNode n, int depth) {
    auto it = functions.find(text(n.domain, '|', n.type));
    if (it == functions.end()) return out.push_back(std::move(n));
    if (depth >= max_depth) throw_user("function calls are nested more than ", depth, " deep");
    inlined += it->second->nodes.size() + 1;
    if (inlined > max_layers) throw_user("inlining function calls adds more than ", max_layers, " layers");
    CalledFunction called = called_function(n, *it->second);
    std::set<std::string> made;
    for (RawNode& part : called.nodes) {
      made.insert(part.outputs.begin(), part.outputs.end());
      place(std::move(part), depth + 1);
    }
    for (size_t i = 0; i < n.outputs.size(); ++i) {
      if (n.outputs[i].empty() || made.count(n.outputs[i])) continue;
      // An output that is also another output, or one of the inputs.
      RawNode same;
      same.type = "Identity";
      same.name = n.outputs[i];
      same.inputs = {called.outputs[i]};
      same.outputs = {n.outputs[i]};
      same.position = n.position;
      out.push_back(std::move(same));
    }
  };
  std::vector<RawNode> nodes = std::move(model.graph.nodes);
  for (RawNode& n : nodes) place(std::move(n), 0);
  model.graph.nodes = std::move(out);
}

}  // namespace graft
