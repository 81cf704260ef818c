// Devices by name, and their properties.
#include <algorithm>
#include <charconv>

#include "base/machine.hpp"
#include "base/request.hpp"
#include "base/text.hpp"
#include "extensions/custom_layers.hpp"
#include "toolkit/device_name.hpp"
#include "toolkit/errors.hpp"
#include "toolkit/state.hpp"

namespace graft {
namespace {

std::vector<std::string> names_of(const DeviceList& devices) {
  std::vector<std::string> out;
  for (const auto& d : devices)
    if (!d->unavailable()) out.push_back(d->name());
  return out;
}

std::shared_ptr<const Device> find_device(const DeviceList& devices, const DeviceName& name) {
  if (name.list.empty())
    for (const auto& d : devices) {
      if (d->name() != name.text()) continue;
      if (auto why = d->unavailable())
        throw RequestError(text("the device ", name.text(), " cannot be used: ", why->message()), why->hint());
      return d;
    }
  throw Error(ErrorKind::user, text("unknown device '", name.text(), "'"),
              text("available devices: ", join(names_of(devices), ", "), ", and ", hetero_name, ":A,B for several"));
}

// ---- properties that every device has ----

int64_t number(const std::string& value, int64_t least) {
  int64_t n = 0;
  auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), n);
  if (problem != std::errc() || end != value.data() + value.size() || n < least || n > INT32_MAX)
    throw_user("expected a number of at least ", least, ", got '", value, "'");
  return n;
}
bool yes(const std::string& value) {
  std::string v = to_lower(value);
  if (v == "yes" || v == "true" || v == "1") return true;
  if (v == "no" || v == "false" || v == "0") return false;
  throw_user("expected YES or NO, got '", value, "'");
}

PerformanceHint hint(const std::string& value) {
  std::string v = to_lower(value);
  if (v == "latency") return PerformanceHint::latency;
  if (v == "throughput") return PerformanceHint::throughput;
  throw_user("expected LATENCY or THROUGHPUT, got '", value, "'");
}

struct CommonProperty {
  const char* name;
  void (*set)(Options& options, const std::string& value);  // throws on a value that it cannot have
  bool (*unset)(const Options& options);
  std::string (*get)(const Options& options);
};

constexpr const char* threads_property = "INFERENCE_NUM_THREADS";  // GRAFT_NUM_THREADS goes before it

constexpr CommonProperty common_properties[] = {
    {"PERFORMANCE_HINT", [](Options& o, const std::string& v) { o.hint = hint(v); },
     [](const Options& o) { return o.hint == Options{}.hint; },
     [](const Options& o) { return std::string(o.hint == PerformanceHint::throughput ? "THROUGHPUT" : "LATENCY"); }},
    {"NUM_STREAMS",
     [](Options& o, const std::string& v) { o.streams = to_lower(v) == "auto" ? 0 : static_cast<int>(number(v, 1)); },
     [](const Options& o) { return o.streams == Options{}.streams; },
     [](const Options& o) { return text(std::max(1, o.streams)); }},
    {threads_property, [](Options& o, const std::string& v) { o.threads = static_cast<int>(number(v, 0)); },
     [](const Options& o) { return o.threads == Options{}.threads; }, [](const Options& o) { return text(o.threads); }},
    {"ENABLE_HYPER_THREADING", [](Options& o, const std::string& v) { o.hyper_threads = yes(v); },
     [](const Options& o) { return o.hyper_threads == Options{}.hyper_threads; },
     [](const Options& o) { return std::string(o.hyper_threads ? "YES" : "NO"); }},
    {"PERF_COUNT", [](Options& o, const std::string& v) { o.profile = yes(v); },
     [](const Options& o) { return o.profile == Options{}.profile; },
     [](const Options& o) { return std::string(o.profile ? "YES" : "NO"); }},
};

const CommonProperty* common_property(const std::string& name) {
  for (const CommonProperty& p : common_properties)
    if (name == p.name) return &p;
  return nullptr;
}

