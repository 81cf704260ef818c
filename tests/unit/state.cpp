// What belongs to a request: the variables of its nodes, and the memory of its outputs.
#include <graft/layer.hpp>
#include <graft/objects.hpp>
#include <graft/state.hpp>

#include "base/tensor.hpp"
#include "toolkit.hpp"

namespace graft {
namespace {

void same(Infer& ctx, const NoAttributes&) { ctx.output(0, ctx.input(0)); }

// The sum of its inputs so far, in a variable whose id is the same for all nodes.
void sum_run(Run& ctx, const NoAttributes&) {
  std::vector<double> x = ctx.input(0).to<double>();
  if (TensorView old = variable_of_shape(ctx, "sum", ctx.input(0).dims())) {
    std::vector<double> before = old.to<double>();
    for (size_t i = 0; i < x.size(); ++i) x[i] += before[i];
  }
  ctx.output(0).assign(x);
  ctx.set_variable("sum", ctx.output(0));
}

struct Named {
  std::string variable_id;
  static constexpr std::tuple schema{attr("variable_id", &Named::variable_id, "the variable").required()};
};
// Adds the variable that the attribute names, which another node writes.
void add_named(Run& ctx, const Named& a) {
  std::vector<double> x = ctx.input(0).to<double>();
  if (TensorView old = ctx.variable(a.variable_id))
    for (size_t i = 0; i < x.size(); ++i) x[i] += old.to<double>()[i];
  ctx.output(0).assign(x);
  ctx.set_variable(a.variable_id, ctx.output(0));
}

// Counts the calls of its node in a request, in an object.
void count_run(Run& ctx, const NoAttributes&) {
  std::shared_ptr<void>* kept = request_object(ctx.raw()->runner, "count");
  if (!kept) unsupported("there is no request");
  if (!*kept) *kept = std::make_shared<int>(0);
  int count = ++*static_cast<int*>(kept->get());
  ctx.output(0).assign(std::vector<double>(static_cast<size_t>(ctx.output(0).size()), count));
}

void write_nothing(Run&, const NoAttributes&) {}
void allocate_two(Run& ctx, const NoAttributes&) { ctx.allocate(0, {2}); }

Definitions stateful() {
  return {op("Sum", "test").inputs("x").infer(same).reference(sum_run).impure(),
          op("Wrapped", "test").inputs("x").decompose("graph (x: f32[?]) { return Sum@test(x) }").impure(),
          op<Named>("Share", "test")
              .inputs("x")
              .infer([](Infer& ctx, const Named&) { ctx.output(0, ctx.input(0)); })
              .reference(add_named)
              .impure(),
          // By mistake it is not declared to have state.
          op("Pure", "test").inputs("x").infer(same).reference(sum_run),
          op("Count", "test").inputs("x").infer(same).reference(count_run).impure(),
          op("Nothing", "test").inputs("x").infer(same).reference(write_nothing),
          op("Unwritten", "test")
              .inputs("x")
              .infer([](Infer& ctx, const NoAttributes&) { ctx.output(0, ctx.type(0), Shape{Dim::between(0, 4)}); })
              .reference(allocate_two)};
}

class State : public ToolkitTest {
 protected:
  State() { core_.add_extension(definitions("state", "1", stateful)); }
  CompiledModel compile(const std::string& graph, const std::string& device, const Options& options = {}) {
    return core_.compile_model(core_.read_model(file("m.graph", graph)), device, options);
  }
  static std::vector<Values> run(InferRequest& r, Values x) {
    r.set_input_tensor(0, Tensor::wrap(DType::f32, {static_cast<int64_t>(x.size())}, x.data()).clone());
    r.infer();
    std::vector<Values> out;
    for (size_t i = 0; i < outputs_; ++i) out.push_back(values_of<float>(r.get_output_tensor(i)));
    return out;
  }
  static inline size_t outputs_ = 2;
  Core core_;
  std::vector<std::string> devices_{"CPU", "REFERENCE", "HETERO:CPU,REFERENCE"};
};

TEST_F(State, AVariableBelongsToItsNode) {
  for (const char* op : {"Sum", "Wrapped", "Pure"})
    for (const std::string& device : devices_) {
      Options options;
      if (device.starts_with("HETERO") && std::string(op) == "Sum") options.affinities = {{"z", "REFERENCE"}};
      CompiledModel compiled =
          compile(text("graph (x: f32[?]) { y = ", op, "@test(x) z = ", op, "@test(Negative(x)) return y, z }"), device,
                  options);
      InferRequest r = compiled.create_infer_request(), other = compiled.create_infer_request();
      for (float i = 1; i <= 3; ++i) {
        EXPECT_EQ(run(r, {1, 2}), (std::vector<Values>{{i, 2 * i}, {-i, -2 * i}})) << op << " on " << device;
      }
      EXPECT_EQ(run(other, {1, 2}), (std::vector<Values>{{1, 2}, {-1, -2}})) << op << " on " << device;
      r.reset_state();
      EXPECT_EQ(run(r, {5, 5}), (std::vector<Values>{{5, 5}, {-5, -5}})) << op << " on " << device;
    }
}

TEST_F(State, AVariableOfAnotherShapeIsAnError) {
  for (const std::string& device : devices_) {
    CompiledModel compiled = compile("graph (x: f32[?]) { y = Sum@test(x) return y, x }", device);
    InferRequest r = compiled.create_infer_request();
    run(r, {1, 2});
    try {
      run(r, {1, 2, 3});
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& e) {
      EXPECT_EQ(e.message(), "expected the variable 'sum' of shape [3], got [2]");
      EXPECT_NE(e.hint().find("reset_state"), std::string::npos);
    }
    EXPECT_EQ(run(r, {1, 2})[0], (Values{2, 4})) << "other shapes have not lost it";
    r.reset_state();
    EXPECT_EQ(run(r, {1, 2, 3})[0], (Values{1, 2, 3}));
  }
}

TEST_F(State, ANodeOfABodyHasOneVariableForAllIterations) {
  constexpr const char* graph = R"(graph (x: f32[2]) {
    y = Loop@5(i64[] {3}, boolean[] {true}, x)
      body (i <- iteration, s <- 2) -> (n -> 0, go -> condition) feed (n -> s)
      graph (i: i64[], s: f32[2]) { n = Sum@test(s) yes = boolean[] {true} return n = n, go = yes }
    z = Loop@5(i64[] {2}, boolean[] {true}, x)
      body (i <- iteration, s <- 2) -> (n -> 0, go -> condition) feed (n -> s)
      graph (i: i64[], s: f32[2]) { n = Sum@test(s) yes = boolean[] {true} return n = n, go = yes }
    return y, z
  })";
  for (const std::string& device : devices_) {
    InferRequest r = compile(graph, device).create_infer_request();
    // 1, 1 + 1, 1 + 1 + 2; in the second run the sums go on from 4, and from 2.
    EXPECT_EQ(run(r, {1, 10}), (std::vector<Values>{{4, 40}, {2, 20}})) << device;
    EXPECT_EQ(run(r, {1, 10}), (std::vector<Values>{{20, 200}, {6, 60}})) << device;
    r.reset_state();
    EXPECT_EQ(run(r, {1, 10}), (std::vector<Values>{{4, 40}, {2, 20}})) << device;
  }
}

