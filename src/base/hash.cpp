#include "base/hash.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace graft {
namespace {

// Odd numbers with about as many ones as zeros, so that every step below is a bijection of the lane.
constexpr uint64_t factor = 0x9d6f4e2b35c8a717, mixer = 0xd1b54a32d192ed03;

uint64_t mixed(uint64_t v) {
  v = (v ^ (v >> 32)) * factor;
  v = (v ^ (v >> 29)) * mixer;
  return v ^ (v >> 32);
}

}  // namespace

// Lanes do not depend on each other, so a processor works on several of them at once.
void ContentHash::add_block(const char* p) {
  uint64_t words[lane_count];
  std::memcpy(words, p, block_size);
  for (size_t i = 0; i < lane_count; ++i) {
    // A product carries differences to higher bits, the shift back to lower ones.
    uint64_t v = (lanes_[i] ^ words[i]) * factor;
    lanes_[i] = v ^ (v >> 32);
  }
}

void ContentHash::add(std::string_view bytes) {
  size_t held = size_ % block_size;
  size_ += bytes.size();
  if (held > 0) {
    size_t taken = std::min(bytes.size(), block_size - held);
    std::memcpy(rest_.data() + held, bytes.data(), taken);
    bytes.remove_prefix(taken);
    if (held + taken < block_size) return;
    add_block(rest_.data());
  }
  for (; bytes.size() >= block_size; bytes.remove_prefix(block_size)) add_block(bytes.data());
  if (!bytes.empty()) std::memcpy(rest_.data(), bytes.data(), bytes.size());
}

uint64_t ContentHash::value() const {
  ContentHash whole = *this;
  size_t held = size_ % block_size;
  if (held > 0) {
    std::memset(whole.rest_.data() + held, 0, block_size - held);
    whole.add_block(whole.rest_.data());
  }
  uint64_t v = mixed(size_ + factor);
  for (uint64_t lane : whole.lanes_) v = mixed(v ^ lane) + mixer;
  return mixed(v);
}

std::string ContentHash::text() const {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(value()));
  return digits;
}

}  // namespace graft
