// Attributes of the versions of Broadcast, and which axis of the result each axis of the data becomes.
#pragma once

#include "../op.hpp"

namespace [[gnu::visibility("hidden")]] graft {

// IR of version 1 writes "none" where axes_mapping is given.
enum class BroadcastMode { by_numpy, by_axes, none, by_paddle, both_ways };

struct Broadcast1 {
  BroadcastMode mode = BroadcastMode::by_numpy;
  std::optional<int64_t> auto_broadcast_axis;
  static constexpr std::tuple schema{
      attr("mode", &Broadcast1::mode, "broadcasting rule that aligns the data with the target shape")
          .one_of("numpy", "explicit", "none", "pdpd"),
      attr("auto_broadcast_axis", &Broadcast1::auto_broadcast_axis,
           "axis of the target at which the data begins (mode pdpd)")};
};
struct Broadcast3 {
  BroadcastMode mode = BroadcastMode::by_numpy;
  std::optional<int64_t> axis;
  static constexpr std::tuple schema{
      attr("mode", &Broadcast3::mode, "broadcasting rule that aligns the data with the target shape")
          .one_of("numpy", "explicit", "none", "pdpd", "bidirectional"),
      attr("axis", &Broadcast3::axis, "axis of the target at which the data begins (mode pdpd)")};
};

// How data is aligned.
struct BroadcastRule {
  BroadcastMode mode;
  std::optional<int64_t> start;  // axis of the result, mode pdpd

  explicit BroadcastRule(const Broadcast1& a) : mode(a.mode), start(a.auto_broadcast_axis) {}
  explicit BroadcastRule(const Broadcast3& a) : mode(a.mode), start(a.axis) {}
  // Whether the values of axes_mapping are the axes.
  bool is_mapped() const { return mode == BroadcastMode::by_axes || mode == BroadcastMode::none; }

  // The axis of the result for each one of the data. `mapping`: the values of axes_mapping, if is_mapped().
  std::vector<size_t> axes(size_t rank, size_t out_rank, const std::vector<int64_t>& mapping) const {
    if (is_mapped()) {
      if (mapping.size() != rank)
        fail("expected ", rank, " values in axes_mapping for data of rank ", rank, ", got ", mapping.size());
      std::vector<size_t> axes = normalize_axes(mapping, out_rank);
      for (size_t i = 1; i < axes.size(); ++i)
        if (axes[i] <= axes[i - 1]) fail("expected axes_mapping in strictly ascending order, got ", mapping);
      return axes;
    }
    if (rank > out_rank) fail("data of rank ", rank, " does not broadcast to a target of rank ", out_rank);
    size_t first = out_rank - rank;
    if (mode == BroadcastMode::by_paddle && start && *start != -1) {
      first = normalize_axis(*start, out_rank);
      if (first + rank > out_rank)
        fail("data of rank ", rank, " does not fit a target of rank ", out_rank, " from axis ", first, " on");
    }
    std::vector<size_t> axes;
    for (size_t i = 0; i < rank; ++i) axes.push_back(first + i);
    return axes;
  }
};

}  // namespace graft
