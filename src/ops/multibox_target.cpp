// Training targets of SSD: which anchor stands for which object, and how far it is from it.
#include <cmath>
#include <graft/op.hpp>

#include "detection.hpp"

namespace graft {
namespace {

struct MultiBoxTarget {
  float overlap_threshold = 0.5f, ignore_label = -1, negative_mining_ratio = -1, negative_mining_thresh = 0.5f;
  std::vector<float> variances = {0.1f, 0.1f, 0.2f, 0.2f};
  static constexpr std::tuple schema{
      attr("overlap_threshold", &MultiBoxTarget::overlap_threshold,
           "an anchor is positive if its IoU with an object exceeds this; 0 or less: only the best anchor of each "
           "object is"),
      attr("ignore_label", &MultiBoxTarget::ignore_label,
           "class target of anchors that are neither positive nor negative"),
      attr("negative_mining_ratio", &MultiBoxTarget::negative_mining_ratio,
           "number of negative anchors per positive one; 0 or less: all anchors that are not positive are negative"),
      attr("negative_mining_thresh", &MultiBoxTarget::negative_mining_thresh,
           "with negative mining, an anchor is negative only if its IoU with every object is below this"),
      attr("variances", &MultiBoxTarget::variances, "divisors of the location targets: x, y, width, height")};
};

void multibox_target_infer(Infer& ctx, const MultiBoxTarget& a) {
  Shape anchors = ctx.shape(0), labels = ctx.shape(1), scores = ctx.shape(2);
  if (a.variances.size() != 4) fail("expected 4 values of 'variances', got ", a.variances.size());
  if (anchors.ranked() && (anchors.rank() != 3 || !anchors[0].can_be(1) || !anchors[2].can_be(4)))
    fail("expected anchors of shape [1, anchors, 4], got ", anchors);
  if (labels.ranked() && (labels.rank() != 3 || labels[2].max() < 5))
    fail("expected labels of shape [batch, objects, 5 or more], got ", labels);
  if (scores.ranked() && (scores.rank() != 3 || (anchors.ranked() && !can_agree(scores[2], anchors[1])) ||
                          (labels.ranked() && !can_agree(scores[0], labels[0]))))
    fail("expected class predictions of shape [batch, classes, anchors], got ", scores);
  Dim batch, count;
  if (labels.ranked()) batch = labels[0];
  if (anchors.ranked()) count = anchors[1];
  if (scores.ranked()) batch = merge(batch, scores[0]), count = merge(count, scores[2]);
  Dim coordinates = count.known() ? Dim(count.value() * 4) : Dim();
  ctx.output(0, ctx.type(0), Shape{batch, coordinates});
  ctx.output(1, ctx.type(0), Shape{batch, coordinates});
  ctx.output(2, ctx.type(0), Shape{batch, count});
}

// The anchors of one image.
class TargetMatcher {
 public:
  TargetMatcher(const MultiBoxTarget& a, const std::vector<Corners>& anchors, const std::vector<Corners>& objects)
      : a_(a), anchors_(anchors), objects_(objects), matches(anchors.size()), kinds(anchors.size(), ignored) {}

  enum Kind { ignored, negative, positive };

  // `background` is the predicted probability of the background for each anchor.
  void run(const std::vector<double>& background) {
    match_objects();
    for (size_t i = 0; i < anchors_.size(); ++i)
      if (kinds[i] != positive) {
        matches[i] = best_object(i);
        if (a_.overlap_threshold > 0 && overlap(i, matches[i]) > a_.overlap_threshold) kinds[i] = positive;
      }
    choose_negatives(background);
  }

 private:
  float overlap(size_t anchor, size_t object) const { return box_overlap(anchors_[anchor], objects_[object]); }
  size_t best_object(size_t anchor) const {
    size_t best = 0;
    for (size_t k = 1; k < objects_.size(); ++k)
      if (overlap(anchor, k) > overlap(anchor, best)) best = k;
    return best;
  }

  // Each object gets an anchor of its own: pairs in the order of their overlap, the largest first.
  void match_objects() {
    std::vector<bool> done(objects_.size());
    for (size_t round = 0; round < objects_.size(); ++round) {
      float most = 1e-6f;
      size_t anchor = anchors_.size(), object = 0;
      for (size_t i = 0; i < anchors_.size(); ++i)
        for (size_t k = 0; kinds[i] != positive && k < objects_.size(); ++k)
          if (!done[k] && overlap(i, k) > most) most = overlap(i, k), anchor = i, object = k;
      if (anchor == anchors_.size()) return;
      kinds[anchor] = positive, matches[anchor] = object, done[object] = true;
    }
  }

  void choose_negatives(const std::vector<double>& background) {
    if (!(a_.negative_mining_ratio > 0)) {
      for (Kind& k : kinds)
        if (k == ignored) k = negative;
      return;
    }
    std::vector<size_t> hard;
    auto positives = static_cast<double>(std::count(kinds.begin(), kinds.end(), positive));
    for (size_t i = 0; i < anchors_.size(); ++i)
      if (kinds[i] != positive && overlap(i, matches[i]) < a_.negative_mining_thresh) hard.push_back(i);
    std::stable_sort(hard.begin(), hard.end(), [&](size_t x, size_t y) { return background[x] < background[y]; });
    double most = positives * static_cast<double>(a_.negative_mining_ratio);
    if (most < static_cast<double>(hard.size())) hard.resize(static_cast<size_t>(most));
    for (size_t i : hard) kinds[i] = negative;
  }

