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

#include "ports.hpp"

namespace graft {

struct GRAFT_API LayerSupport {
  std::string layer, type;
  bool supported = false;
  std::string device;  // that the layer is assigned to; empty: none, or the layer is optimized away
  std::string reason;  // the kernel's name, or why the layer is not supported
};

struct GRAFT_API QueryResult {
  std::string device;  // that was asked for
  std::vector<LayerSupport> layers;
  bool supported() const;  // all of them
  // layer => device, as Options::affinities has it.
  std::map<std::string, std::string> assigned() const;
  // One line per layer, as `graft explain --query` prints them.
  std::string to_text() const;
};

}  // namespace graft
