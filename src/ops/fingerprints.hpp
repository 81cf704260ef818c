// Hash functions of strings: MurmurHash64A, FarmHash's Fingerprint64 and SipHash-2-4, as their authors publish them.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

namespace graft {

namespace fingerprints {

// Little-endian words; `at` is a position in the string.
template <class T>
uint64_t word(std::string_view s, size_t at) {
  T v;
  std::memcpy(&v, s.data() + at, sizeof v);
  return v;
}
inline uint64_t word64(std::string_view s, size_t at) { return word<uint64_t>(s, at); }
// Up to seven bytes at the end.
inline uint64_t rest(std::string_view s, size_t at) {
  uint64_t v = 0;
  for (size_t i = s.size(); i-- > at;) v = v << 8 | static_cast<unsigned char>(s[i]);
  return v;
}
inline uint64_t folded(uint64_t v) { return v ^ v >> 47; }

// Appleby, MurmurHash64A.
inline uint64_t murmur(std::string_view s, uint64_t seed) {
  constexpr uint64_t m = 0xc6a4a7935bd1e995;
  uint64_t h = seed ^ s.size() * m;
  size_t at = 0;
  for (; at + 8 <= s.size(); at += 8) h = (h ^ folded(word64(s, at) * m) * m) * m;
  if (at < s.size()) h = (h ^ rest(s, at)) * m;
  return folded(folded(h) * m);
}

// Pike, FarmHash: its 64-bit hash, which is the fingerprint.
class Farm {
 public:
  static uint64_t hash(std::string_view s) {
    return s.size() <= 16 ? to_16(s) : s.size() <= 32 ? to_32(s) : s.size() <= 64 ? to_64(s) : longer(s);
  }

 private:
  static constexpr uint64_t k0 = 0xc3a5c85c97cb3127, k1 = 0xb492b66fbe98f273, k2 = 0x9ae16a3b2f90404f;
  using Pair = std::pair<uint64_t, uint64_t>;

  static uint64_t mixed(uint64_t a, uint64_t b, uint64_t m) {
    uint64_t c = folded((a ^ b) * m);
    return folded((b ^ c) * m) * m;
  }
  static uint64_t to_16(std::string_view s) {
    size_t n = s.size();
    uint64_t m = k2 + n * 2;
    auto byte = [&](size_t i) { return static_cast<uint64_t>(static_cast<unsigned char>(s[i])); };
    if (n >= 8) {
      uint64_t a = word64(s, 0) + k2, b = word64(s, n - 8);
      return mixed(std::rotr(b, 37) * m + a, (std::rotr(a, 25) + b) * m, m);
    }
    if (n >= 4) return mixed(n + (word<uint32_t>(s, 0) << 3), word<uint32_t>(s, n - 4), m);
    if (n == 0) return k2;
    uint64_t y = byte(0) + (byte(n / 2) << 8), z = n + (byte(n - 1) << 2);
    return folded((y * k2) ^ (z * k0)) * k2;
  }
  // Of the first and last 16 bytes: two words that the next step mixes.
  static Pair ends(std::string_view s, uint64_t a, uint64_t m) {
    size_t n = s.size();
    uint64_t b = word64(s, 8), c = word64(s, n - 8) * m, d = word64(s, n - 16) * k2;
    return {std::rotr(a + b, 43) + std::rotr(c, 30) + d, a + std::rotr(b + k2, 18) + c};
  }
  static uint64_t to_32(std::string_view s) {
    uint64_t m = k2 + s.size() * 2;
    auto [u, v] = ends(s, word64(s, 0) * k1, m);
    return mixed(u, v, m);
  }
  static uint64_t to_64(std::string_view s) {
    size_t n = s.size();
    uint64_t m = k2 + n * 2, a = word64(s, 0) * k2;
    auto [y, v] = ends(s, a, m);
    uint64_t z = mixed(y, v, m), e = word64(s, 16) * m, f = word64(s, 24);
    uint64_t g = (y + word64(s, n - 32)) * m, h = (z + word64(s, n - 24)) * m;
    return mixed(std::rotr(e + f, 43) + std::rotr(g, 30) + h, e + std::rotr(f + a, 18) + g, m);
  }
  static Pair of_32(std::string_view s, size_t at, uint64_t a, uint64_t b) {
    uint64_t w = word64(s, at), x = word64(s, at + 8), y = word64(s, at + 16), z = word64(s, at + 24);
    a += w, b = std::rotr(b + a + z, 21);
    uint64_t c = a;
    a += x + y, b += std::rotr(a, 44);
    return {a + z, b + c};
  }
  // Blocks of 64 bytes; the last one ends with the string and may overlap the one before.
  struct State {
    uint64_t x, y, z;
    Pair v{0, 0}, w{0, 0};
    void block(std::string_view s, size_t at, uint64_t m, uint64_t weight) {
      x = std::rotr(x + y + v.first + word64(s, at + 8), 37) * m;
      y = std::rotr(y + v.second + word64(s, at + 48), 42) * m;
      x ^= w.second * weight;
      y += v.first * weight + word64(s, at + 40);
      z = std::rotr(z + w.first, 33) * m;
      v = of_32(s, at, v.second * m, x + w.first);
      w = of_32(s, at + 32, z + w.second, y + word64(s, at + 16));
      std::swap(z, x);
    }
  };
  static uint64_t longer(std::string_view s) {
    constexpr uint64_t seed = 81;
    State t{seed * k2 + word64(s, 0), seed * k1 + 113, 0};
    t.z = folded(t.y * k2 + 113) * k2;
    size_t blocks = (s.size() - 1) / 64, left = (s.size() - 1) % 64;
    for (size_t i = 0; i < blocks; ++i) t.block(s, i * 64, k1, 1);
    uint64_t m = k1 + ((t.z & 255) << 1);
    t.w.first += left, t.v.first += t.w.first, t.w.first += t.v.first;
    t.block(s, s.size() - 64, m, 9);
    return mixed(mixed(t.v.first, t.w.first, m) + folded(t.y) * k0 + t.z, mixed(t.v.second, t.w.second, m) + t.x, m);
  }
};

// Aumasson and Bernstein, SipHash-2-4.
inline uint64_t sip(std::string_view s, uint64_t key0, uint64_t key1) {
  uint64_t a = key0 ^ 0x736f6d6570736575, b = key1 ^ 0x646f72616e646f6d, c = key0 ^ 0x6c7967656e657261,
           d = key1 ^ 0x7465646279746573;
  auto rounds = [&](int n) {
    while (n-- > 0) {
      a += b, b = std::rotl(b, 13) ^ a, a = std::rotl(a, 32);
      c += d, d = std::rotl(d, 16) ^ c;
      a += d, d = std::rotl(d, 21) ^ a;
      c += b, b = std::rotl(b, 17) ^ c, c = std::rotl(c, 32);
    }
  };
  auto absorb = [&](uint64_t word) { d ^= word, rounds(2), a ^= word; };
  size_t at = 0;
  for (; at + 8 <= s.size(); at += 8) absorb(word64(s, at));
  absorb(rest(s, at) | static_cast<uint64_t>(s.size()) << 56);
  c ^= 255, rounds(4);
  return a ^ b ^ c ^ d;
}

}  // namespace fingerprints

}  // namespace graft
