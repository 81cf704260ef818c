// One request on the host: an arena, prebuilt calls, and the loop that makes them.
#pragma once

#include <deque>

#include "runtime/program.hpp"

namespace graft {

class HostExecution final : public Execution {
 public:
  explicit HostExecution(HostProgram& program);
  ~HostExecution() override;

  void run(std::span<const Tensor> inputs, std::vector<Tensor>& outputs, const std::atomic<bool>* cancel) override;
  std::vector<ProfileEntry> profile() const override;

 private:
  class Runner;
  struct Call;
  struct BodyRun;

  void bind(std::shared_ptr<const Plan> plan);
  void run_step(size_t index, const std::atomic<bool>* cancel);
  void run_dynamic(size_t index);
  void release_bodies(const Step& step, Call& call, graft_status status);
  void make_dynamic(uint32_t slot, const Info& info);

  HostProgram& program_;
  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<void> arena_;
  size_t arena_bytes_ = 0;
  std::vector<graft_tensor> raw_;             // per slot
  std::vector<Tensor> held_;                  // per slot: memory of dynamic ones
  std::vector<std::vector<uint32_t>> views_;  // per input: slots that share its memory
  std::vector<std::vector<uint32_t>> dying_;  // per step: dynamic slots without later consumers
  std::deque<Call> calls_;                    // per step
  std::map<std::pair<NodeId, size_t>, std::unique_ptr<BodyRun>> bodies_;
  // A copy of a text that an operation made; all of a run count against Limits::value_bytes.
  graft_str keep_text(std::string_view s);
  std::deque<std::string> texts_;
  uint64_t text_bytes_ = 0;
  std::vector<ProfileEntry> profile_;
  std::map<std::string, size_t> profile_index_;
  const std::atomic<bool>* cancel_ = nullptr;
};

}  // namespace graft
