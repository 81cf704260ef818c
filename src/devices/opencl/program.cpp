#include "devices/opencl/program.hpp"

#include <algorithm>

#include "base/log.hpp"
#include "base/tensor.hpp"
#include "base/text.hpp"
#include "devices/opencl/execution.hpp"
#include "devices/opencl/fuse.hpp"
#include "graph/port_nodes.hpp"
#include "infer/decompose.hpp"
#include "schema/resolve.hpp"

namespace graft {
namespace {

// Where the compiler's messages point to a file of the user, they name it; this says what was being compiled.
template <class F>
auto compiling(const Node& node, const std::string& kernel, F&& body) {
  return with_context(std::forward<F>(body),
                      [&] { return text("compiling the kernel '", kernel, "' for ", describe(node)); });
}

// Kernels that the user has named, and that did not take a node.
void report_declined(const std::vector<SourceKernelDef>& kernels, const Choice& choice, const Node& node) {
  for (size_t i = 0; i < choice.declined.size() && i < kernels.size(); ++i)
    if (kernels[i].record->flags & GRAFT_SOURCE_KERNEL_CONFIGURED)
      log_warning("the custom layer of '", kernels[i].source->title(), "' is not used for ", describe(node), ": ",
                  choice.declined[i].second);
}

// Local memory that the source declares, and that of arguments.
void check_local_memory(const OpenclMachine& machine, cl::Kernel kernel, const OpenclLaunch& l, size_t most) {
  uint64_t bytes = 0;
  if (cl::api().get_work_group_info(kernel, machine.device(), cl::kernel_local_memory, sizeof bytes, &bytes, nullptr) !=
      cl::success)
    return;
  for (const graft_argument& a : l.arguments)
    if (a.kind == GRAFT_ARGUMENT_LOCAL) bytes += static_cast<uint64_t>(a.i);
  most = std::min(most, machine.local_memory());
  if (bytes > most)
    throw_user("the kernel '", l.entry, "' uses ", bytes, " bytes of local memory in a work group, expected at most ",
               most);
}

void check_kernel(const OpenclMachine& machine, const OpenclBinary& program, const OpenclLaunch& l, size_t most_local) {
  int32_t code = 0;
  cl::OwnedKernel kernel(cl::api().create_kernel(program.get(), l.entry.c_str(), &code));
  if (code == cl::invalid_kernel_name) throw_user("the source defines no kernel '", l.entry, "'");
  cl::check(code, text("creating the kernel '", l.entry, "'"));
  uint32_t count = 0;
  cl::check(cl::api().get_kernel_info(kernel.get(), cl::kernel_argument_count, sizeof count, &count, nullptr),
            "counting arguments");
  if (count != l.arguments.size())
    throw_user("the kernel '", l.entry, "' has ", count, " arguments, but ", l.arguments.size(), " are described");
  check_local_memory(machine, kernel.get(), l, most_local);
  size_t most = 0, items = 1;
  if (cl::api().get_work_group_info(kernel.get(), machine.device(), cl::kernel_work_group_size, sizeof most, &most,
                                    nullptr) != cl::success)
    return;
  for (size_t s : l.local) items *= s;
  if (!l.local.empty() && items > most)
    throw_user("the kernel '", l.entry, "' allows work groups of at most ", most, " items on ", machine.name(),
               ", got ", items);
}

}  // namespace

OpenclProgram::OpenclProgram(Graph graph, const Registry& registry, OpenclMachine& machine, const OpenclRules& rules,
                             CompileOptions options)
    : graph_(std::move(graph)),
      registry_(registry),
      machine_(machine),
      device_(rules.name),
      local_memory_(rules.local_memory),
      options_(options) {
  decompose(graph_, registry_, devices_);
  std::vector<Info> inputs;
  for (NodeId id : graph_.parameters()) inputs.push_back(graph_.info({id, 0}));
  for (const Info& i : inputs)
    if (!i.shape.is_static()) return;
  try {
    plan_for(inputs);
  } catch (const Error& e) {
    // The elements of small inputs may help when there are some.
    if (e.kind() != ErrorKind::unsupported || small_inputs(inputs).empty()) throw;
    log_info("planning for ", device_, " waits for the first inputs: ", e.message());
  }
}

std::unique_ptr<Execution> OpenclProgram::create_execution() { return std::make_unique<OpenclExecution>(*this); }

// Integers that may tell axes and sizes, by their position among the inputs.
std::vector<size_t> OpenclProgram::small_inputs(const std::vector<Info>& inputs) const {
  constexpr int64_t most = 64;
  std::vector<size_t> out;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (const Shape& s = inputs[i].shape;
        is_integer(inputs[i].type) && s.is_static() && s.rank() <= 1 && s.elements().value() <= most)
      out.push_back(i);
  return out;
}

std::shared_ptr<const OpenclPlan> OpenclProgram::plan_for(const std::vector<Info>& inputs,
                                                          std::span<const Tensor> values) {
  std::string small;
  if (!values.empty())
    for (size_t i : small_inputs(inputs)) small.append(static_cast<const char*>(values[i].data()), values[i].bytes());
  std::lock_guard lock(mutex_);
  bool by_value = false;
  for (auto it = plans_.begin(); it != plans_.end(); ++it) {
    if (it->inputs != inputs) continue;
    by_value = by_value || it->values.has_value();
    if (it->values && (values.empty() || *it->values != small)) continue;
    plans_.splice(plans_.begin(), plans_, it);
    return it->plan;
  }
  Kept kept{inputs, std::nullopt, nullptr};
  try {
    if (by_value && !values.empty()) throw_unsupported("the shapes depend on the elements of inputs");
    kept.plan = make_plan(graph_, inputs);
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::unsupported || values.empty() || small.empty()) throw;
    kept.plan = make_plan_of_values(inputs, values, e);
    kept.values = small;
  }
  plans_.push_front(kept);
  if (plans_.size() > kept_plans) plans_.pop_back();
  return kept.plan;
}

