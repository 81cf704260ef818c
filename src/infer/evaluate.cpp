#include "infer/evaluate.hpp"

#include <chrono>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/running.hpp"
#include "base/tensor.hpp"
#include "infer/context.hpp"
#include "infer/decompose.hpp"
#include "infer/inference.hpp"
#include "infer/texts.hpp"
#include "schema/resolve.hpp"

namespace graft {
namespace {

// Strings that kernels store in string outputs; shared by all tensors of a run that point into it.
struct TextPool {
  std::deque<std::string> texts;
};

Tensor own(const graft_tensor& t) {
  return Tensor::wrap(static_cast<DType>(t.type), std::vector<int64_t>(t.dims, t.dims + t.rank), t.data).clone();
}

// What a kernel of an extension does not write is zero, not what was in that memory before.
Tensor make_output(const Evaluation& how, const OpDef& op, DType type, std::vector<int64_t> dims) {
  if (op.source->built_in()) return Tensor(type, std::move(dims));
  Tensor t = how.guard ? how.guard->make(type, dims) : Tensor(type, std::move(dims));
  if (t.bytes()) std::memset(t.data(), 0, t.bytes());
  return t;
}

class Runner final : public graft_runner {
 public:
  Runner(const Evaluation& how, const Node& node, const OpDef& op, const std::vector<std::optional<Info>>& declared,
         std::vector<Tensor>& outputs, std::vector<graft_tensor*>& raw)
      : how_(how), node_(node), op_(op), declared_(declared), outputs_(outputs), raw_(raw), allocated_(raw.size()) {}

  void allocate(size_t output, std::span<const int64_t> dims) override {
    if (output >= outputs_.size()) throw_user("there is no output ", output);
    if (!raw_[output]) return;
    int64_t count = count_checked(dims);
    DType type = static_cast<DType>(raw_[output]->type);
    if (node_.bodies.empty()) {  // with bodies, only the last one counts: Loop asks how large an output may become
      check_allocation(output, declared_[output]->shape, dims);
      if (std::exchange(allocated_[output], true)) throw_user("the kernel allocates output ", output, " a second time");
    }
    if (outputs_[output] &&
        std::equal(dims.begin(), dims.end(), outputs_[output].dims().begin(), outputs_[output].dims().end()))
      return;
    if (type == DType::undefined) throw_user("the type of output ", output, " is unknown");
    if (bytes_for(type, count) > how_.max_bytes)
      throw_unsupported("output ", output, " of shape ", dims, " is too large to be computed here");
    check_dynamic(how_.max_dynamic, type, dims);
    outputs_[output] = make_output(how_, op_, type, std::vector<int64_t>(dims.begin(), dims.end()));
    *raw_[output] = *outputs_[output].raw();
  }
  void parallel_for(int64_t count, int64_t grain, void (*body)(void*, int64_t, int64_t), void* arg) override {
    if (how_.pool) how_.pool->parallel_for(count, grain, body, arg);
    else if (count > 0) body(arg, 0, count);
  }
  void run_body(size_t index, const graft_tensor* const* parameters, const graft_tensor** results) override {
    if (index >= node_.bodies.size()) throw_user("there is no body ", index);
    if (how_.max_depth <= 0) throw_user("bodies are nested too deeply");
    const Graph& body = *node_.bodies[index].graph;
    std::vector<Tensor> in;
    for (size_t i = 0; i < body.parameters().size(); ++i) {
      if (!parameters[i]) throw_user("parameter ", i, " of a body is absent");
      const graft_tensor& t = *parameters[i];
      in.push_back(Tensor::wrap(static_cast<DType>(t.type), std::vector<int64_t>(t.dims, t.dims + t.rank), t.data));
      check_parameter(body, i, in.back().info());
    }
    Evaluation inner = how_;
    inner.scope = body_scope(node_path(how_.scope, node_), index);
    --inner.max_depth;
    std::vector<Tensor> out = evaluate_graph(inner, body, in);
    for (size_t i = 0; i < out.size(); ++i) {
      // A result may alias a parameter, whose memory this run does not own.
      kept_.push_back(out[i].clone());
      results[i] = kept_.back().raw();
    }
  }
  void release_tensor(const graft_tensor* t) override {
    // Strings stay: a loop has collected references to them.
    std::erase_if(kept_, [&](const Tensor& k) { return k.raw() == t && k.type() != DType::string; });
  }
  void store_text(graft_tensor* t, int64_t index, std::string_view s) override {
    for (size_t o = 0; o < raw_.size(); ++o)
      if (raw_[o] == t) {
        if (!outputs_[o]) throw_user("the output has no memory yet: allocate it before storing strings");
        if (index < 0 || index >= outputs_[o].size() || outputs_[o].type() != DType::string)
          throw_user("there is no string element ", index, " in this output");
        check_texts(how_.max_dynamic, text_bytes_ += s.size() + sizeof(std::string));
        texts_->texts.emplace_back(s);
        static_cast<graft_str*>(t->data)[index] = str(texts_->texts.back());
        return;
      }
    throw_user("cannot store a string in a tensor that is not an output");
  }
  bool cancelled() override { return how_.cancel && how_.cancel->load(std::memory_order_relaxed); }
  const graft_tensor* variable(std::string_view id) override {
    require_state();
    const Tensor* t = how_.variables ? how_.variables->find(how_.scope, node_, id) : nullptr;
    return t ? t->raw() : nullptr;
  }
  void set_variable(std::string_view id, const graft_tensor& value) override {
    require_state();
    if (how_.variables) how_.variables->set(how_.scope, node_, id, own(value));
  }
  std::shared_ptr<void>* object(std::string_view id) override {
    return how_.variables ? &how_.variables->object(how_.scope, node_, id) : nullptr;
  }

