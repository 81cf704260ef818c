// PriorBox and PriorBoxClustered: the same boxes at every cell of a grid, with variances. The result is [2, 4 * boxes]:
// normalized corners, then the variances. Computed in f32 like OpenVINO, so that rounding agrees.
#include <graft/op.hpp>

#include "detection.hpp"

namespace graft {
namespace {

struct PriorBox {
  std::vector<float> min_size, max_size, aspect_ratio, density, fixed_ratio, fixed_size;
  bool clip = false, flip = false;
  float step = 0, offset = 0;
  std::vector<float> variance;
  bool scale_all_sizes = true, min_max_aspect_ratios_order = true;
};
constexpr auto prior_box_fields =
    std::tuple{attr("min_size", &PriorBox::min_size, "minimum box sizes in pixels"),
               attr("max_size", &PriorBox::max_size,
                    "maximum box sizes in pixels; each adds a box with the geometric mean of min_size and max_size"),
               attr("aspect_ratio", &PriorBox::aspect_ratio, "aspect ratios (width / height) of additional boxes"),
               attr("density", &PriorBox::density, "number of fixed_size boxes along each axis of a cell"),
               attr("fixed_ratio", &PriorBox::fixed_ratio, "aspect ratios (width / height) of the fixed_size boxes"),
               attr("fixed_size", &PriorBox::fixed_size, "sizes of boxes distributed over the cell"),
               attr("clip", &PriorBox::clip, "clip coordinates to 0..1"),
               attr("flip", &PriorBox::flip, "also use the reciprocal of each aspect ratio"),
               attr("step", &PriorBox::step, "distance between box centers in pixels, 0 to divide the image evenly"),
               attr("offset", &PriorBox::offset, "position of the box center within its cell"),
               attr("variance", &PriorBox::variance, "variances: none, one or four values"),
               attr("scale_all_sizes", &PriorBox::scale_all_sizes,
                    "sizes and step are in pixels; otherwise they are relative to the image height")};
struct PriorBox1 : PriorBox {
  static constexpr std::tuple schema = prior_box_fields;
};
struct PriorBox8 : PriorBox {
  static constexpr auto schema = std::tuple_cat(
      prior_box_fields, std::tuple{attr("min_max_aspect_ratios_order", &PriorBox::min_max_aspect_ratios_order,
                                        "output the max_size box before the boxes of other aspect ratios")});
};

struct PriorBoxClustered {
  float step = 0, step_w = 0, step_h = 0;
  std::vector<float> width, height;
  bool clip = true;
  float offset = 0;
  std::vector<float> variance;
  static constexpr std::tuple schema{
      attr("step", &PriorBoxClustered::step, "distance between box centers in pixels"),
      attr("step_w", &PriorBoxClustered::step_w, "distance between box centers along x in pixels, 0: step"),
      attr("step_h", &PriorBoxClustered::step_h, "distance between box centers along y in pixels, 0: step"),
      attr("width", &PriorBoxClustered::width, "widths of the boxes in pixels"),
      attr("height", &PriorBoxClustered::height, "heights of the boxes in pixels"),
      attr("clip", &PriorBoxClustered::clip, "clip coordinates to 0..1"),
      attr("offset", &PriorBoxClustered::offset, "position of the box center within its cell"),
      attr("variance", &PriorBoxClustered::variance, "variances: none, one or four values")};
};

// ---- shapes ----

// Far beyond any real model; keeps derived sizes within bounds.
int64_t prior_whole(float v, std::string_view what) {
  if (!(std::fabs(v) < 1 << 20)) fail(what, " of ", v, " is too large");
  return static_cast<int64_t>(v);
}

// 1 and the given ratios, without duplicates.
std::vector<float> prior_ratios(const PriorBox& a) {
  std::vector<float> ratios{1};
  for (float r : a.aspect_ratio) {
    if (std::any_of(ratios.begin(), ratios.end(), [&](float o) { return std::fabs(r - o) < 1e-6f; })) continue;
    ratios.push_back(r);
    if (a.flip) ratios.push_back(1 / r);
  }
  return ratios;
}

int64_t priors_per_cell(const PriorBox& a) {
  if (!a.fixed_size.empty() && a.density.size() != a.fixed_size.size())
    fail("expected as many values in density as in fixed_size (", a.fixed_size.size(), "), got ", a.density.size());
  auto count = [](const auto& list) { return static_cast<int64_t>(list.size()); };
  int64_t ratios = count(prior_ratios(a));
  int64_t n = a.scale_all_sizes ? ratios * count(a.min_size) + count(a.max_size) : ratios + count(a.min_size) - 1;
  if (!a.fixed_size.empty()) n = ratios * count(a.fixed_size);
  for (float density : a.density) {
    int64_t d = prior_whole(density, "density");
    n += (a.fixed_ratio.empty() ? ratios : count(a.fixed_ratio)) * (d * d - 1);
  }
  if (n < 0) fail("expected attributes that describe a non-negative number of boxes, got ", n);
  return n;
}

void prior_infer(Infer& ctx, int64_t per_cell, const std::vector<float>& variance) {
  if (size_t n = variance.size(); n > 1 && n != 4) fail("expected 0, 1 or 4 values in variance, got ", n);
  for (size_t i : {0, 1}) {
    Shape s = ctx.shape(i);
    if (s.ranked() && (s.rank() != 1 || !s[0].can_be(2)))
      fail("expected ", i ? "image_size" : "output_size", " of shape [2], got ", s);
    if (DType t = ctx.type(i); t != DType::undefined && !is_integer(t))
      fail("expected integers in ", i ? "image_size" : "output_size", ", got ", t);
  }
  Shape grid = Shape::of_rank(2);
  if (auto known = ctx.known(0); known && known->rank() == 2) grid = *known;
  else if (auto v = ctx.values<int64_t>(0); v && v->size() == 2) grid = Shape{(*v)[0], (*v)[1]};
  if (grid[0].min() < 0 || grid[1].min() < 0) grid = Shape::of_rank(2);
  ctx.output(0, DType::f32, Shape{2, grid[0] * grid[1] * Dim(per_cell) * Dim(4)});
}
void prior_box1_infer(Infer& ctx, const PriorBox1& a) { prior_infer(ctx, priors_per_cell(a), a.variance); }
void prior_box8_infer(Infer& ctx, const PriorBox8& a) { prior_infer(ctx, priors_per_cell(a), a.variance); }
void prior_box_clustered_infer(Infer& ctx, const PriorBoxClustered& a) {
  if (a.width.size() != a.height.size())
    fail("expected as many values in height as in width (", a.width.size(), "), got ", a.height.size());
  prior_infer(ctx, static_cast<int64_t>(a.width.size()), a.variance);
}

// ---- values ----

// Grid, image, and the boxes written so far; boxes that do not fit the output are dropped.
class PriorWriter {
 public:
  PriorWriter(const Run& ctx, int64_t per_cell) {
    std::vector<int64_t> grid = ctx.input(0).to<int64_t>(), image = ctx.input(1).to<int64_t>();
    if (grid.size() != 2 || image.size() != 2 || grid[0] < 0 || grid[1] < 0)
      fail("expected a grid and an image of 2 non-negative sizes each, got ", grid, " and ", image);
    rows = grid[0], columns = grid[1], height = image[0], width = image[1];
    Dim values = Dim(rows) * Dim(columns) * Dim(per_cell) * Dim(4);
    y_ = ctx.allocate(0, {2, values.value()});
    out_.resize(static_cast<size_t>(y_.size()));
  }
  int64_t rows, columns, height, width;

