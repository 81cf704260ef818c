#include <graft/numeric.hpp>
#include <graft/op.hpp>

#include "one_way.hpp"

namespace graft {
namespace {

// A 1-D slope is per channel; any other slope broadcasts from the last axis.
Shape prelu_slope(const Shape& x, const Shape& slope) {
  if (!x.ranked() || !slope.ranked() || slope.rank() != 1 || x.rank() == 0) return slope;
  size_t channel = x.rank() > 1 ? 1 : 0;
  if (!x[channel].same(slope[0])) return slope;
  Shape aligned(std::vector<Dim>(x.rank(), Dim(1)));
  aligned[channel] = slope[0];
  return aligned;
}

void prelu_infer(Infer& ctx, const NoAttributes&) {
  Shape x = ctx.shape(0), slope = ctx.shape(1);
  if (x.is_static()) check_one_way(x, prelu_slope(x, slope), "slope");
  ctx.output(0, common_type(ctx), x);
}

void prelu_run(Run& ctx, const NoAttributes&) {
  TensorView x = ctx.input(0), slope = ctx.input(1);
  OutputView y = ctx.output(0);
  std::vector<int64_t> aligned = prelu_slope(x.info().shape, slope.info().shape).values();
  with_number_type(x.type(), [&]<class T>(T) {
    std::vector<T> v = x.to<T>(), s = slope.to<T>();
    Walk walk(x.dims(), {broadcast_strides(aligned, x.dims())});
    if (walk.empty()) return;
    auto next = v.begin();
    do {
      if (*next < 0) *next = wrap_mul(*next, s[static_cast<size_t>(walk[0])]);
      ++next;
    } while (walk.next());
    y.assign(v);
  });
}

Value import_leaky_relu(Builder& layer) {
  Value x = layer.input(0);
  return layer.op("PRelu", {x, like(x, layer.get<float>("alpha", 0.01f))});
}

// Since opset 7, a 1-D slope belongs to the last axis; before, to the channels, as in PRelu.
Value import_prelu(Builder& layer) {
  Value x = layer.input(0), slope = layer.input(1);
  Shape s = slope.shape(), in = x.shape();
  if (layer.version() >= 7 && s.ranked() && s.rank() == 1 && in.ranked() && in.rank() > 2) {
    const Dim& last = in[in.rank() - 1];
    if (std::max(last.min(), s[0].min()) <= std::min(last.max(), s[0].max())) {
      std::vector<int64_t> front;
      for (size_t i = 0; i + 1 < in.rank(); ++i) front.push_back(static_cast<int64_t>(i));
      slope = unsqueeze(slope, front);
    }
  }
  return layer.op("PRelu", {x, slope});
}

}  // namespace

Definitions define_prelu() {
  return {
      op("PRelu", 1)
          .doc("x where x >= 0, slope * x elsewhere; a 1-D slope is per channel")
          .ir_name("PReLU")
          .traits(Trait::widens, Trait::per_channel)
          .inputs("data, slope")
          .infer(prelu_infer)
          .linear()
          .reference(prelu_run)
          .in_place()
          .import(onnx("PRelu").ignore("consumed_inputs").expand(import_prelu)),
      onnx("LeakyRelu").ignore("consumed_inputs").expand(import_leaky_relu),
  };
}

}  // namespace graft