TEST_F(State, NodesThatStateTheVariableShareIt) {
  for (const std::string& device : devices_) {
    InferRequest r = compile(R"(graph (x: f32[2]) {
      y = Share@test(x) {variable_id = "v"}
      z = Share@test(y) {variable_id = "v"}
      return y, z
    })",
                             device)
                         .create_infer_request();
    EXPECT_EQ(run(r, {1, 2}), (std::vector<Values>{{1, 2}, {2, 4}})) << device;
    EXPECT_EQ(run(r, {1, 2}), (std::vector<Values>{{3, 6}, {6, 12}})) << device;
  }
}

TEST_F(State, WhatKeepsStateIsNotFolded) {
  for (const std::string& device : devices_) {
    InferRequest r = compile("graph (x: f32[2]) { y = Add(Pure@test(f32[2] {1, 2}), x) return y, x }", device)
                         .create_infer_request();
    EXPECT_EQ(run(r, {0, 0})[0], (Values{1, 2})) << device;
    EXPECT_EQ(run(r, {0, 0})[0], (Values{2, 4})) << device;
  }
}

TEST_F(State, AnObjectLivesWithTheRequest) {
  for (const std::string& device : devices_) {
    CompiledModel compiled = compile("graph (x: f32[1]) { y = Count@test(x) z = Count@test(y) return y, z }", device);
    InferRequest r = compiled.create_infer_request();
    run(r, {0});
    EXPECT_EQ(run(r, {0}), (std::vector<Values>{{2}, {2}})) << device;
    InferRequest other = compiled.create_infer_request();
    EXPECT_EQ(run(other, {0}), (std::vector<Values>{{1}, {1}})) << device;
    r.reset_state();
    EXPECT_EQ(run(r, {0}), (std::vector<Values>{{1}, {1}})) << device;
  }
}

