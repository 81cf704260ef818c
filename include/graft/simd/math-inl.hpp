// Functions of vectors of floats, named as in <cmath>; included like floats-inl.hpp. Errors are stated in units of the
// last place, found by tests/unit/simd.cpp over the whole range.

constexpr float simd_inf = __builtin_inff();

// The coefficients, of the highest power first. Not a loop: the compiler would keep it.
template <class... C>
inline V polynomial(V x, float highest, C... others) {
  V sum = splat(highest);
  ((sum = sum * x + others), ...);
  return sum;
}
inline V magnitude(V x) { return floats(bits(x) & INT32_MAX); }
inline V with_sign(V size, V sign) { return floats((bits(size) & INT32_MAX) | (bits(sign) & INT32_MIN)); }
// The larger and the smaller one; `x` if they are equal or one of them is NaN. There are instructions that do this.
inline V larger(V x, V y) {
#if defined(__clang__)
  return choose(x < y, y, x);
#elif GRAFT_SIMD_LANES == 16
  return __builtin_ia32_maxps512_mask(y, x, V{}, static_cast<short>(-1), 4);
#else
  return __builtin_ia32_maxps256(y, x);
#endif
}
inline V smaller(V x, V y) {
#if defined(__clang__)
  return choose(y < x, y, x);
#elif GRAFT_SIMD_LANES == 16
  return __builtin_ia32_minps512_mask(y, x, V{}, static_cast<short>(-1), 4);
#else
  return __builtin_ia32_minps256(y, x);
#endif
}
// Clamps that keep NaN.
inline V at_least(V x, float low) { return larger(x, splat(low)); }
inline V at_most(V x, float high) { return smaller(x, splat(high)); }
inline bool any(I mask) {
  int32_t all = 0;
  for (int i = 0; i < GRAFT_SIMD_LANES; ++i) all |= mask[i];
  return all != 0;
}
// To integers: the instruction with its mode, or null where the compiler has no stable name for it.
#if defined(__clang__)
#define GRAFT_SIMD_ROUND(x, mode, otherwise) (otherwise)
#elif GRAFT_SIMD_LANES == 16
#define GRAFT_SIMD_ROUND(x, mode, otherwise) __builtin_ia32_rndscaleps_mask(x, mode, V{}, static_cast<short>(-1), 4)
#else
#define GRAFT_SIMD_ROUND(x, mode, otherwise) __builtin_ia32_roundps256(x, mode)
#endif
// Added to a number below 2^22 it leaves the nearest integer: its last place is 1.
inline V with_whole(V x) {
  volatile float magic = 12582912.0f;  // 1.5 * 2^23; volatile against simplification
  V m = splat(magic);
  return (x + m) - m;
}
// To the nearest integer, halves to even, for |x| below 2^22.
inline V nearest(V x) { return GRAFT_SIMD_ROUND(x, 8, with_whole(x)); }
// a * b + c, rounded once.
inline V multiply_add(V a, V b, V c) {
#if defined(__clang__)
  return a * b + c;
#elif GRAFT_SIMD_LANES == 16
  return __builtin_ia32_vfmaddps512_mask(a, b, c, static_cast<short>(-1), 4);
#else
  return __builtin_ia32_vfmaddps256(a, b, c);
#endif
}
inline I integer(V x) { return __builtin_convertvector(x, I); }
inline V number(I x) { return __builtin_convertvector(x, V); }
// x * 2^n for a whole n from -252 to 254; NaN stays.
inline V scale(V x, V n) {
#if GRAFT_SIMD_LANES == 16 && !defined(__clang__)
  return __builtin_ia32_scalefps512_mask(x, n, V{}, static_cast<short>(-1), 4);
#else
  I k = integer(choose(n == n, n, V{})), half = k >> 1;  // in two steps, so that neither factor leaves the range
  return x * floats((half + 127) << 23) * floats((k - half + 127) << 23);
#endif
}

