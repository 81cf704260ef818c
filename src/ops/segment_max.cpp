#include <graft/kit/known.hpp>
#include <graft/numeric.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

struct SegmentMax {
  enum Fill { zero, lowest } fill_mode = zero;
  static constexpr std::tuple schema{
      attr("fill_mode", &SegmentMax::fill_mode, "value of empty segments").one_of("zero", "lowest").required()};
};

void segment_max_infer(Infer& ctx, const SegmentMax&) {
  Shape out = ctx.shape(0), ids = ctx.shape(1);
  if (out.ranked() && out.rank() == 0) fail("expected data of rank 1 or more, got a scalar");
  if (ids.ranked() && ids.rank() != 1) fail("expected 1-D segment_ids, got shape ", ids);
  if (out.ranked()) {
    if (ids.ranked()) merge(out[0], ids[0]);
    out[0] = Dim();
    if (ctx.has_input(2)) {
      if (auto n = certain_number(ctx, 2)) {
        if (*n < 0) fail("expected a non-negative num_segments, got ", *n);
        out[0] = Dim(*n);
      }
    } else if (auto v = ctx.values<int64_t>(1)) {
      int64_t last = v->empty() ? -1 : v->back();
      if (last < -1 || last == INT64_MAX) fail("expected non-negative segment_ids, got ", last);
      out[0] = Dim(last + 1);
    }
  }
  ctx.output(0, ctx.type(0), out);
}

void segment_max_run(Run& ctx, const SegmentMax& a) {
  TensorView x = ctx.input(0);
  std::vector<int64_t> ids = ctx.input(1).to<int64_t>();
  if (static_cast<int64_t>(ids.size()) != x.dim(0))
    fail("expected ", x.dim(0), " segment_ids, one per row, got ", ids.size());
  for (size_t i = 0; i < ids.size(); ++i)
    if (ids[i] < 0 || (i && ids[i] < ids[i - 1]))
      fail("expected non-negative segment_ids in ascending order, got ", ids[i]);
  int64_t segments = ids.empty() ? 0 : ids.back() + 1, inner = count_of(x.dims().subspan(1));
  if (ctx.has_input(2)) segments = ctx.input(2).scalar<int64_t>();
  if (segments < 0) fail("expected a non-negative num_segments, got ", segments);
  std::vector<int64_t> dims(x.dims().begin(), x.dims().end());
  dims[0] = segments;
  OutputView y = ctx.allocate(0, dims);
  with_number_type(x.type(), [&]<class T>(T) {
    T empty = a.fill_mode == SegmentMax::zero ? T{} : static_cast<T>(lowest_of(x.type()));
    std::vector<T> in = x.to<T>(), out(static_cast<size_t>(y.size()), empty);
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] >= segments) break;
      bool first = i == 0 || ids[i] != ids[i - 1];
      for (int64_t k = 0; k < inner; ++k) {
        T v = in[i * static_cast<size_t>(inner) + static_cast<size_t>(k)];
        T& best = out[static_cast<size_t>(ids[i] * inner + k)];
        if (first || v > best) best = v;
      }
    }
    y.assign(out);
  });
}

}  // namespace

Definitions define_segment_max() {
  return op<SegmentMax>("SegmentMax", 16)
      .doc("Maximum over the rows of each segment")
      .inputs("data, segment_ids, num_segments?")
      .infer(segment_max_infer)
      .reference(segment_max_run);
}

}  // namespace graft
