// A kernel that is prepared for a sample, and calls of it in memory that shows what it does.
#pragma once

#include "base/tensor.hpp"
#include "check/buffer.hpp"
#include "check/pieces.hpp"
#include "check/sample.hpp"
#include "kernels/call.hpp"

namespace graft::testing {

// What a kernel did wrong. `kind` is one of the fixed phrases of docs/guide/check.md.
struct Fault {
  std::string kind, detail;
};

// The outputs that the shape function infers when all inputs are known. Throws if it refuses.
std::vector<std::optional<Info>> infer_sample(const Registry& registry, const OpDef& op, const Sample& sample);

struct PreparedSample {
  const OpDef* op;
  const Sample* sample;
  Node node;
  std::vector<Tensor> inputs;  // of the sample, in the layouts of the kernel
  std::vector<std::optional<Info>> outputs;
  std::vector<Layout> input_layouts, output_layouts;  // ports beyond the end are plain
  PreparedKernel kernel;
  // Nothing is computed where no output has an element; the runtime does not call the kernel either.
  bool empty = false;

  static Layout layout(const std::vector<Layout>& of, size_t port) {
    return port < of.size() ? of[port] : Layout::plain;
  }
};
// Throws if the kernel declines the sample.
std::shared_ptr<const PreparedSample> prepare_sample(const Registry& registry, const OpDef& op, const Sample& sample,
                                                     const std::vector<std::optional<Info>>& outputs,
                                                     const KernelDef& kernel);

// How a call divides its work.
enum class Split {
  whole,    // on the calling thread, in one piece
  pieces,   // on the calling thread, in small pieces and scrambled order, watching which piece writes what
  at_once,  // the first two pieces in the middle of each other
  threads   // on the shared thread pool
};

struct CallSettings {
  Poison pattern = Poison::first;
  Split split = Split::whole;
  Placement placement = Placement::between_patterns;
  bool in_place = false;                // output 0 in the memory of input 0
  uint64_t (*allocations)() = nullptr;  // if given, `allocated` counts
  // If given, the kernel is called again and again for a short time, until it gives something else.
  const std::vector<Tensor>* expected = nullptr;
  std::function<void()> ready{};  // called when the memory is filled, right before the kernel
  // If given, called with what calls the kernel.
  std::function<void(const std::function<void()>&)> around{};
  const std::vector<Pages>* static_data = nullptr;  // of the kernel's library, which Split::at_once watches
};

// Calls in memory of their own, which is used again and again. Not for two threads at once.
class GuardedCall final : public KernelCall {
 public:
  explicit GuardedCall(std::shared_ptr<const PreparedSample> prepared);

  // From now on with other values of the inputs that may change, of the same types and shapes. False: none may.
  bool vary_inputs();
  // Whether the last call used parallel_for.
  bool looped = false;

  // Throws the error with which the kernel refuses. `problems` has what the memory shows afterwards.
  void run(const CallSettings& settings);

  std::vector<Fault> problems;
  uint64_t allocated = 0;       // by the last call
  std::vector<Tensor> results;  // copies of the outputs of the last call; empty: none
  // Per output: the bytes that still have the pattern of the last call.
  std::vector<std::vector<bool>> untouched;

  void parallel_for(int64_t count, int64_t grain, void (*body)(void*, int64_t, int64_t), void* arg) override;

 private:
  void make(size_t output, const std::vector<int64_t>& dims) override;
  std::vector<Tensor> run_graph(size_t body, const std::vector<Tensor>& parameters) override;
  void broken(const char* rule, const std::string& what) override { add(rule, what); }

  void fill();
  void check_memory();
  bool gives(const std::vector<Tensor>& expected) const;
  std::optional<std::string> at_once(const Loop& loop, std::vector<LoopMemory> outputs, uint8_t* frame);
  void add(std::string kind, std::string detail) { problems.push_back({std::move(kind), std::move(detail)}); }

  std::shared_ptr<const PreparedSample> prepared_;
  RequestState state_;
  std::vector<Tensor> values_;  // of the inputs
  std::vector<std::unique_ptr<GuardedBuffer>> input_memory_, output_memory_;
  std::unique_ptr<GuardedBuffer> scratch_;
  std::vector<Tensor> tensors_;  // outputs; empty: without memory
  std::vector<graft_tensor> raw_inputs_, raw_outputs_;
  CallSettings settings_;     // of the last call
  int loops_ = 0;             // of the last call that were divided
  uint8_t* frame_ = nullptr;  // of the function that calls the kernel
};

}  // namespace graft::testing