template <class F>
inline Floats each(const Floats& x, F f) {
  Floats out;
  for (int i = 0; i < GRAFT_SIMD_LANES; ++i) out.v[i] = f(x.v[i]);
  return out;
}
template <class F>
inline Floats each(const Floats& x, const Floats& y, F f) {
  Floats out;
  for (int i = 0; i < GRAFT_SIMD_LANES; ++i) out.v[i] = f(x.v[i], y.v[i]);
  return out;
}

// What functions of vectors also take, and a list of them with at least one vector and one plain number.
template <class T>
concept Operand = Number<T> || std::is_same_v<T, Floats>;
template <class... T>
concept MixedOperands = (std::is_same_v<T, Floats> || ...) && (Number<T> || ...);

// ---- choosing and rounding ----

inline Floats select(const Mask& c, const Floats& yes, const Floats& no) { return Floats(choose(c.m, yes.v, no.v)); }
template <Number N>
inline Floats select(const Mask& c, N yes, const Floats& no) {
  return select(c, Floats(yes), no);
}
template <Number N>
inline Floats select(const Mask& c, const Floats& yes, N no) {
  return select(c, yes, Floats(no));
}
template <Number N, Number M>
inline Floats select(const Mask& c, N yes, M no) {
  return select(c, Floats(yes), Floats(no));
}
// By a condition that is the same for all lanes, such as an attribute.
template <Operand A, Operand B>
requires MixedOperands<A, B>
inline Floats select(bool c, const A& yes, const B& no) { return c ? Floats(yes) : Floats(no); }
inline Floats select(bool c, const Floats& yes, const Floats& no) { return c ? yes : no; }
inline Floats max(const Floats& a, const Floats& b) { return Floats(larger(a.v, b.v)); }
inline Floats min(const Floats& a, const Floats& b) { return Floats(smaller(a.v, b.v)); }
inline Floats clamp(const Floats& x, const Floats& low, const Floats& high) { return min(max(x, low), high); }
inline Mask isnan(const Floats& x) { return Mask(x.v != x.v); }
inline Mask isinf(const Floats& x) { return Mask(magnitude(x.v) == simd_inf); }
inline Mask isfinite(const Floats& x) { return Mask(magnitude(x.v) < simd_inf); }
inline Mask signbit(const Floats& x) { return Mask(bits(x.v) < 0); }
inline Floats fmax(const Floats& a, const Floats& b) { return select(isnan(a) || a < b, b, a); }
inline Floats fmin(const Floats& a, const Floats& b) { return select(isnan(a) || b < a, b, a); }
inline Floats fabs(const Floats& x) { return Floats(magnitude(x.v)); }
inline Floats abs(const Floats& x) { return fabs(x); }
inline Floats copysign(const Floats& size, const Floats& sign) { return Floats(with_sign(size.v, sign.v)); }
inline Floats fma(const Floats& a, const Floats& b, const Floats& c) { return a * b + c; }
// With plain numbers in between.
#define GRAFT_SIMD_MIXED(function)               \
  template <Number N>                            \
  inline Floats function(const Floats& a, N b) { \
    return function(a, Floats(b));               \
  }                                              \
  template <Number N>                            \
  inline Floats function(N a, const Floats& b) { \
    return function(Floats(a), b);               \
  }
GRAFT_SIMD_MIXED(max)
GRAFT_SIMD_MIXED(min)
GRAFT_SIMD_MIXED(fmax)
GRAFT_SIMD_MIXED(fmin)
GRAFT_SIMD_MIXED(copysign)
template <Operand A, Operand B, Operand C>
requires MixedOperands<A, B, C>
inline Floats clamp(const A& x, const B& low, const C& high) { return clamp(Floats(x), Floats(low), Floats(high)); }
template <Operand A, Operand B, Operand C>
requires MixedOperands<A, B, C>
inline Floats fma(const A& a, const B& b, const C& c) { return fma(Floats(a), Floats(b), Floats(c)); }

