// The weights of a resize along one axis, as a matrix. TensorFlow's ResizeBicubic, ResizeArea and ScaleAndTranslate are
// imported as matrix products with it. For known sizes it is folded to a constant.
#include <array>
#include <graft/kit/known.hpp>
#include <graft/op.hpp>

#include "one_way.hpp"

namespace graft {
namespace {

enum class Kernel1D {
  lanczos1,
  lanczos3,
  lanczos5,
  gaussian,
  box,
  triangle,
  keyscubic,
  mitchellcubic,
  area,
  cubic_table,
  keys_table
};

struct InterpolationMatrix {
  Kernel1D kernel = Kernel1D::triangle;
  bool antialias = false;
  static constexpr std::tuple schema{
      attr("kernel", &InterpolationMatrix::kernel,
           "interpolation kernel; area averages the input elements that an output element covers, cubic_table and "
           "keys_table are cubic kernels with a coefficient of -0.75 and -0.5 at multiples of 1/1024")
          .one_of("lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle", "keyscubic", "mitchellcubic",
                  "area", "cubic_table", "keys_table")
          .required(),
      attr("antialias", &InterpolationMatrix::antialias, "apply an anti-aliasing filter when downsampling")};
};

Dim interpolation_size(Infer& ctx, size_t input) {
  auto n = numbers_of(ctx, input);
  if (!n) return Dim();
  if (n->rank() != 1) fail("expected a single size in input ", input, ", got ", n->rank());
  if ((*n)[0].max() < 0) fail("expected a non-negative size in input ", input, ", got ", (*n)[0].max());
  return (*n)[0].min() < 0 ? Dim() : (*n)[0];
}
void interpolation_matrix_infer(Infer& ctx, const InterpolationMatrix&) {
  check_single(ctx, 2, "scale");
  check_single(ctx, 3, "translation");
  Dim in = interpolation_size(ctx, 0), out = interpolation_size(ctx, 1);
  ctx.output(0, DType::f32, Shape{out, in});
}

double lanczos(double x, double radius) {
  constexpr double pi = 3.14159265358979323846;
  x = std::fabs(x);
  if (x > radius) return 0;
  if (x <= 1e-3) return 1;
  return radius * std::sin(pi * x) * std::sin(pi * x / radius) / (pi * pi * x * x);
}
// Piecewise cubic: one polynomial for distances below 1, one for distances below 2.
double piecewise_cubic(double x, std::array<double, 4> inner, std::array<double, 4> outer) {
  x = std::fabs(x);
  if (x >= 2) return 0;
  const std::array<double, 4>& c = x < 1 ? inner : outer;
  return ((c[0] * x + c[1]) * x + c[2]) * x + c[3];
}

struct SamplingKernel {
  double radius;
  double (*weight)(double);
};
SamplingKernel sampling_kernel(Kernel1D kernel) {
  switch (kernel) {
    case Kernel1D::lanczos1: return {1, [](double x) { return lanczos(x, 1); }};
    case Kernel1D::lanczos3: return {3, [](double x) { return lanczos(x, 3); }};
    case Kernel1D::lanczos5: return {5, [](double x) { return lanczos(x, 5); }};
    case Kernel1D::gaussian:
      return {1.5, [](double x) { return std::fabs(x) >= 1.5 ? 0.0 : std::exp(-x * x / (2 * 0.5 * 0.5)); }};
    case Kernel1D::box: return {1, [](double x) { return std::fabs(x) < 0.5 ? 1.0 : std::fabs(x) == 0.5 ? 0.5 : 0.0; }};
    case Kernel1D::keyscubic:
      return {2, [](double x) { return piecewise_cubic(x, {1.5, -2.5, 0, 1}, {-0.5, 2.5, -4, 2}); }};
    case Kernel1D::mitchellcubic:
      return {2, [](double x) {
                return piecewise_cubic(x, {7.0 / 6, -2, 0, 8.0 / 9}, {-7.0 / 18, 2, -10.0 / 3, 16.0 / 9});
              }};
    default: return {1, [](double x) { return std::max(0.0, 1 - std::fabs(x)); }};
  }
}

// The weights of one output element over the input.
class WeightRow {
 public:
  WeightRow(float* weights, int64_t in) : weights_(weights), in_(in) {}
  // Indices outside the input are clamped to its edge, or skipped.
  void add(int64_t at, double weight) { weights_[std::clamp<int64_t>(at, 0, in_ - 1)] += static_cast<float>(weight); }
  void add_inside(int64_t at, double weight) {
    if (at >= 0 && at < in_) add(at, weight);
  }
  void normalize() {
    double sum = 0;
    for (int64_t i = 0; i < in_; ++i) sum += static_cast<double>(weights_[i]);
    if (std::fabs(sum) < 1000.0 * static_cast<double>(std::numeric_limits<float>::min())) return;
    for (int64_t i = 0; i < in_; ++i) weights_[i] = static_cast<float>(static_cast<double>(weights_[i]) / sum);
  }

