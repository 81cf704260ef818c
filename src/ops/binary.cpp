// Element-wise binary operations that a formula describes completely.
#include <graft/numeric.hpp>
#include <graft/op.hpp>

#include "intervals.hpp"

namespace graft {
namespace {

struct Broadcasting {
  std::string auto_broadcast = "numpy";
  static constexpr std::tuple schema{
      attr("auto_broadcast", &Broadcasting::auto_broadcast, "broadcasting rule for inputs of different shapes")
          .one_of("numpy", "none", "explicit", "pdpd")};
};
struct DivideAttributes : Broadcasting {
  bool m_pythondiv = true;
  static constexpr std::tuple schema{
      attr("auto_broadcast", &Broadcasting::auto_broadcast, "broadcasting rule for inputs of different shapes")
          .one_of("numpy", "none", "explicit", "pdpd"),
      attr("m_pythondiv", &DivideAttributes::m_pythondiv,
           "round integer quotients toward negative infinity instead of toward zero")};
};

// Applies f to the known values of both inputs, pairwise, so that a computed target shape stays as precise as its
// operands.
template <class F>
void follow_values(Infer& ctx, F f) {
  if (!ctx.known(0) && !ctx.known(1)) return;
  auto x = followed_values(ctx, 0), y = followed_values(ctx, 1);
  if (!x || !y) return;
  Shape a = ctx.shape(0), b = ctx.shape(1), out = broadcast(a, b);
  if (out.elements().value() > most_followed) return;
  Shape values;
  Walk walk(out.values(), {broadcast_strides(a.values(), out.values()), broadcast_strides(b.values(), out.values())});
  if (!walk.empty()) {
    do values.push_back(f((*x)[static_cast<size_t>(walk[0])], (*y)[static_cast<size_t>(walk[1])]));
    while (walk.next());
  }
  ctx.known_output(0, values);
}

using Follow = Dim (*)(const Dim&, const Dim&);

template <Follow f>
void number_infer(Infer& ctx, const Broadcasting& a) {
  detail::broadcast_infer<Broadcasting>(ctx, a);
  if (ctx.type(0) != DType::boolean) follow_values(ctx, f);
}
void divide_infer(Infer& ctx, const DivideAttributes& a) {
  detail::broadcast_infer<DivideAttributes>(ctx, a);
  follow_values(ctx, [&](const Dim& x, const Dim& y) { return intervals::divide(x, y, a.m_pythondiv); });
}
template <bool down>
Dim followed_modulo(const Dim& x, const Dim& y) {
  return intervals::modulo(x, y, down);
}

// A comparison of shape values is often certain even if the values are not: no dimension is -1.
template <Follow f>
void comparison_infer(Infer& ctx, const Broadcasting& a) {
  detail::compare_infer<Broadcasting>(ctx, a);
  follow_values(ctx, f);
}
Dim followed_not_equal(const Dim& x, const Dim& y) { return intervals::invert(intervals::equal(x, y)); }
Dim followed_greater(const Dim& x, const Dim& y) { return intervals::less(y, x); }
Dim followed_greater_equal(const Dim& x, const Dim& y) { return intervals::invert(intervals::less(x, y)); }
Dim followed_less_equal(const Dim& x, const Dim& y) { return intervals::invert(intervals::less(y, x)); }

// ONNX before opset 7: `b` is aligned with `a` at `axis`, and only if `broadcast` is set.
Value aligned_b(Builder& layer) {
  Value b = layer.input(1);
  if (!layer.get<bool>("broadcast", false) || !layer.has("axis")) return b;
  auto rank_a = static_cast<int64_t>(layer.input(0).rank()), rank_b = static_cast<int64_t>(b.rank());
  int64_t axis = layer.get<int64_t>("axis");
  if (axis < -rank_a || axis > rank_a) fail("expected an axis of a tensor of rank ", rank_a, ", got ", axis);
  if (axis < 0) axis += rank_a;
  std::vector<int64_t> axes;
  for (int64_t i = axis + rank_b; i < rank_a; ++i) axes.push_back(i - axis);
  return axes.empty() ? b : unsqueeze(b, axes);
}
std::string_view our_name(std::string_view onnx) {
  constexpr std::pair<std::string_view, std::string_view> names[] = {
      {"Sub", "Subtract"},   {"Mul", "Multiply"}, {"Div", "Divide"},    {"Pow", "Power"},
      {"And", "LogicalAnd"}, {"Or", "LogicalOr"}, {"Xor", "LogicalXor"}};
  for (auto [theirs, ours] : names)
    if (theirs == onnx) return ours;
  return onnx;
}
Value import_old_binary(Builder& layer) {
  layer.has("consumed_inputs");
  return layer.op(our_name(layer.type()), {layer.input(0), aligned_b(layer)});
}
Value divide_values(Builder& layer, Value a, Value b) {
  return layer.op("Divide", {a, b}, {{"m_pythondiv", false}});  // ONNX truncates integer quotients toward zero
}
Value import_divide(Builder& layer) {
  return divide_values(layer, layer.input(0), layer.version() < 7 ? aligned_b(layer) : layer.input(1));
}

// Base and exponent may have different types; the result has the type of the base.
Value import_power(Builder& layer) {
  Value a = layer.input(0), b = layer.version() < 7 ? aligned_b(layer) : layer.input(1);
  DType type = a.type();
  if (b.type() == type) return layer.op("Power", {a, b});
  if (is_real(type) || !is_real(b.type())) return layer.op("Power", {a, convert(b, type)});
  return convert(layer.op("Power", {convert(a, b.type()), b}), type);
}

Value import_mod(Builder& layer) {
  bool c_like = layer.get<bool>("fmod", false);
  return layer.op(c_like ? "Mod" : "FloorMod", {layer.input(0), layer.input(1)});
}

Value import_shift(Builder& layer) {
  bool left = layer.get<std::string>("direction") == "LEFT";
  return layer.op(left ? "BitwiseLeftShift" : "BitwiseRightShift", {layer.input(0), layer.input(1)});
}

// Any number of inputs, folded from left to right.
template <char what>
Value import_many(Builder& layer) {
  layer.has("consumed_inputs");
  Value y = layer.input(0);
  auto together = [&](Value a, Value b) {
    return layer.op(what == '<' ? "Minimum" : what == '>' ? "Maximum" : "Add", {a, b});
  };
  for (size_t i = 1; i < layer.inputs(); ++i) y = together(y, layer.input(i));
  return what == '/' ? y / static_cast<double>(layer.inputs()) : y;
}

template <class T>
T shift_left(T a, T b) {
  return b < 0 || b >= T(64) ? 0 : static_cast<T>(static_cast<uint64_t>(a) << b);
}
template <class T>
T shift_right(T a, T b) {
  if (b < 0) return 0;
  return b >= T(64) ? (a < 0 ? T(-1) : 0) : static_cast<T>(a >> b);
}

// Strings can be compared too.
void equal_run(Run& ctx, const Broadcasting& a) {
  using Same = decltype([](auto p, auto q) { return p == q; });
  TensorView x = ctx.input(0), y = ctx.input(1);
  OutputView out = ctx.output(0);
  if (x.type() != DType::string) return detail::elementwise_reference<2, Same, Broadcasting>(ctx, a);
  Walk walk(out.dims(), {broadcast_strides(x.dims(), out.dims()), broadcast_strides(y.dims(), out.dims())});
  if (walk.empty()) return;
  bool* to = out.data<bool>();
  do *to++ = view(x.data<graft_str>()[walk[0]]) == view(y.data<graft_str>()[walk[1]]);
  while (walk.next());
}

template <class A>
void bitwise_infer(Infer& ctx, const A& a) {
  for (size_t i = 0; i < ctx.inputs(); ++i)
    if (DType t = ctx.type(i); t != DType::undefined && t != DType::boolean && !is_integer(t))
      fail("expected integers or booleans, got input ", i, " of type ", t);
  detail::broadcast_infer<A>(ctx, a);
}
void bitwise_not_run(Run& ctx, const NoAttributes&) {
  std::vector<int64_t> x = ctx.input(0).to<int64_t>();
  bool truth = ctx.input(0).type() == DType::boolean;
  for (int64_t& v : x) v = truth ? v == 0 : ~v;
  ctx.output(0).assign(x);
}

void logical_not_infer(Infer& ctx, const NoAttributes&) {
  ctx.output(0, ctx.type(0), ctx.shape(0));
  auto known = ctx.known(0);
  if (!known || ctx.type(0) != DType::boolean) return;
  for (Dim& d : *known) d = intervals::invert(d);
  ctx.known_output(0, *known);
}

}  // namespace

Definitions define_binary() {
  auto number = [](std::string_view name, int version, std::string_view doc, auto formula) {
    return op<Broadcasting>(name, version).doc(doc).elementwise<2>(formula);
  };
  // Of integers, or with a condition.
  auto plain = [](std::string_view name, int version, std::string_view doc, auto formula) {
    return op<Broadcasting>(name, version).doc(doc).elementwise<2>(scalar(formula));
  };
  auto truth = [](std::string_view name, int version, std::string_view doc, auto formula) {
    return op<Broadcasting>(name, version).doc(doc).comparison(formula);
  };
  auto old = [](std::string_view type) { return onnx(type).until(7).expand(import_old_binary); };
  return {
      number("Add", 1, "a + b", [](auto a, auto b) { return wrap_add(a, b); })
          .infer(number_infer<intervals::add>)
          .import(old("Add"))
          .import(onnx("Add")),
      number("Subtract", 1, "a - b", [](auto a, auto b) { return wrap_sub(a, b); })
          .infer(number_infer<intervals::subtract>)
          .import(old("Sub"))
          .import(onnx("Sub")),
      number("Multiply", 1, "a * b", [](auto a, auto b) { return wrap_mul(a, b); })
          .infer(number_infer<intervals::multiply>)
          .import(old("Mul"))
          .import(onnx("Mul")),
      op<DivideAttributes>("Divide", 1)
          .doc("a / b")
          .elementwise<2>([](auto a, auto b, const DivideAttributes& at) {
            if constexpr (std::is_floating_point_v<decltype(a)>) return a / b;
            else return at.m_pythondiv ? floor_div(a, b) : safe_div(a, b);
          })
          .infer(divide_infer)
          .import(onnx("Div").expand(import_divide)),
      // Also of a signalling NaN, of which the library makes NaN.
      number("Power", 1, "a raised to the power b",
             [](auto a, auto b) { return select(a == 1 || b == 0, decltype(a)(1), std::pow(a, b)); })
          .import(onnx("Pow").expand(import_power)),
      number("Maximum", 1, "Element-wise maximum", [](auto a, auto b) { return select(a != a || a > b, a, b); })
          .infer(number_infer<intervals::maximum>)
          .import(onnx("Max").expand(import_many<'>'>)),
      number("Minimum", 1, "Element-wise minimum", [](auto a, auto b) { return select(a != a || a < b, a, b); })
          .infer(number_infer<intervals::minimum>)
          .import(onnx("Min").expand(import_many<'<'>)),
      plain("Mod", 1, "Remainder with the sign of the dividend a", [](auto a, auto b) { return truncated_mod(a, b); })
          .infer(number_infer<followed_modulo<false>>),
      plain("FloorMod", 1, "Remainder with the sign of the divisor b", [](auto a, auto b) { return floored_mod(a, b); })
          .infer(number_infer<followed_modulo<true>>)
          .import(onnx("Mod").expand(import_mod)),
      number("SquaredDifference", 1, "(a - b) * (a - b)",
             [](auto a, auto b) { return wrap_mul(wrap_sub(a, b), wrap_sub(a, b)); }),
      onnx("Sum").expand(import_many<'+'>),
      onnx("Mean").expand(import_many<'/'>),

      truth("Equal", 1, "a == b", [](auto a, auto b) { return a == b; })
          .reference(equal_run)
          .infer(comparison_infer<intervals::equal>)
          .import(old("Equal"))
          .import(onnx("Equal")),
      truth("NotEqual", 1, "a != b", [](auto a, auto b) { return a != b; }).infer(comparison_infer<followed_not_equal>),
      truth("Greater", 1, "a > b", [](auto a, auto b) { return a > b; })
          .infer(comparison_infer<followed_greater>)
          .import(old("Greater"))
          .import(onnx("Greater")),
      truth("GreaterEqual", 1, "a >= b", [](auto a, auto b) { return a >= b; })
          .infer(comparison_infer<followed_greater_equal>)
          .import(onnx("GreaterOrEqual")),
      truth("Less", 1, "a < b", [](auto a, auto b) { return a < b; })
          .infer(comparison_infer<intervals::less>)
          .import(old("Less"))
          .import(onnx("Less")),
      truth("LessEqual", 1, "a <= b", [](auto a, auto b) { return a <= b; })
          .infer(comparison_infer<followed_less_equal>)
          .import(onnx("LessOrEqual")),
      truth("LogicalAnd", 1, "Logical AND", [](auto a, auto b) { return a != 0 && b != 0; })
          .infer(comparison_infer<intervals::both>)
          .import(old("And"))
          .import(onnx("And")),
      truth("LogicalOr", 1, "Logical OR", [](auto a, auto b) { return a != 0 || b != 0; })
          .infer(comparison_infer<intervals::any>)
          .import(old("Or"))
          .import(onnx("Or")),
      // OpenVINO used to write LogicalXor as opset1 and now writes it as opset2.
      truth("LogicalXor", 1, "Logical XOR", [](auto a, auto b) { return (a != 0) != (b != 0); })
          .infer(comparison_infer<intervals::differ>),
      truth("LogicalXor", 2, "Logical XOR", [](auto a, auto b) { return (a != 0) != (b != 0); })
          .infer(comparison_infer<intervals::differ>)
          .import(old("Xor"))
          .import(onnx("Xor")),
      truth("Xor", 1, "Logical XOR", [](auto a, auto b) { return (a != 0) != (b != 0); })
          .infer(comparison_infer<intervals::differ>),
      op("LogicalNot", 1)
          .doc("Logical NOT")
          .elementwise(scalar([](auto x) { return x == 0; }))
          .infer(logical_not_infer)
          .import(onnx("Not")),

      plain("BitwiseAnd", 13, "Bitwise AND",
            [](auto a, auto b) { return static_cast<int64_t>(a) & static_cast<int64_t>(b); })
          .infer(bitwise_infer<Broadcasting>)
          .import(onnx("BitwiseAnd")),
      plain("BitwiseOr", 13, "Bitwise OR",
            [](auto a, auto b) { return static_cast<int64_t>(a) | static_cast<int64_t>(b); })
          .infer(bitwise_infer<Broadcasting>)
          .import(onnx("BitwiseOr")),
      plain("BitwiseXor", 13, "Bitwise XOR",
            [](auto a, auto b) { return static_cast<int64_t>(a) ^ static_cast<int64_t>(b); })
          .infer(bitwise_infer<Broadcasting>)
          .import(onnx("BitwiseXor")),
      plain("BitwiseLeftShift", 15, "a shifted left by b bits",
            [](auto a, auto b) { return shift_left(static_cast<int64_t>(a), static_cast<int64_t>(b)); })
          .infer(bitwise_infer<Broadcasting>)
          .import(onnx("BitShift").expand(import_shift)),
      plain("BitwiseRightShift", 15, "a shifted right by b bits",
            [](auto a, auto b) {
              if constexpr (std::is_unsigned_v<decltype(a)>) return shift_right(a, b);
              else return shift_right(static_cast<int64_t>(a), static_cast<int64_t>(b));
            })
          .infer(bitwise_infer<Broadcasting>),
      op("BitwiseNot", 13)
          .doc("Bitwise NOT; logical NOT for booleans")
          .inputs("x")
          .infer(bitwise_infer<NoAttributes>)
          .reference(bitwise_not_run)
          .import(onnx("BitwiseNot")),
  };
}

}  // namespace graft
