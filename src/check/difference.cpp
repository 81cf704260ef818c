// Comparison with the reference. The reference computes in double and rounds once; a kernel may compute in the type of
// its elements, so a few units in the last place of the largest value are no finding.
#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "check/check_kernel.hpp"

namespace graft::testing {
namespace {

// Relative to 1: the distance between neighboring values of the type.
double spacing(DType type) {
  switch (type) {
    case DType::f64: return 0x1p-52;
    case DType::f32: return 0x1p-23;
    case DType::f16: return 0x1p-10;
    case DType::bf16: return 0x1p-7;
    case DType::f8e4m3:
    case DType::f8e4m3fnuz: return 0x1p-3;
    default: return 0x1p-2;
  }
}

std::string first_values(const Tensor& t) { return print(t, 8); }

// Rounding to the nearest value differs from a float computation in few elements, truncation in half of them.
std::optional<Fault> rounding(const std::vector<double>& a, const std::vector<double>& b, DType type, size_t output) {
  size_t different = 0, comparable = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) continue;
    ++comparable;
    different += a[i] != b[i];
  }
  if (comparable < 24 || different * 8 < comparable) return std::nullopt;
  return Fault{"wrong rounding", text(different, " of ", comparable, " elements of output ", output,
                                      " are not the nearest value of ", type)};
}

}  // namespace

std::optional<Fault> difference_from_reference(const OpDef& op, const Tensor& expected, const Tensor& got,
                                               size_t output) {
  auto differs = [&](const std::string& detail) {
    return Fault{"differs from the reference", text("output ", output, ": ", detail)};
  };
  if (expected.type() != got.type()) return differs(text("type ", got.type(), ", expected ", expected.type()));
  if (expected.dims() != got.dims()) return differs(text("shape ", got.dims(), ", expected ", expected.dims()));
  if (!is_real(expected.type())) {
    if (same_content(expected, got)) return std::nullopt;
    return differs(text(first_values(got), ", expected ", first_values(expected)));
  }
  bool elementwise = op.has(GRAFT_OP_ELEMENTWISE);
  std::vector<double> a = values_of<double>(expected), b = values_of<double>(got);
  double largest = 1;
  bool wild = false;  // NaN or infinity among the results: the other elements then depend on the algorithm
  for (double x : a) {
    if (std::isfinite(x)) largest = std::max(largest, std::fabs(x));
    else wild = true;
  }
  double unit = spacing(expected.type());
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (std::isnan(a[i]))
      return Fault{"NaN lost", text("element ", i, " of output ", output, " is ", b[i], ", expected NaN")};
    double scale = elementwise ? std::max(std::fabs(a[i]), 1e-3) : largest;
    double allowed = (elementwise ? 1.5 : 64) * unit * scale;
    if (expected.type() == DType::f32) allowed = std::max(allowed, 1e-4 * scale);
    // Inputs that cancel out leave the rounding of what was added up.
    if (expected.type() == DType::f32 && op.inputs().size() > 1) allowed = std::max(allowed, 8 * unit * largest);
    if (expected.type() == DType::f64) allowed = std::max(allowed, 1e-9 * scale);
    if (std::fabs(a[i] - b[i]) <= allowed) continue;
    if (!elementwise && wild && !(std::isinf(a[i]) && std::isfinite(b[i]))) continue;
    return differs(text("element ", i, " is ", b[i], ", expected ", a[i]));
  }
  if (elementwise && (expected.type() == DType::f16 || expected.type() == DType::bf16))
    return rounding(a, b, expected.type(), output);
  return std::nullopt;
}

}  // namespace graft::testing
