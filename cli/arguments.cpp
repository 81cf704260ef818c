#include "arguments.hpp"

#include <algorithm>

#include "command.hpp"

namespace graft::cli {
namespace {

// Options that only one framework's parser accepted: mo_caffe.py accepted --input_mod, which was ambiguous in mo_tf.py.
// Those of reading and converting say so in their rows.
struct Owned {
  std::string_view framework;
  std::vector<std::string_view> options;
};
const std::vector<Owned>& owned_options() {
  static const std::vector<Owned> all = {
      {"caffe",
       {"--input_proto", "--caffe_parser_path", "--mean_file", "--mean_file_offsets", "--disable_omitting_optional"}},
      {"tf",
       {"--input_model_is_text", "--input_meta_graph", "--saved_model_dir",
        "--tensorflow_custom_operations_config_update", "--tensorflow_use_custom_operations_config",
        "--tensorflow_object_detection_api_pipeline_config", "--tensorboard_logdir",
        "--tensorflow_custom_layer_libraries", "--tensorflow_subgraph_patterns", "--tensorflow_operation_patterns",
        "--offload_unsupported_operations_to_tf"}},
      {"mxnet",
       {"--input_symbol", "--nd_prefix_name", "--pretrained_model_name", "--save_params_from_nd",
        "--legacy_mxnet_model", "--enable_ssd_gluoncv"}},
  };
  return all;
}
template <class Options>
std::string_view owner_in_rows(std::string_view option) {
  std::string_view out;
  Options defaults;
  each_option(defaults, [&](const auto& row, const auto&) {
    if (!row.spellings) return;
    for (std::string_view s : split(row.spellings, ','))
      if (flag_of(s) == option) out = row.framework;
  });
  return out == "tensorflow" ? "tf" : out;
}
std::string_view owner_of(std::string_view option) {
  for (const Owned& o : owned_options())
    if (std::find(o.options.begin(), o.options.end(), option) != o.options.end()) return o.framework;
  std::string_view reading = owner_in_rows<ReadOptions>(option);
  return reading.empty() ? owner_in_rows<ConvertOptions>(option) : reading;
}

// The value of --framework, if the option is spelled out.
std::string framework_of(const std::vector<std::string>& words) {
  constexpr std::string_view option = "--framework";
  std::string out;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i].starts_with(std::string(option) + "=")) out = words[i].substr(option.size() + 1);
    if (words[i] == option && i + 1 < words.size()) out = words[i + 1];
  }
  return equal_ignoring_case(out, "tensorflow") ? "tf" : to_lower(out);
}

struct Spelling {
  std::string name;
  const CLI::Option* option;
};

// Keeps the options that the parser of `framework` accepted or, without a framework, those that every parser accepted.
// If none is left, keeps all.
void prefer_framework(std::vector<Spelling>& found, const std::string& framework) {
  std::vector<Spelling> kept;
  for (const Spelling& s : found)
    if (std::string_view owner = owner_of(s.name); owner.empty() || owner == framework) kept.push_back(s);
  if (!kept.empty()) found = std::move(kept);
}

// The option that `word`, "--" and a prefix of a name, refers to. None: no option has this prefix.
Spelling option_for(const CLI::App& app, const std::string& word, const std::string& framework) {
  std::vector<Spelling> found;
  for (const CLI::Option* o : app.get_options())
    for (const std::string& n : o->get_lnames()) {
      if ("--" + n == word) return {word, o};
      if (("--" + n).starts_with(word)) found.push_back({"--" + n, o});
    }
  if (found.empty()) return {word, nullptr};
  auto several = [&] {
    return std::any_of(found.begin(), found.end(), [&](const Spelling& s) { return s.option != found[0].option; });
  };
  if (several()) prefer_framework(found, framework);
  if (!several()) return found[0];
  std::vector<std::string> names;
  for (const Spelling& s : found) names.push_back(s.name);
  std::sort(names.begin(), names.end());
  throw UsageError(text("'", word, "' is ambiguous: it could be ", join(names, ", ")),
                   "spell out the full option name");
}

const CLI::Option* short_option(const CLI::App& app, const std::string& word) {
  for (const CLI::Option* o : app.get_options())
    for (const std::string& n : o->get_snames())
      if ("-" + n == word) return o;
  return nullptr;
}

// Whether the next word is the value of the option.
bool takes_value(const CLI::Option* o) { return o && o->get_type_size_min() > 0 && o->get_items_expected_min() > 0; }

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Options with a single dash and more than one letter.
void add_dash(std::string& word, const std::string& command) {
  bool one_dash = word.size() > 2 && word[0] == '-' && is_letter(word[1]);
  if (one_dash && command == "bench") word = "-" + word;
  if (command == "run" && (word == "-nt" || word.starts_with("-nt=")))
    word = "--top" + word.substr(3);  // of the samples
  if (!one_dash || command != "convert") return;
  for (auto [shorter, longer] :
       {std::pair{"-ms", "--mean_values"}, {"-mf", "--mean_file"}, {"-mo", "--mean_file_offsets"}})
    if (word == shorter || word.starts_with(std::string(shorter) + "=")) word = longer + word.substr(3);
}

}  // namespace

std::vector<std::string> normal_arguments(const CLI::App& app, const std::vector<std::string>& given) {
  std::vector<std::string> out = given;
  const CLI::App* here = &app;  // the command, once it was named
  std::string framework = framework_of(given);
  for (size_t i = 0; i < out.size(); ++i) {
    std::string& word = out[i];
    if (word == "--") break;
    add_dash(word, here->get_name());
    if (word.starts_with("--")) {
      size_t equals = std::min(word.find('='), word.size());
      Spelling s = option_for(*here, word.substr(0, equals), framework);
      if (equals == word.size() && takes_value(s.option)) ++i;
      bool empty = equals + 1 == word.size() && takes_value(s.option);
      word = s.name + word.substr(equals, empty ? 0 : std::string::npos);
      // "--name=" has an empty value, not the next word.
      if (empty) out.insert(out.begin() + static_cast<ptrdiff_t>(++i), "");
    } else if (word.starts_with('-')) {
      if (takes_value(short_option(*here, word))) ++i;
    } else {
      for (const CLI::App* s : here->get_subcommands({}))
        if (s->get_name() == word) {
          here = s;
          break;
        }
    }
  }
  return out;
}

}  // namespace graft::cli
