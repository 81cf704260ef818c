// Transpose of elements of 1, 2, 4 or 8 bytes; also DepthToSpace, SpaceToDepth and ShuffleChannels, which are
// transpositions of a finer shape.
//
// Axes that stay adjacent are merged. If the last axis stays last, whole runs are copied; otherwise the two axes that
// are contiguous on one side each are transposed in small tiles, so that both sides are accessed in whole cache lines.
// Tiles of four-byte elements are transposed in registers.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "transpose.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.
#include <hwy/highway.h>

#include <cstring>
#include <graft/op.hpp>

HWY_BEFORE_NAMESPACE();
namespace graft::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
void turn_plain(const T* x, int64_t x_step, int64_t rows, int64_t columns, T* y, int64_t y_step) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) y[c * y_step + r] = x[r * x_step + c];
}

// y[c, r] = x[r, c], where the rows of x are `x_step` apart and those of y `y_step`.
template <class T>
void turn(const T* x, int64_t x_step, int64_t rows, int64_t columns, T* y, int64_t y_step) {
  constexpr int64_t square = 16;
  for (int64_t c = 0; c < columns; c += square)
    for (int64_t r = 0; r < rows; r += square)
      turn_plain(x + r * x_step + c, x_step, std::min(square, rows - r), std::min(square, columns - c),
                 y + c * y_step + r, y_step);
}

