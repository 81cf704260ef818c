// One request on the host: an arena, prebuilt calls, and the loop that makes them.
#pragma once

#include <deque>

#include "kernels/call.hpp"
#include "runtime/program.hpp"

namespace graft {

class HostExecution final : public Execution {
 public:
  explicit HostExecution(HostProgram& program);
  ~HostExecution() override;

  void run(std::span<const Tensor> inputs, std::vector<Tensor>& outputs, const std::atomic<bool>* cancel) override;
  std::vector<ProfileEntry> profile() const override;

 private:
  struct Call;

  void bind(std::shared_ptr<const Plan> plan);
  void run_step(size_t index);
  void run_dynamic(size_t index);
  void expect(Call& call, const std::vector<std::optional<Info>>& infos);
  void choose(Call& call, NodeContext& context, const std::vector<Tensor>& values);
  void make_dynamic(uint32_t slot, DType type, const std::vector<int64_t>& dims);

  HostProgram& program_;
  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<void> arena_;
  size_t arena_bytes_ = 0;
  std::vector<graft_tensor> raw_;             // per slot
  std::vector<Tensor> held_;                  // per slot: memory of dynamic ones
  std::vector<std::vector<uint32_t>> views_;  // per input: slots that share its memory
  std::vector<std::vector<uint32_t>> dying_;  // per step: dynamic slots without later consumers
  std::deque<Call> calls_;                    // per step
  std::map<std::pair<NodeId, size_t>, std::unique_ptr<HostExecution>> bodies_;
  RequestState request_;
  std::vector<ProfileEntry> profile_;
  std::map<std::string, size_t> profile_index_;
};

}  // namespace graft
