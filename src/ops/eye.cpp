#include <graft/kit/expressions.hpp>
#include <graft/op.hpp>

#include "one_way.hpp"

namespace graft {
namespace {

struct Eye {
  DType output_type = DType::undefined;
  static constexpr std::tuple schema{attr("output_type", &Eye::output_type, "element type of the result").required()};
};

// A value to be used as a dimension.
Dim eye_dimension(const Dim& d, std::string_view what) {
  if (d.known() && d.min() < 0) fail("expected a non-negative ", what, ", got ", d.min());
  return d.min() < 0 ? Dim() : d;
}

void eye_infer(Infer& ctx, const Eye& a) {
  check_single(ctx, 0, "number of rows");
  check_single(ctx, 1, "number of columns");
  check_single(ctx, 2, "diagonal index");
  auto numbers = [&](size_t i) -> std::optional<Shape> {
    if (auto k = ctx.known(i)) return k;
    auto v = ctx.values<int64_t>(i);
    if (!v) return std::nullopt;
    Shape s;
    for (int64_t x : *v) s.push_back(Dim(graft_dim{x, x, 0, 0}));
    return s;
  };
  Shape out;
  if (ctx.has_input(3)) {
    Shape list = ctx.shape(3);
    if (list.ranked() && list.rank() != 1) fail("expected a 1-D batch shape, got shape ", list);
    if (auto batch = numbers(3)) {
      for (const Dim& d : *batch) out.push_back(eye_dimension(d, "batch dimension"));
    } else if (list.ranked() && list[0].known()) {
      out = Shape::of_rank(static_cast<size_t>(list[0].value()));
    } else {
      return ctx.output(0, a.output_type, Shape::unknown());
    }
  }
  auto rows = numbers(0), columns = numbers(1);
  out.push_back(rows && rows->rank() == 1 ? eye_dimension((*rows)[0], "number of rows") : Dim());
  out.push_back(columns && columns->rank() == 1 ? eye_dimension((*columns)[0], "number of columns") : Dim());
  ctx.output(0, a.output_type, out);
}

void eye_run(Run& ctx, const Eye&) {
  OutputView y = ctx.output(0);
  int64_t diagonal = ctx.input(2).scalar<int64_t>();
  int64_t rows = y.dim(y.rank() - 2), columns = y.dim(y.rank() - 1);
  std::vector<uint8_t> v(static_cast<size_t>(y.size()), 0);
  if (!v.empty() && diagonal > -rows && diagonal < columns) {
    int64_t first = diagonal < 0 ? -diagonal * columns : diagonal;
    int64_t many = std::min(rows - std::max<int64_t>(-diagonal, 0), columns - std::max<int64_t>(diagonal, 0));
    for (int64_t base = 0; base < y.size(); base += rows * columns)
      for (int64_t i = 0; i < many; ++i) v[static_cast<size_t>(base + first + i * (columns + 1))] = 1;
  }
  y.assign(v);
}

Value import_eye_like(Builder& layer) {
  Value x = layer.input(0);
  DType type = layer.has("dtype") ? onnx_element_type(layer.get<int64_t>("dtype")) : x.type();
  return layer.op("Eye", {dimension_of(x, 0), dimension_of(x, 1), layer.scalar(layer.get<int64_t>("k", 0))},
                  {{"output_type", type}});
}

}  // namespace

Definitions define_eye() {
  return op<Eye>("Eye", 9)
      .doc("Matrices with ones on a diagonal and zeros elsewhere")
      .inputs("num_rows, num_columns, diagonal_index, batch_shape?")
      .infer(eye_infer)
      .linear()
      .reference(eye_run)
      .import(onnx("EyeLike").rank(0, 2, 2).expand(import_eye_like));
}

}  // namespace graft
