// An attribute's value, owned.
#pragma once

#include <graft/abi.h>

#include <graft/memory.hpp>
#include <variant>

namespace graft {

inline constexpr size_t rank_limit = 32;  // of any value; readers and inference refuse more

class Attribute {
 public:
  // Index of an alternative == graft_kind, so that kind() needs no table.
  using Data = std::variant<std::monostate, bool, int64_t, double, std::string, DType, Shape, Tensor,
                            std::vector<int64_t>, std::vector<double>, std::vector<std::string>, std::vector<DType>>;

  Attribute() = default;
  template <class T>
  requires(std::is_constructible_v<Data, T> && !std::is_same_v<std::remove_cvref_t<T>, Attribute>) Attribute(T&& value)
      : data_(std::forward<T>(value)) {}
  static Attribute from(const graft_value& v);

  graft_kind kind() const { return static_cast<graft_kind>(data_.index()); }
  template <class T>
  const T& as() const {
    return std::get<T>(data_);
  }
  template <class T>
  const T* get_if() const {
    return std::get_if<T>(&data_);
  }
  const Data& data() const { return data_; }
  bool operator==(const Attribute& o) const;

  // The value in its ABI form; points into this object. Lists of strings and of types need `store` as their storage.
  graft_value raw(std::vector<graft_str>& texts, std::vector<graft_type>& types) const;

 private:
  Data data_;
};

std::string_view kind_name(graft_kind kind);

// Attributes of a node in order.
class Attributes {
 public:
  const Attribute* find(std::string_view name) const;
  Attribute& operator[](const std::string& name);  // adds it at the end when new
  void erase(std::string_view name);
  bool empty() const { return items_.empty(); }
  size_t size() const { return items_.size(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  bool operator==(const Attributes&) const = default;

 private:
  std::vector<std::pair<std::string, Attribute>> items_;
};

}  // namespace graft
