#include "teach_options.hpp"

#include <cstdio>
#include <filesystem>

#include "command.hpp"

namespace graft::cli {
namespace {

void require_file(const std::string& path) {
  std::error_code ec;
  if (!std::filesystem::is_regular_file(path, ec)) throw UsageError(text("file not found: '", path, "'"));
}

nlohmann::json outcome_json(const ReplacementOutcome& o) {
  nlohmann::json matches = nlohmann::json::array(), errors = nlohmann::json::array();
  for (const ReplacementMatch& m : o.matches)
    matches.push_back(
        {{"name", m.name}, {"nodes", m.nodes}, {"inputs", m.inputs}, {"outputs", m.outputs}, {"notes", m.notes}});
  for (const Error& e : o.errors) errors.push_back(e.message());
  return {{"id", o.id},         {"match_kind", o.kind_name()}, {"op", o.op},
          {"matches", matches}, {"missed", o.missed},          {"errors", errors}};
}

void add_file(CLI::App& app, const char* names, std::string& place, const char* what) {
  app.add_option(names, place, what)->type_name("FILE")->group("Custom layers");
}

}  // namespace

void TeachOptions::add_files(CLI::App& app) {
  add_file(app, "-k,--custom_layers_mapping,--custom-layers-mapping", mapping,
           "CustomLayersMapping.xml: Caffe layers to pass through unchanged");
  app.add_flag("--enable_flattening_nested_params", nested_names,
               "with -k: name nested parameters outer__inner instead of inner")
      ->group("Custom layers");
  app.add_flag("--disable_omitting_optional", omit_nothing,
               "with -k: accepted but has no effect, since unset fields are unknown without caffe.proto")
      ->group("Custom layers");
  add_file(app, "--transformations_config,--transformations-config,--tensorflow_use_custom_operations_config",
           replacements, "JSON file with subgraph replacements");
  app.add_flag("--allow-unmatched", allow_unmatched,
               "warn instead of failing if an entry of the replacement file matches nothing")
      ->group("Custom layers");
}

void TeachOptions::add(CLI::App& app) {
  add_files(app);
  app.add_flag("--dry-run", dry_run, "print what each entry of the replacement file matches and exit")
      ->group("Custom layers");
  add_file(app, "--tensorflow_custom_operations_config_update", update,
           "fill in the inputs and outputs of scopes in this replacement file and exit");
}

void TeachOptions::apply(ReadOptions& options) const {
  if (mapping.empty() && (nested_names || omit_nothing))
    throw UsageError(text(nested_names ? "--enable_flattening_nested_params" : "--disable_omitting_optional",
                          " requires a mapping file"),
                     "specify one with -k FILE");
  if (replacements.empty() && (dry_run || allow_unmatched))
    throw UsageError(text(dry_run ? "--dry-run" : "--allow-unmatched", " requires a replacement file"),
                     "specify one with --transformations_config FILE");
  options.mapping = mapping;
  options.nested_names = nested_names;
  options.replacements = replacements;
  options.allow_unmatched = allow_unmatched;
}

bool TeachOptions::instead(const Core& core, const std::vector<std::string>& model_files, ReadOptions options,
                           bool json) const {
  if (!update.empty()) {
    require_file(update);
    core.update_replacements(model_files, options, update);
    std::printf("%s\n", update.c_str());
    return true;
  }
  if (!dry_run) return false;
  apply(options);
  std::vector<ReplacementOutcome> outcomes = core.try_replacements(model_files, options);
  bool well = true;
  nlohmann::json list = nlohmann::json::array();
  for (const ReplacementOutcome& o : outcomes) {
    well &= o.errors.empty() && (o.missed.empty() || !o.matches.empty() || allow_unmatched);
    if (json) list.push_back(outcome_json(o));
    else std::printf("%s", o.to_text().c_str());
  }
  if (json) print_json(list);
  if (!well) throw Error(ErrorKind::user, text("the replacements in '", replacements, "' do not match the model"));
  return true;
}

}  // namespace graft::cli
