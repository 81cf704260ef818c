#include "import/published.hpp"

#include <algorithm>
#include <unordered_set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "import/replace_match.hpp"

namespace graft {
namespace {

using enum PublishedReplacement::Kind;
constexpr std::string_view preprocessing = "the preprocessing of the graph is imported as it is";
constexpr std::string_view postprocessing =
    "the detection postprocessing of the graph (box decoding, non-maximum suppression) is imported as it is, and its "
    "outputs stay the outputs of the graph";
constexpr std::string_view pooling = "CropAndResize and the operations around it are imported as they are";
constexpr std::string_view constants =
    "constants of the graph, such as the number of proposals, are imported as they are";
constexpr PublishedReplacement table[] = {
    {"AutomlEfficientDet", not_needed, postprocessing},
    {"DetectionOutput", PublishedReplacement::detections, ""},  // our own, for a model that no published file is for
    {"ONNXMaskRCNNReplacement", not_needed, "the operations of the ONNX graph are imported as they are"},
    {"ONNXPersonDetectionCrossroadReplacement", not_needed,
     "the operations of the ONNX graph are imported as they are"},
    {"ObjectDetectionAPIConstValueOverride", not_needed, constants},
    {"ObjectDetectionAPIDetectionOutputReplacement", PublishedReplacement::detections, postprocessing},
    {"ObjectDetectionAPIMaskRCNNROIPoolingSecondReplacement", not_needed, pooling},
    {"ObjectDetectionAPIMaskRCNNSigmoidReplacement", not_needed, "the masks are the output of the graph as it is"},
    {"ObjectDetectionAPIOutputReplacement", not_needed,
     "the outputs stay the outputs of the graph; `outputs` chooses others"},
    {"ObjectDetectionAPIPSROIPoolingReplacement", not_needed, pooling},
    {"ObjectDetectionAPIPreprocessor2Replacement", not_needed, preprocessing},
    {"ObjectDetectionAPIPreprocessorReplacement", not_needed, preprocessing},
    {"ObjectDetectionAPIProposalReplacement", not_needed, "the proposals of the graph are imported as they are"},
    {"ObjectDetectionAPISSDPostprocessorReplacement", PublishedReplacement::detections, postprocessing},
    {"RetinaNetFilteredDetectionsReplacement", not_needed, postprocessing},
    {"SSDToolboxDetectionOutput", not_needed, postprocessing},
    {"TFYOLO", regions, ""},
    {"TFYOLOV3", regions, ""},
};

// The values that get a region layer: inputs 0 of the entry points, or the outputs of the model.
std::vector<std::string> region_inputs(const RawIndex& index, const Replacement& r) {
  std::vector<std::string> out;
  const Attribute* points = r.attributes.find("entry_points");
  if (!points) {
    for (const RawValue& o : index.graph.outputs) out.push_back(o.name);
    return out;
  }
  const auto* names = points->get_if<std::vector<std::string>>();
  if (!names) throw_user("attribute 'entry_points': expected a list of node names");
  for (const std::string& name : *names) {
    std::vector<size_t> found = index.called(name);
    if (found.empty()) throw_user("the model has no node '", name, "', which is an entry point", index.near(name));
    const RawNode& node = index.graph.nodes[found[0]];
    if (node.inputs.empty() || node.inputs[0].empty()) throw_user("the entry point '", name, "' has no inputs");
    out.push_back(node.inputs[0]);
  }
  return out;
}

RawNode region(const Replacement& r, const std::string& file, const std::string& value, size_t number) {
  RawNode node;
  node.type = r.id;
  node.set_origin().stands_for = text("replacement '", r.id, "' of ", file);
  node.name = text(value, "/YoloRegion");
  node.inputs = {value};
  node.outputs = {node.name};
  for (const auto& [path, v] : r.attributes) {
    bool mask = path == text("masks.", number);
    if (path == "entry_points" || (path.starts_with("masks.") && !mask)) continue;
    RawField f;
    f.value = v;
    node.fields.emplace_back(mask ? "mask" : path, std::move(f));
  }
  return node;
}

// Drops what no output depends on any more. Values used by sub-graphs are listed as consumers by the index.
void drop_unused(RawGraph& g) {
  RawIndex index(g);
  std::vector<bool> used(g.nodes.size(), false);
  std::vector<std::string> values;
  for (const RawValue& o : g.outputs) values.push_back(o.name);
  bool bodies = false;
  for (const RawNode& n : g.nodes)
    for (const auto& [path, f] : n.fields) bodies |= !f.graphs.empty();
  if (bodies) return;  // they may use any value
  while (!values.empty()) {
    const RawIndex::Port* maker = index.maker(values.back());
    values.pop_back();
    if (!maker || used[maker->node]) continue;
    used[maker->node] = true;
    for (const std::string& in : g.nodes[maker->node].inputs) values.push_back(in);
  }
  std::vector<RawNode> kept;
  for (size_t i = 0; i < used.size(); ++i)
    if (used[i]) kept.push_back(std::move(g.nodes[i]));
  g.nodes = std::move(kept);
}

}  // namespace

const PublishedReplacement* find_published(std::string_view id) {
  auto it = std::find_if(std::begin(table), std::end(table), [&](const auto& row) { return row.id == id; });
  return it == std::end(table) ? nullptr : it;
}

ReplacementMatch append_regions(RawModel& model, const Replacement& r, const std::string& file) {
  ReplacementMatch match{r.id, {}, region_inputs(RawIndex(model.graph), r), {}, {}};
  std::vector<RawValue> outputs;
  for (size_t i = 0; i < match.inputs.size(); ++i) {
    RawNode node = region(r, file, match.inputs[i], i);
    match.nodes.push_back(node.name), match.outputs.push_back(node.name);
    RawValue& value = outputs.emplace_back();
    value.name = node.name;
    value.info.shape = Shape::unknown();
    model.graph.nodes.push_back(std::move(node));
  }
  model.graph.outputs = std::move(outputs);
  drop_unused(model.graph);
  return match;
}

}  // namespace graft
