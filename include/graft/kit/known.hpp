// Small integer inputs as shape functions see them: constant, computed but certain, or known only by their bounds; and
// dimensions that must agree.
//
//   if (auto axis = certain_axis(ctx, 1, in.rank())) out[*axis] = agree(in[*axis], length_of(ctx, 2), "columns", "");
#pragma once

#include "../shapes.hpp"

namespace [[gnu::visibility("hidden")]] graft {

// An integer as a Dim; unlike a size it may be negative.
inline Dim exact_number(int64_t v) { return Dim(graft_dim{v, v, 0, 0}); }
inline Dim any_number() { return Dim(graft_dim{INT64_MIN, INT64_MAX, 0, 0}); }

// The values of tensors of these types and up to this many elements are tracked individually; see Inference.
inline constexpr int64_t most_followed = 64;
inline bool is_followed(DType type, const Shape& shape) {
  if (type != DType::i64 && type != DType::i32 && type != DType::boolean) return false;
  return shape.is_static() && shape.elements().value() <= most_followed;
}
// What is known about each element of an input whose values are tracked, in row-major order; absent for other inputs.
inline std::optional<Shape> followed_values(const NodeView& ctx, size_t input) {
  DType type = ctx.type(input);
  Shape shape = ctx.shape(input);
  if (!is_followed(type, shape)) return std::nullopt;
  auto n = static_cast<size_t>(shape.elements().value());
  if (auto k = ctx.known(input); k && k->rank() == n) return k;
  return Shape(std::vector<Dim>(n, type == DType::boolean ? Dim::between(0, 1) : any_number()));
}

// All values of an input, as far as they are known.
inline std::optional<Shape> numbers_of(const NodeView& ctx, size_t input) {
  if (auto k = ctx.known(input)) return k;
  auto v = ctx.values<int64_t>(input);
  if (!v) return std::nullopt;
  Shape out;
  for (int64_t x : *v) out.push_back(exact_number(x));
  return out;
}
// The same, present only if all values are certain.
inline std::optional<std::vector<int64_t>> certain_numbers(const NodeView& ctx, size_t input) {
  if (auto k = ctx.known(input); k && std::all_of(k->begin(), k->end(), [](const Dim& d) { return d.known(); })) {
    std::vector<int64_t> out;
    for (const Dim& d : *k) out.push_back(d.min());
    return out;
  }
  return ctx.values<int64_t>(input);
}
inline std::optional<int64_t> certain_number(const NodeView& ctx, size_t input) {
  auto v = certain_numbers(ctx, input);
  if (!v) return std::nullopt;
  if (v->size() != 1) fail("expected a single number in input ", input, ", got ", v->size(), " values");
  return (*v)[0];
}
// An input that holds one axis of a tensor of this rank.
inline std::optional<size_t> certain_axis(const NodeView& ctx, size_t input, size_t rank) {
  if (auto a = certain_number(ctx, input)) return normalize_axis(*a, rank);
  return std::nullopt;
}

// The number of elements of a 1-D input.
inline Dim length_of(const NodeView& ctx, size_t input) {
  Shape s = ctx.shape(input);
  if (!s.ranked()) return Dim();
  if (s.rank() > 1) fail("expected input ", input, " to be 1-D, got shape ", s);
  return s.elements();
}

// The number of axes that a list of known length describes.
inline size_t axes_in(const Dim& length) {
  constexpr int64_t most = 1024;
  if (length.value() > most) fail("expected a list of at most ", most, " axes, got ", length, " values");
  return static_cast<size_t>(length.value());
}

// A dimension of which only the upper bound is still valid.
inline Dim at_most(const Dim& d) { return Dim::between(0, d.max()); }
inline Shape all_unknown(const Shape& s) { return s.ranked() ? Shape::of_rank(s.rank()) : s; }

// The dimension that both must be; fails with "expected <wanted> <what> <why>, got <found>".
inline Dim agree(const Dim& found, const Dim& wanted, std::string_view what, std::string_view why) {
  if (std::max(found.min(), wanted.min()) > std::min(found.max(), wanted.max()))
    fail("expected ", wanted, " ", what, " ", why, ", got ", found);
  return merge(found, wanted);
}

// The sizes listed in input `i`, as far as they are known; fails if it does not list `wanted` sizes.
inline std::optional<Shape> target_sizes(const NodeView& ctx, size_t i, size_t wanted) {
  Shape list = ctx.shape(i);
  if (list.ranked() && (list.rank() > 1 || !list.elements().can_be(static_cast<int64_t>(wanted))))
    fail("expected ", wanted, " sizes in input ", i, ", got shape ", list);
  std::optional<Shape> sizes = ctx.known(i);
  if (auto v = sizes ? std::nullopt : ctx.values<int64_t>(i)) {
    sizes.emplace();
    for (int64_t x : *v) sizes->push_back(Dim(graft_dim{x, x, 0, 0}));
  }
  if (!sizes) return sizes;
  for (Dim& d : *sizes) {
    if (d.max() < 0) fail("expected non-negative sizes, got ", d.max());
    if (d.min() < 0) d = Dim::between(0, d.max());
  }
  return sizes;
}

}  // namespace graft
