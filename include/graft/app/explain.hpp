// How a model is optimized and run, and why: passes, kernels, memory, times.
//
//   graft::Explanation e = core.compile_model(model, "CPU").explain();
//   std::puts(e.to_text().c_str());
//   for (const graft::Choice& c : e.choices)
//     for (const auto& [kernel, reason] : c.declined) ...
//
// An explanation comes from the compiled model itself, so it is what runs. Plain values.
#pragma once

#include "fields.hpp"
#include "ports.hpp"

namespace graft {

// A pass as users see it (Core::passes).
struct GRAFT_API PassInfo {
  std::string name, doc;
  std::string phase;
  std::string origin;
  bool on_request = false;
  bool configured = false;
  static constexpr std::tuple fields{
      field("name", &PassInfo::name, "name, as options take it"),
      field("doc", &PassInfo::doc, "what it does"),
      field("phase", &PassInfo::phase, "when it runs: raw, front, middle, back or write"),
      field("origin", &PassInfo::origin, "built-in, or the extension's name"),
      field("on_request", &PassInfo::on_request, "whether it runs only if it is enabled"),
      field("configured", &PassInfo::configured, "whether it runs only for an entry of a replacement file")};
  // "fuse_linear   middle   merge ...", one line.
  std::string to_text() const;
};

// What a pass changed.
struct GRAFT_API PassEffect {
  std::string name;
  size_t changes = 0, nodes_before = 0, nodes_after = 0;
  std::vector<std::string> places;
  static constexpr std::tuple fields{field("name", &PassEffect::name, "name of the pass"),
                                     field("changes", &PassEffect::changes, "how often it changed the graph"),
                                     field("nodes_before", &PassEffect::nodes_before, "nodes of the graph before it"),
                                     field("nodes_after", &PassEffect::nodes_after, "nodes of the graph after it"),
                                     field("places", &PassEffect::places, "names of the nodes that were changed")};
  // A line, and a line for each of the first places.
  std::string to_text() const;
};

// Nodes that depend only on constants and are left in the graph because a limit was reached.
struct GRAFT_API Unfolded {
  std::vector<std::string> nodes;
  std::string limit;
  static constexpr std::tuple fields{field("nodes", &Unfolded::nodes, "names of the nodes"),
                                     field("limit", &Unfolded::limit, "the limit that was reached first")};
  // One line; empty if there are none.
  std::string to_text() const;
};

// Why an operation runs as it does.
struct GRAFT_API Choice {
  std::string node, type, opset;
  std::string device, kernel;
  std::vector<std::pair<std::string, std::string>> declined;
  std::vector<Info> inputs, outputs;
  std::string note;
  std::string layout;
  std::vector<std::string> producers{};
  size_t part = 0;
  static constexpr std::tuple fields{
      field("node", &Choice::node, "name of the node"),
      field("type", &Choice::type, "operation"),
      field("opset", &Choice::opset, "opset of the operation"),
      field("device", &Choice::device, "device that runs it"),
      field("kernel", &Choice::kernel, "the kernel that runs it; empty: nothing to run"),
      pairs("declined", &Choice::declined, "kernel", "reason", "kernels that declined, in order of preference"),
      field("inputs", &Choice::inputs, "types and shapes"),
      field("outputs", &Choice::outputs, "types and shapes"),
      field("note", &Choice::note,
            "such as \"view of its input\", \"constant\", \"decided at run time\", \"applies HSwish (simd_f32)\""),
      field("layout", &Choice::layout, "of its outputs, unless they are plain: \"channels last\""),
      field("producers", &Choice::producers, "for each input, the node that computes it; empty: absent"),
      field("part", &Choice::part, "its part, if the model is split")};
};

// A part of a model that is split among several devices (HETERO).
struct GRAFT_API ModelPart {
  std::string device;
  size_t phase = 0;
  size_t operations = 0;
  static constexpr std::tuple fields{
      field("device", &ModelPart::device, "device that runs it"),
      field("phase", &ModelPart::phase, "parts of the same phase do not depend on each other and run at the same time"),
      field("operations", &ModelPart::operations, "number of operations")};
};

// A value that one part computes and another one uses.
struct GRAFT_API Crossing {
  std::string value;
  size_t source = 0, target = 0;
  Info info;
  std::optional<size_t> bytes;
  bool copied = false;
  static constexpr std::tuple fields{
      field("value", &Crossing::value, "the layer that computes it; \"layer:1\" for another output than the first"),
      field("source", &Crossing::source, "part that computes it"),
      field("target", &Crossing::target, "part that uses it"),
      field("info", &Crossing::info, "type and shape"),
      field("bytes", &Crossing::bytes, "size; absent: it depends on the data"),
      field("copied", &Crossing::copied, "false: both devices use the same memory")};
};

struct GRAFT_API Explanation {
  std::string device;
  std::vector<PassEffect> passes;
  Unfolded unfolded;
  std::vector<Choice> choices;
  size_t arena_bytes = 0;
  size_t unshared_bytes = 0;
  size_t constant_bytes = 0;
  bool plans_memory = false;
  std::vector<std::string> inputs;
  std::vector<std::pair<std::string, std::string>> results;
  std::vector<ModelPart> parts;
  std::vector<Crossing> crossings;
  static constexpr std::tuple fields{
      field("device", &Explanation::device, "that the model is compiled for"),
      field("passes", &Explanation::passes, "passes that ran before the graph was compiled, in order"),
      field("unfolded", &Explanation::unfolded, "nodes left in the graph because a limit was reached"),
      field("kernels", &Explanation::choices, "the operations in the order they run, with their kernels"),
      field("arena_bytes", &Explanation::arena_bytes, "planned activations and scratch of one request"),
      field("unshared_bytes", &Explanation::unshared_bytes, "the same without memory sharing"),
      field("constant_bytes", &Explanation::constant_bytes, "memory of the constants"),
      field("plans_memory", &Explanation::plans_memory, "false: the device allocates as it goes, without an arena"),
      field("input_nodes", &Explanation::inputs, "nodes that stand for the model's inputs"),
      pairs("output_nodes", &Explanation::results, "output", "node", "the nodes that compute the model's outputs"),
      field("parts", &Explanation::parts, "the parts of a split model"),
      field("crossings", &Explanation::crossings, "values that go from part to part")};
  // Kernels and memory, as `graft explain` prints them.
  std::string to_text() const;
  // The graph as a picture, with one color per device: for Graphviz, and drawn.
  std::string to_dot() const;
  std::string to_svg() const;
};

// Time spent in one node, and the kernel that ran it. Enable it with Options::profile.
struct GRAFT_API ProfilingInfo {
  std::string node_name, node_type, kernel;
  double microseconds = 0;
  uint64_t calls = 0;
  static constexpr std::tuple fields{field("node", &ProfilingInfo::node_name, "name of the node"),
                                     field("type", &ProfilingInfo::node_type, "operation"),
                                     field("kernel", &ProfilingInfo::kernel, "the kernel that ran"),
                                     field("microseconds", &ProfilingInfo::microseconds, "time over all calls"),
                                     field("calls", &ProfilingInfo::calls, "number of calls")};
};
// A table, the slowest node first.
GRAFT_API std::string profile_text(std::vector<ProfilingInfo> profile);

}  // namespace graft
