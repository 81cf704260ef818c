#include "devices/opencl/execution.hpp"

#include "base/tensor.hpp"
#include "base/text.hpp"
#include "schema/resolve.hpp"

namespace graft {
namespace {

size_t bytes_of(const Slot& s) { return bytes_for(s.info.type, count_checked(s.dims)); }

}  // namespace

OpenclExecution::OpenclExecution(OpenclProgram& program)
    : program_(program),
      queue_(program.machine().queue(program.options().profile)),
      nothing_(program.machine().buffer(1)) {}

OpenclExecution::~OpenclExecution() { cl::api().finish(queue_.get()); }

void OpenclExecution::bind(std::shared_ptr<const OpenclPlan> plan) {
  if (plan == plan_) return;
  plan_.reset();
  calls_.clear(), places_.clear(), inputs_.clear(), outputs_.clear();
  const Plan& p = *plan->plan;
  const OpenclMachine& machine = program_.machine();
  for (uint32_t slot : p.inputs) inputs_.push_back(machine.buffer(bytes_of(p.slots[slot])));
  for (size_t i = 0; i < p.results.size(); ++i) {
    const Slot& s = p.slots[p.results[i]];
    outputs_.push_back(s.kind == Slot::output && s.index == i ? machine.buffer(bytes_of(s)) : nullptr);
  }
  plan_ = plan;
  try {
    make_places();
    for (size_t i = 0; i < plan->launches.size(); ++i)
      for (const OpenclPlan::Launch& l : plan->launches[i]) {
        int32_t code = 0;
        Call& c = calls_.emplace_back();
        c.kernel.reset(cl::api().create_kernel(l.program->get(), l.what.entry.c_str(), &code));
        cl::check(code, text("creating the kernel '", l.what.entry, "'"));
        c.what = &l.what, c.step = i;
        with_context([&] { set_arguments(c); }, [&] { return text("preparing ", describe(p.graph[p.steps[i].node])); });
      }
  } catch (...) {
    plan_.reset();
    throw;
  }
  if (!program_.options().profile) return;
  for (const Step& s : p.steps)
    if (const Node& n = p.graph[s.node]; profile_index_.emplace(n.name, profile_.size()).second) {
      std::string kernel;
      for (const Choice& c : p.explanation.choices)
        if (c.node == n.name) kernel = c.kernel;
      profile_.push_back({n.name, n.type, kernel, 0, 0});
    }
}

// What the plan places at one offset is never alive at the same time, and shares a buffer. Parts of one buffer would
// take less memory, but they overlap: NVIDIA's driver then crashes, or gives wrong results.
void OpenclExecution::make_places() {
  std::map<size_t, size_t> bytes;
  auto need = [&](size_t offset, size_t size) { bytes[offset] = std::max(bytes[offset], size); };
  const Plan& p = *plan_->plan;
  for (const Slot& s : p.slots)
    if (s.kind == Slot::arena) need(s.offset, bytes_of(s));
  for (size_t i = 0; i < p.steps.size(); ++i) {
    const std::vector<size_t>& offsets = plan_->scratch[i];
    for (size_t k = 0; k < offsets.size(); ++k) {
      size_t end = k + 1 < offsets.size() ? offsets[k + 1] : p.steps[i].kernel.scratch_bytes;
      need(p.steps[i].scratch_offset + offsets[k], end - offsets[k]);
    }
  }
  for (auto [offset, size] : bytes) places_[offset] = program_.machine().buffer(size);
}

cl::Mem OpenclExecution::memory(uint32_t slot) {
  const Slot& s = plan_->plan->slots[slot];
  if (bytes_of(s) == 0) return nothing_.get();
  switch (s.kind) {
    case Slot::arena: return places_.at(s.offset).get();
    case Slot::constant: return plan_->constants[s.index] ? plan_->constants[s.index]->get() : nullptr;
    case Slot::input: return inputs_[s.index].get();
    case Slot::output: return outputs_[s.index].get();
    case Slot::dynamic: break;
  }
  throw_internal("a value has no memory on the device");
}

void OpenclExecution::set_arguments(Call& call) {
  const Step& s = plan_->plan->steps[call.step];
  for (uint32_t i = 0; i < call.what->arguments.size(); ++i) {
    const graft_argument& a = call.what->arguments[i];
    int32_t code = 0;
    auto set = [&](const auto& value) { code = cl::api().set_argument(call.kernel.get(), i, sizeof value, &value); };
    switch (a.kind) {
      case GRAFT_ARGUMENT_INPUT: set(memory(s.inputs[a.index])); break;
      case GRAFT_ARGUMENT_OUTPUT: set(memory(s.outputs[a.index])); break;
      case GRAFT_ARGUMENT_SCRATCH: {
        const std::vector<size_t>& offsets = plan_->scratch[call.step];
        set(places_.at(s.scratch_offset + offsets[a.index]).get());
        break;
      }
      case GRAFT_ARGUMENT_LOCAL:
        code = cl::api().set_argument(call.kernel.get(), i, static_cast<size_t>(a.i), nullptr);
        break;
      case GRAFT_ARGUMENT_INT: set(static_cast<int32_t>(a.i)); break;
      case GRAFT_ARGUMENT_LONG: set(a.i); break;
      case GRAFT_ARGUMENT_FLOAT: set(static_cast<float>(a.f)); break;
    }
    if (code == cl::success) continue;
    if (call.what->custom)
      throw_user("argument ", i, " of the kernel '", call.what->entry,
                 "' has another type than described: ", cl::error_name(code));
    cl::check(code, text("setting argument ", i, " of the kernel '", call.what->entry, "'"));
  }
}

void OpenclExecution::launch(const Call& call) {
  const OpenclLaunch& l = *call.what;
  cl::Event event = nullptr;
  bool profile = program_.options().profile;
  int32_t code = cl::api().launch(queue_.get(), call.kernel.get(), static_cast<uint32_t>(l.global.size()), nullptr,
                                  l.global.data(), l.local.empty() ? nullptr : l.local.data(), 0, nullptr,
                                  profile ? &event : nullptr);
  if (event) events_.emplace_back(call.step, cl::OwnedEvent(event));
  const Plan& p = *plan_->plan;
  if (code != cl::success)
    with_context([&] { cl::check(code, text("starting the kernel '", l.entry, "'")); },
                 [&] { return text("running ", describe(p.graph[p.steps[call.step].node])); });
}

void OpenclExecution::read(uint32_t slot, Tensor& to) {
  const Slot& s = plan_->plan->slots[slot];
  if (!to || to.type() != s.info.type || to.dims() != s.dims) to = Tensor(s.info.type, s.dims);
  if (s.kind == Slot::constant) {
    const Tensor& from = plan_->plan->constants[s.index];
    to = from.clone().reshaped(s.dims);
    return;
  }
  if (to.bytes())
    cl::check(cl::api().read_buffer(queue_.get(), memory(slot), 0, 0, to.bytes(), to.data(), 0, nullptr, nullptr),
              "downloading a result");
}

void OpenclExecution::run(std::span<const Tensor> inputs, std::vector<Tensor>& outputs,
                          const std::atomic<bool>* cancel) {
  std::vector<Info> infos;
  for (const Tensor& t : inputs) infos.push_back(t.info());
  bind(program_.plan_for(infos, inputs));
  events_.clear();
  // Whatever happens, the device is done with the caller's memory when this returns.
  struct Finish {
    cl::Queue queue;
    ~Finish() { cl::api().finish(queue); }
  } at_end{queue_.get()};
  for (size_t i = 0; i < inputs.size(); ++i)
    if (size_t bytes = inputs[i].bytes())
      cl::check(
          cl::api().write_buffer(queue_.get(), inputs_[i].get(), 0, 0, bytes, inputs[i].data(), 0, nullptr, nullptr),
          "uploading an input");
  for (const Call& c : calls_) {
    if (cancel && cancel->load(std::memory_order_relaxed))
      throw Error(ErrorKind::cancelled, "the request was cancelled");
    launch(c);
  }
  outputs.resize(plan_->plan->results.size());
  for (size_t i = 0; i < outputs.size(); ++i) read(plan_->plan->results[i], outputs[i]);
  cl::check(cl::api().finish(queue_.get()), "running the model");
  if (program_.options().profile) add_profile();
}

void OpenclExecution::add_profile() {
  std::vector<bool> counted(profile_.size(), false);
  for (const auto& [step, event] : events_) {
    uint64_t start = 0, end = 0;
    cl::api().get_profile(event.get(), cl::profile_start, sizeof start, &start, nullptr);
    cl::api().get_profile(event.get(), cl::profile_end, sizeof end, &end, nullptr);
    const Plan& p = *plan_->plan;
    size_t at = profile_index_[p.graph[p.steps[step].node].name];
    profile_[at].microseconds += static_cast<double>(end - start) / 1000;
    if (!counted[at]) ++profile_[at].calls;
    counted[at] = true;
  }
}

}  // namespace graft
