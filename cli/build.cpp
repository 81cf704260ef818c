// graft build: builds an extension from its sources.
#include <cstdio>
#include <filesystem>

#include "command.hpp"

namespace graft::cli {

void print_tool_output(std::string_view output) {
  std::fflush(stdout);
  std::fwrite(output.data(), 1, output.size(), stderr);
}

void add_build(CLI::App& app) {
  auto folder = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  CLI::App* c = app.add_subcommand("build", "build an extension from its sources");
  c->add_option("folder", *folder, "directory of a CMake project, such as graft new and graft extgen generate")
      ->type_name("DIR")
      ->required();
  c->add_flag("--json", *json, "print JSON");
  c->callback([=] {
    if (!std::filesystem::is_directory(*folder)) throw UsageError(text("expected a directory, got '", *folder, "'"));
    auto project = extension_project(*folder);
    if (!project)
      throw UsageError(text("'", *folder, "' has no CMakeLists.txt"), "graft new generates an extension skeleton");
    std::vector<std::string> built = build_extension(*project, print_tool_output);
    if (*json) return print_json({{"libraries", built}});
    for (const std::string& library : built) std::printf("%s\n", library.c_str());
  });
}

}  // namespace graft::cli