#if HWY_TARGET != HWY_SCALAR
template <>
void turn<uint32_t>(const uint32_t* x, int64_t x_step, int64_t rows, int64_t columns, uint32_t* y, int64_t y_step) {
  const hn::FixedTag<uint32_t, 4> d;
  const hn::Repartition<uint64_t, decltype(d)> pairs;
  int64_t whole_rows = rows / 4 * 4, whole_columns = columns / 4 * 4;
  for (int64_t c = 0; c < whole_columns; c += 4)
    for (int64_t r = 0; r < whole_rows; r += 4) {
      const uint32_t* from = x + r * x_step + c;
      const auto a = hn::LoadU(d, from), b = hn::LoadU(d, from + x_step), e = hn::LoadU(d, from + 2 * x_step),
                 f = hn::LoadU(d, from + 3 * x_step);
      const auto ab = hn::BitCast(pairs, hn::InterleaveLower(d, a, b)),
                 AB = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b));
      const auto ef = hn::BitCast(pairs, hn::InterleaveLower(d, e, f)),
                 EF = hn::BitCast(pairs, hn::InterleaveUpper(d, e, f));
      uint32_t* to = y + c * y_step + r;
      hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, ab, ef)), d, to);
      hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, ab, ef)), d, to + y_step);
      hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, AB, EF)), d, to + 2 * y_step);
      hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, AB, EF)), d, to + 3 * y_step);
    }
  turn_plain(x + whole_columns, x_step, rows, columns - whole_columns, y + whole_columns * y_step, y_step);
  turn_plain(x + whole_rows * x_step, x_step, rows - whole_rows, whole_columns, y + whole_rows, y_step);
}
#endif

}  // namespace
void transpose_turn(size_t cell, const void* x, int64_t x_at, int64_t x_step, int64_t rows, int64_t columns, void* y,
                    int64_t y_at, int64_t y_step) {
  auto as = [&]<class T>(T) {
    turn(static_cast<const T*>(x) + x_at, x_step, rows, columns, static_cast<T*>(y) + y_at, y_step);
  };
  if (cell == 1) as(uint8_t{});
  else if (cell == 2) as(uint16_t{});
  else if (cell == 4) as(uint32_t{});
  else as(uint64_t{});
}

}  // namespace graft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft {
namespace {

HWY_EXPORT(transpose_turn);

// An axis of the result, with its strides on either side.
struct TransposeAxis {
  int64_t count, from, to;
};
struct TransposeState {
  size_t cell = 4;
  std::vector<TransposeAxis> outer;
  bool runs = true;
  TransposeAxis row{1, 1, 1};     // contiguous on both sides (a run), or on the input side
  TransposeAxis column{1, 1, 1};  // contiguous on the output side, unless `row` is a run
};

std::vector<size_t> transpose_axes(Accept& ctx) {
  auto order = ctx.values<int64_t>(1);
  if (!order) unsupported("requires a constant order");
  size_t rank = ctx.shape(0).rank();
  std::vector<size_t> axes;
  if (order->empty())
    for (size_t i = rank; i-- > 0;) axes.push_back(i);
  else axes = normalize_axes(*order, rank);
  return axes;
}

void cells_accept(Accept& ctx) {
  DType type = ctx.type(0);
  if (type == DType::string || is_packed(type)) unsupported("expected elements of 1, 2, 4 or 8 bytes, got ", type);
  if (!ctx.shape(0).is_static()) unsupported("requires static shapes");
}
void transpose_accept(Accept& ctx) {
  cells_accept(ctx);
  transpose_axes(ctx);
}

TransposeState transpose_state(DType type, const std::vector<int64_t>& dims, const std::vector<size_t>& order) {
  TransposeState s;
  s.cell = static_cast<size_t>(bits_of(type)) / 8;
  std::vector<int64_t> strides = strides_of(dims);
  std::vector<TransposeAxis> axes;
  for (size_t a : order) {
    if (dims[a] == 1) continue;
    if (!axes.empty() && axes.back().from == strides[a] * dims[a])
      axes.back() = {axes.back().count * dims[a], strides[a], 0};
    else axes.push_back({dims[a], strides[a], 0});
  }
  int64_t step = 1;
  for (size_t i = axes.size(); i-- > 0; step *= axes[i].count) axes[i].to = step;
  if (axes.empty()) return s;
  s.runs = axes.back().from == 1;
  if (s.runs) {
    s.row = axes.back();
    axes.pop_back();
  } else {
    s.column = axes.back();
    axes.pop_back();
    for (size_t i = 0; i < axes.size(); ++i)
      if (axes[i].from == 1) s.row = axes[i], axes.erase(axes.begin() + static_cast<ptrdiff_t>(i));
  }
  s.outer = std::move(axes);
  return s;
}
TransposeState transpose_prepare(Prepare& ctx) {
  return transpose_state(ctx.type(0), ctx.shape(0).values(), transpose_axes(ctx));
}

TransposeState depth_to_space_prepare(Prepare& ctx) {
  std::vector<int64_t> dims = ctx.shape(0).values();
  bool blocks_first = ctx.attr<std::string>("mode") == "blocks_first";
  auto block = ctx.attr<int64_t>("block_size");
  size_t plane = dims.size() - 2, places = blocks_first ? 1 : 2, channel = blocks_first ? plane + 1 : 1;
  std::vector<int64_t> finer(2 + plane, block);
  std::vector<size_t> order{0, channel};
  finer[0] = dims[0];
  finer[channel] = dims[1];
  for (size_t i = 0; i < plane; ++i) {
    finer[channel] /= block;
    finer.push_back(dims[2 + i]);
    order.push_back(2 + plane + i);
    order.push_back(places + i);
  }
  return transpose_state(ctx.type(0), finer, order);
}
TransposeState space_to_depth_prepare(Prepare& ctx) {
  std::vector<int64_t> dims = ctx.shape(0).values(), finer{dims[0], dims[1]};
  bool blocks_first = ctx.attr<std::string>("mode") == "blocks_first";
  auto block = ctx.attr<int64_t>("block_size");
  std::vector<size_t> order{0}, places, plane;
  for (size_t i = 2; i < dims.size(); ++i) {
    plane.push_back(finer.size());
    places.push_back(finer.size() + 1);
    finer.push_back(dims[i] / block);
    finer.push_back(block);
  }
  if (!blocks_first) order.push_back(1);
  order.insert(order.end(), places.begin(), places.end());
  if (blocks_first) order.push_back(1);
  order.insert(order.end(), plane.begin(), plane.end());
  return transpose_state(ctx.type(0), finer, order);
}
TransposeState shuffle_prepare(Prepare& ctx) {
  std::vector<int64_t> dims = ctx.shape(0).values();
  size_t axis = normalize_axis(ctx.attr<int64_t>("axis"), dims.size());
  auto group = ctx.attr<int64_t>("group");
  std::span<const int64_t> all(dims);
  return transpose_state(ctx.type(0),
                         {count_of(all.first(axis)), group, dims[axis] / group, count_of(all.subspan(axis + 1))},
                         {0, 2, 1, 3});
}

void transpose_run(Run& ctx, const TransposeState& s) {
  if (ctx.output(0).size() == 0) return;
  const void* x = ctx.input(0).bytes();
  void* y = ctx.output(0).bytes();
  constexpr int64_t tile = 64;
  int64_t boxes = 1;
  for (const TransposeAxis& a : s.outer) boxes *= a.count;
  int64_t down = s.runs ? 1 : (s.column.count + tile - 1) / tile, across = s.runs ? 1 : (s.row.count + tile - 1) / tile;
  int64_t work = s.runs ? s.row.count : std::min(tile, s.row.count) * std::min(tile, s.column.count);
  auto f = HWY_DYNAMIC_DISPATCH(transpose_turn);
  ctx.parallel_for(boxes * down * across, std::max<int64_t>(1, 16384 / work), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      int64_t from = 0, to = 0, box = t / (down * across);
      for (size_t i = s.outer.size(); i-- > 0; box /= s.outer[i].count) {
        int64_t at = box % s.outer[i].count;
        from += at * s.outer[i].from, to += at * s.outer[i].to;
      }
      if (s.runs) {
        std::memcpy(static_cast<char*>(y) + static_cast<size_t>(to) * s.cell,
                    static_cast<const char*>(x) + static_cast<size_t>(from) * s.cell,
                    static_cast<size_t>(s.row.count) * s.cell);
        continue;
      }
      int64_t r = t / across % down * tile, c = t % across * tile;
      f(s.cell, x, from + r * s.column.from + c, s.column.from, std::min(tile, s.column.count - r),
        std::min(tile, s.row.count - c), y, to + c * s.row.to + r, s.row.to);
    }
  });
}

}  // namespace

Definitions cpu_transpose() {
  auto kernel = [](std::string_view type) { return Kernel("CPU", "squares").of(type, "opset1"); };
  return {
      kernel("Transpose").accept(transpose_accept).run(transpose_prepare, transpose_run),
      kernel("DepthToSpace").accept(cells_accept).run(depth_to_space_prepare, transpose_run),
      kernel("SpaceToDepth").accept(cells_accept).run(space_to_depth_prepare, transpose_run),
      kernel("ShuffleChannels").accept(cells_accept).run(shuffle_prepare, transpose_run),
  };
}

}  // namespace graft
#endif
