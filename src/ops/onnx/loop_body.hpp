// Loop bodies of ONNX layers.
#pragma once

#include <graft/op.hpp>

namespace graft {

inline graft_port_map plain_port(int64_t external, int64_t internal) {
  return {external, internal, 0, 0, 0, 0, 0, 0, 0};
}
inline graft_port_map stacked_port(int64_t external, int64_t internal, int64_t axis, bool backwards) {
  return {external, internal, 1, 0, axis, backwards ? -1 : 0, backwards ? 0 : -1, backwards ? -1 : 1, 1};
}

// Imports the body repeatedly with more general shapes until the values fed back keep theirs. `states` are pairs of
// parameter and result.
template <class Prologue, class Epilogue>
ImportedBody stable_body(Builder& layer, std::vector<Info>& parameters,
                         const std::vector<std::pair<size_t, size_t>>& states, Prologue prologue, Epilogue epilogue) {
  for (int round = 0;; ++round) {
    ImportedBody body = layer.body("body", parameters, prologue, epilogue);
    bool changed = false;
    for (auto [parameter, result] : states) {
      Shape& p = parameters[parameter].shape;
      if (result >= body.results.size())
        fail("expected a body with at least ", result + 1, " outputs for the values that it carries, got ",
             body.results.size());
      const Shape& r = body.results[result].shape;
      if (p == r) continue;
      Shape next = round < 1                                                       ? either(p, r)
                   : round < 2 && p.ranked() && r.ranked() && p.rank() == r.rank() ? Shape::of_rank(p.rank())
                                                                                   : Shape::unknown();
      if (!(next == p)) p = next, changed = true;
    }
    if (!changed || round >= 3) return body;
  }
}

}  // namespace graft
