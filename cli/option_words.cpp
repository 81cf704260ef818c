#include "option_words.hpp"

namespace graft::cli {
namespace {

template <class Options>
std::string spelling_in(std::string_view option) {
  std::string out;
  Options defaults;
  each_option(defaults, [&](const auto& row, const auto&) {
    if (row.name == option && row.spellings && out.empty()) out = split(row.spellings, ',')[0];
  });
  return out;
}

// Functions of the toolkit that commands and their flags stand for.
std::optional<std::string> command_words(const Remedy& r) {
  if (r.option == "scaffold")
    return text("graft new ", r.place.empty() ? "" : quoted_for_shell(r.place) + " ", "--from-model");
  if (r.option == "device") return text("-d ", r.value);
  if (r.option == "Core::add_extension") return text("--extensions ", quoted_for_shell(r.value));
  if (r.option == "Core::operations") return text("graft ops --missing", r.place.empty() ? "" : " -d " + r.place);
  if (r.option == "Core::passes") return "--list-passes";
  if (r.option == "Core::try_replacements") return "--dry-run";
  if (r.option == "Core::update_replacements") return "--tensorflow_custom_operations_config_update FILE";
  return std::nullopt;
}

// The value as the option takes it.
std::string value_words(const Remedy& r) {
  if (r.option == "types") return text(r.place, '{', r.value, '}');
  if (r.option == "constants") return text(r.place, "->", r.value);
  if (r.option == "absent") return text(r.value, "=none");
  if (r.option == "shapes" || r.option == "inputs") return r.place + r.value;
  return r.place.empty() ? r.value : text(r.place, '=', r.value);
}

std::optional<std::string> words(const Remedy& r) {
  if (auto command = command_words(r)) return command;
  std::string flag = flag_named(r.option), value = value_words(r);
  if (flag.empty()) return std::nullopt;
  if (r.place.empty() && r.value.empty()) return flag;
  return text(flag, ' ', quoted_for_shell(value));
}

}  // namespace

std::string flag_of(std::string_view spelling) { return text(spelling.size() == 1 ? "-" : "--", spelling); }

std::string flag_named(std::string_view option) {
  std::string spelling = spelling_in<ReadOptions>(option);
  if (spelling.empty()) spelling = spelling_in<ConvertOptions>(option);
  return spelling.empty() ? spelling : flag_of(spelling);
}

std::string in_options(std::string_view text) { return reworded(text, words); }

}  // namespace graft::cli
