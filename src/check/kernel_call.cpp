#include "check/kernel_call.hpp"

#include <chrono>
#include <cstring>

#include "base/text.hpp"
#include "infer/decompose.hpp"

namespace graft::testing {
namespace {

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
  NodeContext context(node, infos_of(sample.inputs));
  context.declared_outputs = sample.outputs;
  context.constants = [&](size_t i) { return sample.inputs[i] ? &sample.inputs[i] : nullptr; };
  infer_outputs(registry, op, context);
  return context.outputs;
}

std::shared_ptr<const PreparedSample> prepare_sample(const Registry& registry, const OpDef& op, const Sample& sample,
                                                     const std::vector<std::optional<Info>>& outputs,
                                                     const KernelDef& def) {
  auto p = std::make_shared<PreparedSample>();
  p->op = &op, p->sample = &sample, p->node = sample.node(), p->outputs = outputs;
  NodeContext context(p->node, infos_of(sample.inputs));
  context.outputs = outputs;
  context.registry = &registry;
  context.call_threads = ThreadPool::shared().threads();
  std::vector<Tensor> constants(sample.inputs.size());
  for (size_t i = 0; i < constants.size(); ++i)
    if (sample.constant[i]) constants[i] = sample.inputs[i];
  context.constants = [&](size_t i) { return constants[i] ? &constants[i] : nullptr; };
  ask(*def.record, context);
  set_layouts(*def.record, *p);
  context.input_layouts = p->input_layouts, context.output_layouts = p->output_layouts;
  p->kernel = PreparedKernel(def, context, [&](const graft_kernel& k) {
    std::vector<std::optional<Info>> infos = context.inputs();
    for (size_t i = 0; i < infos.size(); ++i)
      if (infos[i] && !constants[i]) infos[i]->shape = Shape::unknown();
    return pack_constants(k, p->node, infos, constants);
  });
  p->empty = !outputs.empty();
  for (const std::optional<Info>& o : outputs)
    p->empty &= !o || (o->shape.is_static() && o->shape.elements().value() == 0);
  return p;
}

GuardedCall::GuardedCall(std::shared_ptr<const PreparedSample> prepared)
    : KernelCall(prepared->node, *prepared->op, state_), prepared_(std::move(prepared)), values_(prepared_->inputs) {
  state_.pool = &ThreadPool::shared();
  raw_inputs_.resize(values_.size());
  for (size_t i = 0; i < values_.size(); ++i) {
    const Tensor& t = values_[i];
    input_memory_.push_back(t ? std::make_unique<GuardedBuffer>(t.bytes(), 0, element_alignment(t.type())) : nullptr);
    inputs.push_back(t ? &raw_inputs_[i] : nullptr);
  }
  size_t count = prepared_->outputs.size();
  output_memory_.resize(count), tensors_.resize(count), raw_outputs_.resize(count);
  for (size_t i = 0; i < count; ++i) {
    const std::optional<Info>& info = prepared_->outputs[i];
    outputs.push_back(info ? &raw_outputs_[i] : nullptr);
    declared.push_back(info ? info->shape : Shape::unknown());
  }
  if (size_t bytes = prepared_->kernel.scratch_bytes)
    scratch_ = std::make_unique<GuardedBuffer>(bytes, 1, tensor_alignment);
}

bool GuardedCall::vary_inputs() {
  bool varied = false;
  for (size_t i = 0; i < values_.size(); ++i) {
    Tensor& t = values_[i];
    if (!t || !t.size() || prepared_->sample->constant[i] || !is_real(t.type()) || bits_of(t.type()) < 16) continue;
    std::vector<double> v = values_of<double>(t);
    std::reverse(v.begin(), v.end());
    for (double& x : v) x = x / 2 + 0.25;
    t = make_tensor<double>(t.dims(), v).to(t.type());
    varied = true;
  }
  return varied;
}

void GuardedCall::make(size_t output, const std::vector<int64_t>& dims) {
  DType type = type_of(raw_outputs_[output]);
  size_t bytes = bytes_for(type, count_checked(dims));
  if (bytes > size_t{64} << 20)
    throw_unsupported("output ", output, " of shape ", dims, " is too large for the checker");
  std::unique_ptr<GuardedBuffer>& memory = output_memory_[output];
  if (!memory || memory->bytes() != bytes)
    memory = std::make_unique<GuardedBuffer>(bytes, 2 + output, element_alignment(type));
  memory->fill(settings_.pattern, settings_.placement);
  void* data = memory->data();
  if (output == 0 && settings_.in_place) {
    data = input_memory_[0]->data();
    memory.reset();
  }
  tensors_[output] = Tensor::wrap(type, dims, data);
  if (type == DType::string)
    std::fill_n(static_cast<graft_str*>(data), tensors_[output].size(), unwritten_text(settings_.pattern));
  raw_outputs_[output] = *tensors_[output].raw();
  raw_outputs_[output].layout = static_cast<int32_t>(PreparedSample::layout(prepared_->output_layouts, output));
}

std::vector<Tensor> GuardedCall::run_graph(size_t, const std::vector<Tensor>&) {
  throw_unsupported("operations with bodies are not checked");
}

void GuardedCall::parallel_for(int64_t count, int64_t grain, void (*body)(void*, int64_t, int64_t), void* arg) {
  if (count <= 0) return;
  looped = true;
  if (settings_.split == Split::threads) return ThreadPool::shared().parallel_for(count, grain, body, arg, threads());
  if (settings_.split == Split::whole) return body(arg, 0, count);
  Loop loop{count, grain, body, arg};
  std::vector<LoopMemory> written;
  for (size_t o = 0; o < output_memory_.size(); ++o)
    if (const auto& m = output_memory_[o])
      written.push_back({text("output ", o), static_cast<uint8_t*>(m->data()), m->bytes(),
                         tensors_[o] && is_packed(tensors_[o].type())});
  std::optional<std::string> found =
      settings_.split == Split::pieces
          ? run_pieces(loop, written)
          : at_once(loop, std::move(written), static_cast<uint8_t*>(__builtin_frame_address(0)));
  if (found) add("race", *found);
}

std::optional<std::string> GuardedCall::at_once(const Loop& loop, std::vector<LoopMemory> written, uint8_t* frame) {
  constexpr int most = 4;
  if (++loops_ > most) return loop.run(0, loop.count), std::nullopt;
  SharedMemory memory{std::move(written), {}, {}, frame, frame_, settings_.allocations};
  if (settings_.static_data) memory.watched = *settings_.static_data;
  if (scratch_) {
    memory.watched.push_back(scratch_->pages());
    memory.scratch.push_back({"the scratch memory", static_cast<uint8_t*>(scratch_->data()), scratch_->bytes()});
  }
  return run_pieces_at_once(loop, memory);
}

void GuardedCall::fill() {
  for (size_t i = 0; i < values_.size(); ++i) {
    const Tensor& t = values_[i];
    if (!t) continue;
    input_memory_[i]->fill(settings_.pattern, settings_.placement);
    if (t.bytes()) std::memcpy(input_memory_[i]->data(), t.data(), t.bytes());
    raw_inputs_[i] = *t.raw();
    raw_inputs_[i].data = input_memory_[i]->data();
    raw_inputs_[i].layout = static_cast<int32_t>(PreparedSample::layout(prepared_->input_layouts, i));
  }
  for (size_t i : prepared_->kernel.taken) raw_inputs_[i].data = nullptr;
  if (scratch_) scratch_->fill(settings_.pattern, settings_.placement);
  for (size_t i = 0; i < raw_outputs_.size(); ++i) {
    const std::optional<Info>& info = prepared_->outputs[i];
    tensors_[i] = Tensor();
    raw_outputs_[i] = without_memory(info ? info->type : DType::undefined);
    if (!info || !info->shape.is_static()) continue;
    if (info->type == DType::undefined) throw_user("the type of output ", i, " is unknown");
    make(i, info->shape.values());
  }
}

void GuardedCall::run(const CallSettings& settings) {
  problems.clear();
  state_.forget_texts();
  looped = false, loops_ = 0;
  settings_ = settings;
  frame_ = static_cast<uint8_t*>(__builtin_frame_address(0));
  fill();
  use(prepared_->kernel, scratch_ ? scratch_->data() : nullptr);
  clears_ = false;  // what the kernel does not write is to be seen
  graft_status status = GRAFT_OK;
  if (settings.ready) settings.ready();
  uint64_t before = settings.allocations ? settings.allocations() : 0;
  auto once = [&] { status = KernelCall::run(); };
  settings.around ? settings.around(once) : once();
  auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
  while (status == GRAFT_OK && settings.expected && gives(*settings.expected) && std::chrono::steady_clock::now() < end)
    once();
  allocated = settings.allocations ? settings.allocations() - before : 0;
  check_callback(status);
  check_memory();
}

// False also for outputs that a second call would have to allocate again.
bool GuardedCall::gives(const std::vector<Tensor>& expected) const {
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!expected[i]) continue;
    bool last = PreparedSample::layout(prepared_->output_layouts, i) == Layout::channels_last;
    const Tensor t = last ? from_channels_last(tensors_[i]) : tensors_[i];
    if (!prepared_->outputs[i]->shape.is_static() || t.type() == DType::string) return false;
    if (t.bytes() && std::memcmp(t.data(), expected[i].data(), t.bytes()) != 0) return false;
  }
  return true;
}

