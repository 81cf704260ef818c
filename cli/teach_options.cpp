#include "teach_options.hpp"

#include <cstdio>
#include <filesystem>

#include "base/text.hpp"
#include "command.hpp"
#include "import/mapping.hpp"
#include "toolkit/load.hpp"

namespace graft::cli {
namespace {

void require_file(const std::string& path) {
  std::error_code ec;
  if (!std::filesystem::is_regular_file(path, ec)) throw UsageError(text("there is no file '", path, "'"));
}

std::string_view kind_word(Replacement::Kind k) {
  return k == Replacement::scope ? "scope" : k == Replacement::points ? "points" : "general";
}

std::string shown_list(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& n : names) out += (out.empty() ? "" : ", ") + (n.empty() ? "(nobody reads it)" : n);
  return out.empty() ? "none" : out;
}

nlohmann::json outcome_json(const ReplacementOutcome& o) {
  nlohmann::json matches = nlohmann::json::array(), errors = nlohmann::json::array();
  for (const ReplacementMatch& m : o.matches)
    matches.push_back(
        {{"name", m.name}, {"nodes", m.nodes}, {"inputs", m.inputs}, {"outputs", m.outputs}, {"notes", m.notes}});
  for (const Error& e : o.errors) errors.push_back(e.message());
  return {{"id", o.id},         {"match_kind", kind_word(o.kind)},
          {"op", o.op},         {"matches", matches},
          {"missed", o.missed}, {"errors", errors}};
}

void print_outcome(const ReplacementOutcome& o) {
  std::printf("%s (%s)%s\n", o.id.c_str(), std::string(kind_word(o.kind)).c_str(),
              o.op.empty() ? "" : (" -> " + o.op).c_str());
  if (o.kind == Replacement::general) std::printf("  matches nothing by itself: a pass takes it\n");
  for (const ReplacementMatch& m : o.matches) {
    std::printf("  %s\n", m.name.c_str());
    std::printf("    nodes    %s\n", shown_list(m.nodes).c_str());
    std::printf("    inputs   %s\n", shown_list(m.inputs).c_str());
    std::printf("    outputs  %s\n", shown_list(m.outputs).c_str());
    for (const std::string& n : m.notes) std::printf("    note     %s\n", n.c_str());
  }
  for (const std::string& m : o.missed) std::printf("  no match: %s\n", m.c_str());
  for (const Error& e : o.errors)
    std::printf("  wrong: %s%s\n", e.message().c_str(), e.hint().empty() ? "" : ("; " + e.hint()).c_str());
}

}  // namespace

namespace {

void add_file(CLI::App& app, const char* names, std::string& place, const char* what) {
  app.add_option(names, place, what)->type_name("FILE")->group("Teaching layers");
}

}  // namespace

void TeachOptions::add_files(CLI::App& app) {
  add_file(app, "-k,--custom_layers_mapping,--custom-layers-mapping", mapping,
           "CustomLayersMapping.xml: layers of Caffe that are passed on as they are");
  app.add_flag("--enable_flattening_nested_params", nested_names,
               "with -k: nested parameters are called outer__inner instead of inner")
      ->group("Teaching layers");
  app.add_flag("--disable_omitting_optional", omit_nothing,
               "with -k: accepted and without effect, since no caffe.proto is read that would declare unset fields")
      ->group("Teaching layers");
  add_file(app, "--transformations_config,--transformations-config,--tensorflow_use_custom_operations_config",
           replacements, "JSON file with sub-graphs that one node takes the place of");
  app.add_flag("--allow-unmatched", allow_unmatched, "an entry of that file that matches nothing is only a warning")
      ->group("Teaching layers");
}

void TeachOptions::add(CLI::App& app) {
  add_files(app);
  app.add_flag("--dry-run", dry_run, "shows what each entry of that file matches, and ends")->group("Teaching layers");
  add_file(app, "--tensorflow_custom_operations_config_update", update,
           "fills inputs and outputs of scopes into this file, and ends");
}

void TeachOptions::apply(ImportOptions& options) const {
  if (!mapping.empty()) {
    require_file(mapping);
    auto m = std::make_shared<LayerMapping>(read_mapping(mapping));
    m->nested_names = nested_names;
    options.mapping = std::move(m);
  } else if (nested_names || omit_nothing) {
    throw UsageError(text(nested_names ? "--enable_flattening_nested_params" : "--disable_omitting_optional",
                          " is about the parameters of a mapping file, and none is given"),
                     "name it with -k FILE");
  }
  if (!replacements.empty()) {
    require_file(replacements);
    options.replacements = std::make_shared<ReplacementConfig>(read_replacements(replacements));
  } else if (dry_run || allow_unmatched) {
    throw UsageError(text(dry_run ? "--dry-run" : "--allow-unmatched", " is about replacements, and none are given"),
                     "name them with --transformations_config FILE");
  }
  options.allow_unmatched = allow_unmatched;
}

bool TeachOptions::instead(const Core& core, const std::vector<std::string>& model_files, ImportOptions options,
                           bool json) const {
  if (!update.empty()) {
    require_file(update);
    update_replacements(*core.state(), model_files, options, update);
    std::printf("%s\n", update.c_str());
    return true;
  }
  if (!dry_run) return false;
  apply(options);
  std::vector<ReplacementOutcome> outcomes = try_replacements(*core.state(), model_files, options);
  bool well = true;
  nlohmann::json list = nlohmann::json::array();
  for (const ReplacementOutcome& o : outcomes) {
    well &= o.errors.empty() && (o.missed.empty() || !o.matches.empty() || allow_unmatched);
    if (json) list.push_back(outcome_json(o));
    else print_outcome(o);
  }
  if (json) print_json(list);
  if (!well) throw Error(ErrorKind::user, text("the model and '", replacements, "' do not go together"));
  return true;
}

}  // namespace graft::cli
