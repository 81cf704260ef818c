// A kernel that is prepared for a sample, and calls of it in memory that shows what it does.
#pragma once

#include <deque>

#include "base/tensor.hpp"
#include "check/buffer.hpp"
#include "check/sample.hpp"
#include "infer/evaluate.hpp"
#include "runtime/plan.hpp"

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
  std::vector<size_t> taken;  // inputs that have no data when the kernel runs
  // Nothing is computed where no output has an element; the runtime does not call the kernel either.
  bool empty = false;

  static Layout layout(const std::vector<Layout>& of, size_t port) {
    return port < of.size() ? of[port] : Layout::plain;
  }
};
// Throws if the kernel declines the sample.
std::shared_ptr<const PreparedSample> prepare_sample(const OpDef& op, const Sample& sample,
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

// The memory of one call; reused by its next ones. Not for two threads at once.
class KernelCall {
 public:
  explicit KernelCall(std::shared_ptr<const PreparedSample> prepared);
  ~KernelCall();

  // From now on with other values of the inputs that may change, of the same types and shapes. False: none may.
  bool vary_inputs();
  // Whether the last call used parallel_for.
  bool looped = false;

  // Throws the error with which the kernel refuses. `problems` has what the memory shows afterwards.
  void run(const CallSettings& settings);

  std::vector<Fault> problems;
  uint64_t allocated = 0;       // by the last call
  std::vector<Tensor> outputs;  // copies of the outputs of the last call; empty: none
  // Per output: the bytes that still have the pattern of the last call.
  std::vector<std::vector<bool>> untouched;

 private:
  class Runner;
  void fill(const CallSettings& settings);
  void add_output(size_t index, const std::vector<int64_t>& dims);
  void check_memory(const CallSettings& settings);
  bool gives(const std::vector<Tensor>& expected) const;
  void add(std::string kind, std::string detail);

  std::shared_ptr<const PreparedSample> prepared_;
  std::vector<Tensor> inputs_;
  std::vector<std::unique_ptr<GuardedBuffer>> input_memory_, output_memory_;
  std::unique_ptr<GuardedBuffer> scratch_;
  std::vector<Tensor> input_tensors_, output_tensors_;
  std::vector<graft_tensor> raw_outputs_;
  std::deque<std::string> texts_;
  Poison pattern_ = Poison::first;
  Placement placement_ = Placement::between_patterns;
  bool in_place_ = false;
  uint8_t* frame_ = nullptr;  // of the function that calls the kernel
};

}  // namespace graft::testing
