// The attributes of a node; graft/app/attribute.hpp has the value of one.
#pragma once

#include <graft/app/attribute.hpp>

namespace graft {

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
