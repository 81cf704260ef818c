// HETERO: which device each node is assigned to, how the graph is split, and that the parts compute what the whole
// does.
#include "devices/hetero/hetero.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#include "base/tensor.hpp"
#include "devices/reference/reference.hpp"
#include "toolkit.hpp"

namespace graft {
namespace {

// ---- operations that only some devices have, and that tell how they were run ----

void same_shape(Infer& ctx, const NoAttributes&) { ctx.output(0, ctx.input(0)); }
void add_one(Run& ctx, const NoAttributes&) {
  std::vector<double> v = ctx.input(0).to<double>();
  for (double& e : v) e += 1;
  ctx.output(0).assign(v);
}

void not_negative(Run& ctx, const NoAttributes& a) {
  if (ctx.input(0).to<double>()[0] < 0) fail("expected no negative number");
  add_one(ctx, a);
}

std::atomic<int> meeting{0};
// Waits until another one runs: both return 1 only if they run at the same time.
void meet(Run& ctx, const NoAttributes&) {
  ++meeting;
  auto late = std::chrono::steady_clock::now() + std::chrono::minutes(10);
  while (meeting < 2 && std::chrono::steady_clock::now() < late) std::this_thread::yield();
  std::vector<double> v(static_cast<size_t>(ctx.output(0).size()), meeting >= 2);
  ctx.output(0).assign(v);
}

// The address of its input.
void address(Run& ctx, const NoAttributes&) {
  ctx.output(0).assign(std::vector<int64_t>{reinterpret_cast<int64_t>(ctx.input(0).raw()->data)});
}

Definitions devices_differ() {
  auto of = [](const char* name) { return op(name, "test").inputs("x").infer(same_shape); };
  auto decline = [](Accept& ctx) {
    if (ctx.shape(0).rank() > 1) unsupported("it takes vectors only");
  };
  auto refuse = [](Accept& ctx) {
    if (ctx.shape(0).rank() > 1) fail("expected a vector");
  };
  return {
      of("Faulty").kernel(Kernel("CPU", "faulty").accept(refuse).run(add_one)).reference(add_one),
      of("OnCpu").kernel(Kernel("CPU", "plus").run(add_one)),
      of("OnReference").reference(add_one),
      of("Vectors").kernel(Kernel("CPU", "vectors").accept(decline).run(add_one)),
      of("Nowhere"),
      of("NotNegative").kernel(Kernel("CPU", "check").run(not_negative)),
      of("MeetCpu").kernel(Kernel("CPU", "meet").run(meet)),
      of("MeetReference").reference(meet),
      op("Address", "test")
          .inputs("x")
          .infer([](Infer& ctx, const NoAttributes&) {
            ctx.output(0, Info{DType::i64, Shape{1}});
          })
          .reference(address),
      op("Twice", "test").inputs("x").decompose("graph (x: f32[...]) { y = OnCpu@test(x) return OnCpu@test(y) }"),
  };
}

class Hetero : public ToolkitTest {
 protected:
  Hetero() { core_.add_extension(definitions("devices_differ", "1", devices_differ)); }
  Model model(const std::string& text) { return core_.read_model(file("model.graph", text)); }
  CompiledModel compile(const std::string& text, const std::string& device, const Options& o = {}) {
    return core_.compile_model(model(text), device, o);
  }
  static std::vector<Tensor> run(const CompiledModel& compiled, const std::vector<Tensor>& inputs) {
    InferRequest r = compiled.create_infer_request();
    return run(r, inputs, compiled.outputs().size());
  }
  static std::vector<Tensor> run(InferRequest& r, const std::vector<Tensor>& inputs, size_t count) {
    for (size_t i = 0; i < inputs.size(); ++i) r.set_input_tensor(i, inputs[i]);
    r.infer();
    std::vector<Tensor> out;
    for (size_t i = 0; i < count; ++i) out.push_back(r.get_output_tensor(i).clone());
    return out;
  }
  static Tensor numbers(const std::vector<int64_t>& dims, int seed = 1) {
    Tensor t(DType::f32, dims);
    for (int64_t i = 0; i < t.size(); ++i) t.data<float>()[i] = static_cast<float>((i * 7 + seed * 13) % 23) - 8;
    return t;
  }
  static std::string error_of(const std::function<void()>& f) {
    try {
      f();
    } catch (const Error& e) {
      return e.message();
    }
    return "nothing was thrown";
  }
  static std::map<std::string, std::string> devices_in(const Explanation& e) {
    std::map<std::string, std::string> out;
    for (const Choice& c : e.choices) out[c.node] = e.parts.at(c.part).device;
    return out;
  }
  Core core_;
};

// ---- query ----

constexpr const char* three_kinds = R"(graph (x: f32[2]) {
  a = Relu(x)
  b = OnCpu@test(a)
  c = OnReference@test(b)
  return c
})";

