#include "infer/inference.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/tensor.hpp"
#include "infer/decompose.hpp"
#include "infer/evaluate.hpp"
#include "kernels/context.hpp"
#include "schema/resolve.hpp"

namespace graft {
namespace {

constexpr int64_t small = 64;  // integer and boolean tensors of up to this many elements are propagated value by value

// Folding weights is worth a fast kernel. Small values use the reference, whose rounding defines the result.
constexpr size_t large = size_t{64} << 10;

bool is_followed(const Info& info) {
  if (info.type != DType::i64 && info.type != DType::i32 && info.type != DType::boolean) return false;
  Dim n = info.shape.elements();
  return info.shape.is_static() && n.known() && n.value() <= small;
}

struct TextBytes {
  size_t total = 0, longest = 0;
};
TextBytes text_bytes(const Tensor& t) {
  TextBytes out;
  if (!t || t.type() != DType::string) return out;
  for (int64_t i = 0; i < t.size(); ++i) {
    out.total += t.text_at(i).size();
    out.longest = std::max(out.longest, t.text_at(i).size());
  }
  return out;
}

Shape shape_of_values(const Tensor& t) {
  std::vector<Dim> dims;
  for (int64_t v : values_of<int64_t>(t)) dims.push_back(Dim(graft_dim{v, v, 0, 0}));
  return Shape(std::move(dims));
}

}  // namespace

void Budget::add_weights(size_t all, size_t largest) {
  limits.fold_value = std::max<uint64_t>(limits.fold_value, largest);
  limits.fold_bytes += 2 * all;
  limits.fold_work += 16 * all;
}

Inference::Inference(const Registry& registry, Graph& graph, const Limits& limits)
    : Inference(registry, graph, std::make_shared<Budget>(limits)) {}

Inference::Inference(const Registry& registry, Graph& graph, std::shared_ptr<Budget> budget)
    : Inference(registry, graph, std::move(budget), std::make_shared<Bodies>()) {}

Inference::Inference(const Registry& registry, Graph& graph, std::shared_ptr<Budget> budget,
                     std::shared_ptr<Bodies> bodies)
    : registry_(registry), graph_(graph), budget_(std::move(budget)), bodies_(std::move(bodies)) {}

void Inference::infer_all() {
  for (NodeId id : graph_.topological_order()) infer(id);
}

void Inference::forget(NodeId id) {
  for (uint32_t port = 0; port < graph_[id].outputs.size(); ++port) {
    constants_.erase({id, port});
    values_.erase({id, port});
  }
  if (id < folded_.size()) folded_[id] = Folded::open;
}

void Inference::infer(NodeId id) {
  Node& node = graph_[id];
  if (node.opaque) return;
  with_context(
      [&] {
        bool nest = outermost_ && !node.bodies.empty();
        if (nest) *bodies_ = {};
        infer_defined(id, definition(registry_, node));
        if (nest) refresh_bodies(node);
        if (nest) *bodies_ = {};
      },
      [&] {
        std::string what = text("inferring the shape of ", describe(node));
        return node.origin.empty() ? what : text(what, ", from ", node.origin);
      });
}

void Inference::infer_defined(NodeId id, const OpDef& op) {
  Node& node = graph_[id];
  NodeContext context(node, input_infos(graph_, node));
  context.constants = [&](size_t i) { return constant(node.inputs[i]); };
  context.values = [&](size_t i) { return known_values(node.inputs[i]); };
  context.bodies = [&](size_t index, std::vector<Info> parameters) {
    return infer_body(*node.bodies[index].graph, parameters);
  };
  infer_outputs(registry_, op, context);

  // A file may list more ports than the operation has: nothing would ever be written to them.
  if (node.outputs.size() > context.outputs.size() && !node.is("Result"))
    throw_user("expected ", context.outputs.size(), " output ports, got ", node.outputs.size());
  node.outputs.resize(std::max(node.outputs.size(), context.outputs.size()));
  for (size_t i = 0; i < context.outputs.size(); ++i) {
    if (!context.outputs[i]) throw_user("the shape function of ", op.name(), " did not set output ", i);
    if (const Shape& s = context.outputs[i]->shape; s.ranked() && s.rank() > budget_->limits.rank)
      throw_limit(&Limits::rank, "expected a rank of at most ", budget_->limits.rank, ", got ", s.rank());
    if (const Info& o = *context.outputs[i]; o.shape.is_static()) bytes_for(o.type, count_checked(o.shape.values()));
    node.outputs[i].info = *context.outputs[i];
  }
  for (size_t i = 0; i < context.output_values.size(); ++i)
    if (context.output_values[i]) values_[{id, static_cast<uint32_t>(i)}] = *context.output_values[i];
}

std::vector<Info> Inference::infer_body(Graph& body, const std::vector<Info>& parameters) {
  std::vector<Info> given = parameters;
  for (size_t i = 0; i < given.size(); ++i)
    if (const Node& p = body[body.parameters()[i]]; given[i].type == DType::undefined) {  // as declared
      given[i].type = p.attrs.find("element_type")->as<DType>();
      if (!given[i].shape.ranked()) given[i].shape = p.attrs.find("shape")->as<Shape>();
    }
  std::vector<Bodies::Known>& known = bodies_->known[&body];
  auto it = std::find_if(known.begin(), known.end(), [&](const Bodies::Known& k) { return k.parameters == given; });
  if (it == known.end()) {
    Bodies::Known fresh{given, {}, {}};
    try {
      fresh.results = infer_body_now(body, given);
    } catch (const Error& e) {
      fresh.error = e;
    }
    it = known.insert(known.end(), std::move(fresh));
  } else if (bodies_->current[&body] != given) {
    bodies_->stale[&body] = given;
  } else {
    bodies_->stale.erase(&body);
  }
  if (it->error) throw Error(*it->error);
  return it->results;
}

std::vector<Info> Inference::infer_body_now(Graph& body, const std::vector<Info>& parameters) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    Node& p = body[body.parameters()[i]];
    p.attrs["shape"] = parameters[i].shape;
    p.attrs["element_type"] = parameters[i].type;
  }
  budget_->body_nodes += body.node_count();
  if (budget_->body_nodes > budget_->limits.body_nodes)
    throw_limit(&Limits::body_nodes, "expected at most ", budget_->limits.body_nodes,
                " inference steps inside nested bodies");
  bodies_->current[&body] = parameters;
  bodies_->stale.erase(&body);
  Inference inside(registry_, body, budget_, bodies_);
  inside.outermost_ = false;
  inside.infer_all();
  std::vector<Info> results;
  for (NodeId r : body.results()) results.push_back(body.info(body[r].inputs[0]));
  return results;
}

