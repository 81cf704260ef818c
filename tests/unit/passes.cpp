// What passes leave of a graph; that results stay the same is checked by every .test case.
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/tensor.hpp"
#include "graph/text.hpp"
#include "infer/complete.hpp"
#include "passes/pass.hpp"
#include "toolkit/built_ins.hpp"

namespace graft {
namespace {

// How many operations of a type are left after all passes.
size_t left(const std::string& type, const std::string& text) {
  static const Registry* registry = [] {
    auto* r = new Registry;
    add_built_ins(*r);
    return r;
  }();
  Graph g = parse_graph(text);
  complete(g, *registry);
  run_passes(g, *registry);
  size_t count = 0;
  for (NodeId id : g.topological_order()) count += g[id].is(type);
  return count;
}

TEST(SinkTransposes, CancelBehindElementwiseOperations) {
  EXPECT_EQ(left("Transpose", R"(graph (x: f32[1,2,3,4]) {
    a = Transpose(x, i64[4] {0, 2, 3, 1})
    b = Add(Relu(a), f32[2] {1, 2})
    return Transpose(b, i64[4] {0, 3, 1, 2})
  })"),
            0u);
}
TEST(SinkTransposes, CancelBehindTwoBranches) {
  EXPECT_EQ(left("Transpose", R"(graph (x: f32[1,2,3,4], y: f32[1,2,3,4]) {
    a = Transpose(x, i64[4] {0, 2, 3, 1})
    b = Transpose(y, i64[4] {0, 2, 3, 1})
    c = Concat(Multiply(a, b), a) {axis = 3}
    return Transpose(c, i64[4] {0, 3, 1, 2})
  })"),
            0u);
}
TEST(SinkTransposes, CancelBehindPadAndSoftmax) {
  EXPECT_EQ(left("Transpose", R"(graph (x: f32[1,2,3,4]) {
    a = Transpose(x, i64[4] {0, 2, 3, 1})
    b = Pad@1(a, i64[4] {0, 1, 2, 0}, i64[4] {0, 0, 1, 0}, f32[] {0}) {pad_mode = "constant"}
    c = Softmax@8(b) {axis = -1}
    return Transpose(c, i64[4] {0, 3, 1, 2})
  })"),
            0u);
}
TEST(SinkTransposes, VanishInReductionsOverWhatTheyMove) {
  EXPECT_EQ(left("Transpose", R"(graph (x: f32[1,2,3,4]) {
    a = Transpose(x, i64[4] {0, 2, 3, 1})
    return ReduceMean(a, i64[2] {1, 2}) {keep_dims = false}
  })"),
            0u);
}
TEST(SinkTransposes, AreReshapesWhereNothingMoves) {
  const char* graph = R"(graph (x: f32[?,1,1,8]) { return Transpose(x, i64[4] {0, 3, 1, 2}) })";
  EXPECT_EQ(left("Transpose", graph), 0u);
  EXPECT_EQ(left("Reshape", graph), 1u);
}
TEST(SinkTransposes, StayWhereTheyAreNeeded) {
  EXPECT_EQ(left("Transpose", R"(graph (x: f32[1,2,3,4]) {
    a = Transpose(x, i64[4] {0, 2, 3, 1})
    return Reshape(a, i64[1] {-1}) {special_zero = false}
  })"),
            1u);
}

// ---- what a replacement file says to a pass ----

Graph leaky() { return parse_graph("graph (x: f32[3]) { return PRelu(x, f32[] {0.5}) }"); }

double slope_after(const PassOptions& options) {
  Registry registry;
  add_built_ins(registry);
  registry.add(load_library(GRAFT_TEST_EXTENSIONS "/passes_tour.so"));
  Graph g = leaky();
  complete(g, registry);
  run_passes(g, registry, options);
  for (NodeId id : g.topological_order())
    if (g[id].is("PRelu")) return values_of<double>(g[g[id].inputs[1].node].attrs.find("value")->as<Tensor>())[0];
  return -1;
}

TEST(ConfiguredPass, RunsForEveryCallWithWhatItSays) {
  PassOptions options;
  EXPECT_EQ(slope_after(options), 0.5);
  options.calls.push_back({"tour_other_slope", {}});
  options.calls.back().attributes["slope"] = 0.25;
  EXPECT_EQ(slope_after(options), 0.25);
  options.calls.push_back(options.calls.back());
  options.calls.back().attributes["slope"] = 0.125;
  EXPECT_EQ(slope_after(options), 0.125);
}
TEST(ConfiguredPass, IsLeftOutWhereItIsDisabled) {
  PassOptions options;
  options.calls.push_back({"tour_other_slope", {}});
  options.calls.back().attributes["slope"] = 0.25;
  options.disabled = {"tour_other_slope"};
  EXPECT_EQ(slope_after(options), 0.5);
}
TEST(ConfiguredPass, MustExistAndBeConfigurable) {
  for (const char* name : {"tour_nothing", "tour_doubled"}) {
    PassOptions options;
    options.calls.push_back({name, {}});
    EXPECT_THROW(slope_after(options), Error);
  }
}

// A value that the user wants kept has no maker, so no rewrite looks through it.
TEST(KeptNodes, StayAndHideWhatIsBehindThem) {
  Registry registry;
  add_built_ins(registry);
  Graph g = parse_graph("graph (x: f32[3]) { s = Sigmoid(x) return Multiply(x, s) }");
  complete(g, registry);
  PassOptions options;
  options.is_kept = [](const std::string& name) { return name == "s"; };
  run_passes(g, registry, options);
  size_t sigmoids = 0;
  for (NodeId id : g.topological_order()) sigmoids += g[id].is("Sigmoid");
  EXPECT_EQ(sigmoids, 1u);
}

}  // namespace
}  // namespace graft
