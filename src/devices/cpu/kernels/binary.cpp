// Element-wise operations of two f32 inputs that broadcast: y = f(a, b).
//
// Rows (rows.hpp) in which each input is either contiguous or a single number are all that the vectorized loops need to
// distinguish.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "binary.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.
#include <hwy/highway.h>

#include <graft/op.hpp>

#include "rows.hpp"

#ifndef GRAFT_CPU_BINARY_ONCE
#define GRAFT_CPU_BINARY_ONCE
namespace graft {
enum class RowKind { both, left, right };  // which inputs are contiguous; the other is a single number
using BinaryFunction = void (*)(const float* a, const float* b, float* y, int64_t n, RowKind kind);
struct BinaryRow {
  std::string_view type;
  BinaryFunction f;
};
}  // namespace graft
#endif

HWY_BEFORE_NAMESPACE();
namespace graft::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

template <class F>
void rows(const float* a, const float* b, float* y, int64_t n, RowKind kind) {
  const D d;
  const F f;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  if (kind == RowKind::both) {
    for (; i + lanes <= n; i += lanes) hn::StoreU(f(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, y + i);
  } else if (kind == RowKind::left) {
    const V right = hn::Set(d, *b);
    for (; i + lanes <= n; i += lanes) hn::StoreU(f(hn::LoadU(d, a + i), right), d, y + i);
  } else {
    const V left = hn::Set(d, *a);
    for (; i + lanes <= n; i += lanes) hn::StoreU(f(left, hn::LoadU(d, b + i)), d, y + i);
  }
  const hn::CappedTag<float, 1> one;
  int64_t a_step = kind != RowKind::right, b_step = kind != RowKind::left;
  for (; i < n; ++i) hn::StoreU(f(hn::LoadU(one, a + i * a_step), hn::LoadU(one, b + i * b_step)), one, y + i);
}

struct Sum {
  template <class T>
  T operator()(T a, T b) const {
    return hn::Add(a, b);
  }
};
struct Difference {
  template <class T>
  T operator()(T a, T b) const {
    return hn::Sub(a, b);
  }
};
struct Product {
  template <class T>
  T operator()(T a, T b) const {
    return hn::Mul(a, b);
  }
};
struct Quotient {
  template <class T>
  T operator()(T a, T b) const {
    return hn::Div(a, b);
  }
};
// NaN propagates.
struct Larger {
  template <class T>
  T operator()(T a, T b) const {
    return hn::IfThenElse(hn::Or(hn::IsNaN(a), hn::Gt(a, b)), a, b);
  }
};
struct Smaller {
  template <class T>
  T operator()(T a, T b) const {
    return hn::IfThenElse(hn::Or(hn::IsNaN(a), hn::Lt(a, b)), a, b);
  }
};
struct Squared {
  template <class T>
  T operator()(T a, T b) const {
    T c = hn::Sub(a, b);
    return hn::Mul(c, c);
  }
};
struct Slope {
  template <class T>
  T operator()(T a, T b) const {
    return hn::IfThenElse(hn::Lt(a, hn::Zero(hn::DFromV<T>())), hn::Mul(a, b), a);
  }
};

// One library call per element, except for squares.
void powers(const float* a, const float* b, float* y, int64_t n, RowKind kind) {
  if (kind == RowKind::left && *b == 2.0f) return rows<Product>(a, a, y, n, RowKind::both);
  int64_t a_step = kind != RowKind::right, b_step = kind != RowKind::left;
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<float>(std::pow(double{a[i * a_step]}, double{b[i * b_step]}));
}

}  // namespace
// The operations implemented here, with their functions.
std::span<const BinaryRow> binary_rows() {
  static constexpr BinaryRow all[] = {
      {"Add", rows<Sum>},
      {"Subtract", rows<Difference>},
      {"Multiply", rows<Product>},
      {"Divide", rows<Quotient>},
      {"Maximum", rows<Larger>},
      {"Minimum", rows<Smaller>},
      {"SquaredDifference", rows<Squared>},
      {"Power", powers},
      {"PRelu", rows<Slope>},
  };
  return all;
}

}  // namespace graft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft {
namespace {

HWY_EXPORT(binary_rows);

struct BinaryPlan {
  BinaryFunction row = nullptr;
  RowKind kind = RowKind::both;
  RowPlan<2> rows;
};

void binary_accept(Accept& ctx) {
  for (size_t i : {0, 1})
    if (ctx.type(i) != DType::f32) unsupported("expected f32, got ", ctx.type(i));
  if (!ctx.shape(0).is_static() || !ctx.shape(1).is_static()) unsupported("requires static shapes");
}

BinaryFunction binary_function(std::string_view type) {
  for (const BinaryRow& row : HWY_DYNAMIC_DISPATCH(binary_rows)())
    if (row.type == type) return row.f;
  unsupported("no vector function for ", type);
}

BinaryPlan binary_plan(Prepare& ctx, const std::vector<int64_t>& a, const std::vector<int64_t>& b,
                       const std::vector<int64_t>& y) {
  BinaryPlan p;
  p.row = binary_function(ctx.op_type());
  p.rows = plan_rows<2>({a, b}, y);
  if (p.rows.length > 1) p.kind = !p.rows.step[0] ? RowKind::right : !p.rows.step[1] ? RowKind::left : RowKind::both;
  return p;
}
BinaryPlan binary_prepare(Prepare& ctx) {
  return binary_plan(ctx, ctx.shape(0).values(), ctx.shape(1).values(), broadcast(ctx.shape(0), ctx.shape(1)).values());
}
// A 1-D slope belongs to the channels if its length matches.
BinaryPlan prelu_prepare(Prepare& ctx) {
  std::vector<int64_t> x = ctx.shape(0).values(), slope = ctx.shape(1).values();
  if (slope.size() == 1 && x.size() > 1 && slope[0] == x[1]) slope.resize(x.size() - 1, 1);
  return binary_plan(ctx, x, slope, x);
}

void binary_run(Run& ctx, const BinaryPlan& p) {
  const float* a = ctx.input(0).data<const float>();
  const float* b = ctx.input(1).data<const float>();
  float* y = ctx.output(0).data<float>();
  for_rows(ctx, p.rows, [&](const std::array<int64_t, 2>& from, int64_t to, int64_t n) {
    p.row(a + from[0], b + from[1], y + to, n, p.kind);
  });
}

void binary_apply(const BinaryPlan& p, const float* right, float* y, int64_t rows, int64_t step, int64_t length) {
  if (step == length) length *= rows, rows = 1;
  for (; rows > 0; --rows, y += step) p.row(y, right, y, length, RowKind::left);
}

}  // namespace

Definitions cpu_binary() {
  Definitions ops;
  for (const BinaryRow& row : HWY_DYNAMIC_DISPATCH(binary_rows)())
    ops += Kernel("CPU", "rows_f32")
               .of(row.type, "opset1")
               .accept(binary_accept)
               .run(row.type == "PRelu" ? prelu_prepare : binary_prepare, binary_run)
               .rows(binary_apply);
  return ops;
}

}  // namespace graft
#endif
