// Operations on sets, the rows of two tensors.
#include <set>

#include "strings.hpp"

namespace graft {
namespace {

struct SetOperation {
  enum Operation { difference, reversed, common, either } set_operation = difference;
  static constexpr std::tuple schema{attr("set_operation", &SetOperation::set_operation,
                                          "what the result holds: elements of the first set that are not in the "
                                          "second, of the second that are not in the first, of both, of any")
                                         .one_of("a-b", "b-a", "intersection", "union")
                                         .required()};
};

void set_operation_infer(Infer& ctx, const SetOperation&) {
  Shape a = ctx.shape(0), b = ctx.shape(1);
  DType type = common_type(ctx);
  if (type != DType::string && type != DType::undefined && !is_integer(type))
    fail("expected sets of integers or strings, got ", type);
  Dim rank;
  if (a.ranked() && a.rank() < 2) fail("expected sets along the last of at least 2 axes, got shape ", a);
  if (a.ranked() && b.ranked()) {
    if (a.rank() != b.rank()) fail("expected sets of the same rank, got shapes ", a, " and ", b);
    for (size_t i = 0; i + 1 < a.rank(); ++i) merge(a[i], b[i]);
  }
  if (a.ranked() || b.ranked()) rank = Dim(static_cast<int64_t>(a.ranked() ? a.rank() : b.rank()));
  ctx.output(0, DType::i64, Shape{Dim(), rank});
  ctx.output(1, type, Shape{Dim()});
  ctx.output(2, DType::i64, Shape{rank});
}

template <class T>
std::vector<T> set_elements(const TensorView& t) {
  if constexpr (std::is_same_v<T, std::string_view>) {
    std::vector<T> out;
    for (int64_t i = 0; i < t.size(); ++i) out.push_back(string_of(t, i));
    return out;
  } else {
    return t.to<T>();
  }
}

template <class T>
void set_operation(Run& ctx, const SetOperation& how) {
  TensorView x = ctx.input(0), y = ctx.input(1);
  size_t rank = x.rank();
  if (rank < 2 || y.rank() != rank || !std::equal(x.dims().begin(), x.dims().end() - 1, y.dims().begin()))
    fail("expected sets along the last axis of tensors that agree in all others, got shapes ", x.info().shape, " and ",
         y.info().shape);
  std::vector<T> a = set_elements<T>(x), b = set_elements<T>(y), values;
  auto set_of = [](const std::vector<T>& all, int64_t width, int64_t row) {
    return std::set<T>(all.begin() + row * width, all.begin() + (row + 1) * width);
  };
  std::vector<int64_t> places, shape(x.dims().begin(), x.dims().end());
  int64_t most = 0, row = 0;
  Walk walk(x.dims().first(rank - 1), {});
  if (!walk.empty()) {
    do {
      std::set<T> left = set_of(a, x.dim(rank - 1), row), right = set_of(b, y.dim(rank - 1), row);
      std::vector<T> found;
      auto apply = [&](auto f, const std::set<T>& p, const std::set<T>& q) {
        f(p.begin(), p.end(), q.begin(), q.end(), std::back_inserter(found));
      };
      auto difference = [](auto... v) { std::set_difference(v...); };
      switch (how.set_operation) {
        case SetOperation::difference: apply(difference, left, right); break;
        case SetOperation::reversed: apply(difference, right, left); break;
        case SetOperation::common: apply([](auto... v) { std::set_intersection(v...); }, left, right); break;
        case SetOperation::either: apply([](auto... v) { std::set_union(v...); }, left, right); break;
      }
      for (size_t i = 0; i < found.size(); ++i) {
        places.insert(places.end(), walk.index().begin(), walk.index().end());
        places.push_back(static_cast<int64_t>(i)), values.push_back(found[i]);
      }
      most = std::max(most, static_cast<int64_t>(found.size())), ++row;
    } while (walk.next());
  }
  shape.back() = most;
  auto n = static_cast<int64_t>(values.size());
  if (ctx.output_used(0)) ctx.allocate(0, {n, static_cast<int64_t>(rank)}).assign(places);
  if (ctx.output_used(1)) {
    OutputView out = ctx.allocate(1, {n});
    if constexpr (std::is_same_v<T, std::string_view>)
      for (int64_t i = 0; i < n; ++i) ctx.store(out, i, values[static_cast<size_t>(i)]);
    else out.assign(values);
  }
  if (ctx.output_used(2)) ctx.allocate(2, {static_cast<int64_t>(rank)}).assign(shape);
}
void set_operation_run(Run& ctx, const SetOperation& a) {
  DType type = ctx.input(0).type();
  if (type == DType::string) set_operation<std::string_view>(ctx, a);
  else if (type == DType::u64) set_operation<uint64_t>(ctx, a);
  else set_operation<int64_t>(ctx, a);
}

}  // namespace

Definitions define_set_operation() {
  return op<SetOperation>("SetOperation", "graft")
      .doc("Operate on sets along the last axis; the result is sparse: indices, elements in ascending order, shape")
      .inputs("a, b")
      .outputs("indices, values, shape")
      .infer(set_operation_infer)
      .linear()
      .reference(set_operation_run)
      .import(tensorflow("DenseToDenseSetOperation").ignore("validate_indices"));
}

}  // namespace graft
