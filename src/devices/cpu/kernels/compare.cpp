// Comparisons, logic, and arithmetic of integers, with broadcasting. Plain loops over rows (rows.hpp).
#include <graft/numeric.hpp>
#include <graft/op.hpp>

#include "rows.hpp"

namespace graft {
namespace {

using CompareFunction = void (*)(const void* a, const void* b, void* y, int64_t n, bool a_row, bool b_row);

template <class T, class R, class F>
void compare_row(const void* left, const void* right, void* to, int64_t n, bool a_row, bool b_row) {
  const auto *a = static_cast<const T*>(left), *b = static_cast<const T*>(right);
  auto* y = static_cast<R*>(to);
  const F f;
  if (a_row && b_row)
    for (int64_t i = 0; i < n; ++i) y[i] = static_cast<R>(f(a[i], b[i]));
  else if (a_row)
    for (int64_t i = 0; i < n; ++i) y[i] = static_cast<R>(f(a[i], *b));
  else
    for (int64_t i = 0; i < n; ++i) y[i] = static_cast<R>(f(*a, b[i * int64_t{b_row}]));
}

// Comparisons of numbers; logic of booleans, which are bytes that are zero or not.
template <class F>
CompareFunction comparison_of(DType type) {
  switch (type) {
    case DType::f32: return compare_row<float, uint8_t, F>;
    case DType::f64: return compare_row<double, uint8_t, F>;
    case DType::i32: return compare_row<int32_t, uint8_t, F>;
    case DType::i64: return compare_row<int64_t, uint8_t, F>;
    case DType::u8: return compare_row<uint8_t, uint8_t, F>;
    default: return nullptr;
  }
}
template <class F>
CompareFunction logic_of(DType type) {
  return type == DType::boolean ? compare_row<uint8_t, uint8_t, F> : nullptr;
}
// Modulo two to the number of bits, like the definition.
template <class F>
CompareFunction arithmetic_of(DType type) {
  switch (type) {
    case DType::i32: return compare_row<int32_t, int32_t, F>;
    case DType::i64: return compare_row<int64_t, int64_t, F>;
    default: return nullptr;
  }
}

struct CompareEntry {
  std::string_view type;
  CompareFunction (*of)(DType);
};
constexpr CompareEntry compare_entries[] = {
    {"Equal", comparison_of<decltype([](auto a, auto b) { return a == b; })>},
    {"NotEqual", comparison_of<decltype([](auto a, auto b) { return a != b; })>},
    {"Greater", comparison_of<decltype([](auto a, auto b) { return a > b; })>},
    {"GreaterEqual", comparison_of<decltype([](auto a, auto b) { return a >= b; })>},
    {"Less", comparison_of<decltype([](auto a, auto b) { return a < b; })>},
    {"LessEqual", comparison_of<decltype([](auto a, auto b) { return a <= b; })>},
    {"LogicalAnd", logic_of<decltype([](auto a, auto b) { return (a != 0) & (b != 0); })>},
    {"LogicalOr", logic_of<decltype([](auto a, auto b) { return (a != 0) | (b != 0); })>},
    {"LogicalXor", logic_of<decltype([](auto a, auto b) { return (a != 0) ^ (b != 0); })>},
    {"Add", arithmetic_of<decltype([](auto a, auto b) { return wrap_add(a, b); })>},
    {"Subtract", arithmetic_of<decltype([](auto a, auto b) { return wrap_sub(a, b); })>},
    {"Multiply", arithmetic_of<decltype([](auto a, auto b) { return wrap_mul(a, b); })>},
    {"Maximum", arithmetic_of<decltype([](auto a, auto b) { return a > b ? a : b; })>},
    {"Minimum", arithmetic_of<decltype([](auto a, auto b) { return a < b ? a : b; })>},
};

CompareFunction compare_function(const Accept& ctx) {
  for (const CompareEntry& e : compare_entries)
    if (e.type == ctx.op_type())
      if (CompareFunction f = e.of(ctx.type(0))) return f;
  unsupported("no loop for elements of type ", ctx.type(0));
}

void compare_accept(Accept& ctx) {
  compare_function(ctx);
  if (ctx.type(1) != ctx.type(0)) unsupported("expected equal types, got ", ctx.type(0), " and ", ctx.type(1));
  if (!ctx.shape(0).is_static() || !ctx.shape(1).is_static()) unsupported("requires static shapes");
}

struct ComparePlan {
  CompareFunction f = nullptr;
  RowPlan<2> rows;
  int64_t cell = 1, to_cell = 1;
};

ComparePlan compare_prepare(Prepare& ctx) {
  Shape y = broadcast(ctx.shape(0), ctx.shape(1));
  return {compare_function(ctx), plan_rows<2>({ctx.shape(0).values(), ctx.shape(1).values()}, y.values()),
          static_cast<int64_t>(bits_of(ctx.type(0))) / 8, static_cast<int64_t>(bits_of(ctx.output(0).type)) / 8};
}

void compare_run(Run& ctx, const ComparePlan& p) {
  const auto* a = static_cast<const unsigned char*>(ctx.input(0).raw()->data);
  const auto* b = static_cast<const unsigned char*>(ctx.input(1).raw()->data);
  auto* y = static_cast<unsigned char*>(ctx.output(0).raw()->data);
  for_rows(ctx, p.rows, [&](const std::array<int64_t, 2>& from, int64_t to, int64_t n) {
    p.f(a + from[0] * p.cell, b + from[1] * p.cell, y + to * p.to_cell, n, p.rows.step[0] != 0, p.rows.step[1] != 0);
  });
}

// ---- negation ----

void not_accept(Accept& ctx) {
  if (ctx.type(0) != DType::boolean) unsupported("expected booleans, got ", ctx.type(0));
}
void not_run(Run& ctx, const NoAttributes&) {
  const auto* x = static_cast<const uint8_t*>(ctx.input(0).raw()->data);
  auto* y = static_cast<uint8_t*>(ctx.output(0).raw()->data);
  ctx.parallel_for(ctx.output(0).size(), 1 << 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = x[i] == 0;
  });
}

}  // namespace

Definitions cpu_compare() {
  Definitions ops;
  for (const CompareEntry& e : compare_entries)
    ops += Kernel("CPU", "rows").of(e.type, "opset1").accept(compare_accept).run(compare_prepare, compare_run);
  ops += Kernel("CPU", "rows").of("LogicalXor", "opset2").accept(compare_accept).run(compare_prepare, compare_run);
  ops += Kernel("CPU", "bytes").of("LogicalNot", "opset1").accept(not_accept).run(not_run);
  return ops;
}

}  // namespace graft