 private:
  // Constant folding has no state, and would make one value of what differs from run to run.
  void require_state() const {
    if (!how_.variables && op_.has(GRAFT_OP_PURE)) throw_unsupported("the operation ", op_.name(), " keeps state");
  }
  const Evaluation& how_;
  const Node& node_;
  const OpDef& op_;
  const std::vector<std::optional<Info>>& declared_;
  std::vector<Tensor>& outputs_;
  std::vector<graft_tensor*>& raw_;
  std::vector<char> allocated_;
  std::deque<Tensor> kept_;
  std::shared_ptr<TextPool> texts_ = std::make_shared<TextPool>();
  uint64_t text_bytes_ = 0;
};

// String outputs point at strings of the inputs and of this run: copy each one.
void own_texts(std::vector<Tensor>& outputs, uint64_t most) {
  for (Tensor& t : outputs) {
    if (!t || t.type() != DType::string) continue;
    check_texts(most, bytes_of_texts(t));
    t = t.clone();
  }
}

size_t size_of_texts(const Tensor& t) {
  size_t total = 0;
  for (int64_t i = 0; t.type() == DType::string && i < t.size(); ++i) total += t.text_at(i).size();
  return total;
}

}  // namespace

void check_dynamic(uint64_t most, DType type, std::span<const int64_t> dims) {
  if (bytes_for(type, count_checked(dims)) > most)
    throw_limit(&Limits::value_bytes, "expected at most ", most, " bytes for a value with a data-dependent shape, got ",
                Info{type, Shape::of(dims)});
}

void check_allocation(size_t output, const Shape& declared, std::span<const int64_t> dims) {
  bool fits = !declared.ranked() || declared.rank() == dims.size();
  for (size_t i = 0; fits && declared.ranked() && i < dims.size(); ++i) fits = declared[i].can_be(dims[i]);
  if (!fits)
    throw_user("expected output ", output, " of shape ", declared, ", as the shape function declares it, got ",
               Shape::of(dims), " from the kernel's allocate");
}

void check_texts(uint64_t most, uint64_t bytes) {
  if (bytes > most) throw_limit(&Limits::value_bytes, "expected at most ", most, " bytes of text, got ", bytes);
}

uint64_t bytes_of_texts(const Tensor& t) {
  if (t.type() != DType::string) return 0;
  return size_of_texts(t) + static_cast<uint64_t>(t.size()) * sizeof(std::string);
}

void check_parameter(const Graph& body, size_t index, const Info& given) {
  const Node& p = body[body.parameters()[index]];
  DType type = p.attrs.find("element_type")->as<DType>();
  const Shape& shape = p.attrs.find("shape")->as<Shape>();
  bool fits = type == DType::undefined || type == given.type;
  if (fits && shape.ranked()) {
    fits = shape.rank() == given.shape.rank();
    for (size_t i = 0; fits && i < shape.rank(); ++i) fits = shape[i].can_be(given.shape[i].value());
  }
  if (!fits) throw_user("expected ", Info{type, shape}, " for parameter '", p.name, "' of a body, got ", given);
}

double work_of(const Node& node, const OpDef& op, std::span<const Tensor> inputs,
               const std::vector<std::optional<Info>>& outputs) {
  double in = 1, out = 1;
  bool known = true;  // the shapes of all outputs
  for (const Tensor& t : inputs)
    if (t) in += static_cast<double>(t.size()) + static_cast<double>(size_of_texts(t));
  for (const std::optional<Info>& o : outputs) {
    known &= o && o->shape.is_static();
    if (o && o->shape.is_static()) out += static_cast<double>(o->shape.elements().max());
  }
  if (op.record->cost) {
    std::vector<std::optional<Info>> infos;
    for (const Tensor& t : inputs) infos.push_back(t ? std::optional(t.info()) : std::nullopt);
    NodeContext context(node, std::move(infos));
    context.outputs = outputs;
    double elements = 0;
    check_callback(op.record->cost(&context, op.record->cost_user, &elements));
    return std::max(elements, 1.0);
  }
  if (op.has(GRAFT_OP_ELEMENTWISE) || op.has(GRAFT_OP_VIEW)) return in + out;
  return in * (known ? out : in);
}

std::vector<Tensor> evaluate_node(const Evaluation& how, const Node& node, const OpDef& op,
                                  std::span<const Tensor> inputs, size_t output_count) {
  const graft_kernel* kernel = how.registry.reference(op);  // the fallback; a device's kernel may be preferred
  if (!kernel && op.record->decomposition.size) {
    std::vector<std::optional<Info>> given;
    for (const Tensor& t : inputs) given.push_back(t ? std::optional(t.info()) : std::nullopt);
    Evaluation inner = how;
    inner.scope = decomposition_scope(node_path(how.scope, node));
    return evaluate_graph(inner, decomposition(how.registry, op, node, given), inputs);
  }
  if (!kernel) throw_unsupported("operation ", op.name(), " of ", op.opset(), " has no reference kernel");

  std::vector<std::optional<Info>> infos;
  std::vector<Tensor> aligned(inputs.begin(), inputs.end());
  for (Tensor& t : aligned) {
    if (t && !is_aligned(t)) t = t.clone();
    infos.push_back(t ? std::optional(t.info()) : std::nullopt);
  }
  NodeContext context(node, std::move(infos));
  context.constants = [&](size_t i) -> const Tensor* { return aligned[i] ? &aligned[i] : nullptr; };
  context.bodies = [&](size_t i, const std::vector<Info>& parameters) {
    return Inference::results_of(how.registry, *node.bodies[i].graph, parameters, {});
  };
  if (node.bodies.empty()) {
    infer_outputs(how.registry, op, context);
  } else {
    for (const Output& o : node.outputs) context.outputs.push_back(o.info);
  }
  context.outputs.resize(std::max(context.outputs.size(), output_count));
  if (std::isfinite(how.max_work) && node.bodies.empty() && work_of(node, op, aligned, context.outputs) > how.max_work)
    throw_unsupported("this is too much work to be computed here");

  std::vector<Tensor> outputs(context.outputs.size());
  std::vector<std::vector<int64_t>> no_dims(1);
  std::vector<graft_tensor> pending(outputs.size());
  std::vector<graft_tensor*> raw(outputs.size(), nullptr);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!context.outputs[i]) continue;
    const Info& info = *context.outputs[i];
    raw[i] = &pending[i];
    if (info.shape.is_static() && node.bodies.empty()) {  // what bodies produce is known when they have run
      std::vector<int64_t> dims = info.shape.values();
      if (bytes_for(info.type, count_checked(dims)) > how.max_bytes)
        throw_unsupported("output ", i, " of shape ", dims, " is too large to be computed here");
      if (i >= node.outputs.size() || !node.outputs[i].info.shape.is_static())
        check_dynamic(how.max_dynamic, info.type, dims);
      outputs[i] = make_output(how, op, info.type, dims);
      pending[i] = *outputs[i].raw();
    } else {
      pending[i] = {sizeof(graft_tensor), static_cast<graft_type>(info.type), 0, 0, nullptr, nullptr, nullptr};
    }
  }

  std::shared_ptr<const void> packed;  // may be used by the state
  void* state = nullptr;
  auto take = [&](const graft_kernel* k) {
    context.packs = [&, k]() -> const void* {
      if (k->pack && !packed) packed = pack_constants(*k, node, context.inputs(), aligned).made;
      return packed.get();
    };
    if (k->accept) check_callback(k->accept(&context, k->user));
    if (k->prepare) check_callback(k->prepare(&context, k->user, &state));
    kernel = k;
  };
  auto try_device = [&] {
    if (how.device.empty()) return false;
    for (const KernelDef& k : how.registry.kernels(op, how.device)) try {
        if (!takes_plain(*k.record)) continue;
        take(k.record);
        return true;
      } catch (const Error& e) {
        if (e.kind() != ErrorKind::unsupported) throw;
        context.scratch_bytes = 0;
      }
    return false;
  };
  if (!try_device()) take(kernel);
  struct Release {
    const graft_kernel* kernel;
    void* state;
    ~Release() {
      if (kernel->release && state) kernel->release(state, kernel->user);
    }
  } release{kernel, state};

  std::shared_ptr<void> scratch = context.scratch_bytes ? allocate_aligned(context.scratch_bytes) : nullptr;
  std::vector<const graft_tensor*> in;
  for (const Tensor& t : aligned) in.push_back(t.raw());
  std::vector<uint8_t> used;
  for (const graft_tensor* t : raw) used.push_back(t != nullptr);
  // Without elements there is nothing to compute, and dimensions may be larger than any loop over them should be.
  bool empty = node.bodies.empty() && !op.has(GRAFT_OP_SINK);
  for (size_t i = 0; i < outputs.size(); ++i) empty &= !raw[i] || (outputs[i] && outputs[i].size() == 0);
  if (empty) return outputs;
  Runner runner(how, node, op, context.outputs, outputs, raw);
  graft_call call{sizeof(graft_call),
                  static_cast<uint32_t>(in.size()),
                  static_cast<uint32_t>(raw.size()),
                  0,
                  in.data(),
                  raw.data(),
                  state,
                  scratch.get(),
                  kernel->user,
                  &runner,
                  used.data()};
  RunningKernel running{node.name, node.type, view(kernel->name), op.source->short_title()};
  graft_status status = GRAFT_OK;
  {
    NowRunning now(&running);
    status = kernel->run(&call);
  }
  if (how.guard && !op.source->built_in()) how.guard->returned(node, running);
  check_call(status, runner);
  for (size_t i = 0; i < outputs.size(); ++i)
    if (raw[i] && !outputs[i])
      throw_user("output ", i,
                 " was never allocated: the kernel calls allocate for an output with a data-dependent shape");
  for (size_t i = 0; i < outputs.size() && !node.bodies.empty(); ++i)
    if (outputs[i]) check_allocation(i, context.outputs[i]->shape, outputs[i].dims());
  own_texts(outputs, how.max_dynamic);
  return outputs;
}

