// graft devices: lists available devices and, for a model, how many of its layers each one supports.
#include <algorithm>
#include <cstdio>

#include "command.hpp"

namespace graft::cli {
namespace {

struct DevicesOptions {
  ModelOptions model;
  bool json = false;
};

void list_devices(const DevicesOptions& o) {
  Core core = make_core(o.model);
  bool with_model = !o.model.files.empty() || !o.model.model.empty();
  std::optional<Model> model;
  if (with_model) model = load(core, o.model);
  nlohmann::json list = nlohmann::json::array();
  ThreadsInfo threads = core.threads();
  for (const std::string& line : threads.notes) warn(line);
  for (const std::string& d : core.get_available_devices()) {
    nlohmann::json entry{{"name", d}, {"description", core.device_description(d)}};
    std::string support;
    if (model) {
      QueryResult q = core.query_model(*model, d);
      auto count = std::count_if(q.layers.begin(), q.layers.end(), [](const LayerSupport& l) { return l.supported; });
      entry["layers"] = q.layers.size(), entry["supported"] = count;
      support = text(": supports ", count, " of ", q.layers.size(), " layers of the model");
    }
    bool runs_threads = d == ModelOptions().device;
    if (runs_threads) {
      entry["threads"] = threads.threads;
      entry["threads_reason"] = threads.reason;
      entry["notes"] = threads.notes;
    }
    if (o.json) list.push_back(std::move(entry));
    else
      std::printf("%-10s %s%s%s%s\n", d.c_str(), core.device_description(d).c_str(), runs_threads ? ": " : "",
                  runs_threads ? threads.reason.c_str() : "", support.c_str());
  }
  for (const auto& [d, why] : core.unavailable_devices()) {
    if (o.json) list.push_back({{"name", d}, {"unavailable", why}});
    else std::printf("%-10s not available: %s\n", d.c_str(), why.c_str());
  }
  if (o.json) print_json(list);
}

}  // namespace

void add_devices(CLI::App& app) {
  auto o = std::make_shared<DevicesOptions>();
  CLI::App* c =
      app.add_subcommand("devices", "list available devices, and how many layers of a model each one supports");
  o->model.add_files(*c);
  o->model.add_extensions(*c);
  c->add_flag("--json", o->json, "print JSON");
  c->callback([o] { list_devices(*o); });
}

}  // namespace graft::cli
