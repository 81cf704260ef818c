// A graph compiled for an OpenCL device: one plan per set of input shapes, made by the stages of the runtime.
#pragma once

#include <list>

#include "devices/opencl/emit.hpp"
#include "devices/opencl/opencl.hpp"
#include "runtime/planning.hpp"

namespace graft {

struct OpenclPlan {
  struct Launch {
    std::shared_ptr<const OpenclBinary> program;
    OpenclLaunch what;
  };
  std::shared_ptr<const Plan> plan;
  std::vector<std::vector<Launch>> launches;             // per step
  std::vector<std::vector<size_t>> scratch;              // per step: offsets, from that of the step
  std::vector<std::shared_ptr<cl::OwnedMem>> constants;  // per constant; null: no launch uses it
};

class OpenclProgram final : public Program {
 public:
  OpenclProgram(Graph graph, const Registry& registry, OpenclMachine& machine, const OpenclRules& rules,
                CompileOptions options);

  std::unique_ptr<Execution> create_execution() override;
  Explanation explain(const std::vector<Info>& inputs) override { return plan_for(inputs)->plan->explanation; }

  // `values`: the inputs themselves, where they are known. If shapes depend on the elements of small integer inputs
  // (axes, sizes), the plan is for these elements.
  std::shared_ptr<const OpenclPlan> plan_for(const std::vector<Info>& inputs, std::span<const Tensor> values = {});
  OpenclMachine& machine() const { return machine_; }
  const CompileOptions& options() const { return options_; }

 private:
  struct Kept {
    std::vector<Info> inputs;
    std::optional<std::string> values;  // of the small inputs, where the plan depends on them
    std::shared_ptr<const OpenclPlan> plan;
  };
  std::shared_ptr<const OpenclPlan> make_plan(const Graph& graph, const std::vector<Info>& inputs);
  std::shared_ptr<const OpenclPlan> make_plan_of_values(const std::vector<Info>& inputs, std::span<const Tensor> values,
                                                        const Error& otherwise);
  std::vector<size_t> small_inputs(const std::vector<Info>& inputs) const;
  OpenclWork compute(Draft& draft, NodeId id);
  void build(OpenclPlan& out, std::vector<OpenclWork>& works);
  void upload_constants(OpenclPlan& out);

  static constexpr size_t kept_plans = 16;
  Graph graph_;
  const Registry& registry_;
  OpenclMachine& machine_;
  std::string device_;
  std::vector<std::string> devices_{device_};
  size_t local_memory_;  // most bytes of a work group
  CompileOptions options_;
  Packs packs_;
  std::mutex mutex_;
  std::list<Kept> plans_;  // most recent first
  // Uploaded constants by address, as long as a plan uses them.
  std::map<std::pair<const void*, size_t>, std::pair<Tensor, std::weak_ptr<cl::OwnedMem>>> uploaded_;
};

}  // namespace graft