TEST_F(State, WhatAKernelDoesNotWriteIsZero) {
  outputs_ = 1;
  for (const std::string& device : devices_)
    for (const char* graph :
         {"graph (x: f32[2]) { return Nothing@test(x) }", "graph (x: f32[2]) { return Relu(Nothing@test(Exp(x))) }",
          "graph (x: f32[2]) { return Unwritten@test(Exp(x)) }"}) {
      InferRequest r = compile(graph, device).create_infer_request();
      std::vector<float> old{7, 7};
      for (int i = 0; i < 2; ++i) {
        bool planned = std::string_view(graph).find("Unwritten") == std::string_view::npos;
        if (planned) r.set_output_tensor(0, Tensor::wrap(DType::f32, {2}, old.data()));
        EXPECT_EQ(run(r, {1, 2})[0], (Values{0, 0})) << graph << " on " << device;
      }
    }
  outputs_ = 2;
}

// ---- layers in OpenCV's form ----

template <int factor>
struct Scaled : opencv::dnn::Layer {
  explicit Scaled(const opencv::dnn::LayerParams& p) : Layer(p) {}
  static opencv::Ptr<opencv::dnn::Layer> create(opencv::dnn::LayerParams& p) {
    return opencv::Ptr<opencv::dnn::Layer>(new Scaled(p));
  }
  void forward(opencv::InputArrayOfArrays in, opencv::OutputArrayOfArrays out, opencv::OutputArrayOfArrays) override {
    std::vector<opencv::Mat> x, y;
    in.getMatVector(x), out.getMatVector(y);
    for (size_t i = 0; i < x[0].total(); ++i) y[0].ptr<float>()[i] = factor * x[0].ptr<float>()[i];
  }
};
template <int factor>
Definitions scaled_layer() {
  return layer<Scaled<factor>>("Scaled");
}

TEST_F(State, LayersOfOneTypeAreAStack) {
  Core core;
  std::string net = file("n.prototxt",
                         "input: \"x\" input_shape { dim: 2 }\n"
                         "layer { name: \"y\" type: \"Scaled\" bottom: \"x\" top: \"y\" }\n");
  auto result = [&] { return ToolkitTest::run(core.compile_model(core.read_model(net))); };
  ExtensionId two = core.add_extension(definitions("two", "1", scaled_layer<2>));
  CompiledModel kept = core.compile_model(core.read_model(net));
  EXPECT_EQ(result(), (Values{-2, 6}));
  ExtensionId three = core.add_extension(definitions("three", "1", scaled_layer<3>));
  ExtensionId four = core.add_extension(definitions("four", "1", scaled_layer<4>));
  EXPECT_EQ(result(), (Values{-4, 12}));
  core.remove_extension(four);
  EXPECT_EQ(result(), (Values{-3, 9}));
  EXPECT_EQ(ToolkitTest::run(kept), (Values{-2, 6}));
  core.remove_extension(three);
  EXPECT_EQ(result(), (Values{-2, 6}));
  core.add_extension(definitions("three again", "1", scaled_layer<3>));
  EXPECT_EQ(result(), (Values{-3, 9}));
  core.remove_extension(two);
  EXPECT_EQ(result(), (Values{-3, 9}));
}

}  // namespace
}  // namespace graft
