#include "kernels/call.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/limits.hpp"
#include "base/tensor.hpp"

namespace graft {
namespace {

std::span<const int64_t> shape_of(const graft_tensor& t) { return {t.dims, static_cast<size_t>(t.rank)}; }
bool has_memory(const graft_tensor& t) { return t.data || t.dims; }

void clear_memory(graft_tensor& t) {
  if (t.data) std::memset(t.data, 0, bytes_for(type_of(t), count_checked(shape_of(t))));
}

bool can_be(const Shape& declared, std::span<const int64_t> dims) {
  if (!declared.ranked()) return true;
  if (declared.rank() != dims.size()) return false;
  for (size_t i = 0; i < dims.size(); ++i)
    if (!declared[i].can_be(dims[i])) return false;
  return true;
}

// Refuses to run a body with a parameter that contradicts what was inferred for it.
void check_parameter(const Graph& body, size_t index, const Tensor& given) {
  const Node& p = body[body.parameters()[index]];
  DType type = p.attrs.find("element_type")->as<DType>();
  const Shape& shape = p.attrs.find("shape")->as<Shape>();
  if ((type != DType::undefined && type != given.type()) || !can_be(shape, given.dims()))
    throw_user("expected ", Info{type, shape}, " for parameter '", p.name, "' of a body, got ", given.info());
}

}  // namespace

graft_str RequestState::keep(std::string_view text) {
  check_texts(value_bytes, text_bytes += text.size() + sizeof(std::string));
  return str(texts.emplace_back(text));
}

void RequestState::forget_texts() { texts.clear(), text_bytes = 0; }

void check_dynamic(uint64_t most, DType type, std::span<const int64_t> dims) {
  if (bytes_for(type, count_checked(dims)) > most)
    throw_limit(&Limits::value_bytes, "expected at most ", most, " bytes for a value with a data-dependent shape, got ",
                Info{type, Shape::of(dims)});
}

void check_texts(uint64_t most, uint64_t bytes) {
  if (bytes > most) throw_limit(&Limits::value_bytes, "expected at most ", most, " bytes of text, got ", bytes);
}

uint64_t size_of_texts(const Tensor& t) {
  uint64_t total = 0;
  for (int64_t i = 0; t.type() == DType::string && i < t.size(); ++i) total += t.text_at(i).size();
  return total;
}

uint64_t bytes_of_texts(const Tensor& t) {
  if (t.type() != DType::string) return 0;
  return size_of_texts(t) + static_cast<uint64_t>(t.size()) * sizeof(std::string);
}

void KernelCall::use(const PreparedKernel& k, void* scratch, std::span<const uint8_t> used) {
  kernel_ = k.kernel;
  running_ = {node_.name, node_.type, view(kernel_->name), k.source->short_title()};
  // What the kernel of an extension does not write is zero, not what was in that memory before. That costs 14 us per
  // MB: for a kernel that only copies 1 MB 39 us instead of 24, nothing that can be measured for one that computes a
  // tanh. So element-wise operations, which write every element, do without.
  clears_ = !k.source->built_in() && !op_.has(GRAFT_OP_ELEMENTWISE);
  allocated_.assign(outputs.size(), 0);
  used_.assign(used.begin(), used.end());
  for (size_t i = used_.size(); i < outputs.size(); ++i) used_.push_back(outputs[i] != nullptr);
  call_ = {.size = sizeof(graft_call),
           .input_count = static_cast<uint32_t>(inputs.size()),
           .output_count = static_cast<uint32_t>(outputs.size()),
           .reserved = 0,
           .inputs = inputs.data(),
           .outputs = outputs.data(),
           .state = k.state(),
           .scratch = scratch,
           .user = kernel_->user,
           .runner = this,
           .used = used_.data()};
}

bool KernelCall::is_empty() const {
  if (outputs.empty() || op_.has(GRAFT_OP_SINK)) return false;
  return std::all_of(outputs.begin(), outputs.end(), [](const graft_tensor* t) {
    return !t || (t->dims && std::find(t->dims, t->dims + t->rank, 0) != t->dims + t->rank);
  });
}

// What an operation in place overwrites is its input.
void KernelCall::clear_outputs() const {
  for (size_t o = 0; o < outputs.size(); ++o) {
    auto same = [&](const graft_tensor* in) { return in && in->data == outputs[o]->data; };
    if (used_[o] && std::none_of(inputs.begin(), inputs.end(), same)) clear_memory(*outputs[o]);
  }
}

// Why an output cannot have this shape; empty: it can.
std::string KernelCall::misfit(size_t output, std::span<const int64_t> dims) const {
  Shape said = output < declared.size() ? declared[output] : Shape::of(dims_of(*outputs[output]));
  if (can_be(said, dims)) return {};
  return text("expected output ", output, " of shape ", said, ", as the shape function declares it, got ",
              Shape::of(dims), " from the kernel's allocate");
}

void KernelCall::check_outputs() const {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const graft_tensor* t = outputs[i];
    if (used_[i] && !has_memory(*t))
      throw_user("output ", i,
                 " was never allocated: the kernel calls allocate for an output with a data-dependent shape");
    if (!t || !has_memory(*t) || node_.bodies.empty()) continue;
    if (std::string why = misfit(i, dims_of(*t)); !why.empty()) throw_user(why);
  }
}

