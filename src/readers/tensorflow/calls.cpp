#include "readers/tensorflow/calls.hpp"

#include "base/tensor.hpp"
#include "base/text.hpp"

namespace graft {
namespace {

const TensorFlowFunction& called(const RawNode& n, const char* field, const TensorFlowFunctions& functions) {
  const RawField* f = n.find(field);
  const std::string* name = f ? f->value.get_if<std::string>() : nullptr;
  auto it = name ? functions.find(*name) : functions.end();
  if (it == functions.end())
    throw_user("the node '", n.name, "' (", n.type, ") calls the unknown function '", name ? *name : "", "'");
  return *it->second;
}

RawNode call(const TensorFlowFunction& f, const RawNode& from, std::string name, std::vector<std::string> inputs,
             std::vector<std::string> outputs) {
  if (inputs.size() > f.inputs.size() || outputs.size() > f.outputs.size())
    throw_user("the node '", from.name, "' (", from.type, ") calls the function '", f.name, "' with ", inputs.size(),
               " inputs and ", outputs.size(), " outputs, expected at most ", f.inputs.size(), " and ",
               f.outputs.size());
  RawNode n;
  n.type = f.name;
  n.name = std::move(name);
  n.inputs = std::move(inputs);
  n.outputs = std::move(outputs);
  n.position = from.position;
  return n;
}

// Does the function return argument i unchanged as its result i?
std::vector<bool> handed_on(const TensorFlowFunction& f) {
  std::unordered_map<std::string_view, const TensorFlowNode*> nodes;
  for (const TensorFlowNode& n : f.nodes) nodes.emplace(n.name, &n);
  std::vector<bool> same(f.outputs.size(), false);
  for (size_t i = 0; i < f.outputs.size() && i < f.inputs.size(); ++i) {
    std::string_view value = f.outputs[i];
    for (size_t steps = 0; steps <= f.nodes.size(); ++steps) {
      auto it = nodes.find(value);
      if (it == nodes.end() || it->second->type != "Identity" || it->second->inputs.empty()) break;
      value = it->second->inputs[0];
    }
    same[i] = value == f.inputs[i].name;
  }
  return same;
}

std::vector<RawNode> loop(const RawNode& n, const TensorFlowFunctions& functions) {
  const TensorFlowFunction& test = called(n, "cond", functions);
  const TensorFlowFunction& body = called(n, "body", functions);
  size_t count = n.inputs.size();
  if (body.inputs.size() != count || body.outputs.size() != count || test.inputs.size() != count ||
      test.outputs.size() != 1)
    throw_user("the node '", n.name, "' (", n.type, ") has ", count, " loop variables, but its body '", body.name,
               "' has ", body.inputs.size(), " inputs and ", body.outputs.size(), " outputs, and its condition '",
               test.name, "' has ", test.inputs.size(), " inputs");
  std::vector<bool> constant = handed_on(body);
  std::vector<RawNode> out;
  out.push_back(call(test, n, n.name + "/cond", n.inputs, {n.name + "/goes"}));

  RawNode l;
  l.type = "Loop";
  l.domain = "graft";
  l.name = n.name;
  l.position = n.position;
  l.inputs = {"", n.name + "/goes"};
  auto g = std::make_shared<RawGraph>();
  g->name = body.name;
  g->inputs = {{n.name + "/iteration", {DType::i64, Shape()}, {}}, {n.name + "/going", {DType::boolean, Shape()}, {}}};
  g->outputs = {{n.name + "/goes_on", {}, {}}};
  std::vector<std::string> before, made, after;
  std::vector<int64_t> lists;  // positions among the loop variables
  for (size_t i = 0; i < count; ++i) {
    std::string wanted = i < n.outputs.size() ? n.outputs[i] : std::string();
    if (constant[i]) {
      before.push_back(n.inputs[i]), made.emplace_back(), after.push_back(n.inputs[i]);
      if (wanted.empty()) continue;
      RawNode same;
      same.type = "Identity";
      same.name = wanted;
      same.inputs = {n.inputs[i]};
      same.outputs = {wanted};
      out.push_back(std::move(same));
      continue;
    }
    before.push_back(text(n.name, "/value", i)), made.push_back(text(n.name, "/next", i)), after.push_back(made.back());
    if (body.inputs[i].kind == "list") lists.push_back(static_cast<int64_t>(l.outputs.size()));
    l.inputs.push_back(n.inputs[i]);
    l.outputs.push_back(wanted);
    g->inputs.push_back({before.back(), body.inputs[i].info, {}});
    g->outputs.push_back({made.back(), {}, {}});
  }
  g->nodes.push_back(call(body, n, n.name + "/body", before, made));
  g->nodes.push_back(call(test, n, n.name + "/cond", after, {n.name + "/goes_on"}));
  RawField field, listed;
  field.graphs = {g};
  listed.value = std::move(lists);
  l.fields = {{"body", std::move(field)}, {"lists", std::move(listed)}};
  out.push_back(std::move(l));
  return out;
}

RawNode branch(const RawNode& n, const TensorFlowFunctions& functions) {
  if (n.inputs.empty()) throw_user("the node '", n.name, "' (", n.type, ") has no condition");
  RawNode out;
  out.type = "If";
  out.domain = "graft";
  out.name = n.name;
  out.position = n.position;
  out.inputs = {n.inputs[0]};
  out.outputs = n.outputs;
  for (const char* field : {"then_branch", "else_branch"}) {
    const TensorFlowFunction& f = called(n, field, functions);
    auto g = std::make_shared<RawGraph>();
    g->name = f.name;
    std::vector<std::string> made;
    for (size_t i = 0; i < n.outputs.size(); ++i) {
      made.push_back(text(n.name, '/', field, i));
      g->outputs.push_back({made.back(), {}, {}});
    }
    g->nodes.push_back(call(f, n, text(n.name, '/', field), {n.inputs.begin() + 1, n.inputs.end()}, made));
    RawField graph;
    graph.graphs = {g};
    out.fields.emplace_back(field, std::move(graph));
  }
  return out;
}

// Branch `i` where the index is i, else the branches that follow; the last one is taken for every other index.
std::vector<RawNode> choice(const RawNode& n, const std::vector<const TensorFlowFunction*>& branches, size_t i,
                            std::vector<std::string> outputs) {
  std::string name = text(n.name, "/branch", i);
  if (i + 1 == branches.size())
    return {call(*branches[i], n, name, {n.inputs.begin() + 1, n.inputs.end()}, std::move(outputs))};
  RawNode number, is_it, out;
  number.type = "Const", number.name = name + "/number", number.outputs = {number.name};
  RawField value;
  value.value = make_tensor<int32_t>({}, {static_cast<int32_t>(i)});
  number.fields = {{"value", std::move(value)}};
  is_it.type = "Equal", is_it.name = name + "/is_it", is_it.outputs = {is_it.name};
  is_it.inputs = {n.inputs[0], number.name};
  out.type = "If", out.domain = "graft", out.name = i == 0 ? n.name : name + "/if";
  out.inputs = {is_it.name};
  number.position = is_it.position = out.position = n.position;
  for (const char* field : {"then_branch", "else_branch"}) {
    bool taken = field[0] == 't';
    auto g = std::make_shared<RawGraph>();
    g->name = taken ? branches[i]->name : name + "/rest";
    std::vector<std::string> made;
    for (size_t k = 0; k < outputs.size(); ++k) {
      made.push_back(text(name, '/', field, k));
      g->outputs.push_back({made.back(), {}, {}});
    }
    if (taken) g->nodes = {call(*branches[i], n, name, {n.inputs.begin() + 1, n.inputs.end()}, made)};
    else g->nodes = choice(n, branches, i + 1, made);
    RawField graph;
    graph.graphs = {g};
    out.fields.emplace_back(field, std::move(graph));
  }
  out.outputs = std::move(outputs);
  return {std::move(number), std::move(is_it), std::move(out)};
}
std::vector<RawNode> choice(const RawNode& n, const TensorFlowFunctions& functions) {
  const RawField* f = n.find("branches");
  const auto* names = f ? f->value.get_if<std::vector<std::string>>() : nullptr;
  constexpr size_t most = 48;  // they become branches inside each other
  if (n.inputs.empty() || !names || names->empty())
    throw_user("the node '", n.name, "' (", n.type, ") has no branches");
  if (names->size() > most)
    throw_unsupported("the node '", n.name, "' (", n.type, ") has ", names->size(), " branches, expected at most ",
                      most);
  std::vector<const TensorFlowFunction*> branches;
  for (const std::string& name : *names) {
    auto it = functions.find(name);
    if (it == functions.end())
      throw_user("the node '", n.name, "' (", n.type, ") calls the unknown function '", name, "'");
    branches.push_back(it->second);
  }
  return choice(n, branches, 0, n.outputs);
}

}  // namespace

std::vector<RawNode> expand_calls(RawNode n, const TensorFlowFunctions& functions) {
  if (n.type == "PartitionedCall" || n.type == "StatefulPartitionedCall")
    return {call(called(n, "f", functions), n, n.name, n.inputs, n.outputs)};
  if (n.type == "While" || n.type == "StatelessWhile") return loop(n, functions);
  if (n.type == "If" || n.type == "StatelessIf") return {branch(n, functions)};
  if (n.type == "Case" || n.type == "StatelessCase") return choice(n, functions);
  return {std::move(n)};
}

}  // namespace graft
