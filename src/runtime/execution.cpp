#include "runtime/execution.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/convert.hpp"
#include "base/running.hpp"
#include "base/tensor.hpp"
#include "infer/decompose.hpp"
#include "infer/inference.hpp"
#include "infer/texts.hpp"
#include "schema/resolve.hpp"

namespace graft {
namespace {

std::vector<int64_t> dims_of(const graft_tensor& t) { return {t.dims, t.dims + t.rank}; }
DType type_of(const graft_tensor& t) { return static_cast<DType>(t.type); }

// Whether all outputs are known to have no elements, so that there is nothing to compute. Their other dimensions may be
// larger than any loop over them should be.
bool without_elements(const Step& step, const std::vector<graft_tensor*>& outputs) {
  if (outputs.empty() || step.op->has(GRAFT_OP_SINK)) return false;
  for (const graft_tensor* t : outputs)
    if (!t->dims || std::find(t->dims, t->dims + t->rank, 0) == t->dims + t->rank) return false;
  return true;
}

// What the kernel of an extension does not write is zero, not what was in that memory before. That costs 14 us per MB:
// for a kernel that only copies 1 MB 39 us instead of 24, nothing that can be measured for one that computes a tanh. So
// element-wise operations, which write every element, do without.
bool may_leave_memory(const OpDef& op, const PreparedKernel& k) {
  return k && !k.source->built_in() && !op.has(GRAFT_OP_ELEMENTWISE);
}
void clear_memory(graft_tensor& t) {
  if (t.data) std::memset(t.data, 0, bytes_for(type_of(t), count_checked(dims_of(t))));
}

}  // namespace

// A body's program and the execution that this request runs it with.
struct HostExecution::BodyRun {
  std::unique_ptr<HostProgram> program;
  std::unique_ptr<Execution> execution;
};

// Callbacks for running kernels.
class HostExecution::Runner final : public graft_runner {
 public:
  Runner(HostExecution& execution, size_t step) : e_(execution), step_(step) {}

