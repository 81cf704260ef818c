#include <graft/op.hpp>

#include "index_type.hpp"

namespace graft {
namespace {

struct NonZero {
  DType output_type = DType::i64;
  static constexpr std::tuple schema{
      attr("output_type", &NonZero::output_type, "element type of the result, i64 or i32")};
};

constexpr int64_t most_counted = 1 << 16;

// The positions of the nonzero elements.
std::vector<int64_t> nonzero_positions(TensorView x) {
  std::vector<int64_t> found;
  auto look = [&](const auto& values) {
    for (size_t i = 0; i < values.size(); ++i)
      if (values[i] != 0) found.push_back(static_cast<int64_t>(i));
  };
  if (is_real(x.type())) look(x.to<double>());
  else look(x.to<int64_t>());
  return found;
}

// The output shape is data-dependent.
void nonzero_infer(Infer& ctx, const NonZero& a) {
  want_index_type(a.output_type);
  if (ctx.type(0) == DType::string) fail("expected numeric or boolean elements, got strings");
  Shape in = ctx.shape(0);
  Dim rank = in.ranked() ? Dim(static_cast<int64_t>(in.rank())) : Dim();
  Dim most = in.elements(), count = Dim::between(0, most.max());
  if (most.known() && most.value() <= most_counted)
    if (TensorView x = ctx.constant(0)) count = Dim(static_cast<int64_t>(nonzero_positions(x).size()));
  ctx.output(0, a.output_type, Shape{rank, count});
}

void nonzero_run(Run& ctx, const NonZero&) {
  TensorView x = ctx.input(0);
  std::vector<int64_t> found = nonzero_positions(x), stride = strides_of(x.dims());
  auto n = static_cast<int64_t>(found.size());
  std::vector<int64_t> out;
  for (size_t axis = 0; axis < x.rank(); ++axis)
    for (int64_t f : found) out.push_back(f / stride[axis] % x.dim(axis));
  ctx.allocate(0, {static_cast<int64_t>(x.rank()), n}).assign(out);
}

}  // namespace

Definitions define_nonzero() {
  return op<NonZero>("NonZero", 3)
      .doc("Coordinates of the nonzero elements, one row per axis")
      .inputs("data")
      .infer(nonzero_infer)
      .linear()
      .reference(nonzero_run)
      .import(onnx("NonZero"));
}

}  // namespace graft
