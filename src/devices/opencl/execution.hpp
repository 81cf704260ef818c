// One request on an OpenCL device: a queue, the memory of a plan, and its kernels with their arguments set.
#pragma once

#include "devices/opencl/program.hpp"

namespace graft {

class OpenclExecution final : public Execution {
 public:
  explicit OpenclExecution(OpenclProgram& program);
  ~OpenclExecution() override;

  void run(std::span<const Tensor> inputs, std::vector<Tensor>& outputs, const std::atomic<bool>* cancel) override;
  std::vector<ProfileEntry> profile() const override { return profile_; }

 private:
  struct Call {
    cl::OwnedKernel kernel;
    const OpenclLaunch* what;
    size_t step;
  };
  void bind(std::shared_ptr<const OpenclPlan> plan);
  cl::Mem memory(uint32_t slot);
  void make_places();
  void set_arguments(Call& call);
  void launch(const Call& call);
  void read(uint32_t slot, Tensor& to);
  void add_profile();

  OpenclProgram& program_;
  cl::OwnedQueue queue_;
  std::shared_ptr<const OpenclPlan> plan_;
  cl::OwnedMem nothing_;                   // for values without elements
  std::map<size_t, cl::OwnedMem> places_;  // by offset in the plan
  std::vector<cl::OwnedMem> inputs_, outputs_;
  std::vector<Call> calls_;
  std::vector<std::pair<size_t, cl::OwnedEvent>> events_;  // step and launch
  std::vector<ProfileEntry> profile_;
  std::map<std::string, size_t> profile_index_;
};

}  // namespace graft
