#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "arguments.hpp"
#include "command.hpp"
#include "describe.hpp"
#include "log_level.hpp"
#include "terminal.hpp"

namespace graft::cli {
namespace {

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::Option* o : app.get_options())
    for (const std::string& n : o->get_lnames()) out.push_back("--" + n);
  return out;
}

int report_usage(const CLI::App& app, const CLI::ParseError& e) {
  if (e.get_exit_code() == 0) return app.exit(e);  // --help, --version
  std::string message = e.what(), hint;
  const CLI::App* sub = &app;
  std::string name;  // "extgen new "
  while (!sub->get_subcommands().empty()) {
    sub = sub->get_subcommands().back();
    name += sub->get_name() + " ";
  }
  std::vector<std::string> commands;
  for (const CLI::App* s : app.get_subcommands({})) commands.push_back(s->get_name());
  if (dynamic_cast<const CLI::RequiredError*>(&e) && sub == &app) {
    std::vector<std::string> left = app.remaining();
    message = left.empty() ? "no command given" : text("unknown command '", left[0], "'");
    if (auto close = left.empty() ? std::nullopt : nearest(left[0], commands))
      hint = text("did you mean ", *close, "?");
    else hint = text("available commands: ", join(commands, ", "));
  }
  if (dynamic_cast<const CLI::ExtrasError*>(&e)) {
    std::vector<std::string> left = sub->remaining(true);
    if (left.empty()) left = app.remaining(true);
    if (!left.empty() && left[0].starts_with("-")) {
      std::string word = left[0].substr(0, left[0].find('='));
      message = text("unknown option '", word, "'");
      if (auto close = nearest(word, option_names(*sub))) hint = text("did you mean ", *close, "?");
    }
  }
  std::fprintf(stderr, "error: %s\n", message.c_str());
  std::fprintf(stderr, "hint: %s\n",
               !hint.empty() ? hint.c_str() : text("run 'graft ", name, "--help' for usage").c_str());
  return wrong_usage;
}

// Whether the command prints data: JSON, or an archive. What an extension in Python prints then goes to stderr.
bool prints_data(const std::vector<std::string>& arguments) {
  return std::any_of(arguments.begin(), arguments.end(), [](const std::string& a) {
    size_t kind = a.rfind("ark");
    return a == "--json" || a == "--json_stats" || (kind != a.npos && a.ends_with(":-"));
  });
}

int main(int argc, char** argv) {
  CLI::App app("Graft converts and runs neural network models, with custom operations.");
  app.name("graft");
  app.set_version_flag("--version", "graft " GRAFT_VERSION);
  app.add_flag_callback(
      "--cmake-dir",
      [] {
        std::printf("%s\n", cmake_folder().c_str());
        throw CLI::Success();
      },
      "print the directory of GraftConfig.cmake, for building extensions, and exit");
  app.add_flag_callback(
      "--include-dir",
      [] {
        std::printf("%s\n", include_folder().c_str());
        throw CLI::Success();
      },
      "print the directory of the headers, for compiling extensions without CMake, and exit");
  app.add_flag_callback("--describe",
                        [] {
                          std::printf("%s\n", description().c_str());
                          throw CLI::Success();
                        })
      ->group("");
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  add_convert(app);
  add_run(app);
  add_bench(app);
  add_explain(app);
  add_new(app);
  add_extgen(app);
  add_build(app);
  add_check(app);
  add_capture(app);
  add_ops(app);
  add_devices(app);
  log_to_stderr();
  try {
    std::vector<std::string> arguments = normal_arguments(app, {argv + 1, argv + argc});
    if (prints_data(arguments)) ::setenv("GRAFT_PYTHON_STDOUT", "stderr", 1);
    std::reverse(arguments.begin(), arguments.end());
    app.parse(arguments);
    return done;
  } catch (const CLI::ParseError& e) {
    return report_usage(app, e);
  } catch (...) {
    Error e = current_error();
    std::fflush(stdout);
    std::fprintf(stderr, "%s\n", in_options(e.report()).c_str());
    return e.kind() == ErrorKind::request ? wrong_usage : e.kind() == ErrorKind::internal ? our_bug : bad_model;
  }
}

}  // namespace
}  // namespace graft::cli

int main(int argc, char** argv) {
  // Large models make many small allocations; growing the heap in steps of megabytes saves system calls.
  ::mallopt(M_TOP_PAD, 16 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 256 << 20);
  ::mallopt(M_MXFAST, 0);
  graft::guard_files();
  graft::report_crashes();
  graft::cli::protect_terminal();
  int status = graft::cli::main(argc, argv);
  // The streams were opened here, so exit does not flush them; a full disk is an error.
  bool written = std::fflush(stdout) == 0;
  return status == 0 && !written ? graft::cli::bad_model : status;
}
