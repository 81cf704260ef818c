// A graph compiled for host memory: one plan per set of input shapes, created on demand.
#pragma once

#include <list>
#include <mutex>

#include "base/threads.hpp"
#include "runtime/plan.hpp"

namespace graft {

class HostProgram final : public Program {
 public:
  // `devices`: whose kernels may be used, best first.
  HostProgram(Graph graph, const Registry& registry, std::vector<std::string> devices, CompileOptions options);

  std::unique_ptr<Execution> create_execution() override;
  Explanation explain(const std::vector<Info>& inputs) override;

  std::shared_ptr<const Plan> plan_for(const std::vector<Info>& inputs);
  // The program of a body of a node. Throws what was wrong with the body: an error only if it runs.
  HostProgram& body(NodeId node, size_t index) const;
  const Registry& registry() const { return registry_; }
  KernelSource kernels() { return {registry_, devices_, packs_}; }
  const CompileOptions& options() const { return options_; }

 private:
  struct CompiledBody {
    std::unique_ptr<HostProgram> program;
    std::optional<Error> error;  // with which it does not compile
  };
  void compile_bodies();
  void plan_bodies(const Plan& plan);

  static constexpr size_t kept_plans = 16;
  Graph graph_;         // empty if `fixed_`
  bool fixed_ = false;  // all shapes are static: there is one plan
  const Registry& registry_;
  std::vector<std::string> devices_;
  CompileOptions options_;
  Packs packs_;
  std::map<std::pair<NodeId, size_t>, CompiledBody> bodies_;  // of loops and branches, shared by all plans
  std::mutex mutex_;
  std::list<std::pair<std::vector<Info>, std::shared_ptr<const Plan>>> plans_;  // most recent first
};

}  // namespace graft
