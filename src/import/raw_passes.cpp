#include "import/raw_passes.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "import/raw_edit.hpp"
#include "schema/host.hpp"

namespace graft {
namespace {

bool applies(const graft_raw_pass& pass, const std::string& framework) {
  if (!pass.framework_count) return true;
  for (size_t i = 0; i < pass.framework_count; ++i)
    if (view(pass.frameworks[i]) == framework) return true;
  return false;
}

RawPassEffect run(RawModel& model, const RawPassDef& def, const RawPassOptions& options, std::vector<bool>& taken) {
  RawPassEffect effect{std::string(view(def.record->name)), def.source->name, {}, {}, {}, {}};
  effect.layers_before = model.graph.nodes.size();
  RawEdit edit(model, options.replacements, taken, options.limits, options.mapping);
  check_callback(def.record->apply(&edit, def.record->user));
  RawEdit::Changes changes = edit.changes();
  std::vector<std::string> names = edit.new_names();
  edit.finish(text("raw pass '", effect.name, "' of ", def.source->short_title()));
  if (!changes.none())
    verify_raw(model, names, {.hint = "connect the consumers of a layer to other values before it is removed"});
  effect.layers_after = model.graph.nodes.size();
  effect.added = std::move(changes.added);
  effect.removed = std::move(changes.removed);
  effect.changed = std::move(changes.changed);
  effect.replacements = std::move(changes.took);
  return effect;
}

}  // namespace

std::vector<RawPassEffect> run_raw_passes(RawModel& model, const Registry& registry, const RawPassOptions& options,
                                          std::vector<bool>& taken) {
  std::vector<RawPassEffect> out;
  auto is_disabled = [&](std::string_view name) {
    return std::any_of(options.disabled.begin(), options.disabled.end(),
                       [&](const std::string& d) { return d == "all" || d == name; });
  };
  for (const RawPassDef& def : registry.raw_passes()) {
    const graft_raw_pass& pass = *def.record;
    bool after = pass.flags & GRAFT_RAW_AFTER_REPLACEMENTS;
    if (after != options.after_replacements || !applies(pass, model.framework) || is_disabled(view(pass.name)))
      continue;
    StepTime time;
    with_context([&] { out.push_back(run(model, def, options, taken)); },
                 [&] { return text("running the raw pass '", pass.name, "' of '", def.source->title(), "'"); });
    const RawPassEffect& e = out.back();
    log_debug("raw pass ", e.name, ": ", e.added.size(), " layers added, ", e.removed.size(), " removed, ",
              e.changed.size(), " changed", time.text());
  }
  std::erase_if(out, [](const RawPassEffect& e) {
    return e.added.empty() && e.removed.empty() && e.changed.empty() && e.replacements.empty();
  });
  return out;
}

}  // namespace graft
