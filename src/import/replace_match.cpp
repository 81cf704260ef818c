#include "import/replace_match.hpp"

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "import/calls.hpp"
#include "import/replace_json.hpp"

namespace graft {
namespace {

constexpr size_t shown_names = 5, compared_names = 20'000;

std::string quoted_list(const RawIndex& index, const std::vector<size_t>& nodes) {
  std::string out;
  for (size_t i = 0; i < nodes.size() && i < shown_names; ++i) out += text(i ? ", '" : "'", index.name(nodes[i]), '\'');
  if (nodes.size() > shown_names) out += text(" and ", nodes.size() - shown_names, " more");
  return out;
}

std::vector<std::string> components(const std::string& name) {
  std::vector<std::string> out;
  for (std::string_view part : split(name, '/')) out.emplace_back(part);
  return out;
}

// Pieces of existing names with this many parts, to suggest the closest match for a scope.
std::vector<std::string> pieces_of_names(const RawIndex& index, size_t parts) {
  std::set<std::string> out;
  for (size_t i = 0; i < index.graph.nodes.size() && out.size() < compared_names; ++i) {
    std::vector<std::string> all = components(index.name(i));
    for (size_t k = 0; k + parts <= all.size() && all.size() < 64; ++k)
      out.insert(join(std::vector<std::string>(all.begin() + static_cast<ptrdiff_t>(k),
                                               all.begin() + static_cast<ptrdiff_t>(k + parts)),
                      "/"));
  }
  return {out.begin(), out.end()};
}

// The literal characters of a pattern.
std::string literal_of(std::string_view pattern) {
  while (pattern.starts_with('^') || pattern.starts_with(".*")) pattern.remove_prefix(pattern.starts_with('^') ? 1 : 2);
  std::string out;
  for (char c : pattern)
    if (c != '\\' && c != '$') out += c;
  return out;
}

// The part of a name that follows the longest match of a pattern.
std::string part_behind(const Pattern& pattern, const std::string& name) {
  std::vector<size_t> ends = pattern.ends(name);
  size_t begin = 0;
  for (size_t e : ends)
    if (e < name.size() && name[e] == '/') begin = e + 1;
  return begin ? name.substr(begin, name.find('/', begin) - begin) : std::string();
}

// Explains why a scope has no nodes: how far the pattern matches some, and the closest existing name.
std::string why_no_member(const RawIndex& index, const std::string& pattern) {
  std::string out = text("no node name begins with a match of '", pattern, "'");
  std::optional<std::string> near_there;  // among the parts after the matching prefix
  for (size_t slash = pattern.rfind('/'); slash != pattern.npos && slash > 0; slash = pattern.rfind('/', slash - 1)) {
    try {
      Pattern shorter(std::string_view(pattern).substr(0, slash));
      std::vector<size_t> hits = index.matching(shorter);
      if (hits.empty()) continue;
      out += text("; '", shorter.source(), "' matches ", quoted_list(index, hits), ", so '", pattern.substr(slash + 1),
                  "' is the first mismatch");
      std::set<std::string> parts;
      for (size_t i = 0; i < hits.size() && i < compared_names; ++i)
        parts.insert(part_behind(shorter, index.name(hits[i])));
      std::string wanted = literal_of(pattern.substr(slash + 1, pattern.find('/', slash + 1) - slash - 1));
      near_there = nearest(wanted, {parts.begin(), parts.end()});
      break;
    } catch (const Error&) {  // cut inside ( ) or [ ]
    }
  }
  std::string literal = literal_of(pattern);
  while (literal.ends_with('/')) literal.pop_back();
  if (auto close = nearest(literal, pieces_of_names(index, components(literal).size())))
    out += text("; the closest is '", *close, "'");
  else if (near_there && !near_there->empty()) out += text("; the closest there is '", *near_there, "'");
  return out;
}

std::string scope_hint() { return "end the pattern with $ to match a single name"; }

}  // namespace

RawIndex::RawIndex(const RawGraph& g) : graph(g) {
  static const std::string nothing;
  for (const RawValue& v : g.inputs) inputs_.insert(v.name);
  for (const RawValue& v : g.outputs) outputs_.insert(v.name);
  for (const auto& [name, t] : g.constants) constants_.emplace(name, &t), inputs_.erase(name);
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    const RawNode& n = g.nodes[i];
    const std::string* name = &n.name;
    for (size_t k = 0; k < n.outputs.size() && name->empty(); ++k) name = &n.outputs[k];
    names_.push_back(name);
    by_name_.emplace(*name, i);
    for (size_t k = 0; k < n.outputs.size(); ++k)
      if (!n.outputs[k].empty()) makers_.emplace(n.outputs[k], Port{i, k});
    for (size_t k = 0; k < n.inputs.size(); ++k)
      if (!n.inputs[k].empty()) readers_[n.inputs[k]].push_back({i, k});
  }
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    std::set<std::string> reads;
    for (const auto& [path, f] : g.nodes[i].fields)
      for (const auto& inner : f.graphs) outer_reads(*inner, reads);
    for (const std::string& r : reads)
      if (auto it = makers_.find(r); it != makers_.end()) readers_[it->first].push_back({i, SIZE_MAX});
  }
}

