// Fuses decomposed normalizations into NormalizeL2 and MVN. A scale and shift of the result remain after them.

#include <graft/formula.hpp>
#include <graft/op.hpp>
namespace graft {
namespace {

// over / sqrt(under), where an epsilon may keep the divisor from being zero.
struct OverRoot {
  Value over, under;
  double eps = 0;
  enum {
    inside,
    outside,
    floor_inside,
    floor_outside
  } where = inside;  // position of the epsilon relative to the root: added, or as a minimum
  explicit operator bool() const { return bool(over); }
};

// max(v, least), also in the form of a Clamp whose upper bound has no effect.
WithNumber floored(const NodeRef& n) {
  if (n.is("Maximum")) return beside_number(n);
  if (n.is("Clamp") && n.get<double>("max") >= 1e30) return {n.input(0), n.get<double>("min")};
  return {};
}
// The argument of the root.
Value under_root(const NodeRef& n, double power) {
  if (power == 0.5 && n.is("Sqrt")) return n.input(0);
  if (n.is("Power") && single(n.input(1)) == power) return n.input(0);
  return {};
}
NodeRef only_maker(const Value& v) { return v && used_once(v) ? producer(v) : NodeRef(); }

// Extracts the epsilon inside the root, if the radicand is not the plain sum.
OverRoot with_inner_number(Value over, Value under) {
  NodeRef n = only_maker(under);
  if (n.is("Add"))
    if (WithNumber w = beside_number(n)) return {over, w.value, w.number, OverRoot::inside};
  if (WithNumber w = floored(n)) return {over, w.value, w.number, OverRoot::floor_inside};
  return {over, under, 0, OverRoot::inside};
}
// A divisor: sqrt(u), sqrt(u) + eps, max(sqrt(u), eps).
OverRoot over_divisor(const Value& over, const Value& divisor) {
  NodeRef n = only_maker(divisor);
  if (Value u = under_root(n, 0.5)) return with_inner_number(over, u);
  WithNumber w = n.is("Add") ? beside_number(n) : WithNumber();
  WithNumber f = floored(n);
  NodeRef root = only_maker(w ? w.value : f.value);
  if (Value u = under_root(root, 0.5))
    return {over, u, w ? w.number : f.number, w ? OverRoot::outside : OverRoot::floor_outside};
  return {};
}
// A factor: u^-0.5, 1 / sqrt(u), sqrt(u)^-1.
OverRoot over_factor(const Value& over, const Value& factor) {
  NodeRef n = only_maker(factor);
  if (Value u = under_root(n, -0.5)) return with_inner_number(over, u);
  if (n.is("Divide") && single(n.input(0)) == 1.0) return over_divisor(over, n.input(1));
  if (n.is("Power") && single(n.input(1)) == -1.0) return over_divisor(over, n.input(0));
  return {};
}
std::vector<OverRoot> roots_of(Rewrite& at) {
  NodeRef self = at.node();
  std::vector<OverRoot> out;
  if (self.is("Divide")) out.push_back(over_divisor(at.input(0), at.input(1)));
  if (self.is("Multiply"))
    for (size_t i : {0, 1}) out.push_back(over_factor(at.input(i), at.input(1 - i)));
  std::erase_if(out, [](const OverRoot& r) { return !r; });
  return out;
}

// The axes of a reduction whose result broadcasts back along them.
std::optional<std::vector<size_t>> kept_axes(const NodeRef& n, const Value& x) {
  Shape s = x.shape();
  if (!n || !s.ranked() || !n.get<bool>("keep_dims", false)) return std::nullopt;
  auto axes = axes_of(n.input(1), s.rank());
  return axes && !axes->empty() ? axes : std::nullopt;
}
Value axes_value(Rewrite& at, const std::vector<size_t>& axes) { return at.ints({axes.begin(), axes.end()}); }

// Returns x for x * x and x^2.
Value squared(const NodeRef& n) {
  if (n.is("Multiply") && n.input(0) == n.input(1)) return n.input(0);
  if (n.is("Power") && single(n.input(1)) == 2.0) return n.input(0);
  return {};
}

// ---- NormalizeL2 ----

Value normalize_l2(Rewrite& at, const Value& x, const std::vector<size_t>& axes, double eps, bool least) {
  // A smaller eps may underflow to zero in f32.
  if (!suits(at, x) || !(eps >= 1e-37) || !(eps <= 1e30)) return {};
  return at.op("NormalizeL2", {x, axes_value(at, axes)}, {{"eps", eps}, {"eps_mode", least ? "max" : "add"}});
}

// x / sqrt(max(sum(x^2), eps)), x * max(sum(x^2), eps)^-0.5  =>  NormalizeL2(x) {eps, max}
// x / sqrt(sum(x^2) + eps)                                   =>  NormalizeL2(x) {eps, add}
// x / max(sqrt(sum(x^2)), eps), x / max(ReduceL2(x), eps)    =>  NormalizeL2(x) {eps^2, max}
Value to_normalize_l2(Rewrite& at) {
  for (const OverRoot& r : roots_of(at)) {
    NodeRef sum = piece(r.under, "ReduceSum");
    if (!sum || !(squared(only_maker(sum.input(0))) == r.over) || r.where == OverRoot::outside) continue;
    auto axes = kept_axes(sum, r.over);
    bool outer = r.where == OverRoot::floor_outside;
    if (axes) return normalize_l2(at, r.over, *axes, outer ? r.eps * r.eps : r.eps, r.where != OverRoot::inside);
  }
  if (!at.node().is("Divide")) return {};
  Value x = at.input(0), norm = at.input(1);
  // Some models broadcast the norm explicitly to the shape of x.
  if (NodeRef wide = piece(norm, "Broadcast")) {
    NodeRef shape = made_by(wide.input(1), "ShapeOf");
    bool same = (shape && shape.input(0) == x) || certainly_same(norm.shape(), x.shape());
    if (same && wide.get<std::string>("mode", "numpy") != "explicit") norm = wide.input(0);
  }
  WithNumber least = floored(only_maker(norm));
  NodeRef length = least ? piece(least.value, "ReduceL2") : NodeRef();
  auto axes = length && length.input(0) == x ? kept_axes(length, x) : std::nullopt;
  return axes ? normalize_l2(at, x, *axes, least.number * least.number, true) : Value();
}

// ---- MVN ----

// mean((x - mean)^2), with x and the mean.
struct Variance {
  Value x, mean;
  NodeRef square, difference, average;
  std::vector<size_t> axes;
  explicit operator bool() const { return bool(x); }
};
Variance variance_of(const Value& v) {
  NodeRef outer = piece(v, "ReduceMean");
  Variance out;
  out.square = outer ? only_maker(outer.input(0)) : NodeRef();
  Value x, mean;
  if (out.square.is("SquaredDifference")) {
    x = out.square.input(0), mean = out.square.input(1);
    if (NodeRef m = made_by(x, "ReduceMean"); m && m.input(0) == mean) std::swap(x, mean);
  } else if (Value d = squared(out.square)) {
    out.difference = made_by(d, "Subtract");
    if (!out.difference) return {};
    x = out.difference.input(0), mean = out.difference.input(1);
  } else {
    return {};
  }
  out.average = made_by(mean, "ReduceMean");
  if (!out.average || !(out.average.input(0) == x)) return {};
  auto axes = kept_axes(out.average, x), again = kept_axes(outer, x);
  if (!axes || !again || *axes != *again) return {};
  out.x = x, out.mean = mean, out.axes = *axes;
  return out;
}

Value mvn(Rewrite& at, const Variance& v, const OverRoot& r) {
  bool outside = r.where == OverRoot::outside;
  if (!is_real(v.x.type()) || !(r.eps >= 1e-37) || (!outside && r.where != OverRoot::inside)) return {};
  return at.op("MVN@6", {v.x, axes_value(at, v.axes)},
               {{"eps", r.eps}, {"normalize_variance", true}, {"eps_mode", outside ? "OUTSIDE_SQRT" : "INSIDE_SQRT"}});
}

// d = x - mean(x);  d / sqrt(mean(d^2) + eps)    =>  MVN(x) {eps, INSIDE_SQRT}
// d = x - mean(x);  d / (sqrt(mean(d^2)) + eps)  =>  MVN(x) {eps, OUTSIDE_SQRT}
Value to_mvn(Rewrite& at) {
  NodeRef self = at.node();
  for (const OverRoot& r : roots_of(at)) {
    NodeRef d = made_by(r.over, "Subtract");
    Variance v = d ? variance_of(r.under) : Variance();
    if (!v || !(d.input(0) == v.x) || !(d.input(1) == v.mean) || !suits(at, v.x)) continue;
    bool alone = used_only_by(r.over, {self, v.square}) && used_only_by(v.mean, {d, v.square, v.difference});
    if (v.difference) alone = alone && used_only_by(v.difference.output(), {self, v.square});
    if (alone) return mvn(at, v, r);
  }
  return {};
}

// beta - mean * i, or -mean * i + beta, or -mean * i
struct Shift {
  Value beta;     // empty: none
  NodeRef down;   // the product
  bool negative;  // of the negated mean
};
std::vector<Shift> shifts_of(const Value& v) {
  std::vector<Shift> out;
  if (NodeRef s = piece(v, "Subtract")) out.push_back({s.input(0), piece(s.input(1), "Multiply"), false});
  if (NodeRef s = piece(v, "Add"))
    for (size_t i : {0, 1}) out.push_back({s.input(1 - i), piece(s.input(i), "Multiply"), true});
  if (NodeRef product = piece(v, "Multiply")) out.push_back({{}, product, true});
  std::erase_if(out, [](const Shift& s) { return !s.down; });
  return out;
}

// i = (var + eps)^-0.5 * gamma;  x * i + (beta - mean * i)  =>  MVN(x) * gamma + beta
//
// The form of TensorFlow's batch_normalization, when applied to the statistics of the input itself.
Value to_scaled_mvn(Rewrite& at, const NodeRef& up, const Shift& shift) {
  const NodeRef& down = shift.down;
  for (size_t k : {0, 1}) {
    Value x = up.input(1 - k), factor = up.input(k);
    size_t of = down.input(0) == factor ? 0 : 1;
    if (!(down.input(of) == factor) || !used_only_by(factor, {up, down}) || !suits(at, x)) continue;
    Value mean = down.input(1 - of), gamma;
    NodeRef reader = down;
    if (shift.negative) {
      reader = piece(mean, "Negative");
      if (!reader) continue;
      mean = reader.input(0);
    }
    OverRoot r;
    NodeRef scaled = made_by(factor, "Multiply"), plain = producer(factor);
    if (Value u = under_root(plain, -0.5)) r = with_inner_number(x, u);
    for (size_t g : {0, 1})
      if (scaled && !r) r = over_factor(x, scaled.input(g)), gamma = scaled.input(1 - g);
    Variance v = r ? variance_of(r.under) : Variance();
    if (!v || !(v.x == x) || !(v.mean == mean)) continue;
    if (!used_only_by(mean, {reader, v.square, v.difference})) continue;
    if (v.difference && !used_only_by(v.difference.output(), {v.square})) continue;
    const Value& beta = shift.beta;
    if ((beta && !fills(beta.shape(), x.shape())) || (gamma && !fills(gamma.shape(), x.shape()))) continue;
    Value y = mvn(at, v, r);
    if (!y) continue;
    if (gamma) y = y * gamma;
    return beta ? y + beta : y;
  }
  return {};
}

Value to_mvn_of_any_form(Rewrite& at) {
  if (!at.node().is("Add")) return to_mvn(at);
  for (size_t side : {0, 1}) {
    NodeRef up = piece(at.input(side), "Multiply");
    if (!up) continue;
    for (const Shift& s : shifts_of(at.input(1 - side)))
      if (Value y = to_scaled_mvn(at, up, s)) return y;
  }
  return {};
}

}  // namespace

Definitions rewrite_norms() {
  return {
      Pass("fuse_mvn")
          .doc("fuse the subtraction of the mean and division by the standard deviation into MVN")
          .visit({"Divide", "Multiply", "Add"}, to_mvn_of_any_form),
      Pass("fuse_normalize_l2")
          .doc("fuse x / sqrt(sum of x^2) into NormalizeL2")
          .visit({"Divide", "Multiply"}, to_normalize_l2),
  };
}

}  // namespace graft
