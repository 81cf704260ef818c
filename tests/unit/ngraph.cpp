// An extension of 2021 on the device CPU: the implementation of an operation goes before its `evaluate`.
#include "toolkit.hpp"

namespace graft {
namespace {

using NGraph = ToolkitTest;

TEST_F(NGraph, ImplementationsGoBeforeEvaluate) {
  Core core;
  core.add_extension(GRAFT_TEST_EXTENSIONS "/ngraph.so");
  auto result = [&](const std::string& type, const std::string& device) {
    Model model =
        core.read_model(file(type, "graph (x: " + type + "[1,3]) { return Stretch@acme_opset(x) {by = 2.5} }"));
    InferRequest request = core.compile_model(model, device).create_infer_request();
    std::vector<float> x{1, 2, -4};
    Tensor given = Tensor::wrap(DType::f32, {1, 3}, x.data());
    request.set_input_tensor(0, given.to(type == "f16" ? DType::f16 : DType::f32));
    request.infer();
    Tensor y = request.get_output_tensor(0).to(DType::f32);
    return std::vector<float>(y.data<float>(), y.data<float>() + 3);
  };
  EXPECT_EQ(result("f32", "CPU"), (std::vector<float>{2.5f, 5, -10}));
  EXPECT_EQ(result("f32", "REFERENCE"), (std::vector<float>{-1, -1, -1}));
  // The implementation refuses f16 with its own words, and `evaluate` is next; it takes the bytes for f32, and says so.
  EXPECT_THROW(result("f16", "CPU"), graft::Error);
}

}  // namespace
}  // namespace graft
