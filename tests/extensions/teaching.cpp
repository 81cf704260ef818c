// Layers for the tests of teaching: rules of an extension beside a mapping file, and replacements of sub-graphs.
#include <graft/extension.hpp>

namespace {

using namespace graft;

void same_infer(Infer& ctx, const NoAttributes&) { ctx.output(0, ctx.input(0)); }
template <int factor, int shift>
void linear_run(Run& ctx, const NoAttributes&) {
  std::vector<double> x = ctx.input(0).to<double>();
  for (double& v : x) v = v * factor + shift;
  ctx.output(0).assign(x);
}

// One node for a whole cell of a network.
struct RidgeCell {
  int64_t depth = 1;
  std::string mode = "soft";
  static constexpr std::tuple schema{attr("depth", &RidgeCell::depth, "times the first input").at_least(1),
                                     attr("mode", &RidgeCell::mode, "how").one_of("soft", "hard")};
};
void cell_infer(Infer& ctx, const RidgeCell&) { ctx.output(0, ctx.input(0)); }
void cell_run(Run& ctx, const RidgeCell& a) {
  std::vector<double> x = ctx.input(0).to<double>();
  for (double& v : x) v *= static_cast<double>(a.depth);
  ctx.output(0).assign(x);
}

// Uses what the matched nodes hold: the constant 'scale' of the cell, its type, and an attribute of the entry.
Value fold_cell(Builder& layer) {
  if (layer.get<std::string>("nodes.join.type") != "Mul") fail("the cell does not multiply");
  if (layer.get<std::vector<std::string>>("nodes").empty()) fail("no nodes are listed");
  return layer.input(0) * layer.constant(layer.get<TensorView>("nodes.scale.value")) +
         double{layer.get<float>("bias.value", 0)};
}
// The initializer that a matched node of ONNX reads.
Value fold_pair(Builder& layer) { return layer.input(0) + layer.constant(layer.get<TensorView>("nodes.add.inputs.1")); }

}  // namespace

GRAFT_EXTENSION("teaching", "1.0") {
  return {
      op("Doubled", "teaching").inputs("x").infer(same_infer).reference(linear_run<2, 0>).import(caffe("Doubled")),
      op("Shifted", "teaching").inputs("x").infer(same_infer).reference(linear_run<1, 10>).import(caffe("Shifted")),
      // In place of the built-in rule.
      op("OwnTanh", "teaching").inputs("x").infer(same_infer).reference(linear_run<0, 7>).import(caffe("TanH")),
      // Layers in Python: of one module, and of any.
      op("OfModule", "teaching")
          .inputs("x")
          .infer(same_infer)
          .reference(linear_run<3, 0>)
          .import(caffe("my.mod.Twist")),
      op("OfClass", "teaching").inputs("x").infer(same_infer).reference(linear_run<5, 0>).import(caffe("Twist")),
      op<RidgeCell>("RidgeCell", "teaching").inputs("x").infer(cell_infer).reference(cell_run),
      replacement("FoldCell").expand(fold_cell),
      replacement("FoldPair").expand(fold_pair),
  };
}
