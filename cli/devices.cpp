// graft devices: lists available devices.
#include <cstdio>

#include "command.hpp"

namespace graft::cli {

void add_devices(CLI::App& app) {
  auto json = std::make_shared<bool>(false);
  CLI::App* c = app.add_subcommand("devices", "list available devices");
  c->add_flag("--json", *json, "print JSON");
  c->callback([json] {
    Core core;
    nlohmann::json list = nlohmann::json::array();
    for (const std::string& d : core.get_available_devices()) {
      if (*json) list.push_back({{"name", d}, {"description", core.device_description(d)}});
      else std::printf("%-10s %s\n", d.c_str(), core.device_description(d).c_str());
    }
    if (*json) print_json(list);
  });
}

}  // namespace graft::cli
