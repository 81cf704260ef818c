#include "runtime/execution.hpp"

#include <algorithm>
#include <chrono>

#include "base/convert.hpp"
#include "base/tensor.hpp"
#include "infer/evaluate.hpp"
#include "schema/resolve.hpp"

namespace graft {

// The calls of a step, in the memory that the plan gives it.
struct HostExecution::Call final : KernelCall {
  Call(HostExecution& e, const Step& s) : KernelCall(e.plan_->graph[s.node], *s.op, e.request_), execution(e), step(s) {
    for (uint32_t in : s.inputs) inputs.push_back(in == no_slot ? nullptr : &e.raw_[in]);
    for (uint32_t out : s.outputs) {
      outputs.push_back(&e.raw_[out]);
      dynamic = dynamic || e.plan_->slots[out].kind == Slot::dynamic;
    }
    dynamic = dynamic || !s.kernel || !node_.bodies.empty();
    empty = !dynamic && is_empty();
    char* memory = s.kernel.scratch_bytes ? static_cast<char*>(e.arena_.get()) + s.scratch_offset : nullptr;
    if (s.kernel) use(s.kernel, memory, s.used);
  }
  const Node& node() const { return node_; }
  const Slot& slot(size_t output) const { return execution.plan_->slots[step.outputs[output]]; }
  const PreparedKernel& kernel() const { return step.kernel ? step.kernel : chosen; }

  void make(size_t output, const std::vector<int64_t>& dims) override {
    if (slot(output).kind != Slot::dynamic)
      throw_internal("expected output ", output, " of shape ", slot(output).dims, ", got ", dims);
    execution.make_dynamic(step.outputs[output], type_of(*outputs[output]), dims);
  }
  std::vector<Tensor> run_graph(size_t body, const std::vector<Tensor>& parameters) override {
    std::unique_ptr<HostExecution>& run = execution.bodies_[{step.node, body}];
    if (!run) {
      run = std::make_unique<HostExecution>(execution.program_.body(step.node, body));
      run->request_.scope = body_scope(node_path(request_.scope, node_), body);
    }
    run->request_.variables = request_.variables;
    std::vector<Tensor> out;
    run->run(parameters, out, request_.cancel);
    return out;
  }

