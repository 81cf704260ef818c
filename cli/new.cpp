// graft new: generates a one-file extension, in C++ or Python, for unknown operations, filled in from a model if there
// is one.
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "command.hpp"
#include "cut_options.hpp"
#include "scaffold.hpp"

namespace graft::cli {
namespace {

struct NewOptions {
  ModelOptions model;
  CutOptions cut;
  std::string name, folder, domain, framework;
  bool gpu = false, python = false, force = false, json = false;

  bool has_model() const {
    return !model.files.empty() || !model.model.empty() || !model.definition.empty() || !model.weights.empty();
  }
};

// The operations to generate, and the command line that uses them.
struct Skeleton {
  std::vector<SeenOperation> operations;
  std::string title;       // of a library with several of them
  std::string arguments;   // of `graft convert`, for a shell
  std::string extensions;  // that are needed as well
};

std::string full_name(const Core& core, const std::string& framework) {
  return framework.empty() ? "" : as_usage([&] { return core.framework_name(framework); });
}

bool is_built_in(const Core& core, const std::string& framework) {
  std::vector<FrameworkInfo> all = core.frameworks();
  return std::any_of(all.begin(), all.end(),
                     [&](const FrameworkInfo& f) { return f.name == framework && f.built_in(); });
}

// The framework of the import rules is that of the model. An IR does not store its original framework.
std::string rule_framework(const Core& core, const NewOptions& o, const std::string& found) {
  std::string asked = full_name(core, o.framework);
  if (found == "ir" || found == "text") return asked.empty() ? "onnx" : asked;
  if (!asked.empty() && asked != found)
    throw UsageError(text("--framework: expected ", found, ", the framework of the model, got ", o.framework),
                     "omit --framework: it is only needed without a model");
  return found;
}

std::vector<std::string> files_of(const NewOptions& o) {
  try {
    return o.model.all_files();
  } catch (const UsageError& e) {
    // "--from-model FILE NAME" parses the name as another file.
    if (!o.name.empty() || o.model.files.size() < 2) throw;
    throw UsageError(e.message(), "put the operation name before --from-model");
  }
}

Skeleton from_model(const NewOptions& o) {
  std::vector<std::string> files = files_of(o);
  Core core = make_core(o.model);
  Model model = load(core, o.model, o.model.reading(o.cut.request()));
  Report report = model.report();
  std::string framework = rule_framework(core, o, model.framework());
  Skeleton out{{},
               stem_of(std::filesystem::path(files[0] + "/").parent_path().string()),
               in_options(report.arguments),
               report.extensions};
  std::vector<std::string> names;
  for (const UnknownType& u : report.unknown) {
    names.push_back(on_one_line(u.domain.empty() ? u.type : u.domain + "::" + u.type));
    if ((o.name.empty() || u.type == o.name) && (o.domain.empty() || u.domain == o.domain))
      out.operations.push_back(seen(u, framework));
  }
  for (SeenOperation& s : out.operations) s.built_in_framework = is_built_in(core, framework);
  if (names.empty()) throw UsageError(text("every layer of '", files[0], "' is known: nothing to generate"));
  if (out.operations.empty())
    throw UsageError(
        text("'", files[0], "' has no unknown layer", o.name.empty() ? "" : text(" of type '", o.name, "'"),
             o.domain.empty() ? "" : text(" of the domain '", o.domain, "'")),
        text("unknown layer types: ", join(names, ", ")));
  return out;
}

Skeleton from_name(const NewOptions& o) {
  if (o.name.empty()) throw UsageError("expected an operation name or --from-model FILE");
  if (!o.cut.request().empty())
    throw UsageError("--input, --output and the like require a model", "specify one with --from-model");
  each_option(o.model.read, [](const auto& row, const auto& value) {
    if (is_given(value))
      throw UsageError(text(flag_named(row.name), " requires a model"), "specify one with --from-model");
  });
  SeenOperation s;
  s.type = o.name;
  Core core = make_core(o.model);
  s.framework = o.framework.empty() ? "onnx" : full_name(core, o.framework);
  s.built_in_framework = is_built_in(core, s.framework);
  if (!o.domain.empty() && s.framework != "onnx")
    throw UsageError(text("--domain requires --framework onnx, got ", o.framework), "omit --domain");
  s.domain = o.domain;
  s.opset = o.domain.empty() ? "extension" : o.domain;
  s.like = 0;
  s.example = {Info{DType::f32, Shape{2, 3}}};
  return {{s}, "", s.framework == "caffe" ? "model.prototxt" : s.framework == "onnx" ? "model.onnx" : "model.pb", ""};
}

void write_files(const Scaffold& s, const std::string& folder, bool force) {
  make_folder(folder);
  for (const auto& [file, content] : s.files)
    if (std::filesystem::exists(folder + "/" + file) && !force)
      throw UsageError(text("'", folder, "/", file, "' already exists"), "use --force to overwrite it");
  for (const auto& [file, content] : s.files) write_file(folder + "/" + file, content);
}

void make(const NewOptions& o) {
  Skeleton skeleton = o.has_model() ? from_model(o) : from_name(o);
  Form form = o.python ? Form::python : o.gpu ? Form::cpp_with_opencl : Form::cpp;
  Scaffold s = scaffold(skeleton.operations, skeleton.title, form);
  std::string folder = o.folder.empty() ? s.library : o.folder;
  write_files(s, folder, o.force);

  std::string f = path_for_shell(folder),
              library = text(folder, o.python ? "/" + s.source : text("/build/lib", s.library, ".so")),
              all = skeleton.extensions.empty() ? library : text(skeleton.extensions, ',', library),
              build = o.python ? "" : text("graft build ", f),
              use = text("graft convert ", skeleton.arguments, " --extensions ", quoted_for_shell(all)),
              check = text("graft check ", path_for_shell(library), " ",
                           path_for_shell(text(folder, "/", s.library, ".test")));
  if (!skeleton.extensions.empty()) check += " --extensions " + quoted_for_shell(skeleton.extensions);
  if (o.json) {
    nlohmann::json written = nlohmann::json::array();
    for (const auto& [file, content] : s.files) written.push_back(folder + "/" + file);
    nlohmann::json out = {{"files", written}, {"library", library}, {"use", use}, {"check", check}};
    if (!build.empty()) out["build"] = build;
    return print_json(out);
  }
  for (const auto& [file, content] : s.files) std::printf("%s/%s\n", folder.c_str(), file.c_str());
  std::printf("\n");
  if (!build.empty()) std::printf("Build it:\n  %s\n", build.c_str());
  std::printf("Check it:\n  %s\nUse it:\n  %s\nImplement it:\n", check.c_str(), use.c_str());
  for (const std::string& function : s.to_write)
    std::printf("  %s in %s/%s\n", function.c_str(), folder.c_str(), s.source.c_str());
}

}  // namespace

void add_new(CLI::App& app) {
  auto o = std::make_shared<NewOptions>();
  CLI::App* c = app.add_subcommand("new", "generate an extension skeleton");
  c->add_option("name", o->name, "operation type (default with --from-model: all unknown types)");
  c->add_option("--from-model", o->model.files,
                "model files to take attributes, inputs, types and the import rule from")
      ->type_name("FILE");
  o->model.add_named_files(*c);
  o->model.add_extensions(*c);
  o->cut.add(*c);
  c->add_option("--output_dir,--output-dir,-o", o->folder, "output directory (default: name of the extension)")
      ->type_name("DIR");
  c->add_option("--domain", o->domain,
                "ONNX domain of the operation; with --from-model, select only layers of this domain")
      ->type_name("NAME");
  c->add_option("--framework", o->framework, "framework of the import rule if there is no model (default: onnx)");
  CLI::Option* gpu =
      c->add_flag("--gpu", o->gpu, "add OpenCL source for the GPU; an element-wise operation needs none");
  c->add_flag("--python", o->python, "generate Python instead of C++: nothing to build")->excludes(gpu);
  c->add_flag("--force", o->force, "overwrite existing files");
  c->add_flag("--json", o->json, "print JSON");
  c->callback([o] { make(*o); });
}

}  // namespace graft::cli
