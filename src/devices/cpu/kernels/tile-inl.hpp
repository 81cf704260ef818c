// Tiles of sums in registers, some rows by two vectors of columns.
//
// The rounding error of a chain of additions grows with its length, so that sums over thousands
// of products go through memory now and then. One that is set aside is added to those before it, which leaves a few
// short chains.
#include <hwy/highway.h>

#if defined(GRAFT_CPU_TILE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef GRAFT_CPU_TILE_INL
#undef GRAFT_CPU_TILE_INL
#else
#define GRAFT_CPU_TILE_INL
#endif

HWY_BEFORE_NAMESPACE();
namespace graft::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr int64_t lanes = static_cast<int64_t>(hn::MaxLanes(D()));
constexpr int64_t panel = 2 * lanes;  // columns of a tile
// As many as fit in the registers: `most` for 32 of them, fewer for 16, or for 16 without fused multiply-add.
constexpr int64_t tile_rows_of([[maybe_unused]] int64_t most) {
#if HWY_TARGET <= HWY_AVX3
  return most;
#elif HWY_TARGET <= HWY_AVX2
  return 6;
#else
  return 4;
#endif
}

// Products in a chain. Setting sums aside costs about as much as one product for each of them.
constexpr int64_t longest_chain = 128;

template <int64_t rows, int64_t vectors>
class Chains {
  using Sums = V[rows][vectors];

 public:
  // Begins new chains.
  HWY_INLINE void set_aside(Sums& sums) {
    add_totals(sums);
    any_ = true;
#pragma GCC unroll 16
    for (int64_t r = 0; r < rows; ++r)
#pragma GCC unroll 16
      for (int64_t v = 0; v < vectors; ++v) {
        hn::Store(sums[r][v], D(), at(r, v));
        sums[r][v] = hn::Zero(D());
      }
    asm("" : "+m"(totals_));  // stays in memory: the registers are for sums and operands
  }
  // Adds what was set aside.
  HWY_INLINE void add_totals(Sums& sums) {
    if (!any_) return;
#pragma GCC unroll 16
    for (int64_t r = 0; r < rows; ++r)
#pragma GCC unroll 16
      for (int64_t v = 0; v < vectors; ++v) sums[r][v] = hn::Add(sums[r][v], hn::Load(D(), at(r, v)));
  }

 private:
  HWY_INLINE float* at(int64_t r, int64_t v) { return totals_ + (r * vectors + v) * lanes; }

  HWY_ALIGN float totals_[rows * vectors * lanes];
  bool any_ = false;
};

}  // namespace
}  // namespace graft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
