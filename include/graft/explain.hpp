// How a model is optimized and run, and why: passes, kernels, memory, times.
//
//   graft::Explanation e = core.compile_model(model, "CPU").explain();
//   std::puts(e.to_text().c_str());
//   for (const graft::Choice& c : e.choices)
//     for (const auto& [kernel, reason] : c.declined) ...
//
// An explanation comes from the compiled model itself, so it is what runs. Plain values.
#pragma once

#include "ports.hpp"

namespace graft {

// A pass as users see it (Core::passes).
struct GRAFT_API PassInfo {
  std::string name, doc;
  std::string phase;        // "raw", "front", "middle", "back", "write"
  std::string by;           // "built-in" or the extension's name
  bool on_request = false;  // runs only if it is enabled
  bool configured = false;  // runs only for an entry of a replacement file
  // "fuse_linear   middle   merge ...", one line.
  std::string to_text() const;
};

// What a pass changed.
struct GRAFT_API PassEffect {
  std::string pass;
  size_t changes = 0, nodes_before = 0, nodes_after = 0;
  std::vector<std::string> places;  // names of the nodes that were changed
  // A line, and a line for each of the first places.
  std::string to_text() const;
};

// Nodes that depend only on constants and are left in the graph because a limit was reached.
struct GRAFT_API Unfolded {
  std::vector<std::string> nodes;
  std::string limit;  // the name of the one that was reached first
  // One line; empty if there are none.
  std::string to_text() const;
};

// Why an operation runs as it does.
struct GRAFT_API Choice {
  std::string node, type, opset;
  std::string device, kernel;                                 // the choice; empty kernel: nothing to run
  std::vector<std::pair<std::string, std::string>> declined;  // kernel and reason, in order of preference
  std::vector<Info> inputs, outputs;
  std::string note;                      // "view of its input", "constant", "decided at run time"
  std::string layout;                    // of its outputs, unless they are plain: "channels last"
  std::vector<std::string> producers{};  // per input: the node that computes it; empty: absent
  size_t part = 0;                       // of Explanation::parts, if there are any
};

// A part of a model that is split among several devices (HETERO).
struct GRAFT_API ModelPart {
  std::string device;
  size_t phase = 0;  // parts of the same phase do not depend on each other and run at the same time
  size_t operations = 0;
};

// A value that one part computes and another one uses.
struct GRAFT_API Crossing {
  std::string value;        // the layer that computes it, "layer:1" for another output than the first
  size_t from = 0, to = 0;  // parts
  Info info;
  std::optional<size_t> bytes;  // empty: its size depends on the data
  bool copied = false;          // false: both devices use the same memory
};

struct GRAFT_API Explanation {
  std::string device;              // that the model is compiled for
  std::vector<PassEffect> passes;  // that changed the graph before it was compiled, in order
  Unfolded unfolded;
  std::vector<Choice> choices;  // in the order they run
  size_t arena_bytes = 0;       // planned activations and scratch of one request
  size_t unshared_bytes = 0;    // the same without memory sharing
  size_t constant_bytes = 0;
  bool plans_memory = false;                                 // REFERENCE allocates as it goes: it has no arena
  std::vector<std::string> inputs;                           // nodes that stand for the model's inputs
  std::vector<std::pair<std::string, std::string>> results;  // the model's outputs, and the nodes that compute them
  std::vector<ModelPart> parts;                              // empty: the model is not split
  std::vector<Crossing> crossings;                           // values that go from part to part
  // Kernels and memory, as `graft explain` prints them.
  std::string to_text() const;
  // The graph as a picture, with one color per device: for Graphviz, and drawn.
  std::string to_dot() const;
  std::string to_svg() const;
};

// Time spent in one node, and the kernel that ran it. Enable it with Options::profile.
struct GRAFT_API ProfilingInfo {
  std::string node_name, node_type, kernel;
  double microseconds = 0;  // over all calls
  uint64_t calls = 0;
};
// A table, the slowest node first.
GRAFT_API std::string profile_text(std::vector<ProfilingInfo> profile);

}  // namespace graft