std::vector<Info> Inference::results_of(const Registry& registry, const Graph& body,
                                        const std::vector<Info>& parameters, const Limits& limits) {
  Graph copy = body.clone();
  Inference inside(registry, copy, limits);
  return inside.infer_body(copy, parameters);
}

// Bodies that were last asked for what was known already: now their nodes are inferred for it, outer ones first.
void Inference::refresh_bodies(Node& node) {
  for (Body& b : node.bodies) {
    if (bodies_->stale.empty()) return;
    if (auto it = bodies_->stale.find(b.graph.get()); it != bodies_->stale.end()) {
      std::vector<Info> parameters = it->second;
      try {
        infer_body_now(*b.graph, parameters);
      } catch (const Error& e) {
        // A branch that does not fit the actual shapes is an error only if it runs.
        if (is_limit_error(e)) throw;
      }
    }
    for (NodeId id = 0; id < b.graph->end_id(); ++id)
      if ((*b.graph)[id].alive) refresh_bodies((*b.graph)[id]);
  }
}

const Shape* Inference::known_values(ValueId v) {
  if (!v.present() || !is_followed(graph_.info(v))) return nullptr;
  if (auto it = values_.find(v); it != values_.end()) return &it->second;
  if (const Tensor* t = constant(v)) return &(values_[v] = shape_of_values(*t));
  return nullptr;
}

// Whether a value is among the constants, also if all of its elements are known from shape arithmetic.
bool Inference::settled(ValueId v) {
  if (constants_.count(v)) return true;
  auto it = values_.find(v);
  if (it == values_.end()) return false;
  const Info& info = graph_.info(v);
  std::vector<int64_t> exact;
  for (const Dim& d : it->second)
    if (d.known()) exact.push_back(d.min());
  if (exact.size() != it->second.rank() || !info.shape.is_static() ||
      !info.shape.elements().same(Dim(static_cast<int64_t>(exact.size()))))
    return false;
  constants_[v] = make_tensor<int64_t>(info.shape.values(), exact).to(info.type);
  return true;
}

