// DetectionOutput: the final layer of SSD (Liu et al., 1512.02325) and, with five inputs, of RefineDet (1711.06897).
// Computed in f32 like OpenVINO, because rounding decides comparisons with the thresholds.
#include <graft/op.hpp>

#include "detection.hpp"

namespace graft {
namespace {

struct DetectionOutput {
  enum Code { corner, center_size };
  int64_t num_classes = 0;
  int64_t background_label_id = 0, top_k = -1;
  bool variance_encoded_in_target = false;
  std::vector<int64_t> keep_top_k;
  Code code_type = corner;
  bool share_location = true;
  float nms_threshold = 0, confidence_threshold = 0;
  bool clip_after_nms = false, clip_before_nms = false, decrease_label_id = false, normalized = false;
  int64_t input_height = 1, input_width = 1;
  float objectness_score = 0;
};
constexpr auto detection_output_fields = std::tuple{
    attr("background_label_id", &DetectionOutput::background_label_id,
         "index of the background class to ignore, -1 for none"),
    attr("top_k", &DetectionOutput::top_k, "maximum number of boxes per class considered for suppression, -1 for all"),
    attr("variance_encoded_in_target", &DetectionOutput::variance_encoded_in_target,
         "the variances are encoded in the targets, so proposals contain none"),
    attr("keep_top_k", &DetectionOutput::keep_top_k, "maximum number of boxes kept per image, -1 for all").required(),
    attr("code_type", &DetectionOutput::code_type, "box encoding of box_logits")
        .one_of("caffe.PriorBoxParameter.CORNER", "caffe.PriorBoxParameter.CENTER_SIZE"),
    attr("share_location", &DetectionOutput::share_location, "share boxes among all classes"),
    attr("nms_threshold", &DetectionOutput::nms_threshold,
         "IoU threshold: suppress boxes whose IoU with a higher-scoring box exceeds this")
        .required(),
    attr("confidence_threshold", &DetectionOutput::confidence_threshold,
         "score threshold: discard boxes whose score is not above this"),
    attr("clip_after_nms", &DetectionOutput::clip_after_nms, "clip the output boxes to 0..1"),
    attr("clip_before_nms", &DetectionOutput::clip_before_nms, "clip boxes to 0..1 before non-maximum suppression"),
    attr("decrease_label_id", &DetectionOutput::decrease_label_id,
         "keep only the best class of each box, and number classes from 0 without the background, as MXNet does"),
    attr("normalized", &DetectionOutput::normalized,
         "proposals are normalized to 0..1; otherwise they are in pixels, with 5 values each"),
    attr("input_height", &DetectionOutput::input_height, "height of the input image in pixels").at_least(1),
    attr("input_width", &DetectionOutput::input_width, "width of the input image in pixels").at_least(1),
    attr("objectness_score", &DetectionOutput::objectness_score,
         "minimum objectness (from the first stage); boxes below it count as background")};
struct DetectionOutput1 : DetectionOutput {
  static constexpr auto schema = std::tuple_cat(
      std::tuple{attr("num_classes", &DetectionOutput::num_classes, "number of classes, including the background")
                     .required()
                     .at_least(1)},
      detection_output_fields);
};
// The number of classes is derived from the shapes.
struct DetectionOutput8 : DetectionOutput {
  static constexpr auto schema = detection_output_fields;
};

// ---- shape ----

Dim part_of(const Dim& whole, int64_t size, std::string_view what) {
  if (whole.known() && whole.value() % size != 0)
    fail("expected a multiple of ", size, " values in ", what, ", got ", whole);
  return whole / size;
}
void want_values(const Dim& got, const Dim& want, std::string_view what) {
  if (!can_agree(got, want)) fail("expected ", want, " values per image in ", what, ", got ", got);
}

template <class A>
void detection_output_infer(Infer& ctx, const A& a) {
  if (a.keep_top_k.empty()) fail("expected at least one value in keep_top_k, got none");
  bool two_stages = ctx.has_input(3) || ctx.has_input(4);
  if (two_stages && !(ctx.has_input(3) && ctx.has_input(4)))
    fail("expected aux_class_preds and aux_box_preds together, got only one of them");
  constexpr std::string_view names[] = {"box_logits", "class_preds", "proposals", "aux_class_preds", "aux_box_preds"};
  Dim images, values[5];
  for (size_t i = 0; i < (two_stages ? 5u : 3u); ++i) {
    Shape s = ctx.shape(i);
    size_t rank = i == 2 ? 3 : 2;
    if (!s.ranked()) continue;
    if (s.rank() != rank) fail("expected ", names[i], " of rank ", rank, ", got shape ", s);
    values[i] = s[rank - 1];
    if (i == 2) continue;
    if (!can_agree(images, s[0]))
      fail("expected ", images, " images in ", names[i], " to match the other inputs, got shape ", s);
    images = merge(images, s[0]);
  }
  int64_t rows = a.variance_encoded_in_target ? 1 : 2, size = a.normalized ? 4 : 5;
  if (Shape s = ctx.shape(2); s.ranked() && (!s[1].can_be(rows) || !(s[0].can_be(1) || can_agree(s[0], images))))
    fail("expected proposals of shape [1 or ", images, ",", rows, ",...], got ", s);

  Dim priors = part_of(values[2], size, "proposals");
  if (!priors.known() && a.share_location) priors = part_of(values[0], 4, "box_logits");
  if (!priors.known() && two_stages) priors = part_of(values[3], 2, "aux_class_preds");
  if (priors.known() && priors.value() == 0) fail("expected at least one proposal, got none");
  Dim classes = a.num_classes > 0 ? Dim(a.num_classes) : Dim();
  if (!classes.known() && priors.known()) {
    classes = part_of(values[1], priors.value(), "class_preds");
    if (!classes.known() && !a.share_location) classes = part_of(values[0], 4 * priors.value(), "box_logits");
  }
  Dim located = priors * (a.share_location ? Dim(1) : classes) * Dim(4);
  want_values(values[0], located, names[0]);
  want_values(values[1], priors * classes, names[1]);
  if (two_stages) {
    want_values(values[3], priors * Dim(2), names[3]);
    want_values(values[4], located, names[4]);
  }
  Dim found = priors * classes;
  if (a.keep_top_k[0] > 0) found = a.keep_top_k[0];
  else if (a.keep_top_k[0] == -1 && a.top_k > 0) found = Dim(a.top_k) * classes;
  ctx.output(0, common_type(ctx, {0, 1, 3, 4}), Shape{1, 1, images * found, 7});
}

// ---- values ----

struct Found {
  float score;
  size_t prior;
};
// By descending score; ties in the order of the proposals.
bool better(const Found& a, const Found& b) { return a.score != b.score ? a.score > b.score : a.prior < b.prior; }

class DetectionOutputRun {
 public:
  DetectionOutputRun(Run& ctx, const DetectionOutput& a) : a_(a) {
    size_ = a.normalized ? 4 : 5;
    images_ = static_cast<size_t>(ctx.input(0).dim(0));
    priors_ = static_cast<size_t>(ctx.input(2).dim(2)) / size_;
    classes_ = static_cast<size_t>(ctx.input(1).dim(1)) / priors_;
    sets_ = a.share_location ? 1 : classes_;
    prior_sets_ = static_cast<size_t>(ctx.input(2).dim(0));
    for (size_t i = 0; i < ctx.inputs(); ++i)
      if (ctx.has_input(i)) in_[i] = ctx.input(i).to<float>();
    out_ = ctx.output(0);
    result_.resize(static_cast<size_t>(out_.size()));
  }

