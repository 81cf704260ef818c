// Operations that say by traits what passes may do with them, and passes that ask. Cases are in traits.test and
// tests/unit/traits.cpp.
#include <graft/extension.hpp>

namespace {

using namespace graft;

void same(Infer& ctx) { ctx.output(0, ctx.type(0), ctx.shape(0)); }
template <class A>
void same_infer(Infer& ctx, const A&) {
  same(ctx);
}

// Element i of the result is element source(i) of the input.
template <class F>
void rearranged(Run& ctx, F source) {
  std::vector<double> x = ctx.input(0).to<double>(), y(x.size());
  for (size_t i = 0; i < y.size(); ++i) y[i] = x[source(i)];
  ctx.output(0).assign(y);
}
size_t steps_behind(const TensorView& x, size_t axis) {
  size_t n = 1;
  for (size_t d = axis + 1; d < x.rank(); ++d) n *= static_cast<size_t>(x.dim(d));
  return n;
}

// x * slope, where a slope is one number, or one dimension with a number per channel.
void slope_infer(Infer& ctx, const NoAttributes&) {
  Shape slope = ctx.shape(1);
  if (slope.is_static() && slope.elements().value() != 1 && slope.rank() != 1)
    fail("expected a slope of one dimension, got shape ", slope);
  same(ctx);
}
void slope_run(Run& ctx, const NoAttributes&) {
  std::vector<double> x = ctx.input(0).to<double>(), slope = ctx.input(1).to<double>();
  size_t behind = steps_behind(ctx.input(0), 1);
  if (slope.empty()) fail("expected a slope, got none");
  for (size_t i = 0; i < x.size(); ++i) x[i] *= slope[i / behind % slope.size()];
  ctx.output(0).assign(x);
}

// The elements of each channel backwards.
void mirror_run(Run& ctx, const NoAttributes&) {
  size_t n = steps_behind(ctx.input(0), 1);
  rearranged(ctx, [=](size_t i) { return i / n * n + n - 1 - i % n; });
}

struct Flip {
  int64_t axis = 0;
  static constexpr std::tuple schema{attr("axis", &Flip::axis, "the dimension that is reversed")};
};
void flip_run(Run& ctx, const Flip& a) {
  size_t axis = normalize_axis(a.axis, ctx.input(0).rank());
  size_t behind = steps_behind(ctx.input(0), axis), n = static_cast<size_t>(ctx.input(0).dim(axis));
  rearranged(ctx, [=](size_t i) {
    size_t k = i / behind % n;
    return i + (n - 1 - k) * behind - k * behind;
  });
}

// Runs opset1 to opset8 of TraitVersion.
void only_copies(Run& ctx, const NoAttributes&) { ctx.output(0).assign(ctx.input(0).to<double>()); }

// Negative(f(x))  =>  f(Negative(x)), for every f that only moves elements
Value moved_up(Rewrite& at) {
  NodeRef f = producer(at.input(0));
  if (!f.has(Trait::moves_data) || f.inputs() != 1 || !used_once(at.input(0))) return {};
  return at.like(f, {-f.input(0)});
}

// f(x)  =>  f(x) + 1, for every f that works on channels by themselves
Value plus_one(Rewrite& at) {
  for (const Consumer& c : consumers(at.self()))
    if (c.node.is("Add")) return {};
  return at.self() + 1.0;
}

}  // namespace

GRAFT_EXTENSION("traits", "1") {
  auto version = [](int v) {
    return op("TraitVersion", v).inputs("x").infer(same_infer<NoAttributes>).reference(only_copies);
  };
  return {
      op("TraitSquare", "traits").elementwise([](auto x) { return x * x; }),
      op("TraitStep", "traits").elementwise(scalar([](auto x) { return x > 0 ? 1.0 : 0.0; })).traits(Trait::rounds),
      op("TraitSlope", "traits")
          .inputs("x, slope")
          .traits(Trait::per_channel, Trait::widens)
          .infer(slope_infer)
          .reference(slope_run),
      op("TraitMirror", "traits")
          .inputs("x")
          .traits(Trait::moves_data, Trait::channelwise)
          .infer(same_infer<NoAttributes>)
          .reference(mirror_run),
      op<Flip>("TraitFlip", "traits")
          .inputs("x")
          .traits(Trait::moves_data, Trait::axis_attribute)
          .infer(same_infer<Flip>)
          .reference(flip_run),
      version(1),
      version(4),
      version(9),
      Kernel("CPU", "copies").of("TraitVersion", since(1).until(9)).run(only_copies),
      Kernel("CPU", "stray").of("TraitSquare", "elsewhere").run(only_copies),
      Pass("traits_moved_up").doc("negate before moving").on_request().visit({"Negative"}, moved_up),
      Pass("traits_plus_one").doc("add 1 to what works by channel").on_request().visit(Trait::channelwise, plus_one),
  };
}
