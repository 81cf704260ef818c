// What one call of a custom operation in C++ costs: a chain of them on a few floats, as an application runs it.
//
//   c++ -std=c++20 -O2 -Iinclude bench/chain.cpp -Lbuild/lib -lgraft -Wl,-rpath,build/lib -o chain && ./chain
//
// Prints nanoseconds per operation.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <graft/extension.hpp>
#include <graft/toolkit.hpp>

namespace {

constexpr int length = 100, size = 8;

graft::Definitions define_doubled() {
  return {graft::op("Doubled", "bench").elementwise([](float x) { return x + x; })};
}

void write_chain(const char* path) {
  std::ofstream out(path);
  out << "graph (t0: f32[" << size << "]) {\n";
  for (int i = 0; i < length; ++i) out << "  t" << i + 1 << " = Doubled@bench(t" << i << ")\n";
  out << "  return t" << length << "\n}\n";
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return std::fprintf(stderr, "expected the path of a file to write the model to\n"), 1;
  try {
    write_chain(arguments[1]);
    graft::Core core;
    core.add_extension(graft::definitions("bench", "1.0", define_doubled));
    graft::Options options;
    options.threads = 1;
    graft::CompiledModel compiled = core.compile_model(core.read_model(arguments[1]), "CPU", options);
    graft::InferRequest request = compiled.create_infer_request();
    std::vector<float> zeros(size);
    request.set_input_tensor(0, graft::Tensor::wrap(graft::DType::f32, {size}, zeros.data()));
    request.infer();
    using Clock = std::chrono::steady_clock;
    double best = 1e9;
    for (int round = 0; round < 50; ++round) {
      constexpr int runs = 200;
      Clock::time_point begin = Clock::now();
      for (int i = 0; i < runs; ++i) request.infer();
      best = std::min(best, std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / runs / length);
    }
    std::printf("%.1f\n", best);
  } catch (const graft::Error& e) {
    return std::fprintf(stderr, "%s\n", e.report().c_str()), 1;
  }
  return 0;
}