  HostExecution& execution;
  const Step& step;
  bool dynamic = false;  // an output has a data-dependent shape, or the kernel is chosen only at run time
  bool empty = false;    // no output has an element: nothing to compute
  // For a step decided at run time: the last kernel, and the input shapes it was chosen for.
  std::vector<std::optional<Info>> chosen_for;
  PreparedKernel chosen;
  std::shared_ptr<void> scratch;
};

HostExecution::HostExecution(HostProgram& program) : program_(program) {
  request_.variables = &variables;
  request_.pool = &ThreadPool::shared();
  request_.threads = program.options().threads;
  request_.value_bytes = program.options().limits.value_bytes;
}
HostExecution::~HostExecution() = default;

void HostExecution::bind(std::shared_ptr<const Plan> plan) {
  if (plan == plan_) return;
  // Memory may run out; then no plan is bound.
  struct Binding {
    HostExecution& to;
    bool done = false;
    ~Binding() {
      if (!done) to.calls_.clear(), to.plan_.reset();
    }
  } binding{*this};
  calls_.clear();
  plan_ = std::move(plan);
  if (arena_bytes_ < plan_->arena_bytes) {
    arena_.reset();
    arena_bytes_ = 0;
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
  for (const Step& s : plan_->steps) calls_.emplace_back(*this, s);
  if (program_.options().profile) {
    for (const Step& s : plan_->steps) {
      const Node& n = plan_->graph[s.node];
      if (profile_index_.emplace(n.name, profile_.size()).second)
        profile_.push_back({n.name, n.type, s.kernel ? std::string(view(s.kernel.kernel->name)) : "run time", 0, 0});
    }
  }
  binding.done = true;
}

void HostExecution::make_dynamic(uint32_t slot, DType type, const std::vector<int64_t>& dims) {
  held_[slot] = Tensor(type, dims);
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
  request_.cancel = cancel;
  request_.forget_texts();
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
    run_step(i);
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
    Tensor from = as_tensor(raw_[slot]);
    bool fits = outputs[i] && outputs[i].type() == from.type() && outputs[i].dims() == from.dims() &&
                from.type() != DType::string;
    if (fits) convert(*from.raw(), *outputs[i].raw_mutable());
    else check_texts(request_.value_bytes, bytes_of_texts(from)), outputs[i] = from.clone();
  }
  for (uint32_t slot : dying_.back()) held_[slot] = Tensor();
  request_.cancel = nullptr;
}

namespace {
std::string running(const Node& node, const PreparedKernel& kernel) {
  std::string what = text("running ", describe(node));
  if (kernel && !kernel.source->built_in())
    what += text(", kernel '", kernel.kernel->name, "' of ", kernel.source->short_title());
  return what;
}
}  // namespace

void HostExecution::run_step(size_t index) {
  Call& c = calls_[index];
  bool profile = program_.options().profile;
  std::chrono::steady_clock::time_point start;
  if (profile) start = std::chrono::steady_clock::now();
  if (!c.dynamic) {
    graft_status status = c.empty ? GRAFT_OK : c.run();
    if (status != GRAFT_OK || callback_failed())
      with_context([&] { c.check(status); }, [&] { return running(c.node(), c.kernel()); });
  } else {
    with_context([&] { run_dynamic(index); }, [&] { return running(c.node(), c.kernel()); });
    for (uint32_t slot : dying_[index]) held_[slot] = Tensor();
  }
  if (profile) {
    std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    ProfileEntry& e = profile_[profile_index_[c.node().name]];
    e.microseconds += took.count();
    ++e.calls;
  }
}

// A step with data-dependent output shapes, or whose kernel is chosen only at run time.
void HostExecution::run_dynamic(size_t index) {
  Call& c = calls_[index];
  std::vector<Tensor> values;
  for (const graft_tensor* t : c.inputs) values.push_back(t ? as_tensor(*t) : Tensor());
  RunningNode context(program_.registry(), *c.step.op, c.node(), values, program_.options().limits);
  expect(c, context.outputs);
  if (c.is_empty()) return;
  if (!c.step.kernel) choose(c, context, values);
  graft_status status = c.run();
  if (status == GRAFT_OK && !c.node().bodies.empty()) c.release_bodies();
  c.check(status);
  c.check_outputs();
}

// Sets what the outputs of a step are declared to be in this run, and gives them memory where that is a shape.
void HostExecution::expect(Call& c, const std::vector<std::optional<Info>>& infos) {
  if (infos.size() < c.outputs.size())
    throw_user("expected ", infos.size(), " outputs for these inputs, got ", c.outputs.size());
  c.declared.assign(c.outputs.size(), Shape::unknown());
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    if (!infos[i]) continue;
    const Info& info = *infos[i];
    c.declared[i] = info.shape;
    if (const Slot& planned = c.slot(i); planned.kind != Slot::dynamic) {
      if (!c.step.kernel && info != planned.info)
        throw_user("expected output ", i, " of ", planned.info, ", got ", info);
      continue;
    }
    uint32_t slot = c.step.outputs[i];
    if (info.shape.is_static() && info.type != DType::undefined && c.node().bodies.empty()) {
      check_dynamic(request_.value_bytes, info.type, info.shape.values());
      make_dynamic(slot, info.type, info.shape.values());
    } else {
      held_[slot] = Tensor();
      raw_[slot] = without_memory(info.type);
    }
  }
}

// Prepared for these shapes; it may depend on constants of the plan, but not on this run's data.
void HostExecution::choose(Call& c, NodeContext& context, const std::vector<Tensor>& values) {
  if (c.chosen && c.chosen_for == context.inputs()) return;
  context.call_threads = request_.call_threads();
  context.constants = [&](size_t i) -> const Tensor* {
    uint32_t slot = c.step.inputs[i];
    return slot != no_slot && plan_->slots[slot].kind == Slot::constant ? &values[i] : nullptr;
  };
  c.chosen = choose_kernel(program_.kernels(), *c.step.op, plan_->graph, c.step.node, context);
  c.chosen_for = context.inputs();
  c.scratch = c.chosen.scratch_bytes ? allocate_aligned(c.chosen.scratch_bytes) : nullptr;
  c.use(c.chosen, c.scratch.get(), c.step.used);
}

std::vector<ProfileEntry> HostExecution::profile() const { return profile_; }

}  // namespace graft
