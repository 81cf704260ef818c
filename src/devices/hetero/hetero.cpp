#include "devices/hetero/hetero.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/streams.hpp"
#include "base/tensor.hpp"
#include "base/text.hpp"
#include "devices/hetero/split.hpp"
#include "runtime/explanation.hpp"
#include "schema/resolve.hpp"

namespace graft {
namespace {

// A part with its program. Values of the whole graph are numbered: its parameters first, then the outputs of all parts.
struct CompiledPart {
  std::shared_ptr<const Device> device;
  size_t lane = 0, phase = 0;  // a lane runs the parts of one device, one after another
  std::unique_ptr<Program> program;
  std::vector<NodeId> nodes;  // of the whole graph, like the values
  std::vector<ValueId> inputs, outputs;
  std::vector<size_t> input_values, output_values;
  std::vector<size_t> after;  // parts that must have run
  bool has_state = false;     // may use variables: runs alone among such parts
};

// A result of the model: a computed value, or a parameter or constant that is given back.
struct ModelResult {
  ValueId from;
  size_t value = SIZE_MAX;  // of a parameter or part
  Tensor constant;
};

bool may_have_state(const Graph& g, const Registry& registry) {
  for (NodeId id : g.topological_order()) {
    if (is_free(g[id])) continue;
    if (!definition(registry, g[id]).has(GRAFT_OP_PURE)) return true;
    for (const Body& b : g[id].bodies)
      if (may_have_state(*b.graph, registry)) return true;
  }
  return false;
}

// Kernels that the user has named, and that did not take a node.
void report_passed_over(const Graph& g, const Registry& registry, const DeviceList& devices,
                        const std::vector<Assignment>& assigned) {
  for (NodeId id : g.topological_order()) {
    if (assigned[id].declined.empty()) continue;
    const OpDef& op = definition(registry, g[id]);
    for (size_t d = 0; d < assigned[id].device; ++d)
      for (const SourceKernelDef& k : registry.source_kernels(op, devices[d]->name()))
        if (k.record->flags & GRAFT_SOURCE_KERNEL_CONFIGURED)
          log_warning("the custom layer of '", k.source->title(), "' is not used for ", describe(g[id]), ": ",
                      assigned[id].declined);
  }
}

class HeteroProgram final : public Program {
 public:
  HeteroProgram(Graph graph, const Registry& registry, const DeviceList& devices, const CompileOptions& options);
  std::unique_ptr<Execution> create_execution() override;
  Explanation explain(const std::vector<Info>& inputs) override;

  const std::vector<CompiledPart>& parts() const { return parts_; }
  const std::vector<ModelResult>& results() const { return results_; }
  size_t value_count() const { return values_.size(); }
  size_t lane_count() const { return lane_count_; }

 private:
  void compile(GraphPart part, const DeviceList& devices, const CompileOptions& options);
  void number(CompiledPart& part);
  void order();
  Explanation explain_part(CompiledPart& part, const Graph& g);
  void add_crossings(Explanation& e, const Graph& g) const;

  Graph graph_;  // the whole one, after passes
  const Registry& registry_;
  Limits limits_;
  std::vector<CompiledPart> parts_;  // by phase
  std::vector<ModelResult> results_;
  std::map<ValueId, size_t> values_;
  std::map<ValueId, size_t> part_of_;  // the part that computes a value
  size_t lane_count_ = 1;
};

// ---- running ----

class HeteroExecution final : public Execution {
 public:
  explicit HeteroExecution(HeteroProgram& program) : program_(program), values_(program.value_count()) {
    for (const CompiledPart& p : program.parts()) executions_.push_back(p.program->create_execution());
    if (program.lane_count() > 1) lanes_ = std::make_unique<Streams>(static_cast<int>(program.lane_count() - 1));
  }