TEST_F(Hetero, QuerySaysWhichKernelOrWhyNot) {
  QueryResult cpu = core_.query_model(model(three_kinds), "CPU");
  EXPECT_TRUE(cpu.supported()) << cpu.to_text();
  ASSERT_EQ(cpu.layers.size(), 3u);
  EXPECT_EQ(cpu.layers[1].reason, "plus");
  EXPECT_EQ(cpu.layers[2].device, "CPU") << "a reference kernel is one of the CPU's";
  EXPECT_EQ(cpu.layers[2].reason, "reference");

  QueryResult reference = core_.query_model(model(three_kinds), "REFERENCE");
  EXPECT_FALSE(reference.supported());
  EXPECT_EQ(reference.layers[1].reason, "operation OnCpu of test has no kernel for REFERENCE");
  EXPECT_EQ(reference.layers[1].device, "");
  EXPECT_EQ(reference.assigned(), (std::map<std::string, std::string>{{"a", "REFERENCE"}, {"c", "REFERENCE"}}));
  EXPECT_NE(reference.to_text().find("REFERENCE supports 2 of 3 layers\n"), std::string::npos) << reference.to_text();
}

TEST_F(Hetero, QueryAsksKernelsBodiesAndDecompositions) {
  auto reason = [&](const std::string& text, const char* device) {
    QueryResult q = core_.query_model(model(text), device);
    for (const LayerSupport& l : q.layers)
      if (!l.supported) return l.reason;
    return std::string("supported");
  };
  EXPECT_EQ(reason("graph (x: f32[2]) { return Vectors@test(x) }", "CPU"), "supported");
  EXPECT_EQ(reason("graph (x: f32[2,2]) { return Vectors@test(x) }", "CPU"),
            "vectors declined with 'it takes vectors only'");
  EXPECT_EQ(reason("graph (x: f32[?,2]) { return Vectors@test(x) }", "CPU"), "supported") << "seen at run time";
  EXPECT_EQ(reason("graph (x: f32[2]) { return Nowhere@test(x) }", "CPU"),
            "operation Nowhere of test has no kernel for CPU");
  EXPECT_NE(core_.query_model(model("graph (x: f32[?,2]) { return Vectors@test(x) }"))
                .to_text()
                .find("decided at run time\n"),
            std::string::npos);
  EXPECT_EQ(reason("graph (x: f32[2]) { return Twice@test(x) }", "CPU"), "supported");
  // A kernel that does not decline but fails is a fault: the reference kernel is not tried in its place.
  std::string fault = "graph (x: f32[2,2]) { return Faulty@test(x) }";
  EXPECT_EQ(reason(fault, "CPU"), "faulty: expected a vector");
  EXPECT_EQ(error_of([&] { compile(fault, "CPU"); }), "expected a vector");
  EXPECT_NE(reason("graph (x: f32[2]) { return Twice@test(x) }", "REFERENCE").find("in its decomposition, "),
            std::string::npos);
  EXPECT_NE(reason(R"(graph (c: boolean[], x: f32[2]) {
    y = If@8(c, x)
      body (a <- 1) -> (r -> 0) graph (a: f32[2]) { return r = OnCpu@test(a) }
      body (b <- 1) -> (s -> 0) graph (b: f32[2]) { return s = Abs(b) }
    return y
  })",
                   "REFERENCE")
                .find("in body 0, "),
            std::string::npos);
  QueryResult both = core_.query_model(model("graph (x: f32[2]) { return Nowhere@test(x) }"), "HETERO:CPU,REFERENCE");
  EXPECT_EQ(
      both.layers.at(0).reason,
      "CPU: operation Nowhere of test has no kernel for CPU; REFERENCE: operation Nowhere of test has no kernel for "
      "REFERENCE");
}

// ---- assignment ----