  void allocate(size_t output, std::span<const int64_t> dims) override {
    const Step& s = e_.plan_->steps[step_];
    if (output >= s.outputs.size()) throw_user("there is no output ", output);
    uint32_t slot = s.outputs[output];
    graft_tensor& t = e_.raw_[slot];
    const Slot& planned = e_.plan_->slots[slot];
    bool dynamic = planned.kind == Slot::dynamic;
    if (node().bodies.empty()) {  // with bodies, only the last one counts: Loop asks how large an output may become
      check_allocation(output, dynamic ? declared.at(output) : planned.info.shape, dims);
      if (std::exchange(allocated_[output], true)) throw_user("the kernel allocates output ", output, " a second time");
    }
    if (t.data && t.rank == static_cast<int32_t>(dims.size()) && std::equal(dims.begin(), dims.end(), t.dims)) return;
    if (!dynamic) throw_internal("expected output ", output, " of shape ", dims_of(t), ", got ", dims);
    if (type_of(t) == DType::undefined) throw_user("the type of output ", output, " is unknown");
    e_.make_dynamic(slot, {type_of(t), Shape::of(dims)});
    if (zeroes) clear_memory(e_.raw_[slot]);
  }
  void parallel_for(int64_t count, int64_t grain, void (*body)(void*, int64_t, int64_t), void* arg) override {
    ThreadPool::shared().parallel_for(count, grain, body, arg, e_.program_.options().threads);
  }
  void run_body(size_t index, const graft_tensor* const* parameters, const graft_tensor** results) override {
    const Node& node = e_.plan_->graph[e_.plan_->steps[step_].node];
    if (index >= node.bodies.size()) throw_user("there is no body ", index);
    std::unique_ptr<BodyRun>& run = e_.bodies_[{e_.plan_->steps[step_].node, index}];
    const Graph& body = *node.bodies[index].graph;
    if (!run) {
      // One that does not compile is tried again by the next run.
      CompileOptions options = e_.program_.options();
      options.body = true;
      auto fresh = std::make_unique<BodyRun>();
      fresh->program =
          std::make_unique<HostProgram>(body.clone(), e_.program_.registry(), e_.program_.devices(), options);
      fresh->execution = fresh->program->create_execution();
      fresh->execution->scope = body_scope(node_path(e_.scope, node), index);
      run = std::move(fresh);
    }
    std::vector<Tensor> in, out;
    for (size_t i = 0; i < body.parameters().size(); ++i) {
      if (!parameters[i]) throw_user("parameter ", i, " of a body is absent");
      in.push_back(Tensor::wrap(type_of(*parameters[i]), dims_of(*parameters[i]), parameters[i]->data));
      check_parameter(body, i, in.back().info());
    }
    std::swap(run->execution->variables, e_.variables);
    try {
      run->execution->run(in, out, e_.cancel_);
    } catch (...) {
      std::swap(run->execution->variables, e_.variables);
      throw;
    }
    std::swap(run->execution->variables, e_.variables);
    for (size_t i = 0; i < out.size(); ++i) {
      kept_.push_back(std::move(out[i]));
      results[i] = kept_.back().raw();
    }
  }
  void release_tensor(const graft_tensor* t) override {
    // Strings stay: a loop has collected references to them.
    std::erase_if(kept_, [&](const Tensor& k) { return k.raw() == t && k.type() != DType::string; });
  }
  void store_text(graft_tensor* t, int64_t index, std::string_view s) override {
    if (!t->dims && !t->data) throw_user("the output has no memory yet: allocate it before storing strings");
    int64_t n = 1;
    for (int32_t i = 0; i < t->rank; ++i) n *= t->dims[i];
    if (t->type != GRAFT_STRING || index < 0 || index >= n)
      throw_user("there is no string element ", index, " in this output");
    static_cast<graft_str*>(t->data)[index] = e_.keep_text(s);
  }
  bool cancelled() override { return e_.cancel_ && e_.cancel_->load(std::memory_order_relaxed); }
  const graft_tensor* variable(std::string_view id) override {
    const Tensor* t = e_.variables.find(e_.scope, node(), id);
    return t ? t->raw() : nullptr;
  }
  void set_variable(std::string_view id, const graft_tensor& value) override {
    e_.variables.set(e_.scope, node(), id, Tensor::wrap(type_of(value), dims_of(value), value.data).clone());
  }
  std::shared_ptr<void>* object(std::string_view id) override { return &e_.variables.object(e_.scope, node(), id); }
  void begin(size_t outputs) { allocated_.assign(outputs, 0); }
  void reset() { kept_.clear(); }

  std::vector<Shape> declared;  // per output, if their shapes are known at run time only
  bool zeroes = false;          // an extension's kernel, which may not write all of an output

 private:
  const Node& node() const { return e_.plan_->graph[e_.plan_->steps[step_].node]; }

  HostExecution& e_;
  size_t step_;
  std::vector<char> allocated_;  // per output
  std::deque<Tensor> kept_;
};

struct HostExecution::Call {
  Call(HostExecution& e, size_t step) : runner(e, step) {}
  graft_call call{};
  std::vector<const graft_tensor*> inputs;
  std::vector<graft_tensor*> outputs;
  Runner runner;
  bool dynamic = false;
  bool empty = false;  // no output has an element: nothing to compute
  // For a step decided at run time: the last kernel, and the input shapes it was chosen for.
  std::vector<std::optional<Info>> chosen_for;
  PreparedKernel chosen;
  std::shared_ptr<void> scratch;
  RunningKernel running;

