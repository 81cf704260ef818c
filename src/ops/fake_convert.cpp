#include <graft/op.hpp>

#include "one_way.hpp"

namespace graft {
namespace {

struct FakeConvert {
  DType destination_type = DType::undefined;
  static constexpr std::tuple schema{
      attr("destination_type", &FakeConvert::destination_type, "8-bit float type to emulate, f8e4m3 or f8e5m2")
          .required()};
};

void fake_convert_infer(Infer& ctx, const FakeConvert& a) {
  if (a.destination_type != DType::f8e4m3 && a.destination_type != DType::f8e5m2)
    fail("expected destination_type f8e4m3 or f8e5m2, got ", a.destination_type);
  Shape data = ctx.shape(0);
  check_one_way(data, ctx.shape(1), "scale");
  if (ctx.has_input(2)) {
    check_one_way(data, ctx.shape(2), "shift");
    merge(ctx.shape(1), ctx.shape(2));
  }
  ctx.output(0, common_type(ctx), data);
}

void fake_convert_run(Run& ctx, const FakeConvert& a) {
  TensorView x = ctx.input(0), scale = ctx.input(1);
  std::vector<double> v = x.to<double>(), s = scale.to<double>(), shift(s.size(), 0.0);
  if (ctx.has_input(2)) shift = ctx.input(2).to<double>();
  std::vector<int64_t> strides = broadcast_strides(scale.dims(), x.dims());
  auto each = [&](auto f) {
    Walk walk(x.dims(), {strides});
    auto next = v.begin();
    do {
      auto k = static_cast<size_t>(walk[0]);
      *next = f(*next, s[k], shift[k]);
      ++next;
    } while (walk.next());
  };
  if (v.empty()) return;
  // Saturate: out-of-range values, including infinity, become the largest finite one.
  double most = a.destination_type == DType::f8e4m3 ? 448 : 57344;
  each([&](double d, double by, double off) {
    double scaled = d * by - off;
    return std::isnan(scaled) ? scaled : std::min(std::max(scaled, -most), most);
  });
  std::vector<uint8_t> codes(v.size());
  auto n = static_cast<int64_t>(v.size());
  graft_tensor small{sizeof small, static_cast<graft_type>(a.destination_type), 1, 0, &n, nullptr, codes.data()};
  OutputView(&small).assign(v);
  v = TensorView(&small).to<double>();
  each([](double d, double by, double off) { return (d + off) / by; });
  ctx.output(0).assign(v);
}

}  // namespace

Definitions define_fake_convert() {
  return op<FakeConvert>("FakeConvert", 13)
      .doc("Scale and shift, round to an 8-bit float, then undo shift and scale")
      .inputs("data, scale, shift?")
      .infer(fake_convert_infer)
      .linear()
      .reference(fake_convert_run)
      .in_place();
}

}  // namespace graft
