// The kernels of element-wise operations, from one formula: with plain numbers for every element type, and with vectors
// of floats (simd.hpp) on the CPU, which f16 and bf16 are converted to and from block by block. `OpOf::elementwise` in
// op.hpp uses them.
#pragma once

#include <algorithm>
#include <array>

#include "kernel.hpp"
#include "shapes.hpp"
#include "simd.hpp"

#if GRAFT_HAS_SIMD
#include <cpuid.h>
#endif

namespace [[gnu::visibility("hidden")]] graft {

// Keeps a formula away from vectors: for one that does not compile with them, or whose results need doubles.
//
//   .elementwise(graft::scalar([](auto x) { return my_series(static_cast<double>(x)); }))
template <class F>
struct ScalarFormula {
  template <class... T>
  requires std::is_invocable_v<F, T...>
  auto operator()(const T&... x) const { return F{}(x...); }
  static constexpr bool is_scalar = true;
};
template <class F>
ScalarFormula<F> scalar(F) {
  return {};
}

namespace detail {

// ---- what a formula takes ----

// A formula is tried with other types than numbers if its parameters are `auto`.
template <class F>
concept TypedFormula = requires {
  &F::operator();
};
template <class F>
concept GenericFormula = !TypedFormula<F> && !requires {
  F::is_scalar;
};

// Take whatever a formula takes, so that a call that both can take is ambiguous: an error that a concept can ask for,
// while a call of the formula itself would compile it with these arguments. The second one loses to a last parameter
// that is passed by value and wins over a const reference.
struct Anything {
  struct Chosen {};
  template <class T>
  Chosen operator()(T, int = 0) const;
  template <class T, class U>
  Chosen operator()(T, U, int = 0, int = 0) const;
  template <class T, class U, class V>
  Chosen operator()(T, U, V, int = 0, int = 0, int = 0) const;
  template <class T, class U, class V, class W>
  Chosen operator()(T, U, V, W, int = 0, int = 0, int = 0, int = 0) const;
};
struct AnythingByReference {
  using Chosen = Anything::Chosen;
  template <class T, class U>
  Chosen operator()(T, U&, int = 0, int = 0) const;
  template <class T, class U, class V>
  Chosen operator()(T, U, V&, int = 0, int = 0, int = 0) const;
};
template <class F, class Other>
struct FormulaOr : F, Other {
  using F::operator();
  using Other::operator();
};
template <class F, class Other, class... T>
constexpr bool takes_before() {
  return !requires(const FormulaOr<F, Other>& f, T... x) {
    { f(x...) } -> std::same_as<Anything::Chosen>;
  };
}
template <class F, class... T>
constexpr bool takes() {
  if constexpr (TypedFormula<F>) return std::is_invocable_v<const F&, T...>;
  else return takes_before<F, Anything, T...>();
}
template <class F>
struct InsideScalar {
  using type = F;
};
template <class F>
struct InsideScalar<ScalarFormula<F>> {
  using type = F;
};

// The number of inputs that a formula takes; 0: it takes something else. Of `(auto x, auto y)` and `(auto x, const
// auto& a)` for an operation with attributes, the first one has two inputs, the second one gets the attributes.
template <class Formula, class A>
constexpr size_t inputs_of() {
  using F = typename InsideScalar<Formula>::type;
  constexpr size_t plain = takes<F, double>()                   ? 1
                           : takes<F, double, double>()         ? 2
                           : takes<F, double, double, double>() ? 3
                                                                : 0;
  if constexpr (std::tuple_size_v<std::remove_cvref_t<decltype(A::schema)>> == 0 && plain > 0) return plain;
  constexpr size_t with = takes<F, double, const A&>()                   ? 1
                          : takes<F, double, double, const A&>()         ? 2
                          : takes<F, double, double, double, const A&>() ? 3
                                                                         : 0;
  if constexpr (plain == 0) return with;
  else if constexpr (with + 1 != plain || with == 0) return plain;
  else if constexpr (plain == 2) return takes_before<F, AnythingByReference, double, double>() ? plain : with;
  else return takes_before<F, AnythingByReference, double, double, double>() ? plain : with;
}
// `written` is the number of inputs that the author gave; 0: none. The result is 0 after an error, so that no further
// ones follow.
template <size_t written, class F, class A>
constexpr size_t formula_inputs() {
  constexpr bool plain = std::is_empty_v<F>;
  static_assert(plain, "a formula is a lambda without captures: it gets the attributes as its last parameter");
  constexpr size_t n = written ? written : inputs_of<F, A>();
  static_assert(n >= 1 && n <= 3,
                "a formula takes one to three elements, then the attributes as a const reference if it needs them");
  return plain && n <= 3 ? n : 0;
}

// f(x..., attributes), or f(x...) if the formula does not take attributes.
template <class F, class A, class... T>
auto apply(const A& a, T... x) {
  if constexpr (std::is_invocable_v<F, T..., const A&>) return F{}(x..., a);
  else return F{}(x...);
}
// What a formula gets for elements that are computed as T; see simd/numbers.hpp.
template <class T>
using Element = std::conditional_t<std::is_same_v<T, int64_t>, long long,
                                   std::conditional_t<std::is_same_v<T, uint64_t>, unsigned long long, T>>;
// y[i] = f(x[0][i * step[0]], ...) for `count` elements. Such functions are all that is compiled for each formula; the
// loops around them are compiled once for each number of inputs.
template <size_t n, class T, class Out>
using RowFunction = void (*)(const void* attributes, const std::array<const T*, n>& x,
                             const std::array<int64_t, n>& step, Out* y, int64_t count);
template <size_t n, class F, class A, class T, class Out>
void formula_row(const void* attributes, const std::array<const T*, n>& x, const std::array<int64_t, n>& step, Out* y,
                 int64_t count) {
  const A& a = *static_cast<const A*>(attributes);
  [&]<size_t... i>(std::index_sequence<i...>) {
    for (int64_t at = 0; at < count; ++at) {
      auto r = apply<F>(a, static_cast<Element<T>>(x[i][at * step[i]])...);
      // A formula that yields fractions for integers: round to nearest even.
      if constexpr (std::is_integral_v<T> && std::is_floating_point_v<decltype(r)>) y[at] = std::nearbyint(r);
      else y[at] = static_cast<Out>(r);
    }
  }
  (std::make_index_sequence<n>());
}

// ---- rows ----

// A broadcast as a loop over rows: in the innermost dimension each input goes on by 0 or 1, and dimensions that need no
// loop of their own are merged into it.
template <size_t n>
struct Rows {
  std::vector<int64_t> dims;  // the outer ones
  std::vector<std::array<int64_t, n>> steps;
  int64_t length = 1;
  std::array<int64_t, n> step{};
  int64_t count() const {
    int64_t all = 1;
    for (int64_t d : dims) all *= d;
    return all;
  }

