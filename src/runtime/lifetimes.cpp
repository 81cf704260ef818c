// Planning, stage 4: until when each slot is used, and which ones share memory.
#include <algorithm>

#include "runtime/planning.hpp"

namespace graft {
namespace {

// Whether the first output of a step may overwrite its first input.
bool can_overwrite(Plan& plan, size_t index) {
  const Step& s = plan.steps[index];
  if (!s.may_overwrite || !s.op->has(GRAFT_OP_IN_PLACE) || s.inputs.empty() || s.inputs[0] == no_slot ||
      s.outputs.empty())
    return false;
  const Slot &in = plan.slots[s.inputs[0]], &out = plan.slots[s.outputs[0]];
  const Slot& from = plan.slots[root_of(plan, s.inputs[0])];
  if (from.kind != Slot::arena || out.kind != Slot::arena || from.last_step != index) return false;
  if (in.info.type != out.info.type || in.dims != out.dims || in.layout != out.layout) return false;
  for (size_t k = 1; k < s.inputs.size(); ++k)  // f(x, x) would overwrite its other input
    if (s.inputs[k] != no_slot && root_of(plan, s.inputs[k]) == root_of(plan, s.inputs[0])) return false;
  return true;
}

}  // namespace

uint32_t root_of(Plan& plan, uint32_t slot) {
  std::vector<Slot>& slots = plan.slots;
  while (slots[slot].root != slot) slot = slots[slot].root = slots[slots[slot].root].root;
  return slot;
}

void share_memory(Plan& plan) {
  std::vector<Slot>& slots = plan.slots;
  auto use = [&](uint32_t slot, size_t step) { slots[root_of(plan, slot)].last_step = slots[slot].last_step = step; };
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    for (uint32_t in : plan.steps[i].inputs)
      if (in != no_slot) use(in, i);
    for (uint32_t out : plan.steps[i].outputs) use(out, i);
  }
  for (uint32_t r : plan.results) use(r, plan.steps.size());
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    if (!can_overwrite(plan, i)) continue;
    uint32_t from = root_of(plan, plan.steps[i].inputs[0]), to = root_of(plan, plan.steps[i].outputs[0]);
    slots[to].root = from;
    slots[from].last_step = std::max(slots[to].last_step, i);
  }
}

}  // namespace graft
