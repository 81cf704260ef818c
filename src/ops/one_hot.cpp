#include <graft/kit/known.hpp>
#include <graft/kit/moves.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

struct OneHot1 {
  int64_t axis = 0;
  static constexpr std::tuple schema{attr("axis", &OneHot1::axis, "position of the new axis").required()};
};
struct OneHot16 {
  int64_t axis = 0;
  enum Mode { ignore_negative, normalize } negative_indices_mode = ignore_negative;
  static constexpr std::tuple schema{attr("axis", &OneHot16::axis, "position of the new axis").required(),
                                     attr("negative_indices_mode", &OneHot16::negative_indices_mode,
                                          "whether negative indices are ignored or count from the end")
                                         .one_of("ignore_negative", "normalize")};
};

void one_hot_any_infer(Infer& ctx, int64_t where) {
  Shape indices = ctx.shape(0), out = Shape::unknown();
  if (indices.ranked()) {
    size_t axis = normalize_axis(where, indices.rank() + 1);
    Dim depth;
    if (auto k = numbers_of(ctx, 1)) {
      if (k->rank() != 1) fail("expected a scalar depth, got ", k->rank(), " values");
      if ((*k)[0].known() && (*k)[0].min() < 0) fail("expected a non-negative depth, got ", (*k)[0].min());
      if ((*k)[0].min() >= 0) depth = (*k)[0];
    }
    out = indices;
    out.dims().insert(out.begin() + static_cast<ptrdiff_t>(axis), depth);
  }
  ctx.output(0, common_type(ctx, {2, 3}), out);
}
void one_hot1_infer(Infer& ctx, const OneHot1& a) { one_hot_any_infer(ctx, a.axis); }
void one_hot16_infer(Infer& ctx, const OneHot16& a) { one_hot_any_infer(ctx, a.axis); }

void one_hot_any_run(Run& ctx, int64_t where, bool from_end) {
  TensorView x = ctx.input(0);
  OutputView y = ctx.output(0);
  if (y.size() == 0) return;
  if (ctx.input(2).size() != 1 || ctx.input(3).size() != 1) fail("expected scalar on_value and off_value");
  size_t axis = normalize_axis(where, x.rank() + 1);
  std::vector<int64_t> indices = x.to<int64_t>();
  int64_t depth = y.dim(axis), inner = count_of(x.dims().subspan(axis));
  Cells on(ctx.input(2)), off(ctx.input(3));
  OutputCells to(y);
  size_t cell = to.cell_size();
  copy_box(y.dims(), cell, to.data(), dense_box(y.dims()), off.data(), {0, std::vector<int64_t>(y.rank(), 0)});
  for (int64_t i = 0; i < x.size(); ++i) {
    int64_t hot = indices[static_cast<size_t>(i)];
    if (hot < 0 && from_end) hot += depth;
    if (hot < 0 || hot >= depth) continue;
    int64_t at = (i / inner * depth + hot) * inner + i % inner;
    std::memcpy(to.data() + static_cast<size_t>(at) * cell, on.data(), cell);
  }
  to.write_back();
}
void one_hot1_run(Run& ctx, const OneHot1& a) { one_hot_any_run(ctx, a.axis, false); }
void one_hot16_run(Run& ctx, const OneHot16& a) {
  one_hot_any_run(ctx, a.axis, a.negative_indices_mode == OneHot16::normalize);
}

// Indices and depth may be of any numeric type, and depth a 1-D tensor; the values are [off, on].
Value import_one_hot(Builder& layer) {
  Value indices = convert(layer.input(0), DType::i64), depth = convert(layer.input(1), DType::i64);
  Shape s = depth.shape();
  if (!s.ranked() || s.rank() != 0) depth = reshape(depth, {});
  Value values = layer.input(2), zero = layer.scalar(int64_t{0});
  Value off = layer.op("Gather", {values, zero, zero}),
        on = layer.op("Gather", {values, layer.scalar(int64_t{1}), zero});
  return layer.op("OneHot@16", {indices, depth, on, off},
                  {{"axis", layer.get<int64_t>("axis", -1)}, {"negative_indices_mode", "normalize"}});
}

// The first version does not accept negative indices. Fractions are dropped before the sign counts, and the depth need
// not fit a narrow type.
void one_hot_as_1(Rewrite& at) {
  std::vector<Value> inputs = at.all_inputs();
  if (at.get<std::string>("negative_indices_mode") == "normalize") {
    Value i = inputs[0].type() == DType::i32 ? inputs[0] : convert(inputs[0], DType::i64);
    auto known = i.values<int64_t>();
    if (!known || std::any_of(known->begin(), known->end(), [](int64_t x) { return x < 0; }))
      inputs[0] = at.op("Select", {at.op("Less", {i, like(i, 0)}), i + convert(inputs[1], i.type()), i});
  }
  at.restate("OneHot@1", inputs, {"negative_indices_mode"});
}

}  // namespace

Definitions define_one_hot() {
  return {
      op<OneHot1>("OneHot", 1)
          .doc("One-hot encoding along a new axis: on_value at the index, off_value elsewhere")
          .inputs("indices, depth, on_value, off_value")
          .infer(one_hot1_infer)
          .linear()
          .reference(one_hot1_run),
      op<OneHot16>("OneHot", 16)
          .doc("One-hot encoding along a new axis: on_value at the index, off_value elsewhere")
          .inputs("indices, depth, on_value, off_value")
          .infer(one_hot16_infer)
          .linear()
          .reference(one_hot16_run)
          .import(onnx("OneHot").expand(import_one_hot))
          .earlier(one_hot_as_1),
  };
}

}  // namespace graft