  static Rows of(const std::array<std::span<const int64_t>, n>& inputs, std::span<const int64_t> out) {
    Rows r;
    std::array<std::vector<int64_t>, n> strides;
    for (size_t i = 0; i < n; ++i) strides[i] = broadcast_strides(inputs[i], out);
    for (size_t d = out.size(); d-- > 0;) {
      if (out[d] == 1) continue;
      std::array<int64_t, n> at;
      for (size_t i = 0; i < n; ++i) at[i] = strides[i][d];
      auto follows = [&](const std::array<int64_t, n>& inner, int64_t size) {
        for (size_t i = 0; i < n; ++i)
          if (at[i] != inner[i] * size) return false;
        return true;
      };
      if (r.length == 1 && r.dims.empty()) r.length = out[d], r.step = at;
      else if (r.dims.empty() && follows(r.step, r.length)) r.length *= out[d];
      else if (!r.dims.empty() && follows(r.steps[0], r.dims[0])) r.dims[0] *= out[d];
      else r.dims.insert(r.dims.begin(), out[d]), r.steps.insert(r.steps.begin(), at);
    }
    return r;
  }
  // Where row `row` begins in each input.
  std::array<int64_t, n> begin(int64_t row) const {
    std::array<int64_t, n> at{};
    for (size_t d = dims.size(); d-- > 0; row /= dims[d])
      for (size_t i = 0; i < n; ++i) at[i] += row % dims[d] * steps[d][i];
    return at;
  }
};

// ---- every element type ----

template <size_t n, class T, class Out>
void reference_rows(Run& ctx, const void* attributes, RowFunction<n, T, Out> f) {
  OutputView y = ctx.output(0);
  std::array<std::vector<T>, n> values;
  std::array<std::span<const int64_t>, n> dims;
  for (size_t i = 0; i < n; ++i) values[i] = ctx.input(i).to<T>(), dims[i] = ctx.input(i).dims();
  std::vector<Out> out(static_cast<size_t>(y.size()));
  if (out.empty()) return;
  Rows<n> rows = Rows<n>::of(dims, y.dims());
  for (int64_t row = 0; row < rows.count(); ++row) {
    std::array<int64_t, n> at = rows.begin(row);
    std::array<const T*, n> x;
    for (size_t i = 0; i < n; ++i) x[i] = values[i].data() + at[i];
    f(attributes, x, rows.step, out.data() + row * rows.length, rows.length);
  }
  y.assign(out);
}
// The type that a formula gives for elements of T.
template <class F, class A, class T, size_t... i>
auto result_of(std::index_sequence<i...>)
    -> decltype(apply<F>(std::declval<const A&>(), (static_cast<void>(i), std::declval<Element<T>>())...));
// y[i] = f(x[i]...) over broadcast inputs, for every element type: the reference kernel of element-wise operations.
template <size_t n, class F, class A>
void elementwise_reference(Run& ctx, const A& a) {
  with_number_type(ctx.input(0).type(), [&]<class T>(T) {
    using R = decltype(result_of<F, A, T>(std::make_index_sequence<n>()));
    using Out =
        std::conditional_t<std::is_same_v<R, bool>, uint8_t, std::conditional_t<std::is_integral_v<R>, T, double>>;
    reference_rows<n, T, Out>(ctx, &a, formula_row<n, F, A, T, Out>);
  });
}

// ---- f32 on all threads ----

inline void accept_f32(Accept& ctx) {
  DType type = ctx.type(0);
  if (type != DType::f32 && type != DType::f16 && type != DType::bf16)
    unsupported("expected f32, f16 or bf16, got ", type);
  for (size_t i = 1; i < ctx.inputs(); ++i)
    if (ctx.type(i) != type) unsupported("expected inputs of ", type, ", got ", ctx.type(i));
  if (DType out = ctx.output(0).type; out != type) unsupported("expected an output of ", type, ", got ", out);
}

// Calls one(inputs, output, number of elements) for the pieces of all rows; E is float, or the bits of f16 or bf16.
// Pieces begin at multiples of 64 elements of a row, however the work is divided, so that every element is always
// computed by the same lane.
template <size_t n, class E, class One>
void for_rows(Run& ctx, const Rows<n>& rows, const One& one) {
  constexpr int64_t piece = 64, grain = 4096;
  std::array<const E*, n> x;
  for (size_t i = 0; i < n; ++i) x[i] = static_cast<const E*>(ctx.input(i).bytes());
  E* y = static_cast<E*>(ctx.output(0).bytes());
  auto run = [&](int64_t row, int64_t begin, int64_t end) {
    std::array<int64_t, n> at = rows.begin(row);
    std::array<const E*, n> from;
    for (size_t i = 0; i < n; ++i) from[i] = x[i] + at[i] + begin * rows.step[i];
    one(from, y + row * rows.length + begin, end - begin);
  };
  int64_t count = rows.count();
  if (ctx.output(0).size() == 0) return;
  if (count == 1) {
    ctx.parallel_for((rows.length + piece - 1) / piece, grain / piece,
                     [&](int64_t begin, int64_t end) { run(0, begin * piece, std::min(end * piece, rows.length)); });
    return;
  }
  ctx.parallel_for(count, std::max<int64_t>(1, grain / rows.length), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) run(row, 0, rows.length);
  });
}

