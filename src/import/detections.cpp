#include "import/detections.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"

namespace graft {
namespace {

constexpr const char* title = "DetectionOutput";

std::string unique(const RawGraph& g, std::string wanted) {
  auto taken = [&](const std::string& name) {
    return std::any_of(g.nodes.begin(), g.nodes.end(), [&](const RawNode& n) {
      return n.name == name || std::find(n.outputs.begin(), n.outputs.end(), name) != n.outputs.end();
    });
  };
  std::string name = wanted;
  for (int i = 1; taken(name); ++i) name = text(wanted, '_', i);
  return name;
}

// Appends the layer, which takes the place of the first of the outputs that it joins.
ReplacementMatch join(RawModel& model, const std::vector<std::string>& values, std::string_view form,
                      const std::string& by) {
  RawGraph& g = model.graph;
  RawNode node;
  node.type = title;
  node.set_origin().stands_for = by;
  node.name = unique(g, title);
  node.inputs = values, node.outputs = {node.name};
  RawField f;
  f.value = std::string(form);
  node.fields.emplace_back("form", std::move(f));
  auto joined = [&](const RawValue& v) { return std::find(values.begin(), values.end(), v.name) != values.end(); };
  auto first = std::find_if(g.outputs.begin(), g.outputs.end(), joined);
  RawValue made;
  made.name = node.name, made.info.shape = Shape::unknown();
  first = g.outputs.insert(first, std::move(made));
  g.outputs.erase(std::remove_if(first + 1, g.outputs.end(), joined), g.outputs.end());
  ReplacementMatch match{title, {node.name}, values, {node.name}, {}};
  g.nodes.push_back(std::move(node));
  return match;
}

}  // namespace

std::optional<ReplacementMatch> append_detections(RawModel& model, const std::string& by) {
  const RawGraph& g = model.graph;
  if (model.framework == "tensorflow") {
    constexpr std::array names{"detection_boxes", "detection_classes", "detection_scores", "num_detections"};
    std::vector<std::string> found;
    for (const char* name : names)
      for (const RawValue& o : g.outputs)
        if (o.name == name || o.name == name + model.first_output || o.also == name) found.push_back(o.name);
    if (found.size() == names.size()) return join(model, found, "object_detection_api", by);
  }
  if (model.framework == "mxnet")
    for (const RawValue& o : g.outputs)
      for (const RawNode& n : g.nodes)
        if ((n.type == "_contrib_MultiBoxDetection" || n.type == "MultiBoxDetection") && !n.outputs.empty() &&
            n.outputs[0] == o.name)
          return join(model, {o.name}, "multibox", by);
  return std::nullopt;
}

}  // namespace graft
