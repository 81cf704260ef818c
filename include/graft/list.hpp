// Lists whose length an untrusted file decides.
//
//   auto pads = exactly(layer.get<std::vector<int64_t>>("pads"), 2 * rank, "pads");   // "expected 8 pads, got 2"
//   CheckedList scales = layer.get<std::vector<float>>("scales");
//   float first = scales[0];                                                          // an error if there is none
//
// A rule that indexes one list by the length of another, or by a rank, takes it through one of these.
#pragma once

#include <optional>

#include "types.hpp"

namespace [[gnu::visibility("hidden")]] graft {

// A std::vector that checks its indices: an element that does not exist is an error, not the memory of something else.
template <class T>
class CheckedList : public std::vector<T> {
 public:
  using Base = std::vector<T>;
  CheckedList() = default;
  CheckedList(Base list) : Base(std::move(list)) {}

  typename Base::reference operator[](size_t i) { return Base::operator[](existing(i)); }
  typename Base::const_reference operator[](size_t i) const { return Base::operator[](existing(i)); }
  typename Base::reference front() { return (*this)[0]; }
  typename Base::const_reference front() const { return (*this)[0]; }
  typename Base::reference back() { return (*this)[this->size() - 1]; }
  typename Base::const_reference back() const { return (*this)[this->size() - 1]; }

 private:
  size_t existing(size_t i) const {
    if (i < this->size()) [[likely]]
      return i;
    if (this->empty()) fail("expected a list with elements, got an empty one");
    fail("expected a list of at least ", i + 1, " elements, got ", this->size());
  }
};
template <class T>
CheckedList(std::vector<T>) -> CheckedList<T>;

// The list, of which there must be `count` elements.
template <class T>
CheckedList<T> exactly(std::vector<T> list, size_t count, std::string_view what) {
  if (list.size() != count) fail("expected ", count, " ", what, ", got ", list.size());
  return list;
}
// A constant, if it is one: Value::values.
template <class T>
std::optional<CheckedList<T>> exactly(std::optional<std::vector<T>> list, size_t count, std::string_view what) {
  if (!list) return std::nullopt;
  return exactly(std::move(*list), count, what);
}

}  // namespace graft