// f16 or bf16 to floats and back; null for f32.
struct HalfFunctions {
  void (*widen)(const uint16_t* x, int64_t n, float* y) = nullptr;
  void (*narrow)(const float* x, int64_t n, uint16_t* y) = nullptr;
};
enum class InstructionSet { none, avx2, avx512 };
inline InstructionSet instruction_set() {
#if GRAFT_HAS_SIMD
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw"))
    return InstructionSet::avx512;
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned f16c = 1u << 29;  // which not all compilers know by name
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __get_cpuid(1, &a, &b, &c, &d) && (c & f16c))
    return InstructionSet::avx2;
#endif
  return InstructionSet::none;
}
inline HalfFunctions half_functions(DType type, InstructionSet set = instruction_set()) {
  if (type != DType::f16 && type != DType::bf16) return {};
  bool f16 = type == DType::f16;
#if GRAFT_HAS_SIMD
  using namespace simd;
  if (set == InstructionSet::avx512)
    return f16 ? HalfFunctions{lanes16::widen_f16, lanes16::narrow_f16}
               : HalfFunctions{lanes16::widen_bf16, lanes16::narrow_bf16};
  if (set == InstructionSet::avx2)
    return f16 ? HalfFunctions{lanes8::widen_f16, lanes8::narrow_f16}
               : HalfFunctions{lanes8::widen_bf16, lanes8::narrow_bf16};
#endif
  (void)set;
  return f16 ? HalfFunctions{simd::lanes4::widen_f16, simd::lanes4::narrow_f16}
             : HalfFunctions{simd::lanes4::widen_bf16, simd::lanes4::narrow_bf16};
}