  void run() {
    size_t rows = result_.size() / 7;
    for (size_t image = 0; image < images_; ++image) {
      decode(image);
      std::vector<std::vector<Found>> found = a_.decrease_label_id ? by_prior(image) : by_class(image);
      keep_best(found);
      for (size_t c = 0; c < classes_; ++c)
        for (const Found& f : found[c]) {
          if (written_ == rows) break;
          Corners b = box(c, f.prior);
          if (a_.clip_after_nms) b = clipped(b);
          auto label = static_cast<float>(c) - (a_.decrease_label_id ? 1.0f : 0.0f);
          float row[] = {static_cast<float>(image), label, f.score, b.x1, b.y1, b.x2, b.y2};
          std::copy(std::begin(row), std::end(row), &result_[7 * written_++]);
        }
    }
    if (written_ < rows) result_[7 * written_] = -1;
    out_.assign(result_);
  }

 private:
  static Corners clipped(const Corners& b) {
    auto in = [](float v) { return std::max(0.0f, std::min(1.0f, v)); };
    return {in(b.x1), in(b.y1), in(b.x2), in(b.y2)};
  }
  bool is_background(size_t c) const { return static_cast<int64_t>(c) == a_.background_label_id; }
  const Corners& box(size_t c, size_t prior) const { return boxes_[(a_.share_location ? 0 : c) * priors_ + prior]; }
  float score(size_t image, size_t prior, size_t c) const {
    // Without an object in the first stage, the box is background.
    if (!in_[3].empty() && in_[3][(image * priors_ + prior) * 2 + 1] < a_.objectness_score) return is_background(c);
    return in_[1][(image * priors_ + prior) * classes_ + c];
  }