  void use(const Node& node, const OpDef& op, const PreparedKernel& k) {
    if (k) running = {node.name, node.type, view(k.kernel->name), k.source->short_title()};
    runner.zeroes = may_leave_memory(op, k);
  }
  // What an operation in place overwrites is its input.
  void clear_outputs() const {
    for (size_t o = 0; o < outputs.size(); ++o) {
      auto same = [&](const graft_tensor* in) { return in && in->data == outputs[o]->data; };
      if (call.used[o] && std::none_of(inputs.begin(), inputs.end(), same)) clear_memory(*outputs[o]);
    }
  }
};

HostExecution::HostExecution(HostProgram& program) : program_(program) {}
HostExecution::~HostExecution() = default;

void HostExecution::bind(std::shared_ptr<const Plan> plan) {
  if (plan == plan_) return;
  plan_ = std::move(plan);
  calls_.clear();
  bodies_.clear();
  if (arena_bytes_ < plan_->arena_bytes) {
    arena_.reset();
    arena_ = allocate_aligned(plan_->arena_bytes);
    arena_bytes_ = plan_->arena_bytes;
  }
  raw_.assign(plan_->slots.size(), {});
  held_.assign(plan_->slots.size(), {});
  views_.assign(plan_->inputs.size() + plan_->results.size(), {});
  dying_.assign(plan_->steps.size() + 1, {});
  for (uint32_t i = 0; i < plan_->slots.size(); ++i) {
    const Slot& s = plan_->slots[i];
    raw_[i] = {sizeof(graft_tensor),
               static_cast<graft_type>(s.info.type),
               static_cast<int32_t>(s.dims.size()),
               static_cast<int32_t>(s.layout),
               s.dims.data(),
               nullptr,
               nullptr};
    switch (s.kind) {
      case Slot::arena: raw_[i].data = static_cast<char*>(arena_.get()) + s.offset; break;
      case Slot::constant:
        if (const Tensor& t = plan_->constants[s.index]) raw_[i].data = const_cast<void*>(t.data());
        break;
      case Slot::input: views_[s.index].push_back(i); break;
      case Slot::output: views_[plan_->inputs.size() + s.index].push_back(i); break;
      case Slot::dynamic: dying_[s.last_step].push_back(i); break;
    }
  }
  for (size_t i = 0; i < plan_->steps.size(); ++i) {
    const Step& s = plan_->steps[i];
    Call& c = calls_.emplace_back(*this, i);
    for (uint32_t in : s.inputs) c.inputs.push_back(in == no_slot ? nullptr : &raw_[in]);
    for (uint32_t out : s.outputs) {
      c.outputs.push_back(&raw_[out]);
      if (plan_->slots[out].kind == Slot::dynamic) c.dynamic = true;
    }
    c.dynamic = c.dynamic || !s.kernel;
    c.use(plan_->graph[s.node], *s.op, s.kernel);
    c.empty = !c.dynamic && without_elements(s, c.outputs);
    c.call = {sizeof(graft_call),
              static_cast<uint32_t>(c.inputs.size()),
              static_cast<uint32_t>(c.outputs.size()),
              0,
              c.inputs.data(),
              c.outputs.data(),
              s.kernel.state(),
              s.kernel.scratch_bytes ? static_cast<char*>(arena_.get()) + s.scratch_offset : nullptr,
              s.kernel ? s.kernel.kernel->user : nullptr,
              &c.runner,
              s.used.data()};
  }
  if (program_.options().profile) {
    for (const Step& s : plan_->steps) {
      const Node& n = plan_->graph[s.node];
      if (profile_index_.emplace(n.name, profile_.size()).second)
        profile_.push_back({n.name, n.type, s.kernel ? std::string(view(s.kernel.kernel->name)) : "run time", 0, 0});
    }
  }
}

graft_str HostExecution::keep_text(std::string_view s) {
  check_texts(program_.options().limits.value_bytes, text_bytes_ += s.size() + sizeof(std::string));
  return str(texts_.emplace_back(s));
}

void HostExecution::make_dynamic(uint32_t slot, const Info& info) {
  check_dynamic(program_.options().limits.value_bytes, info.type, info.shape.values());
  held_[slot] = Tensor(info.type, info.shape.values());
  raw_[slot] = *held_[slot].raw();
}

void HostExecution::run(std::span<const Tensor> inputs, std::vector<Tensor>& outputs, const std::atomic<bool>* cancel) {
  std::vector<Info> infos;
  std::vector<Tensor> aligned(inputs.begin(), inputs.end());
  for (Tensor& t : aligned) {
    if (!is_aligned(t)) t = t.clone();
    infos.push_back(t.info());
  }
  bind(program_.plan_for(infos));
  cancel_ = cancel;
  texts_.clear(), text_bytes_ = 0;
  for (size_t i = 0; i < aligned.size(); ++i)
    for (uint32_t slot : views_[i]) raw_[slot].data = aligned[i].data();
  outputs.resize(plan_->results.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Slot& s = plan_->slots[plan_->results[i]];
    if (s.kind != Slot::output || s.index != i) continue;
    if (!outputs[i] || outputs[i].type() != s.info.type || outputs[i].dims() != s.dims)
      outputs[i] = Tensor(s.info.type, s.dims);
    for (uint32_t slot : views_[plan_->inputs.size() + i]) raw_[slot].data = outputs[i].data();
  }

  for (size_t i = 0; i < plan_->steps.size(); ++i) {
    if (cancel && cancel->load(std::memory_order_relaxed))
      throw Error(ErrorKind::cancelled, "the request was cancelled");
    run_step(i, cancel);
  }

  for (size_t i = 0; i < outputs.size(); ++i) {
    uint32_t slot = plan_->results[i];
    const Slot& s = plan_->slots[slot];
    if (s.kind == Slot::output && s.index == i) continue;
    if (s.kind == Slot::dynamic && type_of(raw_[slot]) != DType::string) {
      outputs[i] = held_[slot];
      continue;
    }
    // An input, a constant, a value in the arena, or one that is returned twice: give the caller a copy.
    Tensor from = Tensor::wrap(type_of(raw_[slot]), dims_of(raw_[slot]), raw_[slot].data);
    bool fits = outputs[i] && outputs[i].type() == from.type() && outputs[i].dims() == from.dims() &&
                from.type() != DType::string;
    if (fits) convert(*from.raw(), *outputs[i].raw_mutable());
    else check_texts(program_.options().limits.value_bytes, bytes_of_texts(from)), outputs[i] = from.clone();
  }
  for (uint32_t slot : dying_.back()) held_[slot] = Tensor();
  cancel_ = nullptr;
}

namespace {
std::string running(const Node& node, const PreparedKernel& kernel) {
  std::string what = text("running ", describe(node));
  if (kernel && !kernel.source->built_in())
    what += text(", kernel '", kernel.kernel->name, "' of ", kernel.source->short_title());
  return what;
}
}  // namespace

void HostExecution::run_step(size_t index, const std::atomic<bool>*) {
  const Step& s = plan_->steps[index];
  Call& c = calls_[index];
  bool profile = program_.options().profile;
  std::chrono::steady_clock::time_point start;
  if (profile) start = std::chrono::steady_clock::now();
  if (!c.dynamic) {
    c.runner.begin(s.outputs.size());
    if (c.runner.zeroes && !c.empty) c.clear_outputs();
    NowRunning now(&c.running);
    graft_status status = c.empty ? GRAFT_OK : s.kernel.kernel->run(&c.call);
    release_bodies(s, c, status);
    if (status != GRAFT_OK || callback_failed())
      with_context([&] { check_call(status, c.runner); }, [&] { return running(plan_->graph[s.node], s.kernel); });
  } else {
    with_context([&] { run_dynamic(index); },
                 [&] { return running(plan_->graph[s.node], s.kernel ? s.kernel : c.chosen); });
    for (uint32_t slot : dying_[index]) held_[slot] = Tensor();
  }
  if (profile) {
    std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    ProfileEntry& e = profile_[profile_index_[plan_->graph[s.node].name]];
    e.microseconds += took.count();
    ++e.calls;
  }
}

// The results of bodies end with the step; strings among its outputs still point into them.
void HostExecution::release_bodies(const Step& step, Call& call, graft_status status) {
  if (plan_->graph[step.node].bodies.empty()) return;
  for (size_t o = 0; o < call.outputs.size() && status == GRAFT_OK; ++o) {
    graft_tensor* t = call.outputs[o];
    if (t->type != GRAFT_STRING || !t->data || !step.used[o]) continue;
    auto* texts = static_cast<graft_str*>(t->data);
    for (int64_t i = 0, n = count_checked(dims_of(*t)); i < n; ++i) texts[i] = keep_text(view(texts[i]));
  }
  call.runner.reset();
}

// A step with data-dependent output shapes, or whose kernel is chosen only at run time.
void HostExecution::run_dynamic(size_t index) {
  const Step& s = plan_->steps[index];
  const Node& node = plan_->graph[s.node];
  Call& c = calls_[index];
  std::vector<std::optional<Info>> infos;
  std::vector<Tensor> values;
  for (const graft_tensor* t : c.inputs) {
    values.push_back(t ? Tensor::wrap(type_of(*t), dims_of(*t), t->data) : Tensor());
    infos.push_back(t ? std::optional(values.back().info()) : std::nullopt);
  }
  NodeContext context(node, infos);
  if (node.bodies.empty()) {
    context.constants = [&](size_t i) -> const Tensor* { return values[i] ? &values[i] : nullptr; };
    infer_outputs(program_.registry(), *s.op, context);
    if (context.outputs.size() < s.outputs.size())
      throw_user("expected ", context.outputs.size(), " outputs for these inputs, got ", s.outputs.size());
  } else {
    for (const Output& o : node.outputs) context.outputs.push_back(o.info);
  }
  c.runner.declared.assign(s.outputs.size(), Shape::unknown());
  for (size_t i = 0; i < s.outputs.size(); ++i) {
    uint32_t slot = s.outputs[i];
    if (!context.outputs[i]) continue;
    const Info& info = *context.outputs[i];
    c.runner.declared[i] = info.shape;
    if (const Slot& planned = plan_->slots[slot]; planned.kind != Slot::dynamic) {
      if (!s.kernel && info != planned.info) throw_user("expected output ", i, " of ", planned.info, ", got ", info);
      continue;
    }
    if (info.shape.is_static() && info.type != DType::undefined && node.bodies.empty()) make_dynamic(slot, info);
    else
      held_[slot] = Tensor(),
      raw_[slot] = {sizeof(graft_tensor), static_cast<graft_type>(info.type), 0, 0, nullptr, nullptr, nullptr};
  }
  if (without_elements(s, c.outputs)) return;
  PreparedKernel kernel = s.kernel;
  if (!kernel) {
    // Prepared for these shapes; it may depend on constants of the plan, but not on this run's data.
    if (!c.chosen || c.chosen_for != infos) {
      context.constants = [&](size_t i) -> const Tensor* {
        uint32_t slot = s.inputs[i];
        return slot != no_slot && plan_->slots[slot].kind == Slot::constant ? &values[i] : nullptr;
      };
      context.bodies = [&](size_t i, const std::vector<Info>& parameters) {
        return Inference::results_of(program_.registry(), *node.bodies[i].graph, parameters, program_.options().limits);
      };
      c.chosen = choose_kernel(program_.kernels(), *s.op, plan_->graph, s.node, context);
      c.chosen_for = infos;
      c.scratch = c.chosen.scratch_bytes ? allocate_aligned(c.chosen.scratch_bytes) : nullptr;
      c.call.state = c.chosen.state();
      c.call.scratch = c.scratch.get();
      c.call.user = c.chosen.kernel->user;
      c.use(node, *s.op, c.chosen);
    }
    kernel = c.chosen;
  }
  c.runner.begin(s.outputs.size());
  if (c.runner.zeroes) c.clear_outputs();
  graft_status status = GRAFT_OK;
  {
    NowRunning now(&c.running);
    status = kernel.kernel->run(&c.call);
  }
  release_bodies(s, c, status);
  check_call(status, c.runner);
  for (size_t i = 0; i < s.outputs.size(); ++i) {
    uint32_t slot = s.outputs[i];
    if (plan_->slots[slot].kind != Slot::dynamic) continue;
    if (s.used[i] && !held_[slot])
      throw_user("output ", i,
                 " was never allocated: the kernel calls allocate for an output with a data-dependent shape");
    if (!node.bodies.empty() && held_[slot]) check_allocation(i, c.runner.declared[i], held_[slot].dims());
  }
}

std::vector<ProfileEntry> HostExecution::profile() const { return profile_; }

}  // namespace graft
