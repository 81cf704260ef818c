// Planning, stage 5: where every slot is.
#include <algorithm>

#include "base/tensor.hpp"
#include "runtime/memory_plan.hpp"
#include "runtime/planning.hpp"

namespace graft {
namespace {

// Activations and scratch memory share one arena.
void place_in_arena(Plan& plan, size_t alignment) {
  // Offsets are multiples of 64 by themselves; for a larger alignment even values without elements take one unit.
  size_t least = alignment > 64 ? 1 : 0;
  auto rounded = [&](size_t bytes) { return (std::max(bytes, least) + alignment - 1) / alignment * alignment; };
  std::vector<Slot>& slots = plan.slots;
  std::vector<size_t> first(slots.size(), 0);
  for (size_t i = plan.steps.size(); i-- > 0;)
    for (uint32_t o : plan.steps[i].outputs) first[root_of(plan, o)] = i;
  std::vector<Lifetime> lives;
  std::vector<uint32_t> owner;
  for (uint32_t s = 0; s < slots.size(); ++s) {
    if (slots[s].kind != Slot::arena) continue;
    size_t bytes = bytes_for(slots[s].info.type, count_checked(slots[s].dims));
    if (!slots[s].is_alias) plan.explanation.unshared_bytes += bytes;
    if (root_of(plan, s) != s) continue;
    lives.push_back({rounded(bytes), first[s], std::max(slots[s].last_step, first[s])});
    owner.push_back(s);
  }
  size_t values = lives.size();
  for (size_t i = 0; i < plan.steps.size(); ++i)
    if (size_t bytes = plan.steps[i].kernel.scratch_bytes) {
      lives.push_back({rounded(bytes), i, i});
      owner.push_back(static_cast<uint32_t>(i));
      plan.explanation.unshared_bytes += bytes;
    }
  plan.arena_bytes = plan.explanation.arena_bytes = plan_memory(lives);
  plan.explanation.plans_memory = true;
  for (size_t i = 0; i < lives.size(); ++i) {
    if (i < values) slots[owner[i]].offset = lives[i].offset;
    else plan.steps[owner[i]].scratch_offset = lives[i].offset;
  }
}

}  // namespace

void place_slots(Plan& plan, size_t alignment) {
  place_in_arena(plan, alignment);
  std::vector<Slot>& slots = plan.slots;
  // The location of a result that the plan places itself.
  std::vector<bool> taken(slots.size(), false);
  for (size_t i = 0; i < plan.results.size(); ++i) {
    Slot& s = slots[plan.results[i]];
    if (s.kind != Slot::output || taken[plan.results[i]]) continue;
    taken[plan.results[i]] = true;
    s.index = i;
  }
  for (uint32_t s = 0; s < slots.size(); ++s) {
    const Slot& r = slots[root_of(plan, s)];
    slots[s].offset = r.offset;
    slots[s].index = r.index;
  }
}

}  // namespace graft
