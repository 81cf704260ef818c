// graft explain: which rule imported each layer and as what, which kernel runs it, and why faster kernels declined.
#include <cstdio>

#include "base/text.hpp"
#include "cut_options.hpp"
#include "graph/text.hpp"
#include "inputs.hpp"

namespace graft::cli {
namespace {

struct ExplainOptions {
  ModelOptions model;
  CutOptions cut;
  bool json = false, as_text = false;
};

std::string list_of(const std::vector<Info>& infos) {
  std::string out;
  for (const Info& i : infos) out += (out.empty() ? "" : ", ") + text(i);
  return out;
}

void explain(const ExplainOptions& o) {
  Core core = make_core(o.model);
  ImportOptions import;
  import.cut = o.cut.request();
  if (o.model.instead(core, import, o.json)) return;
  Model model = load(core, o.model, import);
  Model::State& m = *model.state();
  if (o.as_text) {
    std::printf("%s", print(m.graph).c_str());
    return;
  }
  nlohmann::json report;
  if (!o.json) {
    std::printf("%s: %s, %zu nodes\n", m.path.c_str(), m.framework.c_str(), m.graph.node_count());
    std::vector<Port> inputs = model.inputs(), outputs = model.outputs();
    for (const Group& g : model.input_groups())
      std::printf("  input   %s  %s\n", g.name.c_str(), structure_text(g, inputs).c_str());
    for (const Group& g : model.output_groups())
      std::printf("  output  %s  %s\n", g.name.c_str(), structure_text(g, outputs).c_str());
    for (const OpDef* d : core.state()->registry.ops())
      if (d->overrides)
        std::printf("  %s (%s): built-in operation overridden by '%s'\n", std::string(d->name()).c_str(),
                    std::string(d->opset()).c_str(), d->source->path.c_str());
    if (!m.report.claims.empty()) std::printf("\nImport\n");
    for (const Claim& c : m.report.claims) {
      std::string made;
      for (const std::string& op : c.operations) made += (made.empty() ? "" : ", ") + op;
      std::printf("  %-28s %-22s by %-20s -> %s\n", c.layer.c_str(),
                  (c.domain.empty() ? c.type : c.domain + "::" + c.type).c_str(), c.by.c_str(),
                  made.empty() ? "nothing to compute" : made.c_str());
    }
    for (const std::string& w : m.report.warnings) std::printf("  warning: %s\n", w.c_str());
  } else {
    report["model"] = {{"path", m.path}, {"framework", m.framework}, {"nodes", m.graph.node_count()}};
    for (const Port& p : model.inputs()) report["inputs"].push_back(port_json(p));
    for (const Port& p : model.outputs()) report["outputs"].push_back(port_json(p));
    add_groups(report, model);
    report["import"] = nlohmann::json::array();
    for (const Claim& c : m.report.claims)
      report["import"].push_back(
          {{"layer", c.layer}, {"type", c.type}, {"domain", c.domain}, {"by", c.by}, {"operations", c.operations}});
    report["warnings"] = m.report.warnings;
  }
  if (!m.report.complete()) {
    if (o.json) print_json(report);
    throw Error(ErrorKind::unsupported, verdict_text(m));
  }
  if (!m.report.passed_on.empty()) {
    for (const UnknownType& u : m.report.passed_on) report["passed_on"].push_back(u.type);
    if (o.json) return print_json(report);
    for (const UnknownType& u : m.report.passed_on)
      std::printf("\n%s: passed through by the mapping file; running it requires an extension\n", u.type.c_str());
    return;
  }

  std::vector<Info> inputs;
  for (const Tensor& t : random_inputs(model.inputs(), 1)) inputs.push_back({t.type(), Shape::of(t.dims())});
  // Compiled in the same way as in `run`.
  Explanation e = core.compile_model(model, o.model.device).state()->program->explain(inputs);
  if (o.json) {
    report["device"] = o.model.device;
    report["memory"] = {
        {"arena", e.arena_bytes}, {"without_sharing", e.unshared_bytes}, {"constants", e.constant_bytes}};
    report["kernels"] = nlohmann::json::array();
    for (const Choice& c : e.choices) {
      nlohmann::json declined = nlohmann::json::array();
      for (const auto& [kernel, why] : c.declined) declined.push_back({{"kernel", kernel}, {"reason", why}});
      report["kernels"].push_back({{"node", c.node},
                                   {"type", c.type},
                                   {"opset", c.opset},
                                   {"device", c.device},
                                   {"kernel", c.kernel},
                                   {"note", c.note},
                                   {"declined", declined},
                                   {"inputs", list_of(c.inputs)},
                                   {"outputs", list_of(c.outputs)}});
    }
    return print_json(report);
  }
  std::printf("\nKernels on %s\n", o.model.device.c_str());
  for (const Choice& c : e.choices) {
    std::string how = c.kernel.empty() ? c.note : c.kernel + (c.device != o.model.device ? " (" + c.device + ")" : "");
    std::printf("  %-28s %-22s %-26s %s\n", c.node.c_str(), c.type.c_str(), how.c_str(), list_of(c.outputs).c_str());
    for (const auto& [kernel, why] : c.declined)
      std::printf("  %-28s   %s declined: %s\n", "", kernel.c_str(), why.c_str());
  }
  if (o.model.device != "REFERENCE")
    std::printf("\nMemory: %zu bytes for activations and scratch (%zu without memory reuse), %zu bytes of constants\n",
                e.arena_bytes, e.unshared_bytes, e.constant_bytes);
}

}  // namespace

void add_explain(CLI::App& app) {
  auto o = std::make_shared<ExplainOptions>();
  CLI::App* c = app.add_subcommand("explain", "explain how a model is imported, optimized and run, and why");
  o->model.add_files(*c);
  o->model.add_extensions(*c);
  o->model.add_device(*c);
  o->cut.add(*c);
  o->model.add_items(*c);
  o->model.teach.add(*c);
  c->add_flag("--json", o->json, "print JSON");
  c->add_flag("--text", o->as_text, "print the graph in textual form and exit");
  c->callback([o] { explain(*o); });
}

}  // namespace graft::cli
