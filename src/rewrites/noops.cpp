// Removes operations without effect: the consumers of y = op(x) read x instead.

#include <graft/formula.hpp>
#include <graft/op.hpp>
namespace graft {
namespace {

bool one_of(const NodeRef& n, std::initializer_list<std::string_view> types) {
  for (std::string_view t : types)
    if (n.is(t)) return true;
  return false;
}
bool all_are(const Value& v, int64_t wanted) {
  auto list = whole_numbers(v);
  return list && std::all_of(list->begin(), list->end(), [=](int64_t x) { return x == wanted; });
}

// x + 0, x - 0, x * 1, x / 1, x^1, unless the constant broadcasts x
Value without_neutral(Rewrite& at) {
  NodeRef n = at.node();
  double neutral = n.is("Add") || n.is("Subtract") ? 0 : 1;
  bool swaps = n.is("Add") || n.is("Multiply");
  for (size_t i : {1, 0}) {
    if (i == 0 && !swaps) break;
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
  if (one_of(n, {"ReduceL1", "ReduceL2"})) return false;
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

bool changes_nothing(const NodeRef& n) {
  Value x = n.input(0), y = n.output();
  if (one_of(n, {"Reshape", "Squeeze", "Unsqueeze"})) return reshapes_nothing(x.shape(), y.shape());
  if (n.is("Broadcast")) return certainly_same(x.shape(), y.shape());
  if (n.is("Tile")) return all_are(n.input(1), 1) && has_rank_of(x, y);
  if (n.is("Pad")) return all_are(n.input(1), 0) && all_are(n.input(2), 0);
  if (n.is("Slice")) return slice_takes_all(n);
  if (n.is("StridedSlice")) return strided_slice_takes_all(n);
  if (n.is("Gather")) return gathers_all(n);
  if (n.is("Transpose")) return keeps_order(n);
  if (one_of(n, {"Split", "VariadicSplit"})) return n.outputs() == 1;
  if (one_of(n, {"Convert", "ConvertLike"})) return x.type() == y.type() && x.type() != DType::undefined;
  if (n.is("Interpolate")) return resizes_nothing(n);
  if (one_of(n, {"BatchToSpace", "SpaceToBatch"}))
    return all_are(n.input(1), 1) && all_are(n.input(2), 0) && all_are(n.input(3), 0);
  if (one_of(n, {"DepthToSpace", "SpaceToDepth"})) return n.get<int64_t>("block_size", 1) == 1;
  if (n.is("ShuffleChannels")) return n.get<int64_t>("group", 1) == 1;
  return n.type().starts_with("Reduce") && reduces_nothing(n);
}

Value without_noop(Rewrite& at) {
  NodeRef n = at.node();
  if (one_of(n, {"Add", "Subtract", "Multiply", "Divide", "Power"})) return without_neutral(at);
  if (n.is("Concat")) return without_empty_parts(at);
  if (n.is("Identity")) return at.input(0);
  return changes_nothing(n) ? at.input(0) : Value();
}

}  // namespace

Definitions rewrite_noops() {
  return Pass("remove_noops")
      .doc("remove operations without effect: x + 0, a slice of everything, a Concat of one input")
      .visit({"Add",           "Subtract",     "Multiply",         "Divide",         "Power",        "Concat",
              "Identity",      "Reshape",      "Squeeze",          "Unsqueeze",      "Broadcast",    "Tile",
              "Pad",           "Slice",        "StridedSlice",     "Gather",         "Transpose",    "Split",
              "VariadicSplit", "Convert",      "ConvertLike",      "Interpolate",    "BatchToSpace", "SpaceToBatch",
              "DepthToSpace",  "SpaceToDepth", "ShuffleChannels",  "ReduceSum",      "ReduceMean",   "ReduceMax",
              "ReduceMin",     "ReduceProd",   "ReduceLogicalAnd", "ReduceLogicalOr"},
             without_noop);
}

}  // namespace graft