  const MultiBoxTarget& a_;
  const std::vector<Corners>&anchors_, &objects_;

 public:
  std::vector<size_t> matches;  // the object of each anchor
  std::vector<Kind> kinds;
};

// Softmax over the classes, of class 0.
std::vector<double> target_background(const std::vector<double>& scores, size_t image, size_t classes, size_t count) {
  std::vector<double> out(count);
  for (size_t i = 0; i < count; ++i) {
    const double* at = scores.data() + image * classes * count + i;
    double highest = at[0], sum = 0;
    for (size_t k = 1; k < classes; ++k) highest = std::max(highest, at[k * count]);
    for (size_t k = 0; k < classes; ++k) sum += std::exp(at[k * count] - highest);
    double p = std::exp(at[0] - highest) / sum;
    out[i] = std::isnan(p) ? 0 : p;
  }
  return out;
}

void multibox_target_run(Run& ctx, const MultiBoxTarget& a) {
  TensorView anchor_input = ctx.input(0), label_input = ctx.input(1), score_input = ctx.input(2);
  auto count = static_cast<size_t>(anchor_input.dim(1)), batches = static_cast<size_t>(label_input.dim(0)),
       rows = static_cast<size_t>(label_input.dim(1)), width = static_cast<size_t>(label_input.dim(2)),
       classes = static_cast<size_t>(score_input.dim(1));
  if (anchor_input.dim(0) != 1 || anchor_input.dim(2) != 4 || width < 5 || classes < 1 ||
      static_cast<size_t>(score_input.dim(0)) != batches || static_cast<size_t>(score_input.dim(2)) != count)
    fail("anchors of shape ", anchor_input.info().shape, " and labels of shape ", label_input.info().shape,
         " do not match class predictions of shape ", score_input.info().shape);
  std::vector<float> corners = anchor_input.to<float>(), labels = label_input.to<float>();
  std::vector<double> scores = score_input.to<double>();
  std::vector<Corners> anchors;
  for (size_t i = 0; i < count; ++i)
    anchors.push_back({corners[i * 4], corners[i * 4 + 1], corners[i * 4 + 2], corners[i * 4 + 3]});
  std::vector<double> locations(batches * count * 4, 0), mask(locations.size(), 0),
      ids(batches * count, static_cast<double>(a.ignore_label));
  for (size_t image = 0; image < batches; ++image) {
    std::vector<Corners> objects;
    const float* label = labels.data() + image * rows * width;
    for (size_t k = 0; k < rows && label[k * width] != -1; ++k) {
      const float* box = label + k * width + 1;
      objects.push_back({box[0], box[1], box[2], box[3]});
    }
    if (objects.empty()) continue;
    TargetMatcher m(a, anchors, objects);
    m.run(target_background(scores, image, classes, count));
    for (size_t i = 0; i < count; ++i) {
      if (m.kinds[i] == TargetMatcher::ignored) continue;
      size_t at = image * count + i;
      ids[at] = m.kinds[i] == TargetMatcher::positive ? static_cast<double>(label[m.matches[i] * width]) + 1 : 0;
      if (m.kinds[i] == TargetMatcher::negative) continue;
      const Corners &x = anchors[i], &y = objects[m.matches[i]];
      double w = x.x2 - x.x1, h = x.y2 - x.y1;
      double target[4] = {(y.x1 + y.x2 - x.x1 - x.x2) / 2 / w, (y.y1 + y.y2 - x.y1 - x.y2) / 2 / h,
                          std::log((y.x2 - y.x1) / w), std::log((y.y2 - y.y1) / h)};
      for (size_t k = 0; k < 4; ++k)
        locations[at * 4 + k] = target[k] / static_cast<double>(a.variances[k]), mask[at * 4 + k] = 1;
    }
  }
  auto n = static_cast<int64_t>(batches), c = static_cast<int64_t>(count);
  ctx.allocate(0, {n, c * 4}).assign(locations);
  ctx.allocate(1, {n, c * 4}).assign(mask);
  ctx.allocate(2, {n, c}).assign(ids);
}

std::vector<Value> import_multibox_target(Builder& layer) {
  layer.has("minimum_negative_samples");  // MXNet reads it and does not use it
  return layer.ops("MultiBoxTarget@graft", {layer.input(0), layer.input(1), layer.input(2)},
                   {{"overlap_threshold", layer.get<float>("overlap_threshold", 0.5f)},
                    {"ignore_label", layer.get<float>("ignore_label", -1)},
                    {"negative_mining_ratio", layer.get<float>("negative_mining_ratio", -1)},
                    {"negative_mining_thresh", layer.get<float>("negative_mining_thresh", 0.5f)},
                    {"variances", layer.get<std::vector<float>>("variances", {0.1f, 0.1f, 0.2f, 0.2f})}},
                   3);
}

}  // namespace

Definitions define_multibox_target() {
  return op<MultiBoxTarget>("MultiBoxTarget", "graft")
      .doc(
          "Match the anchors of a single-shot detector to the objects of each image. Labels are rows [class, left, "
          "top, "
          "right, bottom, ...]; a row with class -1 ends them")
      .inputs("anchors, labels, class_predictions")
      .outputs("location_targets, location_mask, class_targets")
      .infer(multibox_target_infer)
      .reference(multibox_target_run)
      .import(mxnet("_contrib_MultiBoxTarget").expand(import_multibox_target))
      .import(mxnet("MultiBoxTarget").expand(import_multibox_target));
}

}  // namespace graft
