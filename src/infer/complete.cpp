#include "infer/complete.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "infer/inference.hpp"

namespace graft {
namespace {

void resolve_all(Graph& g, const Registry& registry, Extras extras) {
  for (NodeId id = 0; id < g.end_id(); ++id) {
    Node& n = g[id];
    if (!n.alive || n.opaque) continue;
    with_context(
        [&] {
          const OpDef* op = n.opset.empty() ? registry.newest(n.type) : registry.find(n.type, n.opset);
          if (!op) {
            Error e(ErrorKind::unsupported,
                    text("unknown operation ", n.type, n.opset.empty() ? "" : text(" of ", n.opset)));
            std::vector<std::string> names;
            for (const OpDef* d : registry.ops()) names.emplace_back(d->name());
            if (auto close = nearest(n.type, names); close && *close != n.type)
              e.hint(text("did you mean ", *close, "?"));
            throw e;
          }
          n.opset = op->opset();
          resolve(n, *op, extras);
          for (Body& b : n.bodies) resolve_all(*b.graph, registry, extras);
        },
        [&] { return text("checking ", describe(n)); });
  }
}

void check_declared(const Node& n, const std::vector<Info>& declared) {
  for (size_t i = 0; i < declared.size(); ++i) {
    if (i >= n.outputs.size())
      throw_user(describe(n), " is declared with ", declared.size(), " outputs, but has ", n.outputs.size());
    const Info& got = n.outputs[i].info;
    bool type = declared[i].type == DType::undefined || declared[i].type == got.type;
    if (!type || !(declared[i].shape == got.shape))
      throw_user("output ", i, " of ", describe(n), " is declared as ", declared[i], ", but inferred as ", got);
  }
}

}  // namespace

void complete(Graph& graph, const Registry& registry, Extras extras, const Limits& limits) {
  resolve_all(graph, registry, extras);
  Inference inference(registry, graph, limits);
  for (NodeId id : graph.topological_order()) {
    for (ValueId v : graph[id].inputs)
      if (v.present() && v.port >= graph[v.node].outputs.size())
        throw_user(describe(graph[id]), " reads output ", v.port, " of ", describe(graph[v.node]), ", which has ",
                   graph[v.node].outputs.size(), " outputs");
    std::vector<Info> declared;
    for (const Output& o : graph[id].outputs) declared.push_back(o.info);
    bool given = graph[id].is("Parameter") || graph[id].is("Constant");
    inference.infer(id);
    if (!given && !graph[id].opaque) check_declared(graph[id], declared);
  }
}

}  // namespace graft
