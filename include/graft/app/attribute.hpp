// The value of an attribute or of a framework's field, owned.
//
//   for (const auto& [name, value] : layer.fields)
//     if (const int64_t* axis = value.get_if<int64_t>()) ...
//     else std::puts(graft::print(value).c_str());
//
// A plain value: copies are independent, except that copies of a tensor share its memory.
#pragma once

#include <variant>

#include "../abi.h"
#include "memory.hpp"

namespace graft {

class GRAFT_API Attribute {
 public:
  // The index of an alternative is its graft_kind.
  using Data = std::variant<std::monostate, bool, int64_t, double, std::string, DType, Shape, Tensor,
                            std::vector<int64_t>, std::vector<double>, std::vector<std::string>, std::vector<DType>>;

  Attribute() = default;
  template <class T>
  requires(std::is_constructible_v<Data, T> && !std::is_same_v<std::remove_cvref_t<T>, Attribute>) Attribute(T&& value)
      : data_(std::forward<T>(value)) {}
  // A copy of the value in its ABI form.
  static Attribute from(const graft_value& v);

  graft_kind kind() const { return static_cast<graft_kind>(data_.index()); }
  // The value; T must be the alternative that kind() names.
  template <class T>
  const T& as() const {
    return std::get<T>(data_);
  }
  // Null if the value has another kind.
  template <class T>
  const T* get_if() const {
    return std::get_if<T>(&data_);
  }
  const Data& data() const { return data_; }
  bool operator==(const Attribute& o) const;

  // The value in its ABI form; points into this object. Lists of strings and of types need `texts` and `types` as their
  // storage.
  graft_value raw(std::vector<graft_str>& texts, std::vector<graft_type>& types) const;

 private:
  Data data_;
};

// "int", "list of floats", ...
GRAFT_API std::string_view kind_name(graft_kind kind);

// In the textual form: 1, "text", [1, 2], f32, f32[2] {1, 2}.
GRAFT_API std::string print(const Attribute& value);
// A tensor as `f32[2] {1, 2}`, truncated after `limit` values.
GRAFT_API std::string print(const Tensor& t, size_t limit = SIZE_MAX);

}  // namespace graft
