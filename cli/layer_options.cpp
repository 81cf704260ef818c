#include "layer_options.hpp"

#include <cstdio>
#include <filesystem>

#include "command.hpp"

namespace graft::cli {
namespace {

void require_file(const std::string& path) {
  std::error_code ec;
  if (!std::filesystem::is_regular_file(path, ec)) throw UsageError(text("file not found: '", path, "'"));
}

void add_file(CLI::App& app, const char* names, std::string& place, const char* what) {
  app.add_option(names, place, what)->type_name("FILE")->group("Custom layers");
}

}  // namespace

void LayerOptions::add(CLI::App& app) {
  app.add_flag("--disable_omitting_optional", omit_nothing,
               "with -k: accepted but has no effect, since unset fields are unknown without caffe.proto")
      ->group("Custom layers");
  app.add_flag("--dry-run", dry_run, "print what each entry of the replacement file matches and exit")
      ->group("Custom layers");
  add_file(app, "--tensorflow_custom_operations_config_update", update,
           "fill in the inputs and outputs of scopes in this replacement file and exit");
}

void LayerOptions::check(const ReadOptions& options) const {
  auto flag = [](const char* option) { return flag_named(option); };
  if (options.mapping.empty() && (options.nested_names || omit_nothing))
    note(text(options.nested_names ? flag("nested_names") : "--disable_omitting_optional",
              " has no effect without a mapping file (", flag("mapping"), " FILE)"));
  if (options.replacements.empty() && (dry_run || options.allow_unmatched))
    throw UsageError(text(dry_run ? "--dry-run" : flag("allow_unmatched"), " requires a replacement file"),
                     text("specify one with ", flag("replacements"), " FILE"));
}

bool LayerOptions::ran_action(const Core& core, const std::vector<std::string>& model_files, const ReadOptions& options,
                              bool json) const {
  if (!update.empty()) {
    require_file(update);
    core.update_replacements(model_files, options, update);
    std::printf("%s\n", update.c_str());
    return true;
  }
  if (!dry_run) return false;
  std::vector<ReplacementOutcome> outcomes = core.try_replacements(model_files, options);
  bool well = true;
  nlohmann::json list = nlohmann::json::array();
  for (const ReplacementOutcome& o : outcomes) {
    well &= o.errors.empty() && (o.missed.empty() || !o.matches.empty() || options.allow_unmatched);
    if (json) list.push_back(value_json(o));
    else std::printf("%s", in_options(o.to_text()).c_str());
  }
  if (json) print_json(list);
  if (!well)
    throw Error(ErrorKind::user, text("the replacements in '", options.replacements, "' do not match the model"));
  return true;
}

}  // namespace graft::cli
