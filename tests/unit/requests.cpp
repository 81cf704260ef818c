// Requests: asynchronous, cancelled, concurrent, without copies.
#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "base/temporary.hpp"
#include "base/tensor.hpp"
#include "toolkit/state.hpp"

namespace graft {
namespace {

// A model with branches, values fed back, sizes that depend on the data, and views.
constexpr const char* busy_model = R"(graph "busy" (x: f32[4,8]) {
  a = Multiply(x, f32[8] {1, 2, 3, 4, 5, 6, 7, 8})
  b = Relu(Subtract(a, f32[] {10}))
  flat = Reshape(b, i64[1] {-1})
  found = NonZero(flat)
  sum = Loop@5(i64[] {5}, boolean[] {true}, b)
    body (i <- iteration, s <- 2) -> (next -> 0, go -> condition) feed (next -> s)
    graph (i: i64[], s: f32[4,8]) {
      n = Add(s, Convert(i) {destination_type = f32})
      yes = boolean[] {true}
      return next = n, go = yes
    }
  return sum = sum, found = found, square = Multiply(b, b)
})";

class Requests : public ::testing::Test {
 protected:
  Model model(const std::string& text) {
    std::string path = folder_.path() + "/model.txt";
    std::ofstream(path) << text;
    return core_.read_model(path);
  }
  static Tensor input(int seed) {
    Tensor t(DType::f32, {4, 8});
    for (int i = 0; i < 32; ++i) t.data<float>()[i] = static_cast<float>((i * 7 + seed * 13) % 23) - 8;
    return t;
  }
  TemporaryFolder folder_;
  Core core_;
};

std::vector<Tensor> run(InferRequest& r, const Tensor& x) {
  r.set_input_tensor(0, x);
  r.infer();
  std::vector<Tensor> out;
  for (size_t i = 0; i < 3; ++i) out.push_back(r.get_output_tensor(i).clone());
  return out;
}

// A plan that did not fit into memory is not half bound when the request runs again.
TEST_F(Requests, GoOnAfterRunningOutOfMemory) {
  InferRequest r = core_
                       .compile_model(model("graph (x: f32[?,1]) { w = Tile(x, i64[2] {1, 1048576}) return "
                                            "ReduceSum(Relu(w), i64[2] {0, 1}) {keep_dims = false} }"))
                       .create_infer_request();
  std::vector<float> column(size_t{1} << 25);  // of which Tile makes 128 TB, more than there are addresses
  Tensor huge = Tensor::wrap(DType::f32, {int64_t{1} << 25, 1}, column.data()), small(DType::f32, {2, 1});
  small.data<float>()[0] = 1, small.data<float>()[1] = 2;
  for (int round = 0; round < 2; ++round) {
    for (int again = 0; again < 2; ++again) {
      r.set_input_tensor(0, huge);
      EXPECT_THROW(r.infer(), Error);
    }
    r.set_input_tensor(0, small);
    r.infer();
    EXPECT_EQ(r.get_output_tensor(0).data<float>()[0], 3 * 1048576);
  }
}

TEST_F(Requests, TakenResultsStayAsTheyAre) {
  InferRequest r =
      core_.compile_model(model("graph (x: f32[4,8]) { return Relu(x), Negative(x) }")).create_infer_request();
  Tensor own(DType::f32, {4, 8});
  r.set_output_tensor(1, own);
  r.set_input_tensor(0, input(1));
  r.infer();
  Tensor taken = r.take_output_tensor(0), before = taken.clone();
  EXPECT_EQ(r.take_output_tensor(1).data(), own.data());
  EXPECT_FALSE(r.get_output_tensor(0));
  r.set_input_tensor(0, input(2));
  r.infer();
  EXPECT_NE(r.get_output_tensor(0).data(), taken.data());
  EXPECT_EQ(r.get_output_tensor(1).data(), own.data());
  for (int i = 0; i < 32; ++i) EXPECT_EQ(taken.data<float>()[i], before.data<float>()[i]);
  EXPECT_THROW(r.take_output_tensor(2), Error);
}

