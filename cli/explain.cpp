// graft explain: which rule imported each layer and as what, which kernel runs it, and why faster kernels declined.
#include <cstdio>

#include "cut_options.hpp"
#include "inputs.hpp"

namespace graft::cli {
namespace {

struct ExplainOptions {
  ModelOptions model;
  CutOptions cut;
  std::string svg;
  std::vector<std::string> nodes, types;  // patterns; none: all
  bool json = false, as_text = false, dot = false, query = false;
};

// Shell patterns: '*' stands for any characters, '?' for one.
bool matches(std::string_view pattern, std::string_view name) {
  size_t p = 0, n = 0, star = std::string_view::npos, resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && (pattern[p] == name[n] || pattern[p] == '?')) ++p, ++n;
    else if (p < pattern.size() && pattern[p] == '*') star = p++, resume = n;
    else if (star != std::string_view::npos) p = star + 1, n = ++resume;
    else return false;
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

bool matches_any(const std::vector<std::string>& patterns, std::string_view name) {
  for (const std::string& p : patterns)
    if (matches(p, name)) return true;
  return patterns.empty();
}

// What --node and --type select of the layers in the file and of the operations that run.
struct Selection {
  const std::vector<std::string>&nodes, &types;
  bool all() const { return nodes.empty() && types.empty(); }
  size_t found = 0;

  void apply(Report& report) {
    std::erase_if(report.claims, [&](const Claim& c) {
      bool typed = matches_any(types, c.type);
      for (const std::string& made : c.operations) typed |= matches_any(types, made);
      return !(matches_any(nodes, c.layer) && typed);
    });
    found += report.claims.size();
  }
  void apply(Explanation& e) {
    std::erase_if(e.choices,
                  [&](const Choice& c) { return !(matches_any(nodes, c.node) && matches_any(types, c.type)); });
    found += e.choices.size();
  }
  void require_found() const {
    if (all() || found) return;
    std::vector<std::string> wanted(nodes);
    wanted.insert(wanted.end(), types.begin(), types.end());
    throw Error(ErrorKind::request,
                text("no layer of the file and no operation that runs matches '", join(wanted, "', '"), "'"),
                "`graft explain` without --node and --type lists them all; '*' stands for any characters");
  }
};

void print_import(const Model& model, const Report& report) {
  std::printf("%s: %s, %zu nodes\n", model.path().c_str(), model.framework().c_str(), model.node_count());
  std::vector<Port> inputs = model.inputs(), outputs = model.outputs();
  for (const Group& g : model.input_groups())
    std::printf("  input   %s  %s\n", g.name.c_str(), g.to_text(inputs).c_str());
  for (const Group& g : model.output_groups())
    std::printf("  output  %s  %s\n", g.name.c_str(), g.to_text(outputs).c_str());
  for (const std::string& o : report.overridden) std::printf("  %s\n", o.c_str());
  std::printf("%s%s", report.claims.empty() ? "" : "\nImport\n", in_options(report.claims_text()).c_str());
}

// The model, and what came of reading it.
nlohmann::json import_json(const Model& model, const Report& report) {
  nlohmann::json out{
      {"model", {{"path", model.path()}, {"framework", model.framework()}, {"nodes", model.node_count()}}},
      {"inputs", value_json(model.inputs())},
      {"outputs", value_json(model.outputs())},
      {"input_groups", value_json(model.input_groups())},
      {"output_groups", value_json(model.output_groups())}};
  add_fields(out, report);
  return out;
}

void print_query(const QueryResult& q, bool json) {
  if (json) print_json(value_json(q));
  else std::printf("%s", q.to_text().c_str());
}

// Compiled in the same way as in `run`.
Explanation explanation_of(const Core& core, const Model& model, const std::string& device, const Options& how) {
  std::vector<std::vector<int64_t>> dims;
  Notes notes;
  for (const Port& p : model.inputs()) dims.push_back(sample_dims(p, &notes));
  note_all(notes);
  return core.compile_model(model, device, how).explain(dims);
}

void draw(const ExplainOptions& o, const Core& core, const Model& model, const Options& how) {
  Explanation e = explanation_of(core, model, o.model.device, how);
  if (!o.svg.empty()) write_file(o.svg, e.to_svg());
  if (o.dot) std::printf("%s", e.to_dot().c_str());
}

void explain(const ExplainOptions& o) {
  Core core = make_core(o.model);
  ReadOptions read = o.model.reading(o.cut.request());
  if (o.model.ran_action(core, read, o.json)) return;
  Model model = load(core, o.model, read);
  if (o.as_text) return (void)std::printf("%s", model.to_text().c_str());
  Options how = o.model.compile_options();
  if (o.query) return print_query(core.query_model(model, o.model.device, how), o.json);
  if (o.dot || !o.svg.empty()) return draw(o, core, model, how);
  Report report = model.report();
  Selection selected{o.nodes, o.types};
  selected.apply(report);
  nlohmann::json json;
  if (o.json) json = import_json(model, report);
  else print_import(model, report);
  if (!report.complete()) {
    if (o.json) print_json(json);
    throw Error(ErrorKind::unsupported, report.to_text());
  }
  if (!report.passed_on.empty()) {
    if (o.json) return print_json(json);
    for (const UnknownType& u : report.passed_on)
      std::printf("\n%s: passed through; running it requires an extension\n", u.type.c_str());
    return;
  }
  Explanation e = explanation_of(core, model, o.model.device, how);
  selected.apply(e);
  selected.require_found();
  if (!o.json) return (void)std::printf("\n%s", in_options(e.to_text()).c_str());
  add_fields(json, e);
  print_json(json);
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
  o->model.layers.add(*c);
  c->add_flag("--json", o->json, "print JSON");
  CLI::Option* as_text = c->add_flag("--text", o->as_text, "print the graph in textual form and exit");
  CLI::Option* query =
      c->add_flag("--query", o->query, "print which layers the device supports, and why not, and exit");
  c->add_option("--node", o->nodes, "only layers and operations of this name; '*' stands for any characters")
      ->type_name("PATTERN")
      ->delimiter(',')
      ->excludes(as_text)
      ->excludes(query);
  c->add_option("--type", o->types, "only layers and operations of this type, of the framework or ours")
      ->type_name("PATTERN")
      ->delimiter(',')
      ->excludes(as_text)
      ->excludes(query);
  c->add_flag("--dot", o->dot, "print the graph that runs, colored by device, for Graphviz, and exit")
      ->excludes(as_text)
      ->excludes(query);
  c->add_option("--svg", o->svg, "draw that graph to a file and exit")
      ->type_name("FILE")
      ->excludes(as_text)
      ->excludes(query);
  c->callback([o] { explain(*o); });
}

}  // namespace graft::cli
