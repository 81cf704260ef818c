// Fills in `inputs` and `outputs` of a scope from its first instance.
#include <algorithm>

#include "base/text.hpp"
#include "import/replace_json.hpp"
#include "import/replace_match.hpp"

namespace graft {
namespace {

nlohmann::json port_entry(const std::string& relative_name, size_t port) {
  return {{"node", pattern_for(relative_name) + "$"}, {"port", port}};
}

void fill_in(const RawIndex& index, const Pattern& instance, nlohmann::json& entry) {
  ScopeMembers members = scope_members(index, instance);
  if (members.nodes.empty()) {
    Subgraph none;
    std::vector<std::string> missed;
    find_scope(index, {}, instance, none, missed);
    throw_user(missed[0]);
  }
  if (members.ragged)
    throw Error(ErrorKind::user,
                text("the instance '", instance.source(), "' ends in the middle of a part of '",
                     index.name(*members.ragged), "'"),
                "end the pattern at the end of a name part");
  std::vector<bool> inside(index.graph.nodes.size(), false);
  for (size_t n : members.nodes) inside[n] = true;
  nlohmann::json inputs = nlohmann::json::array(), outputs = nlohmann::json::array();
  std::unordered_map<std::string, size_t> groups;  // by input tensor
  for (size_t i = 0; i < members.nodes.size(); ++i) {
    const RawNode& n = index.graph.nodes[members.nodes[i]];
    for (size_t port = 0; port < n.inputs.size(); ++port) {
      const std::string& in = n.inputs[port];
      const RawIndex::Port* m = in.empty() ? nullptr : index.maker(in);
      if (m ? inside[m->node] : !index.is_input(in)) continue;
      auto [it, fresh] = groups.emplace(in, inputs.size());
      if (fresh) inputs.push_back(nlohmann::json::array());
      inputs[it->second].push_back(port_entry(members.relative_names[i], port));
    }
    for (size_t port = 0; port < n.outputs.size(); ++port) {
      const std::string& o = n.outputs[port];
      if (o.empty()) continue;
      const auto& readers = index.readers(o);
      bool leaves =
          index.is_output(o) || (readers.empty() && port == 0 && n.type != "Const" && n.type != "Constant") ||
          std::any_of(readers.begin(), readers.end(), [&](const RawIndex::Port& p) { return !inside[p.node]; });
      if (leaves) outputs.push_back(port_entry(members.relative_names[i], port));
    }
  }
  if (!entry.contains("inputs")) entry["inputs"] = std::move(inputs);
  if (!entry.contains("outputs")) entry["outputs"] = std::move(outputs);
}

}  // namespace

std::string updated_replacements(const RawModel& model, std::string_view json, const std::string& name,
                                 const ReplacementLimits& limits) {
  ReplacementConfig config = parse_replacements(json, name, limits);
  nlohmann::json all = parse_replacement_json(json, name, limits);
  RawIndex index(model.graph);
  for (size_t i = 0; i < config.entries.size(); ++i) {
    const Replacement& r = config.entries[i];
    if (r.kind != Replacement::scope || (r.has_inputs && r.has_outputs)) continue;
    with_context([&] { fill_in(index, r.instances[0], all[i]); },
                 [&] { return text("updating the replacement '", r.id, "' of ", name); });
  }
  return all.dump(4) + "\n";
}

}  // namespace graft