TEST_F(Requests, EightThreadsGiveWhatOneGives) {
  CompiledModel compiled = core_.compile_model(model(busy_model));
  constexpr int threads = 8, runs = 1000, kinds = 16;
  std::vector<std::vector<Tensor>> expected;
  InferRequest serial = compiled.create_infer_request();
  for (int k = 0; k < kinds; ++k) expected.push_back(run(serial, input(k)));
  std::vector<std::thread> workers;
  std::atomic<int> wrong{0};
  for (int t = 0; t < threads; ++t)
    workers.emplace_back([&, t] {
      InferRequest r = compiled.create_infer_request();
      for (int i = 0; i < runs; ++i) {
        int k = (i + t) % kinds;
        std::vector<Tensor> got = run(r, input(k));
        for (size_t o = 0; o < got.size(); ++o) wrong += !same_content(got[o], expected[static_cast<size_t>(k)][o]);
      }
    });
  for (std::thread& w : workers) w.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(Requests, CpuAgreesWithReference) {
  Model m = model(busy_model);
  InferRequest cpu = core_.compile_model(m, "CPU").create_infer_request(),
               reference = core_.compile_model(m, "REFERENCE").create_infer_request();
  for (int k = 0; k < 4; ++k) {
    std::vector<Tensor> a = run(cpu, input(k)), b = run(reference, input(k));
    for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(same_content(a[i], b[i])) << i;
  }
}

TEST_F(Requests, AsynchronousRunsCallBackAndMayRestartThemselves) {
  Options options;
  options.streams = 2;
  CompiledModel compiled = core_.compile_model(model(busy_model), "CPU", options);
  InferRequest r = compiled.create_infer_request();
  r.set_input_tensor(0, input(1));
  std::atomic<int> left{20};
  std::mutex mutex;
  std::condition_variable done;
  r.set_callback([&](std::exception_ptr e) {
    EXPECT_EQ(e, nullptr);
    if (--left > 0) return r.start_async();
    std::lock_guard lock(mutex);
    done.notify_all();
  });
  r.start_async();
  std::unique_lock lock(mutex);
  ASSERT_TRUE(done.wait_for(lock, std::chrono::minutes(10), [&] { return left == 0; }));
  lock.unlock();
  r.wait();
  r.set_callback(nullptr);
}

TEST_F(Requests, ManyRequestsShareTheStreams) {
  Options options;
  options.streams = 2;
  CompiledModel compiled = core_.compile_model(model(busy_model), "CPU", options);
  InferRequest serial = compiled.create_infer_request();
  std::vector<InferRequest> many;
  for (int i = 0; i < 16; ++i) {
    many.push_back(compiled.create_infer_request());
    many.back().set_input_tensor(0, input(i));
  }
  for (InferRequest& r : many) r.start_async();
  for (int i = 0; i < 16; ++i) {
    many[static_cast<size_t>(i)].wait();
    EXPECT_TRUE(same_content(many[static_cast<size_t>(i)].get_output_tensor(2), run(serial, input(i))[2]));
  }
}

// Counts up until it is stopped.
constexpr const char* endless_model = R"(graph (x: f32[]) {
  y = Loop@5(i64[] {-1}, boolean[] {true}, x)
    body (s <- 2) -> (next -> 0, go -> condition) feed (next -> s)
    graph (s: f32[]) {
      n = Add(s, f32[] {1})
      yes = boolean[] {true}
      return next = n, go = yes
    }
  return y
})";

TEST_F(Requests, CancelStopsARunningRequest) {
  for (const char* device : {"CPU", "REFERENCE"}) {
    InferRequest r = core_.compile_model(model(endless_model), device).create_infer_request();
    r.set_input_tensor(0, make_tensor<float>({}, {0}));
    r.start_async();
    EXPECT_FALSE(r.wait_for(std::chrono::milliseconds(20)));
    EXPECT_THROW(r.infer(), Error) << "busy";
    EXPECT_THROW(r.get_output_tensor(0), Error) << "busy";
    r.cancel();
    try {
      r.wait();
      FAIL() << "must not end by itself";
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::cancelled) << "a loop is no exception: " << e.message();
      EXPECT_EQ(e.message(), "the request was cancelled");
    }
  }
}

TEST_F(Requests, ABodyThatDoesNotCompileFailsInEveryRun) {
  InferRequest r = core_
                       .compile_model(model(R"(graph (c: boolean[], x: f32[?]) {
    y = If@8(c, x)
      body (a <- 1) -> (r -> 0) graph (a: f32[?]) { return r = Add(a, f32[7] fill(1)) }
      body (b <- 1) -> (s -> 0) graph (b: f32[?]) { return s = Abs(b) }
    return y
  })"))
                       .create_infer_request();
  r.set_input_tensor(1, make_tensor<float>({3}, {1, -2, 3}));
  for (bool failing : {true, true, false, true}) {
    r.set_input_tensor(0, make_tensor<int64_t>({}, {failing}).to(DType::boolean));
    if (failing) EXPECT_THROW(r.infer(), Error);
    else EXPECT_NO_THROW(r.infer());
  }
}

TEST_F(Requests, InputsAndOutputsAreUsedWhereTheyLie) {
  InferRequest r = core_.compile_model(model("graph (x: f32[3]) { return Negative(x), x }")).create_infer_request();
  float in[3] = {1, 2, 3}, out[3] = {0, 0, 0}, copy[3] = {0, 0, 0};
  r.set_input_tensor(0, Tensor::wrap(DType::f32, {3}, in));
  r.set_output_tensor(0, Tensor::wrap(DType::f32, {3}, out));
  r.set_output_tensor(1, Tensor::wrap(DType::f32, {3}, copy));
  r.infer();
  EXPECT_EQ(out[1], -2);
  EXPECT_EQ(copy[2], 3);
  in[1] = 5;
  r.infer();
  EXPECT_EQ(out[1], -5);
  EXPECT_EQ(r.get_output_tensor(0).data(), out);
}

