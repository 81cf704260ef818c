// Helpers shared by the import rules of Caffe layers.
#pragma once

#include <graft/kit/expressions.hpp>

namespace graft {

// The name of an enum value; `words` are the names in numeric order, for files that hold the number.
inline std::string caffe_word(Builder& layer, std::string_view path, std::initializer_list<std::string_view> words,
                              std::string_view fallback) {
  const graft_value* v = layer.field(path);
  if (!v) return std::string(fallback);
  if (v->kind == GRAFT_TEXT) return std::string(view(v->s));
  auto number = layer.get<int64_t>(path);
  if (number < 0 || static_cast<size_t>(number) >= words.size() || (words.begin() + number)->empty())
    fail("expected a known value of '", path, "', got ", number);
  return std::string(*(words.begin() + number));
}

// A layer that applies the same operation to each of its inputs.
template <class F>
std::vector<Value> caffe_each(Builder& layer, F&& one) {
  std::vector<Value> out;
  for (size_t i = 0; i < layer.flows(); ++i) out.push_back(one(layer.input(i)));
  if (out.empty()) fail("layer '", layer.name(), "' has no inputs");
  return out;
}

// Window parameters, one per spatial axis: `name` given once or per axis, or `name`_h and `name`_w.
inline std::vector<int64_t> caffe_windows(Builder& layer, const std::string& message, const std::string& list,
                                          const std::string& short_name, size_t axes, int64_t fallback, int64_t least) {
  std::string h = message + "." + short_name + "_h", w = message + "." + short_name + "_w", both = message + "." + list;
  std::vector<int64_t> out = layer.get<std::vector<int64_t>>(both, {});
  if (layer.has(h) || layer.has(w)) {
    if (axes != 2) fail("attributes '", h, "' and '", w, "' require 2 spatial axes, got ", axes);
    int64_t other = out.empty() ? fallback : out[0];
    out = {layer.get<int64_t>(h, other), layer.get<int64_t>(w, other)};
  }
  if (out.empty()) out = {fallback};
  if (out.size() == 1) out.resize(axes, out[0]);
  if (out.size() != axes) fail("expected 1 or ", axes, " values of '", both, "', got ", out.size());
  for (int64_t v : out)
    if (v < least || v > 1 << 24)
      fail("expected '", both, "' to be ", v < least ? "at least " : "at most ", v < least ? least : 1 << 24, ", got ",
           v);
  return out;
}

inline size_t caffe_axis(int64_t axis, size_t rank) { return normalize_axis(axis, rank); }

// The axes from `first` to the last one.
inline std::vector<int64_t> caffe_axes_from(size_t first, size_t rank) {
  std::vector<int64_t> out;
  for (size_t i = first; i < rank; ++i) out.push_back(static_cast<int64_t>(i));
  return out;
}

// Weights flattened to one dimension; old files store them as 1x1x1xN.
inline Value caffe_vector(const Value& weights) {
  Shape s = weights.shape();
  return s.ranked() && s.rank() == 1 ? weights : reshape(weights, {-1});
}
// The same, reshaped to one value per channel of a tensor of this rank.
inline Value caffe_per_channel(const Value& weights, size_t rank) {
  std::vector<int64_t> dims(rank, 1);
  if (rank > 1) dims[1] = -1;
  else dims[0] = -1;
  return reshape(weights, dims);
}

inline Value caffe_interpolate(const Value& x, const Value& sizes, std::string_view mode,
                               std::string_view coordinates) {
  Builder& in = x.in();
  return in.op("Interpolate@11", {x, sizes, in.ints({2, 3})},
               {{"mode", mode},
                {"shape_calculation_mode", "sizes"},
                {"coordinate_transformation_mode", coordinates},
                {"nearest_mode", "round_prefer_floor"}});
}

}  // namespace graft
