// The three layers of OpenCV's tutorial on custom layers, as operations of an extension: Caffe's Interp, TensorFlow's
// ResizeBilinear, and a Crop from the center in place of the built-in one. Each is shapes, a formula, an import rule.
#include <graft/extension.hpp>

namespace {

using namespace graft;

// ---- two-dimensional resizing, whatever the rule for places is ----

// Where output i lies between two inputs.
struct Place {
  int64_t low, high;
  double part;
};

// [n, c, h, w] -> [n, c, rows, columns].
void resize(Run& ctx, const std::vector<Place>& rows, const std::vector<Place>& columns) {
  TensorView in = ctx.input(0);
  std::span<const int64_t> dims = in.dims();
  int64_t planes = dims[0] * dims[1], height = dims[2], width = dims[3];
  std::vector<double> x = in.to<double>(), y;
  for (int64_t p = 0; p < planes; ++p)
    for (const Place& r : rows)
      for (const Place& c : columns) {
        auto at = [&](int64_t row, int64_t column) {
          return x[static_cast<size_t>((p * height + row) * width + column)];
        };
        double top = at(r.low, c.low) * (1 - c.part) + at(r.low, c.high) * c.part;
        double bottom = at(r.high, c.low) * (1 - c.part) + at(r.high, c.high) * c.part;
        y.push_back(top * (1 - r.part) + bottom * r.part);
      }
  ctx.output(0).assign(y);
}

Shape plane_shape(Infer& ctx) {
  Shape s = ctx.shape(0);
  if (!s.ranked()) return Shape::of_rank(4);
  if (s.rank() != 4) fail("expected an input [n, c, h, w], got shape ", s);
  return s;
}

// ---- Interp: corners are aligned, a border may be cut off ----

struct Interp {
  int64_t height = 0, width = 0, zoom_factor = 0, shrink_factor = 0, pad_beg = 0, pad_end = 0;
  static constexpr std::tuple schema{
      attr("height", &Interp::height, "of the result, 0: not given").between(0, 1 << 20),
      attr("width", &Interp::width, "of the result, 0: not given").between(0, 1 << 20),
      attr("zoom_factor", &Interp::zoom_factor, "(n - 1) * zoom + 1 of n, 0: not given").between(0, 1 << 20),
      attr("shrink_factor", &Interp::shrink_factor, "(n - 1) / shrink + 1 of n, 0: not given").between(0, 1 << 20),
      attr("pad_beg", &Interp::pad_beg, "elements to crop at the beginning, as a negative number")
          .between(-(1 << 20), 0),
      attr("pad_end", &Interp::pad_end, "elements to crop at the end, as a negative number").between(-(1 << 20), 0)};
};

// The rules in the order of the original: a factor alone, then the size, then both factors.
Dim interp_size(Dim n, int64_t given, const Interp& a) {
  bool shrinks = a.shrink_factor > 0, zooms = a.zoom_factor > 0;
  bool sized = a.height > 0 && a.width > 0;
  if (sized && shrinks == zooms) return given;
  if (!shrinks && !zooms) fail("expected height and width, a zoom_factor or a shrink_factor");
  if (n.known() && n.value() < 1) fail("expected at least one element after cropping by pad_beg and pad_end");
  if (!n.known()) return Dim();
  int64_t size = n.value();
  if (shrinks) size = (size - 1) / a.shrink_factor + 1;
  if (zooms) size = size + (size - 1) * (a.zoom_factor - 1);
  return size;
}
Dim cut(const Dim& n, const Interp& a) {
  if (!n.known()) return Dim();
  int64_t left = n.value() + a.pad_beg + a.pad_end;
  if (left < 1) fail("a side of ", n, " minus ", -a.pad_beg - a.pad_end, " leaves nothing");
  return left;
}
void interp_infer(Infer& ctx, const Interp& a) {
  Shape s = plane_shape(ctx);
  ctx.output(0, ctx.type(0),
             Shape{s[0], s[1], interp_size(cut(s[2], a), a.height, a), interp_size(cut(s[3], a), a.width, a)});
}
std::vector<Place> aligned(int64_t in, int64_t out, int64_t first) {
  double ratio = out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0;
  std::vector<Place> places;
  for (int64_t i = 0; i < out; ++i) {
    double at = ratio * static_cast<double>(i);
    int64_t low = std::min(static_cast<int64_t>(at), in - 1);
    places.push_back({first + low, first + std::min(low + 1, in - 1), at - static_cast<double>(low)});
  }
  return places;
}
void interp_run(Run& ctx, const Interp& a) {
  std::span<const int64_t> in = ctx.input(0).dims(), out = ctx.output(0).dims();
  int64_t less = a.pad_beg + a.pad_end;
  resize(ctx, aligned(in[2] + less, out[2], -a.pad_beg), aligned(in[3] + less, out[3], -a.pad_beg));
}

// ---- ResizeBilinear: the first corner counts ----

struct ResizeBilinear {
  int64_t height = 0, width = 0, factor_height = 0, factor_width = 0;
  static constexpr std::tuple schema{
      attr("height", &ResizeBilinear::height, "of the result, 0: by factor").between(0, 1 << 20),
      attr("width", &ResizeBilinear::width, "of the result, 0: by factor").between(0, 1 << 20),
      attr("factor_height", &ResizeBilinear::factor_height, "of the height").between(0, 1 << 20),
      attr("factor_width", &ResizeBilinear::factor_width, "of the width").between(0, 1 << 20)};
};
void bilinear_infer(Infer& ctx, const ResizeBilinear& a) {
  Shape s = plane_shape(ctx);
  auto size = [](const Dim& n, int64_t given, int64_t factor) {
    if ((given > 0) == (factor > 0)) fail("expected a size or a factor, got ", given, " and ", factor);
    return given > 0 ? Dim(given) : n * Dim(factor);
  };
  ctx.output(0, ctx.type(0),
             Shape{s[0], s[1], size(s[2], a.height, a.factor_height), size(s[3], a.width, a.factor_width)});
}
std::vector<Place> asymmetric(int64_t in, int64_t out) {
  double scale = static_cast<double>(in) / static_cast<double>(out);
  std::vector<Place> places;
  for (int64_t i = 0; i < out; ++i) {
    double at = static_cast<double>(i) * scale;
    int64_t low = std::min(static_cast<int64_t>(at), in - 1);
    places.push_back({low, std::min(low + 1, in - 1), at - static_cast<double>(low)});
  }
  return places;
}
void bilinear_run(Run& ctx, const ResizeBilinear&) {
  std::span<const int64_t> in = ctx.input(0).dims(), out = ctx.output(0).dims();
  resize(ctx, asymmetric(in[2], out[2]), asymmetric(in[3], out[3]));
}
// TensorFlow has channels last, and the size as a constant: height and width in one, or a factor in each of two.
Value import_bilinear(Builder& layer) {
  if (layer.get<bool>("align_corners", false)) unsupported("align_corners is true, this layer knows only false");
  if (layer.get<bool>("half_pixel_centers", false))
    unsupported("half_pixel_centers is true, this layer knows only false");
  std::vector<int64_t> sizes[2];
  for (size_t i = 1; i < layer.inputs() && i < 3; ++i) {
    auto values = layer.input(i).values<int64_t>();
    if (!values) unsupported("input ", i, " is not a constant");
    sizes[i - 1] = *values;
  }
  bool by_factor = layer.inputs() == 3;
  if (by_factor ? sizes[0].size() != 1 || sizes[1].size() != 1 : sizes[0].size() != 2)
    fail("the size is a constant of two numbers, or two constants of one");
  std::vector<NamedAttr> attrs;
  if (by_factor) attrs = {{"factor_height", sizes[0][0]}, {"factor_width", sizes[1][0]}};
  else attrs = {{"height", sizes[0][0]}, {"width", sizes[0][1]}};
  Value planes = transpose(layer.input(0), {0, 3, 1, 2});
  return transpose(layer.op("ResizeBilinear@opencv", {planes}, attrs), {0, 2, 3, 1});
}

// ---- Crop: the middle of the first input, as large as the second ----

void crop_infer(Infer& ctx, const NoAttributes&) {
  Shape x = plane_shape(ctx), like = ctx.shape(1);
  if (!like.ranked()) like = Shape::of_rank(4);
  if (like.rank() != 4) fail("expected a second input [n, c, h, w], got shape ", like);
  for (size_t i : {2, 3})
    if (x[i].known() && like[i].known() && like[i].value() > x[i].value())
      fail("expected a size of at most ", x[i], " along axis ", i, ", got ", like[i]);
  ctx.output(0, ctx.type(0), Shape{x[0], x[1], like[2], like[3]});
}
void crop_run(Run& ctx, const NoAttributes&) {
  TensorView in = ctx.input(0);
  std::span<const int64_t> dims = in.dims(), part = ctx.input(1).dims();
  if (part[2] > dims[2] || part[3] > dims[3])
    fail("expected a size of at most ", dims[2], " x ", dims[3], ", got ", part[2], " x ", part[3]);
  int64_t top = (dims[2] - part[2]) / 2, left = (dims[3] - part[3]) / 2;
  std::vector<double> x = in.to<double>(), y;
  for (int64_t p = 0; p < dims[0] * dims[1]; ++p)
    for (int64_t r = 0; r < part[2]; ++r)
      for (int64_t c = 0; c < part[3]; ++c)
        y.push_back(x[static_cast<size_t>((p * dims[2] + top + r) * dims[3] + left + c)]);
  ctx.output(0).assign(y);
}

}  // namespace