const RawIndex::Port* RawIndex::maker(const std::string& value) const {
  auto it = makers_.find(value);
  return it == makers_.end() ? nullptr : &it->second;
}
const std::vector<RawIndex::Port>& RawIndex::readers(const std::string& value) const {
  static const std::vector<Port> none;
  auto it = readers_.find(value);
  return it == readers_.end() ? none : it->second;
}
const Tensor* RawIndex::constant(const std::string& value) const {
  auto it = constants_.find(value);
  return it == constants_.end() ? nullptr : it->second;
}
std::vector<size_t> RawIndex::called(const std::string& name) const {
  std::vector<size_t> out;
  auto [first, last] = by_name_.equal_range(name);
  for (auto it = first; it != last; ++it) out.push_back(it->second);
  std::sort(out.begin(), out.end());
  return out;
}
std::vector<size_t> RawIndex::matching(const Pattern& pattern) const {
  std::vector<size_t> out;
  for (size_t i = 0; i < names_.size(); ++i)
    if (pattern.begins(*names_[i])) out.push_back(i);
  return out;
}
std::string RawIndex::near(const std::string& name) const {
  std::vector<std::string> names;
  for (size_t i = 0; i < names_.size() && i < compared_names; ++i) names.push_back(*names_[i]);
  auto close = nearest(name, names);
  return close ? text("; the closest is '", *close, "'") : "";
}

// ---- scopes ----

ScopeMembers scope_members(const RawIndex& index, const Pattern& instance) {
  ScopeMembers out;
  for (size_t i = 0; i < index.graph.nodes.size(); ++i) {
    const std::string& name = index.name(i);
    std::vector<size_t> ends = instance.ends(name);
    if (ends.empty()) continue;
    // The scope is the longest match that ends at the end of a name part.
    size_t end = ends.back();
    for (size_t e : ends)
      if (e == name.size() || name[e] == '/') end = e;
    if (end < name.size() && name[end] != '/' && (end == 0 || name[end - 1] != '/')) out.ragged = i;
    size_t rest = end < name.size() && name[end] == '/' ? end + 1 : end;
    out.nodes.push_back(i);
    out.relative_names.push_back(rest < name.size() ? name.substr(rest) : std::string());
    std::string scope = name.substr(0, end);
    while (scope.ends_with('/')) scope.pop_back();
    if (out.scope.empty() || scope.size() < out.scope.size()) out.scope = scope;
  }
  return out;
}

