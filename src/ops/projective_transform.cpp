#include <cmath>
#include <graft/kit/known.hpp>
#include <graft/numeric.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

struct ProjectiveTransform {
  enum Interpolation { nearest, bilinear } interpolation = nearest;
  enum FillMode { constant, reflect, wrap, edge } fill_mode = constant;
  static constexpr std::tuple schema{
      attr("interpolation", &ProjectiveTransform::interpolation, "how pixels are read between positions")
          .one_of("NEAREST", "BILINEAR"),
      attr("fill_mode", &ProjectiveTransform::fill_mode,
           "what is read outside the image: fill_value, its reflection at the border, the image repeated, the nearest "
           "pixel")
          .one_of("CONSTANT", "REFLECT", "WRAP", "NEAREST")};
};

void projective_infer(Infer& ctx, const ProjectiveTransform&) {
  Shape images = merge(ctx.shape(0), Shape::of_rank(4)), rows = merge(ctx.shape(1), Shape{Dim(), Dim(8)});
  Dim batch = broadcast(images[0], rows[0]);
  if (images[0].known() && images[0].value() == 1 && rows[0].min() > 1)
    fail("expected one transform, or one per image (", images[0], "), got ", rows[0]);
  if (!is_real(ctx.type(0)) && !is_integer(ctx.type(0)) && ctx.type(0) != DType::undefined)
    fail("expected numbers as pixels, got ", ctx.type(0));
  Shape sizes = target_sizes(ctx, 2, 2).value_or(Shape::of_rank(2));
  ctx.output(0, ctx.type(0), Shape{batch, sizes[0], sizes[1], images[3]});
}

// Where in the image to read for a coordinate outside of it. In f32, as TensorFlow does, since pixels depend on it.
float projective_inside(float at, int64_t count, ProjectiveTransform::FillMode mode) {
  auto size = static_cast<float>(count);
  switch (mode) {
    case ProjectiveTransform::constant: return at;
    case ProjectiveTransform::edge: break;
    case ProjectiveTransform::reflect:
      if (at < 0 && count > 1) {
        if (at < 2 * size) at += 2 * size * std::trunc(-at / (2 * size));
        at = at < -size ? at + 2 * size : -at - 1;
      } else if (at > size - 1 && count > 1) {
        at -= 2 * size * std::trunc(at / (2 * size));
        if (at >= size) at = 2 * size - at - 1;
      }
      break;
    case ProjectiveTransform::wrap:
      if (at < 0 && count > 1) at += size * (std::trunc(-at / (size - 1)) + 1);
      else if (at > size - 1 && count > 1) at -= size * std::trunc(at / (size - 1));
      break;
  }
  return std::clamp(at, 0.0f, std::max(size - 1, 0.0f));
}

// One channel of one image.
template <class T>
struct ProjectivePlane {
  const T* pixels;
  int64_t height, width, channels;
  T fill;

  T at(float y, float x) const {
    bool inside = y >= 0 && x >= 0 && y < static_cast<float>(height) && x < static_cast<float>(width);
    return inside ? pixels[(static_cast<int64_t>(y) * width + static_cast<int64_t>(x)) * channels] : fill;
  }
  double between(float y, float x) const {
    float top = std::floor(y), left = std::floor(x);
    auto mixed = [](double a, double b, double share) { return (1 - share) * a + share * b; };
    auto row = [&](float r) {
      return mixed(static_cast<double>(at(r, left)), static_cast<double>(at(r, left + 1)), x - left);
    };
    return mixed(row(top), row(top + 1), y - top);
  }
};

template <class T>
T projective_number(double v) {
  if constexpr (std::is_floating_point_v<T>) return static_cast<T>(v);
  constexpr double low = static_cast<double>(std::numeric_limits<T>::lowest()),
                   high = -2 * static_cast<double>(INT64_MIN / 2);
  if (!(v > low)) return std::numeric_limits<T>::lowest();
  return v >= high ? std::numeric_limits<T>::max() : static_cast<T>(v);
}

template <class T>
void projective_transform(Run& ctx, const ProjectiveTransform& a, OutputView y) {
  TensorView x = ctx.input(0);
  std::vector<T> from = x.to<T>(), to;
  std::vector<float> matrices = ctx.input(1).to<float>();
  double outside = ctx.has_input(3) ? ctx.input(3).scalar<double>() : 0;
  if (is_integer(x.type()) && bits_of(x.type()) <= 32)  // the type's number that is nearest
    outside =
        std::clamp(outside, lowest_of(x.type()), std::ldexp(1.0, bits_of(x.type()) - is_signed_integer(x.type())) - 1);
  T fill = projective_number<T>(outside);
  ProjectivePlane<T> plane{nullptr, x.dim(1), x.dim(2), x.dim(3), fill};
  to.reserve(static_cast<size_t>(y.size()));
  for (int64_t n = 0; n < y.dim(0); ++n) {
    const float* m = matrices.data() + (matrices.size() == 8 ? 0 : n * 8);
    for (int64_t row = 0; row < y.dim(1); ++row)
      for (int64_t column = 0; column < y.dim(2); ++column) {
        auto r = static_cast<float>(row), c = static_cast<float>(column);
        float depth = m[6] * c + m[7] * r + 1;
        float left = projective_inside((m[0] * c + m[1] * r + m[2]) / depth, plane.width, a.fill_mode);
        float top = projective_inside((m[3] * c + m[4] * r + m[5]) / depth, plane.height, a.fill_mode);
        bool nowhere = depth == 0 || !std::isfinite(left) || !std::isfinite(top);
        for (int64_t k = 0; k < plane.channels; ++k) {
          plane.pixels = from.data() + n * plane.height * plane.width * plane.channels + k;
          if (nowhere) to.push_back(fill);
          else if (a.interpolation == ProjectiveTransform::nearest)
            to.push_back(plane.at(std::round(top), std::round(left)));
          else to.push_back(projective_number<T>(plane.between(top, left)));
        }
      }
  }
  y.assign(to);
}

void projective_run(Run& ctx, const ProjectiveTransform& a) {
  TensorView x = ctx.input(0), matrices = ctx.input(1);
  std::vector<int64_t> size = ctx.input(2).to<int64_t>();
  if (size.size() != 2 || size[0] < 0 || size[1] < 0) fail("expected 2 non-negative sizes, got ", size);
  if (x.rank() != 4 || matrices.rank() != 2 || matrices.dim(1) != 8 ||
      (matrices.dim(0) != 1 && matrices.dim(0) != x.dim(0)))
    fail("expected images [batch,height,width,channels] and transforms [batch or 1,8], got ", x.info(), " and ",
         matrices.info());
  OutputView y = ctx.allocate(0, {x.dim(0), size[0], size[1], x.dim(3)});
  with_number_type(x.type(), [&]<class T>(T) { projective_transform<T>(ctx, a, y); });
}

}  // namespace

Definitions define_projective_transform() {
  return op<ProjectiveTransform>("ImageProjectiveTransform", "graft")
      .doc(
          "Project images [N,H,W,C]: the pixel (x,y) is read at ((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k), k = "
          "c0 x + c1 y + 1")
      .inputs("images, transforms, output_shape, fill_value?")
      .infer(projective_infer)
      .linear()
      .reference(projective_run)
      .import(tensorflow("ImageProjectiveTransformV2"))
      .import(tensorflow("ImageProjectiveTransformV3"));
}

}  // namespace graft