void GuardedCall::check_memory() {
  auto damaged = [&](const std::unique_ptr<GuardedBuffer>& m, const std::string& what) {
    std::optional<GuardedBuffer::Damage> d = m ? m->damage() : std::nullopt;
    if (!d) return;
    bool start = d->byte < 0;
    add(text(d->read ? "read " : "write ", start ? "before the start" : "past the end"),
        text("byte ", d->byte, " of ", what, start ? "" : text(", which has ", m->bytes(), ","),
             d->read ? " is read" : " is written"));
  };
  for (size_t i = 0; i < values_.size(); ++i) {
    const Tensor& t = values_[i];
    damaged(input_memory_[i], text("input ", i));
    if (!t || (settings_.in_place && i == 0) || !t.bytes()) continue;
    if (std::memcmp(input_memory_[i]->data(), t.data(), t.bytes()) != 0)
      add("input modified", text("input ", i, " has changed"));
  }
  damaged(scratch_, "the scratch memory");
  results.assign(raw_outputs_.size(), Tensor());
  untouched.assign(raw_outputs_.size(), {});
  for (size_t i = 0; i < raw_outputs_.size(); ++i) {
    if (!prepared_->outputs[i]) continue;
    if (!tensors_[i]) {
      add("output not allocated", text("output ", i, " has a data-dependent shape and was not allocated"));
      continue;
    }
    damaged(output_memory_[i], text("output ", i));
    const Tensor& t = tensors_[i];
    if (output_memory_[i])
      for (size_t b = 0; b < t.bytes(); ++b) untouched[i].push_back(output_memory_[i]->untouched(b));
    if (t.type() == DType::string) {
      untouched[i].assign(static_cast<size_t>(t.size()), false);
      for (int64_t e = 0; e < t.size(); ++e)
        untouched[i][static_cast<size_t>(e)] = t.text_at(e).data() == unwritten_text(settings_.pattern).data;
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
    results[i] = last ? from_channels_last(t) : t.clone();
  }
}

}  // namespace graft::testing