void KernelCall::release_bodies() {
  for (size_t o = 0; o < outputs.size(); ++o) {
    graft_tensor* t = outputs[o];
    if (!used_[o] || t->type != GRAFT_STRING || !t->data) continue;
    auto* texts = static_cast<graft_str*>(t->data);
    for (int64_t i = 0, n = count_checked(shape_of(*t)); i < n; ++i) texts[i] = request_.keep(view(texts[i]));
  }
  kept_.clear();
}

void KernelCall::allocate(size_t output, std::span<const int64_t> dims) {
  if (output >= outputs.size()) throw_user("there is no output ", output);
  graft_tensor* t = outputs[output];
  if (!t) return;
  if (node_.bodies.empty()) {  // with bodies, only the last one counts: Loop asks how large an output may become
    if (std::string why = misfit(output, dims); !why.empty()) broken("wrong shape", why);
    if (std::exchange(allocated_[output], 1))
      broken("allocated twice", text("the kernel allocates output ", output, " a second time"));
  }
  if (has_memory(*t) && std::equal(dims.begin(), dims.end(), t->dims, t->dims + t->rank)) return;
  if (type_of(*t) == DType::undefined) throw_user("the type of output ", output, " is unknown");
  check_dynamic(request_.value_bytes, type_of(*t), dims);
  make(output, {dims.begin(), dims.end()});
  if (clears_) clear_memory(*t);
}

void KernelCall::parallel_for(int64_t count, int64_t grain, void (*body)(void*, int64_t, int64_t), void* arg) {
  if (request_.pool) request_.pool->parallel_for(count, grain, body, arg, threads());
  else if (count > 0) body(arg, 0, count);
}

void KernelCall::run_body(size_t index, const graft_tensor* const* parameters, const graft_tensor** results) {
  if (index >= node_.bodies.size()) throw_user("there is no body ", index);
  const Graph& body = *node_.bodies[index].graph;
  std::vector<Tensor> in;
  for (size_t i = 0; i < body.parameters().size(); ++i) {
    if (!parameters[i]) throw_user("parameter ", i, " of a body is absent");
    check_parameter(body, i, in.emplace_back(as_tensor(*parameters[i])));
  }
  for (Tensor& t : run_graph(index, in)) *results++ = kept_.emplace_back(std::move(t)).raw();
}

void KernelCall::release_tensor(const graft_tensor* tensor) {
  // Strings stay: a loop has collected references to them.
  kept_.remove_if([&](const Tensor& k) { return k.raw() == tensor && k.type() != DType::string; });
}

void KernelCall::store_text(graft_tensor* t, int64_t index, std::string_view s) {
  if (std::find(outputs.begin(), outputs.end(), t) == outputs.end() || !t)
    throw_user("cannot store a string in a tensor that is not an output");
  if (!has_memory(*t)) throw_user("the output has no memory yet: allocate it before storing strings");
  if (t->type != GRAFT_STRING || index < 0 || index >= count_checked(shape_of(*t)))
    throw_user("there is no string element ", index, " in this output");
  static_cast<graft_str*>(t->data)[index] = request_.keep(s);
}

// Constant folding has no state, and would make one value of what differs from run to run.
void KernelCall::require_state() const {
  if (!request_.variables && op_.has(GRAFT_OP_PURE)) throw_unsupported("the operation ", op_.name(), " keeps state");
}

const graft_tensor* KernelCall::variable(std::string_view id) {
  require_state();
  const Tensor* t = request_.variables ? request_.variables->find(request_.scope, node_, id) : nullptr;
  return t ? t->raw() : nullptr;
}

void KernelCall::set_variable(std::string_view id, const graft_tensor& value) {
  require_state();
  if (request_.variables) request_.variables->set(request_.scope, node_, id, as_tensor(value).clone());
}

std::shared_ptr<void>* KernelCall::object(std::string_view id) {
  return request_.variables ? &request_.variables->object(request_.scope, node_, id) : nullptr;
}

}  // namespace graft
