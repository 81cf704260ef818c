// Element-wise operations of two f32 inputs that broadcast: y = f(a, b).
//
// Adjacent axes along which both inputs advance uniformly are merged. What remains are rows in which each input is
// either contiguous or a single number, which is all that the vectorized loops need to distinguish.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "binary.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.
#include <hwy/highway.h>

#include <graft/op.hpp>

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
  int64_t length = 1;                           // of a row
  std::vector<int64_t> dims, a_steps, b_steps;  // of the rows
};

void binary_accept(Accept& ctx) {
  for (size_t i : {0, 1})
    if (ctx.type(i) != DType::f32) unsupported("expected f32, got ", ctx.type(i));
  if (!ctx.shape(0).is_static() || !ctx.shape(1).is_static()) unsupported("requires static shapes");
}

// Merges axes; the last one becomes the row.
BinaryPlan plan_rows(const std::vector<int64_t>& a, const std::vector<int64_t>& b, const std::vector<int64_t>& y) {
  std::vector<int64_t> a_steps = broadcast_strides(a, y), b_steps = broadcast_strides(b, y);
  BinaryPlan p;
  for (size_t i = 0; i < y.size(); ++i) {
    if (y[i] == 1) continue;
    if (!p.dims.empty() && p.a_steps.back() == a_steps[i] * y[i] && p.b_steps.back() == b_steps[i] * y[i]) {
      p.dims.back() *= y[i], p.a_steps.back() = a_steps[i], p.b_steps.back() = b_steps[i];
    } else {
      p.dims.push_back(y[i]), p.a_steps.push_back(a_steps[i]), p.b_steps.push_back(b_steps[i]);
    }
  }
  if (p.dims.empty()) return p;
  p.length = p.dims.back();
  p.kind = p.a_steps.back() == 0 ? RowKind::right : p.b_steps.back() == 0 ? RowKind::left : RowKind::both;
  p.dims.pop_back(), p.a_steps.pop_back(), p.b_steps.pop_back();
  return p;
}

BinaryFunction binary_function(std::string_view type) {
  for (const BinaryRow& row : HWY_DYNAMIC_DISPATCH(binary_rows)())
    if (row.type == type) return row.f;
  unsupported("no vector function for ", type);
}

BinaryPlan binary_prepare(Prepare& ctx) {
  std::vector<int64_t> a = ctx.shape(0).values(), b = ctx.shape(1).values();
  BinaryPlan p = plan_rows(a, b, broadcast(ctx.shape(0), ctx.shape(1)).values());
  p.row = binary_function(ctx.op_type());
  return p;
}
// A 1-D slope belongs to the channels if its length matches.
BinaryPlan prelu_prepare(Prepare& ctx) {
  std::vector<int64_t> x = ctx.shape(0).values(), slope = ctx.shape(1).values();
  if (slope.size() == 1 && x.size() > 1 && slope[0] == x[1]) slope.resize(x.size() - 1, 1);
  BinaryPlan p = plan_rows(x, slope, x);
  p.row = binary_function(ctx.op_type());
  return p;
}

void binary_run(Run& ctx, const BinaryPlan& p) {
  const float* a = ctx.input(0).data<const float>();
  const float* b = ctx.input(1).data<const float>();
  float* y = ctx.output(0).data<float>();
  if (ctx.output(0).size() == 0) return;
  constexpr int64_t piece = 8192;
  int64_t pieces = (p.length + piece - 1) / piece, rows = count_of(p.dims);
  int64_t a_step = p.kind != RowKind::right, b_step = p.kind != RowKind::left;
  ctx.parallel_for(rows * pieces, std::max<int64_t>(1, 2 * piece / std::min(p.length, piece)),
                   [&](int64_t begin, int64_t end) {
                     std::array<int64_t, 16> at{};
                     int64_t a_at = 0, b_at = 0, row = begin / pieces;
                     for (size_t i = p.dims.size(); i-- > 0; row /= p.dims[i]) {
                       at[i] = row % p.dims[i];
                       a_at += at[i] * p.a_steps[i], b_at += at[i] * p.b_steps[i];
                     }
                     for (int64_t t = begin; t < end;) {
                       int64_t first = t % pieces * piece, last = std::min(p.length, first + (end - t) * piece);
                       p.row(a + a_at + first * a_step, b + b_at + first * b_step, y + t / pieces * p.length + first,
                             last - first, p.kind);
                       t += (last - first + piece - 1) / piece;
                       for (size_t i = p.dims.size(); i-- > 0;) {
                         a_at += p.a_steps[i], b_at += p.b_steps[i];
                         if (++at[i] < p.dims[i]) break;
                         a_at -= p.a_steps[i] * p.dims[i], b_at -= p.b_steps[i] * p.dims[i];
                         at[i] = 0;
                       }
                     }
                   });
}

void rank_accept(Accept& ctx) {
  binary_accept(ctx);
  if (std::max(ctx.shape(0).rank(), ctx.shape(1).rank()) > 16) unsupported("expected at most 16 axes after merging");
}

}  // namespace

Definitions cpu_binary() {
  Definitions ops;
  for (const BinaryRow& row : HWY_DYNAMIC_DISPATCH(binary_rows)())
    ops += Kernel("CPU", "rows_f32")
               .of(row.type, "opset1")
               .accept(rank_accept)
               .run(row.type == "PRelu" ? prelu_prepare : binary_prepare, binary_run);
  return ops;
}

}  // namespace graft
#endif
