#include <graft/kit/known.hpp>
#include <graft/op.hpp>

#include "onnx/windows.hpp"
#include "pooling.hpp"

namespace graft {
namespace {

struct MaxUnpool : PoolAttributes {
  static constexpr std::tuple schema{strides_attr, pads_begin_attr, pads_end_attr, kernel_attr};
};

// The shape before pooling: adjoining windows without the padding.
Shape unpooled_shape(const Shape& data, const MaxUnpool& attributes) {
  size_t axes = attributes.kernel.size();
  if (data.rank() != axes + 2)
    fail("expected data with ", axes, " spatial axes, one per value of 'kernel', got shape ", data);
  WindowAttributes a = complete_windows<WindowAttributes>(attributes, axes);
  Shape out = data;
  for (size_t i = 0; i < axes; ++i) {
    int64_t more = attributes.kernel[i] - a.pads_begin[i] - a.pads_end[i];
    if (data[i + 2].max() == 0) fail("expected a non-empty spatial axis ", i, ", got data of shape ", data);
    Dim steps = shifted(data[i + 2], -1) * Dim(a.strides[i]);
    if (steps.max() != Dim::unbounded && steps.max() + more < 0) fail("the padding exceeds the output size");
    out[i + 2] = shifted(steps, more);
  }
  return out;
}

void max_unpool_infer(Infer& ctx, const MaxUnpool& a) {
  Shape data = merge(ctx.shape(0), ctx.shape(1));
  if (!data.ranked()) data = Shape::of_rank(a.kernel.size() + 2);
  Shape out = unpooled_shape(data, a);
  if (ctx.has_input(2)) {
    auto sizes = target_sizes(ctx, 2, out.rank());
    out = sizes ? *sizes : Shape::of_rank(out.rank());
  }
  ctx.output(0, ctx.type(0), out);
}

// Indices refer to the tensor that was pooled. A larger output holds it in its first corner.
void max_unpool_run(Run& ctx, const MaxUnpool& a) {
  TensorView x = ctx.input(0);
  OutputView y = ctx.output(0);
  std::vector<int64_t> inner = unpooled_shape(x.info().shape, a).values(), strides = strides_of(y.dims());
  int64_t total = count_of(inner);
  std::vector<int64_t> index = ctx.input(1).to<int64_t>();
  with_number_type(x.type(), [&]<class T>(T) {
    std::vector<T> from = x.to<T>(), to(static_cast<size_t>(y.size()));
    for (size_t i = 0; i < from.size(); ++i) {
      int64_t at = index[i], place = 0;
      if (at < 0 || at >= total) fail("index ", at, " is out of range for a tensor of ", total, " elements");
      for (size_t axis = inner.size(); axis-- > 0; at /= inner[axis]) {
        int64_t along = at % inner[axis];
        if (along >= y.dim(axis)) fail("index ", index[i], " is out of range for the output of shape ", y.info().shape);
        place += along * strides[axis];
      }
      to[static_cast<size_t>(place)] = from[i];
    }
    y.assign(to);
  });
}

Value import_max_unpool(Builder& layer) {
  Value x = layer.input(0);
  LayerWindows w = layer_windows(layer, spatial_axes(layer, {x}));
  std::vector<Value> inputs{x, layer.input(1)};
  if (layer.has_input(2)) inputs.push_back(layer.input(2));
  return layer.op(
      "MaxUnpool@graft", inputs,
      {{"kernel", w.kernel}, {"strides", w.strides}, {"pads_begin", w.pads_begin}, {"pads_end", w.pads_end}});
}

}  // namespace

Definitions define_max_unpool() {
  return op<MaxUnpool>("MaxUnpool", "graft")
      .doc("Undo max pooling: put each maximum back to its index, and zeros elsewhere")
      .inputs("data, indices, output_shape?")
      .infer(max_unpool_infer)
      .reference(max_unpool_run)
      .import(onnx("MaxUnpool").expand(import_max_unpool));
}

}  // namespace graft