 private:
  float* weights_;
  int64_t in_;
};

// Output x is a sample at (x + 0.5 - translation) / scale, with pixels as areas. Samples outside the input are 0.
void sampled_row(WeightRow row, const InterpolationMatrix& a, int64_t x, int64_t in, float scale, float translation) {
  SamplingKernel k = sampling_kernel(a.kernel);
  float inverse = 1.0f / scale, wide = a.antialias ? std::max(inverse, 1.0f) : 1.0f;
  float at = (static_cast<float>(x) + 0.5f) * inverse - inverse * translation;
  if (!(at >= 0 && at <= static_cast<float>(in))) return;
  double reach = k.radius * static_cast<double>(wide), center = static_cast<double>(at);
  auto first = static_cast<int64_t>(std::ceil(center - reach - 0.5));
  auto last = static_cast<int64_t>(std::floor(center + reach - 0.5));
  for (int64_t i = std::max<int64_t>(first, 0); i <= std::min(last, in - 1); ++i)
    row.add(i, k.weight((static_cast<double>(i) + 0.5 - center) / static_cast<double>(wide)));
  row.normalize();
}

// Output x is the mean of the input from x / scale to (x + 1) / scale; past the end the last element is repeated.
void area_row(WeightRow row, int64_t x, int64_t in, float scale) {
  float step = 1.0f / scale, from = static_cast<float>(x) * step, to = static_cast<float>(x + 1) * step;
  for (auto i = static_cast<int64_t>(std::floor(from)); static_cast<float>(i) < to; ++i) {
    float begin = std::max(from, static_cast<float>(i)), end = i < in ? std::min(to, static_cast<float>(i + 1)) : to;
    row.add(i, static_cast<double>((end - begin) / step));
    if (i >= in) break;
  }
}

// Output x is a sample at x / scale + translation, with pixels as points; four taps, whose positions between two
// pixels are rounded to 1/1024.
void cubic_row(WeightRow row, bool keys, int64_t x, float scale, float translation) {
  constexpr double steps = 1024;
  float at = static_cast<float>(x) / scale + translation;
  auto base = static_cast<int64_t>(std::floor(at));
  double part = std::nearbyint(static_cast<double>(at - static_cast<float>(base)) * steps) / steps;
  double c = keys ? -0.5 : -0.75;
  auto near = [&](double d) { return ((c + 2) * d - (c + 3)) * d * d + 1; };
  auto far = [&](double d) { return ((c * d - 5 * c) * d + 8 * c) * d - 4 * c; };
  const double taps[] = {far(1 + part), near(part), near(1 - part), far(2 - part)};
  for (int64_t t = 0; t < 4; ++t)
    if (keys) row.add_inside(base + t - 1, taps[t]);
    else row.add(base + t - 1, taps[t]);
  if (keys) row.normalize();
}

void interpolation_matrix_run(Run& ctx, const InterpolationMatrix& a) {
  OutputView y = ctx.output(0);
  int64_t out = y.dim(0), in = y.dim(1);
  auto scale = ctx.input(2).scalar<float>(), translation = ctx.input(3).scalar<float>();
  if (!(scale > 0) || !std::isfinite(scale) || !(std::fabs(translation) < 1e9f))
    fail("expected a positive scale and a finite translation, got ", scale, " and ", translation);
  if (static_cast<float>(out) / scale > 1e9f) fail("a scale of ", scale, " is too small for an output of ", out);
  std::vector<float> weights(static_cast<size_t>(y.size()), 0);
  for (int64_t x = 0; x < out && in > 0; ++x) {
    WeightRow row(weights.data() + x * in, in);
    if (a.kernel == Kernel1D::area) area_row(row, x, in, scale);
    else if (a.kernel == Kernel1D::cubic_table || a.kernel == Kernel1D::keys_table)
      cubic_row(row, a.kernel == Kernel1D::keys_table, x, scale, translation);
    else sampled_row(row, a, x, in, scale, translation);
  }
  y.assign(weights);
}

}  // namespace

Definitions define_interpolation_matrix() {
  return op<InterpolationMatrix>("InterpolationMatrix", "graft")
      .doc("Weights [output_size, input_size] of a resize along one axis: multiply them with the input to resize it")
      .inputs("input_size, output_size, scale, translation")
      .infer(interpolation_matrix_infer)
      .reference(interpolation_matrix_run);
}

}  // namespace graft
