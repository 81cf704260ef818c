// NV12 and I420 to RGB and BGR: one luma sample per pixel, one pair of chroma samples per 2x2 pixels.
#include <graft/kit/known.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

// `planes` inputs: a single tensor with all planes stacked vertically, or luma and chroma separately.
template <size_t planes>
void color_infer(Infer& ctx, const NoAttributes&) {
  DType type = common_type(ctx);
  if (type != DType::undefined && type != DType::u8 && !is_real(type))
    fail("expected u8 or floating-point elements, got ", type);
  if (ctx.inputs() != 1 && ctx.inputs() != planes) fail("expected 1 or ", planes, " inputs, got ", ctx.inputs());
  Shape out = merge(ctx.shape(0), Shape{Dim(), Dim(), Dim(), 1});
  if (ctx.inputs() == 1) {
    if (out[1].known() && out[1].value() % 3 != 0) fail("expected a height divisible by 3, got ", out[1]);
    out[1] = out[1] * Dim(2) / 3;
  }
  for (size_t i = 1; i < ctx.inputs(); ++i) {
    Shape colours = merge(ctx.shape(i), Shape{Dim(), Dim(), Dim(), planes == 2 ? 2 : 1});
    out[0] = agree(colours[0], out[0], "images in the chroma input", "to match the luma");
    for (size_t axis : {1, 2})
      out[axis] = agree(colours[axis] * Dim(2), out[axis], "pixels covered by a chroma axis", "to match the luma");
  }
  for (size_t axis : {1, 2})
    if (out[axis].known() && out[axis].value() % 2 != 0)
      fail("expected an even height and width, got ", out[1], "x", out[2]);
  out[3] = 3;
  ctx.output(0, type, out);
}

// Luma and chroma samples as arrays of numbers, whichever form the inputs have.
struct ColorPlanes {
  std::vector<double> y, u, v;
  int64_t y_batch, u_batch, v_batch;  // distance between images, in elements
  int64_t u_at = 0, v_at = 0, step = 1;
};
template <size_t planes>
ColorPlanes color_planes(Run& ctx, int64_t size) {
  ColorPlanes p{ctx.input(0).to<double>(), {}, {}, size, size / 4, size / 4};
  if (planes == 2) p.u_batch = p.v_batch = size / 2, p.step = 2, p.v_at = 1;
  if (ctx.inputs() == 1) {
    p.u = p.v = p.y;
    p.y_batch = p.u_batch = p.v_batch = size / 2 * 3;
    p.u_at = size;
    p.v_at = planes == 2 ? size + 1 : size + size / 4;
  } else {
    p.u = ctx.input(1).to<double>();
    p.v = planes == 2 ? p.u : ctx.input(2).to<double>();
  }
  return p;
}

template <size_t planes, bool bgr>
void color_run(Run& ctx, const NoAttributes&) {
  OutputView out = ctx.output(0);
  int64_t height = out.dim(1), width = out.dim(2), size = height * width;
  if (out.size() == 0) return;
  ColorPlanes p = color_planes<planes>(ctx, size);
  bool whole = is_integer(out.type());
  auto level = [&](double v) { return std::min(std::max(whole ? std::round(v) : v, 0.0), 255.0); };
  std::vector<double> rgb;
  rgb.reserve(static_cast<size_t>(out.size()));
  for (int64_t n = 0; n < out.dim(0); ++n)
    for (int64_t i = 0; i < size; ++i) {
      int64_t cell = (i / width / 2 * (width / 2) + i % width / 2) * p.step;
      // In f32: in double, some values would round differently from OpenVINO.
      float y = 1.164f * static_cast<float>(p.y[static_cast<size_t>(n * p.y_batch + i)] - 16);
      auto u = static_cast<float>(p.u[static_cast<size_t>(n * p.u_batch + p.u_at + cell)] - 128);
      auto v = static_cast<float>(p.v[static_cast<size_t>(n * p.v_batch + p.v_at + cell)] - 128);
      double red = level(y + 1.596f * v), green = level(y - 0.391f * u - 0.813f * v), blue = level(y + 2.018f * u);
      rgb.insert(rgb.end(), {bgr ? blue : red, green, bgr ? red : blue});
    }
  out.assign(rgb);
}

}  // namespace

Definitions define_color_conversion() {
  return {
      op("NV12toRGB", 8)
          .doc("Convert NV12 (luma and interleaved chroma, in one or two tensors) to RGB")
          .inputs("y, uv?")
          .infer(color_infer<2>)
          .reference(color_run<2, false>),
      op("NV12toBGR", 8)
          .doc("Convert NV12 (luma and interleaved chroma, in one or two tensors) to BGR")
          .inputs("y, uv?")
          .infer(color_infer<2>)
          .reference(color_run<2, true>),
      op("I420toRGB", 8)
          .doc("Convert I420 (luma and two chroma planes, in one or three tensors) to RGB")
          .inputs("y, u?, v?")
          .infer(color_infer<3>)
          .reference(color_run<3, false>),
      op("I420toBGR", 8)
          .doc("Convert I420 (luma and two chroma planes, in one or three tensors) to BGR")
          .inputs("y, u?, v?")
          .infer(color_infer<3>)
          .reference(color_run<3, true>),
  };
}

}  // namespace graft
