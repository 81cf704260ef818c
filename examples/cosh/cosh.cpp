// Hyperbolic cosine of TensorFlow, whole: name, formula for every device, import rule, example.
#include <graft/extension.hpp>

GRAFT_EXTENSION("cosh", "1.0") {
  return graft::op<graft::NoAttributes>("Cosh", "extension")
      .doc("hyperbolic cosine")
      .elementwise([](auto x) { return std::cosh(x); })
      .import(graft::tensorflow("Cosh"))
      .example(R"(
        graph (x: f32[3]) { return Cosh@extension(x) }
        x = {-0.5, 0, 1}
        -> {1.1276259, 1, 1.5430806}
      )");
}
