// Core's extensions: opening them, and replacing the registry by one that has them.
#include "base/log.hpp"
#include "base/text.hpp"
#include "extensions/build.hpp"
#include "extensions/open.hpp"
#include "schema/lint.hpp"
#include "toolkit/built_ins.hpp"
#include "toolkit/errors.hpp"
#include "toolkit/state.hpp"

namespace graft {
namespace {

using RecordList = std::vector<std::shared_ptr<const Records>>;

bool same_code(const RecordList& a, const RecordList& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (!a[i]->ops.empty() && !b[i]->ops.empty() && a[i]->ops[0].infer != b[i]->ops[0].infer) return false;
  return true;
}

ExtensionInfo info_of(ExtensionId id, const RecordList& list, const std::string& path) {
  ExtensionInfo info{id, {}, list[0]->source.version, list.size() == 1 ? list[0]->source.path : path};
  for (const auto& r : list) {
    info.name += (info.name.empty() ? "" : "+") + r->source.name;
    info.operations += r->ops.size(), info.rules += r->rules.size();
    info.kernels += r->kernels.size() + r->source_kernels.size();
    info.passes += r->passes.size() + r->raw_passes.size();
  }
  return info;
}

std::string context_of(const Source& source) {
  return source.origin == Source::program ? "adding definitions of the program"
                                          : text("loading the extension '", source.title(), "'");
}

}  // namespace

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
  for (const Added& a : added)
    for (const auto& r : a.records) with_context([&] { fresh->add(r); }, [&] { return context_of(r->source); });
  return fresh;
}

void Core::State::publish(std::shared_ptr<const Registry> registry, std::vector<Added> added) {
  std::lock_guard lock(mutex_);
  registry_.swap(registry);
  added_ = std::move(added);
}

std::vector<ExtensionId> Core::State::add(const std::vector<Group>& groups) {
  std::lock_guard serial(changing_);
  std::vector<Added> all = added();
  size_t before = all.size();
  uint64_t last = last_id_;
  std::vector<ExtensionId> ids;
  for (const auto& [path, records] : groups) {
    ExtensionInfo info = info_of(ExtensionId{last + 1}, records, path);
    auto there = std::find_if(all.begin(), all.end(),
                              [&](const Added& a) { return !info.path.empty() && a.info.path == info.path; });
    if (there != all.end()) {
      if (same_code(there->records, records)) log_info("the extension '", info.path, "' is already loaded");
      else
        log_warning("the extension '", info.path,
                    "' is already loaded, and its file has changed since: remove it before it is added again");
      ids.push_back(there->info.id);
      continue;
    }
    ids.push_back(info.id);
    all.push_back({std::move(info), records});
    ++last;
  }
  if (all.size() == before) return ids;
  publish(registry_of(all), all);  // refuses contradictions
  last_id_ = last;
  std::vector<std::string> names;
  for (const auto& d : devices) names.push_back(d->name());
  std::shared_ptr<const Registry> now = registry();
  for (size_t i = before; i < all.size(); ++i) {
    const ExtensionInfo& info = all[i].info;
    log_info("loaded the extension '", info.name, "' ", info.version,
             info.path.empty() ? "" : text(" from '", info.path, "'"), ": ", info.operations, " operations, ",
             info.rules, " import rules, ", info.kernels, " kernels");
    for (const auto& records : all[i].records)
      for (const std::string& slip : lint(*records, *now, names, built_in_passes())) log_warning(slip);
  }
  return ids;
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

ExtensionId Core::add_extension(const std::string& path) { return add_extensions(std::vector{path})[0]; }
ExtensionId Core::add_extension(const Entry& entry) { return add_extensions(std::vector{entry})[0]; }

std::vector<ExtensionId> Core::add_extensions(const std::vector<std::string>& paths, const ToolOutput& output) {
  return as_errors([&] {
    std::vector<State::Group> groups;
    for (const std::string& path : paths) groups.push_back({path, open_extension(path, output)});
    return s_->add(groups);
  });
}
std::vector<ExtensionId> Core::add_extensions(const std::vector<Entry>& entries) {
  return as_errors([&] {
    std::vector<State::Group> groups;
    for (const Entry& entry : entries) {
      if (!entry) throw Error(ErrorKind::request, "expected an entry function, got an empty one");
      groups.push_back({"",
                        {with_context([&] { return read_records(enter_extension(entry), Source::program); },
                                      [] { return "adding definitions of the program"; })}});
    }
    return s_->add(groups);
  });
}
void Core::remove_extension(ExtensionId id) {
  as_errors([&] { s_->remove(id); });
}
std::vector<ExtensionInfo> Core::extensions() const {
  return as_errors([&] {
    std::vector<ExtensionInfo> out;
    for (const State::Added& a : s_->added()) out.push_back(a.info);
    return out;
  });
}

// ---- files ----

ExtensionKind extension_kind(const std::string& path) {
  return as_errors([&] { return kind_of_extension(path); });
}
std::optional<std::string> extension_project(const std::string& folder) {
  return as_errors([&] { return project_in(folder); });
}
std::vector<std::string> build_extension(const std::string& project, const ToolOutput& output) {
  return as_errors([&] { return build_project(project, output); });
}
std::string cmake_folder() {
  return as_errors([] { return find_cmake_folder(); });
}
std::string include_folder() {
  return as_errors([] { return find_include_folder(); });
}

}  // namespace graft
