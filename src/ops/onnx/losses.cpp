// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss
#include <graft/kit/expressions.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

// scores: [N,C,...], target: [N,...]. The class of a target is selected by comparing it with all class indices, so that
// an invalid target (an ignored one) selects nothing.
Value class_loss(Builder& layer, const Value& scores, Value target) {
  size_t rank = scores.rank();
  std::vector<int64_t> behind(rank - 1, 1);
  behind[0] = -1;
  Value number = reshape(counting(dimension_of(scores, 1), target.type()), behind);
  Value hit = layer.op("Equal", {unsqueeze(target, {1}), number});
  auto picked = [&](const Value& from) {
    Value only = layer.op("Select", {hit, from, like(scores, 0)});
    return layer.op("ReduceSum", {only, layer.ints({1})}, {{"keep_dims", false}});
  };
  Value loss = -picked(scores), weight;
  if (layer.has_input(2)) weight = picked(reshape(layer.input(2), behind));
  if (layer.has("ignore_index")) {
    auto ignored = static_cast<double>(layer.get<int64_t>("ignore_index"));
    Value counts = layer.op("NotEqual", {target, like(target, ignored)});
    loss = layer.op("Select", {counts, loss, like(loss, 0)});
    weight = layer.op("Select", {counts, weight ? weight : like(loss, 1), like(loss, 0)});
  }
  if (weight) loss = loss * weight;

  auto reduction = layer.get<std::string>("reduction", "mean");
  std::vector<int64_t> all(rank - 1);
  std::iota(all.begin(), all.end(), 0);
  auto total = [&](std::string_view op, const Value& v) {
    return layer.op(op, {v, layer.ints(all)}, {{"keep_dims", false}});
  };
  if (reduction == "none") return loss;
  if (reduction == "sum") return total("ReduceSum", loss);
  if (reduction != "mean") fail("expected reduction none, sum or mean, got '", reduction, "'");
  return weight ? total("ReduceSum", loss) / total("ReduceSum", weight) : total("ReduceMean", loss);
}

void check_scores(const Value& scores) {
  if (scores.rank() < 2) fail("expected scores with a class axis, got shape ", scores.shape());
}

Value import_nll_loss(Builder& layer) {
  check_scores(layer.input(0));
  return class_loss(layer, layer.input(0), layer.input(1));
}
std::vector<Value> import_cross_entropy_loss(Builder& layer) {
  check_scores(layer.input(0));
  Value log_prob = layer.op("LogSoftmax", {layer.input(0)}, {{"axis", 1}});
  return {class_loss(layer, log_prob, layer.input(1)), log_prob};
}

}  // namespace

Definitions define_onnx_losses() {
  return {
      onnx("NegativeLogLikelihoodLoss").expand(import_nll_loss),
      onnx("SoftmaxCrossEntropyLoss").expand(import_cross_entropy_loss),
  };
}

}  // namespace graft
