#include "command.hpp"

#include <sys/resource.h>

#include <cstdio>
#include <filesystem>

#include "base/file.hpp"
#include "base/text.hpp"
#include "schema/registry.hpp"

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
  app.add_option("--saved_model_signature", signature,
                 "signature of a SavedModel (default: serving_default, or the only signature)")
      ->type_name("NAME")
      ->group("Model");
  add_log_level(app);
}
void ModelOptions::add_extensions(CLI::App& app) {
  app.add_option("--extensions,-l", extensions, "load extension libraries with custom operations; may be repeated")
      ->type_name("PATH,...")
      ->group("Model")
      ->allow_extra_args(false);
  app.add_option_function<std::string>(
         "-c",
         [](const std::string& file) {
           throw UsageError(
               text("-c ", file,
                    " is not supported: custom kernels need a GPU or VPU device, which Graft does not have yet"),
               "implement the operation as an extension, which runs on the CPU, and load it with -l LIBRARY; "
               "graft new generates a skeleton");
         })
      ->group("");
}
void ModelOptions::add_device(CLI::App& app) {
  app.add_option("--device,-d", device, "device to run on: CPU or REFERENCE")->capture_default_str();
}
void ModelOptions::add_shapes(CLI::App& app) {
  app.add_option("--input_shape,--shape", input_shapes, "override input shapes: name[1,3,224,224],...")
      ->type_name("SHAPES")
      ->group("Model")
      ->allow_extra_args(false);
}

void ModelOptions::add_items(CLI::App& app) {
  app.add_option("--items", items, "number of items of a sequence input; none: an optional input without a value")
      ->type_name("NAME=N|none")
      ->group("Model")
      ->allow_extra_args(false);
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
void apply_items(const std::vector<std::string>& items, ImportOptions& options) {
  for (const std::string& item : items) {
    size_t equals = item.rfind('=');
    std::string_view count = std::string_view(item).substr(equals == item.npos ? item.size() : equals + 1);
    auto n = parse_int(count);
    if (equals == item.npos || equals == 0 || (count != "none" && (!n || *n < 0)))
      throw UsageError(text("--items: expected NAME=N or NAME=none, got '", item, "'"));
    InputForm form;
    if (count == "none") form.absent = true;
    else form.length = static_cast<size_t>(*n);
    options.input_forms.emplace(item.substr(0, equals), std::move(form));
  }
}
}  // namespace

void ModelOptions::apply(ImportOptions& options) const {
  options.read.signature = signature;
  teach.apply(options);
  apply_items(items, options);
}

bool ModelOptions::instead(const Core& core, ImportOptions options, bool json) const {
  options.read.signature = signature;
  return teach.instead(core, all_files(), std::move(options), json);
}

Core make_core(const ModelOptions& o) {
  Core core;
  for (const std::string& list : o.extensions)
    for (std::string_view path : split(list, ',')) {
      if (path.empty()) continue;
      if (!std::filesystem::exists(std::string(path))) throw UsageError(text("extension not found: '", path, "'"));
      if (std::filesystem::is_directory(std::string(path)))
        throw UsageError(
            text("expected a shared library as an extension, got the directory '", path, "'"),
            "Python extensions of the Model Optimizer are not supported; graft new generates an extension in C++");
      core.add_extension(std::string(path));
    }
  as_usage([&] { return &core.state()->device(o.device); });
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

Model load(const Core& core, const ModelOptions& o, ImportOptions options) {
  std::vector<std::string> files = o.all_files();
  o.apply(options);
  Model m(load_model(core.state(), files, options));
  if (o.input_shapes.empty() || !options.input_shapes.empty()) return m;
  // Shapes refer to inputs by name, so the model must be loaded before they can be resolved.
  std::vector<Port> inputs = m.inputs();
  options.input_shapes = parse_shapes(o.input_shapes, inputs);
  for (const auto& [name, shape] : options.input_shapes) as_usage([&] { return find_port(inputs, name, "input"); });
  return Model(load_model(core.state(), files, options));
}

size_t peak_memory() {
  rusage r{};
  getrusage(RUSAGE_SELF, &r);
  return static_cast<size_t>(r.ru_maxrss) * 1024;
}

void print_json(const nlohmann::json& j) {
  std::printf("%s\n", j.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

nlohmann::json shape_json(const Shape& s) {
  if (!s.ranked()) return "...";
  auto out = nlohmann::json::array();
  for (const Dim& d : s) {
    if (d.known()) out.push_back(d.value());
    else out.push_back(text(d));
  }
  return out;
}
nlohmann::json port_json(const Port& p) {
  return {{"name", p.any_name()},
          {"layer", p.name},
          {"names", p.names},
          {"type", name_of(p.type)},
          {"shape", shape_json(p.shape)}};
}

namespace {
nlohmann::json group_json(const Group& g) {
  constexpr const char* kinds[] = {"tensor", "sequence", "run", "optional", "map"};
  nlohmann::json out{{"kind", kinds[static_cast<size_t>(g.kind)]}};
  if (!g.name.empty()) out["name"] = g.name;
  if (g.kind == Group::Kind::tensor) out["port"] = g.port;
  else out["parts"] = nlohmann::json::array();
  for (const Group& p : g.parts) out["parts"].push_back(group_json(p));
  return out;
}
}  // namespace

void add_groups(nlohmann::json& report, const Model& model) {
  auto add = [&](const char* key, const std::vector<NamedForm>& forms, const std::vector<Group>& groups) {
    if (!any_structure(forms)) return;
    report[key] = nlohmann::json::array();
    for (const Group& g : groups) report[key].push_back(group_json(g));
  };
  add("input_groups", model.state()->graph.input_forms, model.input_groups());
  add("output_groups", model.state()->graph.output_forms, model.output_groups());
}

}  // namespace graft::cli
