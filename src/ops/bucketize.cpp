// Bucketize and SearchSorted: the index at which a number belongs in a sorted sequence.
#include <graft/op.hpp>

namespace graft {
namespace {

struct Bucketize {
  DType output_type = DType::i64;
  bool with_right_bound = true;
  static constexpr std::tuple schema{
      attr("output_type", &Bucketize::output_type, "element type of the result, i64 or i32"),
      attr("with_right_bound", &Bucketize::with_right_bound, "close each bucket at its upper bound")};
};
struct SearchSorted {
  bool right_mode = false;
  DType output_type = DType::i64;
  static constexpr std::tuple schema{
      attr("right_mode", &SearchSorted::right_mode,
           "return the last suitable index among equal elements instead of the first"),
      attr("output_type", &SearchSorted::output_type, "element type of the result, i64 or i32")};
};

void check_place_type(DType type) {
  if (type != DType::i64 && type != DType::i32) fail("expected output_type i64 or i32, got ", type);
}

void bucketize_infer(Infer& ctx, const Bucketize& a) {
  check_place_type(a.output_type);
  Shape bounds = ctx.shape(1);
  if (bounds.ranked() && bounds.rank() != 1) fail("expected 1-D bucket boundaries, got shape ", bounds);
  ctx.output(0, a.output_type, ctx.shape(0));
}

void search_sorted_infer(Infer& ctx, const SearchSorted& a) {
  check_place_type(a.output_type);
  common_type(ctx);
  Shape sorted = ctx.shape(0), values = ctx.shape(1);
  if (sorted.ranked() && sorted.rank() == 0) fail("expected a sorted sequence of rank 1 or more, got a scalar");
  if (sorted.ranked() && sorted.rank() > 1) {
    if (values.ranked() && values.rank() != sorted.rank())
      fail("expected values whose leading dimensions match the sorted sequence of shape ", sorted, ", got shape ",
           values);
    size_t last = sorted.rank() - 1;
    Dim many = values.ranked() ? values[last] : Dim();
    sorted[last] = Dim();
    values = merge(values, sorted);
    values[last] = many;
  }
  ctx.output(0, a.output_type, values);
}

// The number of elements among the `n` sorted ones at `first` that precede `x`.
template <class T>
int64_t sorted_place(const T* first, int64_t n, T x, bool after_equal) {
  const T* at = after_equal ? std::upper_bound(first, first + n, x) : std::lower_bound(first, first + n, x);
  return at - first;
}

// `rows`: each row of the values is searched in its own sorted row.
void sorted_places(Run& ctx, TensorView sorted, TensorView values, bool rows, bool after_equal) {
  auto look_up = [&]<class T>(T) {
    std::vector<T> s = sorted.to<T>(), v = values.to<T>();
    int64_t n = sorted.dim(sorted.rank() - 1), per_row = rows ? values.dim(values.rank() - 1) : 1;
    std::vector<int64_t> places(v.size());
    for (size_t i = 0; i < v.size(); ++i) {
      int64_t row = rows ? static_cast<int64_t>(i) / per_row : 0;
      places[i] = sorted_place(s.data() + row * n, n, v[i], after_equal);
    }
    ctx.output(0).assign(places);
  };
  if (is_real(sorted.type()) || is_real(values.type())) look_up(double{});
  else if (sorted.type() == DType::u64 && values.type() == DType::u64) look_up(uint64_t{});
  else look_up(int64_t{});
}

void bucketize_run(Run& ctx, const Bucketize& a) {
  sorted_places(ctx, ctx.input(1), ctx.input(0), false, !a.with_right_bound);
}
void search_sorted_run(Run& ctx, const SearchSorted& a) {
  sorted_places(ctx, ctx.input(0), ctx.input(1), ctx.input(0).rank() > 1, a.right_mode);
}

}  // namespace

Definitions define_bucketize() {
  return {
      op<Bucketize>("Bucketize", 3)
          .doc("Index of the bucket, between sorted boundaries, that each element falls into")
          .inputs("data, buckets")
          .infer(bucketize_infer)
          .linear()
          .reference(bucketize_run),
      op<SearchSorted>("SearchSorted", 15)
          .doc("Index at which each value would be inserted into a sorted sequence to keep it sorted")
          .inputs("sorted_sequence, values")
          .infer(search_sorted_infer)
          .linear()
          .reference(search_sorted_run),
  };
}

}  // namespace graft
