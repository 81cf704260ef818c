// Reorder: channels from behind the batch to the end, or back. A transpose of matrices [channels, positions], in square
// blocks that stay in the cache. Cells of four bytes are transposed four by four in registers, three channels with the
// instructions for pixels.
#include <graft/op.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reorder.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.
#include <hwy/highway.h>

#ifndef GRAFT_CPU_REORDER_ONCE
#define GRAFT_CPU_REORDER_ONCE
namespace graft {
// Part of a matrix of `rows` by `columns` elements.
struct ReorderBlock {
  int64_t rows, columns, r, r_end, c, c_end;
};
}  // namespace graft
#endif

HWY_BEFORE_NAMESPACE();
namespace graft::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
void reorder_cells(const ReorderBlock& b, int64_t i_end, int64_t j_end, const T* from, T* to) {
  for (int64_t j = b.c; j < b.c_end; ++j)
    for (int64_t i = j < j_end ? i_end : b.r; i < b.r_end; ++i) to[j * b.rows + i] = from[i * b.columns + j];
}

#if HWY_TARGET != HWY_SCALAR
// Three rows next to each other, as the channels of pixels.
template <class T>
void reorder_pixels(const ReorderBlock& b, const T* from, T* to) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t j = b.c;
  for (; j + lanes <= b.c_end; j += lanes)
    hn::StoreInterleaved3(hn::LoadU(d, from + j), hn::LoadU(d, from + b.columns + j),
                          hn::LoadU(d, from + 2 * b.columns + j), d, to + 3 * j);
  ReorderBlock rest = b;
  rest.c = j;
  reorder_cells(rest, b.r, j, from, to);
}
#endif

}  // namespace
void reorder_words(const ReorderBlock& b, const uint32_t* from, uint32_t* to) {
#if HWY_TARGET == HWY_SCALAR
  reorder_cells(b, b.r, b.c, from, to);
#else
  if (b.rows == 3) return reorder_pixels(b, from, to);
  const hn::FixedTag<uint32_t, 4> d;
  int64_t i_end = b.r + (b.r_end - b.r) / 4 * 4, j_end = b.c + (b.c_end - b.c) / 4 * 4;
  for (int64_t j = b.c; j < j_end; j += 4)
    for (int64_t i = b.r; i < i_end; i += 4) {
      const uint32_t* x = from + i * b.columns + j;
      uint32_t* y = to + j * b.rows + i;
      const auto r0 = hn::LoadU(d, x), r1 = hn::LoadU(d, x + b.columns);
      const auto r2 = hn::LoadU(d, x + 2 * b.columns), r3 = hn::LoadU(d, x + 3 * b.columns);
      const auto even = hn::InterleaveLower(d, r0, r2), odd = hn::InterleaveLower(d, r1, r3);
      const auto even2 = hn::InterleaveUpper(d, r0, r2), odd2 = hn::InterleaveUpper(d, r1, r3);
      hn::StoreU(hn::InterleaveLower(d, even, odd), d, y);
      hn::StoreU(hn::InterleaveUpper(d, even, odd), d, y + b.rows);
      hn::StoreU(hn::InterleaveLower(d, even2, odd2), d, y + 2 * b.rows);
      hn::StoreU(hn::InterleaveUpper(d, even2, odd2), d, y + 3 * b.rows);
    }
  reorder_cells(b, i_end, j_end, from, to);
#endif
}

void reorder_bytes(const ReorderBlock& b, const uint8_t* from, uint8_t* to) {
#if HWY_TARGET != HWY_SCALAR
  if (b.rows == 3) return reorder_pixels(b, from, to);
#endif
  reorder_cells(b, b.r, b.c, from, to);
}

}  // namespace graft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft {
namespace {

HWY_EXPORT(reorder_words);
HWY_EXPORT(reorder_bytes);

struct ReorderState {
  int64_t batch = 0, rows = 0, columns = 0;  // of the source matrices
  size_t cell = 0;
};

void reorder_accept(Accept& ctx) {
  if (!ctx.shape(0).is_static()) unsupported("requires static shapes");
}

ReorderState reorder_prepare(Prepare& ctx) {
  std::vector<int64_t> dims = ctx.shape(0).values();
  if (ctx.input_layout(0) == ctx.output_layout(0)) unsupported("the layouts are equal");
  ReorderState s;
  s.cell = static_cast<size_t>(bits_of(ctx.type(0))) / 8;
  s.batch = dims[0], s.rows = dims[1], s.columns = count_of(std::span(dims).subspan(2));
  if (ctx.input_layout(0) == Layout::channels_last) std::swap(s.rows, s.columns);
  return s;
}

constexpr int64_t side = 32;

template <class T>
void reorder_block(const ReorderBlock& b, const T* from, T* to) {
  if constexpr (sizeof(T) == 4) {
    HWY_DYNAMIC_DISPATCH(reorder_words)(b, from, to);
  } else if constexpr (sizeof(T) == 1) {
    HWY_DYNAMIC_DISPATCH(reorder_bytes)(b, from, to);
  } else {
    for (int64_t j = b.c; j < b.c_end; ++j)
      for (int64_t i = b.r; i < b.r_end; ++i) to[j * b.rows + i] = from[i * b.columns + j];
  }
}

template <class T>
void reorder_as(Run& ctx, const ReorderState& s, const void* from, void* to) {
  int64_t wide = s.rows <= side / 4 ? 16 * side : side;  // few rows fit side by side
  int64_t down = (s.rows + side - 1) / side, across = (s.columns + wide - 1) / wide;
  ctx.parallel_for(s.batch * down * across, 16 * side / wide, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      int64_t matrix = t / (down * across) * s.rows * s.columns, block = t % (down * across);
      int64_t r = block / across * side, c = block % across * wide;
      reorder_block({s.rows, s.columns, r, std::min(r + side, s.rows), c, std::min(c + wide, s.columns)},
                    static_cast<const T*>(from) + matrix, static_cast<T*>(to) + matrix);
    }
  });
}

void reorder_run(Run& ctx, const ReorderState& s) {
  const void* from = ctx.input(0).raw()->data;
  void* to = ctx.output(0).raw()->data;
  if (s.cell == 1) reorder_as<uint8_t>(ctx, s, from, to);
  if (s.cell == 2) reorder_as<uint16_t>(ctx, s, from, to);
  if (s.cell == 4) reorder_as<uint32_t>(ctx, s, from, to);
  if (s.cell == 8) reorder_as<uint64_t>(ctx, s, from, to);
}

}  // namespace

Definitions cpu_reorder() {
  constexpr Layout last = Layout::channels_last, plain = Layout::plain;
  return Kernel("CPU", "reorder")
      .of("Reorder", "graft")
      .accept(reorder_accept)
      .layouts({{{plain}, {last}}, {{last}, {plain}}})
      .run(reorder_prepare, reorder_run);
}

}  // namespace graft
#endif
