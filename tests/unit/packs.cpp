// What kernels compute from constants alone is made once per compiled model.
#include <atomic>

#include "toolkit.hpp"

namespace graft {
namespace {

std::atomic<int> packs, prepares, alive;

struct Weights {
  std::vector<float> values;
  Weights() { ++alive; }
  Weights(const Weights& o) : values(o.values) { ++alive; }
  ~Weights() { --alive; }
};
Weights pack(Pack& ctx) {
  ++packs;
  Weights w;
  if (TensorView t = ctx.constant(1)) w.values = t.to<float>();
  if (ctx.shape(0).ranked()) fail("shapes belong to prepare");
  return w;
}
const Weights* prepare(Prepare& ctx) {
  ++prepares;
  return &ctx.packed<Weights>();
}
void run(Run& ctx, const Weights* const& w) {
  std::vector<float> x = ctx.input(0).to<float>();
  for (size_t i = 0; i < x.size(); ++i) x[i] *= w->values[i % w->values.size()];
  ctx.output(0).assign(x);
}
Definitions scale() {
  return op("PackedScale", "test")
      .inputs("x, weights")
      .infer([](Infer& ctx, const NoAttributes&) { ctx.output(0, ctx.input(0)); })
      .kernel(Kernel("CPU", "packed").pack(pack).run(prepare, run));
}

class Packs : public ToolkitTest {};

TEST_F(Packs, AreMadeOncePerCompiledModel) {
  packs = prepares = 0;
  {
    Core core;
    core.add_extension(definitions("packs", "1", scale));
    std::string model =
        file("scale.graph", "graph (x: f32[?,2]) { y = PackedScale@test(x, f32[2] {2, 3}) return y = y }");
    CompiledModel compiled = core.compile_model(model);
    InferRequest a = compiled.create_infer_request(), b = compiled.create_infer_request();
    for (int64_t rows : {1, 2, 3, 20, 1, 40}) {
      InferRequest& r = rows % 2 ? a : b;
      Tensor x(DType::f32, {rows, 2});
      std::fill(x.data<float>(), x.data<float>() + x.size(), 1.0f);
      r.set_input_tensor(0, x);
      r.infer();
      EXPECT_EQ(r.get_output_tensor(0).data<float>()[2 * rows - 1], 3);
    }
    EXPECT_EQ(packs, 1);
    EXPECT_EQ(prepares, 5);  // one per shape
    EXPECT_EQ(alive, 1);
  }
  EXPECT_EQ(alive, 0);
}

// A body belongs to the compiled model: requests share its program, and other shapes of the inputs do not drop it.
TEST_F(Packs, BodiesAreCompiledOncePerModel) {
  Core core;
  core.add_extension(definitions("packs", "1", scale));
  auto model = [&](const char* rows) {
    return core.read_model(
        file("loop.graph", text("graph (x: f32[", rows, ",2], n: i64[]) {\n", "  y = Loop@5(n, boolean[] {true}, x)\n",
                                "    body (a <- 2) -> (s -> 0, go -> condition) feed (s -> a)\n", "    graph (a: f32[",
                                rows, ",2]) {\n", "      s = PackedScale@test(a, f32[2] {2, 3})\n",
                                "      return s = s, go = boolean[] {true}\n    }\n", "  return y = y\n}")));
  };
  auto infer = [](InferRequest& r, int64_t rows) {
    Tensor x(DType::f32, {rows, 2}), n(DType::i64, {});
    std::fill(x.data<float>(), x.data<float>() + x.size(), 1.0f);
    *n.data<int64_t>() = 3;
    r.set_input_tensor(0, x), r.set_input_tensor(1, n);
    r.infer();
    EXPECT_EQ(r.get_output_tensor(0).data<float>()[2 * rows - 1], 27);
  };
  packs = prepares = 0;
  CompiledModel fixed = core.compile_model(model("4"));
  EXPECT_EQ(prepares, 1) << "the body is compiled with the model";
  for (int i = 0; i < 2; ++i) {
    InferRequest r = fixed.create_infer_request();
    infer(r, 4), infer(r, 4);
  }
  EXPECT_EQ(packs, 1);
  EXPECT_EQ(prepares, 1);

  packs = prepares = 0;
  CompiledModel any = core.compile_model(model("?"));
  InferRequest a = any.create_infer_request(), b = any.create_infer_request();
  for (int64_t rows : {1, 2, 3, 2, 1, 3}) infer(rows % 2 ? a : b, rows), infer(b, rows);
  EXPECT_EQ(packs, 1);
  EXPECT_EQ(prepares, 3) << "one per shape";
}

// In an IR, equal bytes are stored once, and may lie at any offset.
TEST_F(Packs, ConstantsOfSeveralTypesShareUnalignedBytes) {
  Core core;
  Model model = core.read_model(file("shared.graph", R"(graph (x: f32[2,3]) {
    some = Select(boolean[3] {true, false, true}, x, Negative(x))
    part = StridedSlice(some, i32[2] {0, 0}, i32[2] {2, 2}, i32[2] {1, 1}) {begin_mask = [0, 0], end_mask = [0, 0]}
    row = Gather(part, i64[1] {0}, i64[] {0})
    return y = Add(part, row) })"));
  for (const Model& m : {model, model.through_ir()}) {
    InferRequest r = core.compile_model(m).create_infer_request();
    std::vector<float> x{1, 2, 3, 4, 5, 6};
    r.set_input_tensor(0, Tensor::wrap(DType::f32, {2, 3}, x.data()));
    r.infer();
    Tensor y = r.get_output_tensor(0);
    EXPECT_EQ(Values(y.data<float>(), y.data<float>() + y.size()), (Values{2, -4, 5, -7}));
  }
}

// ---- constants that a kernel takes ----

Weights take(Pack& ctx) {
  Weights w;
  w.values = ctx.take(1).to<float>();
  return w;
}
// Adds 100 where the original weights still have data.
void run_taken(Run& ctx, const Weights* const& w) {
  run(ctx, w);
  std::vector<float> y = ctx.output(0).to<float>();
  for (float& v : y) v += ctx.input(1).raw()->data ? 100.0f : 0.0f;
  ctx.output(0).assign(y);
}
void run_again(Run& ctx, const Weights* const&) { ctx.output(0).assign(ctx.input(1).to<float>()); }
void reread(Run& ctx, const NoAttributes&) {
  std::vector<float> x = ctx.input(0).to<float>(), w = ctx.input(1).to<float>();
  for (size_t i = 0; i < x.size(); ++i) x[i] -= w[i % w.size()];
  ctx.output(0).assign(x);
}
Definitions takers() {
  auto same = [](Infer& ctx, const NoAttributes&) { ctx.output(0, ctx.input(0)); };
  return Definitions{op("TakenScale", "test")
                         .inputs("x, weights")
                         .infer(same)
                         .kernel(Kernel("CPU", "taken").pack(take).run(prepare, run_taken)),
                     op("TakenAndRead", "test")
                         .inputs("x, weights")
                         .infer(same)
                         .kernel(Kernel("CPU", "taken_and_read").pack(take).run(prepare, run_again)),
                     op("Reread", "test").inputs("x, weights").infer(same).kernel(Kernel("CPU", "reread").run(reread))};
}

class Taken : public ToolkitTest {
 protected:
  float last_of(const std::string& body) {
    Core core;
    core.add_extension(definitions("takers", "1", takers));
    std::string shape = dynamic_ ? "?,2" : "1,2";
    InferRequest r =
        core.compile_model(file("taken.graph", "graph (x: f32[" + shape + "]) {" + body + " return y = y }"))
            .create_infer_request();
    Tensor x(DType::f32, {1, 2});
    std::fill(x.data<float>(), x.data<float>() + 2, 1.0f);
    r.set_input_tensor(0, x);
    r.infer();
    return r.get_output_tensor(0).data<float>()[1];
  }
  bool dynamic_ = false;
};

TEST_F(Taken, ConstantsHaveNoDataAtRunTime) {
  EXPECT_EQ(last_of("y = TakenScale@test(x, f32[2] {2, 3})"), 3);
  dynamic_ = true;
  EXPECT_EQ(last_of("y = TakenScale@test(x, f32[2] {2, 3})"), 3);
}

TEST_F(Taken, ConstantsThatAreReadAtRunTimeAreReported) {
  try {
    last_of("y = TakenAndRead@test(x, f32[2] {2, 3})");
    FAIL() << "expected an error";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("`pack` has taken it"), std::string::npos) << e.what();
  }
}

TEST_F(Taken, ConstantsStayForOtherConsumers) {
  std::string both = "w = f32[2] {2, 3} a = TakenScale@test(x, w) y = Reread@test(a, w)";
  EXPECT_EQ(last_of(both), 100);
  dynamic_ = true;
  EXPECT_EQ(last_of(both), 100);
}

}  // namespace
}  // namespace graft
