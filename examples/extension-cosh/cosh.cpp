// An operation of one's own, whole: attributes, documentation, formula, import rule, example.
//
// "CoshC" of the ONNX domain "acme" computes cosh(gain * x). That is all there is to write: shapes, threads, the IR,
// the textual form, `graft ops` and `graft run` follow from this definition.
#include <graft/extension.hpp>

namespace {

struct CoshC {
  float gain = 1.0f;
  static constexpr std::tuple schema{
      graft::attr("gain", &CoshC::gain, "x is multiplied by this first").between(-100, 100)};
};

}  // namespace

GRAFT_EXTENSION("acme", "1.0") {
  return graft::op<CoshC>("CoshC", "acme")
      .doc("cosh(gain * x)")
      .elementwise([](auto x, const CoshC& a) { return std::cosh(a.gain * x); })
      .import(graft::onnx("CoshC").domain("acme"))
      .example(R"(
        graph (x: f32[3]) { return CoshC@acme(x) {gain = 2.0} }
        x = {-0.5, 0, 1}
        -> {1.5430806, 1, 3.7621957}
      )");
}