  void run(std::span<const Tensor> inputs, std::vector<Tensor>& outputs, const std::atomic<bool>* cancel) override {
    const std::vector<ModelResult>& results = program_.results();
    outputs.resize(results.size());
    std::copy(inputs.begin(), inputs.end(), values_.begin());
    given_.assign(values_.size(), SIZE_MAX);
    // The caller's memory is used for the results; of two results that are the same value, the second is a copy.
    for (size_t i = results.size(); i-- > 0;)
      if (results[i].value != SIZE_MAX && results[i].value >= inputs.size()) given_[results[i].value] = i;
    for (size_t v = inputs.size(); v < values_.size(); ++v)
      if (given_[v] != SIZE_MAX) values_[v] = outputs[given_[v]];
    run_parts(cancel);
    for (size_t i = 0; i < results.size(); ++i) {
      const Tensor& from = results[i].constant ? results[i].constant : values_[results[i].value];
      if (!results[i].constant && given_[results[i].value] == i) outputs[i] = from;
      else copy(from, outputs[i]);
    }
    // Inputs and results belong to the caller; what is in between stays for the next run.
    for (size_t v = 0; v < values_.size(); ++v)
      if (v < inputs.size() || given_[v] != SIZE_MAX) values_[v] = Tensor();
  }

  // Parts whose operations are not declared to have state use variables of their own.
  void reset_state() override {
    Execution::reset_state();
    for (const auto& e : executions_) e->reset_state();
  }

  std::vector<ProfileEntry> profile() const override {
    std::vector<ProfileEntry> out;
    for (const auto& e : executions_)
      for (ProfileEntry& entry : e->profile()) out.push_back(std::move(entry));
    return out;
  }

 private:
  static void copy(const Tensor& from, Tensor& to) {
    bool fits = to && to.type() == from.type() && to.dims() == from.dims() && from.type() != DType::string;
    if (fits) std::memcpy(to.data(), from.data(), from.bytes());
    else to = from.clone();
  }

  void run_part(size_t index, const std::atomic<bool>* cancel) {
    const CompiledPart& p = program_.parts()[index];
    if (cancel && cancel->load(std::memory_order_relaxed))
      throw Error(ErrorKind::cancelled, "the request was cancelled");
    std::vector<Tensor> in, out;
    for (size_t v : p.input_values) in.push_back(values_[v]);
    for (size_t v : p.output_values) out.push_back(std::move(values_[v]));
    struct Lent {  // the variables of the request, while a part runs
      Execution *request, *part;
      explicit Lent(Execution* r, Execution* p) : request(r), part(p) {
        std::swap(request->variables, part->variables);
      }
      ~Lent() { std::swap(request->variables, part->variables); }
    };
    std::optional<Lent> lent;
    if (p.has_state) lent.emplace(this, executions_[index].get());
    with_context([&] { executions_[index]->run(in, out, cancel); },
                 [&] { return text("running part ", index, " on ", p.device->name()); });
    for (size_t i = 0; i < out.size(); ++i) values_[p.output_values[i]] = std::move(out[i]);
  }

  void run_parts(const std::atomic<bool>* cancel) {
    size_t count = program_.parts().size();
    if (!lanes_) {
      for (size_t i = 0; i < count; ++i) run_part(i, cancel);
      return;
    }
    // Parts of a lane run in the order of their phases, so that the lane that waits is never waited for.
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<bool> done(count, false);
    std::exception_ptr error;
    size_t running = program_.lane_count() - 1;
    auto lane = [&](size_t which) {
      for (size_t i = 0; i < count; ++i) {
        const CompiledPart& p = program_.parts()[i];
        if (p.lane != which) continue;
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] {
          return error || std::all_of(p.after.begin(), p.after.end(), [&](size_t a) { return done[a]; });
        });
        if (error) return;
        lock.unlock();
        std::exception_ptr thrown;
        try {
          run_part(i, cancel);
        } catch (...) {
          thrown = std::current_exception();
        }
        lock.lock();
        done[i] = true;
        if (thrown && !error) error = thrown;
        changed.notify_all();
      }
    };
    for (size_t l = 1; l < program_.lane_count(); ++l) try {
        lanes_->post([&, l] {
          lane(l);
          std::lock_guard lock(mutex);
          --running;
          changed.notify_all();
        });
      } catch (...) {  // no thread could be started; those that run need this frame
        std::lock_guard lock(mutex);
        error = std::current_exception();
        running -= program_.lane_count() - l;
        changed.notify_all();
        break;
      }
    lane(0);
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return running == 0; });
    if (error) std::rethrow_exception(error);
  }

  HeteroProgram& program_;
  std::vector<std::unique_ptr<Execution>> executions_;  // per part
  std::vector<Tensor> values_;
  std::vector<size_t> given_;  // per value: the result that it is
  std::unique_ptr<Streams> lanes_;
};

