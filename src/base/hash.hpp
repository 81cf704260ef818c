// A hash of large data, computed piece by piece at the speed of memory. It detects accidents, not attacks.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace graft {

class ContentHash {
 public:
  void add(std::string_view bytes);
  uint64_t size() const { return size_; }
  uint64_t value() const;
  std::string text() const;  // 16 hexadecimal digits

 private:
  static constexpr size_t lane_count = 8, block_size = 8 * lane_count;
  void add_block(const char* p);
  std::array<uint64_t, lane_count> lanes_ = {1, 2, 3, 4, 5, 6, 7, 8};
  std::array<char, block_size> rest_{};  // of a block that is not complete
  uint64_t size_ = 0;
};

}  // namespace graft
