// Reorder: channels from behind the batch to the end, or back. A transpose of matrices [channels, positions], in square
// blocks that stay in the cache.
#include <cstring>
#include <graft/op.hpp>

namespace graft {
namespace {

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
void reorder_block(const T* from, int64_t rows, int64_t columns, int64_t r, int64_t c, T* to) {
  int64_t r_end = std::min(r + side, rows), c_end = std::min(c + side, columns);
  for (int64_t j = c; j < c_end; ++j)
    for (int64_t i = r; i < r_end; ++i) to[j * rows + i] = from[i * columns + j];
}

template <class T>
void reorder_as(Run& ctx, const ReorderState& s, const void* from, void* to) {
  int64_t down = (s.rows + side - 1) / side, across = (s.columns + side - 1) / side;
  ctx.parallel_for(s.batch * down * across, 16, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      int64_t matrix = t / (down * across) * s.rows * s.columns, block = t % (down * across);
      reorder_block(static_cast<const T*>(from) + matrix, s.rows, s.columns, block / across * side,
                    block % across * side, static_cast<T*>(to) + matrix);
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
