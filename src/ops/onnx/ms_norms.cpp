// GroupNorm and SkipGroupNorm of ONNX Runtime (com.microsoft).
#include <graft/kit/expressions.hpp>
#include <graft/op.hpp>

#include "onnx/windows.hpp"

namespace graft {
namespace {

// Scale and shift may be wider than the data: then so is the arithmetic.
Value group_norm(Builder& layer, const Value& x, bool last) {
  auto activation = layer.get<int64_t>("activation");
  if (activation != 0 && activation != 1) fail("expected activation 0 or 1, got ", activation);
  Value scale = layer.input(1), shift = layer.input(2);
  Value y = with_channels_second(convert(x, scale.type()), last, [&](Value v) {
    return layer.op("GroupNormalization@12", {v, scale, shift},
                    {{"num_groups", layer.get<int64_t>("groups")}, {"epsilon", layer.get<float>("epsilon", 1e-5f)}});
  });
  return convert(activation == 1 ? layer.op("Swish", {y}) : y, x.type());
}
bool are_channels_last(Builder& layer) { return layer.get<bool>("channels_last", true); }

Value import_group_norm_ms(Builder& layer) { return group_norm(layer, layer.input(0), are_channels_last(layer)); }

// The second result is the sum that is normalized.
std::vector<Value> import_skip_group_norm(Builder& layer) {
  Value x = layer.input(0), skip = layer.input(3);
  bool last = are_channels_last(layer);
  auto middle = [&] {
    std::vector<int64_t> axes;
    for (size_t i = last ? 1 : 2; i < x.rank() - (last ? 1 : 0); ++i) axes.push_back(static_cast<int64_t>(i));
    return axes;
  };
  if (skip.rank() == 2) skip = unsqueeze(skip, middle());
  Value sum = x + skip;
  if (layer.has_input(4)) sum = sum + (last ? layer.input(4) : by_channel(layer.input(4), x.rank() - 2));
  return {group_norm(layer, sum, last), sum};
}

}  // namespace

Definitions define_onnx_ms_norms() {
  return {
      onnx("GroupNorm").domain("com.microsoft").rank(0, 3).expand(import_group_norm_ms),
      onnx("SkipGroupNorm").domain("com.microsoft").rank(0, 3).expand(import_skip_group_norm),
  };
}

}  // namespace graft
