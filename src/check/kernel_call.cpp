#include "check/kernel_call.hpp"

#include <chrono>
#include <cstring>

#include "base/running.hpp"
#include "base/text.hpp"
#include "check/pieces.hpp"
#include "infer/decompose.hpp"

namespace graft::testing {
namespace {

std::vector<std::optional<Info>> infos_of(const Sample& s) {
  std::vector<std::optional<Info>> out;
  for (const Tensor& t : s.inputs) out.push_back(t ? std::optional(t.info()) : std::nullopt);
  return out;
}

// The first combination of layouts that the kernel declares, if it does not work with plain tensors.
void set_layouts(const graft_kernel& kernel, PreparedSample& p) {
  p.inputs = p.sample->inputs;
  if (takes_plain(kernel)) return;
  const graft_layouts& form = kernel.layouts[0];
  auto list = [](const int32_t* from, size_t count, size_t ports) {
    std::vector<Layout> out;
    for (size_t i = 0; i < ports; ++i)
      out.push_back(count && from[std::min(i, count - 1)] == GRAFT_CHANNELS_LAST ? Layout::channels_last
                                                                                 : Layout::plain);
    return out;
  };
  p.input_layouts = list(form.inputs, form.input_count, p.inputs.size());
  p.output_layouts = list(form.outputs, form.output_count, p.outputs.size());
  auto fits = [](DType type, size_t rank) { return rank >= 3 && bits_of(type) >= 8 && type != DType::string; };
  for (size_t i = 0; i < p.inputs.size(); ++i) {
    Tensor& t = p.inputs[i];
    if (!t || p.input_layouts[i] == Layout::plain) continue;
    if (!fits(t.type(), t.dims().size())) throw_unsupported("the tensors cannot have its layouts");
    t = with_channels_last(t);
  }
  for (size_t i = 0; i < p.outputs.size(); ++i)
    if (p.outputs[i] && p.output_layouts[i] != Layout::plain &&
        (!p.outputs[i]->shape.is_static() || !fits(p.outputs[i]->type, p.outputs[i]->shape.rank())))
      throw_unsupported("the tensors cannot have its layouts");
}

// What a kernel can rely on for inputs and outputs.
size_t element_alignment(DType type) {
  if (type == DType::string) return alignof(graft_str);
  return std::max<size_t>(1, static_cast<size_t>(bits_of(type)) / 8);
}

// An element of a string output that the kernel has not stored.
graft_str unwritten_text(Poison p) { return p == Poison::first ? str("\x01 unwritten") : str("\x02 not written"); }

}  // namespace

std::vector<std::optional<Info>> infer_sample(const Registry& registry, const OpDef& op, const Sample& sample) {
  Node node = sample.node();
  NodeContext context(node, infos_of(sample));
  context.declared_outputs = sample.outputs;
  context.constants = [&](size_t i) { return sample.inputs[i] ? &sample.inputs[i] : nullptr; };
  infer_outputs(registry, op, context);
  return context.outputs;
}

std::shared_ptr<const PreparedSample> prepare_sample(const OpDef& op, const Sample& sample,
                                                     const std::vector<std::optional<Info>>& outputs,
                                                     const KernelDef& def) {
  auto p = std::make_shared<PreparedSample>();
  p->op = &op, p->sample = &sample, p->node = sample.node(), p->outputs = outputs;
  NodeContext context(p->node, infos_of(sample));
  context.outputs = outputs;
  std::vector<Tensor> constants(sample.inputs.size());
  for (size_t i = 0; i < constants.size(); ++i)
    if (sample.constant[i]) constants[i] = sample.inputs[i];
  context.constants = [&](size_t i) { return constants[i] ? &constants[i] : nullptr; };
  Packed packed;
  context.packs = [&]() -> const void* {
    std::vector<std::optional<Info>> infos = infos_of(sample);
    for (size_t i = 0; i < infos.size(); ++i)
      if (infos[i] && !constants[i]) infos[i]->shape = Shape::unknown();
    if (def.record->pack && !packed.made) packed = pack_constants(*def.record, p->node, infos, constants);
    return packed.made.get();
  };
  if (def.record->accept) check_callback(def.record->accept(&context, def.record->user));
  set_layouts(*def.record, *p);
  context.input_layouts = p->input_layouts, context.output_layouts = p->output_layouts;
  void* state = nullptr;
  if (def.record->prepare) check_callback(def.record->prepare(&context, def.record->user, &state));
  p->kernel = PreparedKernel(def, std::move(packed.made), state, context.scratch_bytes);
  p->taken = std::move(packed.taken);
  p->empty = !outputs.empty();
  for (const std::optional<Info>& o : outputs)
    p->empty &= !o || (o->shape.is_static() && o->shape.elements().value() == 0);
  return p;
}

// Callbacks of a running kernel.
class KernelCall::Runner final : public graft_runner {
 public:
  Runner(KernelCall& call, const CallSettings& settings)
      : c_(call), settings_(settings), allocated_(call.raw_outputs_.size()) {}

