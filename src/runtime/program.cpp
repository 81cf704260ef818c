#include "runtime/program.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "infer/decompose.hpp"
#include "runtime/execution.hpp"

namespace graft {
namespace {

bool are_known(const std::vector<Info>& inputs) {
  return std::all_of(inputs.begin(), inputs.end(),
                     [](const Info& i) { return i.shape.is_static() && i.type != DType::undefined; });
}

}  // namespace

HostProgram::HostProgram(Graph graph, const Registry& registry, std::vector<std::string> devices,
                         CompileOptions options)
    : graph_(std::move(graph)), registry_(registry), devices_(std::move(devices)), options_(options) {
  decompose(graph_, registry_, devices_);
  compile_bodies();
  // With static shapes there is only one plan; making it now reports what does not compile.
  std::vector<Info> inputs;
  for (NodeId id : graph_.parameters()) inputs.push_back(graph_.info({id, 0}));
  if (!are_known(inputs)) return;
  fixed_ = true;
  plans_.emplace_front(inputs, make_plan(std::move(graph_), kernels(), inputs, options_, true));
  plan_bodies(*plans_.front().second);
}

void HostProgram::compile_bodies() {
  CompileOptions options = options_;
  options.body = true;
  for (NodeId id : graph_.topological_order())
    for (size_t i = 0; i < graph_[id].bodies.size(); ++i) {
      CompiledBody& b = bodies_[{id, i}];
      try {
        b.program = std::make_unique<HostProgram>(graph_[id].bodies[i].graph->clone(), registry_, devices_, options);
      } catch (const Error& e) {
        b.error = e;
      }
    }
}

// Plans the bodies whose shapes follow from those of a plan. Where they depend on the data, they are planned when they
// first run.
void HostProgram::plan_bodies(const Plan& plan) {
  for (const Step& s : plan.steps)
    for (size_t i = 0; i < plan.graph[s.node].bodies.size(); ++i) {
      const Graph& body = *plan.graph[s.node].bodies[i].graph;
      std::vector<Info> inputs;
      for (NodeId id : body.parameters()) inputs.push_back(body.info({id, 0}));
      if (!are_known(inputs)) continue;
      try {
        this->body(s.node, i).plan_for(inputs);
      } catch (const Error&) {  // thrown again if the body runs
      }
    }
}

HostProgram& HostProgram::body(NodeId node, size_t index) const {
  const CompiledBody& b = bodies_.at({node, index});
  if (b.error) throw Error(*b.error);
  return *b.program;
}

std::unique_ptr<Execution> HostProgram::create_execution() { return std::make_unique<HostExecution>(*this); }

Explanation HostProgram::explain(const std::vector<Info>& inputs) { return plan_for(inputs)->explanation; }

std::shared_ptr<const Plan> HostProgram::plan_for(const std::vector<Info>& inputs) {
  {
    std::lock_guard lock(mutex_);
    for (auto it = plans_.begin(); it != plans_.end(); ++it)
      if (it->first == inputs) {
        plans_.splice(plans_.begin(), plans_, it);
        return it->second;
      }
  }
  // Requests check their inputs. A body may get others than it declares, from a file that contradicts itself.
  if (fixed_) throw_user("expected the shapes that the model, or the body of a loop or branch, was compiled for");
  // Made outside the lock, so that other threads can use their plans. Two threads may make the same plan; either will
  // do.
  std::shared_ptr<const Plan> plan = make_plan(graph_.clone(), kernels(), inputs, options_, false);
  plan_bodies(*plan);
  std::lock_guard lock(mutex_);
  plans_.emplace_front(inputs, plan);
  if (plans_.size() > kept_plans) plans_.pop_back();
  return plan;
}

}  // namespace graft
