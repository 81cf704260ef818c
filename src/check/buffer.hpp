// Memory between guard zones, filled with a pattern that tells what was written.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/tensor.hpp"
#include "check/pages.hpp"

namespace graft::testing {

// The two patterns differ in every byte, so a byte that equals the pattern in a run with each was not written.
enum class Poison : uint8_t { first, second };

class GuardedBuffer {
 public:
  // `salt` tells buffers apart: a value that is copied from one to another is not taken for an unwritten one.
  explicit GuardedBuffer(size_t bytes, size_t salt = 0)
      : bytes_(bytes),
        guard_((std::clamp<size_t>(bytes, 1024, 1 << 19) / tensor_alignment + 1) * tensor_alignment),
        salt_(salt),
        memory_(allocate_between_pages(bytes + 2 * guard_)) {}

  void* data() const { return begin() + guard_; }
  size_t bytes() const { return bytes_; }
  void fill(Poison p) {
    pattern_ = p;
    for (size_t i = 0; i < bytes_ + 2 * guard_; ++i) begin()[i] = expected(p, i);
  }
  // Whether byte `i` of the data still has the pattern.
  bool untouched(size_t i) const { return begin()[guard_ + i] == expected(pattern_, guard_ + i); }
  // The first byte outside that was changed, relative to the data: negative before it, from bytes() on after it.
  std::optional<int64_t> damage() const {
    for (size_t i = guard_; i-- > 0;)
      if (begin()[i] != expected(pattern_, i)) return static_cast<int64_t>(i) - static_cast<int64_t>(guard_);
    for (size_t i = guard_ + bytes_; i < bytes_ + 2 * guard_; ++i)
      if (begin()[i] != expected(pattern_, i)) return static_cast<int64_t>(i) - static_cast<int64_t>(guard_);
    return std::nullopt;
  }

 private:
  uint8_t* begin() const { return static_cast<uint8_t*>(memory_.get()); }
  uint8_t expected(Poison p, size_t i) const {
    auto b = static_cast<uint8_t>(0xA5 ^ ((i + 11 * salt_) * 37));
    return p == Poison::first ? b : static_cast<uint8_t>(~b);
  }
  size_t bytes_, guard_, salt_;
  std::shared_ptr<void> memory_;
  Poison pattern_ = Poison::first;
};

}  // namespace graft::testing
