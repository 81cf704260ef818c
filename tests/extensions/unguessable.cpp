// Operations whose valid cases a schema does not tell. tests/cli/test_check.py says which of them graft check can check.
#include <graft/extension.hpp>

namespace {

using namespace graft;

void copy(Run& ctx, const NoAttributes&) { ctx.output(0).assign(ctx.input(0)); }
void refuses(Infer&, const NoAttributes&) { fail("expected something else"); }
void run_the_body(Run& ctx, const NoAttributes&) {
  TensorView x = ctx.input(0);
  std::vector<TensorView> results = ctx.run_body(0, std::span(&x, 1), 1);
  ctx.allocate(0, x.dims()).assign(results[0]);
}
void body_shape(Infer& ctx, const NoAttributes&) {
  Info result = ctx.infer_body(0, {{ctx.type(0), ctx.shape(0)}})[0];
  ctx.output(0, result.type, result.shape);
}

struct Table {
  TensorView tab;
  static constexpr std::tuple schema{attr("tab", &Table::tab, "what is added").required()};
};
void table_shape(Infer& ctx, const Table&) { ctx.output(0, ctx.type(0), ctx.shape(0)); }
void add_table(Run& ctx, const Table& a) {
  std::vector<double> v = ctx.input(0).to<double>(), t = a.tab.to<double>();
  for (double& x : v) x += t.empty() ? 0 : t[0];
  ctx.output(0).assign(v);
}

void quantized_shape(Infer& ctx, const NoAttributes&) {
  if (ctx.type(0) != DType::u8) fail("x: expected u8, got ", ctx.type(0));
  if (ctx.type(1) != DType::i8) fail("w: expected i8, got ", ctx.type(1));
  if (ctx.type(2) != DType::f32) fail("s: expected f32, got ", ctx.type(2));
  Shape x = ctx.shape(0), w = ctx.shape(1);
  if (!x.ranked() || !w.ranked()) return ctx.output(0, DType::f32, Shape::of_rank(2));
  if (x.rank() != 2) fail("x: expected rank 2, got ", x.rank());
  if (w.rank() != 2) fail("w: expected rank 2, got ", w.rank());
  if (x[1].known() && w[1].known() && x[1].value() != w[1].value())
    fail("w: expected ", x[1].value(), " columns, got ", w[1].value());
  ctx.output(0, DType::f32, Shape{x[0], w[0]});
}
void quantized(Run& ctx, const NoAttributes&) {
  std::vector<double> x = ctx.input(0).to<double>(), w = ctx.input(1).to<double>(), s = ctx.input(2).to<double>();
  int64_t rows = ctx.output(0).dims()[0], columns = ctx.output(0).dims()[1], depth = ctx.input(0).dims()[1];
  if (ctx.input(2).size() != columns) fail("s: expected ", columns, " scales, got ", ctx.input(2).size());
  std::vector<double> y;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) {
      double sum = 0;
      for (int64_t k = 0; k < depth; ++k)
        sum += x[static_cast<size_t>(r * depth + k)] * w[static_cast<size_t>(c * depth + k)];
      y.push_back(sum * s[static_cast<size_t>(c)]);
    }
  ctx.output(0).assign(y);
}

}  // namespace

GRAFT_EXTENSION("unguessable", "1.0") {
  return {
      op("Refuses", "unguessable").inputs("x").infer(refuses).reference(copy),
      op("HasABody", "unguessable").inputs("x").body("").infer(body_shape).reference(run_the_body),
      op<Table>("Table", "unguessable").inputs("x").infer(table_shape).reference(add_table),
      op("Quantized", "unguessable").inputs("x, w, s").infer(quantized_shape).reference(quantized),
  };
}
