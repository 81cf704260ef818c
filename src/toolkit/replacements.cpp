// Replacements of sub-graphs, and the mapping file: what changes a framework's model before its import.
#include <algorithm>

#include "base/file.hpp"
#include "base/text.hpp"
#include "import/detections.hpp"
#include "import/mapping.hpp"
#include "import/published.hpp"
#include "import/raw_passes.hpp"
#include "import/replace.hpp"
#include "toolkit/read.hpp"

namespace graft {
namespace {

// Applies the options that change a model before its import, and returns the outcomes.
std::vector<ReplacementOutcome> prepare(RawModel& raw, const ImportOptions& options) {
  if (options.mapping && raw.framework != "caffe")
    throw Error(ErrorKind::user,
                text("the mapping file '", options.mapping->file, "' applies to Caffe models only, got framework ",
                     raw.framework),
                "an extension can add layers of any framework");
  if (!options.replacements) return {};
  return apply_replacements(raw, *options.replacements);
}

// A replacement that contradicts the model is an error; so is one that matches nothing, unless that is allowed.
void take_over(const std::vector<ReplacementOutcome>& outcomes, const ImportOptions& options, ImportReport& report) {
  std::string unmatched;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const ReplacementOutcome& o = outcomes[i];
    const Replacement& entry = options.replacements->entries[i];
    if (!o.errors.empty()) throw o.errors[0];
    if (o.kind == Replacement::general && !entry.regions)
      report.general.push_back({o.id, options.replacements->file, entry.attributes});
    for (const std::string& why : o.missed) {
      std::string line = text("replacement '", o.id, "' of ", options.replacements->file, " does not match: ", why);
      if (o.matches.empty() && !options.read.allow_unmatched) unmatched += (unmatched.empty() ? "" : "\n") + line;
      else report.warnings.push_back(line);
    }
  }
  if (!unmatched.empty())
    throw Error(ErrorKind::user, unmatched,
                "`Core::try_replacements` shows what each entry matches, `allow_unmatched` converts anyway");
}

bool is_taken(const Replacement& r, const Registry& registry, const std::vector<PassInfo>& passes) {
  if (r.kind != Replacement::general) return !r.op.empty() || !registry.rules("replacement", "", r.id).empty();
  return std::any_of(passes.begin(), passes.end(), [&](const PassInfo& p) { return p.configured && p.name == r.id; });
}

// Entries of published files that no extension handles: those that the importer does without are removed, and `notes`
// says so; others are marked.
std::shared_ptr<const ReplacementConfig> without_published(const ReplacementConfig& all, const Registry& registry,
                                                           std::vector<ReplacementOutcome>& removed,
                                                           std::vector<std::string>& notes, RawModel& model) {
  std::vector<PassInfo> passes = list_passes(registry);
  auto out = std::make_shared<ReplacementConfig>();
  out->file = all.file;
  for (const Replacement& r : all.entries) {
    const PublishedReplacement* p = is_taken(r, registry, passes) ? nullptr : find_published(r.id);
    bool detections = p && p->kind == PublishedReplacement::detections;
    if (detections)
      if (auto match = append_detections(model, text("replacement '", r.id, "' of ", all.file))) {
        removed.push_back({r.id, r.kind, {}, {*match}, {}, {}, {}});
        notes.push_back(text("replacement '", r.id, "' of ", all.file, ": the outputs ", join(match->inputs, ", "),
                             " become one output '", match->outputs[0], "' of the form [1,1,N,7]"));
        continue;
      }
    if (detections && p->reason.empty())
      throw Error(
          ErrorKind::user,
          text("replacement '", r.id, "' of ", all.file, ": the model does not have outputs that it could join"),
          "expected detection_boxes, detection_classes, detection_scores and num_detections of a TensorFlow model, "
          "or an output of MultiBoxDetection of an MXNet model");
    if (detections || (p && p->kind == PublishedReplacement::not_needed)) {
      removed.push_back({r.id, r.kind, {}, {}, {}, {}, std::string(p->reason)});
      notes.push_back(text("replacement '", r.id, "' of ", all.file, " is not needed: ", p->reason));
      continue;
    }
    out->entries.push_back(r);
    out->entries.back().regions = p && p->kind == PublishedReplacement::regions && r.kind == Replacement::general;
  }
  return out;
}

// Replacements that can be applied: without sub-graphs that no rule expands and general ones without a pass of their
// name. A warning names each skipped one.
std::shared_ptr<const ReplacementConfig> usable(const ReplacementConfig& all, const Registry& registry,
                                                std::vector<std::string>& warnings) {
  std::vector<PassInfo> passes = list_passes(registry);
  auto out = std::make_shared<ReplacementConfig>();
  out->file = all.file;
  for (const Replacement& r : all.entries) {
    bool taken = r.regions || is_taken(r, registry, passes);
    if (taken) out->entries.push_back(r);
    else
      warnings.push_back(text("replacement '", r.id, "' of ", all.file, " is skipped: no extension has a ",
                              r.kind == Replacement::general ? "pass" : "rule", " of this name"));
  }
  return out;
}

// The entries that no raw pass handles.
std::shared_ptr<const ReplacementConfig> remaining(const ReplacementConfig& all, const std::vector<bool>& taken) {
  auto out = std::make_shared<ReplacementConfig>();
  out->file = all.file;
  for (size_t i = 0; i < all.entries.size(); ++i)
    if (!taken[i]) out->entries.push_back(all.entries[i]);
  return out;
}

RawModel read_for_replacing(const Registry& registry, const std::vector<std::string>& files,
                            const ImportOptions& options) {
  ModelFormat format = recognize(registry, files.at(0));
  if (!format.is_framework())
    throw_user("'", files[0], "' is already converted; replacements apply only to framework models");
  CutEffect cut;
  return read_part(registry, format, files, with_sizes(options, files), cut);
}

}  // namespace

