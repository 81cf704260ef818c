// A matrix product with what surrounds it: the order of the axes, a scale, bias, sum and activation in one operation.
// The CPU's passes make it when a model is compiled; see src/devices/cpu/passes/fuse_matmul.cpp.
#include <graft/kit/epilogue.hpp>
#include <graft/kit/known.hpp>
#include <graft/op.hpp>

#include "../matmul.hpp"

namespace graft {
namespace {

struct FusedMatMul : EpilogueAttributes {
  bool transpose_a = false, transpose_b = false;
  std::vector<int64_t> order_a, order_b, order_y;
  double scale = 1;
  static constexpr std::tuple schema{
      attr("transpose_a", &FusedMatMul::transpose_a, "transpose the last two axes of the first input"),
      attr("transpose_b", &FusedMatMul::transpose_b, "transpose the last two axes of the second input"),
      attr("order_a", &FusedMatMul::order_a, "order of the axes of the first input; none: as they are"),
      attr("order_b", &FusedMatMul::order_b, "order of the axes of the second input; none: as they are"),
      attr("order_y", &FusedMatMul::order_y, "order of the axes of the result; none: as they are"),
      attr("scale", &FusedMatMul::scale, "factor of the product"),
      epilogue_low_attr,
      epilogue_high_attr,
      activation_attr,
      activation_numbers_attr};
};

void check_order(const std::vector<int64_t>& order, size_t rank, std::string_view name) {
  if (order.empty()) return;
  std::vector<bool> seen(rank, false);
  bool valid = order.size() == rank;
  for (int64_t axis : order) {
    valid = valid && axis >= 0 && static_cast<size_t>(axis) < rank && !seen[static_cast<size_t>(axis)];
    if (valid) seen[static_cast<size_t>(axis)] = true;
  }
  if (!valid) fail("expected ", name, " to be a permutation of ", rank, " axes");
}

template <class T>
std::vector<T> in_order(const std::vector<T>& dims, const std::vector<int64_t>& order) {
  if (order.empty()) return dims;
  std::vector<T> out;
  for (int64_t axis : order) out.push_back(dims[static_cast<size_t>(axis)]);
  return out;
}

// The axes of a matrix operand as the product sees them.
template <class T>
std::vector<T> operand(const std::vector<T>& dims, const std::vector<int64_t>& order, bool turned) {
  std::vector<T> out = in_order(dims, order);
  if (turned) std::swap(out[out.size() - 1], out[out.size() - 2]);
  return out;
}

// The shape of the product, before the order of the result.
std::vector<Dim> product_dims(const FusedMatMul& a, const std::vector<Dim>& x, const std::vector<Dim>& w) {
  std::vector<Dim> p = operand(x, a.order_a, a.transpose_a), q = operand(w, a.order_b, a.transpose_b);
  check_inner(p[p.size() - 1], q[q.size() - 2], Shape(x), Shape(w));
  Dim rows = p[p.size() - 2], columns = q[q.size() - 1];
  p.resize(p.size() - 2), q.resize(q.size() - 2);
  std::vector<Dim> y = broadcast(Shape(std::move(p)), Shape(std::move(q))).dims();
  y.push_back(rows), y.push_back(columns);
  return y;
}

void fused_matmul_infer(Infer& ctx, const FusedMatMul& a) {
  DType type = common_type(ctx);
  Shape x = ctx.shape(0), w = ctx.shape(1);
  if (!x.ranked() || !w.ranked()) return ctx.output(0, type, Shape::unknown());
  if (x.rank() < 2 || w.rank() < 2) fail("expected matrices, got shapes ", x, " and ", w);
  check_order(a.order_a, x.rank(), "order_a");
  check_order(a.order_b, w.rank(), "order_b");
  check_order(a.order_y, std::max(x.rank(), w.rank()), "order_y");
  std::vector<Dim> y = product_dims(a, x.dims(), w.dims());
  if (ctx.has_input(2) && ctx.shape(2).ranked()) {
    Shape bias = ctx.shape(2);
    if (bias.rank() != 1) fail("expected a bias with one value per column, got shape ", bias);
    agree(bias[0], y.back(), "values of the bias", "to match the columns");
  }
  if (ctx.has_input(3)) {
    Shape s = ctx.shape(3), all = broadcast(Shape(y), s);
    if (s.ranked() && s.rank() > y.size()) fail("expected a sum that broadcasts to the product, got shape ", s);
    for (size_t i = 0; i < y.size() && all.ranked(); ++i)
      if (all[i].known() && y[i].known() && all[i].value() != y[i].value())
        fail("expected a sum that broadcasts to ", Shape(y), ", got shape ", s);
  }
  ctx.output(0, type, Shape(in_order(y, a.order_y)));
}

// A tensor in plain order, as numbers.
struct Plain {
  std::vector<int64_t> dims;
  std::vector<double> values;
};
Plain plain(const std::vector<double>& from, std::span<const int64_t> dims, const std::vector<int64_t>& strides) {
  Plain out{{dims.begin(), dims.end()}, {}};
  Walk walk(dims, {strides});
  if (!walk.empty()) do
      out.values.push_back(from[static_cast<size_t>(walk[0])]);
    while (walk.next());
  return out;
}
Plain matrices(const TensorView& t, const std::vector<int64_t>& order, bool turned) {
  std::vector<int64_t> dims(t.dims().begin(), t.dims().end());
  return plain(t.to<double>(), operand(dims, order, turned), operand(strides_of(dims), order, turned));
}

Epilogue fused_matmul_prepare(Prepare& ctx, const FusedMatMul& a) { return epilogue_of(ctx, a); }

void fused_matmul_run(Run& ctx, const FusedMatMul& a, const Epilogue& epilogue) {
  Plain p = matrices(ctx.input(0), a.order_a, a.transpose_a), q = matrices(ctx.input(1), a.order_b, a.transpose_b);
  OutputView out = ctx.output(0);
  if (out.size() == 0) return;
  // The dimensions of the product, from those of the result.
  std::vector<int64_t> y(out.dims().begin(), out.dims().end()), strides(y.size());
  std::vector<int64_t> own = strides_of(y);
  for (size_t i = 0; i < y.size(); ++i) {
    size_t axis = a.order_y.empty() ? i : static_cast<size_t>(a.order_y[i]);
    y[axis] = out.dims()[i];
    strides[axis] = own[i];
  }
  auto left = broadcast_strides(std::span(p.dims).first(p.dims.size() - 2), std::span(y).first(y.size() - 2));
  auto right = broadcast_strides(std::span(q.dims).first(q.dims.size() - 2), std::span(y).first(y.size() - 2));
  int64_t inner = p.dims.back(), columns = y.back();
  for (int64_t& s : left) s *= p.dims[p.dims.size() - 2] * inner;
  for (int64_t& s : right) s *= inner * columns;
  left.insert(left.end(), {inner, 0}), right.insert(right.end(), {0, 1});
  std::vector<double> bias, sum, values(static_cast<size_t>(out.size()));
  std::vector<int64_t> sum_strides(y.size(), 0);
  if (ctx.has_input(2)) bias = ctx.input(2).to<double>();
  if (ctx.has_input(3)) sum = ctx.input(3).to<double>(), sum_strides = broadcast_strides(ctx.input(3).dims(), y);
  Walk walk(y, {left, right, strides, sum_strides});
  do {
    double v = 0;
    for (int64_t k = 0; k < inner; ++k)
      v += p.values[static_cast<size_t>(walk[0] + k)] * q.values[static_cast<size_t>(walk[1] + k * columns)];
    v *= a.scale;
    if (!bias.empty()) v += bias[static_cast<size_t>(walk.index().back())];
    if (!sum.empty()) v += sum[static_cast<size_t>(walk[3])];
    values[static_cast<size_t>(walk[2])] = v;
  } while (walk.next());
  out.assign(end_results(epilogue, values));
}

}  // namespace

Definitions define_internal_fused_matmul() {
  return op<FusedMatMul>("FusedMatMul", "graft")
      .doc("Matrix product of transposed operands, scaled; adds a bias per column and a tensor; then an epilogue")
      .inputs("a, b, bias?, sum?")
      .any_attributes()
      .infer(fused_matmul_infer)
      .reference(fused_matmul_prepare, fused_matmul_run);
}

}  // namespace graft
