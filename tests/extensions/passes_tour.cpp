// Passes as an extension writes them: every phase, order, requests and settings, each in the smallest pass that shows
// it. Cases are in passes_tour.test, tests/cli and tests/unit/passes.cpp.
#include <graft/extension.hpp>

namespace {

using namespace graft;

// Frob(x) {gain}, a layer that nobody knows  =>  x * gain + 1
Value expand_frob(Rewrite& at) { return at.input(0) * double{at.get<float>("gain", 1.0f)} + 1.0; }

// Abs(Abs(x))  =>  Abs(x)
Value one_abs(Rewrite& at) { return producer(at.input(0)).is("Abs") ? at.input(0) : Value(); }

// x * 2  =>  x + x
Value doubled(Rewrite& at) {
  for (size_t i : {0, 1})
    if (Value x = at.input(1 - i); is_number(at.input(i), 2) && x.rank() >= at.input(i).rank()) return x + x;
  return {};
}

// x * -1  =>  -x, behind all others
Value negated(Rewrite& at) {
  for (size_t i : {0, 1})
    if (Value x = at.input(1 - i); is_number(at.input(i), -1) && x.rank() >= at.input(i).rank()) return -x;
  return {};
}

// x^2  =>  x * x, for those who ask
Value squared(Rewrite& at) { return is_number(at.input(1), 2) ? at.input(0) * at.input(0) : Value(); }

// PRelu(x, a)  =>  PRelu(x, what the replacement file says)
Value other_slope(Rewrite& at) {
  auto slope = at.configured<float>("slope", -1);
  if (slope < 0 || is_number(at.input(1), double{slope})) return {};
  return at.like(at.node(), {at.input(0), like(at.input(0), double{slope})});
}

// tanh(x)  =>  tanh(x) * 3, once
Value tripled(Rewrite& at) {
  for (const Consumer& r : consumers(at.self()))
    if (r.node.is("Multiply")) return {};
  return at.self() * 3.0;
}

// Sigmoid(x), Sigmoid(x)  =>  one for both
void one_sigmoid(Rewrite& at) {
  std::vector<NodeRef> seen;
  for (const NodeRef& n : at.nodes()) {
    if (!n.is("Sigmoid")) continue;
    bool twin = false;
    for (const NodeRef& s : seen)
      if (!twin && s.input(0) == n.input(0)) at.replace(n.output(), s.output()), twin = true;
    if (!twin) seen.push_back(n);
  }
}

// An operation of three versions: the second may lift twice, the third also says by how much it did.
struct Lift {
  float by = 1;
  bool twice = false;
  static constexpr auto by_attr = attr("by", &Lift::by, "what is added");
  static constexpr auto twice_attr = attr("twice", &Lift::twice, "it is added twice");
};
struct Lift1 : Lift {
  static constexpr std::tuple schema{by_attr};
};
struct Lift2 : Lift {
  static constexpr std::tuple schema{by_attr, twice_attr};
};
void lift3_infer(Infer& ctx, const Lift2&) {
  ctx.output(0, ctx.type(0), ctx.shape(0));
  ctx.output(1, DType::f32, Shape{});
}
void lift3_run(Run& ctx, const Lift2& a) {
  double by = a.twice ? 2.0 * a.by : a.by;
  std::vector<double> x = ctx.input(0).to<double>();
  for (double& v : x) v += by;
  ctx.output(0).assign(x);
  ctx.output(1).assign(std::vector<double>{by});
}
void lift_as_2(Rewrite& at) { at.restate("TourLift@tour2", {at.input(0)}, {}, {}, 1); }

}  // namespace

GRAFT_EXTENSION("passes_tour", "1.0") {
  return {
      Pass("tour_expand_frob").doc("Frob becomes a product and a sum").phase(Phase::front).visit({"Frob"}, expand_frob),
      Pass("tour_negated").doc("x * -1 becomes -x").phase(Phase::back).visit({"Multiply"}, negated),
      Pass("tour_doubled").doc("x * 2 becomes x + x").after("tour_one_abs").visit({"Multiply"}, doubled),
      Pass("tour_one_abs").doc("Abs of Abs is Abs").before("remove_noops").visit({"Abs"}, one_abs),
      Pass("tour_squared").doc("x^2 becomes x * x").on_request().visit({"Power"}, squared),
      Pass("tour_other_slope").doc("another slope for every PRelu").when_configured().visit({"PRelu"}, other_slope),
      Pass("tour_tripled").doc("tanh three times as large").on_request().visit({"Tanh"}, tripled),
      Pass("tour_one_sigmoid").doc("equal sigmoids become one").whole(one_sigmoid),
      op<Lift1>("TourLift", "tour1").elementwise([](auto x, const Lift1& a) { return x + a.by; }),
      op<Lift2>("TourLift", "tour2")
          .elementwise([](auto x, const Lift2& a) { return x + (a.twice ? 2 * a.by : a.by); })
          .earlier("tour1", {{"twice", false}}),
      op<Lift2>("TourLift", "tour3")
          .inputs("x")
          .outputs("y, by")
          .infer(lift3_infer)
          .reference(lift3_run)
          .earlier(lift_as_2),
  };
}
