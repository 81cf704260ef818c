// Fuses resizing in several steps into one Interpolate.

#include <graft/formula.hpp>
#include <graft/op.hpp>
namespace graft {
namespace {

// The inputs of an Interpolate.
struct Resize {
  std::vector<size_t> axes;
  std::vector<double> factors;  // in mode "scales"
  std::vector<int64_t> sizes;
  explicit operator bool() const { return !axes.empty(); }
};
Resize resize_of(const NodeRef& n) {
  Shape x = n.input(0).shape(), y = n.output().shape();
  bool four = n.opset() == "opset4", scaled = n.get<std::string>("shape_calculation_mode") == "scales";
  size_t axes_at = four ? 3 : 2;
  if (!x.ranked() || n.inputs() <= axes_at) return {};
  auto given = whole_numbers(n.input(axes_at));
  if (!given) return {};
  Resize r;
  for (size_t a : normalize_axes(*given, x.rank())) {
    if (!scaled && !y[a].known()) return {};
    r.axes.push_back(a);
    r.sizes.push_back(y[a].known() ? y[a].value() : 1);
  }
  if (!scaled) return r;
  Value factors = n.input(four ? 2 : 1);
  auto list = factors.values<double>();
  if (!list || list->size() != r.axes.size()) return {};
  r.factors = *list;
  return r;
}
bool same_way(const NodeRef& a, const NodeRef& b) {
  for (std::string_view name : {"mode", "shape_calculation_mode", "coordinate_transformation_mode", "nearest_mode"})
    if (a.get<std::string>(name, "") != b.get<std::string>(name, "")) return false;
  for (const NodeRef& n : {a, b}) {
    for (std::string_view pads : {"pads_begin", "pads_end"})
      for (int64_t p : n.get<std::vector<int64_t>>(pads, {}))
        if (p != 0) return false;
    if (n.get<bool>("antialias", false)) return false;
  }
  return a.get<double>("cube_coeff", -0.75) == b.get<double>("cube_coeff", -0.75);
}

// Interpolate(Interpolate(x, height), width)  =>  Interpolate(x, height and width)
Value to_one_interpolate(Rewrite& at) {
  NodeRef last = at.node(), first = piece(at.input(0), "Interpolate");
  if (!last.is("Interpolate") || !first || first.opset() != last.opset() || last.opset() == "opset1") return {};
  // Integer results are rounded between the axes, so separate steps give a different result.
  if (!is_real(at.self().type()) && last.get<std::string>("mode") != "nearest") return {};
  if (!same_way(first, last)) return {};
  Resize a = resize_of(first), b = resize_of(last);
  if (!a || !b) return {};
  for (size_t axis : b.axes) {
    if (std::find(a.axes.begin(), a.axes.end(), axis) != a.axes.end()) return {};
    a.axes.push_back(axis);
  }
  a.sizes.insert(a.sizes.end(), b.sizes.begin(), b.sizes.end());
  a.factors.insert(a.factors.end(), b.factors.begin(), b.factors.end());
  auto count = static_cast<int64_t>(a.axes.size());
  Value x = first.input(0), axes = at.ints({a.axes.begin(), a.axes.end()}), sizes = at.ints(a.sizes);
  bool scaled = !a.factors.empty();
  if (!scaled) a.factors.assign(a.axes.size(), 1.0);
  bool four = last.opset() == "opset4";
  Value factors = at.typed(a.factors, {count}, last.input(four ? 2 : 1).type());
  if (four) return at.like(last, {x, sizes, factors, axes});
  return at.like(last, {x, scaled ? factors : sizes, axes});
}

// Concat(s0, s0, s1, s1, ...), where s0, s1, ... = Split(x) into single elements  =>  Interpolate(x) {nearest}
Value to_nearest(Rewrite& at) {
  NodeRef n = at.node();
  Value x = n.inputs() > 0 ? at.input(0) : Value();
  NodeRef split = x ? made_by(x, "Split") : NodeRef();
  if (!n.is("Concat") || !split || n.inputs() % split.outputs() != 0) return {};
  size_t parts = split.outputs(), times = n.inputs() / parts;
  Value whole = split.input(0);
  if (times < 2 || !whole.shape().ranked() || !is_real(whole.type())) return {};
  size_t rank = whole.rank();
  auto axis = whole_numbers(split.input(1));
  if (rank < 4 || rank > 5 || !axis || axis->size() != 1) return {};
  size_t along = normalize_axis((*axis)[0], rank);
  Dim d = whole.shape()[along];
  if (along < 2 || normalize_axis(at.get<int64_t>("axis"), rank) != along) return {};
  if (!d.known() || d.value() != static_cast<int64_t>(parts)) return {};
  for (size_t i = 0; i < n.inputs(); ++i)
    if (!(n.input(i) == split.output(i / times))) return {};
  for (size_t i = 0; i < parts; ++i)
    if (!used_only_by(split.output(i), {n})) return {};
  return at.op("Interpolate@4",
               {whole, at.ints({static_cast<int64_t>(n.inputs())}),
                at.typed({static_cast<double>(times)}, {1}, DType::f32), at.ints({static_cast<int64_t>(along)})},
               {{"mode", "nearest"},
                {"shape_calculation_mode", "sizes"},
                {"coordinate_transformation_mode", "asymmetric"},
                {"nearest_mode", "floor"}});
}

Value to_interpolate(Rewrite& at) { return at.node().is("Concat") ? to_nearest(at) : to_one_interpolate(at); }

}  // namespace

Definitions rewrite_resizes() {
  return Pass("fuse_interpolate")
      .doc("fuse resizing of separate axes, or by repeated parts, into one Interpolate")
      .visit({"Concat", "Interpolate"}, to_interpolate);
}

}  // namespace graft
