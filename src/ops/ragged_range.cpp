#include <cmath>

#include "splits.hpp"

namespace graft {
namespace {

struct RaggedRange {
  DType Tsplits = DType::i64;
  static constexpr std::tuple schema{attr("Tsplits", &RaggedRange::Tsplits, "element type of the splits, i32 or i64")};
};

void ragged_range_infer(Infer& ctx, const RaggedRange& a) {
  check_splits_type(a.Tsplits);
  Dim rows(1);
  for (size_t i = 0; i < 3; ++i) {
    Shape s = ctx.shape(i);
    if (!s.ranked()) rows = Dim();
    else if (s.rank() > 1) fail("expected a number or a list in input ", i, ", got shape ", s);
    else if (s.rank() == 1) rows = broadcast(rows, s[0]);
  }
  ctx.output(0, a.Tsplits, Shape{rows + 1});
  ctx.output(1, common_type(ctx), Shape{Dim()});
}

// How many numbers lie from start to limit, which is not one of them.
template <class T>
uint64_t ragged_length(T start, T limit, T step) {
  if (step == T{}) fail("expected a step other than 0");
  if (step > T{} ? limit <= start : limit >= start) return 0;
  if constexpr (std::is_integral_v<T>) {
    uint64_t distance = step > 0 ? static_cast<uint64_t>(limit) - static_cast<uint64_t>(start)
                                 : static_cast<uint64_t>(start) - static_cast<uint64_t>(limit);
    uint64_t size = step > 0 ? static_cast<uint64_t>(step) : -static_cast<uint64_t>(step);
    return distance / size + (distance % size != 0);
  } else {
    double n =
        std::ceil(std::abs((static_cast<double>(limit) - static_cast<double>(start)) / static_cast<double>(step)));
    if (!(n < 1e15)) fail("expected ranges of numbers that fit in memory, got ", start, " to ", limit, " by ", step);
    return static_cast<uint64_t>(n);
  }
}

template <class T>
void ragged_range(Run& ctx) {
  std::vector<std::vector<T>> in;
  size_t rows = 1;
  for (size_t i = 0; i < 3; ++i) {
    in.push_back(ctx.input(i).to<T>());
    if (ctx.input(i).rank() == 0) continue;
    if (rows != 1 && in[i].size() != 1 && in[i].size() != rows)
      fail("expected as many starts, limits and steps, got ", in[i].size(), " and ", rows);
    rows = in[i].size() == 1 ? rows : in[i].size();
  }
  auto value = [&](size_t i, size_t row) { return in[i][in[i].size() == 1 ? 0 : row]; };
  constexpr uint64_t most = uint64_t{1} << 40;
  std::vector<int64_t> splits{0};
  for (size_t r = 0; r < rows; ++r) {
    uint64_t n = ragged_length(value(0, r), value(1, r), value(2, r));
    if (n > most || static_cast<uint64_t>(splits.back()) + n > most)
      fail("expected at most ", most, " numbers in all ranges, got more");
    splits.push_back(splits.back() + static_cast<int64_t>(n));
  }
  T* y = ctx.allocate(1, {splits.back()}).template data<T>();
  for (size_t r = 0; r < rows; ++r) {
    T v = value(0, r);
    for (int64_t i = splits[r]; i < splits[r + 1]; ++i) {
      y[i] = v;
      if (i + 1 < splits[r + 1]) v += value(2, r);
    }
  }
  ctx.output(0).assign(splits);
}
// Sums are rounded in the element type, as TensorFlow rounds them.
void ragged_range_run(Run& ctx, const RaggedRange&) {
  switch (DType type = ctx.input(0).type()) {
    case DType::f32: return ragged_range<float>(ctx);
    case DType::f64: return ragged_range<double>(ctx);
    case DType::i32: return ragged_range<int32_t>(ctx);
    case DType::i64: return ragged_range<int64_t>(ctx);
    default: fail("expected ranges of f32, f64, i32 or i64, got ", type);
  }
}

}  // namespace

Definitions define_ragged_range() {
  return op<RaggedRange>("RaggedRange", "graft")
      .doc("Ranges of numbers, one behind the other, and where each begins")
      .inputs("starts, limits, deltas")
      .outputs("splits, values")
      .infer(ragged_range_infer)
      .linear()
      .reference(ragged_range_run)
      .import(tensorflow("RaggedRange"));
}

}  // namespace graft
