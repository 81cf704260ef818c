// Windows of images at computed positions.
#include <graft/op.hpp>

#include "layout.hpp"

namespace graft {
namespace {

// Positions along one axis: `size` of them from each start, and whether they are inside.
struct GlimpseAxis {
  Value places, inside;
};
GlimpseAxis tf_glimpse_axis(const Value& start, const Value& size, const Value& length) {
  Builder& layer = start.in();
  Value at = unsqueeze(start, {1}) + unsqueeze(build::range(layer.scalar(int64_t{0}), size, DType::i64), {0});
  Value zero = layer.scalar(int64_t{0});
  Value inside = layer.op("LogicalAnd", {layer.op("GreaterEqual", {at, zero}), layer.op("Less", {at, length})});
  return {build::select(inside, at, zero), inside};
}

// The first version moves every window back by half of its size, the second only normalized centered ones, and takes
// positions from the center that are not normalized as whole pixels.
template <int version>
Value tf_extract_glimpse(Builder& layer) {
  bool centered = layer.get<bool>("centered", true), normalized = layer.get<bool>("normalized", true);
  layer.has("uniform_noise");
  if (auto noise = layer.get<std::string>("noise", "uniform"); noise != "zero")
    unsupported("expected zeros around the image, got random numbers (noise '", noise, "')");
  Value x = layer.input(0), size = convert(tf::as_list(layer.input(1)), DType::i64), dims = build::dims(x, {1, 2});
  Value lengths = convert(dims, DType::f32), start = convert(layer.input(2), DType::f32);
  if (normalized) start = start * lengths;
  bool halved = version == 1 || normalized;
  if (centered) start = (halved ? start / 2 : start) + lengths / 2;
  if (version == 1 || (normalized && centered)) start = start - convert(size, DType::f32) / 2;
  start = convert(start, DType::i64);
  auto axis = [&](int64_t i) {
    auto of = [&](const Value& list) { return build::gather(list, layer.scalar(i), -1); };
    return tf_glimpse_axis(of(start), of(size), of(dims));
  };
  auto window = [&](const Value& from, const Value& places, int64_t along) {
    return layer.op("Gather@8", {from, places, layer.scalar(along)}, {{"batch_dims", int64_t{1}}});
  };
  GlimpseAxis rows = axis(0), columns = axis(1);
  Value inside = layer.op("LogicalAnd", {unsqueeze(rows.inside, {2, 3}), unsqueeze(columns.inside, {1, 3})});
  return build::select(inside, window(window(x, rows.places, 1), columns.places, 2), like(x, 0));
}

}  // namespace

Definitions define_tensorflow_windows() {
  return {
      tensorflow("ExtractGlimpse").expand(tf_extract_glimpse<1>),
      tensorflow("ExtractGlimpseV2").expand(tf_extract_glimpse<2>),
  };
}

}  // namespace graft
