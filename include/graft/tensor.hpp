// A tensor in memory that the SDK sees but does not own.
//
//   TensorView x = ctx.input(0);
//   std::vector<double> v = x.to<double>();     // a converted copy, whatever the element type
//   const float* p = x.data<float>();           // the memory itself; the type must match
//   ctx.output(0).assign(v);                    // converted back to the type of the output
//
// Reference kernels use `to` and `assign`: one function covers all element types, at the price of a copy. Fast kernels
// check the type in `accept` and use `data`.
//
// Views are pointers to tensors of the host: cheap to copy, and valid only as long as the callback that received them
// runs (constants: as long as the node). Any number of threads may read a tensor; writing is up to the kernel that owns
// the output. Errors are thrown as Failure (types.hpp).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "types.hpp"

namespace [[gnu::visibility("hidden")]] graft {

// The host's functions. Set once at the entry (extension.hpp) and constant afterwards; one variable per binary.
inline const graft_host* host = nullptr;

// Throws if a host function has failed:
//
//   check(host->set_output(node, 0, &info));
//
// The host has recorded the reason; the empty Failure only unwinds our own frames.
inline void check(graft_status status) {
  // The host has noted the reason; this only unwinds our own frames.
  if (status != GRAFT_OK) throw Failure{status, {}, {}};
}

// An empty view (false in a condition) stands for an absent input or an unknown constant; all but operator bool fail on
// it.
class TensorView {
 public:
  TensorView() = default;
  explicit TensorView(const graft_tensor* t) : t_(const_cast<graft_tensor*>(t)) {}

  explicit operator bool() const { return t_ != nullptr; }
  // Element type and rank.
  DType type() const { return static_cast<DType>(existing().type); }
  size_t rank() const { return static_cast<size_t>(existing().rank); }
  // The dimensions; all known, since the tensor exists.
  std::span<const int64_t> dims() const { return {existing().dims, rank()}; }
  int64_t dim(size_t axis) const {
    if (axis >= rank()) [[unlikely]]
      fail("expected a rank of at least ", axis + 1, ", got ", info().shape);
    return t_->dims[axis];
  }
  // The number of elements: 1 for a scalar, 0 if any dimension is 0.
  int64_t size() const {
    int64_t n = 1;
    for (int64_t d : dims()) (void)__builtin_mul_overflow(n, d, &n);  // only where another dimension is 0
    return n;
  }
  // Type and shape together, for messages and shape functions.
  Info info() const { return {type(), Shape::of(dims())}; }

  // The memory, dense and row-major, regardless of the element type.
  void* bytes() const { return existing().data; }
  // The memory as an array of T; fails unless T corresponds to the element type exactly. Strings are graft_str. T may
  // be const for inputs:
  //
  //   const float* x = ctx.input(0).data<const float>();
  //   float* y = ctx.output(0).data<float>();
  template <class T>
  T* data() const {
    if (type() != dtype_of<std::remove_const_t<T>>())
      fail("expected a tensor of ", dtype_of<std::remove_const_t<T>>(), ", got ", type());
    return static_cast<T*>(t_->data);
  }

  // A copy of all elements, converted to T: double, float, int64_t, uint64_t, ... Conversion from floating point to
  // integer truncates and saturates. Narrowing integers wrap around. Packed types are unpacked.
  template <class T>
  std::vector<T> to() const {
    std::vector<T> values(static_cast<size_t>(size()));
    graft_tensor target{sizeof(graft_tensor), static_cast<graft_type>(dtype_of<T>()), t_->rank, 0, t_->dims, nullptr,
                        values.data()};
    check(host->convert(t_, &target));
    return values;
  }
  // The only element of a tensor with one element, of any rank; fails for any other size. Models store a "scalar" as a
  // scalar, as [1] or as [1,1].
  template <class T>
  T scalar() const {
    if (size() != 1) fail("expected a tensor with a single element, got shape ", info().shape);
    if constexpr (std::is_same_v<T, bool>) return to<uint8_t>()[0] != 0;
    else return to<T>()[0];
  }
  // Sets all elements, converted from T as described above. The number of values must match.
  template <class T>
  void assign(std::span<const T> values) const {
    if (static_cast<int64_t>(values.size()) != size())
      fail("expected ", size(), " values to fill the tensor, got ", values.size());
    graft_tensor source{
        sizeof(graft_tensor),         static_cast<graft_type>(dtype_of<T>()), t_->rank, 0, t_->dims, nullptr,
        const_cast<T*>(values.data())};
    check(host->convert(&source, t_));
  }
  template <class T>
  void assign(const std::vector<T>& values) const {
    assign(std::span<const T>(values));
  }
  // Copies the elements of `from`, converting them if the types differ. The number of elements must match.
  void assign(TensorView from) const { check(host->convert(from.t_, t_)); }

  // The C form, for host functions.
  graft_tensor* raw() const { return t_; }

 private:
  const graft_tensor& existing() const {
    if (!t_) [[unlikely]]
      fail("expected a tensor, but it is absent or not constant");
    return *t_;
  }
  graft_tensor* t_ = nullptr;
};

// A tensor over values of one's own, for constants and arguments:
//
//   layer.constant(LocalTensor<float>({1, 2, 3}, {3}));
//
// Owns the values; its view is valid as long as the object, which is therefore neither copied nor moved.
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

// The elements of a tensor as byte cells of equal size, for kernels that only move them (Transpose, Concat, Gather):
//
//   Cells from(ctx.input(0)), to = Cells::blank(ctx.output(0));
//   size_t n = from.cell_size();
//   std::memcpy(to.data() + i * n, from.data() + j * n, n);   // element j becomes element i
//   to.write_back();
//
// Packed types are expanded to one byte per cell; `write_back` packs them again. The tensor must outlive the Cells.
class Cells {
 public:
  explicit Cells(TensorView t) : t_(t), cell_(is_packed(t.type()) ? 1 : bits_of(t.type()) / 8) {
    if (is_packed(t.type())) {
      wide_.resize(static_cast<size_t>(t.size()));
      graft_tensor target = wide();
      check(host->convert(t.raw(), &target));
    }
  }
  // For an output: the current contents are not read. Call write_back when done.
  static Cells blank(TensorView t) {
    Cells c;
    c.t_ = t;
    c.cell_ = is_packed(t.type()) ? 1 : static_cast<size_t>(bits_of(t.type())) / 8;
    if (is_packed(t.type())) c.wide_.resize(static_cast<size_t>(t.size()));
    return c;
  }
  // Bytes per cell.
  size_t cell_size() const { return cell_; }
  // The cells in row-major order: the tensor's own memory, or the expanded copy of a packed one.
  unsigned char* data() {
    return wide_.empty() ? static_cast<unsigned char*>(t_.bytes()) : reinterpret_cast<unsigned char*>(wide_.data());
  }
  // Stores expanded elements back into a packed tensor; does nothing for other types.
  void write_back() {
    if (wide_.empty()) return;
    graft_tensor source = wide();
    check(host->convert(&source, t_.raw()));
  }

 private:
  Cells() = default;
  // Every packed type survives the round trip: integers through i8 or u8 by value, floats through f8e4m3.
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
