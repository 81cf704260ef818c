// graft convert: a model becomes an IR.
#include <cstdio>
#include <filesystem>

#include "base/file.hpp"
#include "base/tensor.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "graph/text.hpp"
#include "ir/ir.hpp"
#include "passes/pass.hpp"

namespace graft::cli {
namespace {

struct ConvertOptions {
  ModelOptions model;
  std::string folder = ".", name;
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
      layers.push_back({{"name", l.name}, {"inputs", inputs}, {"outputs", l.outputs}, {"attributes", fields}});
    }
    out.push_back({{"type", u.type}, {"domain", u.domain}, {"count", u.layers.size()}, {"layers", layers}});
  }
  return out;
}

void print_passes(const Registry& registry) {
  for (const PassInfo& p : list_passes(registry))
    std::printf("%-24s %-6s %s%s%s\n", p.name.c_str(), p.phase.c_str(), p.doc.c_str(),
                p.on_request ? " (only on request)" : "", p.by == "built-in" ? "" : text(" (", p.by, ")").c_str());
}

void print_effect(const PassEffect& e) {
  constexpr size_t most = 12;
  std::printf("%-24s %zu changes, %zu -> %zu nodes\n", e.pass.c_str(), e.changes, e.nodes_before, e.nodes_after);
  for (size_t i = 0; i < e.places.size() && i < most; ++i) std::printf("    %s\n", e.places[i].c_str());
  if (e.places.size() > most) std::printf("    and %zu more\n", e.places.size() - most);
}

void convert(const ConvertOptions& o) {
  Core core = make_core(o.model);
  const Registry& registry = core.state()->registry;
  if (o.list_passes) return print_passes(registry);
  PassOptions passes;
  passes.disabled = o.disabled;
  passes.enabled = o.enabled;
  as_usage([&] {
    check_pass_names(registry, o.disabled);
    check_pass_names(registry, o.enabled);
    return 0;
  });
  Model& model = keep_to_the_end(load(core, o.model));
  Model::State& m = *model.state();
  for (const std::string& w : m.report.warnings)
    if (!o.silent) note("warning: " + w);
  if (!m.report.complete()) {
    if (!o.stub_unknown || !m.report.problems.empty()) {
      if (o.json) print_json({{"unknown", unknown_json(m.report)}});
      throw Error(
          ErrorKind::unsupported, text("nothing was written: ", verdict_text(m.report, m.path)),
          m.report.problems.empty() ? "--stub-unknown writes the IR anyway, with these layers as they are" : "");
    }
    if (!o.silent) note(text("warning: written with layers that nobody knows\n", verdict_text(m.report, m.path)));
  }
  std::vector<PassEffect> effects = run_passes(m.graph, registry, passes);
  effects.insert(effects.begin(), m.front.begin(), m.front.end());
  std::string name = o.name.empty() ? stem_of(m.path) : o.name;
  if (m.graph.name.empty()) m.graph.name = name;
  make_folder(o.folder);
  std::string xml = (std::filesystem::path(o.folder) / (name + ".xml")).string();
  std::string bin = write_ir(m.graph, core.state()->registry, xml);

  if (o.json) {
    nlohmann::json passes = nlohmann::json::array();
    for (const PassEffect& e : effects)
      passes.push_back({{"pass", e.pass},
                        {"changes", e.changes},
                        {"nodes_before", e.nodes_before},
                        {"nodes_after", e.nodes_after},
                        {"nodes", e.places}});
    print_json({{"xml", xml},
                {"bin", bin},
                {"framework", m.framework},
                {"layers", m.graph.node_count()},
                {"passes", passes},
                {"unknown", unknown_json(m.report)}});
    return;
  }
  if (o.explain_passes)
    for (const PassEffect& e : effects)
      if (e.changes) print_effect(e);
  if (o.silent) return;
  size_t overridden = 0;
  for (const Claim& c : m.report.claims)
    overridden += c.by != "built-in" && c.by != "nobody" && c.by != "function of the model";
  std::printf("%s\n%s\n", xml.c_str(), bin.c_str());
  std::printf("%s model, %zu layers -> %zu layers of the IR%s\n", m.framework.c_str(), m.report.layers,
              m.graph.node_count(), overridden ? text(", ", overridden, " by extensions").c_str() : "");
}

}  // namespace

void add_convert(CLI::App& app) {
  auto o = std::make_shared<ConvertOptions>();
  CLI::App* c = app.add_subcommand("convert", "turn a model into an IR (.xml and .bin)");
  o->model.add_files(*c);
  o->model.add_extensions(*c);
  o->model.add_shapes(*c);
  c->add_option("--output_dir,--output-dir,-o", o->folder, "folder for the IR")
      ->type_name("DIR")
      ->capture_default_str();
  c->add_option("--model_name,--model-name,-n", o->name, "name of the IR's files; the model's when not said")
      ->type_name("NAME");
  c->add_flag("--stub-unknown", o->stub_unknown, "writes layers that nobody knows as they are");
  c->add_option("--disable-pass", o->disabled, "leaves a pass out; all: every one")
      ->type_name("PASS")
      ->group("Passes")
      ->allow_extra_args(false);
  c->add_option("--enable-pass", o->enabled, "runs a pass that runs only on request")
      ->type_name("PASS")
      ->group("Passes")
      ->allow_extra_args(false);
  c->add_flag("--list-passes", o->list_passes, "lists the passes and ends")->group("Passes");
  c->add_flag("--explain-passes", o->explain_passes, "says what each pass changed, if it did")->group("Passes");
  c->add_flag("--json", o->json, "prints JSON");
  c->add_flag("--silent", o->silent, "prints only errors");
  c->callback([o] { convert(*o); });
}

}  // namespace graft::cli
