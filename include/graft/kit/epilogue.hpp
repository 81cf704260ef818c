// The epilogue of a fused operation: what happens to its results while they are still in registers or in the cache.
//
//   struct Fused : EpilogueAttributes {
//     static constexpr std::tuple schema{low_attr, high_attr, activation_attr, activation_numbers_attr};
//   };
//   Epilogue e = epilogue_of(ctx, a);   // in prepare
//   y = e.bounded(x); ...; e.apply(y, rows, step, length);
//
// First the bounds, which cost nothing beside the results; then an operation of any definition with a function of rows
// (Prepare::element_rows). Its attributes are those of the fused one whose names begin with "activation_".
#pragma once

#include <algorithm>
#include <limits>

#include "../attr.hpp"
#include "../context.hpp"

namespace [[gnu::visibility("hidden")]] graft {

struct EpilogueAttributes {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
  std::string activation;
  std::vector<double> numbers;
};
inline constexpr std::string_view activation_prefix = "activation_";

inline constexpr auto epilogue_low_attr = attr("low", &EpilogueAttributes::low, "lower bound of the result");
inline constexpr auto epilogue_high_attr = attr("high", &EpilogueAttributes::high, "upper bound of the result");
inline constexpr auto activation_attr =
    attr("activation", &EpilogueAttributes::activation,
         "element-wise operation that is applied last, as Type@opset; its attributes follow as activation_NAME");
inline constexpr auto activation_numbers_attr =
    attr("numbers", &EpilogueAttributes::numbers, "inputs of the activation but the first: single numbers");

struct Epilogue {
  float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();
  ElementRows activation = {};  // empty: nothing but the bounds

  bool empty() const { return !activation && low == -high && low == -std::numeric_limits<float>::infinity(); }
  float bounded(float x) const {
    x = x < low ? low : x;
    return x > high ? high : x;
  }
  // The activation of y[r * step + i], r < rows, i < length.
  void activate(float* y, int64_t rows, int64_t step, int64_t length) const {
    if (activation) activation(y, rows, step, length);
  }
};

// All of it, for reference kernels. Sums are exact up to here; activations are computed in f32.
inline std::vector<float> end_results(const Epilogue& e, const std::vector<double>& sums) {
  std::vector<float> y(sums.begin(), sums.end());
  for (float& v : y) v = e.bounded(v);
  e.activate(y.data(), 1, 0, static_cast<int64_t>(y.size()));
  return y;
}

inline Epilogue epilogue_of(Prepare& ctx, const EpilogueAttributes& a) {
  Epilogue e{static_cast<float>(a.low), static_cast<float>(a.high)};
  if (a.activation.empty()) return e;
  size_t at = a.activation.find('@');
  if (at == std::string::npos) fail("expected an activation as Type@opset, got '", a.activation, "'");
  std::vector<graft_named_value> own;
  for (graft_named_value v : ctx.all_attributes())
    if (std::string_view name = view(v.name); name.substr(0, activation_prefix.size()) == activation_prefix) {
      v.name = str(name.substr(activation_prefix.size()));
      own.push_back(v);
    }
  std::string_view name = a.activation;
  e.activation = ctx.element_rows(name.substr(0, at), name.substr(at + 1), own, {a.numbers.begin(), a.numbers.end()});
  return e;
}

}  // namespace graft
