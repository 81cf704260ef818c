// GridSample: samples the data at grid positions, each coordinate normalized to -1..1. The opset version has two
// spatial axes; GridSampleND takes any number of them.
#include <graft/kit/known.hpp>
#include <graft/op.hpp>

#include "resample.hpp"

namespace graft {
namespace {

struct GridSample {
  bool align_corners = false;
  enum Mode { linear, cubic, nearest } mode = linear;
  enum Padding { zeros, border, reflection } padding_mode = zeros;
  static constexpr auto align_attr =
      attr("align_corners", &GridSample::align_corners,
           "map -1 and 1 to the centers of the corner elements instead of their outer edges");
  static constexpr auto padding_attr = attr("padding_mode", &GridSample::padding_mode, "values outside the data")
                                           .one_of("zeros", "border", "reflection");
  static constexpr std::tuple schema{
      align_attr, attr("mode", &GridSample::mode, "interpolation method").one_of("bilinear", "bicubic", "nearest"),
      padding_attr};
};
struct GridSampleND : GridSample {
  static constexpr std::tuple schema{
      align_attr, attr("mode", &GridSample::mode, "interpolation method").one_of("linear", "cubic", "nearest"),
      padding_attr};
};

// Data [N, C, spatial...], grid [N, output spatial..., number of spatial axes].
void grid_sample_shape(Infer& ctx, size_t fixed_rank) {
  Shape data = ctx.shape(0), grid = ctx.shape(1);
  if (!data.ranked() && !grid.ranked() && !fixed_rank) return ctx.output(0, ctx.type(0), Shape::unknown());
  size_t rank = fixed_rank ? fixed_rank : data.ranked() ? data.rank() : grid.rank();
  if (rank < 3) fail("expected data with spatial axes, got shape ", data);
  data = merge(data, Shape::of_rank(rank));
  grid = merge(grid, Shape::of_rank(rank));
  auto spatial = static_cast<int64_t>(rank) - 2;
  if (!grid[rank - 1].can_be(spatial))
    fail("expected a grid with ", spatial, " coordinates per position, got shape ", grid);
  Shape out{agree(grid[0], data[0], "images in the grid", "to match the data"), data[1]};
  for (size_t i = 1; i + 1 < rank; ++i) out.push_back(grid[i]);
  ctx.output(0, ctx.type(0), out);
}
void grid_sample_infer(Infer& ctx, const GridSample&) { grid_sample_shape(ctx, 4); }
void grid_sample_nd_infer(Infer& ctx, const GridSampleND&) { grid_sample_shape(ctx, 0); }

// Denormalizes from -1..1 to elements, in the grid's own precision, so that exact integers and halves stay exact.
template <class T>
double grid_place(double g, int64_t length, bool align_corners) {
  auto at = static_cast<T>(g), n = static_cast<T>(length);
  return align_corners ? (at + 1) * (n - 1) / 2 : ((at + 1) * n - 1) / 2;
}

// The element at position `i`, or -1 for none.
int64_t grid_element(double i, int64_t length, const GridSample& a) {
  auto n = static_cast<double>(length);
  if (i >= 0 && i < n) return static_cast<int64_t>(i);
  if (a.padding_mode == GridSample::zeros || std::isnan(i)) return -1;
  if (a.padding_mode == GridSample::border) return i < 0 ? 0 : length - 1;
  if (std::isinf(i)) return 0;
  // Reflects repeatedly, at the center or the outer edge of the border elements.
  double period = a.align_corners ? 2 * (n - 1) : 2 * n;
  if (period == 0) return 0;
  double r = std::fmod(std::fmod(i, period) + period, period);
  if (r >= n) r = a.align_corners ? period - r : period - 1 - r;
  return std::min(std::max<int64_t>(static_cast<int64_t>(r), 0), length - 1);
}

struct GridTaps {
  int count = 0;
  int64_t element[4];
  double weight[4];
};
GridTaps grid_taps(double at, int64_t length, const GridSample& a) {
  GridTaps t;
  auto add = [&](double i, double weight) {
    t.element[t.count] = grid_element(i, length, a);
    t.weight[t.count++] = weight;
  };
  if (a.mode == GridSample::nearest) {
    add(std::nearbyint(at), 1);
    return t;
  }
  double first = std::floor(at), r = at - first;
  if (a.mode == GridSample::linear) {
    add(first, 1 - r);
    add(first + 1, r);
    return t;
  }
  std::array<double, 4> weights = cubic_weights(r, -0.75);
  for (int i = 0; i < 4; ++i) add(first - 1 + i, weights[static_cast<size_t>(i)]);
  return t;
}

void grid_sample_any(Run& ctx, const GridSample& a) {
  TensorView x = ctx.input(0), g = ctx.input(1);
  OutputView y = ctx.output(0);
  if (y.size() == 0) return;
  std::vector<double> data = x.to<double>(), grid = g.to<double>(), out(static_cast<size_t>(y.size()));
  size_t axes = x.rank() - 2;
  std::span<const int64_t> sides = x.dims().subspan(2);
  std::vector<int64_t> strides = strides_of(sides);
  int64_t channels = x.dim(1), plane = count_of(sides), places = count_of(y.dims().subspan(2));
  bool narrow = g.type() != DType::f64;
  std::vector<GridTaps> taps(axes);
  std::vector<int64_t> ways(axes);
  for (int64_t p = 0; p < x.dim(0) * places && plane > 0; ++p) {
    // The grid lists coordinates from the last axis to the first.
    for (size_t i = 0; i < axes; ++i) {
      double v = grid[static_cast<size_t>(p) * axes + axes - 1 - i];
      double at =
          narrow ? grid_place<float>(v, sides[i], a.align_corners) : grid_place<double>(v, sides[i], a.align_corners);
      taps[i] = grid_taps(at, sides[i], a);
      ways[i] = taps[i].count;
    }
    Walk walk(ways, {});
    do {
      double weight = 1;
      int64_t offset = 0;
      bool inside = true;
      for (size_t i = 0; i < axes; ++i) {
        auto k = static_cast<size_t>(walk.index()[i]);
        inside = inside && taps[i].element[k] >= 0;
        offset += taps[i].element[k] * strides[i];
        weight *= taps[i].weight[k];
      }
      if (!inside) continue;
      int64_t n = p / places, place = p % places;
      for (int64_t c = 0; c < channels; ++c)
        out[static_cast<size_t>((n * channels + c) * places + place)] +=
            weight * data[static_cast<size_t>((n * channels + c) * plane + offset)];
    } while (walk.next());
  }
  y.assign(out);
}
void grid_sample_run(Run& ctx, const GridSample& a) { grid_sample_any(ctx, a); }
void grid_sample_nd_run(Run& ctx, const GridSampleND& a) { grid_sample_any(ctx, a); }

// Opset 16 names the modes for two dimensions, opset 20 for any number of them.
Value import_grid_sample(Builder& layer) {
  auto mode = layer.get<std::string>("mode", "linear");
  if (mode == "bilinear") mode = "linear";
  if (mode == "bicubic") mode = "cubic";
  Value x = layer.input(0), grid = layer.input(1);
  Shape data = x.shape(), places = grid.shape();
  bool flat = (data.ranked() && data.rank() == 4) || (places.ranked() && places.rank() == 4);
  if (flat && mode != "nearest") mode = "bi" + mode;
  return layer.op(flat ? "GridSample" : "GridSampleND@graft", {x, grid},
                  {{"align_corners", layer.get<bool>("align_corners", false)},
                   {"mode", mode},
                   {"padding_mode", layer.get<std::string>("padding_mode", "zeros")}});
}

}  // namespace

Definitions define_grid_sample() {
  return {
      op<GridSample>("GridSample", 9)
          .doc("Sample images at the positions given by a grid")
          .inputs("data, grid")
          .infer(grid_sample_infer)
          .reference(grid_sample_run)
          .import(onnx("GridSample").expand(import_grid_sample))
          .import(onnx("GridSample").domain("com.microsoft").expand(import_grid_sample)),
      op<GridSampleND>("GridSampleND", "graft")
          .doc("Sample tensors with any number of spatial axes at the positions given by a grid")
          .inputs("data, grid")
          .infer(grid_sample_nd_infer)
          .reference(grid_sample_nd_run),
  };
}

}  // namespace graft
