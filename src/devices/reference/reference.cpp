#include "devices/reference/reference.hpp"

#include <cstring>
#include <map>

#include "infer/inference.hpp"
#include "runtime/explanation.hpp"
#include "runtime/query.hpp"
#include "schema/resolve.hpp"

namespace graft {
namespace {

class ReferenceExecution final : public Execution {
 public:
  ReferenceExecution(const Graph& graph, const Registry& registry, const CompileOptions& options)
      : graph_(graph), registry_(registry), options_(options) {}

  void run(std::span<const Tensor> inputs, std::vector<Tensor>& outputs, const std::atomic<bool>* cancel) override {
    Evaluation how{registry_};
    how.variables = &variables;
    how.cancel = cancel;
    how.max_dynamic = options_.limits.value_bytes;
    if (options_.profile) {
      how.observe_arg = this;
      how.observe = [](void* self, const Graph& g, NodeId node, double microseconds, std::span<const Tensor>) {
        static_cast<ReferenceExecution*>(self)->note(g[node], microseconds);
      };
    }
    std::vector<Tensor> results = evaluate_graph(how, graph_, inputs);
    outputs.resize(results.size());
    for (size_t i = 0; i < results.size(); ++i) {
      // Results may alias inputs or constants, so they are copied: into the caller's tensor where it fits, else a new
      // one.
      bool fits = outputs[i] && outputs[i].type() == results[i].type() && outputs[i].dims() == results[i].dims() &&
                  results[i].type() != DType::string;
      if (fits) std::memcpy(outputs[i].data(), results[i].data(), results[i].bytes());
      else outputs[i] = results[i].clone();
    }
  }
  std::vector<ProfileEntry> profile() const override {
    std::vector<ProfileEntry> out;
    for (const std::string& name : order_) out.push_back(entries_.at(name));
    return out;
  }

 private:
  void note(const Node& n, double microseconds) {
    if (n.is("Constant")) return;
    auto [it, fresh] = entries_.try_emplace(n.name, ProfileEntry{n.name, n.type, "reference", 0, 0});
    if (fresh) order_.push_back(n.name);
    it->second.microseconds += microseconds;
    ++it->second.calls;
  }
  const Graph& graph_;
  const Registry& registry_;
  CompileOptions options_;
  std::map<std::string, ProfileEntry> entries_;
  std::vector<std::string> order_;
};

class ReferenceProgram final : public Program {
 public:
  ReferenceProgram(Graph graph, const Registry& registry, const CompileOptions& options)
      : graph_(std::move(graph)), registry_(registry), options_(options) {
    for (NodeId id : graph_.topological_order()) check(graph_[id]);
  }
  std::unique_ptr<Execution> create_execution() override {
    return std::make_unique<ReferenceExecution>(graph_, registry_, options_);
  }
  Explanation explain(const std::vector<Info>& inputs) override {
    Graph g = graph_.clone();
    for (size_t i = 0; i < inputs.size(); ++i) g[g.parameters()[i]].attrs["shape"] = inputs[i].shape;
    Inference(registry_, g, options_.limits).infer_all();
    Explanation e;
    for (NodeId id : g.topological_order()) {
      const Node& n = g[id];
      if (n.is("Parameter") || n.is("Result") || n.is("Constant")) continue;
      Choice c{.node = n.name, .type = n.type, .opset = n.opset};
      c.device = reference_device, c.kernel = "reference";
      for (ValueId v : n.inputs) {
        c.inputs.push_back(v.present() ? g.info(v) : Info{});
        c.producers.push_back(v.present() ? g[v.node].name : "");
      }
      for (const Output& o : n.outputs) c.outputs.push_back(o.info);
      e.choices.push_back(std::move(c));
    }
    add_ports(e, g);
    return e;
  }

 private:
  void check(const Node& n) const {
    if (n.is("Parameter") || n.is("Result")) return;
    const OpDef& op = definition(registry_, n);
    if (!registry_.reference(op) && !op.record->decomposition.size)
      throw Error(ErrorKind::unsupported, text("operation ", op.name(), " of ", op.opset(), " has no kernel"),
                  "list the operations without a kernel with `Core::operations`")
          .while_(text("compiling ", describe(n)));
    for (const Body& b : n.bodies)
      for (NodeId id : b.graph->topological_order()) check((*b.graph)[id]);
  }
  Graph graph_;
  const Registry& registry_;
  CompileOptions options_;
};

class ReferenceDevice final : public Device {
 public:
  std::string name() const override { return std::string(reference_device); }
  std::string description() const override { return "reference kernels, one thread"; }
  bool wants_passes() const override { return false; }  // it defines the meaning of the graph as given
  std::unique_ptr<Program> compile(Graph graph, const Registry& registry,
                                   const CompileOptions& options) const override {
    return std::make_unique<ReferenceProgram>(std::move(graph), registry, options);
  }
  std::vector<Support> query(const Graph& graph, const Registry& registry,
                             const CompileOptions& options) const override {
    return query_kernels(graph, registry, {name()}, options.limits);
  }
};

}  // namespace

std::unique_ptr<Device> make_reference_device() { return std::make_unique<ReferenceDevice>(); }

}  // namespace graft