  Corners moved(Corners p, const float* by, const float* variance) const {
    constexpr float ones[] = {1, 1, 1, 1};
    const float* v = variance ? variance : ones;
    if (!a_.normalized) {
      auto w = static_cast<float>(a_.input_width), h = static_cast<float>(a_.input_height);
      p = {p.x1 / w, p.y1 / h, p.x2 / w, p.y2 / h};
    }
    Corners b;
    if (a_.code_type == DetectionOutput::corner) {
      b = {p.x1 + v[0] * by[0], p.y1 + v[1] * by[1], p.x2 + v[2] * by[2], p.y2 + v[3] * by[3]};
    } else {
      float w = p.x2 - p.x1, h = p.y2 - p.y1;
      float x = v[0] * by[0] * w + (p.x1 + p.x2) / 2, y = v[1] * by[1] * h + (p.y1 + p.y2) / 2;
      w = std::exp(v[2] * by[2]) * w / 2, h = std::exp(v[3] * by[3]) * h / 2;
      b = {x - w, y - h, x + w, y + h};
    }
    return a_.clip_before_nms ? clipped(b) : b;
  }
  void decode(size_t image) {
    boxes_.clear();
    size_t set = prior_sets_ == 1 ? 0 : image, block = priors_ * size_;
    const float* corners = &in_[2][set * block * (a_.variance_encoded_in_target ? 1 : 2)];
    const float* variances = a_.variance_encoded_in_target ? nullptr : corners + block;
    for (size_t c = 0; c < sets_; ++c)
      for (size_t p = 0; p < priors_; ++p) {
        const float* k = corners + p * size_ + (a_.normalized ? 0 : 1);
        const float* v = variances ? variances + p * 4 : nullptr;
        size_t at = ((image * priors_ + p) * sets_ + c) * 4;
        Corners prior{k[0], k[1], k[2], k[3]};
        if (!in_[4].empty()) prior = moved(prior, &in_[4][at], v);
        boxes_.push_back(moved(prior, &in_[0][at], v));
      }
  }

  void cut(std::vector<Found>& list) const {
    std::sort(list.begin(), list.end(), better);
    if (a_.top_k >= 0 && list.size() > static_cast<size_t>(a_.top_k)) list.resize(static_cast<size_t>(a_.top_k));
  }
  bool is_free(const std::vector<Found>& kept, size_t c, size_t prior) const {
    return std::none_of(kept.begin(), kept.end(),
                        [&](const Found& k) { return box_overlap(box(c, prior), box(c, k.prior)) > a_.nms_threshold; });
  }
  std::vector<std::vector<Found>> by_class(size_t image) const {
    std::vector<std::vector<Found>> found(classes_);
    for (size_t c = 0; c < classes_; ++c) {
      if (is_background(c)) continue;
      std::vector<Found> list;
      for (size_t p = 0; p < priors_; ++p)
        if (float s = score(image, p, c); s > a_.confidence_threshold) list.push_back({s, p});
      cut(list);
      for (const Found& f : list)
        if (is_free(found[c], c, f.prior)) found[c].push_back(f);
    }
    return found;
  }
  std::vector<std::vector<Found>> by_prior(size_t image) const {
    std::vector<size_t> best(priors_);
    std::vector<Found> list;
    for (size_t p = 0; p < priors_; ++p) {
      float most = -1;
      for (size_t c = 1; c < classes_; ++c)
        if (float s = score(image, p, c); !is_background(c) && s > most) most = s, best[p] = c;
      if (best[p] > 0 && most >= a_.confidence_threshold) list.push_back({most, p});
    }
    cut(list);
    std::vector<std::vector<Found>> found(classes_);
    for (const Found& f : list)
      if (size_t c = best[f.prior]; is_free(found[c], c, f.prior)) found[c].push_back(f);
    return found;
  }
  void keep_best(std::vector<std::vector<Found>>& found) const {
    std::vector<std::pair<Found, size_t>> all;
    for (size_t c = 0; c < found.size(); ++c)
      for (const Found& f : found[c]) all.emplace_back(f, c);
    if (a_.keep_top_k[0] < 0 || all.size() <= static_cast<size_t>(a_.keep_top_k[0])) return;
    std::stable_sort(all.begin(), all.end(), [](const auto& p, const auto& q) { return better(p.first, q.first); });
    all.resize(static_cast<size_t>(a_.keep_top_k[0]));
    for (auto& list : found) list.clear();
    for (const auto& [f, c] : all) found[c].push_back(f);
  }

