// Traits: what the definition of an operation promises, so that passes need no lists of names.
//
//   op<Shuffle>("Shuffle", "acme").traits(Trait::moves_data)          // the author says it
//   if (producer(at.input(0)).has(Trait::elementwise)) ...            // a pass asks
//   Pass("acme_widen").visit(Trait::widens, widen)                    // or visits all such operations
//
// An operation with a formula (OpOf::elementwise, OpOf::comparison) is `elementwise` and `widens` without saying so,
// and `in_place` unless it is a comparison. A wrong trait makes models silently wrong: `graft check` tries those that
// it can.
#pragma once

#include <cstdint>
#include <string_view>

#include "abi_flags.h"

namespace [[gnu::visibility("hidden")]] graft {

enum class Trait : uint32_t {
  pure = GRAFT_OP_PURE,
  view = GRAFT_OP_VIEW,
  in_place = GRAFT_OP_IN_PLACE,
  sink = GRAFT_OP_SINK,
  elementwise = GRAFT_OP_ELEMENTWISE,
  widens = GRAFT_OP_WIDENS,
  moves_data = GRAFT_OP_MOVES_DATA,
  per_channel = GRAFT_OP_PER_CHANNEL,
  channelwise = GRAFT_OP_CHANNELWISE,
  axis_attribute = GRAFT_OP_AXIS_ATTRIBUTE,
  axes_input = GRAFT_OP_AXES_INPUT,
  reduction = GRAFT_OP_REDUCTION,
  rounds = GRAFT_OP_ROUNDS
};

// Trait, its word in Python and `graft ops`, and what it promises.
struct TraitInfo {
  Trait trait;
  std::string_view word, promise;
};
inline constexpr TraitInfo trait_table[] = {
    {Trait::pure, "pure", "equal inputs give equal outputs"},
    {Trait::view, "view", "output 0 has the bytes of input 0 with another shape"},
    {Trait::in_place, "in_place", "output 0 may be computed in the memory of input 0"},
    {Trait::sink, "sink", "has a side effect, and is kept even if its outputs are unused"},
    {Trait::elementwise, "elementwise",
     "element i of the output depends on element i of the inputs only, which broadcast as in NumPy"},
    {Trait::widens, "widens", "can be computed in f32 where the model has f16, and rounded afterwards"},
    {Trait::moves_data, "moves_data",
     "output elements are input elements or zeros, chosen without regard to their values"},
    {Trait::per_channel, "per_channel",
     "element-wise in input 0; of the other inputs, one-dimensional ones lie along dimension 1, others broadcast"},
    {Trait::channelwise, "channelwise",
     "channel c (dimension 1) of the output depends on channel c of input 0 only, in the same way for every c"},
    {Trait::axis_attribute, "axis_attribute",
     "transposing all inputs and moving the attribute `axis` along transposes the output"},
    {Trait::axes_input, "axes_input",
     "transposing input 0 and moving the axes in input 1 along transposes output 0; keep_dims = false removes them"},
    {Trait::reduction, "reduction",
     "axes_input; one element is reduced to itself; reducing some axes, then others, is reducing all of them at once"},
    {Trait::rounds, "rounds", "rounds to steps: the last bit of an input may decide about a whole step"},
};

constexpr std::string_view word_of(Trait trait) {
  for (const TraitInfo& t : trait_table)
    if (t.trait == trait) return t.word;
  return {};
}

// With the traits that follow from others: what only moves elements may move them in f32.
constexpr uint32_t with_implied_traits(uint32_t flags) {
  if (flags & GRAFT_OP_VIEW) flags |= GRAFT_OP_MOVES_DATA;
  if (flags & GRAFT_OP_MOVES_DATA) flags |= GRAFT_OP_WIDENS;
  if (flags & GRAFT_OP_REDUCTION) flags |= GRAFT_OP_AXES_INPUT;
  return flags;
}

}  // namespace graft
