// From a node to the launches that compute it: source kernels are tried in order, the first that accepts and emits
// wins.
#pragma once

#include <graft/app/explain.hpp>

#include "devices/opencl/formula.hpp"
#include "devices/opencl/machine.hpp"
#include "kernels/kernel.hpp"

namespace graft {

struct OpenclWork {
  std::vector<OpenclLaunch> launches;
  std::optional<OpenclFormula> formula;  // of an element-wise operation; the launch computes it
  std::vector<size_t> scratch;           // offsets, by index
  size_t scratch_bytes = 0;
  bool may_overwrite = true;
};

// A node with what is known about it.
struct OpenclNode {
  const Registry& registry;
  const OpDef& op;
  const Graph& graph;
  NodeId id;
  std::function<const Tensor*(size_t)> constants;
};

// Emits the node with the first kernel of `device` that takes it; `choice` gets the kernel's name and why others
// declined. Throws Error of kind unsupported if none does.
OpenclWork emit_node(const OpenclMachine& machine, const std::string& device, const OpenclNode& node, Choice& choice);
// The same for a node whose shapes are not all known: asks the kernels without emitting anything.
void accept_node(const std::string& device, const OpenclNode& node, Choice& choice);

// Throws if elements of this type cannot be used on the device.
void check_element_type(const OpenclMachine& machine, DType type);

// ---- for emit.cpp: the conventions of custom layers (custom_layer_macros.cpp) ----

// "float", "half", ...
std::string_view cl_element_name(DType type);
// B, F, Y, X of a shape of at most four dimensions, filled up with ones at the end.
std::vector<int64_t> bfyx_dims(std::span<const int64_t> dims);
// Distances between neighbors along B, F, Y, X.
std::vector<int64_t> bfyx_pitches(std::span<const int64_t> bfyx, int32_t format);
// The value of a formula of work sizes.
int64_t custom_work_size(const NodeContext& node, std::string_view formula, bool of_input, size_t port);
// The macros of a launch.
std::string custom_layer_macros(const NodeContext& node, const graft_launch& launch, const OpenclLaunch& sizes);

}  // namespace graft
