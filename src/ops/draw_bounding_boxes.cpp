#include <cmath>
#include <graft/op.hpp>

namespace graft {
namespace {

void draw_boxes_infer(Infer& ctx, const NoAttributes&) {
  Shape images = merge(ctx.shape(0), Shape::of_rank(4)), boxes = merge(ctx.shape(1), Shape{images[0], Dim(), Dim(4)});
  if (!is_real(ctx.type(0)) && ctx.type(0) != DType::undefined)
    fail("expected floating-point images, got ", ctx.type(0));
  if (const Dim& c = images[3]; !c.can_be(1) && !c.can_be(3) && !c.can_be(4))
    fail("expected 1, 3 or 4 channels, got ", c);
  if (ctx.has_input(2))
    if (Shape colors = merge(ctx.shape(2), Shape::of_rank(2)); colors[0].min() > 0 && colors[1].max() < images[3].min())
      fail("expected colors with at least ", images[3], " channels, got shape ", colors);
  images[0] = merge(images[0], boxes[0]);
  ctx.output(0, ctx.type(0), images);
}

// Yellow, blue, red, lime, purple, olive, maroon, navy, aqua, fuchsia.
constexpr double box_colors[10][4] = {{1, 1, 0, 1},     {0, 0, 1, 1},   {1, 0, 0, 1},   {0, 1, 0, 1}, {0.5, 0, 0.5, 1},
                                      {0.5, 0.5, 0, 1}, {0.5, 0, 0, 1}, {0, 0, 0.5, 1}, {0, 1, 1, 1}, {1, 0, 1, 1}};

struct BoxColors {
  std::vector<double> values;
  size_t columns;
  const double* of(int64_t box) const {
    return values.data() + static_cast<size_t>(box) % (values.size() / columns) * columns;
  }
};
BoxColors box_colors_of(Run& ctx, int64_t channels) {
  BoxColors out{{}, 4};
  if (ctx.has_input(2) && ctx.input(2).size() > 0) {
    TensorView given = ctx.input(2);
    if (given.rank() != 2 || given.dim(1) < channels)
      fail("expected colors with at least ", channels, " channels, got shape ", given.info().shape);
    out = {given.to<double>(), static_cast<size_t>(given.dim(1))};
  } else {
    for (const auto& color : box_colors) out.values.insert(out.values.end(), color, color + 4);
    for (size_t i = 0; channels == 1 && i < out.values.size(); i += out.columns) out.values[i] = 1;
  }
  return out;
}

// The first and last row, or column, of a box whose edges are fractions of the image.
struct BoxSpan {
  int64_t first, last;
  bool seen;
};
BoxSpan box_span(float low, float high, int64_t size) {
  auto pixel = [&](float edge) {
    constexpr float far = 1e9f;
    return static_cast<int64_t>(std::clamp(edge * static_cast<float>(size - 1), -far, far));
  };
  if (std::isnan(low) || std::isnan(high)) return {0, 0, false};
  BoxSpan s{pixel(low), pixel(high), true};
  s.seen = s.first <= s.last && s.first < size && s.last >= 0;
  return s;
}

void draw_boxes_run(Run& ctx, const NoAttributes&) {
  TensorView images = ctx.input(0), boxes = ctx.input(1);
  int64_t height = images.dim(1), width = images.dim(2), channels = images.dim(3), count = boxes.dim(1);
  if (channels != 1 && channels != 3 && channels != 4) fail("expected 1, 3 or 4 channels, got ", channels);
  BoxColors colors = box_colors_of(ctx, channels);
  std::vector<double> pixels = images.to<double>();
  std::vector<float> edges = boxes.to<float>();
  for (int64_t n = 0; n < images.dim(0); ++n)
    for (int64_t b = 0; b < count; ++b) {
      const float* e = edges.data() + (n * count + b) * 4;
      BoxSpan rows = box_span(e[0], e[2], height), columns = box_span(e[1], e[3], width);
      if (!rows.seen || !columns.seen) continue;
      auto draw = [&](int64_t row, int64_t column) {
        std::copy_n(colors.of(b), channels, pixels.begin() + ((n * height + row) * width + column) * channels);
      };
      int64_t left = std::max<int64_t>(columns.first, 0), right = std::min(columns.last, width - 1);
      int64_t top = std::max<int64_t>(rows.first, 0), bottom = std::min(rows.last, height - 1);
      for (int64_t row : {rows.first, rows.last})
        for (int64_t c = left; row >= 0 && row < height && c <= right; ++c) draw(row, c);
      for (int64_t column : {columns.first, columns.last})
        for (int64_t r = top; column >= 0 && column < width && r <= bottom; ++r) draw(r, column);
    }
  ctx.output(0).assign(pixels);
}

}  // namespace

Definitions define_draw_bounding_boxes() {
  return op("DrawBoundingBoxes", "graft")
      .doc("Draw the outlines of boxes [y1,x1,y2,x2], fractions of the image, in one color after the other")
      .inputs("images, boxes, colors?")
      .infer(draw_boxes_infer)
      .linear()
      .reference(draw_boxes_run)
      .import(tensorflow("DrawBoundingBoxes"))
      .import(tensorflow("DrawBoundingBoxesV2"));
}

}  // namespace graft
