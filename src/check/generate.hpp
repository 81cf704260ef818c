// Cases for an operation: made from its schema, or by changing cases that are known to be valid.
#pragma once

#include <random>

#include "check/sample.hpp"

namespace graft::testing {

class Generator {
 public:
  // `seeds` are valid samples: those of examples and .test files.
  Generator(const Registry& registry, const OpDef& op, std::vector<Sample> seeds, uint64_t seed);

  // Case `number`; always the same for the same seed and seeds. The seeds come first. None: every attempt was refused,
  // `refusal` has the last reason.
  std::optional<Sample> make(int number);
  std::string refusal;

  using Random = std::mt19937_64;
  // What the schema alone suggests; the number selects type, rank and kind of values.
  Sample synthesize(Random& r, int number) const;
  // A value for an attribute beside inputs of this rank.
  Attribute random_attribute(Random& r, const graft_attr& a, size_t rank) const;

  // Smaller and simpler variants of a sample, the most promising first. They may be invalid.
  std::vector<Sample> simpler(const Sample& sample) const;
  // Resolves attributes and runs the shape function; false if it refuses, or the sample is too much work.
  bool valid(Sample& sample);

 private:
  Sample mutate(Random& r) const;

  const Registry& registry_;
  const OpDef& op_;
  std::vector<Sample> seeds_;
  uint64_t seed_;
};

inline int64_t below(Generator::Random& r, int64_t n) { return static_cast<int64_t>(r() % static_cast<uint64_t>(n)); }
inline bool chance(Generator::Random& r, int one_in) { return below(r, one_in) == 0; }
// The element types, the most usual ones first.
std::span<const DType> sampled_types();
Tensor random_tensor(Generator::Random& r, DType type, const std::vector<int64_t>& dims, bool specials);

}  // namespace graft::testing
