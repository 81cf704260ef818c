// A tensor in memory that the SDK sees but does not own.
//
//   TensorView x = ctx.input(0);
//   std::vector<double> v = x.to<double>();     // a converted copy, whatever the element type
//   const float* p = x.data<float>();           // the memory itself; the type must match
//   ctx.output(0).assign(v);                    // converted back to the type of the output
//
// Reference kernels use `to` and `assign`: one function covers all element types, at the price of a copy. Fast kernels
// check the type in `accept` and use `data`. A TensorView is read-only; outputs are OutputViews.
//
// Views are pointers to tensors of the host: cheap to copy, and valid only as long as the callback that received them
// runs (constants: as long as the node). Any number of threads may read a tensor. Errors are thrown as Failure
// (types.hpp).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "types.hpp"

namespace [[gnu::visibility("hidden")]] graft {

// The host's functions. Set once at the entry (extension.hpp) and constant afterwards; one variable per binary.
inline const graft_host* host = nullptr;

// Writes a line to the host's log, which the user sees from the level chosen with --log_level on:
//
//   log_message(Log::warning, "the model has ", n, " classes, the labels have ", m);
enum class Log { error, warning, info, debug };
template <class... Parts>
void log_message(Log level, const Parts&... parts) {
  std::string line = text(parts...);
  host->log(static_cast<int32_t>(level), str(line));
}

// Throws if a host function has failed:
//
//   check(host->set_output(node, 0, &info));
//
// The host has recorded the reason; the empty Failure only unwinds our own frames.
inline void check(graft_status status) {
  if (status != GRAFT_OK) throw Failure{status, {}, {}};
}

// An empty view (false in a condition) stands for an absent input or an unknown constant; all but operator bool fail on
// it.
class TensorView {
 public:
  TensorView() = default;
  explicit TensorView(const graft_tensor* t) : t_(t) {}

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
  const void* bytes() const { return memory(); }
  // The memory as an array of T; fails unless T corresponds to the element type exactly. Strings are graft_str:
  //
  //   const float* x = ctx.input(0).data<float>();
  template <class T>
  const T* data() const {
    check_type(dtype_of<std::remove_const_t<T>>());
    return static_cast<const T*>(memory());
  }

  // The order of the elements in memory.
  Layout layout() const { return static_cast<Layout>(existing().layout); }
  // The memory of a tensor whose layout is channels_last: [N, H, W, C] for the dimensions [N, C, H, W].
  template <class T>
  const T* channels_last() const {
    check_type(dtype_of<std::remove_const_t<T>>());
    return static_cast<const T*>(memory_of(Layout::channels_last));
  }

  // A copy of all elements, converted to T: double, float, int64_t, uint64_t, ... Conversion from floating point to
  // integer truncates and saturates. Narrowing integers wrap around. Packed types are unpacked.
  template <class T>
  std::vector<T> to() const {
    std::vector<T> values(static_cast<size_t>(size()));
    graft_tensor target{sizeof(graft_tensor), static_cast<graft_type>(dtype_of<T>()), t_->rank, 0, t_->dims, nullptr,
                        values.data()};
    memory();
    check(host->convert(t_, &target));
    return values;
  }
  // The only element of a tensor with one element, of any rank; fails for any other size. Models store a "scalar" as a
  // scalar, as [1] or as [1,1].
  template <class T>
  T scalar() const {
    if (size() != 1) fail("expected a tensor with a single element, got shape ", info().shape);
    if constexpr (std::is_same_v<T, bool>) return to<double>()[0] != 0;  // as integers, small numbers would be 0
    else return to<T>()[0];
  }
  // The C form, for host functions.
  const graft_tensor* raw() const { return t_; }

 protected:
  void check_type(DType expected) const {
    if (type() != expected) [[unlikely]]
      fail("expected a tensor of ", expected, ", got ", type());
  }
  void* memory() const { return memory_of(Layout::plain); }
  // Outputs with a data-dependent shape have no memory before Run::allocate, and inputs that `pack` took have no data.
  void* memory_of(Layout expected) const {
    if (!existing().data && size() > 0) [[unlikely]]
      fail(t_->dims ? "the input has no data: `pack` has taken it; read it there with constant instead of take"
                    : "the output has no memory yet: call allocate for an output with a data-dependent shape");
    if (layout() != expected) [[unlikely]]
      fail(expected == Layout::plain ? "expected a plain tensor, got one with the channels last"
                                     : "expected a tensor with the channels last, got a plain one");
    return t_->data;
  }
  // Which tensors exist is up to untrusted files.
  const graft_tensor& existing() const {
    if (!t_) [[unlikely]]
      fail("expected a tensor, but it is absent or not constant");
    return *t_;
  }
  const graft_tensor* t_ = nullptr;
};

// An output of a kernel: a tensor that may be written.
class OutputView : public TensorView {
 public:
  OutputView() = default;
  explicit OutputView(graft_tensor* t) : TensorView(t) {}

