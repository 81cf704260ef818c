// Matrices and arrays of matrices with the names of OpenCV. Included by layer.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>

#include "../extension.hpp"
#include "base.hpp"

namespace graft {
namespace [[gnu::visibility("default")]] opencv {

// The dimensions of a matrix.
struct MatSize {
  static constexpr int most = 32;
  MatSize() = default;
  explicit MatSize(const std::vector<int>& dims) : count(static_cast<int>(dims.size())) {
    if (dims.size() > most) fail("a matrix has at most ", most, " dimensions, got ", dims.size());
    std::copy(dims.begin(), dims.end(), p);
  }
  int operator[](int axis) const {
    if (axis < 0 || axis >= count) fail("there is no axis ", axis, ": the matrix has ", count, " dimensions");
    return p[axis];
  }
  int dims() const { return count; }
  std::vector<int> values() const { return {p, p + count}; }
  bool operator==(const MatSize& o) const { return count == o.count && std::equal(p, p + count, o.p); }
  int p[most] = {};
  int count = 0;
};

namespace detail {
inline float half_to_float(uint16_t h) {
  int exponent = h >> 10 & 31;
  float mantissa = static_cast<float>(h & 1023), sign = h & 0x8000 ? -1.0f : 1.0f;
  if (exponent == 31) return (h & 1023) ? std::nanf("") : sign * INFINITY;
  return sign * (exponent ? std::ldexp(1 + mantissa / 1024, exponent - 15) : std::ldexp(mantissa, -24));
}
inline uint16_t float_to_half(float f) {
  auto sign = static_cast<uint16_t>(std::signbit(f) ? 0x8000 : 0);
  float a = std::fabs(f);
  if (std::isnan(f)) return static_cast<uint16_t>(sign | 0x7e00);
  if (a >= 65520) return static_cast<uint16_t>(sign | 0x7c00);
  if (a < 0x1p-14f) return static_cast<uint16_t>(sign + static_cast<int>(std::nearbyint(std::ldexp(a, 24))));
  int exponent = std::ilogb(a);
  // A mantissa that is rounded up to 2048 carries into the exponent.
  return static_cast<uint16_t>(sign + ((exponent + 14) << 10) +
                               static_cast<int>(std::nearbyint(std::ldexp(a, 10 - exponent))));
}
template <class T>
T saturated(double v) {
  if constexpr (std::is_floating_point_v<T>) return static_cast<T>(v);
  else {
    if (std::isnan(v)) return 0;
    double low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
    return static_cast<T>(std::nearbyint(std::min(std::max(v, low), high)));
  }
}
}  // namespace detail

// A dense matrix of any number of dimensions, at least 2 (a vector is a column), over memory that it does not own, or
// that copies share.
class Mat {
 public:
  Mat() = default;
  Mat(std::vector<int> dims, int type) { create(std::move(dims), type); }
  Mat(std::vector<int> dims, int type, void* memory) { point(std::move(dims), type, memory); }
  Mat(int ndims, const int* sizes, int type) : Mat(std::vector<int>(sizes, sizes + ndims), type) {}
  Mat(int ndims, const int* sizes, int type, void* memory)
      : Mat(std::vector<int>(sizes, sizes + ndims), type, memory) {}
  Mat(int rows_, int cols_, int type) : Mat(std::vector<int>{rows_, cols_}, type) {}
  Mat(int rows_, int cols_, int type, void* memory) : Mat(std::vector<int>{rows_, cols_}, type, memory) {}
  Mat(std::vector<int> dims, int type, const Scalar& value) : Mat(std::move(dims), type) { setTo(value); }
  static Mat zeros(std::vector<int> dims, int type) { return {std::move(dims), type, Scalar()}; }

  // Allocates, unless the matrix has these dimensions and this type already.
  void create(std::vector<int> dims, int type) {
    while (dims.size() < 2) dims.push_back(1);
    if (data && type_ == type && size == MatSize(dims)) return;
    point(std::move(dims), type, nullptr);
    memory_ = std::make_shared<std::vector<unsigned char>>(total() * elemSize());
    data = memory_->data();
  }
  void create(int ndims, const int* sizes, int type) { create(std::vector<int>(sizes, sizes + ndims), type); }