// From 2^23 on every float is an integer; NaN stays, too.
inline V rounded(V x, V y) { return choose(magnitude(x) < 8388608.0f, with_sign(y, x), x); }
inline V truncated(V x) { return number(integer(choose(magnitude(x) < 8388608.0f, x, V{}))); }
inline Floats trunc(const Floats& x) { return Floats(GRAFT_SIMD_ROUND(x.v, 11, rounded(x.v, truncated(x.v)))); }
inline V floor_by_hand(V x) {
  V t = truncated(x);
  return rounded(x, choose(x < t, t - 1.0f, t));
}
inline V ceil_by_hand(V x) {
  V t = truncated(x);
  return rounded(x, choose(x > t, t + 1.0f, t));
}
inline Floats floor(const Floats& x) { return Floats(GRAFT_SIMD_ROUND(x.v, 9, floor_by_hand(x.v))); }
inline Floats ceil(const Floats& x) { return Floats(GRAFT_SIMD_ROUND(x.v, 10, ceil_by_hand(x.v))); }
inline Floats round(const Floats& x) {
  V a = magnitude(x.v), t = truncated(a);
  return Floats(rounded(x.v, choose(a - t >= 0.5f, t + 1.0f, t)));
}
inline V nearest_by_hand(V x) {
  V a = magnitude(x), t = truncated(a), rest = a - t;
  I up = (rest > 0.5f) | ((rest == 0.5f) & ((integer(choose(a < 8388608.0f, t, V{})) & 1) != 0));
  return rounded(x, choose(up, t + 1.0f, t));
}
inline Floats nearbyint(const Floats& x) { return Floats(GRAFT_SIMD_ROUND(x.v, 8, nearest_by_hand(x.v))); }
inline Floats rint(const Floats& x) { return nearbyint(x); }
#undef GRAFT_SIMD_ROUND

// ---- exponentials: 2 units ----

// e^r - 1 for |r| up to ln(2) / 2.
inline V small_expm1(V r) {
  V p = polynomial(r, 1.99160349e-4f, 1.39461318e-3f, 8.33326858e-3f, 4.16662693e-2f, 1.66666672e-1f, 0.5f);
  return p * r * r + r;
}
// x as n * ln(2) + r.
inline V reduce_exponent(V x, V& n) {
  n = nearest(x * 1.44269504f);
  return (x - n * 0.693359375f) - n * -2.12194440e-4f;
}
// e^x / 2^fewer.
inline V exponential(V x, float fewer = 0) {
  V n, r = reduce_exponent(at_most(at_least(x, -104.0f), 90.0f), n);
  return scale(small_expm1(r) + 1.0f, n - fewer);
}
inline V exponential_minus_one(V x) {
  V n, r = reduce_exponent(at_most(at_least(x, -25.0f), 89.0f), n), p = small_expm1(r);
  // 2^n (p + 1) - 1, without cancellation; for large n the 1 is lost anyway.
  V power = scale(splat(1.0f), at_most(n, 30.0f));
  V y = choose(n == 0.0f, p, power * p + (power - 1.0f));
  return choose(n > 30.0f, scale(p + 1.0f, n), y);
}
inline Floats exp(const Floats& x) { return Floats(exponential(x.v)); }
inline Floats expm1(const Floats& x) { return Floats(choose(magnitude(x.v) < 1e-7f, x.v, exponential_minus_one(x.v))); }
inline Floats exp2(const Floats& x) {
  V in = at_most(at_least(x.v, -151.0f), 129.0f), n = nearest(in);
  return Floats(scale(small_expm1((in - n) * 0.69314718f) + 1.0f, n));
}

// ---- logarithms: 2 units ----