// ---- compiling ----

HeteroProgram::HeteroProgram(Graph graph, const Registry& registry, const DeviceList& devices,
                             const CompileOptions& options)
    : graph_(std::move(graph)), registry_(registry), limits_(options.limits) {
  optimize_whole(graph_, devices, options);
  std::vector<Assignment> assigned = assign_devices(graph_, registry, devices, options);
  require_assigned(graph_, devices, assigned);
  report_passed_over(graph_, registry, devices, assigned);
  std::vector<size_t> device_of;
  for (const Assignment& a : assigned) device_of.push_back(a.device);

  Inference inference(registry, graph_, options.limits);
  inference.infer_all();
  for (NodeId id : graph_.parameters()) values_.emplace(ValueId{id, 0}, values_.size());
  for (GraphPart& part : split_graph(graph_, device_of, inference)) compile(std::move(part), devices, options);
  order();
  for (NodeId id : graph_.results()) {
    ModelResult r{graph_[id].inputs[0], SIZE_MAX, {}};
    if (graph_[r.from.node].is("Constant")) r.constant = graph_[r.from.node].attrs.find("value")->as<Tensor>();
    else r.value = values_.at(r.from);
    results_.push_back(std::move(r));
  }
}

void HeteroProgram::compile(GraphPart part, const DeviceList& devices, const CompileOptions& options) {
  CompiledPart p;
  p.device = devices[part.device];
  p.lane = part.device, p.phase = part.phase;
  p.nodes = std::move(part.nodes), p.inputs = std::move(part.inputs), p.outputs = std::move(part.outputs);
  p.has_state = may_have_state(part.graph, registry_);
  CompileOptions how = options;
  how.affinities.clear(), how.optimize = {};
  for (ValueId v : p.inputs) how.body |= !graph_[v.node].is("Parameter") && !graph_.info(v).shape.is_static();
  with_context(
      [&] {
        if (options.optimize && p.device->wants_passes()) options.optimize(part.graph, p.device.get(), {});
        p.program = p.device->compile(std::move(part.graph), registry_, how);
      },
      [&] { return text("compiling part ", parts_.size(), " for ", p.device->name()); });
  number(p);
  parts_.push_back(std::move(p));
}

void HeteroProgram::number(CompiledPart& p) {
  for (ValueId v : p.outputs) {
    p.output_values.push_back(values_.size());
    values_.emplace(v, values_.size());
    part_of_[v] = parts_.size();
  }
  for (ValueId v : p.inputs) {
    p.input_values.push_back(values_.at(v));
    if (auto it = part_of_.find(v); it != part_of_.end()) p.after.push_back(it->second);
  }
}

// Lanes, and the order of parts with state. If no phase has two parts, each part needs the one before, and one lane is
// enough.
void HeteroProgram::order() {
  bool overlap = false;
  std::map<size_t, size_t> lanes;
  size_t last = SIZE_MAX;
  for (size_t i = 0; i < parts_.size(); ++i) {
    overlap |= i > 0 && parts_[i].phase == parts_[i - 1].phase;
    parts_[i].lane = lanes.try_emplace(parts_[i].lane, lanes.size()).first->second;
    if (!parts_[i].has_state) continue;
    if (last != SIZE_MAX) parts_[i].after.push_back(last);
    last = i;
  }
  lane_count_ = overlap ? lanes.size() : 1;
  if (!overlap)
    for (CompiledPart& p : parts_) p.lane = 0;
}

std::unique_ptr<Execution> HeteroProgram::create_execution() { return std::make_unique<HeteroExecution>(*this); }

// ---- explaining ----

Explanation HeteroProgram::explain_part(CompiledPart& part, const Graph& g) {
  std::vector<Info> infos;
  bool known = true;
  for (ValueId v : part.inputs) {
    infos.push_back(g.info(v));
    known &= infos.back().shape.is_static() && infos.back().type != DType::undefined;
  }
  if (known) return part.program->explain(infos);
  Explanation e;
  for (NodeId id : part.nodes) {
    const Node& n = g[id];
    Choice c{.node = n.name, .type = n.type, .opset = n.opset, .note = "decided at run time"};
    for (ValueId v : n.inputs) {
      c.inputs.push_back(v.present() ? g.info(v) : Info{});
      c.producers.push_back(v.present() ? g[v.node].name : "");
    }
    for (const Output& o : n.outputs) c.outputs.push_back(o.info);
    e.choices.push_back(std::move(c));
  }
  return e;
}