template <size_t n>
using RangeFunction = RowFunction<n, float, float>;
template <size_t n>
struct FloatRows {
  RangeFunction<n> range;
  Rows<n> rows;
  HalfFunctions half;
};
template <size_t n>
FloatRows<n> prepare_rows(Prepare& ctx, RangeFunction<n> range) {
  std::array<std::vector<int64_t>, n> dims;
  std::array<std::span<const int64_t>, n> spans;
  Shape out = ctx.shape(0);
  for (size_t i = 0; i < n; ++i) {
    dims[i] = ctx.shape(i).values();
    spans[i] = dims[i];
    if (i > 0) out = broadcast(out, ctx.shape(i));
  }
  return {range, Rows<n>::of(spans, out.values()), half_functions(ctx.type(0))};
}
// The formula gets floats, whatever the tensors have.
template <size_t n>
void run_rows(Run& ctx, const void* attributes, const FloatRows<n>& s) {
  const std::array<int64_t, n>& step = s.rows.step;
  if (!s.half.widen)
    return for_rows<n, float>(ctx, s.rows, [&](const std::array<const float*, n>& x, float* y, int64_t count) {
      s.range(attributes, x, step, y, count);
    });
  constexpr int64_t block = 512;  // so that everything stays in the first cache
  for_rows<n, uint16_t>(ctx, s.rows, [&](const std::array<const uint16_t*, n>& x, uint16_t* y, int64_t count) {
    alignas(64) float in[n][block];
    alignas(64) float out[block];
    std::array<const float*, n> from;
    for (size_t i = 0; i < n; ++i) {
      from[i] = in[i];
      if (step[i] == 0) s.half.widen(x[i], 1, in[i]);
    }
    for (int64_t at = 0; at < count; at += block) {
      int64_t size = std::min(block, count - at);
      for (size_t i = 0; i < n; ++i)
        if (step[i] != 0) s.half.widen(x[i] + at, size, in[i]);
      s.range(attributes, from, step, out, size);
      s.half.narrow(out, size, y + at);
    }
  });
}
template <size_t n, class A>
void elementwise_run(Run& ctx, const A& a, const FloatRows<n>& s) {
  run_rows<n>(ctx, &a, s);
}
// At the end of another operation, in place.
template <size_t n>
void apply_rows(const void* attributes, RangeFunction<n> range, const float* numbers, float* y, int64_t rows,
                int64_t step, int64_t length) {
  std::array<const float*, n> x;
  std::array<int64_t, n> along{};
  along[0] = 1;
  for (size_t i = 1; i < n; ++i) x[i] = numbers + i - 1;
  if (step == length) length *= rows, rows = 1;
  for (int64_t r = 0; r < rows; ++r, y += step) x[0] = y, range(attributes, x, along, y, length);
}
template <size_t n, class A>
void elementwise_rows(const A& a, const FloatRows<n>& s, const float* numbers, float* y, int64_t rows, int64_t step,
                      int64_t length) {
  apply_rows<n>(&a, s.range, numbers, y, rows, step, length);
}

