// MatMul, FusedMatMul and GroupedMatMul
#include <graft/kit/epilogue.hpp>
#include <graft/numeric.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

struct MatMul {
  bool transpose_a = false, transpose_b = false;
  static constexpr std::tuple schema{
      attr("transpose_a", &MatMul::transpose_a, "transpose the last two axes of the first input"),
      attr("transpose_b", &MatMul::transpose_b, "transpose the last two axes of the second input")};
};

void check_inner(const Dim& a, const Dim& b, const Shape& x, const Shape& y) {
  if (a.known() && b.known() && a.value() != b.value())
    fail("expected equal inner dimensions, got ", a, " and ", b, " for matrices of shapes ", x, " and ", y);
}

// A 1-D tensor is a row vector on the left and a column vector on the right; its extra axis is removed from the result.
void matmul_infer(Infer& ctx, const MatMul& a) {
  DType type = common_type(ctx);
  Shape x = ctx.shape(0), y = ctx.shape(1);
  if (!x.ranked() || !y.ranked()) return ctx.output(0, type, Shape::unknown());
  if (x.rank() == 0 || y.rank() == 0) fail("expected inputs of rank 1 or more, got a scalar");
  bool row = x.rank() == 1, column = y.rank() == 1;
  std::vector<Dim> p = x.dims(), q = y.dims();
  if (row) p.insert(p.begin(), Dim(1));
  else if (a.transpose_a) std::swap(p[p.size() - 1], p[p.size() - 2]);
  if (column) q.push_back(Dim(1));
  else if (a.transpose_b) std::swap(q[q.size() - 1], q[q.size() - 2]);
  check_inner(p[p.size() - 1], q[q.size() - 2], x, y);
  Dim rows = p[p.size() - 2], columns = q[q.size() - 1];
  p.resize(p.size() - 2), q.resize(q.size() - 2);
  Shape out = broadcast(Shape(std::move(p)), Shape(std::move(q)));
  if (!row) out.push_back(rows);
  if (!column) out.push_back(columns);
  ctx.output(0, type, out);
}

// A strided matrix: its size, and the distances in elements to the next row (`down`) and column (`right`).
struct Matrix {
  int64_t rows, columns, down, right;
  Matrix transposed() const { return {columns, rows, right, down}; }
};
Matrix last_matrix(std::span<const int64_t> dims) {
  int64_t rows = dims[dims.size() - 2], columns = dims[dims.size() - 1];
  return {rows, columns, columns, 1};
}

// y = a * b, where y is dense and row-major.
template <class T>
void multiply(const T* a, const Matrix& p, const T* b, const Matrix& q, T* y) {
  for (int64_t i = 0; i < p.rows; ++i) {
    T* row = y + i * q.columns;
    std::fill(row, row + q.columns, T{});
    for (int64_t k = 0; k < p.columns; ++k) {
      T factor = a[i * p.down + k * p.right];
      const T* other = b + k * q.down;
      for (int64_t j = 0; j < q.columns; ++j) row[j] = wrap_add(row[j], wrap_mul(factor, other[j * q.right]));
    }
  }
}

void matmul_run(Run& ctx, const MatMul& a) {
  TensorView x = ctx.input(0), y = ctx.input(1);
  OutputView out = ctx.output(0);
  std::vector<int64_t> p(x.dims().begin(), x.dims().end()), q(y.dims().begin(), y.dims().end());
  bool row = p.size() == 1, column = q.size() == 1;
  if (row) p.insert(p.begin(), 1);
  if (column) q.push_back(1);
  Matrix left = last_matrix(p), right = last_matrix(q);
  int64_t left_size = left.rows * left.columns, right_size = right.rows * right.columns;
  if (a.transpose_a && !row) left = left.transposed();
  if (a.transpose_b && !column) right = right.transposed();
  p.resize(p.size() - 2), q.resize(q.size() - 2);
  std::span<const int64_t> batch = out.dims().first(out.rank() - (row ? 0 : 1) - (column ? 0 : 1));
  with_number_type(x.type(), [&]<class T>(T) {
    std::vector<T> u = x.to<T>(), v = y.to<T>(), w(static_cast<size_t>(out.size()));
    Walk walk(batch, {broadcast_strides(p, batch), broadcast_strides(q, batch)});
    if (w.empty()) return;
    T* to = w.data();
    do {
      multiply(u.data() + walk[0] * left_size, left, v.data() + walk[1] * right_size, right, to);
      to += left.rows * right.columns;
    } while (walk.next());
    out.assign(w);
  });
}