bool find_scope(const RawIndex& index, const Replacement& r, const Pattern& instance, Subgraph& out,
                std::vector<std::string>& missed) {
  ScopeMembers members = scope_members(index, instance);
  if (members.nodes.empty()) {
    missed.push_back(why_no_member(index, instance.source()));
    return false;
  }
  if (!r.has_inputs || !r.has_outputs)
    throw Error(ErrorKind::user, text("missing key '", r.has_inputs ? "outputs" : "inputs", "'"),
                "`Core::update_replacements` fills inputs and outputs in");
  // The node that a port's pattern matches, if any.
  auto node_for = [&](const ScopePort& p, std::string_view what) -> std::optional<size_t> {
    Pattern pattern(scope_port_pattern(instance, p.node));
    std::vector<size_t> hits = index.matching(pattern);
    if (hits.size() > 1)
      throw Error(ErrorKind::user,
                  text("the pattern '", p.node, "' of an ", what, " matches ", hits.size(),
                       " nodes: ", quoted_list(index, hits)),
                  scope_hint());
    if (hits.size() == 1) return hits[0];
    std::string known;
    if (auto close = nearest(literal_of(p.node), members.relative_names))
      known = text("; the closest is '", *close, "'");
    missed.push_back(text("'", instance.source(), "': the pattern '", p.node, "' of an ", what, " matches no node of '",
                          members.scope, "'", known));
    return std::nullopt;
  };
  std::vector<bool> inside(index.graph.nodes.size(), false);
  for (size_t n : members.nodes) inside[n] = true;
  for (size_t i = 0; i < r.inputs.size(); ++i) {
    std::string value;
    for (const ScopePort& p : r.inputs[i]) {
      auto node = node_for(p, "input");
      if (!node) return false;
      const RawNode& n = index.graph.nodes[*node];
      if (p.port >= n.inputs.size() || n.inputs[p.port].empty())
        throw_user("input ", i, " is port ", p.port, " of '", index.name(*node), "', which has ", n.inputs.size(),
                   " inputs");
      const std::string& here = n.inputs[p.port];
      if (!value.empty() && here != value)
        throw_user("expected one tensor for input ", i, ", but '", index.name(*node), "' consumes '", here,
                   "' and the node before it '", value, "'");
      value = here;
    }
    if (const RawIndex::Port* m = index.maker(value); m && inside[m->node])
      throw_user("input ", i, " ('", value, "') is produced inside the sub-graph, by '", index.name(m->node), "'");
    out.inputs.push_back(value);
  }
  for (const ScopePort& p : r.outputs) {
    auto node = node_for(p, "output");
    if (!node) return false;
    const RawNode& n = index.graph.nodes[*node];
    out.outputs.push_back(p.port < n.outputs.size() ? n.outputs[p.port] : "");
  }
  out.name = members.scope.empty() ? r.id : members.scope;
  out.nodes = std::move(members.nodes);
  out.relative_names = std::move(members.relative_names);
  return true;
}

// ---- points ----

