// graft convert: converts a model to IR.
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "command.hpp"
#include "cut_options.hpp"
#include "mo_options.hpp"
#include "preprocess_options.hpp"
#include "terminal.hpp"

namespace graft::cli {
namespace {

struct ConvertCommand {
  ModelOptions model;
  CutOptions cut;
  PreprocessOptions before;
  MoOptions mo;
  ConvertOptions to;
  std::string folder = ".", name, explain;
  std::vector<std::string> disabled, enabled;
  bool json = false, silent = false, list_passes = false, explain_passes = false;
};

nlohmann::json unknown_json(const std::vector<UnknownType>& unknown) {
  nlohmann::json out = nlohmann::json::array();
  for (const UnknownType& u : unknown) {
    nlohmann::json layers = nlohmann::json::array();
    for (const UnknownType::Layer& l : u.layers) {
      nlohmann::json inputs = nlohmann::json::array();
      for (const auto& i : l.inputs)
        inputs.push_back(i ? nlohmann::json{{"type", name_of(i->type)}, {"shape", shape_json(i->shape)}}
                           : nlohmann::json());
      nlohmann::json fields;
      for (const auto& [name, value] : l.fields)
        fields[name] = value.kind() == GRAFT_TENSOR ? text(value.as<Tensor>().info()) : print(value);
      for (const auto& [name, what] : l.other_fields) fields[name] = what;
      layers.push_back({{"name", l.name}, {"inputs", inputs}, {"outputs", l.outputs}, {"attributes", fields}});
    }
    out.push_back({{"type", u.type}, {"domain", u.domain}, {"count", u.layers.size()}, {"layers", layers}});
  }
  return out;
}

// Reports progress, if requested.
class Progress {
 public:
  explicit Progress(const ConvertCommand& o) : lines_(o.mo.stream), on_((o.mo.progress || o.mo.stream) && !o.silent) {}
  void step(std::string_view what) {
    if (on_)
      std::fprintf(raw_stderr(), lines_ ? "%3d%%  %s\n" : "\r%3d%%  %-30s", 100 * done_ / steps,
                   std::string(what).c_str());
    if (on_ && !lines_ && done_ == steps) std::fprintf(raw_stderr(), "\n");
    ++done_;
  }

