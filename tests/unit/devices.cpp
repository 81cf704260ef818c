// Devices by name, and their properties.
#include <atomic>
#include <cstdlib>

#include "toolkit.hpp"

namespace graft {
namespace {

class Devices : public ToolkitTest {
 protected:
  static std::string error_of(const std::function<void()>& f) {
    try {
      f();
    } catch (const Error& e) {
      return e.message();
    }
    return "nothing was thrown";
  }
  Core core_;
};

TEST_F(Devices, Names) {
  Model m = core_.read_model(relu());
  auto message = [&](const char* device) { return error_of([&] { core_.compile_model(m, device); }); };
  EXPECT_EQ(core_.compile_model(m, "CPU.0").device(), "CPU");
  EXPECT_EQ(core_.compile_model(m, "HETERO:CPU.0,REFERENCE").device(), "HETERO:CPU,REFERENCE");
  EXPECT_EQ(message("CPU.1"), "unknown device 'CPU.1'");
  EXPECT_EQ(message("HETERO:CPU,TPU"), "unknown device 'TPU'");
  EXPECT_EQ(message("HETERO"), "expected devices after HETERO");
  EXPECT_EQ(message("HETERO:"), "expected a device, got '' in 'HETERO:'");
  EXPECT_EQ(message("HETERO:CPU, REFERENCE"), "expected a device, got ' REFERENCE' in 'HETERO:CPU, REFERENCE'");
  EXPECT_EQ(message("HETERO:CPU,CPU.0"), "device CPU is listed twice in 'HETERO:CPU,CPU.0'");
  EXPECT_EQ(message("HETERO:HETERO:CPU"), "expected a device, got 'HETERO:CPU' in 'HETERO:HETERO:CPU'");
  EXPECT_EQ(message("CPU:REFERENCE"), "unknown device 'CPU:REFERENCE'");
  EXPECT_EQ(message("CPU."), "expected a device, got 'CPU.'");
  EXPECT_EQ(message(""), "expected a device, got ''");
}

// Relu that writes how many threads it is prepared for and run on, and the greatest number of a thread.
struct Granted {
  int threads;
};
Granted granted_prepare(Prepare& ctx, const NoAttributes&) { return {ctx.threads()}; }
void granted_run(Run& ctx, const NoAttributes&, const Granted& granted) {
  float* y = ctx.output(0).data<float>();
  y[0] = static_cast<float>(granted.threads), y[1] = static_cast<float>(ctx.threads());
  std::atomic<bool> above{false};
  ctx.parallel_for(1000, 1, [&](int64_t, int64_t, int thread) {
    if (thread >= granted.threads) above = true;
  });
  if (above) fail("a thread has a number that it was not granted");
}
Definitions counting_relu() {
  return op<NoAttributes>("Relu", 1)
      .inputs("data")
      .infer([](Infer& ctx, const NoAttributes&) { ctx.output(0, ctx.input(0)); })
      .reference([](Run& ctx, const NoAttributes&) { ctx.output(0).assign(ctx.input(0).to<double>()); })
      .kernel(Kernel("CPU", "counting").run(granted_prepare, granted_run));
}

TEST_F(Devices, KernelsAreToldTheThreadsOfTheirRequest) {
  core_.add_extension(definitions("counting", "1", counting_relu));
  Model m = core_.read_model(relu());
  for (int threads : {1, 2, 3, 7, 2}) {
    Options o;
    o.threads = threads;
    float n = static_cast<float>(threads);
    EXPECT_EQ(run(core_.compile_model(m, "CPU", o)), (Values{n, n}));
    o.streams = 2;
    n = static_cast<float>(std::max(1, threads / 2));
    EXPECT_EQ(run(core_.compile_model(m, "CPU", o)), (Values{n, n}));
  }
}

TEST_F(Devices, HintsDivideTheThreads) {
  Model m = core_.read_model(relu());
  auto chosen = [&](const Options& o) {
    Options c = core_.compile_model(m, "CPU", o).options();
    return std::pair(c.streams, c.threads);
  };
  int all = core_.threads().threads;
  EXPECT_EQ(chosen({}), std::pair(1, all));
  EXPECT_EQ(chosen({.threads = 6, .hint = PerformanceHint::throughput}), std::pair(6, 6));
  EXPECT_EQ(chosen({.streams = 2, .threads = 6, .hint = PerformanceHint::throughput}), std::pair(2, 6));
  EXPECT_EQ(chosen({.threads = 6, .hint = PerformanceHint::latency}), std::pair(1, 6));
  core_.set_property({{"PERFORMANCE_HINT", "THROUGHPUT"}});
  EXPECT_EQ(core_.get_property("CPU", "PERFORMANCE_HINT"), "THROUGHPUT");
  EXPECT_EQ(chosen({.threads = 3}), std::pair(3, 3));
  EXPECT_EQ(chosen({.threads = 3, .hint = PerformanceHint::latency}), std::pair(1, 3));
  core_.set_property("CPU", {{"NUM_STREAMS", "2"}});
  EXPECT_EQ(chosen({.threads = 4}), std::pair(2, 4));
  core_.set_property("CPU", {{"NUM_STREAMS", "AUTO"}});
  EXPECT_EQ(chosen({.threads = 4}), std::pair(4, 4));
  if (!std::getenv("GRAFT_NUM_THREADS")) {
    core_.set_property({{"INFERENCE_NUM_THREADS", "5"}});
    EXPECT_EQ(chosen({}), std::pair(5, 5));
  }
  EXPECT_EQ(error_of([&] {
              core_.set_property({{"PERFORMANCE_HINT", "FAST"}});
            }),
            "property PERFORMANCE_HINT: expected LATENCY or THROUGHPUT, got 'FAST'");
}

// Requests of pinned streams at once, with results that do not depend on it.
TEST_F(Devices, StreamsOfTheThroughputHint) {
  Model m = core_.read_model(relu());
  CompiledModel c = core_.compile_model(m, "CPU", {.hint = PerformanceHint::throughput});
  std::vector<InferRequest> requests;
  std::vector<std::vector<float>> xs(16, {-1, 3});
  for (size_t i = 0; i < xs.size(); ++i) {
    xs[i][1] = static_cast<float>(i);
    requests.push_back(c.create_infer_request());
    requests[i].set_input_tensor(0, Tensor::wrap(DType::f32, {2}, xs[i].data()));
  }
  for (int round = 0; round < 20; ++round) {
    for (InferRequest& r : requests) r.start_async();
    for (size_t i = 0; i < requests.size(); ++i) {
      requests[i].wait();
      EXPECT_EQ(requests[i].get_output_tensor(0).data<float>()[1], static_cast<float>(i));
    }
  }
}

TEST_F(Devices, Properties) {
  Model m = core_.read_model(relu());
  EXPECT_EQ(core_.get_property("CPU", "NUM_STREAMS"), "1");
  EXPECT_EQ(core_.get_property("CPU", "PERFORMANCE_HINT"), "LATENCY");
  core_.set_property({{"NUM_STREAMS", "2"}});
  core_.set_property("CPU", {{"NUM_STREAMS", "3"}, {"PERF_COUNT", "YES"}});
  EXPECT_EQ(core_.get_property("CPU", "NUM_STREAMS"), "3");
  EXPECT_EQ(core_.get_property("HETERO", "NUM_STREAMS"), "2");
  EXPECT_EQ(core_.get_property("", "NUM_STREAMS"), "2");
  EXPECT_EQ(core_.compile_model(m, "CPU").options().streams, 3);
  EXPECT_TRUE(core_.compile_model(m, "CPU").options().profile);
  EXPECT_EQ(core_.compile_model(m, "HETERO:CPU,REFERENCE").options().streams, 2);
  Options own;
  own.streams = 5;
  EXPECT_EQ(core_.compile_model(m, "CPU", own).options().streams, 5);
  core_.set_property("HETERO", {{"TARGET_FALLBACK", "REFERENCE,CPU"}});
  EXPECT_EQ(core_.get_property("HETERO", "MULTI_DEVICE_PRIORITIES"), "REFERENCE,CPU");
  EXPECT_EQ(core_.compile_model(m, "HETERO").device(), "HETERO:REFERENCE,CPU");
  EXPECT_EQ(core_.get_property("", "AVAILABLE_DEVICES").rfind("CPU", 0), 0u);
  EXPECT_EQ(core_.get_property("REFERENCE", "FULL_DEVICE_NAME"), "reference kernels, one thread");

  auto message = [&](const std::string& device, const Core::Properties& p) {
    return error_of([&] { device.empty() ? core_.set_property(p) : core_.set_property(device, p); });
  };
  EXPECT_EQ(message("CPU", {{"NUM_STREAM", "2"}}), "unknown property 'NUM_STREAM' of CPU");
  EXPECT_EQ(message("", {{"COLOR", "red"}}), "unknown property 'COLOR'");
  EXPECT_EQ(message("CPU", {{"MULTI_DEVICE_PRIORITIES", "CPU"}}), "unknown property 'MULTI_DEVICE_PRIORITIES' of CPU");
  EXPECT_EQ(message("CPU", {{"NUM_STREAMS", "none"}}),
            "property NUM_STREAMS: expected a number of at least 1, got 'none'");
  EXPECT_EQ(message("CPU", {{"NUM_STREAMS", "4"}, {"PERF_COUNT", "2"}}),
            "property PERF_COUNT: expected YES or NO, got '2'");
  EXPECT_EQ(core_.get_property("CPU", "NUM_STREAMS"), "3") << "all or nothing";
  EXPECT_EQ(message("CPU", {{"FULL_DEVICE_NAME", "x"}}), "property FULL_DEVICE_NAME of CPU is read-only");
  EXPECT_EQ(message("HETERO:CPU,REFERENCE", {{"NUM_STREAMS", "1"}}), "expected one device, got 'HETERO:CPU,REFERENCE'");
  EXPECT_EQ(message("TPU", {{"NUM_STREAMS", "1"}}), "unknown device 'TPU'");
  EXPECT_EQ(error_of([&] { (void)core_.get_property("CPU", "SPEED"); }), "unknown property 'SPEED' of CPU");
}

}  // namespace
}  // namespace graft
