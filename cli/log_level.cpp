#include "log_level.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "command.hpp"
#include "terminal.hpp"

namespace graft::cli {
namespace {

// Log levels of the Model Optimizer. There is no level above ERROR here.
constexpr std::pair<std::string_view, LogLevel> levels[] = {
    {"CRITICAL", LogLevel::error},  {"ERROR", LogLevel::error}, {"WARN", LogLevel::warning},
    {"WARNING", LogLevel::warning}, {"INFO", LogLevel::info},   {"DEBUG", LogLevel::debug},
    {"NOTSET", LogLevel::debug},
};

void print_line(std::string_view line) {
  bool color = ::isatty(STDERR_FILENO) && !std::getenv("NO_COLOR");
  std::string shown = printable(in_options(line));
  std::fprintf(raw_stderr(), color ? "\033[2m%s\033[0m\n" : "%s\n", shown.c_str());
}

}  // namespace

void log_to_stderr() {
  set_log_listener([](LogLevel level, std::string_view message) {
    constexpr const char* names[] = {"error", "warning", "info", "debug"};
    print_line(text(names[static_cast<int>(level)], ": ", message));
  });
}

void add_log_level(CLI::App& app) {
  app.add_option_function<std::string>(
         "--log_level",
         [](const std::string& word) {
           std::vector<std::string_view> words;
           for (const auto& [name, level] : levels) {
             if (equal_ignoring_case(name, word)) return set_log_level(level);
             words.push_back(name);
           }
           throw UsageError(text("--log_level: expected a log level, got '", word, "'"),
                            text("use one of ", join(words, ", ")));
         },
         "log verbosity: CRITICAL, ERROR: errors only; WARN (default): also warnings; INFO: also steps, times, and "
         "layers "
         "imported by extensions and mapping files; DEBUG: also every file, layer and pass")
      ->type_name("LEVEL")
      ->group("Report");
}

void note(const std::string& line) {
  if (is_logged(LogLevel::warning)) print_line(line);
}
void note_all(const std::vector<std::string>& lines) {
  for (const std::string& l : lines) note(l);
}
void warn(const std::string& message) { log(LogLevel::warning, message); }

}  // namespace graft::cli
