// An application built against an installed Graft: an operation of its own, a model, a run, a conversion.
//   consumer MODEL OUTPUT.xml
#include <cstdio>
#include <graft/extension.hpp>
#include <graft/toolkit.hpp>

int main(int argc, char** argv) try {
  if (argc != 3) return std::fprintf(stderr, "usage: consumer MODEL OUTPUT.xml\n"), 1;
  graft::Core core;
  graft::ExtensionId id = core.add_extension(graft::definitions("consumer", "1.0", [] {
    return graft::op<graft::NoAttributes>("Triple", "consumer").elementwise([](auto x, const graft::NoAttributes&) {
      return 3 * x;
    });
  }));
  graft::Model model = core.read_model(argv[1]);
  core.remove_extension(id);  // the model keeps its definitions
  graft::CompiledModel compiled = core.compile_model(model);
  std::vector<float> x{1, -2};
  graft::InferRequest request = compiled.create_infer_request();
  request.set_input_tensor(0, graft::Tensor::wrap(graft::DType::f32, {2}, x.data()));
  request.infer();
  const float* y = request.get_output_tensor(0).data<float>();
  std::printf("%g %g by %s\n", y[0], y[1], compiled.explain().choices.back().type.c_str());
  std::printf("%zu layers\n", graft::convert_model(model, argv[2]).ir_layers);
  core.read_model(argv[1]);  // is unknown again
  return 1;
} catch (const graft::Error& e) {
  std::printf("%s\n", e.message().c_str());
  return e.kind() == graft::ErrorKind::internal;
}