GRAFT_EXTENSION("opencv_layers", "1.0") {
  return {
      op<Interp>("Interp", "opencv")
          .doc("Bilinear resizing with aligned corners, as DeepLab's Caffe has it.")
          .inputs("x")
          .infer(interp_infer)
          .reference(interp_run)
          .import(caffe("Interp")
                      .attr("height", "interp_param.height")
                      .attr("width", "interp_param.width")
                      .attr("zoom_factor", "interp_param.zoom_factor")
                      .attr("shrink_factor", "interp_param.shrink_factor")
                      .attr("pad_beg", "interp_param.pad_beg")
                      .attr("pad_end", "interp_param.pad_end"))
          .example(R"(
                graph (x: f32[1,1,1,4]) { return Interp@opencv(x) {height = 1, width = 7} }
                x = {0, 1, 2, 3}
                -> {0, 0.5, 1, 1.5, 2, 2.5, 3}
              )"),
      op<ResizeBilinear>("ResizeBilinear", "opencv")
          .doc("Bilinear resizing that keeps the first corner, as TensorFlow had it at first.")
          .inputs("x")
          .infer(bilinear_infer)
          .reference(bilinear_run)
          .import(tensorflow("ResizeBilinear").expand(import_bilinear))
          .example(R"(
                graph (x: f32[1,1,1,4]) { return ResizeBilinear@opencv(x) {height = 1, width = 8} }
                x = {0, 1, 2, 3}
                -> {0, 0.5, 1, 1.5, 2, 2.5, 3, 3}
              )"),
      op<NoAttributes>("Crop", "opencv")
          .doc("The middle of the first input, with the height and width of the second.")
          .inputs("x, like")
          .infer(crop_infer)
          .reference(crop_run)
          .import(caffe("Crop").ignore("crop_param.*"))
          .example(R"(
                graph (x: f32[1,1,1,7], like: f32[1,1,1,4]) { return Crop@opencv(x, like) }
                x = {0, 1, 2, 3, 4, 5, 6}
                like = {0, 0, 0, 0}
                -> {1, 2, 3, 4}
              )"),
  };
}
