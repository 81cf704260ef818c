#include <graft/op.hpp>

#include "one_way.hpp"

namespace graft {
namespace {

struct FakeQuantize {
  int64_t levels = 0;
  std::string auto_broadcast = "numpy";
  static constexpr std::tuple schema{
      attr("levels", &FakeQuantize::levels, "number of quantization levels").required().at_least(2),
      attr("auto_broadcast", &FakeQuantize::auto_broadcast, "broadcasting rule of the ranges")
          .one_of("numpy", "none", "explicit", "pdpd")};
};

void fake_quantize_infer(Infer& ctx, const FakeQuantize& a) {
  constexpr std::string_view names[] = {"", "input low", "input high", "output low", "output high"};
  Shape data = ctx.shape(0);
  for (size_t i = 1; i < 5; ++i) {
    if (a.auto_broadcast == "none" || a.auto_broadcast == "explicit") merge(data, ctx.shape(i));
    else check_one_way(data, ctx.shape(i), names[i]);
  }
  ctx.output(0, common_type(ctx), data);
}

double fake_quantized(double x, double in_low, double in_high, double out_low, double out_high, double steps) {
  if (x <= std::min(in_low, in_high)) return out_low;
  if (x > std::max(in_low, in_high)) return out_high;
  return std::nearbyint((x - in_low) / (in_high - in_low) * steps) / steps * (out_high - out_low) + out_low;
}

void fake_quantize_run(Run& ctx, const FakeQuantize& a) {
  TensorView x = ctx.input(0);
  std::vector<double> v = x.to<double>(), range[4];
  std::vector<std::vector<int64_t>> strides;
  for (size_t i = 0; i < 4; ++i) {
    range[i] = ctx.input(i + 1).to<double>();
    strides.push_back(broadcast_strides(ctx.input(i + 1).dims(), x.dims()));
  }
  Walk walk(x.dims(), strides);
  if (walk.empty()) return;
  auto limit = [&](size_t i) { return range[i][static_cast<size_t>(walk[i])]; };
  auto next = v.begin();
  do {
    *next = fake_quantized(*next, limit(0), limit(1), limit(2), limit(3), static_cast<double>(a.levels - 1));
    ++next;
  } while (walk.next());
  ctx.output(0).assign(v);
}

}  // namespace

Definitions define_fake_quantize() {
  return op<FakeQuantize>("FakeQuantize", 1)
      .doc("Quantize the input range to the given number of levels and map them to the output range")
      .traits(Trait::elementwise, Trait::rounds)
      .inputs("data, input_low, input_high, output_low, output_high")
      .infer(fake_quantize_infer)
      .linear()
      .reference(fake_quantize_run)
      .in_place()
      .import(onnx("FakeQuantize").domain("org.openvinotoolkit"));
}

}  // namespace graft