TEST_F(Requests, ShapesMayChangeFromRunToRun) {
  InferRequest r =
      core_.compile_model(model("graph (x: f32[?,2]) { y = Multiply(x, x) return Concat(y, x) {axis = 0} }"))
          .create_infer_request();
  for (int64_t n : {1, 5, 0, 5, 2, 1}) {
    Tensor x(DType::f32, {n, 2});
    for (int64_t i = 0; i < 2 * n; ++i) x.data<float>()[i] = static_cast<float>(i);
    r.set_input_tensor(0, x);
    r.infer();
    Tensor y = r.get_output_tensor(0);
    ASSERT_EQ(y.dims(), (std::vector<int64_t>{2 * n, 2}));
    for (int64_t i = 0; i < 2 * n; ++i) EXPECT_EQ(y.data<float>()[i], static_cast<float>(i * i));
  }
}

TEST_F(Requests, WhatDoesNotFitIsRefused) {
  InferRequest r = core_.compile_model(model("graph (x: f32[2,3]) { return Abs(x) }")).create_infer_request();
  auto message = [](auto&& f) {
    try {
      f();
      return std::string();
    } catch (const Error& e) {
      return e.message();
    }
  };
  EXPECT_EQ(message([&] { r.infer(); }), "input 'x' has no tensor");
  EXPECT_EQ(message([&] {
              r.set_input_tensor(0, Tensor(DType::i64, {2, 3}));
            }),
            "expected a tensor of f32 for input 'x', got i64");
  EXPECT_EQ(message([&] {
              r.set_input_tensor(0, Tensor(DType::f32, {3, 3}));
            }),
            "expected a tensor of shape [2,3] for input 'x', got [3,3]");
  EXPECT_EQ(message([&] {
              r.set_input_tensor(1, Tensor(DType::f32, {2, 3}));
            }),
            "the model has 1 inputs, there is no input 1");
  EXPECT_EQ(message([&] { r.set_tensor("z", Tensor(DType::f32, {2, 3})); }), "the model has no input or output 'z'");
  EXPECT_EQ(message([&] { core_.compile_model(model("graph (x: f32[1]) { return Abs(x) }"), "TPU"); }),
            "unknown device 'TPU'");
}

TEST_F(Requests, ProfilesCountEveryOperation) {
  Options options;
  options.profile = true;
  InferRequest r = core_.compile_model(model("graph (x: f32[4]) { return Abs(Negative(x)) }"), "CPU", options)
                       .create_infer_request();
  r.set_input_tensor(0, make_tensor<float>({4}, {1, 2, 3, 4}));
  for (int i = 0; i < 3; ++i) r.infer();
  std::vector<ProfilingInfo> rows = r.get_profiling_info();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].node_type, "Negative");
  EXPECT_EQ(rows[1].calls, 3u);
}

TEST_F(Requests, ReshapeInfersAnew) {
  Model m = model("graph (x: f32[1,3]) { return Add(x, f32[3] {1, 2, 3}) }");
  m.reshape({{"x", Shape{7, 3}}});
  EXPECT_EQ(m.outputs()[0].shape, (Shape{7, 3}));
  EXPECT_THROW(m.reshape({{"x", Shape{7, 4}}}), Error);
  EXPECT_EQ(m.outputs()[0].shape, (Shape{7, 3})) << "a refused shape changes nothing";
}

TEST_F(Requests, AnyTensorCanBecomeAnOutput) {
  Model m = model("graph (x: f32[2]) { a = Negative(x) p = Split(a, i64[] {0}) {num_splits = 2} return Add(p, p.1) }");
  EXPECT_EQ(m.outputs().size(), 1u);
  EXPECT_EQ(m.add_output("a"), 1u);
  EXPECT_EQ(m.add_output("a"), 1u) << "it is one already";
  EXPECT_EQ(m.add_output("x"), 2u);
  InferRequest r = core_.compile_model(m).create_infer_request();
  r.set_input_tensor(0, make_tensor<float>({2}, {1, -2}));
  r.infer();
  EXPECT_EQ(values_of<float>(r.get_tensor("a")), (std::vector<float>{-1, 2}));
  EXPECT_EQ(values_of<float>(r.get_output_tensor(2)), (std::vector<float>{1, -2}));
  auto refusal = [&](const char* name) {
    try {
      m.add_output(name);
    } catch (const Error& e) {
      return e.message();
    }
    return std::string("none");
  };
  EXPECT_EQ(refusal("q"), "the model has no layer or tensor 'q'");
  EXPECT_EQ(m.outputs().size(), 3u);
  EXPECT_EQ(m.add_output("p"), 3u) << "a layer means its output 0";
  EXPECT_EQ(m.add_output("p:0"), 3u);
  EXPECT_EQ(m.add_output("p:1"), 4u);
  EXPECT_EQ(refusal("p:2"), "layer 'p' (Split) has no output 2");
}

TEST_F(Requests, HandlesMayGoBeforeTheirRunsEnd) {
  for (int i = 0; i < 50; ++i) {
    InferRequest r = core_.compile_model(model(busy_model)).create_infer_request();
    r.set_input_tensor(0, input(i));
    r.start_async();
  }
}

}  // namespace
}  // namespace graft
