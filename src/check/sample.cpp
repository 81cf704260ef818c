#include "check/sample.hpp"

#include "base/tensor.hpp"
#include "base/text.hpp"
#include "check/buffer.hpp"
#include "infer/evaluate.hpp"
#include "schema/resolve.hpp"

namespace graft::testing {

Node Sample::node() const {
  Node n;
  n.type = type, n.opset = opset, n.attrs = attrs;
  n.name = "node";
  n.outputs.resize(outputs);
  return n;
}

bool can_be_sampled(const OpDef& op) {
  bool given = op.name() == "Parameter" || op.name() == "Result" || op.name() == "Constant";
  return !given && op.bodies().empty() && !op.has(GRAFT_OP_SINK) && op.name() != "ReadValue";
}

namespace {

// Outputs of extensions between guard zones: the reference kernel may be the one that writes outside.
class GuardedOutputs final : public OutputGuard {
 public:
  Tensor make(DType type, const std::vector<int64_t>& dims) override {
    auto& b = buffers_.emplace_back(
        std::make_shared<GuardedBuffer>(bytes_for(type, count_checked(dims)), 0, tensor_alignment));
    b->fill(Poison::first);
    return Tensor::wrap(type, dims, b->data(), b);
  }
  void returned(const Node& node, const RunningKernel& kernel) override {
    std::vector<std::shared_ptr<GuardedBuffer>> made;
    made.swap(buffers_);
    for (size_t i = 0; i < made.size(); ++i) {
      std::optional<GuardedBuffer::Damage> damage = made[i]->damage();
      if (!damage) continue;
      throw_user("the kernel '", kernel.kernel, "' of ", kernel.library, " writes outside of its outputs: byte ",
                 damage->byte, " of an output of ", made[i]->bytes(), " bytes, at ", describe(node));
    }
  }

 private:
  std::vector<std::shared_ptr<GuardedBuffer>> buffers_;  // of the node that runs
};

}  // namespace

std::vector<NodeSample> samples_in(const Graph& graph, const std::vector<Tensor>& inputs, const Registry& registry,
                                   const std::function<bool(const Node&)>& chosen) {
  struct Seen {
    const Graph* graph;
    std::vector<std::vector<Tensor>> values;
  } seen{&graph, std::vector<std::vector<Tensor>>(graph.end_id())};
  Evaluation how{registry};
  Variables variables;
  how.variables = &variables;
  GuardedOutputs guard;
  how.guard = &guard;
  how.observe_arg = &seen;
  how.observe = [](void* arg, const Graph& g, NodeId id, double, std::span<const Tensor> outputs) {
    Seen& s = *static_cast<Seen*>(arg);
    if (&g == s.graph) s.values[id].assign(outputs.begin(), outputs.end());
  };
  for (size_t i = 0; i < inputs.size(); ++i) seen.values[graph.parameters()[i]] = {inputs[i]};
  evaluate_graph(how, graph, inputs);
  std::vector<NodeSample> out;
  for (NodeId id : graph.topological_order()) {
    const Node& n = graph[id];
    if (!n.bodies.empty() || n.is("Parameter") || n.is("Result") || n.is("Constant") || !chosen(n)) continue;
    Sample s{n.type, n.opset, n.attrs, {}, {}, n.outputs.size()};
    for (ValueId v : n.inputs) {
      s.inputs.push_back(v.present() ? seen.values[v.node][v.port] : Tensor());
      s.constant.push_back(v.present() && graph[v.node].is("Constant"));
    }
    out.push_back({id, std::move(s), seen.values[id]});
  }
  return out;
}

namespace {
// A name as the textual form has it; words need no quotes.
std::string plain(const std::string& s) {
  bool word = !s.empty() && std::isalpha(static_cast<unsigned char>(s[0]));
  for (char c : s) word &= std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  return word ? s : in_quotes(s);
}
}  // namespace

std::string to_text(const Sample& s, const OpDef& op) {
  std::string parameters, constants, arguments, values, attributes, results;
  for (size_t i = 0; i < s.inputs.size(); ++i) {
    const Tensor& t = s.inputs[i];
    std::string name = text(t && s.constant[i] ? "c" : "x", i);
    arguments += text(i ? ", " : "", t ? name : "_");
    if (!t) continue;
    if (s.constant[i]) constants += text("  ", name, " = ", print(t), "\n");
    else {
      parameters += text(parameters.empty() ? "" : ", ", name, ": ", t.info());
      values += text(name, " = ", print(t), "\n");
    }
  }
  for (const auto& [name, value] : s.attrs) {
    const graft_attr* declared = nullptr;
    for (const graft_attr* a : op.attrs())
      if (view(a->name) == name) declared = a;
    if (declared && declared->fallback.kind != GRAFT_NONE && Attribute::from(declared->fallback) == value) continue;
    attributes += text(attributes.empty() ? "" : ", ", plain(name), " = ", print(value));
  }
  for (size_t i = 0; i < s.outputs; ++i) results += i ? text(", y.", i) : "y";
  int number = opset_number(s.opset);
  return text("graph (", parameters, ") {\n", constants, "  y = ", plain(s.type), "@",
              number < 0 ? plain(s.opset) : text(number), "(", arguments, ")",
              attributes.empty() ? "" : text(" {", attributes, "}"), "\n  return ", results, "\n}\n", values);
}

int64_t elements_of(const Sample& s) {
  int64_t n = 0;
  for (const Tensor& t : s.inputs)
    if (t) n += t.size();
  return n;
}

}  // namespace graft::testing