  // Before each call of the kernel; allocates nothing.
  void begin() { std::fill(allocated_.begin(), allocated_.end(), false); }

  void allocate(size_t output, std::span<const int64_t> dims) override {
    if (output >= c_.raw_outputs_.size()) throw_user("there is no output ", output);
    const std::optional<Info>& declared = c_.prepared_->outputs[output];
    if (!declared) return;
    if (allocated_[output]) c_.add("allocated twice", text("the kernel allocates output ", output, " a second time"));
    allocated_[output] = true;
    Shape actual = Shape::of(dims);
    bool fits = !declared->shape.ranked() || declared->shape.rank() == dims.size();
    for (size_t i = 0; fits && declared->shape.ranked() && i < dims.size(); ++i)
      fits = declared->shape[i].can_be(dims[i]);
    if (!fits)
      c_.add("wrong shape", text("the shape function declares output ", output, " as ", declared->shape,
                                 ", the kernel allocates ", actual));
    if (c_.output_tensors_[output] && std::equal(dims.begin(), dims.end(), c_.output_tensors_[output].dims().begin(),
                                                 c_.output_tensors_[output].dims().end()))
      return;
    c_.add_output(output, {dims.begin(), dims.end()});
  }
  void parallel_for(int64_t count, int64_t grain, void (*body)(void*, int64_t, int64_t), void* arg) override {
    if (count <= 0) return;
    c_.looped = true;
    if (settings_.split == Split::threads) return ThreadPool::shared().parallel_for(count, grain, body, arg);
    if (settings_.split == Split::whole) return body(arg, 0, count);
    Loop loop{count, grain, body, arg};
    std::vector<LoopMemory> outputs;
    for (size_t o = 0; o < c_.output_memory_.size(); ++o)
      if (const auto& m = c_.output_memory_[o])
        outputs.push_back({text("output ", o), static_cast<uint8_t*>(m->data()), m->bytes(),
                           c_.output_tensors_[o] && is_packed(c_.output_tensors_[o].type())});
    std::optional<std::string> found =
        settings_.split == Split::pieces
            ? run_pieces(loop, outputs)
            : at_once(loop, std::move(outputs), static_cast<uint8_t*>(__builtin_frame_address(0)));
    if (found) c_.add("race", *found);
  }
  void run_body(size_t, const graft_tensor* const*, const graft_tensor**) override {
    throw_unsupported("operations with bodies are not checked");
  }
  void release_tensor(const graft_tensor*) override {}
  void store_text(graft_tensor* t, int64_t index, std::string_view s) override {
    for (size_t o = 0; o < c_.raw_outputs_.size(); ++o)
      if (&c_.raw_outputs_[o] == t) {
        const Tensor& out = c_.output_tensors_[o];
        if (!out) throw_user("the output has no memory yet: allocate it before storing strings");
        if (out.type() != DType::string || index < 0 || index >= out.size())
          throw_user("there is no string element ", index, " in this output");
        c_.texts_.emplace_back(s);
        static_cast<graft_str*>(t->data)[index] = str(c_.texts_.back());
        return;
      }
    throw_user("cannot store a string in a tensor that is not an output");
  }
  bool cancelled() override { return false; }
  const graft_tensor* variable(std::string_view) override { return nullptr; }
  void set_variable(std::string_view, const graft_tensor&) override {}

 private:
  std::optional<std::string> at_once(const Loop& loop, std::vector<LoopMemory> outputs, uint8_t* frame) {
    constexpr int most = 4;
    if (++loops_ > most) return loop.run(0, loop.count), std::nullopt;
    SharedMemory memory{std::move(outputs), {}, {}, frame, c_.frame_, settings_.allocations};
    if (settings_.static_data) memory.watched = *settings_.static_data;
    if (c_.scratch_) {
      memory.watched.push_back(c_.scratch_->pages());
      memory.scratch.push_back({"the scratch memory", static_cast<uint8_t*>(c_.scratch_->data()), c_.scratch_->bytes()});
    }
    return run_pieces_at_once(loop, memory);
  }

