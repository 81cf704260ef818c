#include "ir/target.hpp"

#include <algorithm>
#include <functional>

#include "base/error.hpp"
#include "base/text.hpp"

namespace graft {
namespace {

// Layers by what is wrong with them, in the order of the graph; those of bodies are named behind the node that has
// them.
using Listed = std::vector<std::pair<std::string, std::vector<std::string>>>;

void each_node(const Graph& g, const std::string& prefix,
               const std::function<void(const Node&, const std::string& name)>& visit) {
  for (NodeId id : g.topological_order()) {
    visit(g[id], prefix + g[id].name);
    for (const Body& b : g[id].bodies) each_node(*b.graph, prefix + g[id].name + "/", visit);
  }
}

void list(Listed& all, std::string what, const std::string& name) {
  auto it = std::find_if(all.begin(), all.end(), [&](const auto& entry) { return entry.first == what; });
  if (it == all.end()) it = all.insert(all.end(), {std::move(what), {}});
  it->second.push_back(name);
}

std::string table(const Listed& all) {
  constexpr size_t most = 8;
  std::string out;
  for (const auto& [what, names] : all) {
    out += text("\n  ", what, ", ", names.size(), names.size() == 1 ? " layer: " : " layers: ");
    for (size_t i = 0; i < names.size() && i < most; ++i) out += text(i ? ", " : "", names[i]);
    if (names.size() > most) out += text(", and ", names.size() - most, " more");
  }
  return out;
}

void check_opsets(const Graph& graph, const Registry& registry, int limit) {
  Listed late;
  each_node(graph, "", [&](const Node& n, const std::string& name) {
    const OpDef* op = n.opaque ? nullptr : registry.find(n.type, n.opset);
    if (!op || !op->source->built_in()) return;
    int number = opset_number(n.opset);
    if (number < 0 || number > limit) list(late, text(n.type, " of ", n.opset), name);
  });
  if (late.empty()) return;
  throw Error(ErrorKind::unsupported,
              text("nothing was written: layers that opset", limit, " cannot express", table(late)),
              "allow a later opset, or end the model before them with `outputs`");
}

void check_numbered(const Graph& graph, const Registry& registry) {
  Listed own;
  each_node(graph, "", [&](const Node& n, const std::string& name) {
    const OpDef* op = n.opaque ? nullptr : registry.find(n.type, n.opset);
    if (op && op->source->built_in() && opset_number(n.opset) < 0) list(own, text(n.type, " of ", n.opset), name);
  });
  if (own.empty()) return;
  throw Error(ErrorKind::unsupported,
              text("nothing was written: layers that OpenVINO does not have and that cannot be expressed by others",
                   table(own)),
              "end the model before them with `outputs`, or write an IR for Graft alone, without `target`");
}

void check_shapes(const Graph& graph) {
  Listed dynamic;
  each_node(graph, "", [&](const Node& n, const std::string& name) {
    if (n.is("Result")) return;
    for (const Output& o : n.outputs)
      if (!o.info.shape.is_static()) return list(dynamic, text(n.type, " with a result ", o.info), name);
  });
  if (dynamic.empty()) return;
  throw Error(ErrorKind::unsupported, text("nothing was written: IR version 10 has no dynamic shapes", table(dynamic)),
              "give the inputs static shapes with `shapes` or `batch`, or write IR version 11");
}

}  // namespace

int highest_opset(const Graph& graph) {
  int highest = 0;
  each_node(graph, "", [&](const Node& n, const std::string&) { highest = std::max(highest, opset_number(n.opset)); });
  return highest;
}

void check_target(const Graph& graph, const Registry& registry, const IrTarget& target) {
  if (target.max_opset) check_opsets(graph, registry, *target.max_opset);
  if (target.numbered_only) check_numbered(graph, registry);
  if (target.version == 10) check_shapes(graph);
}

std::vector<std::string> target_passes() { return {"decompose_attention"}; }

size_t count_rt_info(const Graph& graph) {
  size_t count = graph.rt_info != nullptr;
  each_node(graph, "", [&](const Node& n, const std::string&) {
    count += n.rt_info != nullptr;
    for (const auto& i : n.input_rt_info) count += i != nullptr;
    for (const Output& o : n.outputs) count += o.rt_info != nullptr;
  });
  return count;
}

}  // namespace graft