  int dims = 0, rows = 0, cols = 0;  // rows and cols are -1 for more than two dimensions
  MatSize size;
  unsigned char* data = nullptr;

  int type() const { return type_; }
  int depth() const { return type_ & 7; }
  int channels() const { return (type_ >> 3) + 1; }
  bool empty() const { return total() == 0 || !data; }
  bool isContinuous() const { return true; }
  size_t elemSize1() const {
    constexpr size_t bytes[] = {1, 1, 2, 2, 4, 4, 8, 2};
    return bytes[depth()];
  }
  size_t elemSize() const { return elemSize1() * static_cast<size_t>(channels()); }
  size_t total() const { return total(0); }
  // The number of elements from this axis on, up to `last`.
  size_t total(int first, int last = MatSize::most) const {
    size_t n = dims > 0 ? 1 : 0;
    for (int i = first; i < std::min(dims, last); ++i) n *= static_cast<size_t>(size.p[i]);
    return n;
  }
  size_t step1(int axis = 0) const { return total(axis + 1) * static_cast<size_t>(channels()); }
  // The element with these leading indices; the remaining ones are 0.
  template <class T = unsigned char, class... Index>
  T* ptr(Index... index) const {
    size_t at = 0;
    int axis = 0;
    ((at += static_cast<size_t>(index) * total(++axis)), ...);
    return reinterpret_cast<T*>(data) + at;
  }
  template <class T = unsigned char>
  T* ptr(const int* index) const {
    size_t at = 0;
    for (int i = 0; i < dims; ++i) at += static_cast<size_t>(index[i]) * total(i + 1);
    return reinterpret_cast<T*>(data) + at;
  }
  template <class T, class... Index>
  T& at(Index... index) const {
    return *ptr<T>(index...);
  }

  Mat clone() const {
    Mat copy;
    copyTo(copy);
    return copy;
  }
  void copyTo(Mat& to) const {
    to.create(size.values(), type_);
    if (!empty()) std::memcpy(to.data, data, total() * elemSize());
  }
  // alpha * element + beta in another depth; integers are rounded and saturated.
  void convertTo(Mat& to, int type, double alpha = 1, double beta = 0) const {
    Mat from = *this;  // `to` may be this matrix
    int wanted = (type < 0 ? depth() : type & 7) + ((channels() - 1) << 3);
    to.create(size.values(), wanted);
    size_t n = total() * static_cast<size_t>(channels());
    bool same = alpha == 1 && beta == 0;  // and -0 stays as it is
    for (size_t i = 0; i < n; ++i) to.store(i, same ? from.load(i) : from.load(i) * alpha + beta);
  }
  Mat& setTo(const Scalar& value) {
    auto n = static_cast<size_t>(channels());
    for (size_t i = 0; i < total() * n; ++i) store(i, value[static_cast<int>(i % n % 4)]);
    return *this;
  }
  Mat& operator=(const Scalar& value) { return setTo(value); }
  // The same elements with other dimensions; channels stay as they are.
  Mat reshape(int cn, const std::vector<int>& dims_) const {
    if (cn != 0 && cn != channels()) fail("expected 0 or ", channels(), " channels in reshape, got ", cn);
    Mat out = *this;
    out.point(dims_, type_, data);
    if (out.total() != total()) fail("reshape: expected ", total(), " elements, got ", out.total());
    out.memory_ = memory_;
    return out;
  }
  Mat reshape(int cn, int ndims, const int* sizes) const { return reshape(cn, std::vector<int>(sizes, sizes + ndims)); }
  Mat reshape(int cn, int rows_) const { return reshape(cn, {rows_, rows_ ? static_cast<int>(total()) / rows_ : 0}); }

