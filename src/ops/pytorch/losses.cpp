// Losses of ATen.
#include "pytorch/call.hpp"

namespace graft {
namespace {

using pt::Call, pt::Ints;

// ---- losses ----

Value pt_loss(Call& c, const Value& each) {
  int64_t how = c.integer("reduction");
  if (how == 0) return each;
  return pt::reduce(how == 1 ? "ReduceMean" : "ReduceSum", each, pt::counting_to(each.rank()), false);
}
Value pt_log_softplus(const Value& v) { return v.in().op("SoftPlus", {v}); }
Value import_pt_loss(Builder& layer) {
  Call c(layer);
  std::string_view t = layer.type().substr(6);
  if (t == "margin_ranking_loss") {
    Value d = -(c["target"] * (c["input1"] - c["input2"])) + c.real("margin");
    return pt_loss(c, layer.op("Maximum", {d, like(d, 0)}));
  }
  Value x = c["self"], y = c["target"], d = x - convert(y, x.type());
  if (t == "mse_loss") return pt_loss(c, d * d);
  if (t == "l1_loss") return pt_loss(c, pt::absolute(d));
  if (t == "huber_loss" || t == "smooth_l1_loss") {
    bool huber = t == "huber_loss";
    double b = c.real(huber ? "delta" : "beta");
    Value size = pt::absolute(d),
          inner = d * d *
                  (huber   ? 0.5
                   : b > 0 ? 0.5 / b
                           : 0),
          outer = (size - b / 2) * (huber ? b : 1);
    return pt_loss(c, b > 0 ? pt::where(pt::less(size, b), inner, outer) : size);
  }
  if (t == "soft_margin_loss") return pt_loss(c, pt_log_softplus(-(convert(y, x.type()) * x)));
  if (t == "hinge_embedding_loss") {
    Value far = layer.op("Maximum", {c.real("margin") - x, like(x, 0)});
    Value zero = like(x, 0);
    return pt_loss(c, pt::where(pt::equals(y, 1), zero, far) + pt::where(pt::equals(y, -1), zero, x));
  }
  if (t == "kl_div") {
    if (c.flag("log_target")) return pt_loss(c, layer.op("Exp", {y}) * (y - x));
    Value safe = pt::where(pt::greater(y, 0), y, like(y, 1));
    return pt_loss(c, y * (layer.op("Log", {safe}) - x));
  }
  if (t == "poisson_nll_loss") {
    Value loss = c.flag("log_input") ? layer.op("Exp", {x}) - y * x : x - y * layer.op("Log", {x + c.real("eps")});
    return pt_loss(c, loss);
  }
  Value w = c.find("weight");
  if (t == "binary_cross_entropy") {
    auto log = [&](const Value& v) {
      Value l = layer.op("Log", {v});
      return layer.op("Maximum", {l, like(l, -100)});
    };
    Value loss = -(y * log(x) + (1.0 - y) * log(1.0 - x));
    return pt_loss(c, w ? loss * w : loss);
  }
  if (t == "binary_cross_entropy_with_logits") {
    Value p = c.find("pos_weight"),
          loss = (1.0 - y) * x + (p ? (y * (p - 1.0) + 1.0) * pt_log_softplus(-x) : pt_log_softplus(-x));
    return pt_loss(c, w ? loss * w : loss);
  }
  unsupported("the loss '", t, "' is not supported");
}
// Of class indices, by log-probabilities.
std::vector<Value> pt_nll(Call& c, const Value& logs, const Value& target) {
  Builder& in = c.in;
  size_t rank = logs.rank();
  int64_t axis = rank == 1 ? 0 : 1, ignored = c.integer("ignore_index");
  Value t = convert(target, DType::i64), skip = pt::equals(t, static_cast<double>(ignored));
  Value safe = pt::where(skip, like(t, 0), t);
  Value loss = -squeeze(in.op("GatherElements", {logs, unsqueeze(safe, {axis})}, {{"axis", axis}}), {axis});
  Value w = c.find("weight");
  Value weights = w ? build::gather(w, safe, 0) : pt::filled_like(t, 1, logs.type());
  weights = pt::where(skip, like(weights, 0), convert(weights, logs.type()));
  loss = pt::where(skip, like(loss, 0), loss * weights);
  int64_t how = c.integer("reduction");
  Ints all = pt::counting_to(loss.rank());
  Value total = pt::reduce("ReduceSum", weights, all, false);
  if (how == 0) return {loss, total};
  Value sum = pt::reduce("ReduceSum", loss, all, false);
  return {how == 1 ? sum / total : sum, total};
}
std::vector<Value> import_pt_nll(Builder& layer) {
  Call c(layer);
  std::vector<Value> out = pt_nll(c, c["self"], c["target"]);
  out.resize(std::max<size_t>(std::min(out.size(), layer.outputs()), 1));
  return out;
}
Value import_pt_cross_entropy(Builder& layer) {
  Call c(layer);
  Value x = c["self"], y = c["target"], w = c.find("weight");
  int64_t axis = x.rank() == 1 ? 0 : 1;
  Value logs = layer.op("LogSoftmax", {x}, {{"axis", axis}});
  double smooth = c.real("label_smoothing");
  Shape s = x.shape();
  Value n = convert(dimension_of(x, axis), x.type());
  auto by_class = [&](const Value& v) {
    Ints dims(x.rank(), 1);
    dims[static_cast<size_t>(axis)] = -1;
    return reshape(v, dims);
  };
  if (pt::is_float(y.type())) {
    Value p = smooth > 0 ? y * (1 - smooth) + smooth / n : y;
    Value loss = logs * p;
    if (w) loss = loss * by_class(w);
    loss = -pt::reduce("ReduceSum", loss, {axis}, false);
    if (c.integer("reduction") != 1) return pt_loss(c, loss);
    Value count = pt::count_along(loss, pt::counting_to(loss.rank()), x.type());
    return pt::reduce("ReduceSum", loss, pt::counting_to(loss.rank()), false) / count;
  }
  std::vector<Value> plain = pt_nll(c, logs, y);
  if (smooth == 0) return plain[0];
  int64_t how = c.integer("reduction");
  Value skip = pt::equals(y, static_cast<double>(c.integer("ignore_index")));
  Value even = -pt::reduce("ReduceSum", w ? logs * by_class(w) : logs, {axis}, false);
  even = pt::where(skip, like(even, 0), even);
  if (how != 0) even = pt::reduce("ReduceSum", even, pt::counting_to(even.rank()), false);
  if (how == 1) even = even / plain[1];
  return plain[0] * (1 - smooth) + even * smooth / n;
}
Value pt_p_distance(const Value& a, const Value& b, double p, double eps) {
  Value d = pt::absolute(pt::as_float(a) - pt::as_float(b) + eps);
  Ints last{static_cast<int64_t>(d.rank()) - 1};
  if (p == 2) return pt::unary_op("Sqrt", pt::reduce("ReduceSum", d * d, last, false));
  Value sum = pt::reduce("ReduceSum", pt::binary_op("Power", d, like(d, p)), last, false);
  return pt::binary_op("Power", sum, like(sum, 1 / p));
}
Value import_pt_triplet_loss(Builder& layer) {
  Call c(layer);
  double p = c.real("p"), eps = c.real("eps");
  Value near = pt_p_distance(c["anchor"], c["positive"], p, eps),
        far = pt_p_distance(c["anchor"], c["negative"], p, eps);
  if (c.flag("swap")) far = layer.op("Minimum", {far, pt_p_distance(c["positive"], c["negative"], p, eps)});
  Value d = near - far + c.real("margin");
  return pt_loss(c, layer.op("Maximum", {d, like(d, 0)}));
}
Value import_pt_cosine_loss(Builder& layer) {
  Call c(layer);
  Value a = c["input1"], b = c["input2"], y = c["target"];
  Ints last{static_cast<int64_t>(std::max(a.rank(), b.rank())) - 1};
  auto sum = [&](const Value& v) { return pt::reduce("ReduceSum", v, last, false); };
  Value cosine = sum(a * b) / layer.op("Sqrt", {(sum(a * a) + 1e-12) * (sum(b * b) + 1e-12)});
  Value apart = cosine - c.real("margin"), zero = like(cosine, 0);
  Value each =
      pt::where(pt::equals(y, 1), 1.0 - cosine, pt::where(pt::equals(y, -1), layer.op("Maximum", {apart, zero}), zero));
  return pt_loss(c, each);
}
Value import_pt_multilabel_margin_loss(Builder& layer) {
  Call c(layer);
  Value x = c["self"], t = convert(c["target"], DType::i64);
  bool single = x.rank() < 2;
  if (single) x = reshape(x, {1, -1}), t = reshape(t, {1, -1});
  // Labels end at the first -1.
  Value label = layer.op("Less", {layer.op("CumSum", {convert(pt::less(t, 0), DType::i64), layer.scalar(int64_t{1})}),
                                  layer.scalar(int64_t{1})});
  Value safe = pt::where(label, t, like(t, 0));
  Value classes = counting(dimension_of(x, 1), DType::i64);
  Value is_target = pt::reduce(
      "ReduceLogicalOr",
      layer.op("LogicalAnd", {unsqueeze(label, {2}), layer.op("Equal", {unsqueeze(t, {2}), classes})}), {1}, false);
  Value own = layer.op("GatherElements", {x, safe}, {{"axis", 1}});
  Value d = 1.0 - unsqueeze(own, {2}) + unsqueeze(x, {1});
  Value counts = layer.op("LogicalAnd", {unsqueeze(label, {2}), unsqueeze(pt::sign_not(is_target), {1})});
  Value each = pt::where(counts, layer.op("Maximum", {d, like(d, 0)}), like(d, 0));
  Value loss = pt::reduce("ReduceSum", each, {1, 2}, false) / convert(dimension_of(x, 1), x.type());
  return pt_loss(c, single ? reshape(loss, {}) : loss);
}

}  // namespace

Definitions define_pytorch_losses() {
  return {
      pt::rules({"aten::mse_loss", "aten::l1_loss", "aten::huber_loss", "aten::smooth_l1_loss",
                 "aten::soft_margin_loss", "aten::hinge_embedding_loss", "aten::kl_div", "aten::poisson_nll_loss",
                 "aten::binary_cross_entropy", "aten::binary_cross_entropy_with_logits", "aten::margin_ranking_loss"},
                import_pt_loss, {"full"}),
      pt::rules({"aten::nll_loss", "aten::nll_loss2d", "aten::nll_loss_nd", "aten::nll_loss_forward",
                 "aten::nll_loss2d_forward"},
                import_pt_nll),
      pt::rules({"aten::cross_entropy_loss"}, import_pt_cross_entropy),
      pt::rules({"aten::triplet_margin_loss"}, import_pt_triplet_loss),
      pt::rules({"aten::cosine_embedding_loss"}, import_pt_cosine_loss),
      pt::rules({"aten::multilabel_margin_loss"}, import_pt_multilabel_margin_loss),
  };
}

}  // namespace graft
