#include <algorithm>

#include "base/file.hpp"
#include "base/heap.hpp"
#include "base/log.hpp"
#include "base/streams.hpp"
#include "base/text.hpp"
#include "base/threads.hpp"
#include "devices/cpu/cpu.hpp"
#include "devices/opencl/custom_layer.hpp"
#include "devices/opencl/opencl.hpp"
#include "devices/reference/reference.hpp"
#include "devices/vpu/vpu.hpp"
#include "schema/lint.hpp"
#include "toolkit/border.hpp"
#include "toolkit/built_ins.hpp"
#include "toolkit/read.hpp"

namespace graft {

// ---- definitions ----

Core::State::State() {
  devices.push_back(make_cpu_device());
  devices.push_back(make_opencl_device());
  devices.push_back(make_vpu_device());
  devices.push_back(make_reference_device());
  publish(registry_of({}), {});
}

std::shared_ptr<const Registry> Core::State::registry() const {
  std::lock_guard lock(mutex_);
  return registry_;
}
std::vector<Core::State::Added> Core::State::added() const {
  std::lock_guard lock(mutex_);
  return added_;
}

std::shared_ptr<const Registry> Core::State::registry_of(const std::vector<Added>& added) {
  auto fresh = std::make_shared<Registry>();
  add_built_ins(*fresh);
  for (const Added& a : added) fresh->add(a.records);
  return fresh;
}

void Core::State::publish(std::shared_ptr<const Registry> registry, std::vector<Added> added) {
  std::lock_guard lock(mutex_);
  registry_.swap(registry);
  added_ = std::move(added);
}

ExtensionId Core::State::add(std::shared_ptr<const Records> records) {
  const auto& [name, version, path, origin] = records->source;
  std::lock_guard serial(changing_);
  std::vector<Added> all = added();
  for (const Added& a : all)
    if (!path.empty() && a.info.path == path) {
      if (a.records->ops.empty() || records->ops.empty() || a.records->ops[0].infer == records->ops[0].infer)
        log_info("the extension '", path, "' is already loaded");
      else
        log_warning("the extension '", path,
                    "' is already loaded, and its file has changed since: remove it before it "
                    "is added again");
      return a.info.id;
    }
  all.push_back({{ExtensionId{last_id_ + 1}, name, version, path}, records});
  std::shared_ptr<const Registry> fresh = registry_of(all);  // refuses contradictions
  ++last_id_;
  ExtensionInfo& info = all.back().info;
  info.operations = records->ops.size(), info.kernels = records->kernels.size() + records->source_kernels.size();
  info.rules = records->rules.size(), info.passes = records->passes.size() + records->raw_passes.size();
  publish(std::move(fresh), all);
  log_info("loaded the extension '", info.name, "' ", info.version, path.empty() ? "" : text(" from '", path, "'"),
           ": ", info.operations, " operations, ", info.rules, " import rules, ", info.kernels, " kernels");
  std::vector<std::string> names;
  for (const auto& d : devices) names.push_back(d->name());
  for (const std::string& slip : lint(*records, *registry(), names, built_in_passes())) log_warning(slip);
  return info.id;
}

void Core::State::remove(ExtensionId id) {
  std::lock_guard serial(changing_);
  std::vector<Added> all = added();
  auto at = std::find_if(all.begin(), all.end(), [&](const Added& a) { return a.info.id == id; });
  if (at == all.end())
    throw Error(ErrorKind::request, text("no extension with id ", static_cast<uint64_t>(id), " is added to this Core"),
                "add_extension returns the id; each can be removed once");
  std::string name = at->info.name;
  all.erase(at);
  publish(registry_of(all), all);
  log_info("removed the extension '", name, "'");
}

Core::Core() : s_(at_border([] { return std::make_shared<State>(); })) {}

ExtensionId Core::add_extension(const std::string& path) {
  return at_border([&] {
    std::shared_ptr<const Records> loaded =
        extension_of(path) == ".xml" ? open_custom_layers(path) : open_extension(path);
    return with_context([&] { return s_->add(loaded); }, [&] { return text("loading the extension '", path, "'"); });
  });
}
ExtensionId Core::add_extension(const Entry& entry) {
  return at_border([&] {
    if (!entry) throw Error(ErrorKind::request, "expected an entry function, got an empty one");
    return with_context([&] { return s_->add(read_records(enter_extension(entry), Source::program)); },
                        [] { return "adding definitions of the program"; });
  });
}
void Core::remove_extension(ExtensionId id) {
  at_border([&] { s_->remove(id); });
}
std::vector<ExtensionInfo> Core::extensions() const {
  return at_border([&] {
    std::vector<ExtensionInfo> out;
    for (const State::Added& a : s_->added()) out.push_back(a.info);
    return out;
  });
}

// ---- models ----

Model Core::read_model(const std::string& path, const std::string& weights) const {
  return read_model(path, weights, ReadOptions{});
}
Model Core::read_model(const std::string& path, const std::string& weights, const ReadOptions& options) const {
  std::vector<std::string> files{path};
  if (!weights.empty()) files.push_back(weights);
  return read_model(files, options);
}
Model Core::read_model(const std::vector<std::string>& files, const ReadOptions& options) const {
  return at_border([&] {
    Model model = load_model(s_->registry(), files, import_options(options));
    trim_heap();
    return model;
  });
}

std::vector<ReplacementOutcome> Core::try_replacements(const std::vector<std::string>& files,
                                                       const ReadOptions& options) const {
  return at_border([&] { return graft::try_replacements(*s_->registry(), files, import_options(options)); });
}
void Core::update_replacements(const std::vector<std::string>& files, const ReadOptions& options,
                               const std::string& path) const {
  at_border([&] { graft::update_replacements(*s_->registry(), files, import_options(options), path); });
}

}  // namespace graft