// With constants in the place of the small inputs.
std::shared_ptr<const OpenclPlan> OpenclProgram::make_plan_of_values(const std::vector<Info>& inputs,
                                                                     std::span<const Tensor> values,
                                                                     const Error& otherwise) {
  Graph g = graph_.clone();
  Users users(g);
  for (size_t i : small_inputs(inputs)) {
    NodeId parameter = g.parameters()[i];
    Node constant = constant_node(values[i].clone());
    constant.name = g.unique_name(g[parameter].name + "/value");
    constant.outputs.emplace_back().info = inputs[i];
    users.replace({parameter, 0}, {g.add(std::move(constant)), 0});
  }
  std::shared_ptr<const OpenclPlan> plan = make_plan(g, inputs);
  // Folding constants is no way to run a model here.
  if (plan->plan->steps.empty()) throw Error(otherwise);
  return plan;
}

// The stages of the runtime, with source kernels in the place of functions.
std::shared_ptr<const OpenclPlan> OpenclProgram::make_plan(const Graph& graph, const std::vector<Info>& inputs) {
  KernelSource kernels{registry_, devices_, packs_};
  Draft draft(graph.clone(), kernels, inputs, options_);
  for (const Info& i : inputs) check_element_type(machine_, i.type);
  std::vector<OpenclWork> works(draft.plan->graph.end_id());
  select_kernels(draft, [&](NodeId id) { works[id] = compute(draft, id); });
  make_steps(draft);
  fuse_formulas(*draft.plan, works, machine_.most_work_items());
  share_memory(*draft.plan);
  place_slots(*draft.plan, machine_.alignment());
  auto out = std::make_shared<OpenclPlan>();
  out->plan = draft.plan;
  build(*out, works);
  upload_constants(*out);
  return out;
}

OpenclWork OpenclProgram::compute(Draft& draft, NodeId id) {
  const Graph& g = draft.plan->graph;
  const Node& n = g[id];
  Work& w = draft.works[id];
  try {
    for (const Output& o : n.outputs)
      if (!o.info.shape.is_static()) throw_unsupported("data-dependent output shapes are not supported on ", device_);
    OpenclNode node{registry_, *w.op, g, id, [&](size_t i) -> const Tensor* {
                      const Tensor& copy = draft.value(n.inputs[i]).constant;
                      return copy ? &copy : draft.inference.constant(n.inputs[i]);
                    }};
    OpenclWork out = emit_node(machine_, device_, node, w.choice);
    report_declined(registry_.source_kernels(*w.op, device_), w.choice, n);
    w.kind = Work::kernel;
    w.inputs.assign(n.inputs.size(), Layout::plain);
    w.outputs.assign(n.outputs.size(), Layout::plain);
    w.prepared.scratch_bytes = out.scratch_bytes;
    w.may_overwrite = out.may_overwrite;
    return out;
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::unsupported || !e.hint().empty()) throw;
    throw Error(ErrorKind::unsupported, e.message(),
                text(Remedy{"device", "", text("HETERO:", device_, ",CPU")},
                     " runs such operations on the CPU; list them with ", Remedy{"Core::operations", device_, ""}));
  }
}

void OpenclProgram::build(OpenclPlan& out, std::vector<OpenclWork>& works) {
  for (const Step& s : out.plan->steps) {
    OpenclWork& w = works[s.node];
    std::vector<OpenclPlan::Launch>& launches = out.launches.emplace_back();
    const Node& n = out.plan->graph[s.node];
    for (OpenclLaunch& l : w.launches) {
      if (l.empty()) continue;
      compiling(n, l.entry, [&] {
        auto program = machine_.build(l.source, l.options);
        check_kernel(machine_, *program, l, local_memory_);
        launches.push_back({std::move(program), std::move(l)});
      });
    }
    out.scratch.push_back(std::move(w.scratch));
  }
}

void OpenclProgram::upload_constants(OpenclPlan& out) {
  const Plan& p = *out.plan;
  std::vector<bool> used(p.constants.size(), false);
  auto use = [&](uint32_t slot) {
    if (slot != no_slot && p.slots[slot].kind == Slot::constant) used[p.slots[slot].index] = true;
  };
  for (size_t i = 0; i < p.steps.size(); ++i)
    for (const OpenclPlan::Launch& l : out.launches[i])
      for (const graft_argument& a : l.what.arguments)
        if (a.kind == GRAFT_ARGUMENT_INPUT) use(p.steps[i].inputs[a.index]);
  out.constants.resize(p.constants.size());
  cl::OwnedQueue queue;
  std::erase_if(uploaded_, [](const auto& entry) { return entry.second.second.expired(); });
  for (size_t i = 0; i < p.constants.size(); ++i) {
    const Tensor& t = p.constants[i];
    if (!used[i]) continue;
    auto& [kept, known] = uploaded_[{t.data(), t.bytes()}];
    if (auto there = known.lock()) {
      out.constants[i] = there;
      continue;
    }
    if (!queue) queue = machine_.queue(false);
    auto memory = std::make_shared<cl::OwnedMem>(machine_.buffer(t.bytes()));
    if (t.bytes())
      cl::check(cl::api().write_buffer(queue.get(), memory->get(), 1, 0, t.bytes(), t.data(), 0, nullptr, nullptr),
                "uploading a constant");
    kept = t, known = memory;
    out.constants[i] = memory;
  }
}

}  // namespace graft
