// RelativePositionBias of ONNX Runtime (com.microsoft): the bias that T5 adds to its attention scores.
#include <graft/op.hpp>

#include "attention.hpp"

namespace graft {
namespace {

// The bucket of each distance: small distances have separate buckets, larger ones share them on a logarithmic scale.
std::vector<int64_t> bias_buckets(int64_t buckets, int64_t max_distance) {
  int64_t exact = buckets / 2;
  std::vector<int64_t> out;
  for (int64_t d = 0; d <= max_distance; ++d) {
    auto ratio = [&](int64_t v) { return std::log(static_cast<float>(v) / static_cast<float>(exact)); };
    auto shared = [&] {
      return static_cast<int64_t>(ratio(d) / ratio(max_distance) * static_cast<float>(buckets - exact));
    };
    out.push_back(d < exact ? d : std::min(exact + shared(), buckets - 1));
  }
  return out;
}

// The shape of the table is [buckets, heads], but its elements are stored head by head.
Value import_relative_position_bias(Builder& layer) {
  Value table = layer.input(0);
  Shape shape = table.shape();
  if (!shape.is_static() || shape.rank() != 2)
    unsupported("expected a table of biases of a known shape [buckets, heads], got ", shape);
  int64_t buckets = shape[0].value(), heads = shape[1].value(), most = layer.get<int64_t>("max_distance");
  bool both_ways = layer.get<bool>("is_bidirectional", false);
  int64_t one_way = both_ways ? buckets / 2 : buckets;
  if (one_way < 2 || most <= one_way / 2 || most > (1 << 24))
    fail("expected 2 buckets for each direction and a max_distance above ", one_way / 2, ", got ", buckets, " and ",
         most);
  auto positions = [&](size_t input) {
    Value length = reshape(convert(layer.input(input), DType::i64), {});
    return build::range(layer.scalar(int64_t{0}), length, DType::i64);
  };
  // Key position minus query position; for a unidirectional bias, only keys before the query count.
  Value behind = positions(2) - unsqueeze(positions(1), {1}), zero = layer.scalar(int64_t{0});
  Value distance = both_ways ? layer.op("Abs", {behind}) : layer.op("Maximum", {-behind, zero});
  Value known = layer.op("Minimum", {distance, layer.scalar(most)});
  Value bucket = build::gather(layer.ints(bias_buckets(one_way, most)), known, 0);
  if (both_ways) bucket = bucket + build::select(layer.op("Greater", {behind, zero}), layer.scalar(one_way), zero);
  return unsqueeze(build::gather(reshape(table, {heads, buckets}), bucket, 1), {0});
}

}  // namespace

Definitions define_onnx_ms_relative_position_bias() {
  return {onnx("RelativePositionBias").domain("com.microsoft").expand(import_relative_position_bias)};
}

}  // namespace graft
