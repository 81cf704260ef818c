#include "runtime/program.hpp"

#include "base/error.hpp"
#include "infer/decompose.hpp"
#include "runtime/execution.hpp"

namespace graft {

HostProgram::HostProgram(Graph graph, const Registry& registry, std::vector<std::string> devices,
                         CompileOptions options)
    : graph_(std::move(graph)), registry_(registry), devices_(std::move(devices)), options_(options) {
  decompose(graph_, registry_, devices_);
  // With static shapes there is only one plan; making it now reports what does not compile.
  std::vector<Info> inputs;
  for (NodeId id : graph_.parameters()) inputs.push_back(graph_.info({id, 0}));
  for (const Info& i : inputs)
    if (!i.shape.is_static() || i.type == DType::undefined) return;
  fixed_ = true;
  plans_.emplace_front(inputs, make_plan(std::move(graph_), kernels(), inputs, options_, true));
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
  if (fixed_) throw_internal("expected the shapes that the model was compiled for");
  // Made outside the lock, so that other threads can use their plans. Two threads may make the same plan; either will
  // do.
  std::shared_ptr<const Plan> plan = make_plan(graph_.clone(), kernels(), inputs, options_, false);
  std::lock_guard lock(mutex_);
  plans_.emplace_front(inputs, plan);
  if (plans_.size() > kept_plans) plans_.pop_back();
  return plan;
}

}  // namespace graft
