#include <graft/op.hpp>

#include "index_type.hpp"

namespace graft {
namespace {

struct ShapeOf {
  DType output_type = DType::i64;
  static constexpr std::tuple schema{
      attr("output_type", &ShapeOf::output_type, "element type of the result, i64 or i32")};
};

void shape_of_any(Infer& ctx, DType type) {
  Shape s = ctx.shape(0);
  if (!s.ranked()) return ctx.output(0, type, Shape{Dim()});
  ctx.output(0, type, Shape{Dim(static_cast<int64_t>(s.rank()))});
  ctx.known_output(0, s);
}
void shape_of_infer(Infer& ctx, const ShapeOf& a) {
  want_index_type(a.output_type);
  shape_of_any(ctx, a.output_type);
}
void shape_of_old_infer(Infer& ctx, const NoAttributes&) { shape_of_any(ctx, DType::i64); }
void write_shape(Run& ctx) {
  auto dims = ctx.input(0).dims();
  ctx.output(0).assign(std::vector<int64_t>(dims.begin(), dims.end()));
}
void shape_of_run(Run& ctx, const ShapeOf&) { write_shape(ctx); }
void shape_of_old_run(Run& ctx, const NoAttributes&) { write_shape(ctx); }

// ONNX can return a slice of the shape.
Value import_shape(Builder& layer) {
  Value shape = shape_of(layer.input(0));
  if (!layer.has("start") && !layer.has("end")) return shape;
  // Slice clamps bounds that are out of range, as Shape requires.
  int64_t start = layer.get<int64_t>("start", 0), end = layer.get<int64_t>("end", INT64_MAX);
  return layer.op("Slice", {shape, layer.ints({start}), layer.ints({end}), layer.ints({1})});
}

Value import_size(Builder& layer) {
  return layer.op("ReduceProd", {shape_of(layer.input(0)), layer.ints({0})}, {{"keep_dims", false}});
}

}  // namespace

Definitions define_shape_of() {
  return {
      op<ShapeOf>("ShapeOf", 3)
          .doc("Shape of a tensor, as a 1-D tensor")
          .inputs("data")
          .infer(shape_of_infer)
          .linear()
          .reference(shape_of_run)
          .import(onnx("Shape").expand(import_shape))
          .earlier(1, {{"output_type", DType::i64}}),
      op("ShapeOf", 1)
          .doc("Shape of a tensor, as a 1-D tensor of i64")
          .inputs("data")
          .infer(shape_of_old_infer)
          .linear()
          .reference(shape_of_old_run),
      onnx("Size").expand(import_size),
  };
}

}  // namespace graft