Explanation HeteroProgram::explain(const std::vector<Info>& inputs) {
  Graph g = graph_.clone();
  for (size_t i = 0; i < inputs.size(); ++i) {
    g[g.parameters()[i]].attrs["shape"] = inputs[i].shape;
    g[g.parameters()[i]].attrs["element_type"] = inputs[i].type;
  }
  Inference(registry_, g, limits_).infer_all();
  Explanation out;
  std::map<ValueId, std::string> computed_by;  // the nodes that really run, which passes may have renamed
  for (size_t p = 0; p < parts_.size(); ++p) {
    CompiledPart& part = parts_[p];
    Explanation e = explain_part(part, g);
    std::map<std::string, std::string> names;
    for (size_t i = 0; i < part.inputs.size() && i < e.inputs.size(); ++i)
      if (auto it = computed_by.find(part.inputs[i]); it != computed_by.end()) names[e.inputs[i]] = it->second;
      else names[e.inputs[i]] = g[part.inputs[i].node].name;
    for (size_t i = 0; i < part.outputs.size() && i < e.results.size(); ++i)
      computed_by[part.outputs[i]] = e.results[i].second;
    out.parts.push_back({part.device->name(), part.phase, e.choices.size()});
    for (Choice& c : e.choices) {
      c.part = p;
      for (std::string& name : c.producers)
        if (auto it = names.find(name); it != names.end()) name = it->second;
      out.choices.push_back(std::move(c));
    }
    out.arena_bytes += e.arena_bytes, out.unshared_bytes += e.unshared_bytes, out.constant_bytes += e.constant_bytes;
    out.plans_memory |= e.plans_memory;
  }
  add_ports(out, g);
  for (size_t i = 0; i < results_.size(); ++i)
    if (auto it = computed_by.find(results_[i].from); it != computed_by.end()) out.results[i].second = it->second;
  add_crossings(out, g);
  return out;
}

void HeteroProgram::add_crossings(Explanation& e, const Graph& g) const {
  for (size_t p = 0; p < parts_.size(); ++p)
    for (ValueId v : parts_[p].inputs) {
      auto from = part_of_.find(v);
      if (from == part_of_.end()) continue;
      const std::string& name = g[v.node].name;
      Crossing c{v.port ? text(name, ":", v.port) : name, from->second, p, g.info(v), {}, false};
      if (c.info.shape.is_static() && c.info.type != DType::undefined)
        c.bytes = bytes_for(c.info.type, count_checked(c.info.shape.values()));
      c.copied = !parts_[p].device->uses_host_memory() || !parts_[from->second].device->uses_host_memory();
      e.crossings.push_back(std::move(c));
    }
}

class HeteroDevice final : public Device {
 public:
  explicit HeteroDevice(DeviceList devices) : devices_(std::move(devices)) {}
  std::string name() const override { return hetero_device_name(devices_); }
  std::string description() const override { return "each operation on the first device of the list that supports it"; }
  bool wants_passes() const override { return false; }  // the parts are optimized, each for its device
  std::vector<Support> query(const Graph& graph, const Registry& registry,
                             const CompileOptions& options) const override {
    std::vector<Support> out;
    for (Assignment& a : assign_devices(graph, registry, devices_, options))
      out.push_back({a.device != no_device, std::move(a.reason)});
    for (NodeId id = 0; id < graph.end_id(); ++id)
      if (is_free(graph[id])) out[id].supported = true;
    return out;
  }
  std::unique_ptr<Program> compile(Graph graph, const Registry& registry,
                                   const CompileOptions& options) const override {
    return std::make_unique<HeteroProgram>(std::move(graph), registry, devices_, options);
  }

 private:
  DeviceList devices_;
};

}  // namespace

std::unique_ptr<Device> make_hetero_device(DeviceList devices) {
  return std::make_unique<HeteroDevice>(std::move(devices));
}

}  // namespace graft