  KernelCall& c_;
  const CallSettings& settings_;
  int loops_ = 0;
  std::vector<bool> allocated_;  // outputs
};

KernelCall::KernelCall(std::shared_ptr<const PreparedSample> prepared)
    : prepared_(std::move(prepared)), inputs_(prepared_->inputs) {
  input_tensors_.resize(inputs_.size());
  for (const Tensor& t : inputs_) 
    input_memory_.push_back(t ? std::make_unique<GuardedBuffer>(t.bytes(), 0, element_alignment(t.type())) : nullptr);
  output_memory_.resize(prepared_->outputs.size());
  output_tensors_.resize(prepared_->outputs.size());
  raw_outputs_.resize(prepared_->outputs.size());
  if (size_t bytes = prepared_->kernel.scratch_bytes)
    scratch_ = std::make_unique<GuardedBuffer>(bytes, 1, tensor_alignment);
}
KernelCall::~KernelCall() = default;

bool KernelCall::vary_inputs() {
  bool varied = false;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    Tensor& t = inputs_[i];
    if (!t || !t.size() || prepared_->sample->constant[i] || !is_real(t.type()) || bits_of(t.type()) < 16) continue;
    std::vector<double> v = values_of<double>(t);
    std::reverse(v.begin(), v.end());
    for (double& x : v) x = x / 2 + 0.25;
    t = make_tensor<double>(t.dims(), v).to(t.type());
    varied = true;
  }
  return varied;
}

void KernelCall::add(std::string kind, std::string detail) { problems.push_back({std::move(kind), std::move(detail)}); }

void KernelCall::add_output(size_t index, const std::vector<int64_t>& dims) {
  DType type = prepared_->outputs[index]->type;
  if (type == DType::undefined) throw_user("the type of output ", index, " is unknown");
  size_t bytes = bytes_for(type, count_checked(dims));
  if (bytes > size_t{64} << 20)
    throw_unsupported("output ", index, " of shape ", dims, " is too large for the checker");
  std::unique_ptr<GuardedBuffer>& memory = output_memory_[index];
  if (!memory || memory->bytes() != bytes) 
    memory = std::make_unique<GuardedBuffer>(bytes, 2 + index, element_alignment(type));
  memory->fill(pattern_, placement_);
  void* data = memory->data();
  if (index == 0 && in_place_) {
    data = input_memory_[0]->data();
    memory.reset();
  }
  output_tensors_[index] = Tensor::wrap(type, dims, data);
  if (type == DType::string)
    std::fill_n(static_cast<graft_str*>(data), output_tensors_[index].size(), unwritten_text(pattern_));
  raw_outputs_[index] = *output_tensors_[index].raw();
  raw_outputs_[index].layout = static_cast<int32_t>(PreparedSample::layout(prepared_->output_layouts, index));
}

void KernelCall::fill(const CallSettings& settings) {
  pattern_ = settings.pattern;
  placement_ = settings.placement;
  in_place_ = settings.in_place;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Tensor& t = inputs_[i];
    if (!t) continue;
    input_memory_[i]->fill(pattern_, placement_);
    if (t.bytes()) std::memcpy(input_memory_[i]->data(), t.data(), t.bytes());
    input_tensors_[i] = Tensor::wrap(t.type(), t.dims(), input_memory_[i]->data());
  }
  if (scratch_) scratch_->fill(pattern_, placement_);
  for (size_t i = 0; i < raw_outputs_.size(); ++i) {
    const std::optional<Info>& info = prepared_->outputs[i];
    output_tensors_[i] = Tensor();
    raw_outputs_[i] = {
        sizeof(graft_tensor), info ? static_cast<graft_type>(info->type) : 0, 0, 0, nullptr, nullptr, nullptr};
    if (info && info->shape.is_static()) add_output(i, info->shape.values());
  }
}

