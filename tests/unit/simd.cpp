// The vector functions of the SDK against the library's in double, over the whole range, for both instruction sets.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <graft/elementwise.hpp>

#if GRAFT_HAS_SIMD

namespace graft {
namespace {

using Values = std::vector<float>;

const Values& arguments() {
  static const Values all = [] {
    Values v;
    for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 99'991)
      v.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    for (int i = -50'000; i <= 50'000; ++i) v.push_back(static_cast<float>(i) * 0.002f);
    for (int i = -20'000; i <= 20'000; ++i) v.push_back(static_cast<float>(i) * 0.0000713f);
    for (float x : {0.0f, 0.5f, 1.0f, 1.5f, 2.5f, 88.5f, 88.8f, 89.4f, 90.0f, 103.9f, 104.1f, 1e-45f, 1e-38f,
                    8388607.5f, 3.4028235e38f, std::numeric_limits<float>::infinity()})
      v.push_back(x), v.push_back(-x);
    v.push_back(std::numeric_limits<float>::quiet_NaN());
    return v;
  }();
  return all;
}

// The error in units of the last place of the exact result.
double error_of(float got, double exact) {
  auto rounded = static_cast<float>(exact);
  if (std::isnan(exact) || std::isnan(got)) return std::isnan(exact) && std::isnan(got) ? 0 : INFINITY;
  if (rounded == got) return std::signbit(rounded) == std::signbit(got) ? 0 : INFINITY;
  if (std::isinf(rounded) || std::isinf(got))
    return std::fabs(std::isinf(got) ? exact : got) > 3.40282e38 ? 1 : INFINITY;  // rounded at the end of the range
  int exponent = 0;
  std::frexp(exact, &exponent);
  return std::fabs(got - exact) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

constexpr NoAttributes none;

template <class F>
Values run16(const Values& x) {
  Values y(x.size());
  detail::range_of_16<1, F, NoAttributes>(&none, {x.data()}, {1}, y.data(), static_cast<int64_t>(x.size()));
  return y;
}
template <class F>
Values run8(const Values& x) {
  Values y(x.size());
  detail::range_of_8<1, F, NoAttributes>(&none, {x.data()}, {1}, y.data(), static_cast<int64_t>(x.size()));
  return y;
}

template <class F, class Exact>
void expect_close(const char* name, F, Exact exact, double most) {
  const Values& x = arguments();
  for (int lanes : {16, 8}) {
    if (!(lanes == 16 ? __builtin_cpu_supports("avx512bw") : __builtin_cpu_supports("avx2"))) continue;
    Values y = lanes == 16 ? run16<F>(x) : run8<F>(x);
    double worst = 0;
    size_t at = 0;
    for (size_t i = 0; i < x.size(); ++i)
      if (double e = error_of(y[i], exact(double{x[i]})); e > worst) worst = e, at = i;
    EXPECT_LE(worst, most) << name << ", " << lanes << " lanes, of " << x[at] << ": " << y[at] << ", exactly "
                           << exact(double{x[at]});
  }
}

#define EXPECT_FUNCTION(name, most) \
  expect_close(                     \
      #name, [](const auto& x) { return std::name(x); }, [](double x) { return std::name(x); }, most)

TEST(Simd, Functions) {
  EXPECT_FUNCTION(exp, 2);
  EXPECT_FUNCTION(exp2, 2);
  EXPECT_FUNCTION(expm1, 2);
  EXPECT_FUNCTION(log, 2);
  EXPECT_FUNCTION(log2, 2);
  EXPECT_FUNCTION(log10, 2);
  EXPECT_FUNCTION(log1p, 2);
  EXPECT_FUNCTION(sqrt, 0.5);
  EXPECT_FUNCTION(sin, 2);
  EXPECT_FUNCTION(cos, 2);
  EXPECT_FUNCTION(tan, 4);
  EXPECT_FUNCTION(asin, 3);
  EXPECT_FUNCTION(acos, 3);
  EXPECT_FUNCTION(atan, 3);
  EXPECT_FUNCTION(sinh, 3);
  EXPECT_FUNCTION(cosh, 3);
  EXPECT_FUNCTION(tanh, 3);
  EXPECT_FUNCTION(asinh, 3);
  EXPECT_FUNCTION(acosh, 3);
  EXPECT_FUNCTION(atanh, 3);
  EXPECT_FUNCTION(erf, 3);
  EXPECT_FUNCTION(erfc, 13);
  EXPECT_FUNCTION(cbrt, 1);
}

TEST(Simd, ExactFunctions) {
  EXPECT_FUNCTION(fabs, 0);
  EXPECT_FUNCTION(floor, 0);
  EXPECT_FUNCTION(ceil, 0);
  EXPECT_FUNCTION(trunc, 0);
  EXPECT_FUNCTION(round, 0);
  EXPECT_FUNCTION(nearbyint, 0);
  expect_close(
      "-x", [](const auto& x) { return -x; }, [](double x) { return -x; }, 0);
  expect_close(
      "isnan", [](const auto& x) { return std::isnan(x); }, [](double x) { return std::isnan(x); }, 0);
  expect_close(
      "isinf", [](const auto& x) { return std::isinf(x); }, [](double x) { return std::isinf(x); }, 0);
  expect_close(
      "signbit", [](const auto& x) { return std::signbit(x); }, [](double x) { return std::signbit(x); }, 0);
  expect_close(
      "max", [](const auto& x) { return std::max(x, decltype(+x)(2)); }, [](double x) { return std::max(x, 2.0); }, 0);
}

TEST(Simd, Powers) {
  expect_close(
      "x^3", [](const auto& x) { return std::pow(x, 3); }, [](double x) { return x * x * x; }, 2);
  expect_close(
      "x^-1", [](const auto& x) { return std::pow(x, -1); }, [](double x) { return 1 / x; }, 1);
  expect_close(
      "x^0.5", [](const auto& x) { return std::pow(x, 0.5); }, [](double x) { return std::pow(x, 0.5); }, 1);
  expect_close(
      "x^1.7", [](const auto& x) { return std::pow(x, 1.7f); }, [](double x) { return std::pow(x, double{1.7f}); }, 1);
}

// Lanes that go different ways: a condition, a loop, a function that takes a double, a limit of the type.
TEST(Simd, DivergingLanes) {
  expect_close(
      "?:", [](const auto& x) { return x > 0 ? x : 0.5f * std::expm1(x); },
      [](double x) { return x > 0 ? x : 0.5 * std::expm1(x); }, 2);
  expect_close(
      "if",
      [](const auto& x) {
        if (x < -1 || x > 1) return x * 2;
        return x;
      },
      [](double x) { return x < -1 || x > 1 ? 2 * x : x; }, 0);
  expect_close(
      "while",
      [](auto x) {
        while (x > 10 && x < 1e6f) x = x / 2;
        return x;
      },
      [](double v) {
        auto x = static_cast<float>(v);
        while (x > 10 && x < 1e6f) x = x / 2;
        return double{x};
      },
      0);
  expect_close(
      "double", [](const auto& x) { return static_cast<double>(x) / 3; }, [](double x) { return x / 3; }, 0.5);
  expect_close(
      "limits",
      [](const auto& x) {
        using T = std::remove_cvref_t<decltype(x)>;
        static_assert(std::is_floating_point_v<T>);
        return std::max(x, T(std::numeric_limits<T>::lowest() / 2));
      },
      [](double x) { return std::max(x, double{std::numeric_limits<float>::lowest()} / 2); }, 0);
}

TEST(Simd, RowsOfBroadcasts) {
  using Two = detail::Rows<2>;
  auto rows = [](std::vector<int64_t> a, std::vector<int64_t> b, std::vector<int64_t> out) {
    return Two::of({a, b}, out);
  };
  Two same = rows({2, 3, 4}, {2, 3, 4}, {2, 3, 4});
  EXPECT_EQ(same.length, 24);
  EXPECT_EQ(same.count(), 1);
  Two channel = rows({2, 3, 4, 5}, {3, 1, 1}, {2, 3, 4, 5});
  EXPECT_EQ(channel.length, 20);
  EXPECT_EQ(channel.count(), 6);
  EXPECT_EQ(channel.step, (std::array<int64_t, 2>{1, 0}));
  EXPECT_EQ(channel.begin(4), (std::array<int64_t, 2>{80, 1}));
  Two last = rows({2, 3}, {3}, {2, 3});
  EXPECT_EQ(last.length, 3);
  EXPECT_EQ(last.begin(1), (std::array<int64_t, 2>{3, 0}));
  Two scalar = rows({}, {}, {});
  EXPECT_EQ(scalar.length * scalar.count(), 1);
}

// Every number of 16 bits, and floats of all sizes, against the compiler's own conversion.
TEST(Simd, Halves) {
  auto as_f16 = [](float x) { return std::bit_cast<uint16_t>(static_cast<_Float16>(x)); };
  for (auto set : {detail::InstructionSet::none, detail::InstructionSet::avx2, detail::InstructionSet::avx512}) {
    if (set > detail::instruction_set()) continue;
    detail::HalfFunctions f16 = detail::half_functions(DType::f16, set),
                          bf16 = detail::half_functions(DType::bf16, set);
    std::vector<uint16_t> all(65536), back(all.size());
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
    std::vector<float> wide(all.size());
    auto count = static_cast<int64_t>(all.size());
    f16.widen(all.data(), count, wide.data());
    f16.narrow(wide.data(), count, back.data());
    for (size_t i = 0; i < all.size(); ++i) {
      auto exact = static_cast<float>(std::bit_cast<_Float16>(all[i]));
      if (std::isnan(exact)) {
        ASSERT_TRUE(std::isnan(wide[i]) && (back[i] & 0x7fff) > 0x7c00) << i;
      } else {
        ASSERT_EQ(std::bit_cast<uint32_t>(wide[i]), std::bit_cast<uint32_t>(exact)) << i;
        ASSERT_EQ(back[i], all[i]);
      }
    }
    bf16.widen(all.data(), count, wide.data());
    bf16.narrow(wide.data(), count, back.data());
    for (size_t i = 0; i < all.size(); ++i) {
      ASSERT_EQ(std::bit_cast<uint32_t>(wide[i]), static_cast<uint32_t>(i) << 16);
      ASSERT_EQ(back[i] | (std::isnan(wide[i]) ? 0x40 : 0), all[i] | (std::isnan(wide[i]) ? 0x40 : 0));
    }
    const Values& x = arguments();
    std::vector<uint16_t> narrow(x.size()), brain(x.size());
    f16.narrow(x.data(), static_cast<int64_t>(x.size()), narrow.data());
    bf16.narrow(x.data(), static_cast<int64_t>(x.size()), brain.data());
    for (size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(x[i])) continue;
      ASSERT_EQ(narrow[i], as_f16(x[i])) << x[i];
      // Nearest, halves to even: what is cut off is at most half of the last place.
      auto from = std::bit_cast<uint32_t>(x[i]), to = static_cast<uint32_t>(brain[i]) << 16;
      uint32_t off = from > to ? from - to : to - from;
      ASSERT_TRUE(off < 0x8000 || (off == 0x8000 && brain[i] % 2 == 0)) << x[i];
    }
    // Fewer than a vector: nothing behind them is touched.
    for (int64_t few = 0; few < 20; ++few) {
      std::vector<uint16_t> y(32, 7);
      Values z(32, 7);
      f16.narrow(wide.data(), few, y.data());
      f16.widen(all.data(), few, z.data());
      for (auto i = static_cast<size_t>(few); i < y.size(); ++i) ASSERT_TRUE(y[i] == 7 && z[i] == 7) << few;
    }
  }
}

// The number of inputs follows from the parameters; bodies are not looked at.
struct Slope {
  float slope = 0;
  static constexpr std::tuple schema{attr("slope", &Slope::slope, "")};
};
#define EXPECT_INPUTS(A, n, ...) static_assert(detail::inputs_of<decltype(__VA_ARGS__), A>() == n)
EXPECT_INPUTS(NoAttributes, 1, [](auto x) { return x.no_number; });
EXPECT_INPUTS(NoAttributes, 2, [](auto x, auto y) { return x.no_number + y; });
EXPECT_INPUTS(NoAttributes, 3, [](auto x, auto y, const auto& z) { return x.no_number + y + z; });
EXPECT_INPUTS(NoAttributes, 1, [](auto x, const NoAttributes&) { return x; });
EXPECT_INPUTS(Slope, 1, [](auto x) { return x.no_number; });
EXPECT_INPUTS(Slope, 2, [](auto x, auto y) { return x.no_number + y; });
EXPECT_INPUTS(Slope, 1, [](auto x, const auto& a) { return a.slope * x; });
EXPECT_INPUTS(Slope, 3, [](auto x, auto y, auto z) { return x.no_number + y + z; });
EXPECT_INPUTS(Slope, 2, [](auto x, auto y, const auto& a) { return a.slope * x + y; });
EXPECT_INPUTS(Slope, 2, [](auto x, auto y, const Slope& a) { return a.slope * x + y; });
EXPECT_INPUTS(Slope, 3, [](auto x, auto y, auto z, const Slope& a) { return a.slope * x + y + z; });
EXPECT_INPUTS(Slope, 1, [](double x, const Slope& a) { return a.slope * x; });
EXPECT_INPUTS(Slope, 2, [](float x, double y) { return x * y; });
EXPECT_INPUTS(Slope, 2, scalar([](auto x, auto y) { return x.no_number + y; }));
EXPECT_INPUTS(NoAttributes, 0, [](auto, auto, auto, auto, auto) { return 0; });
EXPECT_INPUTS(NoAttributes, 0, [](std::string) { return 0; });

}  // namespace
}  // namespace graft

#endif
