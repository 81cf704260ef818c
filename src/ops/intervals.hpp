// Interval arithmetic on integers, for the values of shape computations. Unlike a dimension, such a value may be
// negative. A symbol (the identity of a dimension) is kept if the value is unchanged.
#pragma once

#include <graft/kit/known.hpp>
#include <graft/numeric.hpp>

namespace graft::intervals {

// A bound at either end of int64_t means unbounded.
inline int64_t bounded_sum(int64_t a, int64_t b) {
  int64_t r;
  return !__builtin_add_overflow(a, b, &r) ? r : a < 0 ? INT64_MIN : INT64_MAX;
}
inline int64_t bounded_product(int64_t a, int64_t b) {
  int64_t r;
  return !__builtin_mul_overflow(a, b, &r) ? r : (a < 0) != (b < 0) ? INT64_MIN : INT64_MAX;
}
inline bool no_lower(const Dim& d) { return d.min() == INT64_MIN; }
inline bool no_upper(const Dim& d) { return d.max() == INT64_MAX; }
inline bool is(const Dim& d, int64_t v) { return d.known() && d.min() == v; }

inline Dim add(const Dim& a, const Dim& b) {
  if (is(a, 0)) return b;
  if (is(b, 0)) return a;
  if (a.known() && b.known()) return exact_number(wrap_add(a.min(), b.min()));
  return Dim::between(no_lower(a) || no_lower(b) ? INT64_MIN : bounded_sum(a.min(), b.min()),
                      no_upper(a) || no_upper(b) ? INT64_MAX : bounded_sum(a.max(), b.max()));
}
inline Dim negate(const Dim& a) {
  if (a.known()) return exact_number(wrap_neg(a.min()));
  return Dim::between(no_upper(a) ? INT64_MIN : -a.max(), no_lower(a) ? INT64_MAX : -a.min());
}
inline Dim subtract(const Dim& a, const Dim& b) {
  if (a.same(b)) return exact_number(0);
  if (a.known() && b.known()) return exact_number(wrap_sub(a.min(), b.min()));
  return is(b, 0) ? a : add(a, negate(b));
}
inline Dim multiply(const Dim& a, const Dim& b) {
  if (a.known() && b.known()) return exact_number(wrap_mul(a.min(), b.min()));
  if (is(a, 1)) return b;
  if (is(b, 1)) return a;
  int64_t low = INT64_MAX, high = INT64_MIN;
  for (int64_t x : {a.min(), a.max()})
    for (int64_t y : {b.min(), b.max()}) {
      int64_t v = bounded_product(x, y);
      low = std::min(low, v), high = std::max(high, v);
    }
  bool open = no_lower(a) || no_lower(b), negative = a.min() < 0 || b.min() < 0;
  bool endless = (no_upper(a) || no_upper(b)) && negative;
  return open || endless ? any_number() : Dim::between(low, high);
}
// `down`: rounds down, otherwise toward zero.
inline Dim divide(const Dim& a, const Dim& b, bool down) {
  auto quotient = [&](int64_t x, int64_t y) { return down ? floor_div(x, y) : safe_div(x, y); };
  if (a.known() && b.known()) return exact_number(quotient(a.min(), b.min()));
  if (is(b, 1)) return a;
  if (b.min() <= 0) return any_number();
  // The quotient increases with the dividend; its magnitude increases as the divisor decreases.
  int64_t low = quotient(a.min(), a.min() < 0 ? b.min() : b.max());
  int64_t high = quotient(a.max(), a.max() < 0 ? b.max() : b.min());
  return Dim::between(no_lower(a) ? INT64_MIN : low, no_upper(a) ? INT64_MAX : high);
}
// `down`: the remainder has the sign of the divisor, otherwise that of the dividend.
inline Dim modulo(const Dim& a, const Dim& b, bool down) {
  if (a.known() && b.known())
    return exact_number(down ? floored_mod(a.min(), b.min()) : truncated_mod(a.min(), b.min()));
  if (b.min() <= 0) return any_number();
  if (a.min() >= 0 && a.max() < b.min()) return a;
  int64_t most = no_upper(b) ? INT64_MAX : b.max() - 1;
  if (a.min() >= 0) return Dim::between(0, std::min(a.max(), most));
  return Dim::between(down ? 0 : std::max(a.min(), -most), most);
}
inline Dim maximum(const Dim& a, const Dim& b) {
  if (a.same(b) || a.min() >= b.max()) return a;
  if (b.min() >= a.max()) return b;
  return Dim::between(std::max(a.min(), b.min()), std::max(a.max(), b.max()));
}
inline Dim minimum(const Dim& a, const Dim& b) {
  if (a.same(b) || a.max() <= b.min()) return a;
  if (b.max() <= a.min()) return b;
  return Dim::between(std::min(a.min(), b.min()), std::min(a.max(), b.max()));
}
inline Dim absolute(const Dim& a) {
  if (a.min() >= 0) return a;
  if (a.max() <= 0) return negate(a);
  return maximum(Dim::between(0, a.max()), Dim::between(0, negate(a).max()));
}

// Booleans: 0, 1, or the interval between them if unknown.
inline Dim truth(bool yes, bool no) { return Dim::between(yes ? 1 : 0, no ? 0 : 1); }
inline Dim invert(const Dim& a) { return truth(a.max() == 0, a.min() > 0); }
inline Dim equal(const Dim& a, const Dim& b) { return truth(a.same(b), a.max() < b.min() || b.max() < a.min()); }
inline Dim less(const Dim& a, const Dim& b) { return truth(a.max() < b.min(), a.same(b) || a.min() >= b.max()); }
inline Dim both(const Dim& a, const Dim& b) { return truth(a.min() > 0 && b.min() > 0, a.max() == 0 || b.max() == 0); }
inline Dim any(const Dim& a, const Dim& b) { return truth(a.min() > 0 || b.min() > 0, a.max() == 0 && b.max() == 0); }
inline Dim differ(const Dim& a, const Dim& b) {
  return truth((a.min() > 0 && b.max() == 0) || (a.max() == 0 && b.min() > 0),
               (a.min() > 0 && b.min() > 0) || (a.max() == 0 && b.max() == 0));
}

}  // namespace graft::intervals