 private:
  static constexpr int steps = 4;
  bool lines_, on_;
  int done_ = 0;
};

std::string base_name(const ConvertCommand& o, const std::string& path) {
  if (!o.name.empty()) return o.name;
  // Named after the model file, not after the definition of a Caffe network.
  std::string stem = stem_of(!o.model.model.empty()                              ? o.model.model
                             : o.model.files.empty() && !o.model.weights.empty() ? o.model.weights[0]
                                                                                 : path);
  return stem.empty() || stem[0] == '.' ? "model" : stem;
}

void report_json(const ConvertReport& d, double seconds) {
  nlohmann::json passes = nlohmann::json::array();
  for (const PassEffect& e : d.passes)
    passes.push_back({{"pass", e.pass},
                      {"changes", e.changes},
                      {"nodes_before", e.nodes_before},
                      {"nodes_after", e.nodes_after},
                      {"nodes", e.places}});
  nlohmann::json j{{"xml", d.xml},
                   {"bin", d.bin},
                   {"framework", d.framework},
                   {"ir_version", d.ir_version},
                   {"opset", d.opset},
                   {"layers", d.ir_layers},
                   {"inputs", ports_json(d.inputs)},
                   {"outputs", ports_json(d.outputs)},
                   {"passes", passes},
                   {"transposes", d.transposes},
                   {"unknown", unknown_json(d.unknown)},
                   {"seconds", seconds},
                   {"peak_memory_bytes", peak_memory()}};
  add_groups(j, d.input_groups, d.output_groups);
  if (d.f16) {
    nlohmann::json losses = nlohmann::json::array();
    for (const F16Report::Loss& l : d.f16->losses)
      losses.push_back(
          {{"constant", l.constant}, {"elements", l.elements}, {"clipped", l.clipped}, {"vanished", l.vanished}});
    j["f16"] = {{"compressed", d.f16->compressed}, {"kept", d.f16->kept}, {"losses", losses}};
  }
  print_json(j);
}

void report_text(const ConvertCommand& o, const ConvertReport& d, double seconds) {
  if (o.explain_passes) std::printf("%s", d.passes_text().c_str());
  if (o.silent) return;
  for (const UnknownType& u : d.passed_on) note(text(u.type, ": passed through; running it requires an extension"));
  std::string about = d.to_text();
  about.pop_back();  // the last line goes on
  std::printf("%s, converted in %.2f s, peak memory %.0f MB\n", about.c_str(), seconds,
              static_cast<double>(peak_memory()) / 1e6);
}

void convert(ConvertCommand o) {
  auto begin = std::chrono::steady_clock::now();
  if (o.silent) set_log_level(LogLevel::error);
  Core core = make_core(o.model);
  if (o.list_passes) {
    for (const PassInfo& p : core.passes()) std::printf("%s", p.to_text().c_str());
    return;
  }
  if (!o.explain.empty() && o.explain != "passes")
    throw UsageError(text("--explain: expected passes, got '", o.explain, "'"), "run graft explain for more details");
  o.explain_passes |= o.explain == "passes";
  as_usage([&] { o.mo.apply(core, o.to); });
  o.to.disabled_passes.insert(o.to.disabled_passes.end(), o.disabled.begin(), o.disabled.end());
  o.to.enabled_passes.insert(o.to.enabled_passes.end(), o.enabled.begin(), o.enabled.end());
  core.check(o.to);
  check_environment();
  note_all(o.mo.notes);

  ReadOptions read;
  o.mo.add_to(o.model, read);
  read.cut = o.cut.request();
  read.disabled_passes = o.to.disabled_passes;
  o.to.preprocess = o.before.request();
  o.mo.check_framework(o.model.all_files());
  if (o.model.instead(core, read, o.json)) return;
  Progress progress(o);
  o.to.progress = [&](std::string_view step) { progress.step(step); };
  progress.step("reading and importing");
  Model model = load(core, o.model, read);
  Report& report = keep_to_the_end(model.report());
  std::vector<Claim>().swap(report.claims);  // for graft explain; a large model has many
  for (const std::string& w : report.warnings) warn(w);
  note_all(report.notes);
  bool written = report.complete() || (o.to.stub_unknown && report.can_stub());
  if (!written && o.json) print_json({{"unknown", unknown_json(report.unknown)}});
  if (written) o.mo.note_pipeline(model);
  std::string name = base_name(o, model.path());
  if (model.name().empty()) o.to.name = name;
  std::string xml = (std::filesystem::path(o.folder) / (name + ".xml")).string();
  ConvertReport& done = keep_to_the_end(convert_model(std::move(model), xml, o.to));
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (o.json) report_json(done, seconds);
  else report_text(o, done, seconds);
}

}  // namespace

void add_convert(CLI::App& app) {
  auto o = std::make_shared<ConvertCommand>();
  CLI::App* c = app.add_subcommand("convert", "convert a model to IR (.xml and .bin)");
  o->model.add_files(*c, "--input_proto,-d");
  o->model.add_extensions(*c);
  o->cut.add(*c);
  o->model.add_items(*c);
  o->before.add(*c);
  o->mo.add(*c);
  o->model.teach.add(*c);
  c->add_option("--output_dir,--output-dir,-o", o->folder, "output directory")
      ->type_name("DIR")
      ->capture_default_str()
      ->group("Output");
  c->add_option("--model_name,--model-name,-n", o->name, "base name of the IR files (default: name of the model file)")
      ->type_name("NAME")
      ->group("Output");
  c->add_option("--ir_version,--ir-version", o->to.ir_version,
                "IR version: 11, or 10 for OpenVINO before 2022.1 (static shapes only, no runtime information)")
      ->type_name("N")
      ->capture_default_str()
      ->group("Output");
  c->add_option("--max_opset,--max-opset", o->to.max_opset,
                "reject layers that opset N cannot express (default: no limit); layers use the earliest opset that "
                "supports them")
      ->type_name("N")
      ->group("Output");
  c->add_option("--target", o->to.target,
                "openvino: express operations of the opset \"graft\" by those that OpenVINO has, or list those that "
                "cannot be expressed")
      ->type_name("RUNTIME")
      ->group("Output");
  c->add_flag("--stub-unknown", o->to.stub_unknown, "write layers of unknown type unchanged instead of failing")
      ->group("Output");
  c->add_option("--disable-pass", o->disabled, "skip a pass; all: skip every pass; may be repeated")
      ->type_name("PASS")
      ->group("Passes")
      ->allow_extra_args(false);
  c->add_option("--enable-pass", o->enabled, "run a pass that is off by default; may be repeated")
      ->type_name("PASS")
      ->group("Passes")
      ->allow_extra_args(false);
  c->add_flag("--list-passes", o->list_passes, "list the passes and exit")->group("Passes");
  c->add_flag("--explain-passes", o->explain_passes, "print what each pass changed and which Transposes remain")
      ->group("Passes");
  c->add_option("--explain", o->explain, "--explain passes is the same as --explain-passes")
      ->type_name("passes")
      ->group("Passes");
  c->add_flag("--json", o->json, "print JSON")->group("Report");
  c->add_flag("--silent", o->silent, "print only errors")->group("Report");
  c->callback([o] { convert(*o); });
}

}  // namespace graft::cli
