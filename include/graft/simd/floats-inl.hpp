// Vectors of floats and their operators, for one instruction set; included by simd.hpp once per set, inside its
// namespace and with its compiler options. No include guard on purpose.

using V = float __attribute__((vector_size(4 * GRAFT_SIMD_LANES)));
using I = int32_t __attribute__((vector_size(4 * GRAFT_SIMD_LANES)));

inline V splat(float v) { return v - V{}; }  // a sum would lose -0
inline I bits(V v) { return reinterpret_cast<I>(v); }
inline V floats(I i) { return reinterpret_cast<V>(i); }
inline V choose(I mask, V yes, V no) { return mask ? yes : no; }
inline bool uniform(I v) {
  I difference = v ^ (I{} + v[0]);
  int32_t any = 0;
  for (int i = 0; i < GRAFT_SIMD_LANES; ++i) any |= difference[i];
  return any == 0;
}

// The result of a comparison. As a condition it is that of lane 0; lanes that disagree are noted, see `diverged`.
struct Mask {
  I m;
  Mask(const Mask& o) : m(o.m) {}
  explicit Mask(I m) : m(m) {}
  Mask& operator=(const Mask& o) = default;
  operator bool() const {
    if (!uniform(m)) diverged = true;
    return m[0] != 0;
  }
};
inline Mask operator&&(const Mask& a, const Mask& b) { return Mask(a.m & b.m); }
inline Mask operator||(const Mask& a, const Mask& b) { return Mask(a.m | b.m); }
inline Mask operator!(const Mask& a) { return Mask(~a.m); }

// One float per lane. It is copied by hand, so that functions get it by reference: how registers are passed depends on
// the instruction set, and a formula is compiled without one.
struct Floats {
  static constexpr int lanes = GRAFT_SIMD_LANES;
  V v;
  Floats() : v(V{}) {}
  Floats(const Floats& o) : v(o.v) {}
  explicit Floats(V v) : v(v) {}
  template <Number N>
  explicit Floats(N n) : v(splat(static_cast<float>(n))) {}
  Floats& operator=(const Floats& o) = default;
  template <Number N>
  Floats& operator=(N n) {
    return *this = Floats(n);
  }
  // For functions that take a float or a double: the value of lane 0; lanes that differ are noted.
  operator float() const {
    if (!uniform(bits(v))) diverged = true;
    return v[0];
  }
  template <class T>
  Floats& operator+=(const T& o) {
    return *this = *this + o;
  }
  template <class T>
  Floats& operator-=(const T& o) {
    return *this = *this - o;
  }
  template <class T>
  Floats& operator*=(const T& o) {
    return *this = *this * o;
  }
  template <class T>
  Floats& operator/=(const T& o) {
    return *this = *this / o;
  }
};
inline Floats operator-(const Floats& a) { return Floats(floats(bits(a.v) ^ INT32_MIN)); }
inline Floats operator+(const Floats& a) { return a; }

#define GRAFT_SIMD_OPERATOR(type, op, form)                                              \
  inline type operator op(const Floats& a, const Floats& b) { return form(a.v op b.v); } \
  template <Number N>                                                                    \
  inline type operator op(const Floats& a, N b) {                                        \
    return form(a.v op splat(static_cast<float>(b)));                                    \
  }                                                                                      \
  template <Number N>                                                                    \
  inline type operator op(N a, const Floats& b) {                                        \
    return form(splat(static_cast<float>(a)) op b.v);                                    \
  }
GRAFT_SIMD_OPERATOR(Floats, +, Floats)
GRAFT_SIMD_OPERATOR(Floats, -, Floats)
GRAFT_SIMD_OPERATOR(Floats, *, Floats)
GRAFT_SIMD_OPERATOR(Floats, /, Floats)
GRAFT_SIMD_OPERATOR(Mask, <, Mask)
GRAFT_SIMD_OPERATOR(Mask, <=, Mask)
GRAFT_SIMD_OPERATOR(Mask, >, Mask)
GRAFT_SIMD_OPERATOR(Mask, >=, Mask)
GRAFT_SIMD_OPERATOR(Mask, ==, Mask)
GRAFT_SIMD_OPERATOR(Mask, !=, Mask)
#undef GRAFT_SIMD_OPERATOR

// What a formula may return.
inline const Floats& result(const Floats& x) { return x; }
inline Floats result(const Mask& x) { return Floats(floats(x.m & bits(splat(1)))); }
template <Number N>
inline Floats result(N x) {
  return Floats(x);
}

// `count` values, at most one per lane; the last one fills the remaining lanes.
inline Floats load(const float* from, int64_t stride, int64_t count) {
  V v;
  if (stride == 0) return Floats(splat(*from));
  if (count >= GRAFT_SIMD_LANES) __builtin_memcpy(&v, from, sizeof v);
  else {
    v = splat(from[count - 1]);
    __builtin_memcpy(&v, from, static_cast<size_t>(count) * sizeof(float));
  }
  return Floats(v);
}
inline void store(const Floats& x, float* to, int64_t count) {
  if (count >= GRAFT_SIMD_LANES) __builtin_memcpy(to, &x.v, sizeof x.v);
  else __builtin_memcpy(to, &x.v, static_cast<size_t>(count) * sizeof(float));
}

// to[i] = f(x[0][i * stride[0]], ...). Where lanes diverge, each one is computed by itself.
template <class Formula, size_t n>
[[gnu::flatten]] inline void range(const Formula& f, const std::array<const float*, n>& x,
                                   const std::array<int64_t, n>& stride, float* to, int64_t count) {
  [&]<size_t... i>(std::index_sequence<i...>) {
    int64_t at = 0;
    // Whole vectors of inputs that do not broadcast: without the branches of `load` and `store`.
    const int64_t whole = ((stride[i] == 1) && ...) ? count - count % GRAFT_SIMD_LANES : 0;
    for (; at < whole; at += GRAFT_SIMD_LANES) {
      const Floats in[n] = {load(x[i] + at, 1, GRAFT_SIMD_LANES)...};
      diverged = false;
      Floats out = result(f(in[i]...));
      if (diverged) [[unlikely]]
        break;  // the loop below computes it
      store(out, to + at, GRAFT_SIMD_LANES);
    }
    for (; at < count; at += GRAFT_SIMD_LANES) {
      const int64_t left = count - at;
      const Floats in[n] = {load(x[i] + at * stride[i], stride[i], left)...};
      diverged = false;
      Floats out = result(f(in[i]...));
      if (diverged) [[unlikely]]
        for (int lane = 0; lane < GRAFT_SIMD_LANES; ++lane)
          out.v[lane] = result(f(Floats(splat(in[i].v[lane]))...)).v[0];
      store(out, to + at, left);
    }
  }
  (std::make_index_sequence<n>());
}
