// A tensor in memory, seen but not owned.
//
//   TensorView x = ctx.input(0);
//   std::vector<double> v = x.to<double>();     // any element type, converted
//   const float* p = x.data<float>();           // the memory itself; the type must match
//   ctx.output(0).assign(v);                    // converted back
#pragma once

#include <span>
#include <string>
#include <vector>

#include "types.hpp"

namespace [[gnu::visibility("hidden")]] graft {

// The host's functions, given at the entry; one per binary.
inline const graft_host* host = nullptr;

inline void check(graft_status status) {
  // The host has noted the reason; this only unwinds our own frames.
  if (status != GRAFT_OK) throw Failure{status, {}, {}};
}

class TensorView {
 public:
  TensorView() = default;
  explicit TensorView(const graft_tensor* t) : t_(const_cast<graft_tensor*>(t)) {}

  explicit operator bool() const { return t_ != nullptr; }
  DType type() const { return static_cast<DType>(t_->type); }
  size_t rank() const { return static_cast<size_t>(t_->rank); }
  std::span<const int64_t> dims() const { return {t_->dims, rank()}; }
  int64_t dim(size_t axis) const {
    if (axis >= rank()) [[unlikely]]
      fail("expected a rank of at least ", axis + 1, ", got ", info().shape);
    return t_->dims[axis];
  }
  int64_t size() const {  // elements
    int64_t n = 1;
    for (int64_t d : dims()) n *= d;
    return n;
  }
  Info info() const { return {type(), Shape::of(dims())}; }

  void* bytes() const { return t_->data; }
  template <class T>
  T* data() const {
    if (type() != dtype_of<std::remove_const_t<T>>())
      fail("tensor holds ", type(), ", not ", dtype_of<std::remove_const_t<T>>());
    return static_cast<T*>(t_->data);
  }

  // A copy of the elements as T: double, float, int64_t, uint64_t, ...
  template <class T>
  std::vector<T> to() const {
    std::vector<T> values(static_cast<size_t>(size()));
    graft_tensor target{sizeof(graft_tensor), static_cast<graft_type>(dtype_of<T>()), t_->rank, 0, t_->dims, nullptr,
                        values.data()};
    check(host->convert(t_, &target));
    return values;
  }
  // The only element, of a scalar or a one-element list.
  template <class T>
  T scalar() const {
    if (size() != 1) fail("one value is wanted, the tensor has shape ", info().shape);
    if constexpr (std::is_same_v<T, bool>) return to<uint8_t>()[0] != 0;
    else return to<T>()[0];
  }
  // Fills the elements from T, converted.
  template <class T>
  void assign(std::span<const T> values) const {
    if (static_cast<int64_t>(values.size()) != size()) fail("tensor of ", size(), " elements given ", values.size());
    graft_tensor source{
        sizeof(graft_tensor),         static_cast<graft_type>(dtype_of<T>()), t_->rank, 0, t_->dims, nullptr,
        const_cast<T*>(values.data())};
    check(host->convert(&source, t_));
  }
  template <class T>
  void assign(const std::vector<T>& values) const {
    assign(std::span<const T>(values));
  }
  // Copies the elements of `from`, converting where the types differ.
  void assign(TensorView from) const { check(host->convert(from.t_, t_)); }

  graft_tensor* raw() const { return t_; }

 private:
  graft_tensor* t_ = nullptr;
};

// A TensorView over values of one's own, for constants and arguments.
template <class T>
class LocalTensor {
 public:
  LocalTensor(std::vector<T> values, std::vector<int64_t> dims) : values_(std::move(values)), dims_(std::move(dims)) {
    t_ = {sizeof(graft_tensor),
          static_cast<graft_type>(dtype_of<T>()),
          static_cast<int32_t>(dims_.size()),
          0,
          dims_.data(),
          nullptr,
          values_.data()};
  }
  LocalTensor(const LocalTensor&) = delete;
  TensorView view() const { return TensorView(&t_); }
  operator TensorView() const { return view(); }

 private:
  std::vector<T> values_;
  std::vector<int64_t> dims_;
  graft_tensor t_;
};

// The elements of a tensor as plain byte cells, for kernels that only move them. Types below one byte are widened to
// one byte a cell; `write_back` packs them again.
class Cells {
 public:
  explicit Cells(TensorView t) : t_(t), cell_(is_packed(t.type()) ? 1 : bits_of(t.type()) / 8) {
    if (is_packed(t.type())) {
      wide_.resize(static_cast<size_t>(t.size()));
      graft_tensor target = wide();
      check(host->convert(t.raw(), &target));
    }
  }
  // For an output: nothing is read.
  static Cells blank(TensorView t) {
    Cells c;
    c.t_ = t;
    c.cell_ = is_packed(t.type()) ? 1 : static_cast<size_t>(bits_of(t.type())) / 8;
    if (is_packed(t.type())) c.wide_.resize(static_cast<size_t>(t.size()));
    return c;
  }
  size_t cell_size() const { return cell_; }
  unsigned char* data() {
    return wide_.empty() ? static_cast<unsigned char*>(t_.bytes()) : reinterpret_cast<unsigned char*>(wide_.data());
  }
  void write_back() {
    if (wide_.empty()) return;
    graft_tensor source = wide();
    check(host->convert(&source, t_.raw()));
  }

 private:
  Cells() = default;
  // Every sub-byte type survives a trip through int8 codes of its own family: integers by value, floats by f8e4m3.
  graft_tensor wide() {
    DType type = is_real(t_.type()) ? DType::f8e4m3 : is_signed_integer(t_.type()) ? DType::i8 : DType::u8;
    return {sizeof(graft_tensor), static_cast<graft_type>(type), t_.raw()->rank, 0, t_.raw()->dims, nullptr,
            wide_.data()};
  }
  TensorView t_;
  size_t cell_ = 0;
  std::vector<uint8_t> wide_;
};

}  // namespace graft
