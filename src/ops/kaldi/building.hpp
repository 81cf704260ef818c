// Helpers shared by the import rules of Kaldi components. Values are matrices: frames x dimension.
#pragma once

#include <graft/kit/expressions.hpp>
#include <graft/op.hpp>

namespace graft {

// A rule for a component, without what only training needs.
inline Rule kaldi_component(std::string_view type) {
  Rule r = kaldi(type);
  for (std::string_view field : {"weights",
                                 "Dim",
                                 "InputDim",
                                 "OutputDim",
                                 "LearnRateCoef",
                                 "BiasLearnRateCoef",
                                 "MaxNorm",
                                 "LearningRate",
                                 "LearningRateFactor",
                                 "MaxChange",
                                 "L2Regularize",
                                 "MaxChangePerSample",
                                 "RankIn",
                                 "RankOut",
                                 "RankInOut",
                                 "RankInOut.1",
                                 "Rank",
                                 "UpdatePeriod",
                                 "NumSamplesHistory",
                                 "NumMinibatchesHistory",
                                 "Alpha",
                                 "AlphaInOut",
                                 "AlphaInOut.1",
                                 "IsGradient",
                                 "OrthonormalConstraint",
                                 "UseNaturalGradient",
                                 "Count",
                                 "OderivCount",
                                 "NumDimsSelfRepaired",
                                 "NumDimsProcessed",
                                 "SelfRepairScale",
                                 "SelfRepairLowerThreshold",
                                 "SelfRepairUpperThreshold",
                                 "SelfRepairThreshold",
                                 "SelfRepairTotal",
                                 "MaxMemoryMb",
                                 "IsUpdatable",
                                 "UpdateCount",
                                 "ActiveScalingCount",
                                 "MaxChangeScaleStats",
                                 "DropoutProportion",
                                 "DropoutPerFrame",
                                 "DropoutScale",
                                 "DropoutRate",
                                 "DropoutRetention",
                                 "TestMode",
                                 "GradClip",
                                 "DiffClip",
                                 "CellDiffClip",
                                 "ClipGradient",
                                 "AlphaLearnRateCoef",
                                 "BetaLearnRateCoef"})
    r.ignore(field);
  return r;
}

// A vector or matrix by its token, or by its number if it has none; empty if the component has no such one.
inline Value kaldi_weight_or_none(Builder& layer, std::string_view name) {
  std::vector<std::string> names = layer.get<std::vector<std::string>>("weights", {});
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return layer.weight(i);
  return {};
}
inline Value kaldi_weight(Builder& layer, std::string_view name) {
  Value v = kaldi_weight_or_none(layer, name);
  if (!v) fail("expected the parameters '", name, "' in component '", layer.name(), "' (", layer.type(), ")");
  return v;
}
inline std::vector<double> kaldi_numbers(Builder& layer, std::string_view name) {
  auto v = kaldi_weight(layer, name).values<double>();
  if (!v) fail("expected constant parameters '", name, "'");
  return *v;
}

// An integer within bounds; sizes come from untrusted files.
inline int64_t kaldi_size(Builder& layer, std::string_view field, int64_t least = 1) {
  constexpr int64_t most = 1 << 24;
  auto v = layer.get<int64_t>(field);
  if (v < least || v > most) fail("expected '", field, "' of ", least, " to ", most, ", got ", v);
  return v;
}
// The number of columns of a value.
inline int64_t kaldi_columns(const Value& x) {
  Shape s = x.shape();
  if (!s.ranked() || s.rank() != 2 || !s[1].known()) unsupported("the dimension of the input is unknown");
  return s[1].value();
}

// The same for the input of a component, which may be part of a recurrence where shapes are not known yet.
inline int64_t kaldi_input_dim(Builder& layer, const Value& x) {
  Shape s = x.shape();
  if (s.ranked() && s.rank() == 2 && s[1].known()) return s[1].value();
  for (const char* field : {"InputDim", "Dim"})
    if (layer.has(field)) return kaldi_size(layer, field);
  unsupported("the dimension of the input is unknown");
}
// A value of which the number of columns is known now.
inline Value kaldi_with_columns(const Value& x, int64_t dim) {
  Shape s = x.shape();
  return s.ranked() && s.rank() == 2 && s[1].known() ? x : reshape(x, {-1, dim});
}

inline Value kaldi_affine(const Value& x, const Value& w, const Value& b) {
  Value y = build::matmul(x, w, false, true);
  return b ? y + b : y;
}

// Columns by number, for each of `groups` patches of the same size: [frames, groups, size].
inline Value kaldi_patches(Builder& layer, const Value& x, const std::vector<int64_t>& columns, int64_t groups) {
  int64_t dim = kaldi_columns(x), size = static_cast<int64_t>(columns.size()) / groups;
  for (int64_t c : columns)
    if (c < 0 || c >= dim) fail("expected an input of more than ", c, " columns, got ", dim);
  Value y = build::gather(x, layer.ints(columns), 1);
  return reshape(y, {-1, groups, size});
}
// A list of columns has this many entries at most: a layer without weights takes few bytes of a file.
constexpr int64_t kaldi_most_patches = 1 << 20;
inline void kaldi_check_patches(int64_t count) {
  if (count < 1 || count > kaldi_most_patches)
    fail("expected patches of 1 to ", kaldi_most_patches, " values, got ", count);
}
// The same for a product, which may not fit an integer.
inline void kaldi_check_patches(int64_t a, int64_t b) {
  if (a > kaldi_most_patches / b) fail("expected patches of 1 to ", kaldi_most_patches, " values, got ", a, " x ", b);
}

// A variable that keeps its value between the chunks of an utterance, and the value that it gets for the next one.
inline Value kaldi_variable(const Value& initial, const std::string& id) {
  return initial.in().op("ReadValue@6", {initial},
                         {{"variable_id", id}, {"variable_type", initial.type()}, {"variable_shape", initial.shape()}});
}
inline void kaldi_assign(const Value& value, const std::string& id) {
  value.in().op("Assign@6", {value}, {{"variable_id", id}});
}
// `x` where `started` is not zero, else zeros: what is computed before the first frame may be anything, also NaN.
inline Value kaldi_held(const Value& started, const Value& x) {
  return build::select(x.in().op("Greater", {started, like(started, 0)}), x, like(x, 0));
}

// A vector repeated up to `dim` values.
inline Value kaldi_tiled(const Value& v, int64_t dim) {
  Shape s = v.shape();
  if (!s.ranked() || s.rank() != 1 || !s[0].known() || s[0].value() < 1 || dim % s[0].value() != 0)
    fail("expected a vector whose size divides ", dim, ", got shape ", s);
  int64_t times = dim / s[0].value();
  return times == 1 ? v : v.in().op("Tile", {v, v.in().ints({times})});
}

}  // namespace graft
