// Helpers shared by the import rules of MXNet operators.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <graft/kit/expressions.hpp>
#include <graft/op.hpp>

namespace graft::mx {

// One rule per name: an operator and its aliases.
template <class F>
Definitions rules(std::initializer_list<std::string_view> names, F expand,
                  std::initializer_list<std::string_view> ignored = {}) {
  Definitions out;
  for (std::string_view name : names) {
    Rule r = mxnet(name);
    for (std::string_view path : ignored) r.ignore(path);
    out += r.expand(expand);
  }
  return out;
}

// ---- fields ----

// Whether a field is absent or "None".
inline bool is_none(Builder& layer, std::string_view path) {
  const graft_value* v = layer.field(path);
  return !v || (v->kind == GRAFT_TEXT && view(v->s) == "None");
}
inline std::optional<int64_t> optional_int(Builder& layer, std::string_view path) {
  if (is_none(layer, path)) return std::nullopt;
  return layer.get<int64_t>(path);
}
inline int64_t int_or(Builder& layer, std::string_view path, int64_t fallback) {
  return optional_int(layer, path).value_or(fallback);
}
inline bool bool_or(Builder& layer, std::string_view path, bool fallback) {
  return is_none(layer, path) ? fallback : layer.get<bool>(path);
}
inline std::string word_or(Builder& layer, std::string_view path, std::string_view fallback) {
  return is_none(layer, path) ? std::string(fallback) : layer.get<std::string>(path);
}
// Lists of sizes and axes become as many nodes.
inline constexpr size_t longest_list = 1024;

// A list or a single number; empty if absent.
inline std::vector<int64_t> ints(Builder& layer, std::string_view path) {
  if (is_none(layer, path)) return {};
  auto out = layer.get<std::vector<int64_t>>(path);
  if (out.size() > longest_list) fail("expected at most ", longest_list, " values of '", path, "', got ", out.size());
  return out;
}
// Items may be None.
inline std::vector<std::optional<int64_t>> optional_ints(Builder& layer, std::string_view path) {
  std::vector<std::optional<int64_t>> out;
  if (is_none(layer, path)) return out;
  if (layer.field(path)->kind != GRAFT_TEXTS) {
    for (int64_t v : ints(layer, path)) out.emplace_back(v);
    return out;
  }
  auto words = layer.get<std::vector<std::string>>(path);
  if (words.size() > longest_list) fail("expected at most ", longest_list, " values of '", path, "'");
  for (const std::string& word : words) {
    if (word == "None") {
      out.emplace_back();
      continue;
    }
    int64_t v = 0;
    auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), v);
    if (error != std::errc() || end != word.data() + word.size())
      fail("expected integers or None in '", path, "', got '", word, "'");
    out.emplace_back(v);
  }
  return out;
}

// One value per spatial axis.
inline std::vector<int64_t> windows(Builder& layer, std::string_view path, size_t axes, int64_t fallback,
                                    int64_t least) {
  std::vector<int64_t> out = ints(layer, path);
  if (out.empty()) out.assign(axes, fallback);
  if (out.size() == 1) out.resize(axes, out[0]);
  if (out.size() != axes) fail("expected ", axes, " values of '", path, "', got ", out.size());
  for (int64_t v : out)
    if (v < least || v > 1 << 24)
      fail("expected '", path, "' to be ", v < least ? "at least " : "at most ", v < least ? least : 1 << 24, ", got ",
           v);
  return out;
}

// An element type by its name in NumPy or its number in MXNet.
inline DType element_type(Builder& layer, std::string_view path, DType fallback) {
  constexpr std::pair<std::string_view, DType> types[] = {
      {"float32", DType::f32},  {"float64", DType::f64}, {"float16", DType::f16}, {"uint8", DType::u8},
      {"int32", DType::i32},    {"int8", DType::i8},     {"int64", DType::i64},   {"bool", DType::boolean},
      {"int16", DType::i16},    {"uint16", DType::u16},  {"uint32", DType::u32},  {"uint64", DType::u64},
      {"bfloat16", DType::bf16}};
  if (is_none(layer, path)) return fallback;
  const graft_value* v = layer.field(path);
  if (v->kind == GRAFT_INT && v->i >= 0 && v->i < static_cast<int64_t>(std::size(types))) return types[v->i].second;
  if (v->kind == GRAFT_INT && v->i == -1) return fallback;
  auto word = layer.get<std::string>(path);
  for (const auto& [name, type] : types)
    if (name == word) return type;
  fail("expected an element type for '", path, "', got '", word, "'");
}

// ---- values ----

inline std::vector<Value> all_inputs(Builder& layer) {
  std::vector<Value> out;
  for (size_t i = 0; i < layer.inputs(); ++i) out.push_back(layer.input(i));
  if (out.empty()) fail("expected at least one input, got none");
  return out;
}
inline std::vector<int64_t> axes_from(size_t first, size_t rank) {
  std::vector<int64_t> out;
  for (size_t i = first; i < rank; ++i) out.push_back(static_cast<int64_t>(i));
  return out;
}
// One value per channel, for a tensor of this rank with channels along `axis`.
inline Value per_channel(const Value& v, size_t rank, size_t axis = 1) {
  if (axis >= rank) fail("expected an input with channels along axis ", axis, ", got one of rank ", rank);
  std::vector<int64_t> dims(rank, 1);
  dims[axis] = -1;
  return reshape(v, dims);
}
// MXNet has no scalars: what has no dimensions has one of size 1.
inline Value at_least_1d(const Value& v) {
  Shape s = v.shape();
  return s.ranked() && s.rank() == 0 ? reshape(v, {1}) : v;
}
inline Value to_indices(const Value& v) { return convert(v, DType::i64); }
inline Value clamp(const Value& v, double low, double high) {
  return v.in().op("Clamp", {v}, {{"min", low}, {"max", high}});
}
// The values and indices of the k largest or smallest elements, in order; equal ones in their original order.
inline std::vector<Value> top_k(const Value& v, const Value& k, int64_t axis, bool largest) {
  return v.in().ops("TopK@11", {v, k},
                    {{"axis", axis},
                     {"mode", largest ? "max" : "min"},
                     {"sort", "value"},
                     {"index_element_type", DType::i64},
                     {"stable", true}},
                    2);
}
inline Value same_shape(const Value& v, const Value& as) {
  Shape s = as.shape();
  return s.is_static() ? reshape(v, s.values()) : v.in().op("Reshape", {v, shape_of(as)}, {{"special_zero", false}});
}

// Layers whose layout has the channels last ("NHWC") are computed with transposed data.
struct Layout {
  bool channels_last = false;
  size_t rank = 0;  // 0: not given

  static Layout of(Builder& layer) {
    std::string word = word_or(layer, "layout", "");
    if (word.empty()) return {};
    constexpr std::string_view known[] = {"NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC"};
    for (std::string_view k : known)
      if (k == word) return {word.back() == 'C', word.size()};
    unsupported("layout ", word, " is not supported");
  }
  std::vector<int64_t> order(bool back) const {
    std::vector<int64_t> out;
    auto r = static_cast<int64_t>(rank);
    if (back) {
      out.push_back(0);
      for (int64_t i = 2; i < r; ++i) out.push_back(i);
      out.push_back(1);
    } else {
      out.push_back(0), out.push_back(r - 1);
      for (int64_t i = 1; i + 1 < r; ++i) out.push_back(i);
    }
    return out;
  }
  Value channels_first(const Value& v) const { return channels_last ? transpose(v, order(false)) : v; }
  Value as_before(const Value& v) const { return channels_last ? transpose(v, order(true)) : v; }
};

}  // namespace graft::mx