  void* bytes() const { return memory(); }
  //   float* y = ctx.output(0).data<float>();
  template <class T>
  T* data() const {
    check_type(dtype_of<std::remove_const_t<T>>());
    return static_cast<T*>(memory());
  }
  template <class T>
  T* channels_last() const {
    check_type(dtype_of<std::remove_const_t<T>>());
    return static_cast<T*>(memory_of(Layout::channels_last));
  }
  // Sets all elements, converted from T as described at TensorView::to. The number of values must match.
  template <class T>
  void assign(std::span<const T> values) const {
    if (static_cast<int64_t>(values.size()) != size())
      fail("expected ", size(), " values to fill the tensor, got ", values.size());
    graft_tensor source{
        sizeof(graft_tensor),         static_cast<graft_type>(dtype_of<T>()), t_->rank, 0, t_->dims, nullptr,
        const_cast<T*>(values.data())};
    memory();
    check(host->convert(&source, raw()));
  }
  template <class T>
  void assign(const std::vector<T>& values) const {
    assign(std::span<const T>(values));
  }
  // Copies the elements of `from`, converting them if the types differ. The number of elements must match.
  void assign(TensorView from) const {
    memory();
    check(host->convert(from.raw(), raw()));
  }

  graft_tensor* raw() const { return const_cast<graft_tensor*>(t_); }
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
  OutputView output() { return OutputView(&t_); }
  operator TensorView() const { return view(); }

 private:
  std::vector<T> values_;
  std::vector<int64_t> dims_;
  graft_tensor t_;
};

// The elements of a tensor as byte cells of equal size, for kernels that only move them (Transpose, Concat, Gather):
//
//   Cells from(ctx.input(0));
//   OutputCells to(ctx.output(0));
//   size_t n = from.cell_size();
//   std::memcpy(to.data() + i * n, from.data() + j * n, n);   // element j becomes element i
//   to.write_back();
//
// Packed types are expanded to one byte per cell; `write_back` packs them again. The tensor must outlive the cells.
class Cells {
 public:
  explicit Cells(TensorView t) : t_(t) {
    if (!is_packed(t.type())) return;
    wide_.resize(static_cast<size_t>(t.size()));
    graft_tensor target = expanded(t, wide_.data());
    check(host->convert(t.raw(), &target));
  }
  // Bytes per cell.
  size_t cell_size() const { return size_of(t_); }
  // The cells in row-major order: the tensor's own memory, or the expanded copy of a packed one.
  const unsigned char* data() const {
    return wide_.empty() ? static_cast<const unsigned char*>(t_.bytes()) : wide_.data();
  }

  static size_t size_of(TensorView t) { return is_packed(t.type()) ? 1 : static_cast<size_t>(bits_of(t.type())) / 8; }
  // The expanded form of a packed tensor. Every packed type survives the round trip: integers through i8 or u8 by
  // value, floats through f8e4m3.
  static graft_tensor expanded(TensorView t, void* data) {
    DType type = is_real(t.type()) ? DType::f8e4m3 : is_signed_integer(t.type()) ? DType::i8 : DType::u8;
    return {sizeof(graft_tensor), static_cast<graft_type>(type), t.raw()->rank, 0, t.raw()->dims, nullptr, data};
  }

 private:
  TensorView t_;
  std::vector<unsigned char> wide_;
};

// The cells of an output; the current contents are not read. Call write_back when done.
class OutputCells {
 public:
  explicit OutputCells(OutputView t) : t_(t), wide_(is_packed(t.type()) ? static_cast<size_t>(t.size()) : 0) {}
  size_t cell_size() const { return Cells::size_of(t_); }
  unsigned char* data() { return wide_.empty() ? static_cast<unsigned char*>(t_.bytes()) : wide_.data(); }
  // Stores expanded elements back into a packed tensor; does nothing for other types.
  void write_back() {
    if (wide_.empty()) return;
    graft_tensor source = Cells::expanded(t_, wide_.data());
    check(host->convert(&source, t_.raw()));
  }

 private:
  OutputView t_;
  std::vector<unsigned char> wide_;
};

}  // namespace graft