std::vector<Tensor> evaluate_graph(const Evaluation& how, const Graph& graph, std::span<const Tensor> inputs,
                                   std::span<const ValueId> more) {
  if (inputs.size() != graph.parameters().size())
    throw_user("expected ", graph.parameters().size(), " inputs, got ", inputs.size());
  std::vector<NodeId> order = graph.topological_order();
  std::vector<std::vector<Tensor>> values(graph.end_id());
  std::vector<uint32_t> readers(graph.end_id(), 0);
  for (NodeId id : order)
    for (ValueId v : graph[id].inputs)
      if (v.present()) ++readers[v.node];
  for (ValueId v : more) ++readers[v.node];
  for (size_t i = 0; i < inputs.size(); ++i) values[graph.parameters()[i]] = {inputs[i]};

  for (NodeId id : order) {
    const Node& node = graph[id];
    if (node.is("Parameter") || node.is("Result")) continue;
    if (how.cancel && how.cancel->load(std::memory_order_relaxed))
      throw Error(ErrorKind::cancelled, "the request was cancelled");
    with_context(
        [&] {
          auto start = std::chrono::steady_clock::now();
          if (node.is("Constant")) {
            values[id] = {node.attrs.find("value")->as<Tensor>()};
          } else {
            std::vector<Tensor> in;
            for (ValueId v : node.inputs) in.push_back(v.present() ? values[v.node][v.port] : Tensor());
            values[id] = evaluate_node(how, node, definition(how.registry, node), in, node.outputs.size());
          }
          if (how.observe) {
            std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
            how.observe(how.observe_arg, graph, id, took.count(), values[id]);
          }
        },
        [&] { return text("running ", describe(node)); });
    for (ValueId v : node.inputs)
      if (v.present() && --readers[v.node] == 0 && !graph[v.node].is("Parameter")) values[v.node].clear();
  }
  std::vector<Tensor> results;
  for (NodeId id : graph.results()) {
    ValueId v = graph[id].inputs[0];
    results.push_back(values[v.node][v.port]);
  }
  for (ValueId v : more) results.push_back(values[v.node][v.port]);
  return results;
}

}  // namespace graft