void KernelCall::run(const CallSettings& settings) {
  problems.clear();
  texts_.clear();
  looped = false;
  frame_ = static_cast<uint8_t*>(__builtin_frame_address(0));
  fill(settings);
  std::vector<graft_tensor> raw_inputs(input_tensors_.size());
  std::vector<const graft_tensor*> in;
  for (size_t i = 0; i < raw_inputs.size(); ++i) {
    in.push_back(input_tensors_[i] ? &raw_inputs[i] : nullptr);
    if (!input_tensors_[i]) continue;
    raw_inputs[i] = *input_tensors_[i].raw();
    raw_inputs[i].layout = static_cast<int32_t>(PreparedSample::layout(prepared_->input_layouts, i));
  }
  for (size_t i : prepared_->taken) raw_inputs[i].data = nullptr;
  std::vector<graft_tensor*> out;
  std::vector<uint8_t> used;
  for (size_t i = 0; i < raw_outputs_.size(); ++i) {
    out.push_back(prepared_->outputs[i] ? &raw_outputs_[i] : nullptr);
    used.push_back(out.back() != nullptr);
  }
  const graft_kernel& kernel = *prepared_->kernel.kernel;
  Runner runner(*this, settings);
  graft_call call{sizeof(graft_call),
                  static_cast<uint32_t>(in.size()),
                  static_cast<uint32_t>(out.size()),
                  0,
                  in.data(),
                  out.data(),
                  prepared_->kernel.state(),
                  scratch_ ? scratch_->data() : nullptr,
                  kernel.user,
                  &runner,
                  used.data()};
  RunningKernel running{prepared_->node.name, prepared_->node.type, view(kernel.name),
                        prepared_->kernel.source->short_title()};
  graft_status status = GRAFT_OK;
  if (settings.ready) settings.ready();
  {
    NowRunning now(&running);
    uint64_t before = settings.allocations ? settings.allocations() : 0;
    auto once = [&] {
      runner.begin();
      status = kernel.run(&call);
    };
    settings.around ? settings.around(once) : once();
    auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
    while (status == GRAFT_OK && settings.expected && gives(*settings.expected) &&
           std::chrono::steady_clock::now() < end)
      once();
    allocated = settings.allocations ? settings.allocations() - before : 0;
  }
  check_callback(status);
  check_memory(settings);
}

// False also for outputs that a second call would have to allocate again.
bool KernelCall::gives(const std::vector<Tensor>& expected) const {
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!expected[i]) continue;
    bool last = PreparedSample::layout(prepared_->output_layouts, i) == Layout::channels_last;
    const Tensor t = last ? from_channels_last(output_tensors_[i]) : output_tensors_[i];
    if (!prepared_->outputs[i]->shape.is_static() || t.type() == DType::string) return false;
    if (t.bytes() && std::memcmp(t.data(), expected[i].data(), t.bytes()) != 0) return false;
  }
  return true;
}

void KernelCall::check_memory(const CallSettings& settings) {
  auto damaged = [&](const std::unique_ptr<GuardedBuffer>& m, const std::string& what) {
    std::optional<GuardedBuffer::Damage> d = m ? m->damage() : std::nullopt;
    if (!d) return;
    bool start = d->byte < 0;
    add(text(d->read ? "read " : "write ", start ? "before the start" : "past the end"),
        text("byte ", d->byte, " of ", what, start ? "" : text(", which has ", m->bytes(), ","),
             d->read ? " is read" : " is written"));
  };
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Tensor& t = inputs_[i];
    damaged(input_memory_[i], text("input ", i));
    if (!t || (settings.in_place && i == 0) || !t.bytes()) continue;
    if (std::memcmp(input_memory_[i]->data(), t.data(), t.bytes()) != 0)
      add("input modified", text("input ", i, " has changed"));
  }
  damaged(scratch_, "the scratch memory");
  outputs.assign(raw_outputs_.size(), Tensor());
  untouched.assign(raw_outputs_.size(), {});
  for (size_t i = 0; i < raw_outputs_.size(); ++i) {
    if (!prepared_->outputs[i]) continue;
    if (!output_tensors_[i]) {
      add("output not allocated", text("output ", i, " has a data-dependent shape and was not allocated"));
      continue;
    }
    damaged(output_memory_[i], text("output ", i));
    const Tensor& t = output_tensors_[i];
    if (output_memory_[i])
      for (size_t b = 0; b < t.bytes(); ++b) untouched[i].push_back(output_memory_[i]->untouched(b));
    if (t.type() == DType::string) {
      untouched[i].assign(static_cast<size_t>(t.size()), false);
      for (int64_t e = 0; e < t.size(); ++e)
        untouched[i][static_cast<size_t>(e)] = t.text_at(e).data() == unwritten_text(pattern_).data;
    }
    if (t.type() == DType::boolean)
      for (size_t b = 0; b < t.bytes(); ++b)
        if (auto byte = static_cast<const uint8_t*>(t.data())[b];
            byte > 1 && !(b < untouched[i].size() && untouched[i][b])) {
          add("invalid boolean",
              text("byte ", b, " of output ", i, " is ", static_cast<int>(byte), ", expected 0 or 1"));
          break;
        }
    bool last = PreparedSample::layout(prepared_->output_layouts, i) == Layout::channels_last;
    outputs[i] = last ? from_channels_last(t) : t.clone();
  }
}

}  // namespace graft::testing