TEST_F(Hetero, EachNodeGoesToTheFirstDeviceThatSupportsIt) {
  CompiledModel compiled = compile(three_kinds, "HETERO:REFERENCE,CPU");
  EXPECT_EQ(compiled.device(), "HETERO:REFERENCE,CPU");
  Explanation e = compiled.explain();
  EXPECT_EQ(devices_in(e), (std::map<std::string, std::string>{{"a", "REFERENCE"}, {"b", "CPU"}, {"c", "REFERENCE"}}));
  ASSERT_EQ(e.parts.size(), 3u);
  EXPECT_EQ(e.parts[2].phase, 2u);
  ASSERT_EQ(e.crossings.size(), 2u);
  EXPECT_EQ(e.crossings[0].value, "a");
  EXPECT_EQ(e.crossings[0].bytes, 8u);
  EXPECT_FALSE(e.crossings[0].copied);
  EXPECT_EQ(run(compiled, {numbers({2})})[0].data<float>()[0], std::max(0.0f, numbers({2}).data<float>()[0]) + 2);
  EXPECT_EQ(compile(three_kinds, "HETERO:CPU,REFERENCE").explain().parts.size(), 1u);
  EXPECT_EQ(error_of([&] { compile("graph (x: f32[2]) { return Nowhere@test(x) }", "HETERO:CPU,REFERENCE"); }),
            "no device of HETERO:CPU,REFERENCE supports this layer:\n  'v0' (Nowhere): CPU: operation Nowhere of test "
            "has no kernel for CPU; REFERENCE: operation Nowhere of test has no kernel for REFERENCE");
}

TEST_F(Hetero, AffinitiesAreFollowedOrRefused) {
  constexpr const char* chain = "graph (x: f32[2]) { a = Abs(x) b = Negative(a) c = Exp(b) return c }";
  Options o;
  o.affinities = {{"b", "REFERENCE"}};
  Explanation e = compile(chain, "HETERO:CPU,REFERENCE", o).explain();
  EXPECT_EQ(devices_in(e), (std::map<std::string, std::string>{{"a", "CPU"}, {"b", "REFERENCE"}, {"c", "CPU"}}));
  QueryResult q = core_.query_model(model(chain), "HETERO:CPU,REFERENCE", o);
  EXPECT_EQ(q.assigned(), devices_in(e));
  o.affinities = q.assigned();
  EXPECT_EQ(devices_in(compile(chain, "HETERO:CPU,REFERENCE", o).explain()), q.assigned());

  auto message = [&](const std::string& layer, const std::string& device, const char* text = three_kinds) {
    Options with;
    with.affinities = {{layer, device}};
    return error_of([&] { compile(text, "HETERO:CPU,REFERENCE", with); });
  };
  EXPECT_EQ(message("b", "REFERENCE"),
            "layer 'b' (OnCpu) cannot run on REFERENCE: operation OnCpu of test has no kernel for REFERENCE");
  EXPECT_EQ(message("b", "GPU"),
            "the affinity of layer 'b' (OnCpu) is GPU, which is not among the devices of HETERO:CPU,REFERENCE");
  EXPECT_EQ(message("d", "CPU"), "the model has no layer 'd', which has an affinity");
  EXPECT_EQ(message("b", "CPU GPU"), "expected a device, got 'CPU GPU'");
  EXPECT_EQ(message("x", "REFERENCE"), "nothing was thrown") << "inputs go with their consumers";
  Options alone;
  alone.affinities = {{"b", "CPU"}};
  EXPECT_EQ(error_of([&] { compile(three_kinds, "CPU", alone); }),
            "affinities were given, but the model is compiled for CPU alone");
}

TEST_F(Hetero, AffinitiesInAnIr) {
  Model m = model("graph (x: f32[2]) { a = Abs(x) b = Negative(a) return b }");
  std::string path = folder_.path() + "/m.xml";
  m.save_ir(path);
  std::ifstream in(path);
  std::string xml{std::istreambuf_iterator<char>(in), {}};
  for (const char* spelling : {R"(<attribute name="affinity" version="0" value="REFERENCE"/>)",
                               R"(<affinity value="REFERENCE"/>)", "<affinity>REFERENCE</affinity>"}) {
    std::string changed = xml;
    size_t layer = changed.find("<layer id=\"1\""), at = changed.find("<input>", layer);
    ASSERT_NE(at, changed.npos);
    changed.insert(at, std::string("<rt_info>") + spelling + "</rt_info>");
    std::ofstream(path) << changed;
    Model read = core_.read_model(path);
    EXPECT_EQ(devices_in(core_.compile_model(read, "HETERO:CPU,REFERENCE").explain()),
              (std::map<std::string, std::string>{{"a", "REFERENCE"}, {"b", "CPU"}}))
        << spelling;
    Options o;
    o.affinities = {{"a", "CPU"}, {"b", "REFERENCE"}};
    EXPECT_EQ(devices_in(core_.compile_model(read, "HETERO:CPU,REFERENCE", o).explain()), o.affinities)
        << "of the options first";
    EXPECT_NO_THROW(core_.compile_model(read, "CPU"));
  }
}

