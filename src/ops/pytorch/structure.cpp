// What is not ATen in exported programs: arithmetic of sizes, assertions, control flow, quantization, torchvision.
#include "onnx/loops.hpp"
#include "pytorch/call.hpp"

namespace graft {
namespace {

using pt::Call, pt::Ints;

// ---- sizes and numbers ----

Value import_pt_sym_size(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  return dimension_of(x, pt::axis_of(c.integer("dim"), x.rank()));
}
Value import_pt_sym_numel(Builder& layer) {
  Call c(layer);
  Value x = c.find("self") ? c["self"] : c["a"];
  return layer.op("ReduceProd", {shape_of(x), layer.ints({0})}, {{"keep_dims", false}});
}
Value import_pt_sym_offset(Builder& layer) { return layer.scalar(int64_t{0}); }

// An operand that is a value or a plain number. Numbers of Python are 64 bits wide.
Value pt_operand(Call& c, std::string_view name) {
  if (Value v = c.find(name)) return pt::is_float(v.type()) ? convert(v, DType::f64) : v.type() == DType::boolean ? v : convert(v, DType::i64);
  const graft_value* f = c.in.field(name);
  if (f && f->kind == GRAFT_FLOAT) return c.in.scalar(f->f, DType::f64);
  if (f && f->kind == GRAFT_BOOL) return c.in.truth(f->i != 0);
  return c.in.scalar(c.integer(name));
}
struct PtOperator {
  std::string_view type, op;
};
constexpr PtOperator pt_operators[] = {
    {"_operator::add", "Add"},          {"_operator::sub", "Subtract"},      {"_operator::mul", "Multiply"},
    {"_operator::floordiv", "Divide"},  {"_operator::mod", "FloorMod"},      {"_operator::pow", "Power"},
    {"_operator::eq", "Equal"},         {"_operator::ne", "NotEqual"},       {"_operator::lt", "Less"},
    {"_operator::le", "LessEqual"},     {"_operator::gt", "Greater"},        {"_operator::ge", "GreaterEqual"},
    {"_operator::and_", "LogicalAnd"},  {"_operator::or_", "LogicalOr"},     {"torch::sym_max", "Maximum"},
    {"torch::sym_min", "Minimum"}};
Value import_pt_operator(Builder& layer) {
  Call c(layer);
  Value a = pt_operand(c, "a"), b = pt_operand(c, "b");
  if (a.type() != b.type() && a.type() != DType::boolean && b.type() != DType::boolean)
    a = convert(a, DType::f64), b = convert(b, DType::f64);
  for (const PtOperator& row : pt_operators)
    if (row.type == layer.type()) {
      if (row.op == "Divide" && pt::is_float(a.type())) return layer.op("Floor", {a / b});
      return layer.op(row.op, {a, b});
    }
  fail("no operation for '", layer.type(), "'");
}
Value import_pt_true_quotient(Builder& layer) {
  Call c(layer);
  return convert(pt_operand(c, "a"), DType::f64) / convert(pt_operand(c, "b"), DType::f64);
}
Value import_pt_negative(Builder& layer) {
  Call c(layer);
  return -pt_operand(c, "a");
}
Value import_pt_not(Builder& layer) {
  Call c(layer);
  return pt::sign_not(pt::truth_of(pt_operand(c, c.given("a") ? "a" : "self")));
}
Value import_pt_sym_float(Builder& layer) {
  Call c(layer);
  return convert(pt_operand(c, "a"), DType::f64);
}
Value import_pt_to_int(Builder& layer) {
  Call c(layer);
  Value a = pt_operand(c, "a");
  if (!pt::is_float(a.type())) return a;
  std::string_view t = layer.type();
  if (t.find("ceil") != t.npos) a = layer.op("Ceiling", {a});
  if (t.find("floor") != t.npos) a = layer.op("Floor", {a});
  if (t.find("round") != t.npos) a = layer.op("Round", {a});
  return convert(pt::truncated(a), DType::i64);
}
Value import_pt_sym_ite(Builder& layer) {
  Call c(layer);
  return pt::where(pt_operand(c, "b"), pt_operand(c, "t"), pt_operand(c, "f"));
}
Value import_pt_item(Builder& layer) {
  Call c(layer);
  Value x = as_scalar(c["self"]);
  return pt::is_float(x.type()) ? convert(x, DType::f64) : x.type() == DType::boolean ? x : convert(x, DType::i64);
}
std::vector<Value> import_pt_assertion(Builder&) { return {}; }

// ---- quantization ----

struct PtLevels {
  Value scale, zero;
};
Value pt_along(const Value& v, size_t rank, int64_t axis) {
  Ints dims(rank, 1);
  dims[static_cast<size_t>(axis)] = -1;
  return reshape(v, dims);
}
PtLevels pt_levels(Call& c, const Value& x) {
  bool channels = c.in.type().find("per_channel") != std::string_view::npos;
  auto one = [&](std::initializer_list<const char*> names) {
    for (const char* n : names)
      if (c.given(n)) return c.number(n, DType::f32);
    return Value();
  };
  Value scale = one({"scales", "scale"}), zero = one({"zero_points", "zero_point"});
  if (!scale) fail("expected a scale");
  if (!zero) zero = like(scale, 0);
  if (channels) {
    int64_t axis = pt::axis_of(c.integer("axis"), x.rank());
    return {pt_along(scale, x.rank(), axis), pt_along(zero, x.rank(), axis)};
  }
  if (scale.rank() == 1) scale = as_scalar(scale);
  if (zero.rank() == 1) zero = as_scalar(zero);
  return {scale, zero};
}
Value pt_rounded_levels(Call& c, const Value& x, const PtLevels& l) {
  Value q = c.in.op("Round", {x / l.scale}) + l.zero;
  double low = c.real("quant_min"), high = c.real("quant_max");
  return c.in.op("Clamp", {q}, {{"min", low}, {"max", high}});
}
Value import_pt_quantize(Builder& layer) {
  Call c(layer);
  Value x = convert(c["input"], DType::f32);
  return convert(pt_rounded_levels(c, x, pt_levels(c, x)), c.dtype().value_or(DType::i8));
}
Value import_pt_dequantize(Builder& layer) {
  Call c(layer);
  for (const char* n : {"quant_min", "quant_max", "dtype"}) layer.has(n);
  Value x = convert(c["input"], DType::f32);
  PtLevels l = pt_levels(c, x);
  Value zero = l.zero;
  if (auto v = zero.values<double>(); v && v->size() == 1 && (*v)[0] == 0) return x * l.scale;
  return (x - zero) * l.scale;
}
Value import_pt_fake_quantize(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  PtLevels l = pt_levels(c, x);
  return (pt_rounded_levels(c, x, l) - l.zero) * l.scale;
}
std::vector<Value> import_pt_choose_qparams(Builder& layer) {
  Call c(layer);
  Value x = convert(c["input"], DType::f32);
  layer.has("dtype");
  double low = c.real("quant_min"), high = c.real("quant_max"), eps = c.real("eps");
  Ints all = pt::counting_to(x.rank());
  Value least = pt::reduce("ReduceMin", x, all, false), most = pt::reduce("ReduceMax", x, all, false);
  least = layer.op("Minimum", {least, like(least, 0)}), most = layer.op("Maximum", {most, like(most, 0)});
  if (layer.type().find("symmetric") != std::string_view::npos) {
    Value size = layer.op("Maximum", {-least, most});
    Value scale = layer.op("Maximum", {size / ((high - low) / 2), like(size, eps)});
    return {convert(scale, DType::f64), layer.scalar(int64_t{0})};
  }
  Value scale = layer.op("Maximum", {(most - least) / (high - low), like(most, eps)});
  Value zero = layer.op("Clamp", {low - layer.op("Round", {least / scale})}, {{"min", low}, {"max", high}});
  return {reshape(convert(scale, DType::f64), {1}), reshape(convert(zero, DType::i64), {1})};
}

// ---- torchvision ----

Value import_pt_nms(Builder& layer) {
  Call c(layer);
  Value boxes = c["dets"], scores = c["scores"];
  // [x1, y1, x2, y2] or [y1, x1, y2, x2] means the same to overlaps.
  Value rows = layer.ops("NonMaxSuppression@9",
                         {unsqueeze(convert(boxes, DType::f32), {0}), unsqueeze(convert(scores, DType::f32), {0, 1}),
                          dimension_of(boxes, 0), layer.scalar(c.real("iou_threshold"), DType::f32),
                          layer.scalar(static_cast<double>(std::numeric_limits<float>::lowest()), DType::f32)},
                         {{"box_encoding", "corner"}, {"sort_result_descending", true}, {"output_type", DType::i64}}, 3)[0];
  return squeeze(build::slice(rows, 1, 2, 3), {1});
}
Value import_pt_roi_align(Builder& layer) {
  Call c(layer);
  Value rois = c["rois"], batch = squeeze(convert(build::slice(rois, 1, 0, 1), DType::i64), {1});
  int64_t ratio = c.integer("sampling_ratio");
  return layer.op("ROIAlign@9", {c["input"], build::slice(rois, 1, 1, 5), batch},
                  {{"pooled_h", c.integer("pooled_height")}, {"pooled_w", c.integer("pooled_width")},
                   {"sampling_ratio", std::max<int64_t>(ratio, 0)}, {"spatial_scale", c.real("spatial_scale")},
                   {"mode", "avg"}, {"aligned_mode", c.flag("aligned") ? "half_pixel_for_nn" : "asymmetric"}});
}
Value import_pt_deform_conv(Builder& layer) {
  Call c(layer);
  Value w = c["weight"];
  auto pair = [&](const char* h, const char* wd) { return Ints{c.integer(h), c.integer(wd)}; };
  std::vector<Value> inputs{c["input"], c["offset"], w};
  if (c.flag("use_mask")) inputs.push_back(c["mask"]);
  Ints pads = pair("pad_h", "pad_w");
  Value y = layer.op("DeformableConvolution@8", inputs,
                     {{"strides", pair("stride_h", "stride_w")}, {"dilations", pair("dilation_h", "dilation_w")},
                      {"pads_begin", pads}, {"pads_end", pads}, {"group", c.integer("groups")},
                      {"deformable_group", c.integer("offset_groups")}, {"bilinear_interpolation_pad", true}});
  if (Value b = c.find("bias")) y = y + reshape(b, {1, -1, 1, 1});
  return y;
}

// The bounds of bins of regions, rounded as torchvision does, and the mean or maximum over each, through matrices of
// which element belongs to which bin: [regions, bins, size].
struct PtBins {
  Value start, end;  // [regions, bins]
};
PtBins pt_bins(const Value& first, const Value& length, int64_t n, const Value& size) {
  Builder& in = first.in();
  Value at = unsqueeze(convert(counting(in.scalar(n), DType::i64), DType::f32), {0}), bin = unsqueeze(length / static_cast<double>(n), {1});
  Value limit = convert(size, DType::f32), zero = like(limit, 0), base = unsqueeze(first, {1});
  auto clamped = [&](const Value& v) { return in.op("Minimum", {in.op("Maximum", {v, zero}), limit}); };
  return {clamped(in.op("Floor", {at * bin}) + base), clamped(in.op("Ceiling", {(at + 1.0) * bin}) + base)};
}
Value pt_members(const PtBins& b, const Value& size) {
  Builder& in = b.start.in();
  Value at = reshape(convert(counting(size, DType::i64), DType::f32), {1, 1, -1});
  return in.op("LogicalAnd", {in.op("GreaterEqual", {at, unsqueeze(b.start, {2})}), in.op("Less", {at, unsqueeze(b.end, {2})})});
}
struct PtRegions {
  Value batch, x1, y1, x2, y2;  // [regions]
};
PtRegions pt_regions(const Value& rois) {
  auto column = [&](int64_t i) { return squeeze(build::slice(rois, 1, i, i + 1), {1}); };
  return {convert(column(0), DType::i64), column(1), column(2), column(3), column(4)};
}
Value pt_half_away(const Value& v) { return v.in().op("Round", {v}, {{"mode", "half_away_from_zero"}}); }
std::vector<Value> import_pt_roi_pool(Builder& layer) {
  Call c(layer);
  Value x = c["input"];
  PtRegions r = pt_regions(c["rois"]);
  double scale = c.real("spatial_scale");
  Value h = dimension_of(x, 2), w = dimension_of(x, 3);
  auto side = [&](const Value& from, const Value& to, int64_t n, const Value& size) {
    Value a = pt_half_away(from * scale), b = pt_half_away(to * scale), length = b - a + 1.0;
    return pt_members(pt_bins(a, layer.op("Maximum", {length, like(length, 1)}), n, size), size);
  };
  int64_t ph = c.integer("pooled_height"), pw = c.integer("pooled_width");
  Value rows = side(r.y1, r.y2, ph, h), columns = side(r.x1, r.x2, pw, w);
  // [regions, 1, bins, 1, height, 1] and [regions, 1, 1, bins, 1, width]
  Value inside = layer.op("LogicalAnd", {unsqueeze(rows, {1, 3, 5}), unsqueeze(columns, {1, 2, 4})});
  Value maps = unsqueeze(build::gather(x, r.batch, 0), {2, 3});
  constexpr double least = -std::numeric_limits<float>::max();
  Value all = pt::where(inside, maps, like(x, least));
  Value best = pt::reduce("ReduceMax", all, {4, 5}, true);
  Value empty = pt::sign_not(pt::reduce("ReduceLogicalOr", inside, {4, 5}, true));
  Value places = pt::same_shape(counting(h * w, DType::i64), build::slice(build::slice(all, 0, 0, 1), 0, 0, 1).in().op(
      "Broadcast", {layer.scalar(int64_t{0}), build::concat({layer.ints({1, 1, 1, 1}), reshape(h, {1}), reshape(w, {1})}, 0)}, {{"mode", "numpy"}}));
  Value hit = layer.op("LogicalAnd", {inside, layer.op("Equal", {maps, best})});
  Value at = pt::reduce("ReduceMin", pt::where(hit, places, h * w), {4, 5}, true);
  Value no = pt::broadcast_to(empty, best);
  best = squeeze(pt::where(no, like(best, 0), best), {4, 5});
  at = squeeze(pt::where(no, like(at, -1), at), {4, 5});
  return {best, convert(at, DType::i32)};
}
// Channel (c * bins + bin) of the data is for bin `bin` of output channel c.
Value pt_own_channels(const Value& maps, int64_t ph, int64_t pw) {
  Shape s = maps.shape();
  if (!s[1].known() || s[1].value() % (ph * pw)) fail("expected a number of channels divisible by ", ph * pw, ", got ", s[1]);
  Builder& in = maps.in();
  return build::reshape(maps, {build::dim(maps, 0), in.ints({s[1].value() / (ph * pw), ph, pw}), build::dims(maps, {2, 3})});
}
Value pt_channel_mapping(const Value& y, int64_t ph, int64_t pw) {
  Builder& in = y.in();
  Shape s = y.shape();
  int64_t n = s[1].value();
  Value map = convert(reshape(counting(in.scalar(n * ph * pw), DType::i64), {1, n, ph, pw}), DType::i32);
  return build::broadcast(map, shape_of(y));
}
std::vector<Value> import_pt_ps_roi_pool(Builder& layer) {
  Call c(layer);
  Value x = c["input"];
  PtRegions r = pt_regions(c["rois"]);
  double scale = c.real("spatial_scale");
  int64_t ph = c.integer("pooled_height"), pw = c.integer("pooled_width");
  Value h = dimension_of(x, 2), w = dimension_of(x, 3);
  auto side = [&](const Value& from, const Value& to, int64_t n, const Value& size) {
    Value a = pt_half_away(from * scale), b = pt_half_away(to * scale), length = layer.op("Maximum", {b - a, like(a, 1)});
    // Here the sum is rounded, not the part of the bin.
    Value at = unsqueeze(convert(counting(layer.scalar(n), DType::i64), DType::f32), {0}), bin = unsqueeze(length / static_cast<double>(n), {1});
    Value base = unsqueeze(a, {1}), limit = convert(size, DType::f32) - 1.0;
    auto clamped = [&](const Value& v) { return layer.op("Minimum", {layer.op("Maximum", {v, like(v, 0)}), limit}); };
    return pt_members({clamped(layer.op("Floor", {at * bin}) + base), clamped(layer.op("Ceiling", {(at + 1.0) * bin}) + base)}, size);
  };
  Value rows = side(r.y1, r.y2, ph, h), columns = side(r.x1, r.x2, pw, w);
  Value inside = layer.op("LogicalAnd", {unsqueeze(rows, {1, 3, 5}), unsqueeze(columns, {1, 2, 4})});
  Value maps = pt_own_channels(build::gather(x, r.batch, 0), ph, pw), mask = convert(inside, x.type());
  Value sum = pt::reduce("ReduceSum", maps * mask, {4, 5}, false), n = pt::reduce("ReduceSum", mask, {4, 5}, false);
  Value y = sum / layer.op("Maximum", {n, like(n, 1)});
  return {y, pt_channel_mapping(y, ph, pw)};
}
// Each bin is the mean of samples, all of one bin as one region of size 1 x 1 with its own channels.
std::vector<Value> import_pt_ps_roi_align(Builder& layer) {
  Call c(layer);
  Value x = c["input"], rois = c["rois"];
  PtRegions r = pt_regions(rois);
  double scale = c.real("spatial_scale");
  int64_t ph = c.integer("pooled_height"), pw = c.integer("pooled_width"), ratio = c.integer("sampling_ratio");
  Shape s = x.shape();
  if (!s[1].known() || s[1].value() % (ph * pw)) fail("expected a number of channels divisible by ", ph * pw, ", got ", s[1]);
  // ROIAlign with half-pixel positions computes all channels for all bins; the bin's own are taken.
  Value all = layer.op("ROIAlign@9", {x, build::slice(rois, 1, 1, 5), r.batch},
                       {{"pooled_h", ph}, {"pooled_w", pw}, {"sampling_ratio", std::max<int64_t>(ratio, 0)},
                        {"spatial_scale", scale}, {"mode", "avg"}, {"aligned_mode", "half_pixel_for_nn"}});
  int64_t n = s[1].value() / (ph * pw);
  Ints at;
  for (int64_t k = 0; k < n; ++k)
    for (int64_t i = 0; i < ph * pw; ++i) at.push_back((k * ph * pw + i) * ph * pw + i);
  Value flat = build::reshape(all, {build::dim(all, 0), layer.ints({-1})});
  Value y = build::reshape(build::gather(flat, layer.ints(at), 1), {build::dim(all, 0), layer.ints({n, ph, pw})});
  return {y, pt_channel_mapping(y, ph, pw)};
}

// ---- recurrent layers ----

struct PtCell {
  const char* op;
  Ints gates;  // torch's order of our gates
  bool cell_state;
};
Value pt_gates(const Value& v, const Ints& order) {
  if (order.empty()) return v;
  std::vector<Value> parts = build::split(v, 0, static_cast<int64_t>(order.size())), out;
  for (int64_t i : order) out.push_back(parts[static_cast<size_t>(i)]);
  return build::concat(out, 0);
}
std::vector<Value> pt_recurrent(Call& c, const PtCell& cell, const char* activation) {
  Builder& in = c.in;
  Value x = c["input"];
  if (c.find("batch_sizes")) unsupported("packed sequences are not supported");
  std::vector<Value> state = c.list("hx"), params = c.tensors("params");
  if (Value h = c.find("hx")) state = {h};
  if (state.empty()) fail("expected an initial state");
  bool biases = c.flag("has_biases"), both = c.flag("bidirectional"), batch_first = c.flag("batch_first");
  int64_t layers = c.integer("num_layers"), directions = both ? 2 : 1;
  size_t each = biases ? 4 : 2;
  if (layers < 1 || params.size() != each * static_cast<size_t>(layers * directions))
    unsupported("expected ", each, " parameters for each layer and direction, got ", params.size(),
                ": projections are not supported");
  bool gru = std::string_view(cell.op).starts_with("GRU");
  bool single = x.rank() == 2;
  if (single) {
    x = unsqueeze(x, {batch_first ? 0 : 1});
    for (Value& v : state) v = unsqueeze(v, {1});
  }
  Value y = batch_first ? x : transpose(x, {1, 0, 2});
  std::vector<std::vector<Value>> last(cell.cell_state ? 2 : 1);
  size_t at = 0;
  for (int64_t l = 0; l < layers; ++l) {
    std::vector<Value> w, r, b;
    for (int64_t d = 0; d < directions; ++d) {
      Value wi = params[at], wh = params[at + 1];
      w.push_back(unsqueeze(pt_gates(wi, cell.gates), {0})), r.push_back(unsqueeze(pt_gates(wh, cell.gates), {0}));
      Shape s = wh.shape();
      if (!s[0].known() || !s[1].known()) needs_shape("the shape of recurrence weights is unknown");
      Value bi = biases ? params[at + 2] : build::fill(in, 0, wi.type(), in.ints({s[0].value()}));
      Value bh = biases ? params[at + 3] : bi;
      Value sum;
      if (gru) {
        // z, r: both biases; h: apart, as the reset gate is applied to one of them.
        std::vector<Value> i = build::split(pt_gates(bi, cell.gates), 0, 3), h = build::split(pt_gates(bh, cell.gates), 0, 3);
        sum = build::concat({i[0] + h[0], i[1] + h[1], i[2], h[2]}, 0);
      } else {
        sum = pt_gates(bi, cell.gates) + pt_gates(bh, cell.gates);
      }
      b.push_back(unsqueeze(sum, {0}));
      at += each;
    }
    int64_t hidden = r[0].shape()[2].value();
    std::vector<Value> inputs{y};
    for (const Value& v : state) inputs.push_back(transpose(build::slice(v, 0, l * directions, (l + 1) * directions), {1, 0, 2}));
    Value lengths = build::broadcast(dimension_of(y, 1), build::dim(y, 0));
    inputs.insert(inputs.end(), {lengths, build::concat(w, 0), build::concat(r, 0), build::concat(b, 0)});
    std::vector<NamedAttr> attributes{{"direction", both ? "bidirectional" : "forward"}, {"hidden_size", hidden}};
    if (gru) attributes.push_back({"linear_before_reset", true});
    if (activation) attributes.push_back({"activations", std::vector<std::string>{activation}});
    std::vector<Value> out = in.make(cell.op, inputs, attributes, cell.cell_state ? 3 : 2, {});
    // [batch, directions, time, hidden] -> [batch, time, directions * hidden]
    y = transpose(out[0], {0, 2, 1, 3});
    y = build::reshape(y, {build::dims(y, {0, 1}), in.ints({directions * hidden})});
    for (size_t k = 0; k < last.size(); ++k) last[k].push_back(transpose(out[k + 1], {1, 0, 2}));
  }
  std::vector<Value> result{batch_first ? y : transpose(y, {1, 0, 2})};
  if (single) result[0] = squeeze(result[0], {batch_first ? 0 : 1});
  for (const std::vector<Value>& states : last) {
    Value all = build::concat(states, 0);
    result.push_back(single ? squeeze(all, {1}) : all);
  }
  return result;
}
void pt_without_dropout(Call& c) {
  if (c.flag("train") && c.given("dropout") && c.real("dropout") != 0)
    unsupported("dropout in training mode is not supported: it is random");
}
// With projections, step by step: no operation has them.
std::vector<Value> pt_projected_lstm(Call& c) {
  Builder& in = c.in;
  std::vector<Value> state = c.tensors("hx"), params = c.tensors("params"), hidden, cells;
  bool biases = c.flag("has_biases"), both = c.flag("bidirectional"), batch_first = c.flag("batch_first");
  int64_t layers = c.integer("num_layers"), directions = both ? 2 : 1;
  size_t each = biases ? 5 : 3, at = 0;
  if (state.size() != 2 || params.size() != each * static_cast<size_t>(layers * directions))
    fail("expected two states and ", each, " parameters for each layer and direction, got ", params.size());
  Value y = c["input"];
  if (y.rank() != 3) unsupported("an LSTM with projections is supported for batches alone");
  if (batch_first) y = transpose(y, {1, 0, 2});
  Shape s = y.shape();
  constexpr int64_t longest = 256;
  if (!s[0].known()) needs_shape("an LSTM with projections needs sequences of known length");
  int64_t steps = s[0].value();
  if (steps > longest) unsupported("an LSTM with projections is supported for up to ", longest, " steps, got ", steps);
  auto sigmoid = [&](const Value& v) { return in.op("Sigmoid", {v}); };
  for (int64_t l = 0; l < layers; ++l) {
    std::vector<Value> outputs;
    for (int64_t d = 0; d < directions; ++d, at += each) {
      auto first = [&](const Value& v) { return squeeze(build::slice(v, 0, l * directions + d, l * directions + d + 1), {0}); };
      Value h = first(state[0]), cell = first(state[1]);
      std::vector<Value> rows(static_cast<size_t>(steps));
      Value input = build::matmul(y, params[at], false, true);
      if (biases) input = input + params[at + 2] + params[at + 3];
      for (int64_t i = 0; i < steps; ++i) {
        int64_t t = d == 0 ? i : steps - 1 - i;
        Value now = squeeze(build::slice(input, 0, t, t + 1), {0}) + build::matmul(h, params[at + 1], false, true);
        std::vector<Value> g = build::split(now, -1, 4);
        cell = sigmoid(g[1]) * cell + sigmoid(g[0]) * in.op("Tanh", {g[2]});
        h = build::matmul(sigmoid(g[3]) * in.op("Tanh", {cell}), params[at + each - 1], false, true);
        rows[static_cast<size_t>(t)] = unsqueeze(h, {0});
      }
      outputs.push_back(build::concat(rows, 0));
      hidden.push_back(unsqueeze(h, {0})), cells.push_back(unsqueeze(cell, {0}));
    }
    y = build::concat(outputs, 2);
  }
  return {batch_first ? transpose(y, {1, 0, 2}) : y, build::concat(hidden, 0), build::concat(cells, 0)};
}
std::vector<Value> import_pt_lstm(Builder& layer) {
  Call c(layer);
  pt_without_dropout(c);
  size_t plain = (c.flag("has_biases") ? 4 : 2) * static_cast<size_t>(c.integer("num_layers") * (c.flag("bidirectional") ? 2 : 1));
  if (c.list("params").size() != plain && !c.find("batch_sizes")) return pt_projected_lstm(c);
  return pt_recurrent(c, {"LSTMSequence@5", {1, 0, 2, 3}, true}, nullptr);
}
std::vector<Value> import_pt_gru(Builder& layer) {
  Call c(layer);
  pt_without_dropout(c);
  return pt_recurrent(c, {"GRUSequence@5", {1, 0, 2}, false}, nullptr);
}
std::vector<Value> import_pt_rnn(Builder& layer) {
  Call c(layer);
  pt_without_dropout(c);
  return pt_recurrent(c, {"RNNSequence@5", {}, false}, layer.type() == "aten::rnn_relu" ? "relu" : "tanh");
}
Value pt_cell_gate(Call& c, const Value& x, const char* weight, const char* bias) {
  Value y = build::matmul(x, c[weight], false, true);
  Value b = c.find(bias);
  return b ? y + b : y;
}
Value import_pt_gru_cell(Builder& layer) {
  Call c(layer);
  Value h = c["hx"];
  std::vector<Value> i = build::split(pt_cell_gate(c, c["input"], "w_ih", "b_ih"), -1, 3),
                     g = build::split(pt_cell_gate(c, h, "w_hh", "b_hh"), -1, 3);
  auto sigmoid = [&](const Value& v) { return layer.op("Sigmoid", {v}); };
  Value reset = sigmoid(i[0] + g[0]), update = sigmoid(i[1] + g[1]), fresh = layer.op("Tanh", {i[2] + reset * g[2]});
  return fresh + update * (h - fresh);
}
std::vector<Value> import_pt_lstm_cell(Builder& layer) {
  Call c(layer);
  std::vector<Value> state = c.tensors("hx");
  if (state.size() != 2) fail("expected two states, got ", state.size());
  std::vector<Value> g = build::split(pt_cell_gate(c, c["input"], "w_ih", "b_ih") + pt_cell_gate(c, state[0], "w_hh", "b_hh"), -1, 4);
  auto sigmoid = [&](const Value& v) { return layer.op("Sigmoid", {v}); };
  Value cell = sigmoid(g[1]) * state[1] + sigmoid(g[0]) * layer.op("Tanh", {g[2]});
  return {sigmoid(g[3]) * layer.op("Tanh", {cell}), cell};
}
Value import_pt_rnn_cell(Builder& layer) {
  Call c(layer);
  Value y = pt_cell_gate(c, c["input"], "w_ih", "b_ih") + pt_cell_gate(c, c["hx"], "w_hh", "b_hh");
  return layer.op(layer.type() == "aten::rnn_relu_cell" ? "Relu" : "Tanh", {y});
}

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
    Value size = pt::absolute(d), inner = d * d * (huber ? 0.5 : b > 0 ? 0.5 / b : 0), outer = (size - b / 2) * (huber ? b : 1);
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
    auto log = [&](const Value& v) { Value l = layer.op("Log", {v}); return layer.op("Maximum", {l, like(l, -100)}); };
    Value loss = -(y * log(x) + (1.0 - y) * log(1.0 - x));
    return pt_loss(c, w ? loss * w : loss);
  }
  if (t == "binary_cross_entropy_with_logits") {
    Value p = c.find("pos_weight"), loss = (1.0 - y) * x + (p ? (y * (p - 1.0) + 1.0) * pt_log_softplus(-x) : pt_log_softplus(-x));
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
  Value near = pt_p_distance(c["anchor"], c["positive"], p, eps), far = pt_p_distance(c["anchor"], c["negative"], p, eps);
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
  Value each = pt::where(pt::equals(y, 1), 1.0 - cosine,
                         pt::where(pt::equals(y, -1), layer.op("Maximum", {apart, zero}), zero));
  return pt_loss(c, each);
}
Value import_pt_multilabel_margin_loss(Builder& layer) {
  Call c(layer);
  Value x = c["self"], t = convert(c["target"], DType::i64);
  bool single = x.rank() < 2;
  if (single) x = reshape(x, {1, -1}), t = reshape(t, {1, -1});
  // Labels end at the first -1.
  Value label = layer.op("Less", {layer.op("CumSum", {convert(pt::less(t, 0), DType::i64), layer.scalar(int64_t{1})}), layer.scalar(int64_t{1})});
  Value safe = pt::where(label, t, like(t, 0));
  Value classes = counting(dimension_of(x, 1), DType::i64);
  Value is_target = pt::reduce("ReduceLogicalOr", layer.op("LogicalAnd", {unsqueeze(label, {2}), layer.op("Equal", {unsqueeze(t, {2}), classes})}), {1}, false);
  Value own = layer.op("GatherElements", {x, safe}, {{"axis", 1}});
  Value d = 1.0 - unsqueeze(own, {2}) + unsqueeze(x, {1});
  Value counts = layer.op("LogicalAnd", {unsqueeze(label, {2}), unsqueeze(pt::sign_not(is_target), {1})});
  Value each = pt::where(counts, layer.op("Maximum", {d, like(d, 0)}), like(d, 0));
  Value loss = pt::reduce("ReduceSum", each, {1, 2}, false) / convert(dimension_of(x, 1), x.type());
  return pt_loss(c, single ? reshape(loss, {}) : loss);
}

// ---- loops ----

std::vector<Value> import_pt_loop(Builder& layer) { return make_loop(layer, layer.scalar(int64_t{-1})); }

}  // namespace