constexpr const char* priorities = "MULTI_DEVICE_PRIORITIES";
// The same in the releases before 2022.
std::string current_name(const std::string& name) { return name == "TARGET_FALLBACK" ? priorities : name; }

constexpr const char* read_only[] = {"AVAILABLE_DEVICES", "FULL_DEVICE_NAME", "SUPPORTED_PROPERTIES"};
bool is_read_only(const std::string& name) {
  return std::any_of(std::begin(read_only), std::end(read_only), [&](const char* n) { return name == n; });
}

// The properties that can be set for a device; for all of them without a device.
std::vector<DeviceProperty> settable(const DeviceList& devices, const DeviceName* device) {
  std::vector<DeviceProperty> out;
  for (const CommonProperty& p : common_properties) out.push_back({p.name, p.get(Options{}), nullptr});
  if (!device || device->name == hetero_name)
    out.push_back({priorities, "", [](const std::string& v) { parse_device(text(hetero_name, ":", v)); }});
  for (const auto& d : devices)
    if (!device || d->name() == device->text())
      for (DeviceProperty& p : d->properties()) out.push_back(std::move(p));
  return out;
}

DeviceProperty find_property(const DeviceList& devices, const DeviceName* device, const std::string& name) {
  std::vector<std::string> names;
  for (DeviceProperty& p : settable(devices, device)) {
    if (p.name == name) return p;
    names.push_back(p.name);
  }
  std::string where = device ? text(" of ", device->text()) : "";
  if (is_read_only(name)) throw RequestError(text("property ", name, where, " is read-only"));
  auto close = nearest(name, names);
  throw RequestError(text("unknown property '", name, "'", where),
                     close ? text("did you mean ", *close, "?") : text("properties: ", join(names, ", ")));
}

}  // namespace

// ---- devices ----

DeviceList Core::State::devices_of(const std::string& given) const {
  DeviceName name = parse_device(given);
  if (name.name != hetero_name) {
    DeviceList out{find_device(devices, name)};
    if (std::string rest = out[0]->fallback(); !rest.empty()) out.push_back(find_device(devices, {rest, "", {}}));
    return out;
  }
  if (name.list.empty())
    if (std::string list = property(std::string(hetero_name), priorities); !list.empty())
      name = parse_device(text(hetero_name, ":", list));
  if (name.list.empty())
    throw RequestError(text("expected devices after ", hetero_name),
                       text("for example ", hetero_name, ":", join(names_of(devices), ",")));
  DeviceList out;
  for (const DeviceName& n : name.list) out.push_back(find_device(devices, n));
  return out;
}

std::shared_ptr<const Device> Core::State::device(const std::string& given) const {
  DeviceList list = devices_of(given);
  if (parse_device(given).name != hetero_name && list.size() == 1) return list[0];
  return make_hetero_device(std::move(list));
}

std::vector<std::string> Core::get_available_devices() const { return names_of(s_->devices); }
std::vector<std::pair<std::string, std::string>> Core::unavailable_devices() const {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& d : s_->devices)
    if (auto why = d->unavailable()) out.emplace_back(d->name(), text(why->message(), "; ", why->hint()));
  return out;
}
std::string Core::device_description(const std::string& device) const {
  return as_errors([&] {
    DeviceName name = parse_device(device);
    return name.name == hetero_name ? s_->device(device)->description() : find_device(s_->devices, name)->description();
  });
}

ThreadsInfo Core::threads() const {
  const ThreadCount& count = default_threads();
  ThreadsInfo out{count.threads, count.reason, {}};
  for (const auto* list : {&count.warnings, &count.notes})
    for (const std::string& line : *list) out.notes.push_back({line});
  return out;
}

// ---- properties ----