// ln(m) for the mantissa m of x, from sqrt(1/2) to sqrt(2), and the exponent.
inline V mantissa_log(V x, V& exponent) {
  I tiny = x < 1.17549435e-38f;
  V y = choose(tiny, x * 8388608.0f, x);
  I b = bits(choose(y > 0.0f, y, splat(1))) - 0x3f3504f3;  // sqrt(1/2)
  I e = b >> 23;
  V m = floats((b & 0x007fffff) + 0x3f3504f3);
  exponent = number(e - (tiny & 23));
  V f = m - 1.0f, s = f * f;
  V p = polynomial(f, 6.91515729e-2f, -1.17897011e-1f, 1.18730143e-1f, -1.23843692e-1f, 1.42186552e-1f, -1.66692495e-1f,
                   2.00022265e-1f, -2.49999866e-1f, 3.33333105e-1f);
  return f + (f * s * p - 0.5f * s);
}
// Of what a logarithm has no finite value for.
inline V log_ends(V x, V y) {
  y = choose(x == simd_inf, x, y);
  y = choose(x == 0.0f, splat(-simd_inf), y);
  y = choose(x < 0.0f, splat(__builtin_nanf("")), y);
  return choose(x != x, x, y);
}
inline V logarithm(V x) {
  V e, y = mantissa_log(x, e);
  return log_ends(x, e * 0.693359375f + (y + e * -2.12194440e-4f));
}
inline Floats log(const Floats& x) { return Floats(logarithm(x.v)); }
inline Floats log2(const Floats& x) {
  V e, y = mantissa_log(x.v, e);
  return Floats(log_ends(x.v, e + y * 1.44269504f));
}
inline Floats log10(const Floats& x) {
  V e, y = mantissa_log(x.v, e);
  return Floats(log_ends(x.v, e * 0.30102539f + (y * 0.43429448f + e * 4.6050390e-6f)));
}
inline Floats log1p(const Floats& x) {
  V u = x.v + 1.0f, rest = x.v - (u - 1.0f);
  V y = logarithm(u) + choose((u == simd_inf) | (u <= 0.0f), V{}, rest / u);
  return Floats(choose(magnitude(x.v) < 1e-7f, x.v, choose(x.v == simd_inf, x.v, y)));
}

// ---- roots and powers ----

inline Floats sqrt(const Floats& x) { return Floats(square_root(x.v)); }
inline Floats any_power(const Floats& x, const Floats& y) {
  return each(x, y, [](float a, float b) { return __builtin_powf(a, b); });
}
// Small whole exponents are products.
template <Number N>
inline Floats pow(const Floats& x, N y) {
  auto e = static_cast<float>(y);
  if (e == 0.5f) return select(x == -simd_inf, simd_inf, sqrt(x) + 0.0f);
  if (!(e == static_cast<float>(static_cast<int>(e >= -32 && e <= 32 ? e : 0.5f)))) return any_power(x, Floats(y));
  int n = static_cast<int>(e);
  V base = x.v, product = splat(1);
  for (int left = n < 0 ? -n : n; left; left >>= 1, base = base * base)
    if (left & 1) product = product * base;
  return n < 0 ? Floats(1.0f / product) : Floats(product);
}
inline Floats pow(const Floats& x, const Floats& y) {
  const float e = y.v[0];
  const bool simple = e == 0.5f || e == -1.0f || e == 0.0f || e == 1.0f || e == 2.0f || e == 3.0f;
  return simple && uniform(bits(y.v)) ? pow(x, e) : any_power(x, y);
}
template <Number N>
inline Floats pow(N x, const Floats& y) {
  return any_power(Floats(x), y);
}

// ---- trigonometry: 2 units, 4 for tan ----

