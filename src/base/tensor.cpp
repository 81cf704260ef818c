#include "base/tensor.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>

#include "base/convert.hpp"

namespace graft {

int64_t count_checked(std::span<const int64_t> dims) {
  int64_t n = 1;
  bool empty = false;
  // Dimensions of 0 do not excuse the others: kernels compute strides from them.
  for (int64_t d : dims) {
    if (d < 0) throw_user("dimension ", d, " of ", dims, " is negative");
    if (d == 0) empty = true;
    else if (__builtin_mul_overflow(n, d, &n)) throw_user("a tensor of shape ", dims, " has too many elements");
  }
  return empty ? 0 : n;
}

size_t bytes_for(DType type, int64_t count) {
  int64_t bits;
  if (__builtin_mul_overflow(count, static_cast<int64_t>(bits_of(type)), &bits))
    throw_user("a tensor of ", count, " elements of ", type, " is too large");
  return (static_cast<size_t>(bits) + 7) / 8;
}

std::shared_ptr<void> allocate_aligned(size_t bytes) {
  // Not aligned_alloc: older versions of glibc hardly reuse its blocks, so that a loop which allocates its results
  // takes more and more memory.
  size_t padded = bytes + tensor_alignment;
  void* memory = padded < bytes ? nullptr : std::malloc(padded);
  if (!memory) throw_user("not enough memory for ", bytes, " bytes");
  auto begin = (reinterpret_cast<uintptr_t>(memory) + tensor_alignment - 1) / tensor_alignment * tensor_alignment;
  return {reinterpret_cast<void*>(begin), [memory](void*) { std::free(memory); }};
}

Tensor Tensor::wrap(DType type, std::vector<int64_t> dims, void* data, std::shared_ptr<const void> keeper) {
  bytes_for(type, count_checked(dims));
  Tensor t;
  t.s_ = std::make_shared<State>();
  t.s_->dims = std::move(dims);
  t.s_->keeper = std::move(keeper);
  t.s_->raw = {sizeof(graft_tensor),
               static_cast<graft_type>(type),
               static_cast<int32_t>(t.s_->dims.size()),
               0,
               t.s_->dims.data(),
               nullptr,
               data};
  return t;
}

Tensor tensor_in_file(DType type, std::vector<int64_t> dims, const char* data, std::shared_ptr<const void> keeper) {
  Tensor t = Tensor::wrap(type, std::move(dims), const_cast<char*>(data), std::move(keeper));
  if (type != DType::boolean || std::all_of(data, data + t.size(), [](char c) { return c == 0 || c == 1; })) return t;
  t = t.clone();
  auto* bytes = static_cast<unsigned char*>(t.data());
  std::transform(bytes, bytes + t.size(), bytes, [](unsigned char c) { return static_cast<unsigned char>(c != 0); });
  return t;
}

Tensor::Tensor(DType type, std::vector<int64_t> dims) {
  size_t bytes = bytes_for(type, count_checked(dims));
  std::shared_ptr<void> memory = allocate_aligned(bytes);
  // Strings start empty, and the bits after the last packed element are zero.
  if (type == DType::string || is_packed(type)) std::memset(memory.get(), 0, bytes);
  void* data = memory.get();
  *this = wrap(type, std::move(dims), data, std::move(memory));
}

Tensor Tensor::strings(std::vector<int64_t> dims, std::vector<std::string> values) {
  struct Store {
    std::vector<std::string> texts;
    std::vector<graft_str> strs;
  };
  if (count_checked(dims) != static_cast<int64_t>(values.size()))
    throw_user("expected ", count_checked(dims), " strings for a tensor of shape ", dims, ", got ", values.size());
  auto store = std::make_shared<Store>();
  store->texts = std::move(values);
  for (const std::string& t : store->texts) store->strs.push_back(str(t));
  void* data = store->strs.data();
  return wrap(DType::string, std::move(dims), data, std::move(store));
}

int64_t Tensor::size() const {
  int64_t n = 1;
  for (int64_t d : dims()) n *= d;
  return n;
}
size_t Tensor::bytes() const { return bytes_for(type(), size()); }

std::string_view Tensor::text_at(int64_t index) const { return view(data<const graft_str>()[index]); }

Tensor Tensor::reshaped(std::vector<int64_t> dims) const {
  if (count_checked(dims) != size()) throw_user("cannot reshape a tensor of shape ", this->dims(), " to ", dims);
  return wrap(type(), std::move(dims), data(), s_->keeper ? s_->keeper : std::shared_ptr<const void>(s_));
}

Tensor Tensor::clone() const {
  if (type() == DType::string) {
    std::vector<std::string> texts;
    for (int64_t i = 0; i < size(); ++i) texts.emplace_back(text_at(i));
    return strings(dims(), std::move(texts));
  }
  Tensor t(type(), dims());
  convert(*raw(), *t.raw_mutable());
  return t;
}

Tensor Tensor::to(DType wanted) const {
  if (type() == wanted && !s_->raw.strides && is_aligned(*this)) return *this;
  Tensor t(wanted, dims());
  convert(*raw(), *t.raw_mutable());
  return t;
}

bool is_aligned(const Tensor& t) {
  size_t element =
      t.type() == DType::string ? alignof(graft_str) : std::max<size_t>(1, static_cast<size_t>(bits_of(t.type())) / 8);
  return reinterpret_cast<uintptr_t>(t.data()) % element == 0;
}

bool same_content(const Tensor& a, const Tensor& b) {
  if (a.type() != b.type() || a.dims() != b.dims()) return false;
  if (a.type() == DType::string) {
    for (int64_t i = 0; i < a.size(); ++i)
      if (a.text_at(i) != b.text_at(i)) return false;
    return true;
  }
  return a.data() == b.data() || a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

namespace {
// Transposes the matrices [rows, columns] of every batch.
Tensor transposed(const Tensor& t, bool to_last) {
  Tensor out(t.type(), t.dims());
  int64_t batch = t.dims()[0], rows = t.dims()[1], columns = 1;
  for (size_t i = 2; i < t.dims().size(); ++i) columns *= t.dims()[i];
  if (!to_last) std::swap(rows, columns);
  auto cell = static_cast<int64_t>(bits_of(t.type())) / 8;
  const auto* from = static_cast<const char*>(t.data());
  auto* to = static_cast<char*>(out.data());
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        std::memcpy(to + (b * rows * columns + c * rows + r) * cell,
                    from + (b * rows * columns + r * columns + c) * cell, static_cast<size_t>(cell));
  return out;
}
}  // namespace

Tensor with_channels_last(const Tensor& t) { return transposed(t, true); }
Tensor from_channels_last(const Tensor& t) { return transposed(t, false); }

}  // namespace graft