bool find_points(const RawIndex& index, const Replacement& r, Subgraph& out, std::vector<std::string>& missed) {
  const std::vector<RawNode>& nodes = index.graph.nodes;
  auto resolve_names = [&](const std::vector<std::string>& names, std::string_view what) {
    std::vector<size_t> found;
    for (const std::string& name : names) {
      std::vector<size_t> hits = index.called(name);
      if (hits.size() > 1) throw_user("the ", what, " point '", name, "' is the name of ", hits.size(), " nodes");
      if (hits.size() == 1) found.push_back(hits[0]);
      else if (index.is_input(name))
        throw Error(ErrorKind::user, text("expected a node as ", what, " point, got the model input '", name, "'"),
                    "name the nodes that consume it");
      else missed.push_back(text("unknown node '", name, "' as ", what, " point", index.near(name)));
    }
    return found;
  };
  std::vector<size_t> start = resolve_names(r.start, "start"), end = resolve_names(r.end, "end");
  if (start.size() != r.start.size() || end.size() != r.end.size()) return false;

  // Start nodes that stay outside: their consumers start instead, and their outputs become the inputs.
  std::vector<bool> is_start(nodes.size(), false), is_end(nodes.size(), false), outside(nodes.size(), false);
  std::vector<size_t> queue;
  for (size_t s : start) {
    if (r.include_inputs) {
      if (!is_start[s]) queue.push_back(s);
      is_start[s] = true;
      if (nodes[s].inputs.empty() || nodes[s].inputs[0].empty())
        throw_user("the start point '", index.name(s), "' has no input");
      out.inputs.push_back(nodes[s].inputs[0]);
      continue;
    }
    outside[s] = true;
    for (const std::string& o : nodes[s].outputs)
      for (const RawIndex::Port& p : index.readers(o))
        if (!is_start[p.node]) is_start[p.node] = true, queue.push_back(p.node);
  }
  if (!r.include_inputs)
    for (size_t s : start) {
      size_t before = out.inputs.size();
      for (const std::string& o : nodes[s].outputs)
        if (!index.readers(o).empty()) out.inputs.push_back(o);
      if (out.inputs.size() == before) throw_user("the outputs of the start point '", index.name(s), "' are unused");
    }
  for (size_t e : end) (r.include_outputs ? is_end : outside)[e] = true;

  // Forward, but not past the end points.
  std::vector<bool> visited(nodes.size(), false);
  std::vector<size_t> order;
  std::vector<bool> stays(nodes.size(), false);  // an end point that stays outside was reached
  for (size_t q : queue) visited[q] = true;
  for (size_t at = 0; at < queue.size(); ++at) {
    size_t n = queue[at];
    if (outside[n]) {
      visited[n] = false, stays[n] = true;
      continue;
    }
    order.push_back(n);
    if (is_end[n]) continue;
    for (const std::string& o : nodes[n].outputs)
      for (const RawIndex::Port& p : index.readers(o))
        if (!visited[p.node] && !stays[p.node]) visited[p.node] = true, queue.push_back(p.node);
  }
  for (size_t e : end)
    if (r.include_outputs ? !visited[e] : !stays[e])
      throw Error(ErrorKind::user, text("the end point '", index.name(e), "' is not reachable from any start point"),
                  "start points must come before end points in the graph");

  // Backwards from all nodes but the start points: constants and side computations.
  std::vector<bool> member = visited;
  std::vector<size_t> stack;
  for (size_t n : order)
    if (!is_start[n] || !r.include_inputs) stack.push_back(n);
  while (!stack.empty()) {
    size_t n = stack.back();
    stack.pop_back();
    for (const std::string& in : nodes[n].inputs) {
      if (in.empty()) continue;
      if (index.is_input(in) && std::find(out.inputs.begin(), out.inputs.end(), in) == out.inputs.end())
        throw Error(
            ErrorKind::user,
            text("the sub-graph would contain the model input '", in, "', which '", index.name(n), "' consumes"),
            "place a start point on every path from a model input into the sub-graph");
      const RawIndex::Port* m = index.maker(in);
      if (!m || member[m->node]) continue;
      if (outside[m->node]) continue;
      member[m->node] = true;
      stack.push_back(m->node);
    }
  }
  if (r.include_outputs)
    for (size_t e : end) out.outputs.push_back(nodes[e].outputs.empty() ? "" : nodes[e].outputs[0]);
  else
    for (size_t e : end)
      for (const std::string& in : nodes[e].inputs)
        if (const RawIndex::Port* m = index.maker(in); m && visited[m->node])
          if (std::find(out.outputs.begin(), out.outputs.end(), in) == out.outputs.end()) out.outputs.push_back(in);
  out.name = r.id;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (member[i]) out.nodes.push_back(i), out.relative_names.push_back(index.name(i));
  return true;
}

}  // namespace graft
