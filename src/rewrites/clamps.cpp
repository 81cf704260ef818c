// Piecewise linear activations: clamps, hard sigmoids, leaky ReLUs.

#include <graft/formula.hpp>
#include <graft/op.hpp>
namespace graft {
namespace {

constexpr double no_bound = std::numeric_limits<double>::infinity();

// A clamped value; either bound may be absent.
struct Bounds {
  Value in;
  double low = -no_bound, high = no_bound;
  explicit operator bool() const { return bool(in); }
};
Bounds bounds_of_relu(const NodeRef& n) { return {n.input(0), 0, no_bound}; }
Bounds bounds_of_clamp(const NodeRef& n) { return {n.input(0), n.get<double>("min"), n.get<double>("max")}; }
Bounds bounds_of_maximum(const NodeRef& n) {
  WithNumber w = beside_number(n);
  return w && !std::isnan(w.number) ? Bounds{w.value, w.number, no_bound} : Bounds{};
}
Bounds bounds_of_minimum(const NodeRef& n) {
  WithNumber w = beside_number(n);
  return w && !std::isnan(w.number) ? Bounds{w.value, -no_bound, w.number} : Bounds{};
}
struct Bounding {
  std::string_view type;
  Bounds (*bounds)(const NodeRef&);
};
constexpr Bounding boundings[] = {{"Clamp", bounds_of_clamp},
                                  {"Maximum", bounds_of_maximum},
                                  {"Minimum", bounds_of_minimum},
                                  {"Relu", bounds_of_relu}};
Bounds bounds_of(const NodeRef& n) {
  for (const Bounding& b : boundings)
    if (n.is(b.type)) return b.bounds(n);
  return {};
}
// The bounds of a node combined with those of its direct producer.
Bounds joined_bounds(const NodeRef& n) {
  Bounds b = bounds_of(n);
  while (b && b.low <= b.high) {
    Bounds first = bounds_of(producer(b.in));
    if (!first || first.low > first.high || !used_once(b.in)) break;
    b = {first.in, std::clamp(first.low, b.low, b.high), std::clamp(first.high, b.low, b.high)};
  }
  return b;
}

// min(max(x, a), b), max(min(x, b), a), min(relu(x), b), Clamp(Clamp(x))  =>  Clamp(x) {a, b}
// max(x, 0)                                                               =>  Relu(x)
Value to_clamp(Rewrite& at) {
  Bounds b = joined_bounds(at.node());
  if (!b || !(b.low <= b.high) || !has_rank_of(at.self(), b.in)) return {};
  DType type = b.in.type();
  if (!is_real(type) && !is_integer(type)) return {};
  bool changed = !(b.in == at.input(0)) || !(at.node().is("Clamp") || at.node().is("Relu"));
  // Beyond this, a double does not represent all integers.
  auto exact = [&](double v) { return std::isfinite(v) && (is_real(type) || std::fabs(v) < 0x1p53); };
  if (!changed) return {};
  if (b.low == 0 && b.high == no_bound) return at.op("Relu", {b.in});
  if (!exact(b.low) || !exact(b.high)) return {};
  return at.op("Clamp", {b.in}, {{"min", b.low}, {"max", b.high}});
}

// min(max(factor * in + start, low), high)
struct Ramp {
  Value in;
  double factor = 1, start = 0, low = 0, high = 0;
  explicit operator bool() const { return bool(in); }
};
Ramp ramp_of(const NodeRef& n) {
  if (n.is("HSigmoid")) return {n.input(0), 1.0 / 6, 0.5, 0, 1};
  if (n.is("HardSigmoid")) {
    auto alpha = single(n.input(1)), beta = single(n.input(2));
    return alpha && beta ? Ramp{n.input(0), *alpha, *beta, 0, 1} : Ramp{};
  }
  Bounds b = joined_bounds(n);
  return b ? Ramp{b.in, 1, 0, b.low, b.high} : Ramp{};
}
// Whether the ramp, times a factor, is min(max(x + 3, 0), 6) / 6.
bool is_hard_sigmoid(const Ramp& r, const std::optional<Polynomial>& inside, double times, DType type) {
  if (!inside || r.low != 0 || !near(r.high * times, 1, type)) return false;
  auto [start, factor, square, cube] = *inside;
  return square == 0 && cube == 0 && near(factor * r.factor * times, 1.0 / 6, type) &&
         near((start * r.factor + r.start) * times, 0.5, type);
}

// min(max(x + 3, 0), 6) / 6, min(max(x / 6 + 0.5, 0), 1), HardSigmoid(x, 1/6, 0.5)  =>  HSigmoid(x)
Value to_hsigmoid(Rewrite& at) {
  NodeRef self = at.node();
  Ramp r;
  double times = 1;
  if (self.is("Multiply") || self.is("Divide")) {
    Product p = product(self);
    if (p.terms.size() != 1 || !used_once(p.terms[0])) return {};
    r = ramp_of(producer(p.terms[0])), times = p.number;
  } else if (!self.is("HSigmoid")) {
    r = ramp_of(self);
  }
  if (!r || !is_real(r.in.type())) return {};
  // The formula may start at any of the values that lead to the ramp.
  Value x = r.in;
  for (int step = 0; step < 4; ++step) {
    if (suits(at, x) && is_hard_sigmoid(r, polynomial(r.in, x), times, x.type())) return at.op("HSigmoid", {x});
    NodeRef n = producer(x);
    bool binary = n.has(Trait::elementwise) && n.inputs() == 2;
    WithNumber w = binary ? beside_number(n) : WithNumber();
    if (!w) return {};
    x = w.value;
  }
  return {};
}

// x * min(max(x + 3, 0), 6) / 6, x * HSigmoid(x)  =>  HSwish(x)
Value to_hswish(Rewrite& at) {
  Product p = product(at.node());
  if (p.terms.size() != 2) return {};
  for (size_t i : {0, 1}) {
    Value x = p.terms[i], bend = p.terms[1 - i];
    if (!suits(at, x) || !used_once(bend)) continue;
    Ramp r = ramp_of(producer(bend));
    if (r && is_hard_sigmoid(r, polynomial(r.in, x), p.number, x.type())) return at.op("HSwish", {x});
  }
  return {};
}

// The slope in a shape that PRelu broadcasts like Multiply does: PRelu applies a 1-D slope to the channels.
Value aligned_slope(Rewrite& at, const Value& slope, const Value& x, double sign) {
  if (auto n = single(slope)) return at.scalar(*n * sign, x.type());
  if (!slope.constant() || !fills(slope.shape(), x.shape())) return {};
  std::vector<int64_t> dims = slope.shape().values();
  dims.insert(dims.begin(), x.rank() - dims.size(), 1);
  Value s = reshape(slope, dims);
  return sign < 0 ? -s : s;
}

// relu(x) - a * relu(-x), relu(x) + (-a) * relu(-x)  =>  PRelu(x, a)
Value to_prelu(Rewrite& at) {
  double sign = at.node().is("Subtract") ? 1 : -1;
  for (size_t i : {0, 1}) {
    NodeRef above = piece(at.input(i), "Relu"), below = piece(at.input(1 - i), "Multiply");
    if (!above || !below || (i == 1 && sign == 1)) continue;
    Value x = above.input(0);
    for (size_t k : {0, 1}) {
      NodeRef turned = piece(below.input(k), "Relu");
      auto inside = turned ? polynomial(turned.input(0), x) : std::nullopt;
      if (!suits(at, x) || !inside || *inside != Polynomial{0, -1, 0, 0}) continue;
      if (Value slope = aligned_slope(at, below.input(1 - k), x, sign)) return at.op("PRelu", {x, slope});
    }
  }
  return {};
}

// max(x, a * x), 0 < a < 1  =>  PRelu(x, a)
Value to_leaky_relu(Rewrite& at) {
  if (!at.node().is("Maximum")) return to_prelu(at);
  for (size_t i : {0, 1}) {
    Value x = at.input(i), less = at.input(1 - i);
    auto p = x.constant() || !used_once(less) || !suits(at, x) ? std::nullopt : polynomial(less, x);
    if (!p || (*p)[0] != 0 || (*p)[2] != 0 || (*p)[3] != 0 || !((*p)[1] > 0 && (*p)[1] < 1)) continue;
    return at.op("PRelu", {x, at.scalar((*p)[1], x.type())});
  }
  return {};
}

}  // namespace

Definitions rewrite_clamps() {
  return {
      Pass("fuse_clamp").doc("combine several bounds of a value into one Clamp").visit_rows(boundings, to_clamp),
      Pass("fuse_leaky_relu")
          .doc("fuse max(x, a * x) and relu(x) - a * relu(-x) into PRelu")
          .visit({"Maximum", "Add", "Subtract"}, to_leaky_relu),
      Pass("fuse_hsigmoid")
          .doc("fuse min(max(x + 3, 0), 6) / 6 into HSigmoid")
          .visit_rows(boundings, to_hsigmoid, {"HardSigmoid", "Multiply", "Divide"}),
      Pass("fuse_hswish")
          .doc("fuse x * min(max(x + 3, 0), 6) / 6 into HSwish")
          .visit({"Multiply", "Divide"}, to_hswish),
  };
}

}  // namespace graft
