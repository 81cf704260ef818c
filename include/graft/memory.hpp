// A tensor that owns, or keeps alive, its memory. Copies share it.
//
//   Tensor x(DType::f32, {1, 3, 224, 224});            // fresh, not initialised
//   Tensor y = Tensor::wrap(DType::f32, {4}, mine);    // the caller's memory, no copy; must outlive every use
#pragma once

#include <memory>

#include "error.hpp"
#include "types.hpp"

namespace graft {

class GRAFT_API Tensor {
 public:
  Tensor() = default;  // none
  Tensor(DType type, std::vector<int64_t> dims);
  // Memory of somebody else; `keeper` is held as long as the tensor lives.
  static Tensor wrap(DType type, std::vector<int64_t> dims, void* data, std::shared_ptr<const void> keeper = {});
  static Tensor strings(std::vector<int64_t> dims, std::vector<std::string> values);

  explicit operator bool() const { return s_ != nullptr; }
  DType type() const { return static_cast<DType>(s_->raw.type); }
  const std::vector<int64_t>& dims() const { return s_->dims; }
  int64_t size() const;  // elements
  size_t bytes() const;  // of memory
  void* data() const { return s_->raw.data; }
  template <class T>
  T* data() const {
    if (type() != dtype_of<std::remove_const_t<T>>())
      throw Error(ErrorKind::user, text("tensor holds ", type(), ", not ", dtype_of<std::remove_const_t<T>>()));
    return static_cast<T*>(s_->raw.data);
  }
  // Element `index` of a string tensor.
  std::string_view text_at(int64_t index) const;

  // The same memory under other dimensions of as many elements.
  Tensor reshaped(std::vector<int64_t> dims) const;
  // A copy of one's own, dense and aligned.
  Tensor clone() const;
  // Converted to another element type (a copy, or this one when it fits already).
  Tensor to(DType type) const;

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
