// Calls of a kernel: the only place that fills a graft_call and answers the host functions of a running kernel.
//
//   class MyCall final : public KernelCall {...};   // says where outputs get memory, and how bodies run
//   MyCall call(node, op, request);
//   call.inputs = ..., call.outputs = ...;          // an output without memory is allocated by the kernel
//   call.use(prepared, scratch);
//   call.check(call.run());
#pragma once

#include <list>

#include "base/running.hpp"
#include "base/threads.hpp"
#include "kernels/kernel.hpp"
#include "kernels/variables.hpp"

namespace graft {

// What all calls of a request share.
struct RequestState {
  Variables* variables = nullptr;  // null: nothing is kept, which only operations that are not pure can do without
  std::string scope = {};          // of the graph among the variables
  const std::atomic<bool>* cancel = nullptr;
  ThreadPool* pool = nullptr;         // null: kernels run on the calling thread alone
  int threads = 0;                    // that one call may use; 0: all of the pool
  uint64_t value_bytes = UINT64_MAX;  // Limits::value_bytes

  // A copy of a text that a kernel has made; all of a run count against `value_bytes`.
  graft_str keep(std::string_view text);
  void forget_texts();
  // That a call may use, and that its kernel is prepared for.
  int call_threads() const { return pool ? pool->threads(threads) : 1; }

  std::list<std::string> texts = {};
  uint64_t text_bytes = 0;
};

// Refuses a value with a data-dependent shape that takes more than `most` bytes (Limits::value_bytes).
void check_dynamic(uint64_t most, DType type, std::span<const int64_t> dims);
// Text counts like a value with a data-dependent shape. Refuses text that takes more than `most` bytes.
void check_texts(uint64_t most, uint64_t bytes);
// What the texts of a tensor have together, and what they take when each is copied; 0 for tensors of numbers.
uint64_t size_of_texts(const Tensor& t);
uint64_t bytes_of_texts(const Tensor& t);

// The tensor that a kernel sees, in the same memory.
inline std::vector<int64_t> dims_of(const graft_tensor& t) { return {t.dims, t.dims + t.rank}; }
inline DType type_of(const graft_tensor& t) { return static_cast<DType>(t.type); }
inline Tensor as_tensor(const graft_tensor& t) { return Tensor::wrap(type_of(t), dims_of(t), t.data); }
// An output with a shape that is not known yet.
inline graft_tensor without_memory(DType type) {
  return {sizeof(graft_tensor), static_cast<graft_type>(type), 0, 0, nullptr, nullptr, nullptr};
}

class KernelCall : public graft_runner {
 public:
  // All of these stay valid as long as the call.
  KernelCall(const Node& node, const OpDef& op, RequestState& request) : node_(node), op_(op), request_(request) {}
  KernelCall(const KernelCall&) = delete;

  std::vector<const graft_tensor*> inputs;  // null: absent
  std::vector<graft_tensor*> outputs;       // null: absent
  std::vector<Shape> declared;  // what outputs without memory may become; beyond the end, the tensors have their shapes

  // Makes the kernel the one that `run` calls. Inputs and outputs stay where they are from now on. `used`: per output;
  // empty: all that are not absent.
  void use(const PreparedKernel& kernel, void* scratch, std::span<const uint8_t> used = {});
  // Whether all outputs are known to have no elements, so that there is nothing to compute. Their other dimensions may
  // be larger than any loop over them should be.
  bool is_empty() const;
  // Calls the kernel. Allocates no memory by itself.
  graft_status run() {
    std::fill(allocated_.begin(), allocated_.end(), 0);
    if (clears_) clear_outputs();
    NowRunning now(&running_);
    ThreadPool::Apart apart;
    return kernel_->run(&call_);
  }
  // Throws if the call has failed.
  void check(graft_status status) {
    if (status == GRAFT_OK && !callback_failed()) [[likely]]
      return;
    kept_.clear();
    check_call(status, *this);
  }
  // Throws if the kernel has not allocated an output, or if bodies have given one another shape than declared.
  void check_outputs() const;
  // Frees the results of bodies. The texts of outputs, which may point into them, are kept by the request.
  void release_bodies();
  const RunningKernel& running() const { return running_; }

  void allocate(size_t output, std::span<const int64_t> dims) final;
  void parallel_for(int64_t count, int64_t grain, void (*body)(void*, int64_t, int64_t), void* arg) override;
  int32_t threads() const override { return request_.call_threads(); }
  void run_body(size_t index, const graft_tensor* const* parameters, const graft_tensor** results) final;
  void release_tensor(const graft_tensor* tensor) final;
  void store_text(graft_tensor* tensor, int64_t index, std::string_view text) final;
  bool cancelled() final { return request_.cancel && request_.cancel->load(std::memory_order_relaxed); }
  const graft_tensor* variable(std::string_view id) final;
  void set_variable(std::string_view id, const graft_tensor& value) final;
  std::shared_ptr<void>* object(std::string_view id) final;

 protected:
  ~KernelCall() = default;
  // Gives an output memory for a shape that only the kernel knows.
  virtual void make(size_t output, const std::vector<int64_t>& dims) = 0;
  // Runs a body of the node. The results share no memory with the parameters.
  virtual std::vector<Tensor> run_graph(size_t body, const std::vector<Tensor>& parameters) = 0;
  // The kernel has broken a rule of `allocate`: "wrong shape" or "allocated twice".
  virtual void broken(const char* rule, const std::string& what) {
    (void)rule;
    throw_user(what);
  }

  const Node& node_;
  const OpDef& op_;
  RequestState& request_;
  bool clears_ = false;  // outputs before the kernel runs

 private:
  std::string misfit(size_t output, std::span<const int64_t> dims) const;
  void require_state() const;
  void clear_outputs() const;

  const graft_kernel* kernel_ = nullptr;
  graft_call call_{};
  RunningKernel running_;
  std::vector<uint8_t> used_, allocated_;  // per output
  std::list<Tensor> kept_;                 // results of bodies
};

}  // namespace graft