// Of [m, k] and [k, n] that is m * n * k; a batch that only one side has counts once, one that both have a little more.
double matmul_cost(const Accept& ctx) {
  auto elements = [](const Shape& s) { return std::max(1.0, static_cast<double>(s.elements().max())); };
  return std::sqrt(elements(ctx.shape(0)) * elements(ctx.shape(1)) * elements(ctx.output(0).shape));
}

// ---- GroupedMatMul ----

void grouped_matmul_infer(Infer& ctx, const NoAttributes&) {
  DType type = common_type(ctx, {0, 1});
  Shape x = ctx.shape(0), y = ctx.shape(1);
  if (!x.ranked() || !y.ranked()) return ctx.output(0, type, Shape::unknown());
  if (y.rank() != 3 || (x.rank() != 3 && x.rank() != 2))
    fail("expected matrices of rank 2 or 3 and rank 3, got shapes ", x, " and ", y);
  check_inner(x[x.rank() - 1], y[2], x, y);
  if (x.rank() == 3) return ctx.output(0, type, Shape{merge(x[0], y[0]), x[1], y[1]});
  if (!ctx.has_input(2)) fail("a first input of rank 2 (rows shared among the groups) requires offsets");
  Shape offsets = ctx.shape(2);
  if (offsets.ranked() && offsets.rank() != 1) fail("expected 1-D offsets, got shape ", offsets);
  if (offsets.ranked()) merge(offsets[0], y[0]);
  ctx.output(0, type, Shape{x[0], y[1]});
}

// The weights are stored transposed. With offsets, group g takes the rows from the end of group g - 1 to offsets[g].
void grouped_matmul_run(Run& ctx, const NoAttributes&) {
  TensorView x = ctx.input(0), y = ctx.input(1);
  OutputView out = ctx.output(0);
  int64_t groups = y.dim(0), inner = y.dim(2), columns = y.dim(1);
  std::vector<int64_t> ends;
  if (x.rank() == 2) ends = ctx.input(2).to<int64_t>();
  else
    for (int64_t g = 0; g < groups; ++g) ends.push_back((g + 1) * x.dim(1));
  int64_t rows = x.rank() == 2 ? x.dim(0) : groups * x.dim(1);
  with_number_type(x.type(), [&]<class T>(T) {
    std::vector<T> u = x.to<T>(), v = y.to<T>(), w(static_cast<size_t>(out.size()));
    int64_t begin = 0;
    for (int64_t g = 0; g < groups; ++g) {
      int64_t end = ends[static_cast<size_t>(g)];
      if (end < begin || end > rows)
        fail("expected ascending offsets of at most ", rows, ", got rows ", begin, " to ", end, " for group ", g);
      multiply(u.data() + begin * inner, Matrix{end - begin, inner, inner, 1}, v.data() + g * columns * inner,
               Matrix{inner, columns, 1, inner}, w.data() + begin * columns);
      begin = end;
    }
    out.assign(w);
  });
}

// ---- FusedMatMul ----

// A product with what surrounds it. The CPU's passes make it when a model is compiled; see
// src/devices/cpu/passes/fuse_matmul.cpp.
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

// ---- ONNX ----

Value import_gemm(Builder& layer) {
  Value y =
      layer.op("MatMul", {layer.input(0), layer.input(1)},
               {{"transpose_a", layer.get<bool>("transA", false)}, {"transpose_b", layer.get<bool>("transB", false)}});
  y = y * layer.get<float>("alpha", 1.0f);
  float beta = layer.get<float>("beta", 1.0f);
  return layer.has_input(2) && beta != 0 ? y + layer.input(2) * beta : y;
}

}  // namespace

Definitions define_matmul() {
  return {
      op<MatMul>("MatMul", 1)
          .doc("Matrix product over the last two axes; the other axes broadcast")
          .traits(Trait::widens)
          .inputs("a, b")
          .infer(matmul_infer)
          .cost(matmul_cost)
          .reference(matmul_run)
          .import(onnx("MatMul")),
      op<FusedMatMul>("FusedMatMul", "graft")
          .doc("Matrix product of transposed operands, scaled; adds a bias per column and a tensor; then an epilogue")
          .inputs("a, b, bias?, sum?")
          .any_attributes()
          .infer(fused_matmul_infer)
          .reference(fused_matmul_prepare, fused_matmul_run),
      op("GroupedMatMul", 17)
          .doc("One matrix product per group; the weights are stored transposed")
          .inputs("mat_a, mat_b, offsets?")
          .infer(grouped_matmul_infer)
          .reference(grouped_matmul_run),
      onnx("Gemm").ignore("broadcast").expand(import_gemm),
  };
}

}  // namespace graft
