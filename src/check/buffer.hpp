// Memory that shows what a kernel does with it: between zones filled with a pattern, or next to inaccessible pages.
#pragma once

#include <optional>
#include <utility>

#include "check/traps.hpp"

namespace graft::testing {

// The two patterns differ in every byte, so a byte that equals the pattern in a run with each was not written.
enum class Poison : uint8_t { first, second };

// Where the data lies. At an edge, the first access beyond it is seen, whether it has an effect or not.
enum class Placement : uint8_t { between_patterns, at_the_end, at_the_start };

class GuardedBuffer {
 public:
  // `salt` tells buffers apart: a value that is copied from one to another is not taken for an unwritten one. The data
  // is aligned to `alignment` bytes, which divides their number wherever an access beyond the last one must be seen;
  // with the second pattern, between patterns, to no more than that.
  explicit GuardedBuffer(size_t bytes, size_t salt = 0, size_t alignment = 1);
  ~GuardedBuffer();
  GuardedBuffer(const GuardedBuffer&) = delete;

  void* data() const { return begin() + offset_; }
  size_t bytes() const { return bytes_; }
  // Fills the data and what lies around it; afterwards the data is where `placement` says.
  void fill(Poison p, Placement placement = Placement::between_patterns);
  // The pages with the data, which contain nothing else that anybody reads.
  Pages pages() const { return {begin() + zone_, inner_}; }
  // Whether byte `i` of the data still has the pattern.
  bool untouched(size_t i) const { return begin()[offset_ + i] == expected(pattern_, offset_ + i); }

  // Something outside of the data that was accessed; `byte` is relative to it: negative before it, from bytes() on
  // after it.
  struct Damage {
    int64_t byte;
    bool read;
  };
  std::optional<Damage> damage();

 private:
  std::pair<size_t, size_t> patterned() const;  // the part that is filled; the data lies in it
  uint8_t* begin() const { return memory_; }
  // Depends on where the byte is beside the data, wherever that lies.
  uint8_t expected(Poison p, size_t i) const {
    auto b = static_cast<uint8_t>(0xA5 ^ ((i - offset_ + 11 * salt_) * 37));
    return p == Poison::first ? b : static_cast<uint8_t>(~b);
  }
  size_t bytes_, zone_, inner_, salt_, alignment_;  // zone, pages with the data, zone
  uint8_t* memory_;
  size_t offset_ = 0;  // of the data
  Poison pattern_ = Poison::first;
  Placement placement_ = Placement::between_patterns;
  ForbiddenPages before_, after_;
};

}  // namespace graft::testing