 private:
  void point(std::vector<int> d, int type, void* memory) {
    while (d.size() < 2) d.push_back(1);
    size = MatSize(d), dims = size.count, type_ = type;
    rows = dims == 2 ? d[0] : -1, cols = dims == 2 ? d[1] : -1;
    data = static_cast<unsigned char*>(memory), memory_ = nullptr;
  }
  template <class T>
  T* items() const {
    return reinterpret_cast<T*>(data);
  }
  double load(size_t i) const {
    switch (depth()) {
      case 0: return items<uint8_t>()[i];
      case 1: return items<int8_t>()[i];
      case 2: return items<uint16_t>()[i];
      case 3: return items<int16_t>()[i];
      case 4: return items<int32_t>()[i];
      case 5: return static_cast<double>(items<float>()[i]);
      case 6: return items<double>()[i];
      default: return static_cast<double>(detail::half_to_float(items<uint16_t>()[i]));
    }
  }
  void store(size_t i, double v) const {
    switch (depth()) {
      case 0: items<uint8_t>()[i] = detail::saturated<uint8_t>(v); break;
      case 1: items<int8_t>()[i] = detail::saturated<int8_t>(v); break;
      case 2: items<uint16_t>()[i] = detail::saturated<uint16_t>(v); break;
      case 3: items<int16_t>()[i] = detail::saturated<int16_t>(v); break;
      case 4: items<int32_t>()[i] = detail::saturated<int32_t>(v); break;
      case 5: items<float>()[i] = static_cast<float>(v); break;
      case 6: items<double>()[i] = v; break;
      default: items<uint16_t>()[i] = detail::float_to_half(static_cast<float>(v));
    }
  }
  int type_ = 5;
  std::shared_ptr<std::vector<unsigned char>> memory_;
};

// A matrix or several: what functions of OpenCV take as InputArray and InputArrayOfArrays. It refers to them.
class InputArrays {
 public:
  InputArrays() = default;
  InputArrays(const Mat& m) : one_(&m) {}
  InputArrays(const std::vector<Mat>& all) : all_(&all) {}
  explicit InputArrays(const std::vector<Mat*>& all) : pointers_(&all) {}

  // The matrices share their memory: writing to their elements is writing to the outputs.
  void getMatVector(std::vector<Mat>& to) const {
    to.resize(total());
    for (size_t i = 0; i < to.size(); ++i) to[i] = at(static_cast<int>(i));
  }
  Mat getMat(int i = -1) const { return at(i); }
  size_t total(int i = -1) const {
    if (i >= 0 || one_) return at(i).total();
    return all_ ? all_->size() : pointers_ ? pointers_->size() : 0;
  }
  int depth(int i = -1) const { return at(i).depth(); }
  int type(int i = -1) const { return at(i).type(); }
  int dims(int i = -1) const { return at(i).dims; }
  bool empty() const { return one_ ? one_->empty() : total() == 0; }
  bool isMat() const { return one_ != nullptr; }
  bool isMatVector() const { return one_ == nullptr; }

 protected:
  // -1: the only one, or the first of several.
  const Mat& at(int i) const {
    if (one_) return *one_;
    auto index = static_cast<size_t>(std::max(i, 0));
    if (index >= (all_ ? all_->size() : pointers_ ? pointers_->size() : 0))
      fail("there is no matrix ", index, ": the array has ", all_ ? all_->size() : pointers_ ? pointers_->size() : 0);
    return all_ ? (*all_)[index] : *(*pointers_)[index];
  }

 private:
  const Mat* one_ = nullptr;
  const std::vector<Mat>* all_ = nullptr;
  const std::vector<Mat*>* pointers_ = nullptr;
};

class OutputArrays : public InputArrays {
 public:
  OutputArrays() = default;
  OutputArrays(Mat& m) : InputArrays(m) {}
  OutputArrays(std::vector<Mat>& all) : InputArrays(all), all_(&all) {}

  Mat& getMatRef(int i = -1) const { return const_cast<Mat&>(at(i)); }
  void create(const std::vector<int>& dims, int type, int i = -1) const { getMatRef(i).create(dims, type); }
  void assign(const std::vector<Mat>& matrices) const {
    if (!all_) fail("expected an array of several matrices");
    all_->resize(matrices.size());
    for (size_t i = 0; i < matrices.size(); ++i) matrices[i].copyTo((*all_)[i]);
  }
  void assign(const Mat& m) const { m.copyTo(getMatRef()); }

 private:
  std::vector<Mat>* all_ = nullptr;
};

using InputArray = const InputArrays&;
using InputArrayOfArrays = const InputArrays&;
using OutputArray = const OutputArrays&;
using OutputArrayOfArrays = const OutputArrays&;

}  // namespace opencv
}  // namespace graft