PassOptions pass_options(const ImportReport& report, const Limits& limits) {
  PassOptions options;
  options.limits = limits;
  for (const GeneralReplacement& g : report.general) options.calls.push_back({g.id, g.file, g.attributes});
  return options;
}

Imported import_replaced(RawModel raw, const Registry& registry, const ImportOptions& options) {
  ImportReport before;
  ImportOptions asked = options;
  const ReplacementConfig* config = options.replacements.get();
  std::vector<bool> taken(config ? config->entries.size() : 0);
  RawPassOptions passes{false, config, options.read.disabled_passes, options.limits, options.mapping.get()};
  before.raw_passes = run_raw_passes(raw, registry, passes, taken);
  if (config) asked.replacements = remaining(*config, taken);
  std::vector<ReplacementOutcome> removed;
  if (asked.replacements)
    asked.replacements = without_published(*asked.replacements, registry, removed, before.notes, raw);
  if (asked.replacements && asked.read.allow_unmatched)
    asked.replacements = usable(*asked.replacements, registry, before.warnings);
  take_over(prepare(raw, asked), asked, before);
  passes.after_replacements = true;
  for (RawPassEffect& e : run_raw_passes(raw, registry, passes, taken)) before.raw_passes.push_back(std::move(e));
  Imported out = import_model(raw, registry, asked);
  out.report.general = std::move(before.general);
  out.report.raw_passes = std::move(before.raw_passes);
  out.report.notes = std::move(before.notes);
  out.report.warnings.insert(out.report.warnings.begin(), before.warnings.begin(), before.warnings.end());
  return out;
}

std::vector<ReplacementOutcome> try_replacements(const Registry& registry, const std::vector<std::string>& files,
                                                 const ImportOptions& options) {
  RawModel raw = read_for_replacing(registry, files, options);
  if (!options.replacements) return prepare(raw, options);
  ImportOptions asked = options;
  std::vector<ReplacementOutcome> out;
  std::vector<std::string> notes;
  asked.replacements = without_published(*options.replacements, registry, out, notes, raw);
  for (ReplacementOutcome& o : prepare(raw, asked)) out.push_back(std::move(o));
  return out;
}

void update_replacements(const Registry& registry, const std::vector<std::string>& files, const ImportOptions& options,
                         const std::string& path) {
  RawModel raw = read_for_replacing(registry, files, options);
  write_file(path, updated_replacements(raw, MappedFile::open(path)->chars(), path));
}

std::string_view ReplacementOutcome::kind_name() const {
  return kind == scope ? "scope" : kind == points ? "points" : "general";
}

std::string ReplacementOutcome::to_text() const {
  auto list = [](const std::vector<std::string>& names) {
    std::string out;
    for (const std::string& n : names) out += (out.empty() ? "" : ", ") + (n.empty() ? "(unused)" : n);
    return out.empty() ? "none" : out;
  };
  std::string out = text(id, " (", kind_name(), ")", op.empty() ? "" : " -> ", op, "\n");
  if (!not_needed.empty()) return out + text("  not needed: ", not_needed, "\n");
  if (kind == general && matches.empty()) out += "  matches no nodes by itself: used by a pass\n";
  for (const ReplacementMatch& m : matches) {
    out += text("  ", m.name, "\n    nodes    ", list(m.nodes), "\n    inputs   ", list(m.inputs), "\n    outputs  ",
                list(m.outputs), "\n");
    for (const std::string& n : m.notes) out += text("    note     ", n, "\n");
  }
  for (const std::string& m : missed) out += text("  no match: ", m, "\n");
  for (const Error& e : errors) out += text("  error: ", e.message(), e.hint().empty() ? "" : "; ", e.hint(), "\n");
  return out;
}

}  // namespace graft
