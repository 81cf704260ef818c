// Removes operations without effect: the consumers of y = op(x) read x instead.

#include <graft/formula.hpp>
#include <graft/op.hpp>
namespace graft {
namespace {

bool all_are(const Value& v, int64_t wanted) {
  auto list = whole_numbers(v);
  return list && std::all_of(list->begin(), list->end(), [=](int64_t x) { return x == wanted; });
}

// x + 0, x - 0, x * 1, x / 1, x^1, unless the constant broadcasts x
Value without_neutral(Rewrite& at, double neutral, bool commutes) {
  for (size_t i : {1, 0}) {
    if (i == 0 && !commutes) break;
    Value x = at.input(1 - i), c = at.input(i);
    if (!fills(c.shape(), x.shape()) || number(c) != neutral) continue;
    return x;
  }
  return {};
}

// Equal rank and number of elements, and all dimensions but one known to be equal.
bool reshapes_nothing(const Shape& a, const Shape& b) {
  if (!a.ranked() || !b.ranked() || a.rank() != b.rank()) return false;
  size_t open = 0;
  bool filled = true;
  for (size_t i = 0; i < a.rank(); ++i) {
    open += !a[i].same(b[i]);
    filled = filled && (!a[i].same(b[i]) || a[i].min() > 0);
  }
  return open == 0 || (open == 1 && filled);
}

// A slice of every axis from its beginning to its end.
bool takes_all(const std::vector<int64_t>& start, const std::vector<int64_t>& stop, const std::vector<int64_t>& step,
               const std::vector<size_t>& axes, const Shape& x) {
  for (size_t i = 0; i < axes.size(); ++i) {
    const Dim& d = x[axes[i]];
    bool to_end = stop[i] >= std::numeric_limits<int32_t>::max() || (d.known() && stop[i] >= d.value());
    if (start[i] != 0 || step[i] != 1 || !to_end) return false;
  }
  return true;
}
bool slice_takes_all(const NodeRef& n) {
  Shape x = n.input(0).shape();
  auto start = whole_numbers(n.input(1)), stop = whole_numbers(n.input(2)), step = whole_numbers(n.input(3));
  if (!x.ranked() || !start || !stop || !step || stop->size() != start->size() || step->size() != start->size())
    return false;
  std::vector<size_t> axes;
  if (n.inputs() > 4 && n.input(4)) {
    auto given = whole_numbers(n.input(4));
    if (!given || given->size() != start->size()) return false;
    axes = normalize_axes(*given, x.rank());
  } else {
    for (size_t i = 0; i < start->size(); ++i) axes.push_back(i);
  }
  return takes_all(*start, *stop, *step, axes, x);
}
bool strided_slice_takes_all(const NodeRef& n) {
  Shape x = n.input(0).shape();
  auto start = whole_numbers(n.input(1)), stop = whole_numbers(n.input(2));
  if (!x.ranked() || !start || !stop || start->size() != stop->size() || start->size() > x.rank()) return false;
  std::vector<int64_t> step(start->size(), 1);
  if (n.inputs() > 3 && n.input(3)) {
    auto given = whole_numbers(n.input(3));
    if (!given || given->size() != start->size()) return false;
    step = *given;
  }
  auto mask = [&](std::string_view name, size_t i) {
    auto list = n.get<std::vector<int64_t>>(name, {});
    return i < list.size() && list[i] != 0;
  };
  std::vector<size_t> axes;
  for (size_t i = 0; i < start->size(); ++i) {
    for (std::string_view other : {"new_axis_mask", "shrink_axis_mask", "ellipsis_mask"})
      if (mask(other, i)) return false;
    if (mask("begin_mask", i)) (*start)[i] = 0;
    if (mask("end_mask", i)) (*stop)[i] = std::numeric_limits<int64_t>::max();
    axes.push_back(i);
  }
  return takes_all(*start, *stop, step, axes, x);
}

bool gathers_all(const NodeRef& n) {
  Shape x = n.input(0).shape();
  auto indices = whole_numbers(n.input(1)), axis = whole_numbers(n.input(2));
  if (!indices || !axis || axis->size() != 1 || !x.ranked() || n.input(1).shape().rank() != 1) return false;
  if (n.get<int64_t>("batch_dims", 0) != 0) return false;
  const Dim& d = x[normalize_axis((*axis)[0], x.rank())];
  if (!d.known() || d.value() != static_cast<int64_t>(indices->size())) return false;
  for (size_t i = 0; i < indices->size(); ++i)
    if ((*indices)[i] != static_cast<int64_t>(i)) return false;
  return true;
}

bool keeps_order(const NodeRef& n) {
  auto order = whole_numbers(n.input(1));
  if (!order || order->empty()) return n.input(0).shape().ranked() && n.input(0).shape().rank() <= 1;
  for (size_t i = 0; i < order->size(); ++i)
    if ((*order)[i] != static_cast<int64_t>(i)) return false;
  return true;
}

// A reduction over no axes, or only over axes of size 1.
bool reduces_nothing(const NodeRef& n) {
  auto axes = whole_numbers(n.input(1));
  return axes && (axes->empty() || certainly_same(n.input(0).shape(), n.output().shape()));
}

// Every axis keeps its size, so each element maps to itself.
bool resizes_nothing(const NodeRef& n) {
  if (n.opset() == "opset1" || !certainly_same(n.input(0).shape(), n.output().shape())) return false;
  for (std::string_view pads : {"pads_begin", "pads_end"})
    for (int64_t p : n.get<std::vector<int64_t>>(pads, {}))
      if (p != 0) return false;
  if (n.get<std::string>("coordinate_transformation_mode", "half_pixel") == "tf_half_pixel_for_nn") return false;
  if (n.get<std::string>("shape_calculation_mode") == "sizes") return true;
  return number(n.input(n.opset() == "opset4" ? 2 : 1)) == 1.0;
}

// Concat(a, empty, b)  =>  Concat(a, b)
Value without_empty_parts(Rewrite& at) {
  NodeRef n = at.node();
  if (n.inputs() == 1) return at.input(0);
  std::vector<Value> parts;
  for (size_t i = 0; i < n.inputs(); ++i) {
    Shape s = n.input(i).shape();
    if (!s.ranked() || s.rank() == 0) return {};
    const Dim& d = s[normalize_axis(n.get<int64_t>("axis"), s.rank())];
    if (!(d.known() && d.value() == 0)) parts.push_back(n.input(i));
  }
  if (parts.empty() || parts.size() == n.inputs()) return {};
  return parts.size() == 1 ? parts[0] : at.like(n, parts);
}

bool reshapes_nothing(const NodeRef& n) { return reshapes_nothing(n.input(0).shape(), n.output().shape()); }
bool keeps_shape(const NodeRef& n) { return certainly_same(n.input(0).shape(), n.output().shape()); }
bool repeats_nothing(const NodeRef& n) { return all_are(n.input(1), 1) && has_rank_of(n.input(0), n.output()); }
bool pads_nothing(const NodeRef& n) { return all_are(n.input(1), 0) && all_are(n.input(2), 0); }
bool splits_nothing(const NodeRef& n) { return n.outputs() == 1; }
bool converts_nothing(const NodeRef& n) {
  DType type = n.input(0).type();
  return type == n.output().type() && type != DType::undefined;
}
bool batches_nothing(const NodeRef& n) {
  return all_are(n.input(1), 1) && all_are(n.input(2), 0) && all_are(n.input(3), 0);
}
bool has_blocks_of_one(const NodeRef& n) { return n.get<int64_t>("block_size", 1) == 1; }
bool shuffles_nothing(const NodeRef& n) { return n.get<int64_t>("group", 1) == 1; }

// When an operation that only moves or converts elements has no effect.
struct Noop {
  std::string_view type;
  bool (*has_no_effect)(const NodeRef&);
};
constexpr Noop noops[] = {
    {"Reshape", reshapes_nothing},
    {"Squeeze", reshapes_nothing},
    {"Unsqueeze", reshapes_nothing},
    {"Broadcast", keeps_shape},
    {"Tile", repeats_nothing},
    {"Pad", pads_nothing},
    {"Slice", slice_takes_all},
    {"StridedSlice", strided_slice_takes_all},
    {"Gather", gathers_all},
    {"Transpose", keeps_order},
    {"Split", splits_nothing},
    {"VariadicSplit", splits_nothing},
    {"Convert", converts_nothing},
    {"ConvertLike", converts_nothing},
    {"Interpolate", resizes_nothing},
    {"BatchToSpace", batches_nothing},
    {"SpaceToBatch", batches_nothing},
    {"DepthToSpace", has_blocks_of_one},
    {"SpaceToDepth", has_blocks_of_one},
    {"ShuffleChannels", shuffles_nothing},
};

// The number c for which x op c, and c op x if the operation is commutative, is x.
struct Neutral {
  std::string_view type;
  double number;
  bool commutes;
};
constexpr Neutral neutrals[] = {
    {"Add", 0, true}, {"Subtract", 0, false}, {"Multiply", 1, true}, {"Divide", 1, false}, {"Power", 1, false}};

Value without_move(Rewrite& at) {
  for (const Noop& row : noops)
    if (at.node().is(row.type) && row.has_no_effect(at.node())) return at.input(0);
  return {};
}
Value without_neutral_number(Rewrite& at) {
  for (const Neutral& row : neutrals)
    if (at.node().is(row.type)) return without_neutral(at, row.number, row.commutes);
  return {};
}

Value without_noop(Rewrite& at) {
  NodeRef n = at.node();
  if (n.is("Concat")) return without_empty_parts(at);
  if (n.is("Identity")) return at.input(0);
  if (n.has(Trait::reduction)) return reduces_nothing(n) ? at.input(0) : Value();
  Value x = without_move(at);
  return x ? x : without_neutral_number(at);
}

}  // namespace

Definitions rewrite_noops() {
  return Pass("remove_noops")
      .doc("remove operations without effect: x + 0, a slice of everything, a Concat of one input")
      .visit(Trait::reduction, without_noop, {"Concat", "Identity"})
      .visit_rows(noops, without_noop)
      .visit_rows(neutrals, without_noop);
}

}  // namespace graft
