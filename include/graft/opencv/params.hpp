// Parameters of layers with the names of OpenCV. Included by layer.hpp.
#pragma once

#include <map>

#include "mat.hpp"

namespace graft {
namespace [[gnu::visibility("default")]] opencv {
namespace dnn {

// One or more integers, numbers or strings; they convert as OpenCV's do.
class DictValue {
 public:
  DictValue(std::vector<int64_t> v) : ints_(std::move(v)) {}
  DictValue(std::vector<double> v) : reals_(std::move(v)) {}
  DictValue(std::vector<std::string> v) : texts_(std::move(v)) {}
  template <class T>
  requires(std::is_arithmetic_v<T>) DictValue(T v) {
    if constexpr (std::is_integral_v<T>) ints_ = {static_cast<int64_t>(v)};
    else reals_ = {static_cast<double>(v)};
  }
  DictValue(const char* v) : texts_{v} {}
  DictValue(std::string v) : texts_{std::move(v)} {}
  template <class Iterator>
  static DictValue arrayInt(Iterator begin, int n) {
    return std::vector<int64_t>(begin, begin + n);
  }
  template <class Iterator>
  static DictValue arrayReal(Iterator begin, int n) {
    return std::vector<double>(begin, begin + n);
  }
  template <class Iterator>
  static DictValue arrayString(Iterator begin, int n) {
    return std::vector<std::string>(begin, begin + n);
  }

  bool isInt() const { return !ints_.empty(); }
  bool isReal() const { return !reals_.empty() || isInt(); }
  bool isString() const { return !texts_.empty(); }
  int size() const { return static_cast<int>(ints_.size() + reals_.size() + texts_.size()); }
  // Element `i`; -1: the only one.
  template <class T>
  T get(int i = -1) const {
    if (i < 0 && size() != 1) fail("expected a single value, got ", size());
    auto at = static_cast<size_t>(std::max(i, 0));
    if (at >= static_cast<size_t>(size())) fail("there is no element ", i, ": the value has ", size());
    if constexpr (std::is_same_v<T, std::string>) {
      if (!isString()) fail("expected a string, got a number");
      return texts_[at];
    } else if constexpr (std::is_same_v<T, bool>) return get<int64_t>(i) != 0;
    else if constexpr (std::is_integral_v<T>) {
      if (isString()) return narrow<T>(std::strtoll(texts_[at].c_str(), nullptr, 10));
      return narrow<T>(isInt() ? ints_[at] : whole_number(reals_[at]));
    } else {
      if (isString()) return static_cast<T>(std::strtod(texts_[at].c_str(), nullptr));
      return isInt() ? static_cast<T>(ints_[at]) : static_cast<T>(reals_[at]);
    }
  }
  int getIntValue(int i = -1) const { return get<int>(i); }
  double getRealValue(int i = -1) const { return get<double>(i); }
  std::string getStringValue(int i = -1) const { return get<std::string>(i); }

 private:
  std::vector<int64_t> ints_;
  std::vector<double> reals_;
  std::vector<std::string> texts_;
};

class Dict {
 public:
  bool has(const std::string& key) const { return values_.count(key) > 0; }
  const DictValue* ptr(const std::string& key) const { return has(key) ? &get(key) : nullptr; }
  const DictValue& get(const std::string& key) const {
    auto it = values_.find(key);
    if (it == values_.end()) fail("required parameter '", key, "' is missing");
    return it->second;
  }
  template <class T>
  T get(const std::string& key) const {
    try {
      return get(key).get<T>();
    } catch (Failure& f) {
      if (has(key)) f.message = text("parameter '", key, "': ", f.message);
      throw;
    }
  }
  template <class T>
  T get(const std::string& key, const T& fallback) const {
    return has(key) ? get<T>(key) : fallback;
  }
  void set(const std::string& key, DictValue value) { values_.insert_or_assign(key, std::move(value)); }
  void erase(const std::string& key) { values_.erase(key); }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }

 private:
  std::map<std::string, DictValue> values_;
};

class LayerParams : public Dict {
 public:
  std::vector<Mat> blobs;  // weights
  String name, type;
};

}  // namespace dnn
}  // namespace opencv
}  // namespace graft
