// Select: y = condition ? a : b, over elements of whole bytes. Masks of f32 and i32 are widened to vectors.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "select.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.
#include <hwy/highway.h>

#include <graft/op.hpp>

#include "rows.hpp"

HWY_BEFORE_NAMESPACE();
namespace graft::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

template <int64_t a_step, int64_t b_step>
void select_words(const uint8_t* c, const uint32_t* a, const uint32_t* b, uint32_t* y, int64_t n) {
  const hn::ScalableTag<uint32_t> d;
  const hn::Rebind<uint8_t, decltype(d)> bytes;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto mask = hn::Ne(hn::PromoteTo(d, hn::LoadU(bytes, c + i)), hn::Zero(d));
    const auto yes = a_step ? hn::LoadU(d, a + i) : hn::Set(d, *a);
    const auto no = b_step ? hn::LoadU(d, b + i) : hn::Set(d, *b);
    hn::StoreU(hn::IfThenElse(mask, yes, no), d, y + i);
  }
  for (; i < n; ++i) y[i] = c[i] ? a[i * a_step] : b[i * b_step];
}

}  // namespace
void select_u32(const uint8_t* c, const uint32_t* a, const uint32_t* b, uint32_t* y, int64_t n, bool a_row,
                bool b_row) {
  auto f = a_row ? b_row ? select_words<1, 1> : select_words<1, 0> : b_row ? select_words<0, 1> : select_words<0, 0>;
  f(c, a, b, y, n);
}

}  // namespace graft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft {
namespace {

HWY_EXPORT(select_u32);

void select_accept(Accept& ctx) {
  DType type = ctx.type(1);
  if (bits_of(type) < 8 || bits_of(type) > 64 || type == DType::string)
    unsupported("expected elements of whole bytes, got ", type);
  for (size_t i = 0; i < 3; ++i)
    if (!ctx.shape(i).is_static()) unsupported("requires static shapes");
}

struct SelectPlan {
  RowPlan<3> rows;
  int bits = 32;
};

SelectPlan select_prepare(Prepare& ctx) {
  return {
      plan_rows<3>({ctx.shape(0).values(), ctx.shape(1).values(), ctx.shape(2).values()}, ctx.output(0).shape.values()),
      static_cast<int>(bits_of(ctx.type(1)))};
}

template <class T>
void select_rows(Run& ctx, const RowPlan<3>& p) {
  const auto* c = static_cast<const uint8_t*>(ctx.input(0).raw()->data);
  const auto* a = static_cast<const T*>(ctx.input(1).raw()->data);
  const auto* b = static_cast<const T*>(ctx.input(2).raw()->data);
  auto* y = static_cast<T*>(ctx.output(0).raw()->data);
  for_rows(ctx, p, [&](const std::array<int64_t, 3>& from, int64_t to, int64_t n) {
    if (p.step[0] == 0) {  // one condition for the whole row
      bool first = c[from[0]] != 0;
      const T* x = first ? a + from[1] : b + from[2];
      if (p.step[first ? 1 : 2]) std::copy_n(x, n, y + to);
      else std::fill_n(y + to, n, *x);
      return;
    }
    if constexpr (sizeof(T) == 4) {
      HWY_DYNAMIC_DISPATCH(select_u32)
      (c + from[0], a + from[1], b + from[2], y + to, n, p.step[1] != 0, p.step[2] != 0);
    } else {
      for (int64_t i = 0; i < n; ++i)
        y[to + i] = c[from[0] + i] ? a[from[1] + i * p.step[1]] : b[from[2] + i * p.step[2]];
    }
  });
}

void select_run(Run& ctx, const SelectPlan& p) {
  if (p.bits == 8) select_rows<uint8_t>(ctx, p.rows);
  if (p.bits == 16) select_rows<uint16_t>(ctx, p.rows);
  if (p.bits == 32) select_rows<uint32_t>(ctx, p.rows);
  if (p.bits == 64) select_rows<uint64_t>(ctx, p.rows);
}

}  // namespace

Definitions cpu_select() {
  return Kernel("CPU", "rows").of("Select", "opset1").accept(select_accept).run(select_prepare, select_run);
}

}  // namespace graft
#endif
