// Normalization and attention.
#include "pytorch/call.hpp"

namespace graft {
namespace {

using pt::Call, pt::Ints;

// ---- normalization ----

Value pt_affine(const Value& y, const Value& weight, const Value& bias, size_t axes) {
  Value v = y;
  if (weight) v = v * convert(pt::by_channel(weight, axes), v.type());
  return bias ? v + convert(pt::by_channel(bias, axes), v.type()) : v;
}
// Mean and variance over axes, in f32 at least.
struct PtMoments {
  Value mean, variance;
};
PtMoments pt_moments(const Value& x, const Ints& axes) {
  Value mean = pt::reduce("ReduceMean", x, axes, true), d = x - mean;
  return {mean, pt::reduce("ReduceMean", d * d, axes, true)};
}
Value pt_wide(const Value& x) { return x.type() == DType::f16 || x.type() == DType::bf16 ? convert(x, DType::f32) : x; }
Value pt_inverse_root(const Value& v, double eps) { return pt::binary_op("Power", v + eps, like(v, -0.5)); }

Ints pt_all_but_channels(size_t rank) {
  Ints axes{0};
  for (size_t i = 2; i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
  return axes;
}
std::vector<Value> pt_batch_norm(Call& c, bool training, double eps) {
  Builder& in = c.in;
  Value x = c["input"], weight = c.find("weight"), bias = c.find("bias");
  Value mean = c.find("running_mean"), variance = c.find("running_var");
  size_t axes = x.rank() - std::min<size_t>(2, x.rank());
  if (!training) {
    if (!mean || !variance) fail("expected running statistics");
    DType type = mean.type();
    Value scale = weight ? weight : pt::filled_like(mean, 1, type),
          shift = bias ? bias : pt::filled_like(mean, 0, type);
    auto as = [&](const Value& v) { return convert(v, x.type()); };
    Value y = in.op("BatchNormInference@5", {x, as(scale), as(shift), as(mean), as(variance)}, {{"epsilon", eps}});
    Value none = in.constant<float>({}, {0});
    return {y, none, none};
  }
  Value wide = pt_wide(x);
  PtMoments m = pt_moments(wide, pt_all_but_channels(x.rank()));
  Value inverse = pt_inverse_root(m.variance, eps);
  Value y = pt_affine((wide - m.mean) * inverse, weight, bias, axes);
  std::vector<Value> out{convert(y, x.type()), pt::flat(m.mean), pt::flat(inverse)};
  if (!mean || !variance) return out;
  double momentum = c.real("momentum");
  Ints all = pt_all_but_channels(x.rank());
  Value n = pt::count_along(wide, all, wide.type());
  Value unbiased = pt::flat(m.variance) * (n / (n - 1.0));
  out.push_back(mean * (1 - momentum) + convert(pt::flat(m.mean) * momentum, mean.type()));
  out.push_back(variance * (1 - momentum) + convert(unbiased * momentum, variance.type()));
  return out;
}
std::vector<Value> import_pt_batch_norm(Builder& layer) {
  Call c(layer);
  layer.has("momentum");
  std::string_view type = layer.type();
  bool fixed = type.find("no_training") != type.npos,
       always = type == "aten::_batch_norm_with_update" || type == "aten::_batch_norm_with_update_functional";
  std::vector<Value> out = pt_batch_norm(c, !fixed && (always || c.flag("training")), c.real("eps"));
  if (always) out.insert(out.begin() + 3, layer.constant<uint8_t>({}, {0}));
  out.resize(std::max<size_t>(std::min(out.size(), layer.outputs()), 1));
  return out;
}
Value import_pt_instance_norm(Builder& layer) {
  Call c(layer);
  layer.has("momentum");
  Value x = c["input"];
  if (!c.flag("use_input_stats")) return pt_batch_norm(c, false, c.real("eps"))[0];
  Ints axes;
  for (size_t i = 2; i < x.rank(); ++i) axes.push_back(static_cast<int64_t>(i));
  Value wide = pt_wide(x);
  PtMoments m = pt_moments(wide, axes);
  Value y = (wide - m.mean) * pt_inverse_root(m.variance, c.real("eps"));
  return convert(pt_affine(y, c.find("weight"), c.find("bias"), x.rank() - 2), x.type());
}
std::vector<Value> import_pt_group_norm(Builder& layer) {
  Call c(layer);
  for (const char* name : {"N", "C", "HxW"}) layer.has(name), c.find(name);
  Value x = c["input"];
  int64_t groups = c.given("num_groups") ? c.integer("num_groups") : c.integer("group");
  Value wide = pt_wide(x);
  // [n, groups, what belongs to a group]
  Value parts = build::reshape(wide, {build::dim(wide, 0), layer.ints({groups, -1})});
  PtMoments m = pt_moments(parts, {2});
  Value inverse = pt_inverse_root(m.variance, c.real("eps"));
  Value y = pt::same_shape((parts - m.mean) * inverse, x);
  y = pt_affine(y, c.find("weight"), c.find("bias"), x.rank() - 2);
  std::vector<Value> out{convert(y, x.type()), squeeze(convert(m.mean, x.type()), {2}),
                         squeeze(convert(inverse, x.type()), {2})};
  out.resize(std::max<size_t>(std::min(out.size(), layer.outputs()), 1));
  return out;
}
Ints pt_last_axes(Call& c, const Value& x) {
  size_t n = std::max(c.ints("normalized_shape").size(), size_t{1});
  if (n > x.rank()) fail("expected at most ", x.rank(), " normalized axes, got ", n);
  Ints axes;
  for (size_t i = x.rank() - n; i < x.rank(); ++i) axes.push_back(static_cast<int64_t>(i));
  return axes;
}
std::vector<Value> import_pt_layer_norm(Builder& layer) {
  Call c(layer);
  Value x = c["input"];
  Ints axes = pt_last_axes(c, x);
  double eps = c.real("eps");
  Value wide = pt_wide(x), y;
  std::vector<Value> out;
  if (layer.outputs() > 1 && (layer.output_used(1) || layer.output_used(2))) {
    PtMoments m = pt_moments(wide, axes);
    Value inverse = pt_inverse_root(m.variance, eps);
    y = (wide - m.mean) * inverse;
    out = {convert(m.mean, x.type()), convert(inverse, x.type())};
  } else {
    y = layer.op("MVN", {wide, layer.ints(axes)},
                 {{"eps", eps}, {"normalize_variance", true}, {"eps_mode", "INSIDE_SQRT"}});
  }
  if (Value w = c.find("weight")) y = y * convert(w, y.type());
  if (Value b = c.find("bias")) y = y + convert(b, y.type());
  out.insert(out.begin(), convert(y, x.type()));
  return out;
}
std::vector<Value> import_pt_rms_norm(Builder& layer) {
  Call c(layer);
  Value x = c["input"], wide = pt_wide(x);
  double eps = c.given("eps")              ? c.real("eps")
               : wide.type() == DType::f64 ? 2.220446049250313e-16
                                           : 1.1920928955078125e-07;
  Value inverse = pt_inverse_root(pt::reduce("ReduceMean", wide * wide, pt_last_axes(c, x), true), eps);
  Value y = wide * inverse;
  if (Value w = c.find("weight")) y = y * convert(w, y.type());
  std::vector<Value> out{convert(y, x.type()), inverse};
  out.resize(std::max<size_t>(std::min(out.size(), layer.outputs()), 1));
  return out;
}
Value import_pt_weight_norm(Builder& layer) {
  Call c(layer);
  Value v = c["v"];
  Ints axes;
  for (int64_t i : pt::counting_to(v.rank()))
    if (i != c.integer("dim")) axes.push_back(i);
  Value n = layer.op("Sqrt", {pt::reduce("ReduceSum", v * v, axes, true)});
  return v * (c["g"] / n);
}
Value import_pt_local_response_norm(Builder& layer) {
  Call c(layer);
  Value x = c["input"];
  return layer.op(
      "LRN", {x, layer.ints({1})},
      {{"alpha", c.real("alpha")}, {"beta", c.real("beta")}, {"bias", c.real("k")}, {"size", c.integer("size")}});
}

// ---- attention ----

Value pt_repeated_heads(const Value& v, const Value& query) {
  Shape a = v.shape(), q = query.shape();
  size_t h = a.rank() - 3;
  if (!a[h].known() || !q[h].known() || a[h].value() == q[h].value()) return v;
  if (a[h].value() == 0 || q[h].value() % a[h].value()) fail("expected a number of heads divisible by ", a[h]);
  int64_t times = q[h].value() / a[h].value();
  Ints at;
  for (int64_t i = 0; i < q[h].value(); ++i) at.push_back(i / times);
  return build::gather(v, v.in().ints(at), static_cast<int64_t>(h));
}
std::vector<Value> import_pt_attention(Builder& layer) {
  Call c(layer);
  if (c.given("dropout_p") && c.real("dropout_p") != 0)
    unsupported("attention with dropout is not supported: it is random");
  Value q = c["query"], k = c["key"], v = c["value"], mask = c.find("attn_mask");
  if (c.flag("enable_gqa")) k = pt_repeated_heads(k, q), v = pt_repeated_heads(v, q);
  auto r = static_cast<int64_t>(q.rank());
  DType type = q.type();
  Value scores = build::matmul(pt_wide(q), pt_wide(k), false, true);
  if (c.given("scale")) scores = scores * c.number("scale", scores.type());
  else {
    Shape s = q.shape();
    const Dim& d = s[s.rank() - 1];
    scores = d.known() ? scores * (1 / std::sqrt(static_cast<double>(std::max<int64_t>(d.value(), 1))))
                       : scores / layer.op("Sqrt", {convert(dimension_of(q, -1), scores.type())});
  }
  constexpr double none = -std::numeric_limits<double>::infinity();
  if (c.flag("is_causal")) {
    Value rows = unsqueeze(counting(dimension_of(q, r - 2), DType::i64), {1}),
          columns = unsqueeze(counting(dimension_of(k, r - 2), DType::i64), {0});
    scores = pt::where(layer.op("LessEqual", {columns, rows}), scores, like(scores, none));
  }
  if (mask) {
    if (mask.type() == DType::boolean) scores = pt::where(mask, scores, like(scores, none));
    else scores = scores + convert(mask, scores.type());
  }
  Value weights = build::softmax(scores, static_cast<int64_t>(scores.rank()) - 1);
  // Rows that are masked as a whole are zeros.
  if (mask) weights = pt::where(layer.op("IsNaN", {weights}), like(weights, 0), weights);
  std::vector<Value> out{convert(build::matmul(weights, pt_wide(v)), type)};
  if (layer.outputs() > 1 && layer.output_used(1)) {
    Value most = pt::reduce("ReduceMax", scores, {-1}, true);
    Value sum = pt::reduce("ReduceSum", layer.op("Exp", {scores - most}), {-1}, true);
    out.push_back(squeeze(layer.op("Log", {sum}) + most, {-1}));
  }
  return out;
}

}  // namespace

Definitions define_pytorch_normalization() {
  return {
      pt::rules({"aten::batch_norm", "aten::native_batch_norm", "aten::_native_batch_norm_legit",
                 "aten::_native_batch_norm_legit_no_training", "aten::_native_batch_norm_legit_functional",
                 "aten::_batch_norm_with_update", "aten::_batch_norm_no_update"},
                import_pt_batch_norm),
      pt::rules({"aten::instance_norm"}, import_pt_instance_norm),
      pt::rules({"aten::group_norm", "aten::native_group_norm"}, import_pt_group_norm),
      pt::rules({"aten::layer_norm", "aten::native_layer_norm"}, import_pt_layer_norm),
      pt::rules({"aten::rms_norm", "aten::_fused_rms_norm"}, import_pt_rms_norm),
      pt::rules({"aten::_weight_norm"}, import_pt_weight_norm),
      pt::rules({"aten::local_response_norm"}, import_pt_local_response_norm),
      pt::rules({"aten::scaled_dot_product_attention", "aten::_scaled_dot_product_flash_attention_for_cpu",
                 "aten::_scaled_dot_product_attention_math"},
                import_pt_attention, {"return_debug_mask"}),
  };
}

}  // namespace graft
