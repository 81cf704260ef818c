// Layers for the tests of --stub-unknown: rules that need all that a file has, some of which need shapes too.
#include <graft/extension.hpp>

namespace {

using namespace graft;

// The sub-graph 'body', applied to input 0 `times` times. It captures values of the model and calls its functions.
Value repeat(Builder& layer) {
  Value x = layer.input(0);
  if (!x.shape().ranked()) fail("expected an input of known rank");
  for (int64_t i = 0; i < layer.get<int64_t>("times"); ++i) x = layer.inlined("body", {x})[0];
  return x;
}

// Nested parameters, and blobs as constants.
Value scaled(Builder& layer) {
  if (layer.weights() != 2) fail("expected 2 blobs, got ", layer.weights());
  if (layer.get<std::string>("acme_scale_param.inner.word") != "a, b & \"c\"") fail("the string differs");
  std::vector<double> shift = layer.input(2).constant().to<double>();
  double sum = 0;
  for (double v : shift) sum += v;
  return layer.input(0) * layer.input(1) * double{layer.get<float>("acme_scale_param.inner.gain")} + sum;
}

// A tensor, lists, types, shapes and bytes that are no text.
Value table(Builder& layer) {
  if (layer.get<std::vector<int64_t>>("taps") != std::vector<int64_t>{2, 5}) fail("the list differs");
  if (layer.get<std::string>("code") != std::string("\xff\0\x01", 3)) fail("the bytes differ");
  if (layer.get<Shape>("size") != Shape{1, 3} || layer.get<DType>("T") != DType::f32) fail("shape or type differ");
  return layer.input(0) * layer.constant(layer.get<TensorView>("table"));
}

}  // namespace

GRAFT_EXTENSION("stubs", "1.0") {
  return {
      onnx("Repeat").domain("acme").expand(repeat),
      caffe("AcmeScale").expand(scaled),
      tensorflow("AcmeTable").expand(table),
      // Any layer may follow this one: what it does to an unknown input is the test.
      op("Pass", "acme")
          .inputs("x")
          .infer([](Infer& ctx, const NoAttributes&) { ctx.output(0, ctx.input(0)); })
          .reference([](Run& ctx, const NoAttributes&) { ctx.output(0).assign(ctx.input(0)); })
          .import(onnx("Pass").domain("acme")),
  };
}