// With plain floats.
template <size_t n, class F, class A>
FloatRows<n> elementwise_prepare(Prepare& ctx, const A&) {
  return prepare_rows<n>(ctx, formula_row<n, F, A, float, float>);
}

// Inputs that formulas are tried with: numbers of both signs and many sizes, in many combinations.
template <size_t n>
constexpr auto formula_samples() {
  constexpr float sizes[] = {0.00137f, 0.0113f, 0.113f, 0.37f, 0.71f, 1.13f, 1.9f, 3.3f, 5.7f, 9.1f, 15.3f, 27.7f};
  constexpr size_t kinds = 2 * std::size(sizes), count = n == 1 ? kinds : 4 * kinds;
  std::array<std::array<float, count>, n> x{};
  for (size_t i = 0; i < n; ++i)
    for (size_t k = 0; k < count; ++k) {
      size_t which = (i == 0 ? k : i == 1 ? k * 5 + k / kinds : k * 7 + 3 * (k / kinds)) % kinds;
      x[i][k] = sizes[which / 2] * (which % 2 ? -1.0f : 1.0f);
    }
  return x;
}

// Whether another way to compute a formula gives what plain floats give.
inline bool close_to(float got, float expected) {
  return got == expected || (std::isnan(got) && std::isnan(expected)) ||
         std::fabs(expected - got) <= 1e-4f * std::fabs(expected);
}

#if GRAFT_HAS_SIMD

template <class F>
concept VectorFormula = GenericFormula<F>;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"
GRAFT_SIMD_BEGIN(GRAFT_SIMD_AVX512)
template <size_t n, class F, class A>
[[gnu::flatten]] void range_of_16(const void* a, const std::array<const float*, n>& x,
                                  const std::array<int64_t, n>& step, float* y, int64_t count) {
  auto f = [a](const auto&... v) { return apply<F>(*static_cast<const A*>(a), v...); };
  simd::lanes16::range<decltype(f), n>(f, x, step, y, count);
}
GRAFT_SIMD_END
GRAFT_SIMD_BEGIN(GRAFT_SIMD_AVX2)
template <size_t n, class F, class A>
[[gnu::flatten]] void range_of_8(const void* a, const std::array<const float*, n>& x,
                                 const std::array<int64_t, n>& step, float* y, int64_t count) {
  auto f = [a](const auto&... v) { return apply<F>(*static_cast<const A*>(a), v...); };
  simd::lanes8::range<decltype(f), n>(f, x, step, y, count);
}
GRAFT_SIMD_END
#pragma GCC diagnostic pop

// Declines if floats and vectors give different results, because the formula computes in double on purpose or asks for
// the type of x, for example.
template <size_t n>
void compare_with_floats(const void* attributes, RangeFunction<n> floats, RangeFunction<n> vectors) {
  static constexpr auto x = formula_samples<n>();
  constexpr auto count = x[0].size();
  float expected[count], got[count];
  std::array<const float*, n> from;
  std::array<int64_t, n> step;
  for (size_t i = 0; i < n; ++i) from[i] = x[i].data(), step[i] = 1;
  floats(attributes, from, step, expected, static_cast<int64_t>(count));
  vectors(attributes, from, step, got, static_cast<int64_t>(count));
  for (size_t k = 0; k < count; ++k)
    if (!close_to(got[k], expected[k]))
      unsupported("expected the same results as with floats, got ", got[k], " instead of ", expected[k], " for ",
                  x[0][k]);
}
inline InstructionSet vector_instructions() {
  InstructionSet set = instruction_set();
  if (set == InstructionSet::none) unsupported("requires a processor with AVX2");
  return set;
}

template <size_t n, class F, class A>
FloatRows<n> vector_prepare(Prepare& ctx, const A& a) {
  RangeFunction<n> range = vector_instructions() == InstructionSet::avx512 ? range_of_16<n, F, A> : range_of_8<n, F, A>;
  compare_with_floats<n>(&a, formula_row<n, F, A, float, float>, range);
  return prepare_rows<n>(ctx, range);
}

#else
template <class F>
concept VectorFormula = false;
#endif

}  // namespace detail
}  // namespace graft
