// Activations of an extension, which become the epilogue of the convolution or matrix product before them.
#include <graft/extension.hpp>

namespace {

struct Bend {
  float slope = 0.25f;
  int64_t power = 1;
  bool flip = false;
  enum Side { below, above } side = below;
  std::vector<double> knots{0, 1};
  static constexpr std::tuple schema{
      graft::attr("slope", &Bend::slope, "factor on one side"), graft::attr("power", &Bend::power, "of the result"),
      graft::attr("flip", &Bend::flip, "change the sign"),
      graft::attr("side", &Bend::side, "which side is bent").one_of("below", "above"),
      graft::attr("knots", &Bend::knots, "where it bends, and what is added")};
};

// What a kernel applies may fail.
struct Fussy {
  float most = 1e6f;
  static constexpr std::tuple schema{graft::attr("most", &Fussy::most, "the largest number that it takes")};
};

// A kernel that has a function of rows, but not for every node.
void no_rows_of_large(graft::Accept& ctx) {
  if (ctx.attr<float>("most") > 10) graft::unsupported("expected a small limit");
}
float fussy_prepare(graft::Prepare& ctx) { return ctx.attr<float>("most"); }
double at_most(double x, double most) {
  if (std::isnan(x)) graft::fail("expected a number, got NaN");
  return std::min(x, most);
}
void fussy_run(graft::Run& ctx, const float& most) {
  const float* x = ctx.input(0).data<const float>();
  float* y = ctx.output(0).data<float>();
  for (int64_t i = 0; i < ctx.output(0).size(); ++i) y[i] = static_cast<float>(at_most(x[i], most));
}
void fussy_rows(const float& most, const float*, float* y, int64_t rows, int64_t step, int64_t length) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < length; ++i) y[r * step + i] = static_cast<float>(at_most(y[r * step + i], most));
}
void fussy_infer(graft::Infer& ctx, const Fussy&) { ctx.output(0, ctx.type(0), ctx.shape(0)); }
void fussy_reference(graft::Run& ctx, const Fussy& a) {
  std::vector<double> x = ctx.input(0).to<double>();
  for (double& v : x) v = at_most(v, a.most);
  ctx.output(0).assign(x);
}

}  // namespace

GRAFT_EXTENSION("activations", "1.0") {
  using graft::op;
  return graft::Definitions{
      op<Bend>("Bend", "activations").doc("attributes of every kind").elementwise([](auto x, const Bend& a) {
        auto on_side = a.side == Bend::below ? graft::select(x < a.knots[0], a.slope * x, x)
                                             : graft::select(x < a.knots[0], x, a.slope * x);
        auto bent = on_side + a.knots[1], y = bent;
        for (int64_t i = 1; i < a.power; ++i) y = y * bent;
        return graft::select(a.flip, 0 - y, y);
      }),
      op("SlowRoot", "activations").doc("kept away from vectors").elementwise(graft::scalar([](auto x) {
        return std::cbrt(static_cast<double>(x));
      })),
      op("Snake", "activations").doc("x + sin(x)^2").elementwise([](auto x) {
        auto s = std::sin(x);
        return x + s * s;
      }),
      op("BlendOf", "activations").doc("of a tensor and two numbers").elementwise<3>([](auto x, auto a, auto b) {
        return a * std::tanh(x) + b * x;
      }),
      op<Fussy>("Fussy", "activations")
          .doc("with a kernel of its own")
          .traits(graft::Trait::elementwise)
          .inputs("x")
          .infer(fussy_infer)
          .reference(fussy_reference)
          .kernel(graft::Kernel("CPU", "fussy")
                      .accept(no_rows_of_large)
                      .run(fussy_prepare, fussy_run)
                      .rows(fussy_rows)),
  };
}
