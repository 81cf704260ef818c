// Higher-order operations of torch: branches and loops in the form that import knows (If, Loop and Scan).
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "readers/pytorch/graph.hpp"

namespace graft {

using nlohmann::json;

namespace {

RawField graph_field(RawGraph g) {
  RawField f;
  f.graphs = {std::make_shared<RawGraph>(std::move(g))};
  return f;
}
RawNode control_node(std::string type) {
  RawNode n;
  n.type = std::move(type), n.domain = "graft";
  return n;
}

}  // namespace

bool PytorchGraph::control(const json& j, const Call& call) {
  if (call.name == "cond") branches(j);
  else if (call.name == "while_loop") while_loop(j);
  else if (call.name == "scan") scan(j, true);
  else if (call.name == "map_impl" || call.name == "map") scan(j, false);
  else if (call.name == "wrap_with_set_grad_enabled") inlined(j, 1);
  else if (call.name == "wrap_with_autocast") inlined(j, 4);
  else return false;
  return true;
}

const json& PytorchGraph::argument(const json& j, size_t i) const {
  const json& all = member(j, "inputs");
  if (!all.is_array() || i >= all.size()) throw_user("expected more than ", i, " arguments");
  return member(all[i], "arg");
}

std::vector<std::string> PytorchGraph::operands(const json& arg) {
  auto [tag, v] = tagged(arg);
  std::vector<std::string> out;
  auto one = [&](const json& item) {
    if (std::string name = name_in(item); !name.empty()) return out.push_back(aliases_.read(name));
    bool bare = item.is_object() && item.size() == 1;
    out.push_back(output(bare ? item : json{{"as_int", item}}, out.size()));
  };
  if (v.is_array())
    for (const json& item : v) one(item);
  else if (std::string name = name_in(v); !name.empty()) out.push_back(aliases_.read(name));
  else out.push_back(output(arg, 0));
  return out;
}

RawGraph PytorchGraph::body(const json& arg, const std::string& prefix, const std::vector<std::string>& bound) {
  const json& g = member(member(arg, "as_graph"), "graph");
  PytorchGraph inner(program_, g, prefix, depth_ + 1);
  const json& inputs = member(g, "inputs");
  if (!inputs.is_array() || inputs.size() != bound.size())
    throw_user("expected a sub-graph with ", bound.size(), " inputs, got ", inputs.size());
  for (size_t i = 0; i < bound.size(); ++i)
    if (std::string name = name_in(tagged(inputs[i]).value); !name.empty()) inner.define(name, bound[i]);
  inner.position_ = position_;
  inner.read_nodes();
  std::vector<std::string> values;
  for (const json& o : member(g, "outputs")) {
    std::string v = inner.output(o, values.size());
    if (v.empty()) throw_unsupported("a sub-graph that returns None is not supported");
    values.push_back(v);
  }
  // Each output is a value of the body itself.
  for (std::string& v : values) v = inner.copied(v);
  RawGraph out = inner.take();
  for (const std::string& v : values) out.outputs.push_back({v, {}, {}, {}, {}, {}});
  out.name = prefix;
  return out;
}

void PytorchGraph::define_outputs(const json& j, RawNode& n) {
  for (const std::string& o : outputs_of(j)) {
    n.outputs.push_back(own(o));
    aliases_.define(o, own(o));
  }
  if (n.outputs.empty()) throw_user("expected an output");
  n.name = n.outputs[0];
}

// Contexts around a graph: its nodes are those of this one.
void PytorchGraph::inlined(const json& j, size_t at) {
  std::vector<std::string> bound;
  const json& all = member(j, "inputs");
  for (size_t i = at + 1; i < all.size(); ++i)
    for (std::string& v : operands(argument(j, i))) bound.push_back(std::move(v));
  RawGraph g = body(argument(j, at), own("wrap") + std::to_string(position_) + "/", bound);
  for (RawNode& n : g.nodes) out_.nodes.push_back(std::move(n));
  for (auto& c : g.constants) out_.constants.push_back(std::move(c));
  std::vector<std::string> outputs = outputs_of(j);
  if (outputs.size() != g.outputs.size())
    throw_user("expected ", outputs.size(), " outputs of the sub-graph, got ", g.outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) aliases_.define(outputs[i], g.outputs[i].name);
}

void PytorchGraph::branches(const json& j) {
  RawNode n = control_node("If");
  n.inputs = operands(argument(j, 0));
  std::vector<std::string> bound = operands(argument(j, 3));
  std::string prefix = own("cond") + std::to_string(position_) + "/";
  n.fields.emplace_back("then_branch", graph_field(body(argument(j, 1), prefix + "then/", bound)));
  n.fields.emplace_back("else_branch", graph_field(body(argument(j, 2), prefix + "else/", bound)));
  define_outputs(j, n);
  emit(std::move(n));
}

void PytorchGraph::while_loop(const json& j) {
  std::string prefix = own("while") + std::to_string(position_) + "/";
  std::vector<std::string> states = operands(argument(j, 2)), rest;
  if (member(j, "inputs").size() > 3) rest = operands(argument(j, 3));
  auto with_rest = [&](std::vector<std::string> v) {
    v.insert(v.end(), rest.begin(), rest.end());
    return v;
  };
  auto condition = [&](const std::string& where, const std::vector<std::string>& values) {
    RawGraph g = body(argument(j, 0), prefix + where, with_rest(values));
    if (g.outputs.size() != 1) throw_user("expected a condition with one output, got ", g.outputs.size());
    return g;
  };
  RawGraph first = condition("first/", states);
  for (RawNode& n : first.nodes) out_.nodes.push_back(std::move(n));
  for (auto& c : first.constants) out_.constants.push_back(std::move(c));

  RawNode loop = control_node("Loop");
  loop.inputs = {"", first.outputs[0].name};
  std::vector<std::string> inside;
  for (size_t i = 0; i < states.size(); ++i) {
    inside.push_back(prefix + "state" + std::to_string(i));
    loop.inputs.push_back(states[i]);
  }
  RawGraph g = body(argument(j, 1), prefix + "step/", with_rest(inside));
  g.inputs = {{prefix + "iteration", {DType::i64, Shape()}, {}, {}, {}, {}},
              {prefix + "going", {DType::boolean, Shape()}, {}, {}, {}, {}}};
  for (const std::string& s : inside) g.inputs.push_back({s, {}, {}, {}, {}, {}});
  std::vector<std::string> next;
  for (const RawValue& o : g.outputs) next.push_back(o.name);
  if (next.size() != states.size()) throw_user("expected a body with ", states.size(), " outputs, got ", next.size());
  RawGraph again = condition("next/", next);
  for (RawNode& n : again.nodes) g.nodes.push_back(std::move(n));
  for (auto& c : again.constants) g.constants.push_back(std::move(c));
  g.outputs.insert(g.outputs.begin(), again.outputs[0]);
  loop.fields.emplace_back("body", graph_field(std::move(g)));
  define_outputs(j, loop);
  emit(std::move(loop));
}

// scan(f, init, xs, rest) gives states and stacked values; map(f, xs, rest) stacked values alone.
void PytorchGraph::scan(const json& j, bool with_states) {
  std::string prefix = own("scan") + std::to_string(position_) + "/";
  size_t at = 1;
  std::vector<std::string> states, slices, rest;
  if (with_states) states = operands(argument(j, at++));
  slices = operands(argument(j, at++));
  if (at < member(j, "inputs").size()) rest = operands(argument(j, at));
  RawNode n = control_node("Scan");
  std::vector<std::string> bound;
  std::vector<RawValue> inputs;
  auto enter = [&](const std::vector<std::string>& values, const char* what) {
    for (size_t i = 0; i < values.size(); ++i) {
      bound.push_back(prefix + what + std::to_string(i));
      inputs.push_back({bound.back(), {}, {}, {}, {}, {}});
      n.inputs.push_back(values[i]);
    }
  };
  enter(states, "state"), enter(slices, "slice");
  bound.insert(bound.end(), rest.begin(), rest.end());
  RawGraph g = body(argument(j, 0), prefix, bound);
  g.inputs = std::move(inputs);
  n.fields.emplace_back("body", graph_field(std::move(g)));
  n.fields.emplace_back("num_scan_inputs", RawField{static_cast<int64_t>(slices.size()), {}, {}, {}});
  define_outputs(j, n);
  emit(std::move(n));
}

}  // namespace graft
