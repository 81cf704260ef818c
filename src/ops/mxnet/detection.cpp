// Detection: MultiBoxPrior, MultiBoxDetection, and the functions of boxes that GluonCV uses.
#include "mxnet/building.hpp"

namespace graft {
namespace {

constexpr double mxnet_lowest = -1e30;

// ---- anchors ----

// Positions of the centers along one axis.
Value mxnet_centers(const Value& x, int64_t axis, double offset, double step) {
  Value at = counting(dimension_of(x, axis), DType::i64);
  Value real = convert(at, DType::f32) + offset;
  return step > 0 ? real * step : real / convert(build::dim(x, axis), DType::f32);
}

// Half widths and heights of the anchors, in units of the height of the image: every size with the first ratio, then
// the first size with the other ratios.
Value mxnet_half_sizes(Builder& layer, const Value& x) {
  auto sizes = layer.get<std::vector<float>>("sizes", {1}), ratios = layer.get<std::vector<float>>("ratios", {1});
  if (sizes.empty() || ratios.empty()) fail("expected at least one of 'sizes' and 'ratios'");
  if (sizes.size() + ratios.size() > 65'536) fail("expected at most 65536 anchors per position");
  std::vector<float> widths, heights;
  auto add = [&](float size, float ratio) {
    widths.push_back(size * std::sqrt(ratio) / 2);
    heights.push_back(size / std::sqrt(ratio) / 2);
  };
  for (float size : sizes) add(size, ratios[0]);
  for (size_t i = 1; i < ratios.size(); ++i) add(sizes[0], ratios[i]);
  auto count = static_cast<int64_t>(widths.size());
  Value shape = convert(build::dims(x, {2, 3}), DType::f32);
  Value aspect = build::slice(shape, 0, 0, 1) / build::slice(shape, 0, 1, 2);
  return build::concat({layer.constant<float>(widths, {count, 1}) * aspect, layer.constant<float>(heights, {count, 1})},
                       1);
}

Value import_mxnet_multibox_prior(Builder& layer) {
  Value x = layer.input(0);
  auto steps = layer.get<std::vector<double>>("steps", {-1, -1}),
       offsets = layer.get<std::vector<double>>("offsets", {0.5, 0.5});
  if (steps.size() != 2 || offsets.size() != 2) fail("expected 2 values of 'steps' and 'offsets'");
  Value ys = unsqueeze(mxnet_centers(x, 2, offsets[0], steps[0]), {1, 2}),
        xs = unsqueeze(mxnet_centers(x, 3, offsets[1], steps[1]), {0, 2});
  Value cells = build::dims(x, {2, 3}), one = layer.ints({1}), whole = build::concat({cells, one}, 0);
  Value centers = unsqueeze(build::concat({build::broadcast(xs, whole), build::broadcast(ys, whole)}, 2), {2});
  Value half = mxnet_half_sizes(layer, x);
  Value boxes = reshape(build::concat({centers - half, centers + half}, 3), {1, -1, 4});
  return convert(mx::bool_or(layer, "clip", false) ? mx::clamp(boxes, 0, 1) : boxes, x.type());
}

// ---- boxes ----

// [x, y, width, height] -> corners, and back.
Value mxnet_corners(const Value& boxes) {
  std::vector<Value> p = build::split(boxes, -1, std::vector<int64_t>{2, 2});
  Value half = p[1] * 0.5;
  return build::concat({p[0] - half, p[0] + half}, -1);
}
Value mxnet_center_form(const Value& boxes) {
  std::vector<Value> p = build::split(boxes, -1, std::vector<int64_t>{2, 2});
  return build::concat({(p[0] + p[1]) * 0.5, p[1] - p[0]}, -1);
}

// Boxes from distances to anchors, both [.., N, 4].
Value mxnet_decoded(Builder& layer, const Value& deltas, const Value& anchors, const std::vector<double>& scales) {
  std::vector<Value> c = build::split(mxnet_center_form(anchors), -1, std::vector<int64_t>{2, 2}),
                     d = build::split(deltas, -1, std::vector<int64_t>{2, 2});
  Value move = layer.typed({scales[0], scales[1]}, {2}, deltas.type()),
        grow = layer.typed({scales[2], scales[3]}, {2}, deltas.type());
  Value center = d[0] * move * c[1] + c[0], half = layer.op("Exp", {d[1] * grow}) * c[1] * 0.5;
  return build::concat({center - half, center + half}, -1);
}

// Rows of [N, A, ...] in another order [N, A]. OpenVINO's CPU device crashes in a Gather with batch_dims.
Value mxnet_gather_rows(Builder& layer, const Value& v, const Value& order) {
  return layer.op("GatherND@8", {v, unsqueeze(order, {2})}, {{"batch_dims", 1}});
}

// Which boxes [N, A, 4], the best first, non-maximum suppression keeps, as booleans [N, A]. `candidates` are [N,
// classes, A]: the boxes of each class that take part.
Value mxnet_kept(Builder& layer, const Value& boxes, const Value& candidates, double overlap) {
  Value count = dimension_of(boxes, 1);
  Value rank =
      layer.op("Range@4", {count, layer.scalar(int64_t{0}), layer.scalar(int64_t{-1})}, {{"output_type", DType::f32}});
  Value scores = build::select(candidates, rank, layer.scalar(-1, DType::f32));
  Value selected = layer.ops(
      "NonMaxSuppression@9", {boxes, scores, count, layer.scalar(overlap, DType::f32), layer.scalar(0.5, DType::f32)},
      {{"box_encoding", "corner"}, {"sort_result_descending", false}, {"output_type", DType::i64}}, 3)[0];
  Value places = build::gather(selected, layer.ints({0, 2}), 1);
  Value zeros = build::fill(layer, 0, DType::f32, build::dims(boxes, {0, 1}));
  Value ones = build::fill(layer, 1, DType::f32, build::dim(places, 0));
  Value marks = layer.op("ScatterNDUpdate@4", {zeros, places, ones});
  return layer.op("Greater", {marks, layer.scalar(0.5, DType::f32)});
}

// Positions 0 .. A-1 below `count`.
Value mxnet_first(Builder& layer, const Value& boxes, int64_t count) {
  return layer.op("Less", {counting(dimension_of(boxes, 1), DType::i64), layer.scalar(count)});
}

// ---- MultiBoxDetection ----

// Rows [class, score, x1, y1, x2, y2], best first; a suppressed box has class -1, rows behind the valid ones are -1.
Value import_mxnet_multibox_detection(Builder& layer) {
  Value probabilities = layer.input(0), locations = layer.input(1), anchors = layer.input(2);
  auto variances = layer.get<std::vector<double>>("variances", {0.1, 0.1, 0.2, 0.2});
  if (variances.size() != 4) fail("expected 4 values of 'variances', got ", variances.size());
  if (auto id = mx::int_or(layer, "background_id", 0); id != 0)
    unsupported("background class ", id, " is not supported, only 0");
  double threshold = layer.get<double>("threshold", 0.01), overlap = layer.get<double>("nms_threshold", 0.5);
  auto limit = mx::int_or(layer, "nms_topk", -1);
  bool force = mx::bool_or(layer, "force_suppress", false), suppress = overlap > 0 && overlap <= 1;
  DType type = probabilities.type();

  Value boxes = mxnet_decoded(layer, build::reshape_keeping(locations, {0, -1, 4}), anchors, variances);
  if (mx::bool_or(layer, "clip", true)) boxes = mx::clamp(boxes, 0, 1);
  std::vector<Value> best = mx::top_k(build::slice(probabilities, 1, 1, std::numeric_limits<int64_t>::max()),
                                      layer.scalar(int64_t{1}), 1, true);
  Value score = squeeze(best[0], {1}), id = squeeze(best[1], {1});
  Value valid = layer.op("GreaterEqual", {score, like(score, threshold)});
  // Valid boxes first; with suppression by score, up to the limit.
  Value count = dimension_of(score, 1), order = mx::top_k(convert(valid, type), count, 1, true)[1];
  Value limited = limit > 0 ? mxnet_first(layer, boxes, limit) : Value();
  if (suppress) {
    Value sorted = mx::top_k(build::select(valid, score, like(score, mxnet_lowest)), count, 1, true)[1];
    order = limited ? build::select(limited, sorted, order) : sorted;
  }
  boxes = mxnet_gather_rows(layer, boxes, order);
  score = mxnet_gather_rows(layer, score, order), id = mxnet_gather_rows(layer, id, order);
  valid = layer.op("GreaterEqual", {score, like(score, threshold)});
  Value shown = valid;
  if (suppress) {
    // Before 1.2, boxes beyond the limit took part.
    bool all = !limited || layer.version() < 10200;
    Value candidate = all ? valid : layer.op("LogicalAnd", {valid, limited});
    Value by_class = unsqueeze(candidate, {1});
    if (!force) {
      Value classes = reshape(counting(dimension_of(probabilities, 1), DType::i64), {1, -1, 1});
      by_class = layer.op("LogicalAnd", {by_class, layer.op("Equal", {unsqueeze(id, {1}), classes})});
    }
    // Boxes whose overlap is equal to the threshold are removed, too.
    auto just_below = static_cast<double>(std::nextafter(static_cast<float>(overlap), 0.0f));
    shown = mxnet_kept(layer, convert(boxes, DType::f32), by_class, just_below);
  }
  id = build::select(shown, convert(id, type), like(score, -1));
  Value rows = build::concat({unsqueeze(id, {2}), unsqueeze(score, {2}), boxes}, 2);
  return build::select(unsqueeze(valid, {2}), rows, like(rows, -1));
}

// ---- box_nms ----

struct MxnetBoxNms {
  double overlap, least;
  int64_t limit, coordinates, score, id, background;
  bool force, center_in, center_out;

  explicit MxnetBoxNms(Builder& layer)
      : overlap(layer.get<double>("overlap_thresh", 0.5)),
        least(layer.get<double>("valid_thresh", 0)),
        limit(mx::int_or(layer, "topk", -1)),
        coordinates(mx::int_or(layer, "coord_start", 2)),
        score(mx::int_or(layer, "score_index", 1)),
        id(mx::int_or(layer, "id_index", -1)),
        background(mx::int_or(layer, "background_id", -1)),
        force(mx::bool_or(layer, "force_suppress", false)),
        center_in(mx::word_or(layer, "in_format", "corner") == "center"),
        center_out(mx::word_or(layer, "out_format", "corner") == "center") {
    for (int64_t i : {coordinates, score})
      if (i < 0 || i > 65'536) fail("expected 'coord_start' and 'score_index' of 0 to 65536, got ", i);
    if (id > 65'536) fail("expected 'id_index' of at most 65536, got ", id);
  }
};

// Boxes of different classes never overlap once each class is moved to a place of its own.
Value mxnet_apart(Builder& layer, const Value& boxes, const Value& classes) {
  Value all = layer.ints({0, 1, 2});
  Value span = layer.op("ReduceMax", {boxes, all}, {{"keep_dims", true}}) -
               layer.op("ReduceMin", {boxes, all}, {{"keep_dims", true}}) + 1.0;
  return boxes + classes * span;
}

// The rows that are kept, best first; the others are -1, at the end.
Value import_mxnet_box_nms(Builder& layer) {
  if (layer.output_used(1)) unsupported("the second output of box_nms is not supported");
  MxnetBoxNms p(layer);
  Value given = layer.input(0);
  size_t rank = given.rank();
  Value x = rank == 3 ? given : build::reshape(given, {layer.ints({-1}), build::dims(given, {-2, -1})});
  auto column = [&](const Value& v, int64_t i) { return squeeze(build::slice(v, 2, i, i + 1), {2}); };
  Value score = column(x, p.score);
  Value valid = layer.op("Greater", {score, like(score, p.least)});
  if (p.id >= 0 && p.background >= 0)
    valid = layer.op("LogicalAnd",
                     {valid, layer.op("NotEqual", {column(x, p.id), like(score, static_cast<double>(p.background))})});
  Value key = build::select(valid, score, like(score, mxnet_lowest));
  std::vector<Value> sorted = mx::top_k(key, dimension_of(key, 1), 1, true);
  x = mxnet_gather_rows(layer, x, sorted[1]);
  Value candidate = layer.op("Greater", {sorted[0], like(score, mxnet_lowest / 2)});
  if (p.limit > 0) candidate = layer.op("LogicalAnd", {candidate, mxnet_first(layer, x, p.limit)});
  Value boxes = build::slice(x, 2, p.coordinates, p.coordinates + 4);
  Value corners = convert(p.center_in ? mxnet_corners(boxes) : boxes, DType::f32);
  if (p.id >= 0 && !p.force)
    corners = mxnet_apart(layer, corners, convert(build::slice(x, 2, p.id, p.id + 1), DType::f32));
  Value kept = mxnet_kept(layer, corners, unsqueeze(candidate, {1}), p.overlap);
  Value order = mx::top_k(convert(kept, DType::f32), dimension_of(key, 1), 1, true)[1];
  if (p.center_in != p.center_out) {
    Value changed = p.center_in ? mxnet_corners(boxes) : mxnet_center_form(boxes);
    std::vector<Value> parts;
    if (p.coordinates > 0) parts.push_back(build::slice(x, 2, 0, p.coordinates));
    parts.push_back(changed);
    parts.push_back(build::slice(x, 2, p.coordinates + 4, std::numeric_limits<int64_t>::max()));
    x = build::concat(parts, 2);
  }
  Value rows = build::select(unsqueeze(kept, {2}), x, like(x, -1));
  rows = mxnet_gather_rows(layer, rows, order);
  return rank == 3 ? rows : mx::same_shape(rows, given);
}

// ---- functions of boxes ----

Value import_mxnet_box_decode(Builder& layer) {
  Value anchors = layer.input(1);
  std::vector<double> scales;
  for (std::string_view path : {"std0", "std1", "std2", "std3"}) scales.push_back(layer.get<double>(path, 1));
  double clip = layer.get<double>("clip", -1);
  if (mx::word_or(layer, "format", "center") == "center") anchors = mxnet_corners(anchors);
  if (clip > 0) unsupported("box_decode with 'clip' is not supported");
  return mxnet_decoded(layer, layer.input(0), anchors, scales);
}

// The overlap of every box of the first with every box of the second.
Value import_mxnet_box_iou(Builder& layer) {
  Value a = layer.input(0), b = layer.input(1);
  if (mx::word_or(layer, "format", "corner") == "center") a = mxnet_corners(a), b = mxnet_corners(b);
  if (a.rank() != 2 || b.rank() != 2) unsupported("box_iou of more than two dimensions is not supported");
  auto halves = [](const Value& v) { return build::split(v, -1, std::vector<int64_t>{2, 2}); };
  std::vector<Value> p = halves(unsqueeze(a, {1})), q = halves(unsqueeze(b, {0}));
  auto product = [&](const Value& v) {
    Value size = layer.op("Maximum", {v, like(v, 0)});
    return layer.op("ReduceProd", {size, layer.ints({-1})}, {{"keep_dims", false}});
  };
  Value both = product(layer.op("Minimum", {p[1], q[1]}) - layer.op("Maximum", {p[0], q[0]}));
  Value all = product(p[1] - p[0]) + product(q[1] - q[0]) - both;
  return build::select(layer.op("Greater", {all, like(all, 0)}), both / all, like(all, 0));
}

}  // namespace

Definitions define_mxnet_detection() {
  return {
      mx::rules({"_contrib_MultiBoxPrior", "MultiBoxPrior"}, import_mxnet_multibox_prior),
      mx::rules({"_contrib_MultiBoxDetection", "MultiBoxDetection"}, import_mxnet_multibox_detection),
      mx::rules({"_contrib_box_nms", "_contrib_box_non_maximum_suppression"}, import_mxnet_box_nms),
      mx::rules({"_contrib_box_decode"}, import_mxnet_box_decode),
      mx::rules({"_contrib_box_iou"}, import_mxnet_box_iou),
  };
}

}  // namespace graft
