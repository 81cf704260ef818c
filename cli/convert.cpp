// graft convert: converts a model to IR.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "base/file.hpp"
#include "base/log.hpp"
#include "base/tensor.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "cut_options.hpp"
#include "graph/text.hpp"
#include "ir/ir.hpp"
#include "ir/target.hpp"
#include "mo_options.hpp"
#include "passes/compress_to_f16.hpp"
#include "passes/pass.hpp"
#include "preprocess_options.hpp"
#include "terminal.hpp"

namespace graft::cli {
namespace {

struct ConvertOptions {
  ModelOptions model;
  CutOptions cut;
  PreprocessOptions before;
  MoOptions mo;
  IrTarget target;
  std::string folder = ".", name, explain;
  std::vector<std::string> disabled, enabled;
  bool stub_unknown = false, json = false, silent = false, list_passes = false, explain_passes = false;
};

nlohmann::json unknown_json(const ImportReport& report) {
  nlohmann::json out = nlohmann::json::array();
  for (const UnknownType& u : report.unknown) {
    nlohmann::json layers = nlohmann::json::array();
    for (const UnknownType::Layer& l : u.layers) {
      nlohmann::json inputs = nlohmann::json::array();
      for (const auto& i : l.inputs)
        inputs.push_back(i ? nlohmann::json{{"type", name_of(i->type)}, {"shape", shape_json(i->shape)}}
                           : nlohmann::json());
      nlohmann::json fields;
      for (const auto& [name, value] : l.fields)
        fields[name] = value.kind() == GRAFT_TENSOR ? text(info_of(value.as<Tensor>())) : print(value);
      for (const auto& [name, what] : l.other_fields) fields[name] = what;
      layers.push_back({{"name", l.name}, {"inputs", inputs}, {"outputs", l.outputs}, {"attributes", fields}});
    }
    out.push_back({{"type", u.type}, {"domain", u.domain}, {"count", u.layers.size()}, {"layers", layers}});
  }
  return out;
}

void print_passes(const Registry& registry) {
  for (const PassInfo& p : list_passes(registry))
    std::printf("%-24s %-6s %s%s%s\n", p.name.c_str(), p.phase.c_str(), p.doc.c_str(),
                p.on_request ? " (off by default)" : "", p.by == "built-in" ? "" : text(" (", p.by, ")").c_str());
}

void print_effect(const PassEffect& e) {
  constexpr size_t most = 12;
  std::printf("%-24s %zu change%s, %zu -> %zu nodes\n", e.pass.c_str(), e.changes, e.changes == 1 ? "" : "s",
              e.nodes_before, e.nodes_after);
  for (size_t i = 0; i < e.places.size() && i < most; ++i) std::printf("    %s\n", e.places[i].c_str());
  if (e.places.size() > most) std::printf("    and %zu more\n", e.places.size() - most);
}

// Reports progress, if requested.
class Progress {
 public:
  explicit Progress(const ConvertOptions& o) : lines_(o.mo.stream), on_((o.mo.progress || o.mo.stream) && !o.silent) {}
  void step(const char* what) {
    if (on_) std::fprintf(raw_stderr(), lines_ ? "%3d%%  %s\n" : "\r%3d%%  %-30s", 100 * done_ / steps, what);
    if (on_ && !lines_ && done_ == steps) std::fprintf(raw_stderr(), "\n");
    ++done_;
  }

