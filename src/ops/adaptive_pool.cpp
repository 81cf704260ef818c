// AdaptiveAvgPool and AdaptiveMaxPool: pooling to a given output size; window sizes follow from both sizes.
#include <graft/kit/known.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

struct AdaptiveMaxPool {
  DType index_element_type = DType::i64;
  static constexpr std::tuple schema{
      attr("index_element_type", &AdaptiveMaxPool::index_element_type, "element type of the indices, i64 or i32")};
};

Shape adaptive_shape(Infer& ctx) {
  Shape data = ctx.shape(0), list = ctx.shape(1);
  if (!data.ranked() && list.ranked() && list.elements().known() && list.elements().value() <= 3)
    data = Shape::of_rank(2 + static_cast<size_t>(list.elements().value()));
  if (!data.ranked()) return data;
  if (data.rank() < 3 || data.rank() > 5) fail("expected data with 1 to 3 spatial axes, got shape ", data);
  auto sizes = target_sizes(ctx, 1, data.rank() - 2);
  for (size_t i = 2; i < data.rank(); ++i) {
    Dim size = sizes ? (*sizes)[i - 2] : Dim();
    if (size.min() > 0 && data[i].max() == 0) fail("expected a non-empty axis ", i, ", got data of shape ", data);
    data[i] = size;
  }
  return data;
}
void adaptive_avg_infer(Infer& ctx, const NoAttributes&) { ctx.output(0, ctx.type(0), adaptive_shape(ctx)); }
void adaptive_max_infer(Infer& ctx, const AdaptiveMaxPool& a) {
  Shape out = adaptive_shape(ctx);
  ctx.output(0, ctx.type(0), out);
  ctx.output(1, a.index_element_type, out);
}

// The input elements [first, last) averaged or maximized for output position `at`. Neighboring windows may overlap.
std::pair<int64_t, int64_t> adaptive_window(int64_t at, int64_t input, int64_t output) {
  return {at * input / output, ((at + 1) * input + output - 1) / output};
}

// Calls begin(), element(offset in the plane) and end(output element) for every window of every plane.
template <class Begin, class Element, class End>
void each_adaptive_window(TensorView x, OutputView y, Begin begin, Element element, End end) {
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  for (size_t i = 2; i < x.rank(); ++i) {
    in[i + 3 - x.rank()] = x.dim(i);
    out[i + 3 - x.rank()] = y.dim(i);
  }
  int64_t positions = out[0] * out[1] * out[2];
  for (int64_t o = 0; o < y.size(); ++o) {
    int64_t plane = o / positions, at = o % positions;
    auto [z0, z1] = adaptive_window(at / (out[1] * out[2]), in[0], out[0]);
    auto [y0, y1] = adaptive_window(at / out[2] % out[1], in[1], out[1]);
    auto [x0, x1] = adaptive_window(at % out[2], in[2], out[2]);
    begin();
    for (int64_t z = z0; z < z1; ++z)
      for (int64_t r = y0; r < y1; ++r)
        for (int64_t c = x0; c < x1; ++c) element(plane, (z * in[1] + r) * in[2] + c);
    end(static_cast<size_t>(o));
  }
}

void adaptive_avg_run(Run& ctx, const NoAttributes&) {
  TensorView x = ctx.input(0);
  OutputView y = ctx.output(0);
  if (y.size() == 0) return;
  int64_t plane_size = count_of(x.dims().subspan(2));
  std::vector<double> in = x.to<double>(), out(static_cast<size_t>(y.size()));
  bool rounded = is_integer(x.type()) && bits_of(x.type()) <= 8;
  double sum = 0, count = 0;
  each_adaptive_window(
      x, y, [&] { sum = count = 0; },
      [&](int64_t plane, int64_t at) { sum += in[static_cast<size_t>(plane * plane_size + at)], count += 1; },
      [&](size_t o) { out[o] = rounded ? std::nearbyint(sum / count) : sum / count; });
  y.assign(out);
}

void adaptive_max_run(Run& ctx, const AdaptiveMaxPool&) {
  TensorView x = ctx.input(0);
  OutputView y = ctx.output(0);
  if (y.size() == 0) return;
  int64_t plane_size = count_of(x.dims().subspan(2));
  std::vector<int64_t> index(static_cast<size_t>(y.size()));
  with_number_type(x.type(), [&]<class T>(T) {
    std::vector<T> in = x.to<T>(), out(static_cast<size_t>(y.size()));
    T best{};
    int64_t best_at = -1;
    each_adaptive_window(
        x, y, [&] { best_at = -1; },
        [&](int64_t plane, int64_t at) {
          T v = in[static_cast<size_t>(plane * plane_size + at)];
          if (best_at < 0 || v > best) best = v, best_at = at;
        },
        [&](size_t o) { out[o] = best, index[o] = best_at; });
    y.assign(out);
  });
  if (ctx.output_used(1)) ctx.output(1).assign(index);
}

}  // namespace

Definitions define_adaptive_pool() {
  return {
      op("AdaptiveAvgPool", 8)
          .doc("Average pooling to a given output size")
          .traits(Trait::channelwise)
          .inputs("data, output_shape")
          .infer(adaptive_avg_infer)
          .reference(adaptive_avg_run),
      op<AdaptiveMaxPool>("AdaptiveMaxPool", 8)
          .doc("Max pooling to a given output size, with the index of each maximum")
          .traits(Trait::channelwise)
          .inputs("data, output_shape")
          .outputs("output, indices")
          .infer(adaptive_max_infer)
          .reference(adaptive_max_run),
  };
}

}  // namespace graft
