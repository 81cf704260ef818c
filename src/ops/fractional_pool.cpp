// Fractional pooling (Graham, "Fractional max-pooling"): windows of two sizes in a random order, here of a given seed.
#include <cmath>
#include <graft/numeric.hpp>
#include <graft/op.hpp>

#include "philox.hpp"

namespace graft {
namespace {

struct FractionalPool {
  enum Mode { max, average } mode = max;
  bool overlapping = false;
  static constexpr std::tuple schema{
      attr("mode", &FractionalPool::mode, "what a window gives: its maximum or its average").one_of("max", "average"),
      attr("overlapping", &FractionalPool::overlapping,
           "whether the first row and column of the next window belong to a window, too")};
};

Dim fractional_windows(Infer& ctx, size_t input) {
  if (DType t = ctx.type(input); !is_integer(t) && t != DType::undefined)
    fail("expected integers in input ", input, ", got ", t);
  Shape s = merge(ctx.shape(input), Shape::of_rank(1));
  if (s[0].max() < 2) fail("expected at least 2 borders of windows in input ", input, ", got ", s[0]);
  return s[0] - 1;
}
void fractional_infer(Infer& ctx, const FractionalPool&) {
  Shape x = merge(ctx.shape(0), Shape::of_rank(4));
  if (DType t = ctx.type(0); !is_real(t) && !is_integer(t) && t != DType::undefined) fail("expected numbers, got ", t);
  ctx.output(0, ctx.type(0), Shape{x[0], fractional_windows(ctx, 1), fractional_windows(ctx, 2), x[3]});
}

// Where the windows begin, and the end of the last one.
std::vector<int64_t> fractional_borders(const TensorView& list, int64_t size) {
  std::vector<int64_t> borders = list.to<int64_t>();
  if (borders.size() < 2 || borders.front() < 0 || borders.back() > size)
    fail("expected borders of windows from 0 to ", size, ", got ", borders);
  for (size_t i = 1; i < borders.size(); ++i)
    if (borders[i] <= borders[i - 1]) fail("expected rising borders of windows, got ", borders);
  return borders;
}

template <class T>
T pooled(const std::vector<T>& window, FractionalPool::Mode mode) {
  T out = window[0];
  for (size_t i = 1; i < window.size(); ++i) {
    if (mode == FractionalPool::average) out = wrap_add(out, window[i]);
    else if (window[i] > out || window[i] != window[i]) out = window[i];
  }
  return mode == FractionalPool::average ? safe_div(out, static_cast<T>(window.size())) : out;
}

void fractional_run(Run& ctx, const FractionalPool& a) {
  TensorView x = ctx.input(0);
  int64_t height = x.dim(1), width = x.dim(2), channels = x.dim(3), more = a.overlapping ? 1 : 0;
  std::vector<int64_t> rows = fractional_borders(ctx.input(1), height),
                       columns = fractional_borders(ctx.input(2), width);
  with_number_type(x.type(), [&]<class T>(T) {
    std::vector<T> in = x.to<T>(), out;
    for (int64_t n = 0; n < x.dim(0); ++n)
      for (size_t i = 0; i + 1 < rows.size(); ++i)
        for (size_t j = 0; j + 1 < columns.size(); ++j)
          for (int64_t k = 0; k < channels; ++k) {
            std::vector<T> window;
            for (int64_t r = rows[i]; r < std::min(rows[i + 1] + more, height); ++r)
              for (int64_t c = columns[j]; c < std::min(columns[j + 1] + more, width); ++c)
                window.push_back(in[static_cast<size_t>(((n * height + r) * width + c) * channels + k)]);
            out.push_back(pooled(window, a.mode));
          }
    ctx.output(0).assign(out);
  });
}

// ---- TensorFlow ----

// Groups of four random words.
std::vector<uint32_t> random_groups(Philox& generator, size_t groups) {
  std::vector<uint32_t> words;
  for (size_t i = 0; i < groups; ++i)
    for (uint32_t w : generator.next()) words.push_back(w);
  return words;
}
// Window sizes that add up to `size`.
std::vector<int64_t> random_windows(int64_t size, int64_t count, bool pseudo, Philox& generator) {
  auto n = static_cast<size_t>(count);
  std::vector<int64_t> windows(n, size / count);
  if (size % count == 0) return windows;
  if (pseudo) {  // borders at ceil(alpha * (i + u))
    std::vector<uint32_t> words = random_groups(generator, 1);
    double alpha = static_cast<double>(size) / static_cast<double>(count), k = static_cast<double>(size / count);
    double most =
        std::min((k + 2) / alpha - 1, (static_cast<double>(size) + 1 - k) / alpha - static_cast<double>(count - 1));
    double u =
        std::ldexp(static_cast<double>((uint64_t{words[0]} << 32 | words[1]) & ((uint64_t{1} << 52) - 1)), -52) * most;
    int64_t before = 1;
    for (size_t i = 0; i < n; ++i) {
      int64_t next = i + 1 < n ? static_cast<int64_t>(std::ceil(alpha * (static_cast<double>(i + 1) + u))) : size + 1;
      windows[i] = next - before, before = next;
    }
    return windows;
  }
  for (int64_t i = 0; i < size % count; ++i) ++windows[static_cast<size_t>(i)];
  std::vector<uint32_t> words = random_groups(generator, (n + 3) / 4);
  for (size_t i = 0; i + 1 < n; ++i) std::swap(windows[i], windows[i + words[i] % (n - i)]);
  return windows;
}

template <FractionalPool::Mode mode>
std::vector<Value> tf_fractional_pool(Builder& layer) {
  Value x = layer.input(0);
  auto ratio = layer.get<std::vector<double>>("pooling_ratio");
  int64_t seed = layer.get<int64_t>("seed", 0), seed2 = layer.get<int64_t>("seed2", 0);
  if (ratio.size() != 4 || ratio[0] != 1 || ratio[3] != 1 || !(ratio[1] >= 1) || !(ratio[2] >= 1))
    fail("expected 4 ratios of at least 1, of 1 for batch and channels, got ", ratio);
  if (!layer.get<bool>("deterministic", false) || (seed == 0 && seed2 == 0))
    unsupported("expected windows of a seed (deterministic, and seed or seed2 other than 0), got random ones");
  bool pseudo = layer.get<bool>("pseudo_random", false);
  Shape s = x.shape();
  if (!s.ranked() || s.rank() != 4 || !s[1].known() || !s[2].known())
    unsupported("expected images [batch,height,width,channels] of known size, got ", s);
  Philox generator(static_cast<uint64_t>(seed), static_cast<uint64_t>(seed2));
  std::vector<Value> out{Value()};
  for (size_t axis : {1, 2}) {
    int64_t size = s[axis].value(), count = static_cast<int64_t>(std::floor(static_cast<double>(size) / ratio[axis]));
    if (count < 1 || size > 1 << 24)
      fail("expected at least one window and at most ", 1 << 24, " rows or columns, got ", count, " windows of ", size);
    std::vector<int64_t> borders{0};
    for (int64_t w : random_windows(size, count, pseudo, generator)) borders.push_back(borders.back() + w);
    out.push_back(layer.ints(borders));
  }
  out[0] = layer.op("FractionalPool@graft", {x, out[1], out[2]},
                    {{"mode", mode == FractionalPool::max ? "max" : "average"},
                     {"overlapping", layer.get<bool>("overlapping", false)}});
  return out;
}

}  // namespace

Definitions define_fractional_pool() {
  return op<FractionalPool>("FractionalPool", "graft")
      .doc("Pool images [N,H,W,C] in windows of different sizes, whose borders are given")
      .inputs("data, rows, columns")
      .infer(fractional_infer)
      .reference(fractional_run)
      .import(tensorflow("FractionalAvgPool").expand(tf_fractional_pool<FractionalPool::average>))
      .import(tensorflow("FractionalMaxPool").expand(tf_fractional_pool<FractionalPool::max>));
}

}  // namespace graft
