// Layers of object detectors.
#include <graft/op.hpp>
#include <limits>

#include "caffe/building.hpp"

namespace graft {
namespace {

// Our operations mark the first unused row with -1 in its first column; Caffe does not.
Value caffe_unmarked(const Value& rows, int64_t axis) {
  std::vector<Value> parts = build::split(rows, axis, std::vector<int64_t>{1, -1});
  return build::concat({rows.in().op("Maximum", {parts[0], like(parts[0], 0)}), parts[1]}, axis);
}

// ---- prior boxes ----

// Height and width of the image: given by attributes, or taken from the second input.
Value caffe_image_size(Builder& layer) {
  auto both = layer.get<int64_t>("prior_box_param.img_size", 0);
  auto h = layer.get<int64_t>("prior_box_param.img_h", both), w = layer.get<int64_t>("prior_box_param.img_w", both);
  if (h > 0 && w > 0) return layer.ints({h, w});
  return build::dims(layer.input(1), {2, 3});
}
std::vector<NamedAttr> caffe_prior_attributes(Builder& layer, std::initializer_list<std::string_view> lists) {
  std::vector<NamedAttr> out;
  for (std::string_view list : lists)
    out.push_back({list, layer.get<std::vector<float>>("prior_box_param." + std::string(list), {})});
  std::vector<float> variance = layer.get<std::vector<float>>("prior_box_param.variance", {});
  if (variance.empty()) variance = {0.1f};
  out.push_back({"variance", variance});
  out.push_back({"clip", layer.get<bool>("prior_box_param.clip", false)});
  out.push_back({"offset", layer.get<float>("prior_box_param.offset", 0.5f)});
  return out;
}

Value import_caffe_prior_box(Builder& layer) {
  std::vector<NamedAttr> attrs =
      caffe_prior_attributes(layer, {"min_size", "max_size", "aspect_ratio", "density", "fixed_ratio", "fixed_size"});
  auto step = layer.get<float>("prior_box_param.step", 0);
  auto h = layer.get<float>("prior_box_param.step_h", step), w = layer.get<float>("prior_box_param.step_w", step);
  if (h != w) unsupported("different steps along height (", h, ") and width (", w, ") are not supported");
  attrs.push_back({"step", h});
  attrs.push_back({"flip", layer.get<bool>("prior_box_param.flip", true)});
  attrs.push_back({"scale_all_sizes", true});
  attrs.push_back(
      {"min_max_aspect_ratios_order", layer.get<bool>("prior_box_param.min_max_aspect_ratios_order", true)});
  return unsqueeze(layer.op("PriorBox@8", {build::dims(layer.input(0), {2, 3}), caffe_image_size(layer)}, attrs), {0});
}
Value import_caffe_prior_box_clustered(Builder& layer) {
  std::vector<NamedAttr> attrs = caffe_prior_attributes(layer, {"width", "height"});
  auto step = layer.get<float>("prior_box_param.step", 0);
  attrs.push_back({"step", step});
  attrs.push_back({"step_h", layer.get<float>("prior_box_param.step_h", step)});
  attrs.push_back({"step_w", layer.get<float>("prior_box_param.step_w", step)});
  return unsqueeze(layer.op("PriorBoxClustered", {build::dims(layer.input(0), {2, 3}), caffe_image_size(layer)}, attrs),
                   {0});
}

Value import_caffe_detection_output(Builder& layer) {
  std::string p = "detection_output_param.";
  if (auto eta = layer.get<float>(p + "nms_param.eta", 1); eta != 1)
    unsupported("adaptive non-maximum suppression (eta ", eta, ") is not supported");
  std::string code = caffe_word(layer, p + "code_type", {"", "CORNER", "CENTER_SIZE", "CORNER_SIZE"}, "CORNER");
  if (size_t dot = code.rfind('.'); dot != code.npos) code = code.substr(dot + 1);
  if (code != "CORNER" && code != "CENTER_SIZE") unsupported("box encoding ", code, " is not supported");
  bool clip = layer.get<bool>(p + "clip", false);
  std::vector<NamedAttr> attrs{
      {"background_label_id", layer.get<int64_t>(p + "background_label_id", 0)},
      {"top_k", layer.get<int64_t>(p + "nms_param.top_k", -1)},
      {"variance_encoded_in_target", layer.get<bool>(p + "variance_encoded_in_target", false)},
      {"keep_top_k", std::vector<int64_t>{layer.get<int64_t>(p + "keep_top_k", -1)}},
      {"code_type", "caffe.PriorBoxParameter." + code},
      {"share_location", layer.get<bool>(p + "share_location", true)},
      {"nms_threshold", layer.get<float>(p + "nms_param.nms_threshold", 0.3f)},
      {"confidence_threshold", layer.get<float>(p + "confidence_threshold", -std::numeric_limits<float>::max())},
      {"clip_before_nms", layer.get<bool>(p + "clip_before_nms", clip)},
      {"clip_after_nms", layer.get<bool>(p + "clip_after_nms", false)},
      {"decrease_label_id", layer.get<bool>(p + "decrease_label_id", false)},
      {"normalized", layer.get<bool>(p + "normalized", layer.get<bool>(p + "normalized_bbox", true))},
      {"input_height", layer.get<int64_t>(p + "input_height", 1)},
      {"input_width", layer.get<int64_t>(p + "input_width", 1)},
      {"objectness_score", layer.get<float>(p + "objectness_score", 0)}};
  std::vector<Value> inputs;
  for (size_t i = 0; i < layer.flows(); ++i) inputs.push_back(layer.input(i));
  // [N, priors * 4], [N, priors * classes], [1, 2, priors * 4]
  for (size_t i = 0; i < inputs.size(); ++i)
    if (Shape s = inputs[i].shape(); i != 2 && s.ranked() && s.rank() > 2)
      inputs[i] = build::reshape_keeping(inputs[i], {0, -1});
  return caffe_unmarked(layer.op("DetectionOutput@8", inputs, attrs), 3);
}

// ---- proposals ----

struct CaffeProposal {
  int64_t base_size = 16, min_size = 16, stride = 16, before = 6000, after = 300;
  float overlap = 0.7f;
  std::vector<float> ratios{0.5f, 1, 2}, scales{8, 16, 32};
};

std::vector<Value> caffe_proposal(Builder& layer, const CaffeProposal& p, std::vector<NamedAttr> more = {}) {
  std::vector<NamedAttr> attrs{{"base_size", p.base_size}, {"pre_nms_topn", p.before}, {"post_nms_topn", p.after},
                               {"nms_thresh", p.overlap},  {"feat_stride", p.stride},  {"min_size", p.min_size},
                               {"ratio", p.ratios},        {"scale", p.scales},        {"clip_before_nms", true},
                               {"clip_after_nms", false},  {"normalize", false}};
  for (NamedAttr& a : more) {
    std::erase_if(attrs, [&](const NamedAttr& b) { return b.name == a.name; });
    attrs.push_back(std::move(a));
  }
  std::vector<Value> out =
      layer.ops("Proposal@4", {layer.input(0), layer.input(1), reshape(layer.input(2), {-1})}, std::move(attrs), 2);
  out[0] = caffe_unmarked(out[0], 1);
  if (layer.output_used(1)) out[1] = unsqueeze(out[1], {1});
  else out.pop_back();
  return out;
}

CaffeProposal read_caffe_proposal(Builder& layer, const std::string& m) {
  CaffeProposal p;
  p.base_size = layer.get<int64_t>(m + "base_size", p.base_size);
  p.min_size = layer.get<int64_t>(m + "min_size", p.min_size);
  p.stride = layer.get<int64_t>(m + "feat_stride", p.stride);
  p.before = layer.get<int64_t>(m + "pre_nms_topn", p.before);
  p.after = layer.get<int64_t>(m + "post_nms_topn", p.after);
  p.overlap = layer.get<float>(m + "nms_thresh", p.overlap);
  p.ratios = layer.get<std::vector<float>>(m + "ratio", p.ratios);
  p.scales = layer.get<std::vector<float>>(m + "scale", p.scales);
  return p;
}

std::vector<Value> import_caffe_proposal(Builder& layer) {
  std::string m = "proposal_param.";
  CaffeProposal p = read_caffe_proposal(layer, m);
  std::vector<NamedAttr> more;
  for (std::string_view flag : {"clip_before_nms", "clip_after_nms", "normalize"})
    if (std::string path = m + std::string(flag); layer.has(path)) more.push_back({flag, layer.get<bool>(path)});
  for (std::string_view number : {"box_size_scale", "box_coordinate_scale"})
    if (std::string path = m + std::string(number); layer.has(path)) more.push_back({number, layer.get<float>(path)});
  return caffe_proposal(layer, p, std::move(more));
}

// The proposal layer of Faster R-CNN, implemented there as a Python layer.
std::vector<Value> import_caffe_proposal_layer(Builder& layer) {
  std::string m = "python_param.param_str.";
  CaffeProposal p = read_caffe_proposal(layer, m);
  p.ratios = layer.get<std::vector<float>>(m + "ratios", p.ratios);
  p.scales = layer.get<std::vector<float>>(m + "scales", p.scales);
  return caffe_proposal(layer, p);
}

Value import_caffe_simpler_nms(Builder& layer) {
  std::string m = "simpler_nms_param.";
  CaffeProposal p;
  p.min_size = layer.get<int64_t>(m + "min_bbox_size", p.min_size);
  p.stride = layer.get<int64_t>(m + "feat_stride", p.stride);
  p.before = layer.get<int64_t>(m + "pre_nms_topn", p.before);
  p.after = layer.get<int64_t>(m + "post_nms_topn", p.after);
  p.overlap = layer.get<float>(m + "iou_threshold", p.overlap);
  p.scales = layer.get<std::vector<float>>(m + "scale", p.scales);
  return caffe_proposal(layer, p)[0];
}

// ---- regions ----

Value import_caffe_roi_pooling(Builder& layer) {
  std::vector<int64_t> size{layer.get<int64_t>("roi_pooling_param.pooled_h"),
                            layer.get<int64_t>("roi_pooling_param.pooled_w")};
  Value rois = layer.input(1);
  if (Shape s = rois.shape(); s.ranked() && s.rank() == 4) rois = reshape(rois, {-1, 5});
  return layer.op("ROIPooling", {layer.input(0), rois},
                  {{"output_size", size},
                   {"pooled_h", size[0]},
                   {"pooled_w", size[1]},
                   {"spatial_scale", layer.get<float>("roi_pooling_param.spatial_scale", 1)},
                   {"method", "max"}});
}
Value import_caffe_psroi_pooling(Builder& layer) {
  Value rois = layer.input(1);
  if (Shape s = rois.shape(); s.ranked() && s.rank() == 4) rois = reshape(rois, {-1, 5});
  return layer.op("PSROIPooling", {layer.input(0), rois},
                  {{"output_dim", layer.get<int64_t>("psroi_pooling_param.output_dim")},
                   {"group_size", layer.get<int64_t>("psroi_pooling_param.group_size")},
                   {"spatial_scale", layer.get<float>("psroi_pooling_param.spatial_scale")},
                   {"mode", "average"},
                   {"spatial_bins_x", 1},
                   {"spatial_bins_y", 1}});
}

Value import_caffe_region_yolo(Builder& layer) {
  std::string m = "region_yolo_param.";
  return layer.op("RegionYolo", {layer.input(0)},
                  {{"axis", layer.get<int64_t>("flatten_param.axis", 1)},
                   {"end_axis", layer.get<int64_t>("flatten_param.end_axis", -1)},
                   {"coords", layer.get<int64_t>(m + "coords", 4)},
                   {"classes", layer.get<int64_t>(m + "classes", 20)},
                   {"num", layer.get<int64_t>(m + "num", 1)},
                   {"do_softmax", layer.get<bool>(m + "do_softmax", true)},
                   {"anchors", layer.get<std::vector<float>>(m + "anchors", {})},
                   {"mask", layer.get<std::vector<int64_t>>(m + "mask", {})}});
}
Value import_caffe_reorg_yolo(Builder& layer) {
  return layer.op("ReorgYolo", {layer.input(0)},
                  {{"stride", std::vector<int64_t>{layer.get<int64_t>("reorg_yolo_param.stride", 1)}}});
}

}  // namespace

Definitions define_caffe_detection() {
  return {
      caffe("PriorBox").expand(import_caffe_prior_box),
      caffe("PriorBoxClustered").ignore("prior_box_param.flip").expand(import_caffe_prior_box_clustered),
      caffe("DetectionOutput")
          .ignore("detection_output_param.num_classes")
          .ignore("detection_output_param.save_output_param.*")
          .ignore("detection_output_param.visualize")
          .ignore("detection_output_param.visualize_threshold")
          .expand(import_caffe_detection_output),
      caffe("Proposal").expand(import_caffe_proposal),
      caffe("ProposalLayer").expand(import_caffe_proposal_layer),
      caffe("SimplerNMS").ignore("simpler_nms_param.cls_threshold").expand(import_caffe_simpler_nms),
      caffe("ROIPooling").expand(import_caffe_roi_pooling),
      caffe("PSROIPooling").expand(import_caffe_psroi_pooling),
      caffe("RegionYolo").expand(import_caffe_region_yolo),
      caffe("ReorgYolo").expand(import_caffe_reorg_yolo),
  };
}

}  // namespace graft
