// Options of the command line from the rows of ReadOptions and ConvertOptions: names, help and conversion of the value.
//
// Flags, and options whose row has a notation, are bound as they are. The others (inputs, shapes, means, layouts, ...)
// have a notation of their own, which cut_options.cpp and preprocess_options.cpp parse; their names and help come from
// the rows, too (add_row).
#pragma once

#include <CLI/CLI.hpp>

#include "option_words.hpp"

namespace graft::cli {

template <class Row>
std::string names_of(const Row& row) {
  std::string out;
  for (std::string_view s : split(row.spellings, ',')) out += (out.empty() ? "" : ",") + flag_of(s);
  return out;
}
// "Kaldi: drop the softmax at the end of the only output"
template <class Row>
std::string help_of(const Row& row) {
  return *row.framework ? framework_title(row.framework) + ": " + row.doc : row.doc;
}

// Items of lists, separated by commas.
void add_list(CLI::App& app, const std::string& names, std::vector<std::string>& to, const std::string& help,
              const char* notation, const char* group);
template <class Row, class T>
void bind_row(CLI::App& app, const Row& row, T& value, const char* group) {
  if constexpr (std::is_same_v<T, bool>) app.add_flag(names_of(row), value, help_of(row))->group(group);
  else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    if (row.notation) add_list(app, names_of(row), value, help_of(row), row.notation, group);
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (row.notation) app.add_option(names_of(row), value, help_of(row))->type_name(row.notation)->group(group);
  } else if constexpr (std::is_same_v<T, int> || std::is_same_v<T, std::optional<int>>) {
    app.add_option(names_of(row), value, help_of(row))->type_name("N")->group(group);
  }
}
// All rows that can be bound as they are.
template <class Options>
void bind_rows(CLI::App& app, Options& options, const char* group) {
  each_option(options, [&](const auto& row, auto& value) {
    if (row.spellings) bind_row(app, row, value, group);
  });
}

// An option with a notation of its own, as text (a string, or a list of strings where it may be repeated); `syntax`
// describes it.
template <class Options, class Text>
void add_row(CLI::App& app, std::string_view name, Text& to, const char* syntax, const char* notation,
             const char* group) {
  Options defaults;
  bool found = false;
  each_option(defaults, [&](const auto& row, const auto&) {
    if (row.name != name) return;
    found = true;
    std::string help = help_of(row) + (*syntax ? ": " : "") + syntax;
    CLI::Option* o = app.add_option(names_of(row), to, help)->type_name(notation)->group(group);
    if constexpr (!std::is_same_v<Text, std::string>) o->allow_extra_args(false);
  });
  if (!found) throw Error(ErrorKind::internal, text("no option is named '", name, "'"));
}

}  // namespace graft::cli
