#include "devices/opencl/fuse.hpp"

#include <algorithm>
#include <map>

#include "base/text.hpp"

namespace graft {
namespace {

constexpr size_t most_parts = 32, most_loads = 16, most_text = 32768;

class Fusion {
 public:
  Fusion(Plan& plan, std::vector<OpenclWork>& works, size_t most_work_items)
      : p_(plan), works_(works), most_work_items_(most_work_items) {
    count_uses();
  }

  void run() {
    for (size_t i = 0; i < p_.steps.size(); ++i)
      if (works_[p_.steps[i].node].formula) take_in_producers(i);
    explain();
    std::vector<Step> kept;
    for (size_t i = 0; i < p_.steps.size(); ++i)
      if (!gone_.count(i)) kept.push_back(std::move(p_.steps[i]));
    p_.steps = std::move(kept);
  }

 private:
  void count_uses() {
    uses_.resize(p_.slots.size(), 0);
    for (size_t i = 0; i < p_.steps.size(); ++i) {
      std::vector<uint32_t> seen;
      for (uint32_t in : p_.steps[i].inputs)
        if (in != no_slot && std::find(seen.begin(), seen.end(), in) == seen.end()) ++uses_[in], seen.push_back(in);
      for (uint32_t out : p_.steps[i].outputs) producer_[out] = i;
    }
    for (uint32_t r : p_.results) ++uses_[r];
    // A view of a value uses its memory.
    for (uint32_t s = 0; s < p_.slots.size(); ++s)
      if (p_.slots[s].root != s) ++uses_[p_.slots[s].root];
  }

  // The step that computes a slot only for the one consumer.
  std::optional<size_t> fusable(uint32_t slot, const OpenclFormula& with) const {
    auto it = producer_.find(slot);
    if (it == producer_.end() || p_.slots[slot].kind != Slot::arena || uses_[slot] != 1) return std::nullopt;
    const Step& s = p_.steps[it->second];
    const std::optional<OpenclFormula>& f = works_[s.node].formula;
    if (!f || s.outputs.size() != 1 || f->dims != with.dims || f->is_wide() || with.is_wide()) return std::nullopt;
    return it->second;
  }

  void take_in_producers(size_t consumer) {
    Step& step = p_.steps[consumer];
    OpenclWork& work = works_[step.node];
    std::vector<size_t> taken;
    OpenclFormula& own = *work.formula;
    size_t parts = own.parts.size(), loads = own.loads.size(), size = own.text_size();
    for (const OpenclFormula::Load& l : own.loads) {
      std::optional<size_t> p = fusable(step.inputs[l.input], own);
      if (!p || std::find(taken.begin(), taken.end(), *p) != taken.end()) continue;
      const OpenclFormula& f = *works_[p_.steps[*p].node].formula;
      if (parts + f.parts.size() > most_parts || loads + f.loads.size() > most_loads ||
          size + f.text_size() > most_text)
        continue;
      parts += f.parts.size(), loads += f.loads.size(), size += f.text_size();
      taken.push_back(*p);
    }
    if (!taken.empty()) merge(consumer, taken);
  }

  void merge(size_t consumer, const std::vector<size_t>& taken) {
    Step& step = p_.steps[consumer];
    OpenclWork& work = works_[step.node];
    OpenclFormula out;
    out.dims = work.formula->dims;
    std::vector<uint32_t> inputs;
    std::map<uint32_t, size_t> results;  // parts by the slots that they stand for
    auto append = [&](const Step& s, const OpenclFormula& f) {
      size_t first = out.parts.size();
      for (OpenclFormula::Part part : f.parts) {
        for (OpenclFormula::Operand& o : part.operands) {
          if (o.is_part) {
            o.index += first;
            continue;
          }
          const OpenclFormula::Load& l = f.loads[o.index];
          uint32_t slot = s.inputs[l.input];
          if (auto it = results.find(slot); it != results.end()) o = {true, it->second};
          else o.index = load(out, inputs, slot, l);
        }
        out.parts.push_back(std::move(part));
      }
      results[s.outputs[0]] = out.parts.size() - 1;
    };
    for (size_t p : taken) append(p_.steps[p], *works_[p_.steps[p].node].formula);
    append(step, *work.formula);
    for (size_t p : taken) {
      work.may_overwrite = work.may_overwrite && works_[p_.steps[p].node].may_overwrite;
      p_.slots[p_.steps[p].outputs[0]].kind = Slot::dynamic;  // it has no memory
      gone_[p] = consumer;
    }
    step.inputs = std::move(inputs);
    step.may_overwrite = work.may_overwrite;
    work.launches = {formula_launch(out, most_work_items_)};
    work.formula = std::move(out);
  }
  static size_t load(OpenclFormula& out, std::vector<uint32_t>& inputs, uint32_t slot, OpenclFormula::Load l) {
    auto at = std::find(inputs.begin(), inputs.end(), slot);
    l.input = static_cast<size_t>(at - inputs.begin());
    if (at == inputs.end()) inputs.push_back(slot);
    auto known = std::find(out.loads.begin(), out.loads.end(), l);
    if (known == out.loads.end()) known = out.loads.insert(known, l);
    return static_cast<size_t>(known - out.loads.begin());
  }

  void explain() {
    std::map<std::string, Choice*> choices;
    for (Choice& c : p_.explanation.choices) choices[c.node] = &c;
    for (auto [step, into] : gone_) {
      while (gone_.count(into)) into = gone_[into];
      const std::string& name = p_.graph[p_.steps[into].node].name;
      Choice *part = choices[p_.graph[p_.steps[step].node].name], *whole = choices[name];
      if (part) part->kernel.clear(), part->note = text("in the kernel of ", name);
      if (whole) whole->kernel = "fused_elementwise";
    }
  }

  Plan& p_;
  std::vector<OpenclWork>& works_;
  size_t most_work_items_;
  std::vector<size_t> uses_;             // of slots, by steps and otherwise
  std::map<uint32_t, size_t> producer_;  // steps by slot
  std::map<size_t, size_t> gone_;        // steps that others have taken in
};

}  // namespace

void fuse_formulas(Plan& plan, std::vector<OpenclWork>& works, size_t most_work_items) {
  Fusion(plan, works, most_work_items).run();
}

}  // namespace graft
