// Type conversion with ONNX semantics.
#pragma once

#include <graft/builder.hpp>
#include <limits>

namespace graft {

// Out-of-range values converted to an 8-bit float become the largest finite value (saturate) or infinity (NaN if the
// type has no infinity).
inline Value cast(Builder& layer, Value x, DType type, bool saturate) {
  constexpr std::pair<DType, double> largest[] = {
      {DType::f8e4m3, 448}, {DType::f8e4m3fnuz, 240}, {DType::f8e5m2, 57344}, {DType::f8e5m2fnuz, 57344}};
  for (auto [t, most] : largest) {
    if (t != type || x.type() == DType::string || x.type() == type) continue;
    Value wide = is_real(x.type()) && bits_of(x.type()) >= 16 ? x : convert(x, DType::f32);
    if (wide.type() == DType::f16 && most > 60000) wide = convert(wide, DType::f32);
    if (saturate) return convert(layer.op("Clamp", {wide}, {{"min", -most}, {"max", most}}), type);
    Value inside = layer.op("LessEqual", {layer.op("Abs", {wide}), like(wide, most)});
    Value infinite = wide * std::numeric_limits<double>::infinity();
    return convert(layer.op("Select", {inside, wide, infinite}), type);
  }
  return convert(x, type);
}

}  // namespace graft
