// IsFinite, IsInf, IsNaN
#include <graft/op.hpp>

namespace graft {
namespace {

struct IsInf {
  bool detect_negative = true, detect_positive = true;
  static constexpr std::tuple schema{attr("detect_negative", &IsInf::detect_negative, "map -infinity to true"),
                                     attr("detect_positive", &IsInf::detect_positive, "map +infinity to true")};
};

}  // namespace

Definitions define_is_finite() {
  // Integers are always finite.
  return {
      op("IsFinite", 10)
          .doc("True for values that are neither infinite nor NaN")
          .comparison<1>([](auto x) { return std::isfinite(static_cast<double>(x)); })
          .import(onnx("IsFinite")),
      op<IsInf>("IsInf", 10)
          .doc("True for positive and negative infinity")
          .comparison<1>([](auto x, const IsInf& a) {
            auto v = static_cast<double>(x);
            return std::isinf(v) && (v < 0 ? a.detect_negative : a.detect_positive);
          })
          .import(onnx("IsInf")),
      op("IsNaN", 10)
          .doc("True for NaN")
          .comparison<1>([](auto x) { return std::isnan(static_cast<double>(x)); })
          .import(onnx("IsNaN")),
  };
}

}  // namespace graft