Definitions define_pytorch_structure() {
  Definitions out;
  for (const PtOperator& row : pt_operators) out += pt::rule_of(row.type).expand(import_pt_operator);
  out += Definitions{
      pt::rules({"aten::sym_size"}, import_pt_sym_size),
      pt::rules({"aten::sym_numel", "aten::numel"}, import_pt_sym_numel),
      pt::rules({"aten::sym_storage_offset"}, import_pt_sym_offset),
      pt::rules({"_operator::truediv"}, import_pt_true_quotient),
      pt::rules({"_operator::neg"}, import_pt_negative),
      pt::rules({"_operator::not_", "torch::sym_not"}, import_pt_not),
      pt::rules({"torch::sym_float"}, import_pt_sym_float),
      pt::rules({"torch::sym_int", "math::trunc", "math::ceil", "math::floor", "_operator::round", "builtins::round"}, import_pt_to_int),
      pt::rules({"torch::sym_ite"}, import_pt_sym_ite),
      pt::rules({"aten::item", "aten::_local_scalar_dense"}, import_pt_item),
      pt::rules({"aten::_assert_scalar", "aten::_assert_async", "aten::_assert_tensor_metadata",
                 "aten::sym_constrain_range", "aten::sym_constrain_range_for_size"},
                import_pt_assertion,
                {"assert_msg", "a", "dtype", "size", "stride", "self", "min", "max", "device", "layout"}),
      pt::rules({"quantized_decomposed::quantize_per_tensor", "quantized_decomposed::quantize_per_channel"}, import_pt_quantize, {"eps"}),
      pt::rules({"quantized_decomposed::dequantize_per_tensor", "quantized_decomposed::dequantize_per_channel"},
                import_pt_dequantize, {"out_dtype"}),
      pt::rules({"aten::fake_quantize_per_tensor_affine", "aten::fake_quantize_per_channel_affine"}, import_pt_fake_quantize),
      pt::rules({"quantized_decomposed::choose_qparams", "quantized_decomposed::choose_qparams_symmetric"}, import_pt_choose_qparams),
      pt::rules({"torchvision::nms"}, import_pt_nms),
      pt::rules({"torchvision::roi_align"}, import_pt_roi_align),
      pt::rules({"torchvision::roi_pool"}, import_pt_roi_pool),
      pt::rules({"torchvision::ps_roi_pool"}, import_pt_ps_roi_pool),
      pt::rules({"torchvision::ps_roi_align"}, import_pt_ps_roi_align),
      pt::rules({"torchvision::deform_conv2d"}, import_pt_deform_conv),
      pt::rules({"aten::lstm"}, import_pt_lstm),
      pt::rules({"aten::gru"}, import_pt_gru),
      pt::rules({"aten::rnn_tanh", "aten::rnn_relu"}, import_pt_rnn),
      pt::rules({"aten::gru_cell"}, import_pt_gru_cell),
      pt::rules({"aten::lstm_cell"}, import_pt_lstm_cell),
      pt::rules({"aten::rnn_tanh_cell", "aten::rnn_relu_cell"}, import_pt_rnn_cell),
      pt::rules({"aten::mse_loss", "aten::l1_loss", "aten::huber_loss", "aten::smooth_l1_loss", "aten::soft_margin_loss",
                 "aten::hinge_embedding_loss", "aten::kl_div", "aten::poisson_nll_loss", "aten::binary_cross_entropy",
                 "aten::binary_cross_entropy_with_logits", "aten::margin_ranking_loss"},
                import_pt_loss, {"full"}),
      pt::rules({"aten::nll_loss", "aten::nll_loss2d", "aten::nll_loss_nd", "aten::nll_loss_forward", "aten::nll_loss2d_forward"}, import_pt_nll),
      pt::rules({"aten::cross_entropy_loss"}, import_pt_cross_entropy),
      pt::rules({"aten::triplet_margin_loss"}, import_pt_triplet_loss),
      pt::rules({"aten::cosine_embedding_loss"}, import_pt_cosine_loss),
      pt::rules({"aten::multilabel_margin_loss"}, import_pt_multilabel_margin_loss),
      torch("Loop").domain("graft").expand(import_pt_loop),
  };
  return out;
}

}  // namespace graft
