// f16 and bf16 as floats and back, for one instruction set; included by simd.hpp like floats-inl.hpp. Rounds to the
// nearest number, halves to even. Subnormal numbers, infinities and NaN stay what they are.

using H = uint16_t __attribute__((vector_size(2 * GRAFT_SIMD_LANES)));

#if GRAFT_SIMD_LANES > 4 && defined(__clang__) && defined(__FLT16_MAX__)
using F16 = _Float16 __attribute__((vector_size(2 * GRAFT_SIMD_LANES)));
inline V float_of_f16(H h) { return __builtin_convertvector(reinterpret_cast<F16>(h), V); }
inline H f16_of_float(V x) { return reinterpret_cast<H>(__builtin_convertvector(x, F16)); }
#elif GRAFT_SIMD_LANES == 16 && !defined(__clang__)
using Shorts = short __attribute__((vector_size(2 * GRAFT_SIMD_LANES)));
inline V float_of_f16(H h) {
  return __builtin_ia32_vcvtph2ps512_mask(reinterpret_cast<Shorts>(h), V{}, static_cast<short>(-1), 4);
}
inline H f16_of_float(V x) {
  return reinterpret_cast<H>(__builtin_ia32_vcvtps2ph512_mask(x, 0, Shorts{}, static_cast<short>(-1)));
}
#elif GRAFT_SIMD_LANES == 8 && !defined(__clang__)
using Shorts = short __attribute__((vector_size(2 * GRAFT_SIMD_LANES)));
inline V float_of_f16(H h) { return __builtin_ia32_vcvtph2ps256(reinterpret_cast<Shorts>(h)); }
inline H f16_of_float(V x) { return reinterpret_cast<H>(__builtin_ia32_vcvtps2ph256(x, 0)); }
#else
inline V float_of_f16(H h) {
  I b = __builtin_convertvector(h, I), m = b & 0x7fff;
  // Exponents are counted from -15 in f16 and from -127 in f32; the highest one is that of infinity and NaN.
  I normal = (m << 13) + (112 << 23) + ((m >= 0x7c00) & (112 << 23));
  V subnormal = __builtin_convertvector(m, V) * 0x1p-24f;
  return floats(bits(choose(m < 0x400, subnormal, floats(normal))) | ((b & 0x8000) << 16));
}
inline H f16_of_float(V x) {
  I b = bits(x), m = b & INT32_MAX;
  I normal = (m - (112 << 23) + 0xfff + ((m >> 13) & 1)) >> 13;
  I subnormal = bits(floats(m) + 0.5f) - 0x3f000000;  // the last place of 0.5 is 2^-24, that of f16
  I beyond = 0x7c00 + ((m > 0x7f800000) & (0x200 | ((m >> 13) & 0x1ff)));
  I small = m < 0x38800000, large = m >= 0x47800000;
  I h = (small & subnormal) | (large & beyond) | (~(small | large) & normal) | ((b >> 16) & 0x8000);
  return __builtin_convertvector(h, H);
}
#endif
inline V float_of_bf16(H h) { return floats(__builtin_convertvector(h, I) << 16); }
inline H bf16_of_float(V x) {
  I b = bits(x), nan = (b & INT32_MAX) > 0x7f800000;
  I rounded = ((b & ~nan) + 0x7fff + ((b >> 16) & 1)) >> 16;
  return __builtin_convertvector((~nan & rounded) | (nan & ((b >> 16) | 0x40)), H);
}

template <V (*float_of)(H)>
inline void widen(const uint16_t* x, int64_t n, float* y) {
  for (int64_t at = 0; at < n; at += GRAFT_SIMD_LANES) {
    const size_t count = static_cast<size_t>(n - at < GRAFT_SIMD_LANES ? n - at : GRAFT_SIMD_LANES);
    H h{};
    if (count == GRAFT_SIMD_LANES) __builtin_memcpy(&h, x + at, sizeof h);
    else __builtin_memcpy(&h, x + at, count * sizeof *x);
    const V v = float_of(h);
    if (count == GRAFT_SIMD_LANES) __builtin_memcpy(y + at, &v, sizeof v);
    else __builtin_memcpy(y + at, &v, count * sizeof *y);
  }
}
template <H (*half_of)(V)>
inline void narrow(const float* x, int64_t n, uint16_t* y) {
  for (int64_t at = 0; at < n; at += GRAFT_SIMD_LANES) {
    const size_t count = static_cast<size_t>(n - at < GRAFT_SIMD_LANES ? n - at : GRAFT_SIMD_LANES);
    V v{};
    if (count == GRAFT_SIMD_LANES) __builtin_memcpy(&v, x + at, sizeof v);
    else __builtin_memcpy(&v, x + at, count * sizeof *x);
    const H h = half_of(v);
    if (count == GRAFT_SIMD_LANES) __builtin_memcpy(y + at, &h, sizeof h);
    else __builtin_memcpy(y + at, &h, count * sizeof *y);
  }
}
inline void widen_f16(const uint16_t* x, int64_t n, float* y) { widen<float_of_f16>(x, n, y); }
inline void narrow_f16(const float* x, int64_t n, uint16_t* y) { narrow<f16_of_float>(x, n, y); }
inline void widen_bf16(const uint16_t* x, int64_t n, float* y) { widen<float_of_bf16>(x, n, y); }
inline void narrow_bf16(const float* x, int64_t n, uint16_t* y) { narrow<bf16_of_float>(x, n, y); }
