#include "base/convert.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.hpp"

namespace graft {
namespace {

// ---- small floats: sign, exponent and mantissa widths, bias, and what the top codes mean ----

struct SmallFloat {
  int exponent_bits, mantissa_bits, bias;
  enum Top { ieee, only_nan, fnuz, finite } top;  // only_nan: all ones is NaN, no infinity; fnuz: 0x80 is NaN
};
constexpr SmallFloat e4m3{4, 3, 7, SmallFloat::only_nan};
constexpr SmallFloat e5m2{5, 2, 15, SmallFloat::ieee};
constexpr SmallFloat e4m3fnuz{4, 3, 8, SmallFloat::fnuz};
constexpr SmallFloat e5m2fnuz{5, 2, 16, SmallFloat::fnuz};
constexpr SmallFloat e2m1{2, 1, 1, SmallFloat::finite};

double decode_small(unsigned code, SmallFloat f) {
  const unsigned total = static_cast<unsigned>(f.exponent_bits + f.mantissa_bits);
  const unsigned magnitude = code & ((1u << total) - 1), sign = code >> total & 1;
  const unsigned e = magnitude >> f.mantissa_bits, m = magnitude & ((1u << f.mantissa_bits) - 1);
  if (f.top == SmallFloat::fnuz && sign && magnitude == 0) return std::nan("");
  if (f.top == SmallFloat::only_nan && magnitude == (1u << total) - 1) return std::nan("");
  if (f.top == SmallFloat::ieee && e == (1u << f.exponent_bits) - 1)
    return m ? std::nan("") : (sign ? -1 : 1) * std::numeric_limits<double>::infinity();
  double v = e == 0 ? std::ldexp(m, 1 - f.bias - f.mantissa_bits)
                    : std::ldexp(m + (1u << f.mantissa_bits), static_cast<int>(e) - f.bias - f.mantissa_bits);
  return sign ? -v : v;
}

// Largest finite code without sign.
unsigned largest_code(SmallFloat f) {
  const unsigned all = (1u << (f.exponent_bits + f.mantissa_bits)) - 1;
  if (f.top == SmallFloat::ieee) return ((1u << f.exponent_bits) - 1) * (1u << f.mantissa_bits) - 1;
  return f.top == SmallFloat::only_nan ? all - 1 : all;
}

// Round to nearest even, saturating.
unsigned encode_small(double x, SmallFloat f) {
  const int total = f.exponent_bits + f.mantissa_bits;
  const unsigned nan = f.top == SmallFloat::fnuz ? 1u << total : (1u << total) - 1;
  if (std::isnan(x)) return f.top == SmallFloat::finite ? largest_code(f) : nan;
  const unsigned sign = std::signbit(x) ? 1u << total : 0;
  const double a = std::fabs(x);
  const unsigned top = largest_code(f);
  if (std::isinf(a) && f.top == SmallFloat::ieee) return sign | (top + 1);
  if (std::isinf(a) && f.top != SmallFloat::finite) return nan;
  if (a >= decode_small(top, f)) return sign | top;
  int e;
  std::frexp(a, &e);  // a = m * 2^e, m in [0.5, 1)
  const int unit = std::max(e - 1, 1 - f.bias) - f.mantissa_bits;
  const double steps = std::nearbyint(std::ldexp(a, -unit));  // in units of the last place
  const int exponent = unit + f.mantissa_bits + f.bias;       // 1 for the subnormal range too
  unsigned code = static_cast<unsigned>(steps) + static_cast<unsigned>(exponent - 1) * (1u << f.mantissa_bits);
  if (a == 0) code = 0;
  code = std::min(code, top);
  if (f.top == SmallFloat::fnuz && code == 0) return 0;
  return sign | code;
}

constexpr double nf4_values[16] = {-1.0,
                                   -0.6961928009986877,
                                   -0.5250730514526367,
                                   -0.39491748809814453,
                                   -0.28444138169288635,
                                   -0.18477343022823334,
                                   -0.09105003625154495,
                                   0.0,
                                   0.07958029955625534,
                                   0.16093020141124725,
                                   0.24611230194568634,
                                   0.33791524171829224,
                                   0.44070982933044434,
                                   0.5626170039176941,
                                   0.7229568362236023,
                                   1.0};
unsigned encode_nf4(double x) {
  x = std::clamp(x, -1.0, 1.0);  // from 1e17 on all levels would be equally far
  unsigned best = 0;
  for (unsigned i = 1; i < 16; ++i)
    if (std::fabs(nf4_values[i] - x) < std::fabs(nf4_values[best] - x)) best = i;
  return best;
}

unsigned encode_e8m0(double x) {
  if (std::isnan(x) || x < 0) return 255;
  if (x == 0) return 0;
  int e = static_cast<int>(std::nearbyint(std::log2(x))) + 127;
  return static_cast<unsigned>(std::min(std::max(e, 0), 254));
}

uint16_t bf16_of(double x) {
  // Converts double via f32 with the sticky bit kept, which avoids double rounding.
  float f = static_cast<float>(x);
  uint32_t u = std::bit_cast<uint32_t>(f);
  if (std::isnan(f)) return static_cast<uint16_t>((u >> 16) | 0x40);
  if (static_cast<double>(f) != x && !std::isinf(f)) {
    bool towards_zero = std::fabs(static_cast<double>(f)) < std::fabs(x);
    if ((u & 0xffff) == 0x8000) u += towards_zero ? 1u : 0xffffffffu;
  }
  u += 0x7fff + (u >> 16 & 1);
  return static_cast<uint16_t>(u >> 16);
}

// ---- reading and writing runs of elements ----

constexpr int64_t run = 512;
struct Runs {
  union {
    double d[run];
    int64_t i[run];
    uint64_t u[run];
  };
};
enum class Wide { real, integer, natural };

Wide wide_of(DType t) { return is_real(t) ? Wide::real : t == DType::u64 ? Wide::natural : Wide::integer; }

template <class T>
T load(const void* base, int64_t index) {
  T v;  // memcpy: mapped files do not align their tensors
  std::memcpy(&v, static_cast<const char*>(base) + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return v;
}
template <class T>
void store(void* base, int64_t index, T v) {
  std::memcpy(static_cast<char*>(base) + index * static_cast<int64_t>(sizeof(T)), &v, sizeof(T));
}
unsigned load_nibble(const void* base, int64_t index) {
  auto byte = static_cast<const uint8_t*>(base)[index / 2];
  return index % 2 ? byte >> 4 : byte & 15;
}
void store_nibble(void* base, int64_t index, unsigned v) {
  uint8_t& byte = static_cast<uint8_t*>(base)[index / 2];
  byte = static_cast<uint8_t>(index % 2 ? (byte & 0x0f) | (v & 15) << 4 : (byte & 0xf0) | (v & 15));
}

// The bits after the last element are zero, so that equal tensors have equal bytes.
void clear_padding(void* base, int64_t n, int bits) {
  auto used = static_cast<unsigned>(n * bits % 8);
  if (!used) return;
  uint8_t& last = static_cast<uint8_t*>(base)[n * bits / 8];
  last = static_cast<uint8_t>(last & (bits == 1 ? 0xff00u >> used : (1u << used) - 1));
}

template <class Get>
void fill(double* out, int64_t n, Get get) {
  for (int64_t k = 0; k < n; ++k) out[k] = get(k);
}

void decode(DType type, const void* p, int64_t at, int64_t n, Runs& r) {
  auto ints = [&]<class T>(T) {
    for (int64_t k = 0; k < n; ++k) r.i[k] = static_cast<int64_t>(load<T>(p, at + k));
  };
  auto small = [&](SmallFloat f) {
    fill(r.d, n, [&](int64_t k) { return decode_small(load<uint8_t>(p, at + k), f); });
  };
  switch (type) {
    case DType::f64: return fill(r.d, n, [&](int64_t k) { return load<double>(p, at + k); });
    case DType::f32: return fill(r.d, n, [&](int64_t k) { return load<float>(p, at + k); });
    case DType::f16: return fill(r.d, n, [&](int64_t k) { return static_cast<double>(load<_Float16>(p, at + k)); });
    case DType::bf16:
      return fill(r.d, n, [&](int64_t k) {
        return std::bit_cast<float>(static_cast<uint32_t>(load<uint16_t>(p, at + k)) << 16);
      });
    case DType::f8e4m3: return small(e4m3);
    case DType::f8e5m2: return small(e5m2);
    case DType::f8e4m3fnuz: return small(e4m3fnuz);
    case DType::f8e5m2fnuz: return small(e5m2fnuz);
    case DType::f8e8m0:
      return fill(r.d, n, [&](int64_t k) {
        int e = load<uint8_t>(p, at + k);
        return e == 255 ? std::nan("") : std::ldexp(1.0, e - 127);
      });
    case DType::f4e2m1: return fill(r.d, n, [&](int64_t k) { return decode_small(load_nibble(p, at + k), e2m1); });
    case DType::nf4: return fill(r.d, n, [&](int64_t k) { return nf4_values[load_nibble(p, at + k)]; });
    case DType::i64: return ints(int64_t{});
    case DType::i32: return ints(int32_t{});
    case DType::i16: return ints(int16_t{});
    case DType::i8: return ints(int8_t{});
    case DType::u32: return ints(uint32_t{});
    case DType::u16: return ints(uint16_t{});
    case DType::u8: return ints(uint8_t{});
    case DType::u64:
      for (int64_t k = 0; k < n; ++k) r.u[k] = load<uint64_t>(p, at + k);
      return;
    case DType::boolean:
      for (int64_t k = 0; k < n; ++k) r.i[k] = load<uint8_t>(p, at + k) != 0;
      return;
    case DType::i4:
      for (int64_t k = 0; k < n; ++k) {
        auto v = static_cast<int64_t>(load_nibble(p, at + k));
        r.i[k] = v > 7 ? v - 16 : v;
      }
      return;
    case DType::u4:
      for (int64_t k = 0; k < n; ++k) r.i[k] = load_nibble(p, at + k);
      return;
    case DType::u1:
      for (int64_t k = 0; k < n; ++k) r.i[k] = load<uint8_t>(p, (at + k) / 8) >> (7 - (at + k) % 8) & 1;
      return;
    default: throw_user("cannot convert elements of type ", type);
  }
}

template <class T>
T saturate(double x) {
  if (std::isnan(x)) return 0;
  if (x <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  if (x >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  return static_cast<T>(x);
}

void encode(DType type, void* p, int64_t at, int64_t n, const Runs& r, Wide from) {
  auto real = [&](int64_t k) {
    return from == Wide::real      ? r.d[k]
           : from == Wide::natural ? static_cast<double>(r.u[k])
                                   : static_cast<double>(r.i[k]);
  };
  auto reals = [&](auto put) {
    for (int64_t k = 0; k < n; ++k) put(at + k, real(k));
  };
  auto ints = [&]<class T>(T) {
    if (from == Wide::real)
      for (int64_t k = 0; k < n; ++k) store<T>(p, at + k, saturate<T>(r.d[k]));
    else
      for (int64_t k = 0; k < n; ++k) store<T>(p, at + k, static_cast<T>(r.u[k]));
  };
  auto whole = [&](int64_t k, int64_t low, int64_t high) {
    return from == Wide::real ? static_cast<int64_t>(std::min(std::max(saturate<int64_t>(r.d[k]), low), high)) : r.i[k];
  };
  auto small = [&](SmallFloat f) {
    reals([&](int64_t i, double x) { store<uint8_t>(p, i, static_cast<uint8_t>(encode_small(x, f))); });
  };
  switch (type) {
    case DType::f64: return reals([&](int64_t i, double x) { store<double>(p, i, x); });
    case DType::f32: return reals([&](int64_t i, double x) { store<float>(p, i, static_cast<float>(x)); });
    case DType::f16: return reals([&](int64_t i, double x) { store<_Float16>(p, i, static_cast<_Float16>(x)); });
    case DType::bf16: return reals([&](int64_t i, double x) { store<uint16_t>(p, i, bf16_of(x)); });
    case DType::f8e4m3: return small(e4m3);
    case DType::f8e5m2: return small(e5m2);
    case DType::f8e4m3fnuz: return small(e4m3fnuz);
    case DType::f8e5m2fnuz: return small(e5m2fnuz);
    case DType::f8e8m0:
      return reals([&](int64_t i, double x) { store<uint8_t>(p, i, static_cast<uint8_t>(encode_e8m0(x))); });
    case DType::f4e2m1: return reals([&](int64_t i, double x) { store_nibble(p, i, encode_small(x, e2m1)); });
    case DType::nf4: return reals([&](int64_t i, double x) { store_nibble(p, i, encode_nf4(x)); });
    case DType::i64: return ints(int64_t{});
    case DType::i32: return ints(int32_t{});
    case DType::i16: return ints(int16_t{});
    case DType::i8: return ints(int8_t{});
    case DType::u64: return ints(uint64_t{});
    case DType::u32: return ints(uint32_t{});
    case DType::u16: return ints(uint16_t{});
    case DType::u8: return ints(uint8_t{});
    case DType::boolean:
      for (int64_t k = 0; k < n; ++k) store<uint8_t>(p, at + k, from == Wide::real ? r.d[k] != 0 : r.i[k] != 0);
      return;
    case DType::i4:
      for (int64_t k = 0; k < n; ++k) store_nibble(p, at + k, static_cast<unsigned>(whole(k, -8, 7)));
      return;
    case DType::u4:
      for (int64_t k = 0; k < n; ++k) store_nibble(p, at + k, static_cast<unsigned>(whole(k, 0, 15)));
      return;
    case DType::u1:
      for (int64_t k = 0; k < n; ++k) {
        uint8_t& byte = static_cast<uint8_t*>(p)[(at + k) / 8];
        auto bit = static_cast<uint8_t>(0x80 >> (at + k) % 8);
        bool on = from == Wide::real ? r.d[k] != 0 : (r.i[k] & 1) != 0;
        byte = static_cast<uint8_t>(on ? byte | bit : byte & ~bit);
      }
      return;
    default: throw_user("cannot convert elements to type ", type);
  }
}

int64_t elements(const graft_tensor& t) {
  int64_t n = 1;
  for (int32_t i = 0; i < t.rank; ++i) n *= t.dims[i];
  return n;
}

}  // namespace

void convert(const graft_tensor& from, graft_tensor& to) {
  const int64_t n = elements(from);
  if (elements(to) != n) throw_user("expected a tensor of ", elements(to), " elements, got ", n);
  if (from.strides || to.strides || from.layout || to.layout)
    throw_unsupported("cannot convert tensors that are not dense");
  const auto a = static_cast<DType>(from.type), b = static_cast<DType>(to.type);
  if (n == 0) return;
  if (a == b && !is_packed(a)) {
    std::memmove(to.data, from.data, static_cast<size_t>(n) * static_cast<size_t>(bits_of(a)) / 8);
    return;
  }
  if (a == DType::f32 && b == DType::f64) {
    for (int64_t i = 0; i < n; ++i) store<double>(to.data, i, load<float>(from.data, i));
    return;
  }
  if (a == DType::f64 && b == DType::f32) {
    for (int64_t i = 0; i < n; ++i) store<float>(to.data, i, static_cast<float>(load<double>(from.data, i)));
    return;
  }
  Runs r;
  for (int64_t at = 0; at < n; at += run) {
    int64_t part = std::min(run, n - at);
    decode(a, from.data, at, part, r);
    encode(b, to.data, at, part, r, wide_of(a));
  }
  if (is_packed(b)) clear_padding(to.data, n, bits_of(b));
}

}  // namespace graft
