#include "command.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "option_rows.hpp"

namespace graft::cli {

void ModelOptions::add_files(CLI::App& app, const char* definition_names) {
  app.add_option("files", files, "model file, followed by the weights if they are in a separate file")
      ->type_name("FILE");
  add_named_files(app, definition_names);
}
void ModelOptions::add_named_files(CLI::App& app, const char* definition_names) {
  app.add_option("--model,-m,--input_model", model, "model file")->type_name("FILE")->group("Model");
  app.add_option(definition_names, definition,
                 "Caffe network definition (.prototxt), if --input_model is the weights file")
      ->type_name("FILE")
      ->group("Model");
  app.add_option("--weights,-w", weights, "weights file, or another file of the model; may be repeated")
      ->type_name("FILE")
      ->group("Model")
      ->allow_extra_args(false);
  bind_rows(app, read, "Model");
  std::string names;
  for (const Limit& l : list_limits()) names += (names.empty() ? "" : ", ") + l.name;
  add_row<ReadOptions>(app, "limits", limits, ("may be repeated. Limits: " + names).c_str(), "NAME=VALUE", "Model");
  add_log_level(app);
}
void ModelOptions::add_extensions(CLI::App& app) {
  app.add_option("--extensions,-l", extensions,
                 "load extensions with custom operations: libraries, Python files, folders of the Model Optimizer, "
                 "custom layers (.xml); may be repeated")
      ->type_name("PATH,...")
      ->group("Model")
      ->allow_extra_args(false);
  app.add_option_function<std::vector<std::string>>(
         "-c",
         [this](const std::vector<std::string>& files) {
           extensions.insert(extensions.end(), files.begin(), files.end());
         },
         "load custom layers for the GPU, described by an .xml; may be repeated")
      ->type_name("FILE")
      ->group("Model")
      ->allow_extra_args(false);
}
void ModelOptions::add_device(CLI::App& app) {
  app.add_option("--device,-d", device,
                 "device to run on, see graft devices; HETERO:A,B runs each layer on the first device that supports it")
      ->capture_default_str();
  app.add_option("--affinity", affinities, "with HETERO, the device of a layer; may be repeated")
      ->type_name("LAYER=DEVICE")
      ->allow_extra_args(false);
}
void ModelOptions::add_shapes(CLI::App& app) {
  add_row<ReadOptions>(app, "shapes", input_shapes, "name[1,3,224,224],...", "SHAPES", "Model");
}

void ModelOptions::add_items(CLI::App& app) {
  add_row<ReadOptions>(app, "items", items, "none: an optional input without a value", "NAME=N|none", "Model");
}

std::vector<std::string> ModelOptions::all_files() const {
  std::vector<std::string> out;
  if (!definition.empty()) out.push_back(definition);
  if (!model.empty()) out.push_back(model);
  out.insert(out.end(), files.begin(), files.end());
  out.insert(out.end(), weights.begin(), weights.end());
  if (out.empty()) throw UsageError("no model file given", "pass the model file after the command, or with --model");
  for (const std::string& f : out) {
    std::error_code ec;
    if (!std::filesystem::exists(f, ec)) throw UsageError(text("file not found: '", f, "'"));
  }
  return out;
}

namespace {
// Structure of inputs that the input values do not determine.
void apply_items(const std::vector<std::string>& items, ReadOptions& options) {
  for (const std::string& item : items) {
    size_t equals = item.rfind('=');
    std::string_view count = std::string_view(item).substr(equals == item.npos ? item.size() : equals + 1);
    auto n = parse_int(count);
    if (equals == item.npos || equals == 0 || (count != "none" && (!n || *n < 0)))
      throw UsageError(text("--items: expected NAME=N or NAME=none, got '", item, "'"));
    std::string name = item.substr(0, equals);
    if (count == "none") options.absent.push_back(name);
    else options.items.emplace(name, static_cast<size_t>(*n));
  }
}
}  // namespace

Options ModelOptions::compile_options() const {
  Options out;
  for (const std::string& a : affinities) {
    size_t equals = a.rfind('=');
    if (equals == a.npos || equals == 0 || equals + 1 == a.size())
      throw UsageError(text("--affinity: expected LAYER=DEVICE, got '", a, "'"));
    out.affinities[a.substr(0, equals)] = a.substr(equals + 1);
  }
  return out;
}

LimitChanges ModelOptions::limit_changes() const {
  LimitChanges out;
  for (const std::string& l : limits) {
    auto [name, value] = parse_limit(l);
    out[name] = value;
  }
  return out;
}

ReadOptions ModelOptions::reading(const CutRequest& part) const {
  layers.check(read);
  ReadOptions out = read;
  out.cut = part;
  out.limits = limit_changes();
  apply_items(items, out);
  return out;
}

bool ModelOptions::ran_action(const Core& core, const ReadOptions& options, bool json) const {
  return layers.ran_action(core, all_files(), options, json);
}

Core make_core(const ModelOptions& o) {
  Core core;
  std::vector<std::string> paths;
  for (const std::string& list : o.extensions)
    for (std::string_view path : split(list, ',')) {
      if (path.empty()) continue;
      paths.emplace_back(path);
      if (!std::filesystem::exists(paths.back())) throw UsageError(text("extension not found: '", path, "'"));
    }
  core.add_extensions(paths, print_tool_output);
  as_usage([&] { return core.device_description(o.device); });
  return core;
}

std::map<std::string, Shape> parse_shapes(const std::vector<std::string>& given, const std::vector<Port>& inputs) {
  std::map<std::string, Shape> out;
  auto shape_of = [](std::string_view s) {
    auto shape = parse_shape(s);
    if (!shape)
      throw UsageError(text("expected a shape, got '", s, "'"), "write [1,3,224,224]; ? is an unknown dimension");
    return *shape;
  };
  for (const std::string& one : given) {
    std::string_view s = trim(one);
    bool bare = s.empty() || s[0] == '[' || s[0] == '?' || (s[0] >= '0' && s[0] <= '9');
    if (bare) {
      if (inputs.size() != 1)
        throw UsageError(text("the model has ", inputs.size(), " inputs: specify which one has shape ", s),
                         text("write ", inputs.empty() ? "name" : inputs[0].any_name(), "[1,3,224,224]"));
      out[inputs[0].any_name()] = shape_of(s);
      continue;
    }
    while (!s.empty()) {
      size_t open = s.find('['), close = s.find(']');
      if (open == s.npos || close == s.npos || close < open)
        throw UsageError(text("expected input shapes, got '", one, "'"), "write name[1,3,224,224],other[1,10]");
      out[std::string(trim(s.substr(0, open)))] = shape_of(s.substr(open, close - open + 1));
      s.remove_prefix(close + 1);
      s = trim(s);
      if (s.starts_with(',')) s = trim(s.substr(1));
    }
  }
  return out;
}

Model load(const Core& core, const ModelOptions& o, ReadOptions options) {
  std::vector<std::string> files = o.all_files();
  Model m = core.read_model(files, options);
  if (o.input_shapes.empty()) return m;
  // Shapes refer to inputs by name, so the model must be loaded before they can be resolved.
  std::vector<Port> inputs = m.inputs();
  options.shapes = parse_shapes(o.input_shapes, inputs);
  for (const auto& [name, shape] : options.shapes) as_usage([&] { return find_port(inputs, name, "input"); });
  return core.read_model(files, options);
}

size_t peak_memory() {
  rusage r{};
  getrusage(RUSAGE_SELF, &r);
  return static_cast<size_t>(r.ru_maxrss) * 1024;
}

void print_json(const nlohmann::json& j) {
  std::printf("%s\n", j.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

std::string stem_of(const std::string& path) { return std::filesystem::path(path).stem().string(); }
std::string extension_of(const std::string& path) { return to_lower(std::filesystem::path(path).extension().string()); }

}  // namespace graft::cli