  bool full() const { return at_ == out_.size() / 2; }
  void add(float x1, float y1, float x2, float y2) {
    for (float v : {x1, y1, x2, y2})
      if (!full()) out_[at_++] = v;
  }
  void finish(bool clip, const std::vector<float>& variance) {
    size_t half = out_.size() / 2;
    for (size_t i = 0; i < half; ++i) {
      if (clip) out_[i] = std::min(std::max(out_[i], 0.0f), 1.0f);
      out_[half + i] = variance.empty() ? 0.1f : variance[variance.size() == 4 ? i % 4 : 0];
    }
    y_.assign(out_);
  }

 private:
  OutputView y_;
  std::vector<float> out_;
  size_t at_ = 0;
};

template <class A>
void prior_box_run(Run& ctx, const A& a) {
  PriorWriter w(ctx, priors_per_cell(a));
  std::vector<float> ratios = prior_ratios(a), min_size = a.min_size;
  float step = a.step, image_height = static_cast<float>(w.height);
  if (!a.scale_all_sizes) {
    step = step == -1 ? image_height / static_cast<float>(w.rows) : step * image_height;
    for (float& s : min_size) s *= image_height;
  }
  float step_x = step, step_y = step, to_x = 1 / static_cast<float>(w.width), to_y = 1 / image_height;
  if (step == 0) {
    step_x = static_cast<float>(w.width) / static_cast<float>(w.columns);
    step_y = image_height / static_cast<float>(w.rows);
  }
  float offset = step == 0 ? 0.5f : a.offset;

  // half_width and half_height around x, y
  auto put = [&](float x, float y, float half_width, float half_height) {
    w.add((x - half_width) * to_x, (y - half_height) * to_y, (x + half_width) * to_x, (y + half_height) * to_y);
  };
  // Boxes of fixed size are always clipped to the image, regardless of `clip`.
  auto put_inside = [&](float x, float y, float half_width, float half_height) {
    w.add(std::max((x - half_width) * to_x, 0.0f), std::max((y - half_height) * to_y, 0.0f),
          std::min((x + half_width) * to_x, 1.0f), std::min((y + half_height) * to_y, 1.0f));
  };
  auto spread = [&](float x, float y, size_t s, float ratio) {
    int64_t density = prior_whole(a.density[s], "density"), size = prior_whole(a.fixed_size[s], "fixed_size");
    if (density <= 0) return;
    auto shift = static_cast<float>(prior_whole(a.fixed_size[s] / static_cast<float>(density), "fixed_size"));
    bool square = a.fixed_ratio.empty() && ratio == 1;
    float half = square ? static_cast<float>(size) * 0.5f : a.fixed_size[s] * 0.5f, root = std::sqrt(ratio);
    for (int64_t r = 0; r < density && !w.full(); ++r)
      for (int64_t c = 0; c < density && !w.full(); ++c)
        put_inside(x - static_cast<float>(size / 2) + shift / 2 + static_cast<float>(c) * shift,
                   y - static_cast<float>(size / 2) + shift / 2 + static_cast<float>(r) * shift, half * root,
                   half / root);
  };
  auto other_ratios = [&](float x, float y, float size) {
    for (float r : ratios) {
      float root = std::sqrt(r);
      if (!(std::fabs(r - 1) < 1e-6f)) put(x, y, size * 0.5f * root, size * 0.5f / root);
    }
  };

  for (int64_t row = 0; row < w.rows; ++row)
    for (int64_t column = 0; column < w.columns && !w.full(); ++column) {
      float x = (static_cast<float>(column) + offset) * step_x, y = (static_cast<float>(row) + offset) * step_y;
      for (size_t s = 0; s < a.fixed_size.size(); ++s)
        for (float r : a.fixed_ratio.empty() ? ratios : a.fixed_ratio) spread(x, y, s, r);
      for (size_t s = 0; s < min_size.size(); ++s) {
        float half = min_size[s] * 0.5f;
        put(x, y, half, half);
        auto largest = [&] {
          if (s >= a.max_size.size()) return;
          float mean = std::sqrt(min_size[s] * a.max_size[s]) * 0.5f;
          put(x, y, mean, mean);
        };
        if (a.min_max_aspect_ratios_order) largest();
        if (a.scale_all_sizes) other_ratios(x, y, min_size[s]);
        else if (s + 1 == min_size.size()) other_ratios(x, y, min_size[0]);
        if (!a.min_max_aspect_ratios_order) largest();
      }
    }
  w.finish(a.clip, a.variance);
}

void prior_box_clustered_run(Run& ctx, const PriorBoxClustered& a) {
  PriorWriter w(ctx, static_cast<int64_t>(a.width.size()));
  float step_x = a.step_w == 0 ? a.step : a.step_w, step_y = a.step_h == 0 ? a.step : a.step_h;
  auto image_width = static_cast<float>(w.width), image_height = static_cast<float>(w.height);
  if (step_x == 0 && step_y == 0) {
    step_x = image_width / static_cast<float>(w.columns);
    step_y = image_height / static_cast<float>(w.rows);
  }
  for (int64_t row = 0; row < w.rows; ++row)
    for (int64_t column = 0; column < w.columns && !w.full(); ++column) {
      float x = (static_cast<float>(column) + a.offset) * step_x, y = (static_cast<float>(row) + a.offset) * step_y;
      for (size_t s = 0; s < a.width.size(); ++s)
        w.add((x - a.width[s] / 2) / image_width, (y - a.height[s] / 2) / image_height,
              (x + a.width[s] / 2) / image_width, (y + a.height[s] / 2) / image_height);
    }
  w.finish(a.clip, a.variance);
}

// ---- import ----

// The inputs of the layer are the feature map and the image themselves, [N, C, H, W].
Value prior_size(Builder& layer, size_t input) {
  Value x = layer.input(input);
  if (Shape s = x.shape(); s.ranked() && s.rank() != 4) fail("expected input ", input, " of rank 4, got shape ", s);
  return layer.op("Slice", {shape_of(x), layer.ints({2}), layer.ints({4}), layer.ints({1})});
}
Value import_prior_box(Builder& layer) {
  std::vector<NamedAttr> attrs;
  for (std::string_view list :
       {"min_size", "max_size", "aspect_ratio", "density", "fixed_ratio", "fixed_size", "variance"})
    attrs.push_back({list, layer.get<std::vector<float>>(list, {})});
  attrs.push_back({"step", layer.get<float>("step", 0)});
  attrs.push_back({"offset", layer.get<float>("offset", 0)});
  attrs.push_back({"clip", layer.get<bool>("clip", false)});
  attrs.push_back({"flip", layer.get<bool>("flip", false)});
  attrs.push_back({"scale_all_sizes", layer.get<bool>("scale_all_sizes", true)});
  attrs.push_back({"min_max_aspect_ratios_order", layer.get<bool>("min_max_aspect_ratios_order", true)});
  return unsqueeze(layer.op("PriorBox@8", {prior_size(layer, 0), prior_size(layer, 1)}, attrs), {0});
}
Value import_prior_box_clustered(Builder& layer) {
  std::vector<NamedAttr> attrs{{"width", layer.get<std::vector<float>>("width")},
                               {"height", layer.get<std::vector<float>>("height")},
                               {"variance", layer.get<std::vector<float>>("variance", {0.1f})},
                               {"clip", layer.get<bool>("clip", false)}};
  for (std::string_view number : {"step", "step_w", "step_h", "offset"})
    attrs.push_back({number, layer.get<float>(number, 0)});
  return unsqueeze(layer.op("PriorBoxClustered", {prior_size(layer, 0), prior_size(layer, 1)}, attrs), {0});
}

}  // namespace

Definitions define_prior_box() {
  constexpr std::string_view doc = "Prior boxes of several sizes at every cell of a grid, with their variances";
  return {
      op<PriorBox1>("PriorBox", 1)
          .doc(doc)
          .inputs("output_size, image_size")
          .infer(prior_box1_infer)
          .reference(prior_box_run<PriorBox1>),
      op<PriorBox8>("PriorBox", 8)
          .doc(doc)
          .inputs("output_size, image_size")
          .infer(prior_box8_infer)
          .reference(prior_box_run<PriorBox8>)
          .import(onnx("PriorBox").domain("org.openvinotoolkit").expand(import_prior_box))
          .earlier(1, {{"min_max_aspect_ratios_order", true}}),
      op<PriorBoxClustered>("PriorBoxClustered", 1)
          .doc("Prior boxes of given widths and heights at every cell of a grid, with their variances")
          .inputs("output_size, image_size")
          .infer(prior_box_clustered_infer)
          .reference(prior_box_clustered_run)
          .import(onnx("PriorBoxClustered").domain("org.openvinotoolkit").expand(import_prior_box_clustered)),
  };
}

}  // namespace graft