// ---- splitting ----

TEST_F(Hetero, IndependentBranchesAreNotCut) {
  // The second branch stays in the first part although the first one changes the device twice.
  Explanation e = compile(R"(graph (x: f32[4]) {
    a = OnReference@test(x)
    b = OnCpu@test(a)
    c = OnReference@test(b)
    d = OnReference@test(x)
    e = OnReference@test(d)
    return c, e
  })",
                          "HETERO:REFERENCE,CPU")
                      .explain();
  ASSERT_EQ(e.parts.size(), 3u);
  EXPECT_EQ(e.parts[0].operations, 3u);
  EXPECT_EQ(e.crossings.size(), 2u);
}

TEST_F(Hetero, ConstantsAreCopiedIntoEveryPart) {
  // `s` is known when the model is compiled, so it does not cross, and nothing computes it.
  Options o;
  o.affinities = {{"r", "CPU"}};
  Explanation e = compile(R"(graph (x: f32[2,3]) {
    w = f32[3] {1, 2, 3}
    a = Multiply(OnReference@test(x), w)
    s = ShapeOf@3(a)
    r = Reshape(x, s) {special_zero = false}
    b = OnCpu@test(r)
    c = OnReference@test(Multiply(b, w))
    return a, c
  })",
                          "HETERO:REFERENCE,CPU", o)
                      .explain();
  for (const Crossing& c : e.crossings) EXPECT_EQ(c.info.type, DType::f32) << c.value;
  for (const Choice& c : e.choices) EXPECT_NE(c.type, "ShapeOf");
}

TEST_F(Hetero, ResultsMayBeInputsConstantsOrTheSameValueTwice) {
  CompiledModel compiled = compile(R"(graph (x: f32[2]) {
    k = f32[2] {5, 6}
    a = OnReference@test(x)
    b = OnCpu@test(a)
    return x, k, a, again = a, b
  })",
                                   "HETERO:REFERENCE,CPU");
  InferRequest r = compiled.create_infer_request();
  Tensor own(DType::f32, {2}), x = numbers({2});
  r.set_output_tensor(2, own);
  for (int i = 0; i < 3; ++i) {
    std::vector<Tensor> out = run(r, {x}, 5);
    EXPECT_EQ(out[0].data<float>()[1], x.data<float>()[1]);
    EXPECT_EQ(out[1].data<float>()[1], 6);
    EXPECT_EQ(r.get_output_tensor(2).data(), own.data());
    EXPECT_EQ(out[3].data<float>()[1], own.data<float>()[1]);
    EXPECT_EQ(out[4].data<float>()[1], x.data<float>()[1] + 2);
    EXPECT_NE(r.get_output_tensor(0).data(), x.data());
    EXPECT_NE(r.get_output_tensor(3).data(), own.data());
    Tensor taken = r.take_output_tensor(4);
    x = numbers({2}, 5 + i);
    run(r, {x}, 5);
    EXPECT_NE(taken.data(), r.get_output_tensor(4).data());
  }
}

// ---- running ----

TEST_F(Hetero, HostDevicesShareMemory) {
  CompiledModel compiled = compile(R"(graph (x: f32[16]) {
    a = OnCpu@test(x)
    b = Address@test(a)
    return a, b
  })",
                                   "HETERO:REFERENCE,CPU");
  InferRequest r = compiled.create_infer_request();
  std::vector<Tensor> out = run(r, {numbers({16})}, 2);
  EXPECT_EQ(*r.get_output_tensor(1).data<int64_t>(), reinterpret_cast<int64_t>(r.get_output_tensor(0).data()));
}