void Core::State::set(const std::string& device, const Properties& given) {
  std::optional<DeviceName> name;
  if (!device.empty()) {
    name = parse_device(device);
    if (!name->list.empty())
      throw RequestError(text("expected one device, got '", device, "'"), "properties are set for each device");
    if (name->name != hetero_name) find_device(devices, *name);
  }
  Properties checked, layer_files;
  for (const auto& [key, value] : given) {
    DeviceProperty p = find_property(devices, name ? &*name : nullptr, current_name(key));
    as_request([&] {
      try {
        Options scratch;
        if (const CommonProperty* c = common_property(p.name)) c->set(scratch, value);
        else if (p.check) p.check(value);
      } catch (const Error& e) {
        throw RequestError(text("property ", key, ": ", e.message()), e.hint());
      }
    });
    if (p.custom_layers) layer_files[p.name] = value;
    checked[p.name] = value;
  }
  for (const auto& [property, path] : layer_files) load_layers(name ? name->text() : "", property, path);
  std::lock_guard lock(mutex_);
  for (auto& [key, value] : checked) properties_[name ? name->text() : ""][key] = std::move(value);
}

// The file takes the place of the one that the property named before.
void Core::State::load_layers(const std::string& device, const std::string& property, const std::string& path) {
  std::shared_ptr<const Records> fresh = path.empty() ? nullptr : open_custom_layers(path);
  std::optional<ExtensionId> before;
  {
    std::lock_guard lock(mutex_);
    if (auto node = layer_files_.extract({device, property})) before = node.mapped();
    for (const auto& [key, id] : layer_files_)
      if (before && id == *before) before.reset();  // another property names it, too
  }
  if (before) remove(*before);
  if (!fresh) return;
  ExtensionId id = add({{path, {fresh}}})[0];
  std::lock_guard lock(mutex_);
  layer_files_[{device, property}] = id;
}

std::optional<std::string> Core::State::property_set(const std::string& device, const std::string& name) const {
  std::lock_guard lock(mutex_);
  for (const std::string& of : {device, std::string()})
    if (auto d = properties_.find(of); d != properties_.end())
      if (auto p = d->second.find(name); p != d->second.end()) return p->second;
  return std::nullopt;
}

std::string Core::State::property(const std::string& given, const std::string& key) const {
  std::optional<DeviceName> device;
  if (!given.empty()) {
    device = parse_device(given);
    device->list.clear();
    if (device->name != hetero_name) find_device(devices, *device);
  }
  const DeviceName* of = device ? &*device : nullptr;
  std::string name = current_name(key);
  if (name == "AVAILABLE_DEVICES") return join(names_of(devices), ",");
  if (name == "FULL_DEVICE_NAME" && device && device->name != hetero_name)
    return find_device(devices, *device)->description();
  if (name == "SUPPORTED_PROPERTIES") {
    std::vector<std::string> names(std::begin(read_only), std::end(read_only));
    for (const DeviceProperty& p : settable(devices, of)) names.push_back(p.name);
    return join(names, ",");
  }
  DeviceProperty p = find_property(devices, of, name);
  return property_set(device ? device->text() : "", name).value_or(p.fallback);
}

Options Core::State::with_properties(const std::string& device, Options options) const {
  DeviceName name = parse_device(device);
  name.list.clear();
  for (const CommonProperty& p : common_properties)
    if (p.unset(options) && !(default_threads().set && p.name == std::string_view(threads_property)))
      if (auto value = property_set(name.text(), p.name)) p.set(options, *value);
  return options;
}

std::map<std::string, Core::Properties> Core::State::device_properties() const {
  std::map<std::string, Properties> out;
  for (const auto& d : devices)
    for (const DeviceProperty& p : d->properties())
      if (auto value = property_set(d->name(), p.name)) out[d->name()][p.name] = *value;
  return out;
}

void Core::set_property(const Properties& properties) {
  as_errors([&] { s_->set("", properties); });
}
void Core::set_property(const std::string& device, const Properties& properties) {
  as_errors([&] {
    if (device.empty()) throw RequestError("expected a device, got an empty name");
    s_->set(device, properties);
  });
}
std::string Core::get_property(const std::string& device, const std::string& name) const {
  return as_errors([&] { return s_->property(device, name); });
}

}  // namespace graft
