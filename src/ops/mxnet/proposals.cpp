// Region proposals, and pooling of regions.
#include "mxnet/building.hpp"

namespace graft {
namespace {

// Unused rows are marked with -1; MXNet repeats the used ones from the beginning.
std::vector<Value> mxnet_cycled(Builder& layer, const std::vector<Value>& proposals, int64_t rows) {
  Value positions = layer.ints(mx::axes_from(0, static_cast<size_t>(rows)));
  Value marks = squeeze(build::slice(proposals[0], 1, 0, 1), {1});
  Value unused = build::select(layer.op("Less", {marks, like(marks, 0)}), positions, layer.scalar(rows));
  Value used = layer.op("ReduceMin", {unused, layer.ints({0})}, {{"keep_dims", true}});
  Value index = layer.op("FloorMod", {positions, layer.op("Maximum", {used, layer.ints({1})})});
  return {build::gather(proposals[0], index, 0), unsqueeze(build::gather(proposals[1], index, 0), {1})};
}

// Proposal decodes boxes whose right and bottom edges are one pixel further than MXNet's: it gets deltas [N, 4 *
// anchors, H, W] for boxes that are smaller by one.
Value mxnet_smaller_boxes(Builder& layer, const Value& deltas, int64_t base, const std::vector<float>& ratios,
                          const std::vector<float>& scales) {
  std::vector<float> widths, heights;  // as Proposal computes them
  for (float ratio : ratios) {
    auto side = static_cast<float>(base), width = std::round(std::sqrt(side * side / ratio));
    for (float scale : scales) widths.push_back(width * scale), heights.push_back(std::round(width * ratio) * scale);
  }
  auto count = static_cast<int64_t>(widths.size());
  Value sizes = build::concat(
      {layer.constant<float>(widths, {1, count, 1, 1, 1}), layer.constant<float>(heights, {1, count, 1, 1, 1})}, 2);
  if (deltas.type() != DType::f32) sizes = convert(sizes, deltas.type());
  std::vector<Value> parts =
      build::split(build::reshape(deltas, {build::dim(deltas, 0), layer.ints({count, 4}), build::dims(deltas, {2, 3})}),
                   2, std::vector<int64_t>{2, 2});
  Value smaller = layer.op("Exp", {parts[1]}) * sizes - 1.0;
  Value kept = layer.op("Maximum", {smaller, like(smaller, 1e-6)});
  Value both = build::concat({parts[0] - like(sizes, 0.5) / sizes, layer.op("Log", {kept / sizes})}, 2);
  return mx::same_shape(both, deltas);
}

std::vector<Value> mxnet_proposals(Builder& layer, std::string_view stride_path) {
  if (mx::bool_or(layer, "iou_loss", false)) unsupported("proposals with 'iou_loss' are not supported");
  if (Shape s = layer.input(0).shape(); s.ranked() && s.rank() > 0 && s[0].known() && s[0].value() != 1)
    unsupported("proposals for ", s[0], " images are not supported, only for one");
  auto stride = mx::int_or(layer, stride_path, 16), rows = mx::int_or(layer, "rpn_post_nms_top_n", 300);
  if (rows < 1 || rows > 65'536) fail("expected 'rpn_post_nms_top_n' of 1 to 65536, got ", rows);
  auto ratios = layer.get<std::vector<float>>("ratios", {0.5f, 1, 2}),
       scales = layer.get<std::vector<float>>("scales", {4, 8, 16, 32});
  if (ratios.size() * scales.size() > mx::longest_list) fail("expected at most ", mx::longest_list, " anchors");
  std::vector<NamedAttr> attrs{{"base_size", stride},
                               {"feat_stride", stride},
                               {"pre_nms_topn", mx::int_or(layer, "rpn_pre_nms_top_n", 6000)},
                               {"post_nms_topn", rows},
                               {"nms_thresh", layer.get<double>("threshold", 0.7)},
                               {"min_size", mx::int_or(layer, "rpn_min_size", 16)},
                               {"ratio", ratios},
                               {"scale", scales},
                               {"clip_before_nms", true},
                               {"clip_after_nms", false},
                               {"normalize", false}};
  Value deltas = mxnet_smaller_boxes(layer, layer.input(1), stride, ratios, scales);
  std::vector<Value> out =
      layer.ops("Proposal@4", {layer.input(0), deltas, reshape(layer.input(2), {-1})}, std::move(attrs), 2);
  out = mxnet_cycled(layer, out, rows);
  if (layer.outputs() < 2) out.pop_back();
  return out;
}
std::vector<Value> import_mxnet_proposal(Builder& layer) { return mxnet_proposals(layer, "feature_stride"); }
std::vector<Value> import_mxnet_custom_proposal(Builder& layer) { return mxnet_proposals(layer, "feat_stride"); }

// ---- pooling of regions [image, x1, y1, x2, y2] ----

std::vector<int64_t> mxnet_pooled_size(Builder& layer) {
  std::vector<int64_t> size = layer.get<std::vector<int64_t>>("pooled_size");
  if (size.size() == 1) size.push_back(size[0]);
  if (size.size() != 2) fail("expected 1 or 2 values of 'pooled_size', got ", size.size());
  return size;
}

Value import_mxnet_roi_pooling(Builder& layer) {
  std::vector<int64_t> size = mxnet_pooled_size(layer);
  return layer.op("ROIPooling", {layer.input(0), layer.input(1)},
                  {{"output_size", size},
                   {"pooled_h", size[0]},
                   {"pooled_w", size[1]},
                   {"spatial_scale", layer.get<float>("spatial_scale")},
                   {"method", "max"}});
}
// Each cell of the pooled grid has channels of its own: of [rois, channels * cells, cells], cell i of channel c * cells
// + i.
Value mxnet_position_sensitive(Builder& layer, const Value& pooled, const std::vector<int64_t>& size) {
  int64_t cells = size[0] * size[1];
  std::vector<int64_t> diagonal;
  for (int64_t i = 0; i < cells; ++i) diagonal.push_back(i * (cells + 1));
  Value all = build::reshape_keeping(pooled, {0, -1, cells * cells});
  return build::reshape_keeping(build::gather(all, layer.ints(diagonal), 2), {0, 0, size[0], size[1]});
}
Value import_mxnet_roi_align(Builder& layer) {
  std::vector<int64_t> size = mxnet_pooled_size(layer);
  bool sensitive = mx::bool_or(layer, "position_sensitive", false);
  if (sensitive && (size[0] > 256 || size[1] > 256))
    fail("expected a 'pooled_size' of at most 256, got ", size[0], "x", size[1]);
  bool aligned = mx::bool_or(layer, "aligned", false);
  std::vector<Value> parts = build::split(layer.input(1), 1, std::vector<int64_t>{1, 4});
  Value pooled = layer.op("ROIAlign@9", {layer.input(0), parts[1], convert(squeeze(parts[0], {1}), DType::i64)},
                          {{"pooled_h", size[0]},
                           {"pooled_w", size[1]},
                           {"spatial_scale", layer.get<float>("spatial_scale")},
                           {"sampling_ratio", std::max<int64_t>(mx::int_or(layer, "sample_ratio", -1), 0)},
                           {"mode", "avg"},
                           {"aligned_mode", aligned ? "half_pixel_for_nn" : "asymmetric"}});
  return sensitive ? mxnet_position_sensitive(layer, pooled, size) : pooled;
}
Value import_mxnet_psroi_pooling(Builder& layer) {
  auto pooled = layer.get<int64_t>("pooled_size");
  if (auto groups = mx::int_or(layer, "group_size", 0); groups != 0 && groups != pooled)
    unsupported("a 'group_size' other than 'pooled_size' is not supported, got ", groups, " and ", pooled);
  return layer.op("PSROIPooling", {layer.input(0), layer.input(1)},
                  {{"output_dim", layer.get<int64_t>("output_dim")},
                   {"group_size", pooled},
                   {"spatial_scale", layer.get<float>("spatial_scale")},
                   {"mode", "average"},
                   {"spatial_bins_x", 1},
                   {"spatial_bins_y", 1}});
}
Value import_mxnet_deformable_psroi_pooling(Builder& layer) {
  auto pooled = layer.get<int64_t>("pooled_size"), samples = mx::int_or(layer, "sample_per_part", 1),
       part = mx::int_or(layer, "part_size", 0);
  if (auto groups = mx::int_or(layer, "group_size", pooled); groups != pooled)
    unsupported("a 'group_size' other than 'pooled_size' is not supported, got ", groups, " and ", pooled);
  std::vector<Value> inputs{layer.input(0), layer.input(1)};
  if (!mx::bool_or(layer, "no_trans", false)) inputs.push_back(layer.input(2));
  return layer.op("DeformablePSROIPooling", inputs,
                  {{"output_dim", layer.get<int64_t>("output_dim")},
                   {"group_size", pooled},
                   {"spatial_scale", layer.get<float>("spatial_scale")},
                   {"mode", "bilinear_deformable"},
                   {"spatial_bins_x", samples},
                   {"spatial_bins_y", samples},
                   {"trans_std", layer.get<float>("trans_std", 0)},
                   {"part_size", part > 0 ? part : pooled}});
}

}  // namespace

Definitions define_mxnet_proposals() {
  return {
      mx::rules({"_contrib_Proposal", "_contrib_MultiProposal", "Proposal"}, import_mxnet_proposal, {"output_score"}),
      mxnet("proposal").domain("Custom").ignore("output_score").expand(import_mxnet_custom_proposal),
      mx::rules({"ROIPooling"}, import_mxnet_roi_pooling),
      mx::rules({"_contrib_ROIAlign"}, import_mxnet_roi_align),
      mx::rules({"_contrib_PSROIPooling"}, import_mxnet_psroi_pooling),
      mx::rules({"_contrib_DeformablePSROIPooling", "DeformablePSROIPooling"}, import_mxnet_deformable_psroi_pooling),
  };
}

}  // namespace graft
