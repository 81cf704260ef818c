// graft convert: converts a model to IR.
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "command.hpp"
#include "cut_options.hpp"
#include "mo_options.hpp"
#include "option_rows.hpp"
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
  bool json = false, silent = false, list_passes = false, explain_passes = false;
  bool mo_report = false;  // called as mo, mo.py, mo_tf.py, ...
};

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
  nlohmann::json j = value_json(d);
  j["seconds"] = seconds, j["peak_memory_bytes"] = peak_memory();
  print_json(j);
}

// The lines that scripts look for in the output of the Model Optimizer.
void report_as_mo(const ConvertReport& d, double seconds, double megabytes) {
  auto file = [](const std::string& path) {
    return printable(std::filesystem::absolute(path).lexically_normal().string());
  };
  std::printf("[ SUCCESS ] Generated IR version %d model.\n", d.ir_version);
  std::printf("[ SUCCESS ] XML file: %s\n[ SUCCESS ] BIN file: %s\n", file(d.xml).c_str(), file(d.bin).c_str());
  std::printf("[ SUCCESS ] Total execution time: %.2f seconds.\n", seconds);
  std::printf("[ SUCCESS ] Memory consumed: %.0f MB.\n", megabytes);
}

void report_text(const ConvertCommand& o, const ConvertReport& d, double seconds) {
  if (o.explain_passes) std::printf("%s", d.passes_text().c_str());
  if (o.silent) return;
  for (const UnknownType& u : d.passed_on) note(text(u.type, ": passed through; running it requires an extension"));
  double megabytes = static_cast<double>(peak_memory()) / 1e6;
  if (o.mo_report) {
    std::printf("%s", in_options(d.summary()).c_str());
    return report_as_mo(d, seconds, megabytes);
  }
  std::string about = in_options(d.to_text());
  about.pop_back();  // the last line goes on
  std::printf("%s, converted in %.2f s, peak memory %.0f MB\n", about.c_str(), seconds, megabytes);
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
  core.check(o.to);
  check_environment();
  note_all(o.mo.notes);

  ReadOptions read = o.model.reading(o.cut.request());
  o.mo.add_to(o.model, read);
  read.disabled_passes = o.to.disabled_passes;
  o.before.apply(o.to.preprocess);
  o.mo.check_framework(core, o.model.all_files());
  if (o.model.ran_action(core, read, o.json)) return;
  Progress progress(o);
  o.to.progress = [&](std::string_view step) { progress.step(step); };
  progress.step("reading and importing");
  Model model = load(core, o.model, read);
  if (!o.mo.tensorboard.empty()) note(text("graph for TensorBoard: ", write_tensorboard(model, o.mo.tensorboard)));
  Report& report = keep_to_the_end(model.report());
  std::vector<Claim>().swap(report.claims);  // for graft explain; a large model has many
  for (const std::string& w : report.warnings) warn(w);
  note_all(report.notes);
  bool written = report.complete() || (o.to.stub_unknown && report.can_stub());
  if (!written && o.json) print_json(value_json(report));
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
  bind_rows(*c, o->to, "Output");
  o->mo.add(*c);
  o->model.layers.add(*c);
  c->add_option("--output_dir,--output-dir,-o", o->folder, "output directory")
      ->type_name("DIR")
      ->capture_default_str()
      ->group("Output");
  c->add_option("--model_name,--model-name,-n", o->name, "base name of the IR files (default: name of the model file)")
      ->type_name("NAME")
      ->group("Output");
  c->add_flag("--list-passes", o->list_passes, "list the passes and exit")->group("Passes");
  c->add_flag("--explain-passes", o->explain_passes, "print what each pass changed and which Transposes remain")
      ->group("Passes");
  c->add_option("--explain", o->explain, "--explain passes is the same as --explain-passes")
      ->type_name("passes")
      ->group("Passes");
  c->add_flag("--json", o->json, "print JSON")->group("Report");
  c->add_flag("--silent", o->silent, "print only errors")->group("Report");
  c->add_flag("--mo-report", o->mo_report)->group("");  // by cli/mo.py
  c->callback([o] { convert(*o); });
}

}  // namespace graft::cli
