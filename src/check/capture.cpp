// Nodes of a model that runs, as cases.
#include <algorithm>
#include <graft/app/check.hpp>

#include "base/text.hpp"
#include "check/check_kernel.hpp"
#include "devices/cpu/cpu.hpp"
#include "schema/resolve.hpp"
#include "toolkit/errors.hpp"
#include "toolkit/read.hpp"

namespace graft {
namespace {

constexpr int64_t most_captured = int64_t{1} << 22;  // elements in one case

bool has_tensor(const Node& n, const std::string& name) {
  for (const Output& o : n.outputs)
    if (std::find(o.names.begin(), o.names.end(), name) != o.names.end()) return true;
  return false;
}

// The layer of this name; else the one that computes the tensor or the model's output of this name.
const Node* find_node(const Graph& g, const std::string& name) {
  const Node *tensor = nullptr, *output = nullptr;
  for (NodeId id : g.topological_order()) {
    const Node& n = g[id];
    if (!n.is("Result") && n.name == name) return &n;
    if (n.is("Result") && (n.name == name || has_tensor(n, name))) output = &g[n.inputs[0].node];
    else if (has_tensor(n, name)) tensor = &n;
  }
  return tensor ? tensor : output;
}

void require_runs(const Model& model) {
  require_complete(*model.state()->origin);
  require_runnable(model.state()->origin->report);
}

}  // namespace

std::string capture_node(const Model& model, const std::vector<Tensor>& inputs, const std::string& node) {
  return as_errors([&] {
    require_runs(model);
    const Registry& registry = *model.state()->origin->registry;
    std::shared_ptr<const Graph> graph = model.state()->current();
    std::vector<std::string> names;
    const Node* found = find_node(*graph, node);
    for (NodeId id : graph->topological_order()) {
      names.push_back((*graph)[id].name);
      for (const Output& o : (*graph)[id].outputs) names.insert(names.end(), o.names.begin(), o.names.end());
    }
    if (!found) {
      auto close = nearest(node, names);
      throw Error(ErrorKind::request, text("the model has no node '", node, "'"),
                  close ? text("did you mean ", *close, "?") : "graft explain MODEL lists them");
    }
    if (!testing::can_be_sampled(definition(registry, *found)))
      throw Error(ErrorKind::request, text("expected a node that computes on its own, got ", describe(*found)));
    std::vector<testing::NodeSample> all =
        testing::samples_in(*graph, inputs, registry, [&](const Node& n) { return &n == found; });
    const testing::NodeSample& s = all.at(0);
    int64_t elements = testing::elements_of(s.sample);
    for (const Tensor& t : s.results) elements += t ? t.size() : 0;
    if (elements > most_captured)
      throw_unsupported("the values of ", describe(*found), " have ", elements, " elements, a case has at most ",
                        most_captured);
    std::string out =
        text("== ", on_one_line(found->name), "\n", testing::to_text(s.sample, definition(registry, *found)));
    for (const Tensor& t : s.results) out += text("-> ", print(t), "\n");
    return out;
  });
}

std::vector<CheckFinding> check_model(const Model& model, const std::vector<Tensor>& inputs,
                                      const CheckOptions& options) {
  return as_errors([&] {
    require_runs(model);
    const Registry& registry = *model.state()->origin->registry;
    std::shared_ptr<const Graph> graph = model.state()->current();
    auto custom = [&](const OpDef& op) {
      std::vector<KernelDef> out;
      for (const std::string& device : cpu_kernel_devices())
        for (const KernelDef& k : registry.kernels(op, device))
          if (!k.source->built_in()) out.push_back(k);
      return out;
    };
    auto chosen = [&](const Node& n) {
      const OpDef& op = definition(registry, n);
      return testing::can_be_sampled(op) && !custom(op).empty();
    };
    std::vector<CheckFinding> out;
    for (const testing::NodeSample& n : testing::samples_in(*graph, inputs, registry, chosen)) {
      const OpDef& op = definition(registry, (*graph)[n.id]);
      testing::KernelCheck how{registry, op, options.allocations, options.live};
      testing::Reference reference = testing::reference_of(how, n.sample);
      std::string name = (*graph)[n.id].name;
      if (reference.problem) out.push_back({name, "", reference.problem->kind, reference.problem->detail, "", -1});
      for (const KernelDef& k : custom(op)) {
        testing::Fault f;
        if (testing::check_kernel(how, n.sample, reference, k, {.concurrent = true, .leaks = true}, f) ==
            testing::KernelVerdict::failed)
          out.push_back({name, text(k.record->device, ":", k.record->name), f.kind, f.detail, "", -1});
      }
    }
    return out;
  });
}

}  // namespace graft
