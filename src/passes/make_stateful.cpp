// Parameter "in" -> a           ReadValue(zeros) {variable_id = "in/out"} -> a
// b -> Result "out"          => b -> Assign {variable_id = "in/out"}
#include "passes/make_stateful.hpp"

#include <algorithm>

#include "base/request.hpp"
#include "base/tensor.hpp"
#include "base/text.hpp"
#include "passes/insert.hpp"
#include "passes/preprocess.hpp"

namespace graft {
namespace {

// Zeros of the shape of a value, also if the shape is known only when the model runs.
ValueId zeros_like(Editor& editor, ValueId like, const std::string& name) {
  const Info info = editor.graph().info(like);
  Tensor zero = make_tensor<double>({}, {0}).to(info.type);
  ValueId shape =
      info.shape.is_static()
          ? editor.constant(make_tensor<int64_t>({static_cast<int64_t>(info.shape.rank())}, info.shape.values()))
          : insert(editor, "ShapeOf", "opset3", {like}, name + "/shape");
  return insert(editor, "Broadcast", "opset3", {editor.constant(std::move(zero)), shape}, name + "/initial");
}

ValueId read_variable(Editor& editor, const std::string& id, ValueId first, const std::string& name) {
  Graph& g = editor.graph();
  Node n;
  n.type = "ReadValue", n.opset = "opset6", n.name = g.unique_name(name);
  n.attrs["variable_id"] = id;
  n.attrs["variable_type"] = g.info(first).type;
  n.attrs["variable_shape"] = g.info(first).shape;
  n.inputs = {first};
  n.outputs.resize(1);
  return {editor.add(std::move(n)), 0};
}

void assign_variable(Editor& editor, const std::string& id, ValueId value, const std::string& name) {
  Graph& g = editor.graph();
  Node n;
  n.type = "Assign", n.opset = "opset6", n.name = g.unique_name(name);
  n.attrs["variable_id"] = id;
  n.inputs = {value};
  n.outputs.resize(1);
  editor.add(std::move(n));
}

NodeId find_output(const Graph& g, const std::string& name) {
  if (auto id = find_result(g, name)) return *id;
  std::vector<std::string> known;
  for (NodeId id : g.results()) known.push_back(g[g[id].inputs[0].node].name);
  throw RequestError(text("state: the model has no output '", name, "'"), text("its outputs are ", join(known, ", ")));
}

// Whether a value of this shape can have these dimensions.
bool fits(const Shape& dims, const Shape& shape) {
  if (!shape.ranked()) return true;
  bool same = shape.rank() == dims.rank();
  for (size_t i = 0; same && i < dims.rank(); ++i) same = shape[i].can_be(dims[i].value());
  return same;
}

}  // namespace

void make_stateful(Graph& g, const Registry& registry, const std::vector<std::pair<std::string, std::string>>& pairs) {
  if (!g.input_forms.empty() || !g.output_forms.empty())
    throw RequestError("inputs and outputs that are sequences, optional or maps cannot become state");
  Editor editor(g, registry);
  for (const auto& [input, output] : pairs) {
    NodeId parameter = find_input(g, {}, input, "state"), result = find_output(g, output);
    const Info in = g.info({parameter, 0}), out = g.info(g[result].inputs[0]);
    if (!in.shape.is_static())
      throw RequestError(
          text("input '", input, "' of shape ", in.shape, " cannot become state: its shape is not fixed"),
          "set its shape");
    if (in.type != out.type || !fits(in.shape, out.shape))
      throw RequestError(text("input '", input, "' (", in, ") cannot become state: output '", output, "' is ", out));
    std::string id = text(input, "/", output), name = g[parameter].name;
    std::vector<Use> uses = editor.users().of({parameter, 0});
    ValueId read = read_variable(editor, id, zeros_like(editor, {parameter, 0}, name), name + "/state");
    redirect(editor, uses, read);
    assign_variable(editor, id, g[result].inputs[0], g[result].name + "/state");
    for (NodeId gone : {parameter, result}) {
      editor.users().remove(gone);
      g.erase(gone);
    }
  }
}

namespace {

struct Recurrence {
  Editor& editor;
  bool from_zeros;

  // Input `in` of a node begins with what its output `out` was at the end of the run before.
  void connect(NodeId id, uint32_t in, uint32_t out, const std::string& variable) {
    Graph& g = editor.graph();
    ValueId initial = g[id].inputs[in];
    std::string name = text(g[id].name, "/state", in);
    if (from_zeros) initial = zeros_like(editor, initial, name);
    editor.set_input(id, in, read_variable(editor, variable, initial, name));
    assign_variable(editor, variable, {id, out}, name + "/next");
  }

  void sequence(NodeId id) {
    Graph& g = editor.graph();
    uint32_t states = g[id].is("LSTMSequence") ? 2 : 1;
    for (uint32_t s = 0; s < states; ++s) connect(id, 1 + s, 1 + s, text(g[id].name, "/variable_", s));
  }

  // The output that has the last value of a body's result.
  uint32_t last_value(NodeId id, int64_t result) {
    Node& n = editor.graph()[id];
    Body& body = n.bodies[0];
    for (const graft_port_map& m : body.outputs)
      if (m.internal == result && !m.sliced && m.external >= 0) return static_cast<uint32_t>(m.external);
    graft_port_map m{};
    m.external = static_cast<int64_t>(n.outputs.size()), m.internal = result;
    body.outputs.push_back(m);
    n.outputs.emplace_back();
    editor.inference().forget(id);
    editor.inference().infer(id);
    return static_cast<uint32_t>(m.external);
  }

  void loop(NodeId id) {
    Graph& g = editor.graph();
    std::vector<graft_back_edge> edges = g[id].bodies[0].back_edges;
    for (size_t k = 0; k < edges.size(); ++k) {
      const Body& body = g[id].bodies[0];
      auto fed = [&](const graft_port_map& m) {
        return m.internal == edges[k].parameter && m.external >= 0 && !m.sliced;
      };
      auto in = std::find_if(body.inputs.begin(), body.inputs.end(), fed);
      if (in == body.inputs.end()) continue;
      auto external = static_cast<uint32_t>(in->external);
      NodeId parameter = body.graph->parameters()[static_cast<size_t>(edges[k].parameter)];
      std::string variable = text(g[id].name, "/", (*body.graph)[parameter].name, "/variable_", k);
      uint32_t out = last_value(id, edges[k].result);
      connect(id, external, out, variable);
    }
  }
};

}  // namespace

std::vector<std::string> keep_recurrent_state(Graph& g, const Registry& registry, bool from_zeros) {
  std::vector<std::string> warnings;
  Editor editor(g, registry);
  Recurrence all{editor, from_zeros};
  size_t found = 0;
  for (NodeId id : g.topological_order()) {
    const Node& n = g[id];
    bool sequence = n.is("RNNSequence") || n.is("GRUSequence") || n.is("LSTMSequence");
    bool loop = (n.is("TensorIterator") || n.is("Loop")) && n.bodies.size() == 1 && !n.bodies[0].back_edges.empty();
    if (!sequence && !loop) continue;
    const Attribute* direction = n.attrs.find("direction");
    if (sequence && direction && direction->get_if<std::string>() && direction->as<std::string>() != "forward") {
      warnings.push_back(text("'", n.name, "' (", n.type, ") keeps no state: it reads its input backwards"));
      continue;
    }
    ++found;
    if (sequence) all.sequence(id);
    else all.loop(id);
  }
  if (!found) warnings.push_back("the model has no recurrent layer that could keep its state");
  return warnings;
}

}  // namespace graft
