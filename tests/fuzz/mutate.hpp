// Changes of a model that keep it a model: attributes, shapes, types, edges, ports, constants, layers.
#pragma once

#include <array>

#include "document.hpp"

namespace graft::fuzzing {

// A small generator (splitmix64): the same numbers from the same seed everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  size_t below(size_t n) { return n ? next() % n : 0; }
  bool one_in(size_t n) { return below(n) == 0; }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  template <class List>
  auto& pick(List& list) {
    return list[below(std::size(list))];
  }

 private:
  uint64_t state_;
};

// What attributes and dimensions are tried with.
extern const std::vector<int64_t> extreme_integers;
extern const std::vector<double> extreme_reals;

// Applies one to four changes. Attributes, layers and words of `others` are put into the document.
void mutate(Document& d, Random& r, const std::vector<Document>& others);

}  // namespace graft::fuzzing
