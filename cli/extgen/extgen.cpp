// graft extgen: the extension generator of the Model Optimizer. Generates extractors, operations and kernels, from
// answers to questions (extgen new) or from a file (extgen CONFIG.json).
#include <algorithm>
#include <cstdio>

#include "command.hpp"
#include "config.hpp"
#include "generate.hpp"
#include "names.hpp"
#include "place.hpp"
#include "questions.hpp"

namespace graft::cli {
namespace {

using namespace extgen;

struct ExtgenOptions {
  std::string config, output_dir;
  bool caffe = false, mxnet = false, tf = false, onnx = false, kaldi = false;
  bool operation = false, cpu = false, gpu = false, vpu = false;
  bool force = false, json = false;

  Parts parts() const {
    Parts out;
    for (auto [asked, f] : {std::pair{caffe, Framework::caffe},
                            {mxnet, Framework::mxnet},
                            {tf, Framework::tf},
                            {onnx, Framework::onnx},
                            {kaldi, Framework::kaldi}})
      if (asked) out.extractors.insert(f);
    out.operation = operation;
    for (auto [asked, d] : {std::pair{cpu, Device::cpu}, {gpu, Device::gpu}, {vpu, Device::vpu}})
      if (asked) out.kernels.insert(d);
    return out;
  }
};

void print_parts(const Parts& p) {
  auto line = [](const std::string& what, bool yes) { std::printf("  %-22s %s\n", what.c_str(), yes ? "yes" : "no"); };
  std::printf("Parts to generate:\n");
  for (Framework f : all_frameworks) line(text(name_of(f), " extractor"), p.extractors.count(f) != 0);
  line("operation", p.operation);
  for (Device d : all_devices) line(text(name_of(d), " extension"), p.kernels.count(d) != 0);
}

std::string below(const std::string& folder, const std::string& path) {
  return folder == "." ? path : folder + (folder.ends_with('/') ? "" : "/") + path;
}

// What to do with the result of each part.
std::vector<std::string> next_steps(const Specification& spec, const std::string& folder) {
  std::vector<std::string> out;
  if (!spec.extractors.empty() || spec.operation)
    out.push_back(text("graft convert MODEL --extensions ", path_for_shell(below(folder, "user_mo_extensions"))));
  for (const Kernel& k : spec.kernels) {
    std::string kernels = below(folder, text("user_ie_extensions/", folder_of(k.device)));
    if (k.device == Device::cpu) out.push_back(text("graft build ", path_for_shell(kernels)));
    else out.push_back(text("graft extgen check ", path_for_shell(kernels)));
  }
  return out;
}

// `asks`: whether a person answers. Without one, existing files are kept, unless --force is given.
void write(const Specification& spec, const ExtgenOptions& o, const std::string& folder, Dialog* asks) {
  Generated g = generate(spec);
  std::vector<std::string> kept;
  for (const std::string& file : existing_files(g, folder)) {
    std::string path = below(folder, file);
    if (o.force || (asks && asks->yes(text("'", path, "' already exists. Do you want to overwrite it?")))) continue;
    kept.push_back(file);
    if (!asks) std::fprintf(stderr, "warning: '%s' already exists and is kept; --force overwrites it\n", path.c_str());
  }
  place(g, folder, kept);
  std::vector<std::string> steps = next_steps(spec, folder);
  if (o.json) {
    nlohmann::json files = nlohmann::json::array(), kept_files = nlohmann::json::array();
    for (const GeneratedFile& f : g.files)
      (std::find(kept.begin(), kept.end(), f.path) == kept.end() ? files : kept_files).push_back(below(folder, f.path));
    return print_json({{"files", files}, {"kept", kept_files}, {"next", steps}});
  }
  if (asks) std::printf("\n");
  for (const auto& [what, where] : g.summary)
    std::printf("The %s is in %s\n", what.c_str(), below(folder, where).c_str());
  std::printf("\nEdit the files, then:\n");
  for (const std::string& s : steps) std::printf("  %s\n", s.c_str());
}

void run_new(const ExtgenOptions& o) {
  Parts parts = o.parts();
  if (parts.extractors.empty() && !parts.operation && parts.kernels.empty())
    throw UsageError("nothing to generate: no part was selected",
                     "for example: graft extgen new --mo-tf-ext --mo-op --ie-cpu-ext");
  print_parts(parts);
  std::string folder = o.output_dir.empty() ? "." : o.output_dir;
  Dialog dialog;
  write(interview(dialog, parts), o, folder, &dialog);
}

void run_config(const ExtgenOptions& o) {
  Config c = read_config(o.config);
  std::string folder = !o.output_dir.empty() ? o.output_dir : !c.output_dir.empty() ? c.output_dir : ".";
  write(c.spec, o, folder, nullptr);
}

void add_output(CLI::App& c, ExtgenOptions& o) {
  c.add_option("--output_dir,--output-dir,-o", o.output_dir, "output directory (default: the current directory)")
      ->type_name("DIR");
  c.add_flag("--force", o.force, "overwrite existing files");
}

void add_extgen_new(CLI::App& extgen) {
  auto o = std::make_shared<ExtgenOptions>();
  CLI::App* c = extgen.add_subcommand("new", "ask what to generate; any combination of parts");
  auto part = [&](const char* name, bool& value, const char* what) { c->add_flag(name, value, what)->group("Parts"); };
  part("--mo-caffe-ext", o->caffe, "generate a Model Optimizer extractor for Caffe");
  part("--mo-mxnet-ext", o->mxnet, "generate a Model Optimizer extractor for MXNet");
  part("--mo-tf-ext", o->tf, "generate a Model Optimizer extractor for TensorFlow");
  part("--mo-onnx-ext", o->onnx, "generate a Model Optimizer extractor for ONNX");
  part("--mo-kaldi-ext", o->kaldi, "generate a Model Optimizer extractor for Kaldi");
  part("--mo-op", o->operation, "generate a Model Optimizer operation");
  part("--ie-cpu-ext", o->cpu, "generate an Inference Engine extension for the CPU");
  part("--ie-gpu-ext", o->gpu, "generate an Inference Engine extension for the GPU");
  part("--ie-vpu-ext", o->vpu, "generate an Inference Engine extension for the VPU");
  add_output(*c, *o);
  c->callback([o] { run_new(*o); });
}

}  // namespace

void add_extgen(CLI::App& app) {
  auto o = std::make_shared<ExtgenOptions>();
  CLI::App* c = app.add_subcommand("extgen", "generate Model Optimizer and Inference Engine extensions");
  c->add_option("config", o->config, "JSON file with the answers; without one, use extgen new")->type_name("FILE");
  add_output(*c, *o);
  c->add_flag("--json", o->json, "print JSON");
  c->require_subcommand(0, 1);
  add_extgen_new(*c);
  add_extgen_check(*c);
  c->callback([o, c] {
    if (!c->get_subcommands().empty()) return;
    if (o->config.empty())
      throw UsageError("expected 'new', 'check' or a configuration file", "run 'graft extgen new --help' for usage");
    run_config(*o);
  });
}

}  // namespace graft::cli