const Tensor* Inference::constant(ValueId v) {
  if (!v.present()) return nullptr;
  if (settled(v)) return &constants_.at(v);
  if (folded_.size() < graph_.end_id()) folded_.resize(graph_.end_id(), Folded::open);

  // Producers first, without recursion: chains of foldable nodes may be long. Each input is visited at most once.
  std::vector<NodeId> stack{v.node};
  size_t most = graph_.end_id();
  auto cyclic = [&] {
    if (stack.size() <= most) return false;
    if (most == graph_.end_id())
      for (NodeId id = 0; id < graph_.end_id(); ++id) most += graph_[id].inputs.size();
    return stack.size() > most;
  };
  while (!stack.empty()) {
    NodeId id = stack.back();
    if (folded_[id] != Folded::open) {
      stack.pop_back();
      continue;
    }
    const OpDef* op = graph_[id].opaque ? nullptr : registry_.find(graph_[id].type, graph_[id].opset);
    // Nodes with bodies may loop arbitrarily long, so they are never folded.
    bool variable = !op || !op->has(GRAFT_OP_PURE) || !graph_[id].bodies.empty(), waiting = false;
    for (ValueId in : graph_[id].inputs) {
      if (variable) break;
      if (!in.present() || settled(in)) continue;
      if (folded_[in.node] != Folded::open) variable = true;
      else if (cyclic()) throw_internal("a cycle while folding constants");
      else stack.push_back(in.node), waiting = true;
    }
    if (variable) {
      folded_[id] = Folded::no;
      stack.pop_back();
      continue;
    }
    if (waiting) continue;
    folded_[id] = compute(id) ? Folded::yes : Folded::no;
    stack.pop_back();
  }
  auto it = constants_.find(v);
  return it == constants_.end() ? nullptr : &it->second;
}

// Notes that a node is not computed because of a limit.
bool Inference::refuse(const Node& node, uint64_t Limits::*limit) {
  budget_->unfolded.insert(node.name);
  if (!budget_->reached) budget_->reached = limit;
  return false;
}

// Whether computing the node, which produces `needed` bytes, is within the budget; if so, charges it.
bool Inference::within_budget(const Node& node, const OpDef& op, const std::vector<Tensor>& inputs, size_t needed) {
  const Limits& limits = budget_->limits;
  size_t longest = 0;  // an output text is at most what all inputs hold at one place
  for (const Tensor& t : inputs) longest += text_bytes(t).longest;
  for (const Output& o : node.outputs)
    if (o.info.type == DType::string && o.info.shape.is_static()) {
      auto count = static_cast<size_t>(o.info.shape.elements().max());
      if (longest && count > limits.fold_value / longest) return refuse(node, &Limits::fold_value);
      needed += count * longest;
    }
  if (needed > limits.fold_value && longest) return refuse(node, &Limits::fold_value);
  if (needed > limits.fold_bytes - std::min<uint64_t>(limits.fold_bytes, budget_->bytes))
    return refuse(node, &Limits::fold_bytes);
  std::vector<std::optional<Info>> outputs;
  for (const Output& o : node.outputs) outputs.push_back(o.info);
  double work = work_of(node, op, inputs, outputs);
  if (work > static_cast<double>(limits.fold_work) - budget_->work) return refuse(node, &Limits::fold_work);
  budget_->work += work;
  return true;
}

// True when the node's outputs are now among the constants.
bool Inference::compute(NodeId id) {
  const Node& node = graph_[id];
  if (node.is("Constant")) {
    constants_[{id, 0}] = node.attrs.find("value")->as<Tensor>();
    return true;
  }
  const OpDef& op = definition(registry_, node);
  if (!registry_.reference(op) && !op.record->decomposition.size) return false;
  size_t needed = 0;
  for (const Output& o : node.outputs) {
    if (o.info.type == DType::undefined) return false;
    if (!o.info.shape.is_static()) continue;
    size_t bytes = bytes_for(o.info.type, count_checked(o.info.shape.values()));
    if (bytes > budget_->limits.fold_value) return refuse(node, &Limits::fold_value);
    needed += bytes;
  }
  std::vector<Tensor> inputs;
  for (ValueId v : node.inputs) inputs.push_back(v.present() ? constants_.at(v) : Tensor());
  if (op.has(GRAFT_OP_VIEW) && node.outputs[0].info.shape.is_static()) {
    constants_[{id, 0}] = inputs[0].reshaped(node.outputs[0].info.shape.values());
    return true;
  }
  if (!within_budget(node, op, inputs, needed)) return false;
  try {
    Evaluation how{.registry = registry_, .max_bytes = budget_->limits.fold_value};
    size_t read = 0;
    for (const Tensor& t : inputs) read += t ? t.bytes() : 0;
    if (needed + read > large) how.device = registry_.constants_device, how.pool = &ThreadPool::shared();
    std::vector<Tensor> outputs = evaluate_node(how, node, op, inputs, node.outputs.size());
    for (uint32_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i] || constants_.count({id, i})) continue;
      budget_->bytes += outputs[i].bytes() + text_bytes(outputs[i]).total;
      constants_[{id, i}] = std::move(outputs[i]);
    }
    return constants_.count({id, 0}) > 0;
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::unsupported) return false;  // not folded
    throw;
  }
}

}  // namespace graft
