#include "import/calls.hpp"

#include <functional>
#include <set>
#include <unordered_map>

#include "base/error.hpp"

namespace graft {

namespace {

// Names of values inside a call begin with the call's own name. Calls in calls would make them longer and longer, so
// long ones are cut and told apart by their number.
std::string prefix_of(const RawNode& call, size_t number) {
  constexpr size_t longest = 256, kept = 64;
  std::string name = !call.name.empty() ? call.name : call.outputs.empty() ? call.type : call.outputs[0];
  return name.size() <= longest ? name + "/" : text(name.substr(0, kept), "~", number, "/");
}

// How many plain layers a layer counts as: one with long lists or names is more than one.
size_t weight_of(const RawNode& n) {
  size_t bytes = n.name.size();
  for (const std::string& s : n.inputs) bytes += s.size();
  for (const std::string& s : n.outputs) bytes += s.size();
  return 1 + (n.inputs.size() + n.outputs.size() + n.fields.size()) / 16 + bytes / 1024;
}

size_t layers_of(const std::vector<RawNode>& nodes) {
  size_t count = 0;
  for (const RawNode& n : nodes) {
    count += weight_of(n);
    for (const auto& [name, f] : n.fields)
      for (const auto& g : f.graphs) count += layers_of(g->nodes);
  }
  return count;
}

}  // namespace

size_t most_inlined(const RawModel& model, const Limits& limits) {
  size_t listed = layers_of(model.graph.nodes);
  for (const RawFunction& f : model.functions) listed += layers_of(f.nodes);
  return limits.inlined + 16 * listed;
}

size_t layers_of(const RawFunction& function) { return layers_of(function.nodes) + 1; }

CalledFunction called_function(const RawNode& raw, const RawFunction& function, size_t number) {
  if (raw.inputs.size() > function.inputs.size())
    throw_user("expected ", function.inputs.size(), " inputs of the function, got ", raw.inputs.size());
  if (raw.outputs.size() > function.outputs.size())
    throw_user("expected ", function.outputs.size(), " outputs of the function, got ", raw.outputs.size());
  std::string prefix = prefix_of(raw, number);
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
    // Two calls inside may have no name of their own: their first outputs differ.
    n.name = prefix + (!n.name.empty() ? n.name : n.outputs.empty() || n.outputs[0].empty() ? n.type : n.outputs[0]);
    n.position = raw.position;
    for (std::string& in : n.inputs) in = renamed(in);
    for (std::string& o : n.outputs) o = renamed(o);
  }
  for (size_t i = 0; i < raw.outputs.size(); ++i) out.outputs.push_back(renamed(function.outputs[i]));
  return out;
}

namespace {

std::set<std::string> names_made_by(const RawGraph& g) {
  std::set<std::string> names;
  for (const RawValue& v : g.inputs) names.insert(v.name);
  for (const auto& [name, t] : g.constants) names.insert(name);
  for (const RawNode& n : g.nodes) names.insert(n.outputs.begin(), n.outputs.end());
  names.erase("");
  return names;
}

// Puts `prefix` before the names in `own`, here and in graphs further inside that do not make a value of that name.
void prefix_names(RawGraph& g, const std::set<std::string>& own, const std::string& prefix) {
  auto renamed = [&](std::string& name) {
    if (own.count(name)) name = prefix + name;
  };
  for (RawValue& v : g.inputs) renamed(v.name);
  for (RawValue& v : g.outputs) renamed(v.name);
  for (auto& [name, t] : g.constants) renamed(name);
  for (RawNode& n : g.nodes) {
    for (std::string& s : n.inputs) renamed(s);
    for (std::string& s : n.outputs) renamed(s);
    for (auto& [path, field] : n.fields)
      for (std::shared_ptr<RawGraph>& inner : field.graphs) {
        inner = std::make_shared<RawGraph>(*inner);
        std::set<std::string> seen = own;
        for (const std::string& name : names_made_by(*inner)) seen.erase(name);
        prefix_names(*inner, seen, prefix);
      }
  }
}

}  // namespace

void outer_reads(const RawGraph& g, std::set<std::string>& reads) {
  std::set<std::string> inner, own;
  for (const RawValue& v : g.inputs) own.insert(v.name);
  for (const auto& [name, t] : g.constants) own.insert(name);
  for (const RawNode& n : g.nodes) {
    own.insert(n.outputs.begin(), n.outputs.end());
    inner.insert(n.inputs.begin(), n.inputs.end());
    for (const auto& [path, f] : n.fields)
      for (const auto& below : f.graphs) outer_reads(*below, inner);
  }
  for (const RawValue& v : g.outputs) inner.insert(v.name);
  for (const std::string& name : inner)
    if (!name.empty() && !own.count(name)) reads.insert(name);
}

void rename_outer(RawGraph& g, const std::string& from, const std::string& to) {
  std::set<std::string> own = names_made_by(g);
  if (own.count(from)) return;
  if (own.count(to)) throw_unsupported("a sub-graph that uses '", from, "' has a value '", to, "' of its own");
  auto rename = [&](std::string& s) {
    if (s == from) s = to;
  };
  for (RawNode& n : g.nodes) {
    for (std::string& in : n.inputs) rename(in);
    for (auto& [path, f] : n.fields)
      for (std::shared_ptr<RawGraph>& inner : f.graphs) {
        std::set<std::string> reads;
        outer_reads(*inner, reads);
        if (!reads.count(from)) continue;
        inner = std::make_shared<RawGraph>(*inner);
        rename_outer(*inner, from, to);
      }
  }
  for (RawValue& v : g.outputs) rename(v.name);
}

RawGraph renamed_body(const RawGraph& body, const std::string& prefix) {
  RawGraph out = body;
  prefix_names(out, names_made_by(body), prefix);
  std::map<std::string, RawValue> values;
  for (auto& [name, v] : out.values) values.emplace(prefix + name, v);
  out.values = std::move(values);
  for (RawNode& n : out.nodes) n.name = prefix + (n.name.empty() ? n.type : n.name);
  return out;
}

void inline_calls(RawModel& model, const Limits& limits) {
  size_t most = most_inlined(model, limits);
  std::unordered_map<std::string, const RawFunction*> functions;
  for (const RawFunction& f : model.functions)
    if (f.opsets.empty() || f.opsets == model.opsets) functions.emplace(text(f.domain, '|', f.name), &f);
  if (functions.empty()) return;
  std::vector<RawNode> out;
  size_t inlined = 0;
  std::function<void(RawNode, int)> place = [&](RawNode n, int depth) {
    auto it = functions.find(text(n.domain, '|', n.type));
    if (it == functions.end()) return out.push_back(std::move(n));
    if (depth >= limits.levels()) throw_limit(&Limits::depth, "function calls are nested more than ", depth, " deep");
    inlined += layers_of(*it->second);
    if (inlined > most) throw_limit(&Limits::inlined, "inlining function calls adds more than ", most, " layers");
    CalledFunction called = called_function(n, *it->second, inlined);
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
