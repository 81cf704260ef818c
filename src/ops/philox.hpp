// Reproducible random numbers from a pair of seeds, as OpenVINO generates them: Philox (as in TensorFlow) or the
// Mersenne Twister (as in PyTorch), and the conversion of their words to an element type.
#pragma once

#include <atomic>
#include <chrono>
#include <graft/op.hpp>
#include <random>

namespace graft {

enum class RandomAlignment { tensorflow, pytorch };

// Salmon et al., "Parallel random numbers: as easy as 1, 2, 3": four words from a counter and a key.
class Philox {
 public:
  Philox(uint64_t key, uint64_t counter) : key_(key), high_(counter) {}
  std::array<uint32_t, 4> next() {
    std::array<uint32_t, 4> c{low_word(low_), high_word(low_), low_word(high_), high_word(high_)};
    uint32_t k0 = low_word(key_), k1 = high_word(key_);
    for (int round = 0; round < 10; ++round) {
      uint64_t a = uint64_t{0xD2511F53} * c[0], b = uint64_t{0xCD9E8D57} * c[2];
      c = {high_word(b) ^ c[1] ^ k0, low_word(b), high_word(a) ^ c[3] ^ k1, low_word(a)};
      k0 += 0x9E3779B9, k1 += 0xBB67AE85;
    }
    if (++low_ == 0) ++high_;
    return c;
  }

 private:
  static uint32_t low_word(uint64_t v) { return static_cast<uint32_t>(v); }
  static uint32_t high_word(uint64_t v) { return static_cast<uint32_t>(v >> 32); }
  uint64_t key_, low_ = 0, high_;
};

// Words in the order in which they are consumed.
class RandomWords {
 public:
  RandomWords(RandomAlignment alignment, uint64_t global_seed, uint64_t op_seed)
      : mersenne_(alignment == RandomAlignment::pytorch),
        philox_(global_seed, op_seed),
        twister_(static_cast<uint32_t>(global_seed)) {}
  uint32_t next() {
    if (mersenne_) return static_cast<uint32_t>(twister_());
    if (at_ == 4) words_ = philox_.next(), at_ = 0;
    return words_[at_++];
  }

 private:
  bool mersenne_;
  Philox philox_;
  std::mt19937 twister_;
  std::array<uint32_t, 4> words_{};
  size_t at_ = 4;
};

struct RandomSeeds {
  uint64_t global_seed = 0, op_seed = 0;
  // If both seeds are 0, every run uses different ones.
  static RandomSeeds of(int64_t global_seed, int64_t op_seed) {
    if (global_seed != 0 || op_seed != 0) return {static_cast<uint64_t>(global_seed), static_cast<uint64_t>(op_seed)};
    static std::atomic<uint64_t> calls{0};
    auto now = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
    return {now ^ (std::random_device{}() * uint64_t{0x9E3779B97F4A7C15}), ++calls};
  }
};

// A number in [0, 1) with as many random bits as the significand of the element type.
inline double random_fraction(RandomWords& words, DType type, RandomAlignment alignment) {
  bool pytorch = alignment == RandomAlignment::pytorch;
  auto bits = [](uint64_t word, int n) { return std::ldexp(static_cast<double>(word & ((uint64_t{1} << n) - 1)), -n); };
  uint32_t first = words.next();
  switch (type) {
    case DType::f32: return bits(first, pytorch ? 24 : 23);
    case DType::f16: return bits(first, pytorch ? 11 : 10);
    case DType::bf16: return bits(first, pytorch ? 8 : 7);
    case DType::f64: return bits(uint64_t{first} << 32 | words.next(), pytorch ? 53 : 52);
    default: fail("random numbers of type ", type, " are not supported");
  }
}

}  // namespace graft
