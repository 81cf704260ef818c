#include "devices/opencl/opencl.hpp"

#include "base/text.hpp"
#include "devices/opencl/program.hpp"
#include "infer/decompose.hpp"
#include "infer/inference.hpp"
#include "schema/resolve.hpp"

namespace graft {
namespace {

class OpenclDevice final : public Device {
 public:
  explicit OpenclDevice(OpenclRules rules) : rules_(std::move(rules)) {}
  std::string name() const override { return rules_.name; }
  std::string description() const override {
    OpenclMachine& m = machine();
    return text(rules_.title, m.name(), ", ", m.version());
  }
  std::string fallback() const override { return rules_.fallback; }
  std::vector<DeviceProperty> properties() const override {
    std::vector<DeviceProperty> out;
    for (const std::string& p : rules_.layer_properties) out.push_back({p, "", nullptr, true});
    return out;
  }
  bool uses_host_memory() const override { return false; }
  std::optional<Error> unavailable() const override {
    const Error* e = std::get_if<Error>(&OpenclMachine::find());
    return e ? std::optional(*e) : std::nullopt;
  }
  std::unique_ptr<Program> compile(Graph graph, const Registry& registry,
                                   const CompileOptions& options) const override {
    return std::make_unique<OpenclProgram>(std::move(graph), registry, machine(), rules_, options);
  }
  std::vector<Support> query(const Graph& graph, const Registry& registry,
                             const CompileOptions& options) const override {
    Graph copy = graph.clone();
    Inference inference(registry, copy, options.limits);
    inference.infer_all();
    std::vector<Support> out(graph.end_id());
    for (NodeId id : copy.topological_order()) {
      try {
        out[id] = {true, supported(copy, id, registry, inference, options)};
      } catch (const Error& e) {
        // What the user has configured is wrong, and not to be passed over.
        bool wrong = e.kind() != ErrorKind::unsupported && is_configured(copy[id], registry);
        if (e.kind() == ErrorKind::internal || wrong) throw;
        out[id] = {false, e.message()};
      }
    }
    return out;
  }

 private:
  static OpenclMachine& machine() {
    const auto& found = OpenclMachine::find();
    if (const Error* e = std::get_if<Error>(&found)) throw Error(*e);
    return *std::get<OpenclMachine*>(found);
  }

  // The kernel of a node; throws where there is none.
  std::string supported(const Graph& g, NodeId id, const Registry& registry, Inference& inference,
                        const CompileOptions& options) const {
    const Node& n = g[id];
    for (const Output& o : n.outputs) check_element_type(machine(), o.info.type);
    if (n.is("Parameter") || n.is("Result") || n.is("Constant")) return "";
    const OpDef& op = definition(registry, n);
    if (!rules_.fallback.empty() && !registry.has_kernel(op, name()))
      throw_unsupported("no custom layer for ", op.name(), " is loaded");
    if (is_constant(g, id, op, inference)) return "";
    if (op.record->decomposition.size && !registry.has_kernel(op, name()))
      return decomposed(g, id, op, registry, options);
    OpenclNode node{registry, op, g, id, [&](size_t i) { return inference.constant(n.inputs[i]); }};
    Choice choice;
    bool known = true, outputs = true;
    for (ValueId v : n.inputs) known = known && (!v.present() || g.info(v).shape.is_static());
    for (const Output& o : n.outputs) outputs = outputs && o.info.shape.is_static();
    if (known && !outputs) throw_unsupported("data-dependent output shapes are not supported on ", name());
    if (known) emit_node(machine(), name(), node, choice);
    else accept_node(name(), node, choice);
    return choice.kernel;
  }
  bool is_configured(const Node& n, const Registry& registry) const {
    const OpDef* op = registry.find(n.type, n.opset);
    return op && registry.is_configured(*op, name());
  }
  static bool is_constant(const Graph& g, NodeId id, const OpDef& op, Inference& inference) {
    if (op.has(GRAFT_OP_SINK) || g[id].outputs.empty()) return false;
    for (uint32_t i = 0; i < g[id].outputs.size(); ++i)
      if (!inference.constant({id, i})) return false;
    return true;
  }
  // All parts of a decomposition must run here.
  std::string decomposed(const Graph& g, NodeId id, const OpDef& op, const Registry& registry,
                         const CompileOptions& options) const {
    Graph parts = decomposition(registry, op, g[id], input_infos(g, g[id]));
    std::vector<Support> inside = query(parts, registry, options);
    for (NodeId p : parts.topological_order())
      if (!inside[p].supported) throw_unsupported(parts[p].type, " of its decomposition: ", inside[p].reason);
    return "decomposed";
  }

  OpenclRules rules_;
};

}  // namespace

std::unique_ptr<Device> make_opencl_device(OpenclRules rules) {
  return std::make_unique<OpenclDevice>(std::move(rules));
}

}  // namespace graft
