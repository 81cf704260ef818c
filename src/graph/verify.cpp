#include "graph/verify.hpp"

#include <unordered_set>

#include "base/error.hpp"

namespace graft {
namespace {

// Far beyond any tensor, and small enough that sums and products of two of them cannot overflow.
constexpr int64_t slice_limit = INT32_MAX;

void check_slice(const Node& n, const graft_port_map& m) {
  if (!m.sliced) return;
  for (auto [what, value] : {std::pair{"axis", m.axis},
                             {"start", m.start},
                             {"end", m.end},
                             {"stride", m.stride},
                             {"part_size", m.part_size}})
    if (value < -slice_limit || value > slice_limit)
      throw_user("the port map of '", n.name, "' (", n.type, ") has ", what, " ", value, ", expected at most ",
                 slice_limit);
  if (m.stride == 0 || m.part_size < 1)
    throw_user("the port map of '", n.name, "' (", n.type, ") has stride ", m.stride, " and part_size ", m.part_size,
               ", expected a stride other than 0 and parts of at least 1");
}

void verify_body(const Node& n, const Body& b) {
  if (!b.graph) throw_user("'", n.name, "' (", n.type, ") has an empty body");
  auto parameters = static_cast<int64_t>(b.graph->parameters().size()),
       results = static_cast<int64_t>(b.graph->results().size());
  auto check = [&](int64_t i, int64_t most, std::string_view what) {
    if (i < 0 || i >= most)
      throw_user("a body of '", n.name, "' (", n.type, ") is connected to ", what, " ", i, ", but has only ", most);
  };
  std::vector<int> fed(static_cast<size_t>(parameters), 0);
  for (const graft_port_map& m : b.inputs) {
    check(m.internal, parameters, "parameter");
    if (++fed[static_cast<size_t>(m.internal)] > 1)
      throw_user("parameter ", m.internal, " of a body of '", n.name, "' (", n.type, ") is connected twice");
    // Only the iteration number comes from the operation itself.
    if (m.external == -1 && m.purpose == GRAFT_CURRENT_ITERATION && !m.sliced) continue;
    check(m.external, static_cast<int64_t>(n.inputs.size()), "input");
    if (!n.inputs[static_cast<size_t>(m.external)].present())
      throw_user("a body of '", n.name, "' (", n.type, ") is connected to input ", m.external, ", which is absent");
    check_slice(n, m);
  }
  for (const graft_port_map& m : b.outputs) {
    check(m.internal, results, "result");
    if (m.external == -1) continue;
    check(m.external, static_cast<int64_t>(n.outputs.size()), "output");
    check_slice(n, m);
  }
  for (const graft_back_edge& e : b.back_edges) {
    check(e.result, results, "result");
    check(e.parameter, parameters, "parameter");
  }
}

}  // namespace

void verify(const Graph& g, Bodies bodies) {
  std::unordered_set<std::string_view> names, outputs;  // an output may share the name of its producer
  size_t parameters = 0, results = 0;
  for (NodeId id = 0; id < g.end_id(); ++id) {
    const Node& n = g[id];
    if (!n.alive) continue;
    if (n.type.empty()) throw_user("node ", id, " has no type");
    if (n.name.empty()) throw_user("node ", id, " (", n.type, ") has no name");
    if (!(n.is("Result") ? outputs : names).insert(n.name).second) throw_user("duplicate node name '", n.name, "'");
    parameters += n.is("Parameter");
    results += n.is("Result");
    if (n.is("Result") && (n.inputs.size() != 1 || !n.inputs[0].present()))
      throw_user("the result '", n.name, "' has no input");
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      ValueId v = n.inputs[i];
      if (!v.present()) continue;
      if (v.node >= g.end_id() || !g[v.node].alive)
        throw_user("input ", i, " of '", n.name, "' (", n.type, ") comes from a node that does not exist");
      if (g[v.node].is("Result"))
        throw_user("input ", i, " of '", n.name, "' (", n.type, ") comes from '", g[v.node].name,
                   "' (Result), which produces nothing");
      if (v.port >= g[v.node].outputs.size())
        throw_user("input ", i, " of '", n.name, "' (", n.type, ") is output ", v.port, " of '", g[v.node].name, "' (",
                   g[v.node].type, "), which has ", g[v.node].outputs.size(), " outputs");
    }
    for (const Body& b : n.bodies) {
      verify_body(n, b);
      if (bodies == Bodies::too) verify(*b.graph);
    }
  }
  if (parameters != g.parameters().size() || results != g.results().size())
    throw_user("the lists of inputs and outputs do not match the nodes");
  for (NodeId id : g.parameters())
    if (id >= g.end_id() || !g[id].alive || !g[id].is("Parameter")) throw_user("an input is not a Parameter");
  for (NodeId id : g.results())
    if (id >= g.end_id() || !g[id].alive || !g[id].is("Result")) throw_user("an output is not a Result");
  g.topological_order();
}

}  // namespace graft