// x as quadrant * pi / 2 + r, for |x| up to 8192.
inline V reduce_angle(V x, I& quadrant) {
  V n = nearest(x * 0.636619772f);
  quadrant = integer(n);
  V r = x - n * 1.5703125f;
  r = r - n * 4.837512969970703125e-4f;
  return r - n * 7.549789948768648e-8f;
}
inline V small_sine(V r) {
  V s = r * r;
  return polynomial(s, -1.95172310e-4f, 8.33217800e-3f, -1.66666552e-1f) * s * r + r;
}
inline V small_cosine(V r) {
  V s = r * r;
  return polynomial(s, 2.44383737e-5f, -1.38873665e-3f, 4.16666456e-2f) * s * s - 0.5f * s + 1.0f;
}
inline V quarter_wave(V x, int32_t turn) {
  I q;
  V r = reduce_angle(x, q);
  q = q + turn;
  V y = choose((q & 1) != 0, small_cosine(r), small_sine(r));
  return floats(bits(y) ^ ((q & 2) << 30));
}
// Larger angles, infinities and NaN are left to the library.
inline I far_angle(V x) { return ~(magnitude(x) <= 8192.0f); }
template <class F>
inline Floats where_far(const Floats& x, V y, F f) {
  if (!any(far_angle(x.v))) return Floats(y);
  return select(Mask(far_angle(x.v)), each(x, f), Floats(y));
}
inline Floats sin(const Floats& x) {
  V y = choose(x.v == 0.0f, x.v, quarter_wave(x.v, 0));
  return where_far(x, y, [](float v) { return __builtin_sinf(v); });
}
inline Floats cos(const Floats& x) {
  return where_far(x, quarter_wave(x.v, 1), [](float v) { return __builtin_cosf(v); });
}
inline Floats tan(const Floats& x) {
  I q;
  V r = reduce_angle(x.v, q), s = small_sine(r), c = small_cosine(r);
  V y = choose((q & 1) != 0, -c / s, s / c);
  return where_far(x, choose(x.v == 0.0f, x.v, y), [](float v) { return __builtin_tanf(v); });
}
inline V arc_sine_of_half(V a) {
  V s = a * a;
  return polynomial(s, 4.22304869e-2f, 2.41410211e-2f, 4.54783365e-2f, 7.49523267e-2f, 1.66667536e-1f) * s * a + a;
}
inline Floats asin(const Floats& x) {
  V a = magnitude(x.v);
  I high = a > 0.5f;
  V z = choose(high, square_root(0.5f * (1.0f - a)), a), y = arc_sine_of_half(z);
  y = choose(high, 1.5707964f - (2.0f * y - -4.371139e-8f), y);
  return Floats(choose(a > 1.0f, splat(__builtin_nanf("")), with_sign(y, x.v)));
}
inline Floats acos(const Floats& x) {
  V a = magnitude(x.v);
  I high = a > 0.5f;
  V z = choose(high, square_root(0.5f * (1.0f - a)), x.v), y = arc_sine_of_half(z);
  V folded = choose(x.v > 0.0f, 2.0f * y, 3.1415927f - (2.0f * y - -8.742278e-8f));
  return Floats(choose(high, folded, 1.5707964f - (y - -4.371139e-8f)));
}
inline Floats atan(const Floats& x) {
  V a = magnitude(x.v);
  I far = a > 2.414213562f, middle = (a > 0.4142135623f) & ~far;
  V z = choose(far, -1.0f / a, choose(middle, (a - 1.0f) / (a + 1.0f), a));
  V base = choose(far, splat(1.5707964f), choose(middle, splat(0.78539819f), V{})), s = z * z;
  V y = polynomial(s, 8.05979073e-2f, -1.38797000e-1f, 1.99779138e-1f, -3.33329558e-1f) * s * z + z;
  return Floats(choose(x.v != x.v, x.v, with_sign(base + y, x.v)));
}
inline Floats atan2(const Floats& y, const Floats& x) {
  return each(y, x, [](float a, float b) { return __builtin_atan2f(a, b); });
}
GRAFT_SIMD_MIXED(atan2)

// ---- hyperbolic functions: 4 units ----

