// Which layers of a model a device supports.
//
//   graft::QueryResult q = core.query_model(model, "HETERO:CPU,REFERENCE");
//   std::puts(q.to_text().c_str());
//   graft::Options options;
//   options.affinities = q.assigned();         // the assignment as it is,
//   options.affinities["conv1"] = "REFERENCE"; // with one layer moved
//
// The model is optimized first, as it would be before it is compiled for the device, so that layers which are merged
// into others or removed do not count as unsupported. Plain values.
#pragma once

#include <map>

#include "fields.hpp"
#include "ports.hpp"

namespace graft {

struct GRAFT_API LayerSupport {
  std::string layer, type;
  bool supported = false;
  std::string device;
  std::string reason;
  static constexpr std::tuple fields{
      field("layer", &LayerSupport::layer, "name of the layer"), field("type", &LayerSupport::type, "operation"),
      field("supported", &LayerSupport::supported, "whether the device can run it"),
      field("device", &LayerSupport::device, "device it is assigned to; empty: none, or the layer is optimized away"),
      field("reason", &LayerSupport::reason, "name of the kernel, or why the layer is not supported")};
};

struct GRAFT_API QueryResult {
  std::string device;
  std::vector<LayerSupport> layers;
  bool supported() const;  // all of them
  // layer => device, as Options::affinities has it.
  std::map<std::string, std::string> assigned() const;
  static constexpr std::tuple fields{
      field("device", &QueryResult::device, "the device that was asked"),
      field("supported", &QueryResult::supported, "whether it can run all layers"),
      field("layers", &QueryResult::layers, "the layers of the model"),
      field("assigned", &QueryResult::assigned, "device of each layer, as the option `affinities` has it")};
  // One line per layer, as `graft explain --query` prints them.
  std::string to_text() const;
};

}  // namespace graft
