// Slice with constant bounds: copies runs of consecutive elements, distributed among the threads.
//
// Trailing axes that are taken as a whole form one run with the last one that is cut with a step of 1.
#include <cstring>
#include <graft/op.hpp>

namespace graft {
namespace {

struct SliceState {
  std::vector<int64_t> dims, strides;  // of the runs; strides in bytes
  int64_t first = 0;                   // offset of the first run in bytes
  size_t run = 0;                      // bytes
};

void slice_accept(Accept& ctx) {
  if (!ctx.shape(0).is_static() || !ctx.output(0).shape.is_static()) unsupported("requires static shapes");
  if (bits_of(ctx.type(0)) < 8 || ctx.type(0) == DType::string) unsupported("expected whole bytes, got ", ctx.type(0));
  for (size_t i = 1; i < ctx.inputs(); ++i)
    if (ctx.has_input(i) && !ctx.constant(i)) unsupported("requires constant bounds");
}

// Where a slice starts: bounds count from the end if they are negative, and are clamped.
int64_t slice_first(int64_t n, int64_t start, int64_t step) {
  if (start < 0) start += n;
  return std::clamp(start, int64_t{0}, step < 0 ? n - 1 : n);
}

SliceState slice_prepare(Prepare& ctx) {
  std::vector<int64_t> x = ctx.shape(0).values(), y = ctx.output(0).shape.values(), own = strides_of(x);
  std::vector<int64_t> start = *ctx.values<int64_t>(1), step = *ctx.values<int64_t>(3), steps(x.size(), 1);
  auto cell = static_cast<int64_t>(bits_of(ctx.type(0))) / 8;
  std::vector<size_t> axes;
  if (ctx.has_input(4)) axes = normalize_axes(*ctx.values<int64_t>(4), x.size());
  else
    for (size_t i = 0; i < start.size(); ++i) axes.push_back(i);
  SliceState s;
  if (count_of(y) == 0) return s;
  for (size_t i = 0; i < axes.size(); ++i) {
    size_t a = axes[i];
    s.first += slice_first(x[a], start[i], step[i]) * own[a] * cell;
    steps[a] = y[a] == 1 ? 1 : step[i];
  }
  size_t outer = x.size();
  int64_t run = 1;
  while (outer > 0 && steps[outer - 1] == 1) {
    --outer;
    run *= y[outer];
    if (y[outer] != x[outer]) break;
  }
  s.run = static_cast<size_t>(run * cell);
  for (size_t i = 0; i < outer; ++i) s.dims.push_back(y[i]), s.strides.push_back(own[i] * steps[i] * cell);
  return s;
}

void slice_run(Run& ctx, const SliceState& s) {
  if (s.run == 0) return;
  const auto* from = static_cast<const unsigned char*>(ctx.input(0).raw()->data) + s.first;
  auto* to = static_cast<unsigned char*>(ctx.output(0).raw()->data);
  size_t rank = s.dims.size();
  auto cell = s.run;
  ctx.parallel_for(count_of(s.dims), static_cast<int64_t>(std::max<size_t>(1, (1 << 15) / s.run)),
                   [&](int64_t begin, int64_t end) {
                     // The innermost axis in a plain loop, the others by division.
                     int64_t inner = rank ? s.dims[rank - 1] : 1, down = rank ? s.strides[rank - 1] : 0;
                     for (int64_t t = begin; t < end;) {
                       int64_t at = 0, rest = t / inner, column = t % inner, count = std::min(end - t, inner - column);
                       for (size_t i = rank; i-- > 1; rest /= s.dims[i - 1])
                         at += rest % s.dims[i - 1] * s.strides[i - 1];
                       const unsigned char* x = from + at + column * down;
                       unsigned char* y = to + static_cast<size_t>(t) * cell;
                       for (int64_t c = 0; c < count; ++c, x += down, y += cell) std::memcpy(y, x, cell);
                       t += count;
                     }
                   });
}

}  // namespace

Definitions cpu_slice() {
  return Kernel("CPU", "copy").of("Slice", "opset8").accept(slice_accept).run(slice_prepare, slice_run);
}

}  // namespace graft