 private:
  static constexpr int steps = 4;
  bool lines_, on_;
  int done_ = 0;
};

// The names of all nodes of a type; nodes in bodies are prefixed with the name of their owner.
void collect_named(const Graph& g, std::string_view type, const std::string& prefix, std::vector<std::string>& out) {
  for (NodeId id = 0; id < g.end_id(); ++id) {
    if (!g[id].alive) continue;
    if (g[id].is(type)) out.push_back(prefix + g[id].name);
    for (const Body& b : g[id].bodies) collect_named(*b.graph, type, prefix + g[id].name + "/", out);
  }
}

// The result of a conversion, for the report.
struct Done {
  std::string xml, bin;
  std::vector<PassEffect> effects;
  std::vector<std::string> transposes;  // that remain
  F16Report half;
  int version = 11, opset = 0;  // version of the IR; highest opset of its layers
  double seconds = 0;
};

std::string base_name(const ConvertOptions& o, const std::string& path) {
  if (!o.name.empty()) return o.name;
  // Named after the model file, not after the definition of a Caffe network.
  std::string stem = stem_of(!o.model.model.empty()                              ? o.model.model
                             : o.model.files.empty() && !o.model.weights.empty() ? o.model.weights[0]
                                                                                 : path);
  return stem.empty() || stem[0] == '.' ? "model" : stem;
}

void report_json(const Model::State& m, const Model& model, const Done& d, bool half) {
  nlohmann::json passes = nlohmann::json::array(), inputs = nlohmann::json::array(), outputs = nlohmann::json::array();
  for (const PassEffect& e : d.effects)
    passes.push_back({{"pass", e.pass},
                      {"changes", e.changes},
                      {"nodes_before", e.nodes_before},
                      {"nodes_after", e.nodes_after},
                      {"nodes", e.places}});
  for (const Port& p : model.inputs()) inputs.push_back(port_json(p));
  for (const Port& p : model.outputs()) outputs.push_back(port_json(p));
  nlohmann::json j{{"xml", d.xml},
                   {"bin", d.bin},
                   {"framework", m.framework},
                   {"ir_version", d.version},
                   {"opset", d.opset},
                   {"layers", m.graph.node_count()},
                   {"inputs", inputs},
                   {"outputs", outputs},
                   {"passes", passes},
                   {"transposes", d.transposes},
                   {"unknown", unknown_json(m.report)},
                   {"seconds", d.seconds},
                   {"peak_memory_bytes", peak_memory()}};
  add_groups(j, model);
  if (half) {
    nlohmann::json losses = nlohmann::json::array();
    for (const F16Report::Loss& l : d.half.losses)
      losses.push_back(
          {{"constant", l.constant}, {"elements", l.elements}, {"clipped", l.clipped}, {"vanished", l.vanished}});
    j["f16"] = {{"compressed", d.half.compressed}, {"kept", d.half.kept}, {"losses", losses}};
  }
  print_json(j);
}

void report_text(const ConvertOptions& o, const Model::State& m, const Done& d) {
  if (o.explain_passes) {
    for (const PassEffect& e : d.effects)
      if (e.changes) print_effect(e);
    for (const std::string& t : d.transposes) std::printf("%-24s %s\n", "remaining Transpose", t.c_str());
  }
  if (o.silent) return;
  for (const UnknownType& u : m.report.passed_on)
    note(text(u.type, ": passed through by the mapping file; running it requires an extension"));
  size_t overridden = 0;
  for (const Claim& c : m.report.claims) overridden += c.extension;
  std::printf("%s\n%s\n", d.xml.c_str(), d.bin.c_str());
  std::printf("%s model, %zu layers -> %zu IR layers%s%s\n", m.framework.c_str(), m.report.layers, m.graph.node_count(),
              overridden ? text(", ", overridden, " imported by extensions").c_str() : "",
              d.transposes.empty()       ? ""
              : d.transposes.size() == 1 ? ", 1 Transpose"
                                         : text(", ", d.transposes.size(), " Transposes").c_str());
  if (o.mo.half()) std::printf("%zu constants stored as f16, %zu kept as f32\n", d.half.compressed, d.half.kept);
  std::printf("IR version %d, opsets up to opset%d, converted in %.2f s, peak memory %.0f MB\n", d.version, d.opset,
              d.seconds, static_cast<double>(peak_memory()) / 1e6);
}

void warn_of_losses(const F16Report& r) {
  constexpr size_t most = 8;
  for (size_t i = 0; i < r.losses.size() && i < most; ++i) {
    const F16Report::Loss& l = r.losses[i];
    if (l.clipped)
      log_warning(l.clipped, " of ", l.elements, " values of '", l.constant,
                  "' are too large for f16 and were clipped");
    if (l.vanished)
      log_warning(l.vanished, " of ", l.elements, " values of '", l.constant, "' are too small for f16 and became 0");
  }
  if (r.losses.size() > most)
    log_warning("values of ", r.losses.size() - most, " more constants were clipped or became 0");
}

void check_options(const IrTarget& t, const Registry& registry) {
  if (t.version != 10 && t.version != 11)
    throw UsageError(text("--ir_version: expected 10 or 11, got ", t.version),
                     "OpenVINO supports IR version 10 since 2020.1 and version 11 since 2022.1");
  int newest = 0;
  for (const OpDef* op : registry.ops()) newest = std::max(newest, opset_number(op->opset()));
  if (t.max_opset && (*t.max_opset < 1 || *t.max_opset > newest))
    throw UsageError(text("--max_opset: expected 1 to ", newest, ", got ", *t.max_opset),
                     "opset8 was introduced in OpenVINO 2022.1, opset13 in 2023.2");
}

void convert(ConvertOptions o) {
  auto begin = std::chrono::steady_clock::now();
  if (o.silent) set_log_level(LogLevel::error);
  Core core = make_core(o.model);
  const Registry& registry = core.state()->registry;
  if (o.list_passes) return print_passes(registry);
  if (!o.explain.empty() && o.explain != "passes")
    throw UsageError(text("--explain: expected passes, got '", o.explain, "'"), "run graft explain for more details");
  o.explain_passes |= o.explain == "passes";
  check_options(o.target, registry);
  as_usage([&] {
    check_pass_names(registry, o.disabled);
    check_pass_names(registry, o.enabled);
    return 0;
  });
  PassOptions passes = o.mo.passes(registry);
  passes.disabled.insert(passes.disabled.end(), o.disabled.begin(), o.disabled.end());
  passes.enabled.insert(passes.enabled.end(), o.enabled.begin(), o.enabled.end());
  check_environment();
  for (const std::string& n : o.mo.notes) note(n);

  ImportOptions import;
  o.mo.add_to(o.model, import);
  import.cut = o.cut.request();
  import.disabled_passes = passes.disabled;
  Preprocess before = o.before.request();
  o.mo.check_framework(o.model.all_files());
  if (o.model.instead(core, import, o.json)) return;
  Progress progress(o);
  progress.step("reading and importing");
  Model& model = keep_to_the_end(load(core, o.model, import));
  Model::State& m = *model.state();
  auto warn = [&](const std::vector<std::string>& warnings) {
    for (const std::string& w : warnings) log_warning(w);
  };
  warn(m.report.warnings);
  if (!m.report.complete()) {
    if (!o.stub_unknown || !m.report.problems.empty()) {
      if (o.json) print_json({{"unknown", unknown_json(m.report)}});
      throw Error(
          ErrorKind::unsupported, text("nothing was written: ", verdict_text(m)),
          m.report.problems.empty() ? "use --stub-unknown to write the IR anyway and keep these layers unchanged" : "");
    }
    log_warning("the IR contains unknown layers\n", verdict_text(m));
  }
  o.mo.note_pipeline(model);
  progress.step("inserting preprocessing");
  before.channels_last = m.framework == "tensorflow" && !o.mo.keep_transposes;
  for (const CutInput& i : import.cut.inputs)
    for (const auto& asked : m.report.cut_inputs)
      if (i.listed && asked.first == i.place) before.order.push_back(asked);
  StepTime time;
  warn(preprocess(m.graph, registry, before));
  if (!before.empty()) log_info("inserted preprocessing", time.text());
  progress.step("running passes");
  warn(o.mo.unmatched(m.graph));
  Done d;
  passes.calls = pass_options(m.report).calls;
  passes.phases = PassPhases::writing;
  d.effects = run_passes(m.graph, registry, passes);
  d.effects.insert(d.effects.begin(), m.front.begin(), m.front.end());
  if (o.mo.half()) compress_to_f16(m.graph, registry, d.half);
  warn_of_losses(d.half);
  collect_named(m.graph, "Transpose", "", d.transposes);
  check_target(m.graph, registry, o.target);
  d.version = o.target.version, d.opset = highest_opset(m.graph);
  if (size_t lost = d.version == 10 ? count_rt_info(m.graph) : 0; lost)
    log_warning("IR version 10 cannot store runtime information (layouts, names of fused layers): omitted for ", lost,
                lost == 1 ? " layer or port" : " layers and ports");
  progress.step("writing the IR");
  std::string name = base_name(o, m.path);
  if (m.graph.name.empty()) m.graph.name = name;
  as_usage([&] {
    make_folder(o.folder);
    return 0;
  });
  d.xml = (std::filesystem::path(o.folder) / (name + ".xml")).string();
  time = {};
  d.bin = write_ir(m.graph, registry, d.xml, d.version);
  log_info("wrote '", d.xml, "' and '", d.bin, "'", time.text());
  progress.step("done");
  d.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (o.json) report_json(m, model, d, o.mo.half());
  else report_text(o, m, d);
}

}  // namespace

void add_convert(CLI::App& app) {
  auto o = std::make_shared<ConvertOptions>();
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
  c->add_option("--ir_version,--ir-version", o->target.version,
                "IR version: 11, or 10 for OpenVINO before 2022.1 (static shapes only, no runtime information)")
      ->type_name("N")
      ->capture_default_str()
      ->group("Output");
  c->add_option("--max_opset,--max-opset", o->target.max_opset,
                "reject layers that opset N cannot express (default: no limit); layers use the earliest opset that "
                "supports them")
      ->type_name("N")
      ->group("Output");
  c->add_flag("--stub-unknown", o->stub_unknown, "write layers of unknown type unchanged instead of failing")
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