// From e^|x| / 2, which overflows where the results do.
inline Floats cosh(const Floats& x) {
  V half = exponential(magnitude(x.v), 1);
  return Floats(half + 0.25f / half);
}
inline Floats sinh(const Floats& x) {
  V a = magnitude(x.v), e = exponential_minus_one(at_most(a, 2.0f)), half = exponential(a, 1);
  V y = choose(a > 1.0f, half - 0.25f / half, 0.5f * (e + e / (e + 1.0f)));
  return Floats(choose((a < 1e-4f) | (a != a), x.v, with_sign(y, x.v)));
}
inline Floats tanh(const Floats& x) {
  V a = magnitude(x.v), e = exponential_minus_one(2.0f * at_most(a, 10.0f));
  return Floats(choose((a < 1e-4f) | (a != a), x.v, with_sign(e / (e + 2.0f), x.v)));
}
inline Floats asinh(const Floats& x) {
  V a = magnitude(x.v), s = a * a;
  V y = choose(a > 1e9f, logarithm(a) + 0.69314718f, log1p(Floats(a + s / (1.0f + square_root(1.0f + s)))).v);
  return Floats(choose(a < 1e-4f, x.v, with_sign(y, x.v)));
}
inline Floats acosh(const Floats& x) {
  V t = x.v - 1.0f;
  V y = choose(x.v > 1e9f, logarithm(x.v) + 0.69314718f, log1p(Floats(t + square_root(2.0f * t + t * t))).v);
  return Floats(choose(x.v < 1.0f, splat(__builtin_nanf("")), y));
}
inline Floats atanh(const Floats& x) {
  V a = magnitude(x.v);
  V y = 0.5f * log1p(Floats((a + a) / (1.0f - a))).v;
  return Floats(choose((a < 1e-4f) | (a != a), x.v, choose(a > 1.0f, splat(__builtin_nanf("")), with_sign(y, x.v))));
}

// ---- others ----

// An odd polynomial up to 1, beyond it 1 - e^(-x^2) times a polynomial of 1 / (1 + x / 2).
inline Floats erf(const Floats& x) {
  V a = at_most(magnitude(x.v), 4.0f), s = a * a;
  V low = a * polynomial(s, 0.0000788250f, -0.0008018855f, 0.0051893122f, -0.0268543288f, 0.1128359735f, -0.3761262596f,
                         1.1283791065f);
  V t = 1.0f / (a * 0.5f + 1.0f);
  V tail = polynomial(t, 0.1202621087f, -0.4744580090f, 0.5681912899f, -0.1076931804f, 0.3498076200f, 0.2591044605f,
                      0.2850055397f, -0.0001604576f);
  V y = choose(a < 1.0f, low, 1.0f - exponential(-s) * tail);
  return Floats(choose(x.v != x.v, x.v, with_sign(y, x.v)));
}
// For z = |x| it is e^(-z^2) * t times a polynomial of t = 1 / (1 + z / 3.05), so that small results keep their
// digits: 13 units.
inline Floats erfc(const Floats& x) {
  V z = at_most(magnitude(x.v), 11.0f), t = 1.0f / (z * 0.3275911f + 1.0f);
  V tail = polynomial(t, -0.06658624857664108f, 0.23153243958950043f, -0.17348478734493256f, 0.19893823564052582f,
                      0.027721384540200233f, 0.09826438874006271f, 0.09114101529121399f, 0.09247377514839172f);
  V s = z * z, rest = multiply_add(z, z, -s);
  V y = 2.0f * t * tail * exponential(-s) * (1.0f - rest);
  return Floats(choose(x.v < 0.0f, 2.0f - y, y));
}
// Lane by lane, with the functions of the library.
inline Floats cbrt(const Floats& x) {
  return each(x, [](float v) { return __builtin_cbrtf(v); });
}
inline Floats lgamma(const Floats& x) {
  return each(x, [](float v) { return __builtin_lgammaf(v); });
}
inline Floats tgamma(const Floats& x) {
  return each(x, [](float v) { return __builtin_tgammaf(v); });
}
inline Floats fmod(const Floats& x, const Floats& y) {
  return each(x, y, [](float a, float b) { return __builtin_fmodf(a, b); });
}
inline Floats hypot(const Floats& x, const Floats& y) {
  return each(x, y, [](float a, float b) { return __builtin_hypotf(a, b); });
}
GRAFT_SIMD_MIXED(fmod)
GRAFT_SIMD_MIXED(hypot)
#undef GRAFT_SIMD_MIXED
