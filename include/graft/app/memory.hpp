// A tensor that owns its memory, or keeps it alive.
//
//   Tensor x(DType::f32, {1, 3, 224, 224});            // allocates, uninitialized
//   Tensor y = Tensor::wrap(DType::f32, {4}, mine);    // refers to the caller's memory, no copy
//   Tensor z = y.clone();                              // an independent copy
//
// A Tensor is a reference-counted handle: copies share the elements, and the memory is freed with the last copy. The
// handle itself is as thread-safe as a shared_ptr; concurrent access to the elements is up to the caller. Errors (a
// size that overflows, a wrong type, out of memory) are thrown as graft::Error.
#pragma once

#include <memory>

#include "../error.hpp"
#include "../types.hpp"

namespace graft {

// Always dense and row-major. Types below 8 bits are packed, see graft_tensor in abi.h.
class GRAFT_API Tensor {
 public:
  Tensor() = default;  // empty: no tensor
  // Allocates memory for these dimensions, aligned for vector instructions. The elements are uninitialized.
  Tensor(DType type, std::vector<int64_t> dims);
  // Refers to existing memory, which must hold all elements and stay valid as long as any copy of the tensor is used.
  // If `keeper` is given, the tensor holds on to it, so that it can free the memory in its deleter.
  static Tensor wrap(DType type, std::vector<int64_t> dims, void* data, std::shared_ptr<const void> keeper = {});
  // A tensor of strings, which owns copies of the values (in row-major order).
  static Tensor strings(std::vector<int64_t> dims, std::vector<std::string> values);

  // False for a default-constructed tensor, on which nothing else may be called.
  explicit operator bool() const { return s_ != nullptr; }
  // Element type and dimensions never change after construction.
  DType type() const { return static_cast<DType>(s_->raw.type); }
  const std::vector<int64_t>& dims() const { return s_->dims; }
  Info info() const { return {type(), Shape::of(s_->dims)}; }
  int64_t size() const;  // elements
  size_t bytes() const;  // of memory
  // The memory itself. The typed version fails if T does not correspond to the element type exactly.
  void* data() const { return s_->raw.data; }
  template <class T>
  T* data() const {
    if (type() != dtype_of<std::remove_const_t<T>>())
      throw Error(ErrorKind::user, text("expected a tensor of ", dtype_of<std::remove_const_t<T>>(), ", got ", type()));
    return static_cast<T*>(s_->raw.data);
  }
  // Element `index` (row-major) of a string tensor; valid as long as the tensor.
  std::string_view text_at(int64_t index) const;

  // The same memory with other dimensions; fails if the number of elements differs.
  Tensor reshaped(std::vector<int64_t> dims) const;
  // An independent copy, dense and aligned.
  Tensor clone() const;
  // Converted to another element type. Returns this tensor itself, sharing memory, if it has that type already.
  Tensor to(DType type) const;

  // The C form, owned by this tensor; null for an empty one.
  const graft_tensor* raw() const { return s_ ? &s_->raw : nullptr; }
  graft_tensor* raw_mutable() const { return s_ ? &s_->raw : nullptr; }

 private:
  struct State {
    graft_tensor raw{};
    std::vector<int64_t> dims;
    std::shared_ptr<const void> keeper;
  };
  std::shared_ptr<State> s_;
};

}  // namespace graft
