#include "import/replace.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "import/published.hpp"
#include "import/replace_match.hpp"

namespace graft {
namespace {

// Every value used outside a sub-graph must be one of its outputs, and no input may depend on its outputs.
void check_edges(const RawIndex& index, const Subgraph& s, const std::vector<bool>& inside, Replacement::Kind kind) {
  auto listed = [](const std::vector<std::string>& list, const std::string& v) {
    return std::find(list.begin(), list.end(), v) != list.end();
  };
  for (size_t i = 0; i < s.outputs.size(); ++i)
    for (size_t k = 0; k < i; ++k)
      if (!s.outputs[i].empty() && s.outputs[i] == s.outputs[k])
        throw_user("outputs ", k, " and ", i, " are the same tensor, '", s.outputs[i], "'");
  for (size_t n : s.nodes)
    for (size_t port = 0; port < index.graph.nodes[n].outputs.size(); ++port) {
      const std::string& o = index.graph.nodes[n].outputs[port];
      if (o.empty() || listed(s.outputs, o)) continue;
      std::string hint = kind == Replacement::scope
                             ? text("make output ", port, " of '", index.name(n), "' an output of the sub-graph")
                             : "output 0 of each end point leaves the sub-graph: choose other points, or use a scope";
      if (index.is_output(o))
        throw Error(ErrorKind::user,
                    text("'", o, "', produced by '", index.name(n),
                         "' of the sub-graph, is an output of the model but not of the sub-graph"),
                    hint);
      for (const RawIndex::Port& p : index.readers(o))
        if (!inside[p.node])
          throw Error(ErrorKind::user,
                      text("'", index.name(p.node), "' consumes '", o, "', which '", index.name(n),
                           "' of the sub-graph produces but which is not among its outputs"),
                      hint);
    }
  std::vector<bool> seen(inside);
  std::vector<std::string> values;
  for (const std::string& o : s.outputs)
    if (!o.empty()) values.push_back(o);
  while (!values.empty()) {
    std::string v = std::move(values.back());
    values.pop_back();
    if (listed(s.inputs, v)) throw_user("input '", v, "' of the sub-graph depends on its outputs");
    for (const RawIndex::Port& p : index.readers(v)) {
      if (seen[p.node]) continue;
      seen[p.node] = true;
      for (const std::string& o : index.graph.nodes[p.node].outputs)
        if (!o.empty()) values.push_back(o);
    }
  }
}

// The node that replaces a sub-graph.
RawNode collapsed(const RawIndex& index, const Subgraph& s, const Replacement& r, const std::string& file) {
  RawNode out;
  out.type = r.op.empty() ? r.id : r.op;
  out.is_operation = !r.op.empty();
  out.set_origin().stands_for = text("replacement '", r.id, "' of ", file);
  out.name = s.name;
  out.inputs = s.inputs;
  out.outputs = s.outputs;
  out.position = index.graph.nodes[s.nodes[0]].position;
  auto field = [&](const std::string& path, Attribute value) {
    RawField f;
    f.value = std::move(value);
    out.fields.emplace_back(path, std::move(f));
  };
  for (const auto& [path, value] : r.attributes) field(path, value);
  if (out.is_operation) return out;
  // For rules to look up: names, types, values and constants of the matched nodes.
  std::unordered_set<std::string> paths;
  for (const auto& [path, f] : out.fields) paths.insert(path);
  if (paths.insert("nodes").second) field("nodes", s.relative_names);
  for (size_t i = 0; i < s.nodes.size(); ++i) {
    const RawNode& n = index.graph.nodes[s.nodes[i]];
    std::string prefix = text("nodes.", s.relative_names[i], '.');
    if (!paths.insert(prefix + "type").second) continue;  // the first of two nodes with the same name
    field(prefix + "type", n.type);
    for (const auto& [path, f] : n.fields) {
      if (!f.graphs.empty() || !f.refers_to.empty() || !paths.insert(prefix + path).second) continue;
      out.fields.emplace_back(prefix + path, f);
    }
    for (size_t k = 0; k < n.inputs.size(); ++k)
      if (const Tensor* t = index.constant(n.inputs[k]); t && paths.insert(text(prefix, "inputs.", k)).second)
        field(text(prefix, "inputs.", k), *t);
  }
  return out;
}

ReplacementMatch put_in_place(RawModel& model, const RawIndex& index, const Subgraph& s, const Replacement& r,
                              const std::string& file) {
  ReplacementMatch match{s.name, {}, s.inputs, s.outputs, {}};
  std::vector<bool> inside(model.graph.nodes.size(), false);
  for (size_t n : s.nodes) inside[n] = true, match.nodes.push_back(index.name(n));
  check_edges(index, s, inside, r.kind);
  for (size_t n : s.nodes)
    for (const std::string& in : model.graph.nodes[n].inputs) {
      const RawIndex::Port* m = index.maker(in);
      bool from_outside = m ? !inside[m->node] : index.is_input(in);
      std::string note = text("'", in, "' enters the sub-graph but is not one of its inputs");
      if (from_outside && std::find(s.inputs.begin(), s.inputs.end(), in) == s.inputs.end() &&
          std::find(match.notes.begin(), match.notes.end(), note) == match.notes.end())
        match.notes.push_back(note);
    }
  // The new node takes the position of the first one; the others are removed.
  RawNode node = collapsed(index, s, r, file);
  std::swap(model.graph.nodes[s.nodes[0]], node);
  inside[s.nodes[0]] = false;
  std::vector<RawNode> kept;
  for (size_t i = 0; i < inside.size(); ++i)
    if (!inside[i]) kept.push_back(std::move(model.graph.nodes[i]));
  model.graph.nodes = std::move(kept);
  return match;
}

}  // namespace

std::vector<ReplacementOutcome> apply_replacements(RawModel& model, const ReplacementConfig& config) {
  std::vector<ReplacementOutcome> out;
  for (const Replacement& r : config.entries) {
    ReplacementOutcome& o = out.emplace_back();
    o.id = r.id, o.kind = r.kind, o.op = r.op;
    auto guarded = [&](auto&& apply) {
      try {
        apply();
      } catch (...) {
        Error e = current_error();
        o.errors.push_back(e.while_(text("applying the replacement '", r.id, "' of ", config.file)));
      }
    };
    auto attempt = [&](auto&& find) {
      guarded([&] {
        RawIndex index(model.graph);
        Subgraph s;
        if (find(index, s)) o.matches.push_back(put_in_place(model, index, s, r, config.file));
      });
    };
    if (r.regions) guarded([&] { o.matches.push_back(append_regions(model, r, config.file)); });
    if (r.kind == Replacement::points)
      attempt([&](const RawIndex& index, Subgraph& s) { return find_points(index, r, s, o.missed); });
    if (r.kind == Replacement::scope)
      for (const Pattern& instance : r.instances)
        attempt([&](const RawIndex& index, Subgraph& s) { return find_scope(index, r, instance, s, o.missed); });
  }
  return out;
}

}  // namespace graft
