// What passes do with operations of an extension by their traits (tests/extensions/traits.cpp), and which versions of
// an operation a kernel runs.
#include "base/tensor.hpp"
#include "extensions/open.hpp"
#include "graph/text.hpp"
#include "infer/complete.hpp"
#include "passes/pass.hpp"
#include "passes/preprocess.hpp"
#include "toolkit.hpp"
#include "toolkit/built_ins.hpp"

namespace graft {
namespace {

const Registry& with_traits() {
  static const Registry* registry = [] {
    auto* r = new Registry;
    add_built_ins(*r);
    for (const auto& e : open_extension(GRAFT_TEST_EXTENSIONS "/traits.so")) r->add(e);
    return r;
  }();
  return *registry;
}
Graph completed(const std::string& text) {
  Graph g = parse_graph(text);
  complete(g, with_traits());
  return g;
}
size_t count(const Graph& g, const std::string& type) {
  size_t n = 0;
  for (NodeId id : g.topological_order()) n += g[id].is(type);
  return n;
}
const Node& only(const Graph& g, const std::string& type) {
  for (NodeId id : g.topological_order())
    if (g[id].is(type)) return g[id];
  throw_user("there is no ", type);
}

TEST(Traits, AnOperationOfAnExtensionIsWidenedOnTheCpu) {
  Graph g =
      completed("graph (x: f16[8], s: f16[8]) { return Relu(TraitSquare@traits(Relu(x))), TraitSlope@traits(x, s) }");
  PassOptions options;
  options.phases = PassPhases::compiling;
  options.device = "CPU";
  run_passes(g, with_traits(), options);
  EXPECT_EQ(only(g, "TraitSquare").outputs[0].info.type, DType::f32);
  EXPECT_EQ(only(g, "TraitSlope").outputs[0].info.type, DType::f32);
}

TEST(Traits, StridesMoveThroughIt) {
  Graph g = completed(R"(graph (x: f32[1,3,8,8]) {
    a = Convolution(x, f32[4,3,3,3] random(1, -1, 1)) {strides = [1,1], pads_begin = [1,1], pads_end = [1,1], dilations = [1,1]}
    b = TraitSlope@traits(TraitSquare@traits(a), f32[4] {1, 2, 3, 4})
    return Convolution(b, f32[2,4,1,1] random(2, -1, 1)) {strides = [2,2], pads_begin = [0,0], pads_end = [0,0], dilations = [1,1]}
  })");
  run_passes(g, with_traits());
  EXPECT_EQ(only(g, "TraitSquare").outputs[0].info.shape, Shape({1, 4, 4, 4}));
  EXPECT_EQ(count(g, "MaxPool"), 0u);
}

TEST(Traits, ReversedChannelsPassIt) {
  Graph g = completed(R"(graph (x: f32[1,3,8,8]) {
    a = TraitSlope@traits(TraitMirror@traits(TraitSquare@traits(x)), f32[3] {1, 2, 3})
    return Convolution(a, f32[2,3,1,1] random(2, -1, 1)) {strides = [1,1], pads_begin = [0,0], pads_end = [0,0], dilations = [1,1]}
  })");
  std::vector<std::string> warnings;
  reverse_channels(g, with_traits(), Preprocess(), warnings);
  EXPECT_EQ(count(g, "Gather"), 0u);
  for (ValueId v : only(g, "TraitSlope").inputs)
    if (g[v.node].is("Constant")) {
      EXPECT_EQ(values_of<int>(g[v.node].attrs.find("value")->as<Tensor>()), (std::vector<int>{3, 2, 1}));
    }
}

TEST(Traits, BuiltInPassesTakeNoOverriddenOperationForTheirOwn) {
  Registry registry;
  add_built_ins(registry);
  for (const auto& e : open_extension(GRAFT_TEST_EXTENSIONS "/override_relu.so")) registry.add(e);
  Graph g = parse_graph("graph (x: f32[3]) { return Relu(Relu(x)) }");
  complete(g, registry);
  run_passes(g, registry);
  EXPECT_EQ(count(g, "Relu"), 2u);
}

TEST(KernelVersions, OpsetsWithoutANumberHaveNoRange) {
  for (const KernelDef& k : with_traits().kernels(*with_traits().find("TraitSquare", "traits"), "CPU"))
    EXPECT_NE(view(k.record->name), "stray");
}

TEST(KernelVersions, ARangeEndsWhereItSays) {
  auto names = [](const char* opset) {
    std::vector<std::string> out;
    for (const KernelDef& k : with_traits().kernels(*with_traits().find("TraitVersion", opset), "CPU"))
      out.emplace_back(view(k.record->name));
    return out;
  };
  EXPECT_EQ(names("opset1"), std::vector<std::string>{"copies"});
  EXPECT_EQ(names("opset4"), std::vector<std::string>{"copies"});
  EXPECT_TRUE(names("opset9").empty());
  EXPECT_TRUE(with_traits().runs_other_versions(*with_traits().find("TraitVersion", "opset9"), "CPU"));
  EXPECT_FALSE(with_traits().runs_other_versions(*with_traits().find("TraitVersion", "opset4"), "CPU"));
  EXPECT_FALSE(with_traits().runs_other_versions(*with_traits().find("TraitSquare", "traits"), "CPU"));
}

class ExplainedVersions : public ToolkitTest {};

TEST_F(ExplainedVersions, SayWhereTheRangeEnds) {
  Core core;
  core.add_extension(GRAFT_TEST_EXTENSIONS "/traits.so");
  std::string graph = file("v.graph", "graph (x: f32[3]) { return TraitVersion@9(x), TraitVersion@4(x) }");
  std::string text = core.compile_model(core.read_model(graph), "CPU").explain().to_text();
  EXPECT_NE(text.find("no CPU kernel for this version (opset9)"), std::string::npos) << text;
  EXPECT_EQ(text.find("(opset4)"), std::string::npos) << text;
  EXPECT_NE(text.find("copies"), std::string::npos) << text;
}

}  // namespace
}  // namespace graft