  const DetectionOutput& a_;
  size_t size_, images_, priors_, classes_, sets_, prior_sets_, written_ = 0;
  std::vector<float> in_[5], result_;
  std::vector<Corners> boxes_;  // of the current image: one list per class, or a single shared one
  OutputView out_;
};

template <class A>
void detection_output_run(Run& ctx, const A& a) {
  DetectionOutputRun(ctx, a).run();
}

Value import_detection_output(Builder& layer) {
  std::vector<NamedAttr> attrs{{"nms_threshold", layer.get<float>("nms_threshold")},
                               {"normalized", layer.get<bool>("normalized", true)}};
  for (std::string_view number : {"background_label_id", "top_k", "input_height", "input_width"})
    if (layer.has(number)) attrs.push_back({number, layer.get<int64_t>(number)});
  for (std::string_view number : {"confidence_threshold", "objectness_score"})
    if (layer.has(number)) attrs.push_back({number, layer.get<float>(number)});
  for (std::string_view flag :
       {"variance_encoded_in_target", "share_location", "clip_after_nms", "clip_before_nms", "decrease_label_id"})
    if (layer.has(flag)) attrs.push_back({flag, layer.get<bool>(flag)});
  // A single number or a list with one element.
  const graft_value* keep = layer.field("keep_top_k");
  if (keep && keep->kind == GRAFT_INTS) attrs.push_back({"keep_top_k", layer.get<std::vector<int64_t>>("keep_top_k")});
  else attrs.push_back({"keep_top_k", std::vector{layer.get<int64_t>("keep_top_k", 1)}});
  if (layer.has("code_type")) {
    std::string code = layer.get<std::string>("code_type");
    constexpr std::string_view prefix = "caffe.PriorBoxParameter.";
    attrs.push_back({"code_type", code.starts_with(prefix) ? code : std::string(prefix) + code});
  }
  layer.has("num_classes");
  std::vector<Value> inputs;
  for (size_t i = 0; i < layer.inputs(); ++i) inputs.push_back(layer.input(i));
  return layer.op("DetectionOutput@8", inputs, attrs);
}

// The earlier version has the number of classes as an attribute; this one derives it from the shapes.
void detection_output_as_1(Rewrite& at) {
  Shape scores = at.input(1).shape(), proposals = at.input(2).shape();
  if (!scores.ranked() || scores.rank() != 2 || !proposals.ranked() || proposals.rank() != 3) return;
  int64_t numbers = at.get<bool>("normalized") ? 4 : 5;
  if (!scores[1].known() || !proposals[2].known() || proposals[2].value() < numbers) return;
  int64_t classes = scores[1].value() / (proposals[2].value() / numbers);
  if (classes > 0) at.restate("DetectionOutput@1", at.all_inputs(), {}, {{"num_classes", classes}});
}

}  // namespace

Definitions define_detection_output() {
  constexpr std::string_view doc =
      "Decode proposals, apply non-maximum suppression per class, and return rows of [image, class, score, x1, y1, x2, "
      "y2]; image -1 marks the first unused row";
  constexpr std::string_view inputs = "box_logits, class_preds, proposals, aux_class_preds?, aux_box_preds?";
  return {
      op<DetectionOutput1>("DetectionOutput", 1)
          .doc(doc)
          .inputs(inputs)
          .infer(detection_output_infer<DetectionOutput1>)
          .reference(detection_output_run<DetectionOutput1>),
      op<DetectionOutput8>("DetectionOutput", 8)
          .doc(doc)
          .inputs(inputs)
          .infer(detection_output_infer<DetectionOutput8>)
          .reference(detection_output_run<DetectionOutput8>)
          .import(onnx("DetectionOutput").domain("org.openvinotoolkit").expand(import_detection_output))
          .earlier(detection_output_as_1),
  };
}

}  // namespace graft
