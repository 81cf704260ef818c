// Operators of torchvision.
#include "pytorch/call.hpp"

namespace graft {
namespace {

using pt::Call, pt::Ints;

// ---- torchvision ----

Value import_pt_nms(Builder& layer) {
  Call c(layer);
  Value boxes = c["dets"], scores = c["scores"];
  // [x1, y1, x2, y2] or [y1, x1, y2, x2] means the same to overlaps.
  Value rows =
      layer.ops("NonMaxSuppression@9",
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
                  {{"pooled_h", c.integer("pooled_height")},
                   {"pooled_w", c.integer("pooled_width")},
                   {"sampling_ratio", std::max<int64_t>(ratio, 0)},
                   {"spatial_scale", c.real("spatial_scale")},
                   {"mode", "avg"},
                   {"aligned_mode", c.flag("aligned") ? "half_pixel_for_nn" : "asymmetric"}});
}
Value import_pt_deform_conv(Builder& layer) {
  Call c(layer);
  Value w = c["weight"];
  auto pair = [&](const char* h, const char* wd) { return Ints{c.integer(h), c.integer(wd)}; };
  std::vector<Value> inputs{c["input"], c["offset"], w};
  if (c.flag("use_mask")) inputs.push_back(c["mask"]);
  Ints pads = pair("pad_h", "pad_w");
  Value y = layer.op("DeformableConvolution@8", inputs,
                     {{"strides", pair("stride_h", "stride_w")},
                      {"dilations", pair("dilation_h", "dilation_w")},
                      {"pads_begin", pads},
                      {"pads_end", pads},
                      {"group", c.integer("groups")},
                      {"deformable_group", c.integer("offset_groups")},
                      {"bilinear_interpolation_pad", true}});
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
  Value at = unsqueeze(convert(counting(in.scalar(n), DType::i64), DType::f32), {0}),
        bin = unsqueeze(length / static_cast<double>(n), {1});
  Value limit = convert(size, DType::f32), zero = like(limit, 0), base = unsqueeze(first, {1});
  auto clamped = [&](const Value& v) { return in.op("Minimum", {in.op("Maximum", {v, zero}), limit}); };
  return {clamped(in.op("Floor", {at * bin}) + base), clamped(in.op("Ceiling", {(at + 1.0) * bin}) + base)};
}
Value pt_members(const PtBins& b, const Value& size) {
  Builder& in = b.start.in();
  Value at = reshape(convert(counting(size, DType::i64), DType::f32), {1, 1, -1});
  return in.op("LogicalAnd",
               {in.op("GreaterEqual", {at, unsqueeze(b.start, {2})}), in.op("Less", {at, unsqueeze(b.end, {2})})});
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
  Value places =
      pt::same_shape(counting(h * w, DType::i64),
                     build::slice(build::slice(all, 0, 0, 1), 0, 0, 1)
                         .in()
                         .op("Broadcast",
                             {layer.scalar(int64_t{0}),
                              build::concat({layer.ints({1, 1, 1, 1}), reshape(h, {1}), reshape(w, {1})}, 0)},
                             {{"mode", "numpy"}}));
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
  if (!s[1].known() || s[1].value() % (ph * pw))
    fail("expected a number of channels divisible by ", ph * pw, ", got ", s[1]);
  Builder& in = maps.in();
  return build::reshape(maps,
                        {build::dim(maps, 0), in.ints({s[1].value() / (ph * pw), ph, pw}), build::dims(maps, {2, 3})});
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
    Value a = pt_half_away(from * scale), b = pt_half_away(to * scale),
          length = layer.op("Maximum", {b - a, like(a, 1)});
    // Here the sum is rounded, not the part of the bin.
    Value at = unsqueeze(convert(counting(layer.scalar(n), DType::i64), DType::f32), {0}),
          bin = unsqueeze(length / static_cast<double>(n), {1});
    Value base = unsqueeze(a, {1}), limit = convert(size, DType::f32) - 1.0;
    auto clamped = [&](const Value& v) { return layer.op("Minimum", {layer.op("Maximum", {v, like(v, 0)}), limit}); };
    return pt_members(
        {clamped(layer.op("Floor", {at * bin}) + base), clamped(layer.op("Ceiling", {(at + 1.0) * bin}) + base)}, size);
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
  if (!s[1].known() || s[1].value() % (ph * pw))
    fail("expected a number of channels divisible by ", ph * pw, ", got ", s[1]);
  // ROIAlign with half-pixel positions computes all channels for all bins; the bin's own are taken.
  Value all = layer.op("ROIAlign@9", {x, build::slice(rois, 1, 1, 5), r.batch},
                       {{"pooled_h", ph},
                        {"pooled_w", pw},
                        {"sampling_ratio", std::max<int64_t>(ratio, 0)},
                        {"spatial_scale", scale},
                        {"mode", "avg"},
                        {"aligned_mode", "half_pixel_for_nn"}});
  int64_t n = s[1].value() / (ph * pw);
  Ints at;
  for (int64_t k = 0; k < n; ++k)
    for (int64_t i = 0; i < ph * pw; ++i) at.push_back((k * ph * pw + i) * ph * pw + i);
  Value flat = build::reshape(all, {build::dim(all, 0), layer.ints({-1})});
  Value y = build::reshape(build::gather(flat, layer.ints(at), 1), {build::dim(all, 0), layer.ints({n, ph, pw})});
  return {y, pt_channel_mapping(y, ph, pw)};
}

}  // namespace

Definitions define_pytorch_vision() {
  return {
      pt::rules({"torchvision::nms"}, import_pt_nms),
      pt::rules({"torchvision::roi_align"}, import_pt_roi_align),
      pt::rules({"torchvision::roi_pool"}, import_pt_roi_pool),
      pt::rules({"torchvision::ps_roi_pool"}, import_pt_ps_roi_pool),
      pt::rules({"torchvision::ps_roi_align"}, import_pt_ps_roi_align),
      pt::rules({"torchvision::deform_conv2d"}, import_pt_deform_conv),
  };
}

}  // namespace graft
