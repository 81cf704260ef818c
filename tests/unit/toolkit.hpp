// Shared by the tests of the application interface: models as text, definitions of the program, runs.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <graft/extension.hpp>
#include <graft/toolkit.hpp>

#include "base/temporary.hpp"

namespace graft {

// Relu@1 that multiplies by `factor` instead: which definition runs can be told from its results.
template <int factor>
Definitions scaled_relu() {
  return op<NoAttributes>("Relu", 1)
      .inputs("data")
      .outputs("output")
      .infer([](Infer& ctx, const NoAttributes&) { ctx.output(0, ctx.input(0)); })
      .reference([](Run& ctx, const NoAttributes&) {
        auto v = ctx.input(0).to<double>();
        for (double& e : v) e *= factor;
        ctx.output(0).assign(v);
      });
}

inline Core::Entry relu_times_2() { return definitions("two", "1", scaled_relu<2>); }
inline Core::Entry relu_times_3() { return definitions("three", "1", scaled_relu<3>); }

class ToolkitTest : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& content) {
    std::string path = folder_.path() + "/" + name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  std::string relu() { return file("relu.graph", "graph (x: f32[2]) { y = Relu@1(x) return y = y }"); }

  // The first output for the input {-1, 3}.
  static std::vector<float> run(const CompiledModel& compiled) {
    std::vector<float> x{-1, 3};
    InferRequest r = compiled.create_infer_request();
    r.set_input_tensor(0, Tensor::wrap(DType::f32, {2}, x.data()));
    r.infer();
    Tensor y = r.get_output_tensor(0);
    return {y.data<float>(), y.data<float>() + y.size()};
  }
  std::vector<float> run_relu(const Core& core) { return run(core.compile_model(core.read_model(relu()))); }

  TemporaryFolder folder_;
};

using Values = std::vector<float>;

}  // namespace graft