TEST_F(Hetero, IndependentPartsRunAtTheSameTime) {
  CompiledModel compiled = compile(R"(graph (x: f32[1]) {
    a = MeetCpu@test(x)
    b = MeetReference@test(x)
    return Add(a, b)
  })",
                                   "HETERO:REFERENCE,CPU");
  for (int i = 0; i < 3; ++i) {
    meeting = 0;
    EXPECT_EQ(run(compiled, {numbers({1})})[0].data<float>()[0], 2) << "each has seen the other";
  }
}

TEST_F(Hetero, DataDependentShapesCross) {
  constexpr const char* text = R"(graph (x: f32[?]) {
    found = NonZero(x)
    more = OnCpu@test(Convert(found) {destination_type = f32})
    return OnReference@test(Abs(more))
  })";
  CompiledModel compiled = compile(text, "HETERO:REFERENCE,CPU");
  InferRequest r = compiled.create_infer_request();
  for (int64_t n : {4, 0, 9, 4}) {
    Tensor x = numbers({n}), y = run(r, {x}, 1)[0];
    int64_t count = 0;
    for (int64_t i = 0; i < n; ++i) count += x.data<float>()[i] != 0;
    EXPECT_EQ(y.dims(), (std::vector<int64_t>{1, count}));
  }
  Explanation e = compiled.explain({{4}});
  EXPECT_FALSE(e.crossings.at(0).bytes);
  EXPECT_NE(e.to_text().find("size depends on the data"), std::string::npos) << e.to_text();
}

TEST_F(Hetero, StateIsKeptFromRunToRun) {
  constexpr const char* text = R"(graph (x: f32[2]) {
    before = ReadValue@6(f32[2] {0, 0}) {variable_id = "sum", variable_type = f32, variable_shape = [2]}
    next = OnCpu@test(Add(before, x))
    after = Assign@6(OnReference@test(next)) {variable_id = "sum"}
    return before
  })";
  for (const char* reader : {"CPU", "REFERENCE"})
    for (const char* writer : {"CPU", "REFERENCE"}) {
      Options o;
      o.affinities = {{"before", reader}, {"after", writer}};
      CompiledModel compiled = compile(text, "HETERO:CPU,REFERENCE", o);
      InferRequest r = compiled.create_infer_request();
      Tensor x = make_tensor<float>({2}, {1, 2});
      for (int round = 0; round < 2; ++round) {
        for (int i = 0; i < 3; ++i)
          EXPECT_EQ(run(r, {x}, 1)[0].data<float>()[1], static_cast<float>(4 * i)) << reader << " and " << writer;
        r.reset_state();
      }
    }
}

TEST_F(Hetero, CancelProfileAndErrors) {
  constexpr const char* endless = R"(graph (x: f32[]) {
    a = OnCpu@test(x)
    y = Loop@5(i64[] {9223372036854775807}, boolean[] {true}, a)
      body (i <- iteration, s <- 2) -> (next -> 0, go -> condition) feed (next -> s)
      graph (i: i64[], s: f32[]) { n = Abs(s) yes = boolean[] {true} return next = n, go = yes }
    return y
  })";
  InferRequest r = compile(endless, "HETERO:REFERENCE,CPU").create_infer_request();
  r.set_input_tensor(0, make_tensor<float>({}, {0}));
  r.start_async();
  EXPECT_FALSE(r.wait_for(std::chrono::milliseconds(20)));
  r.cancel();
  try {
    r.wait();
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::cancelled);
  }

  Options o;
  o.profile = true;
  r = compile(three_kinds, "HETERO:REFERENCE,CPU", o).create_infer_request();
  for (int i = 0; i < 2; ++i) run(r, {numbers({2})}, 1);
  std::vector<ProfilingInfo> rows = r.get_profiling_info();
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1].kernel, "plus");
  EXPECT_EQ(rows[2].calls, 2u);

  // One part fails; the request runs again.
  r = compile(
          "graph (x: f32[1]) { a = NotNegative@test(x) b = OnReference@test(x) return OnReference@test(a), "
          "OnCpu@test(b) }",
          "HETERO:REFERENCE,CPU")
          .create_infer_request();
  Tensor bad = make_tensor<float>({1}, {-1}), good = make_tensor<float>({1}, {1});
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(error_of([&] { run(r, {bad}, 2); }), "expected no negative number");
    EXPECT_EQ(error_of([&] { run(r, {good}, 2); }), "nothing was thrown");
  }
}

}  // namespace
}  // namespace graft
