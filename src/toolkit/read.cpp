#include "toolkit/read.hpp"

#include <filesystem>
#include <set>

#include "base/file.hpp"
#include "base/guard.hpp"
#include "base/request.hpp"
#include "base/text.hpp"
#include "graph/text.hpp"
#include "import/stub.hpp"
#include "infer/complete.hpp"
#include "infer/inference.hpp"
#include "ir/ir.hpp"
#include "passes/remove_memory.hpp"
#include "toolkit/load_log.hpp"

namespace graft {
namespace {

void forget_declared(Graph& g) {
  for (NodeId id = 0; id < g.end_id(); ++id) {
    for (Output& o : g[id].outputs) o.declared.reset();
    for (Body& b : g[id].bodies) forget_declared(*b.graph);
  }
}

// Refuses options that are for models of another framework.
void require_framework(const ReadOptions& options, std::string_view framework) {
  each_option(options, [&](const auto& row, const auto& value) {
    std::vector<std::string_view> of = split(row.framework, ',');
    if (row.framework[0] == 0 || std::find(of.begin(), of.end(), framework) != of.end() || !is_given(value)) return;
    std::vector<std::string> titles;
    for (std::string_view name : of) titles.push_back(framework_title(std::string(name)));
    throw RequestError(text(Remedy{row.name, "", ""}, " applies only to models of ", join(titles, " and "),
                            ", got a model of ", framework_title(std::string(framework))));
  });
}

void note_cut(ImportReport& report, CutEffect effect) {
  report.warnings.insert(report.warnings.begin(), effect.warnings.begin(), effect.warnings.end());
  report.cut_inputs = std::move(effect.inputs);
  report.more_outputs = std::move(effect.more_outputs);
}

// Raw passes in the form of the others.
std::vector<PassEffect> raw_effects(const std::vector<RawPassEffect>& list) {
  std::vector<PassEffect> out;
  for (const RawPassEffect& r : list) {
    PassEffect& e = out.emplace_back(PassEffect{r.name, 0, r.layers_before, r.layers_after, {}});
    for (const std::string& l : r.removed) e.places.push_back("removed " + l);
    for (const std::string& l : r.changed) e.places.push_back("changed " + l);
    for (const std::string& l : r.added) e.places.push_back("added " + l);
    e.changes = e.places.size();
  }
  return out;
}

// Runs the front passes of extensions before unknown layers are reported: a layer they replace is no longer unknown.
void run_front(ModelOrigin& m, Graph& graph) {
  PassOptions options = pass_options(m.report, m.options.limits);
  options.phases = PassPhases::front;
  options.disabled = m.options.read.disabled_passes;
  m.front = run_passes(graph, *m.registry, options);
  size_t changes = 0;
  for (const PassEffect& e : m.front) changes += e.changes;
  std::vector<PassEffect> raw = raw_effects(m.report.raw_passes);
  m.front.insert(m.front.begin(), raw.begin(), raw.end());
  if (!changes) return;
  std::set<std::string> opaque;
  for (NodeId id = 0; id < graph.end_id(); ++id)
    if (graph[id].alive && graph[id].opaque) opaque.insert(graph[id].name);
  auto gone = [&](const auto& layer) { return !opaque.count(layer); };
  for (UnknownType& u : m.report.unknown)
    std::erase_if(u.layers, [&](const UnknownType::Layer& l) { return gone(l.name); });
  std::erase_if(m.report.unknown, [](const UnknownType& u) { return u.layers.empty(); });
  // An input whose structure is not given is no layer that could be replaced.
  std::erase_if(m.report.problems,
                [&](const Problem& p) { return p.type != "input" && p.type != "output" && gone(p.layer); });
}

}  // namespace

ImportOptions with_sizes(ImportOptions options, const std::vector<std::string>& files) {
  if (options.limits.nodes != nodes_by_size) return options;
  // A node takes about three kilobytes while a model is converted: a file of tiny ones would take 300 times its size.
  constexpr uint64_t always = 70'000, bytes_per_node = 96;
  uint64_t bytes = 0;
  std::error_code ec;
  auto add = [&](const std::filesystem::path& f) {
    if (uint64_t size = std::filesystem::file_size(f, ec); !ec) bytes += size;
  };
  for (const std::string& f : files) {
    if (!std::filesystem::is_directory(f, ec)) add(f);
    else  // the graph is directly inside, its weights may be deeper
      for (const auto& e : std::filesystem::directory_iterator(f, ec)) add(e.path());
  }
  options.limits.nodes = std::min(Limits().nodes, always + bytes / bytes_per_node);
  return options;
}

// The model, or the requested part of it.
RawModel read_part(const Registry& registry, const ModelFormat& format, const std::vector<std::string>& files,
                   const ImportOptions& options, CutEffect& effect) {
  const ReadOptions& read = options.read;
  require_framework(read, format.name());
  bool streaming = read.streaming || read.remove_memory;
  if (streaming && !(read.cut.outputs.empty() && read.cut.more_outputs.empty()))
    throw RequestError("other outputs than those of the model are not available for streaming: their delay differs");
  RawModel raw = format.of->read(files, read, options.limits);
  if (read.cut.empty()) return raw;
  auto import_whole = [&](const RawModel& whole) {
    return with_context([&] { return import_model(whole, registry, options).graph; },
                        [] { return "importing the whole model to infer the shapes at the cut"; });
  };
  effect = cut_model(raw, read.cut, import_whole, options.limits);
  return raw;
}

void reshape_inputs(Graph& g, const Registry& registry, const std::map<std::string, Shape>& shapes,
                    const std::map<std::string, DType>& types, const Limits& limits) {
  std::vector<Port> ports = input_ports(g);
  for (const auto& [name, shape] : shapes) g[g.parameters()[find_port(ports, name, "input")]].attrs["shape"] = shape;
  for (const auto& [name, type] : types)
    g[g.parameters()[find_port(ports, name, "input")]].attrs["element_type"] = type;
  forget_declared(g);
  Inference(registry, g, limits).infer_all();
}

namespace {

// Reads and imports; fills in what the origin says about the import.
Graph import_files(ModelOrigin& m, const ModelFormat& format) {
  CutEffect cut;
  StepTime time;
  RawModel raw = read_part(*m.registry, format, m.files, m.options, cut);
  log_read(raw, time);
  m.path = raw.path, m.conventions = raw.conventions;
  auto streaming = raw.streaming;
  time = {};
  Imported imported = import_replaced(std::move(raw), *m.registry, m.options);
  Graph graph = std::move(imported.graph);
  m.report = std::move(imported.report);
  if (streaming) {
    auto [left, right] = *streaming;
    graph.rt_info = streaming_info({left, right});
    m.report.notes.push_back(text("for chunks of an utterance: repeat its first frame ", left,
                                  " times before it and its last frame ", right,
                                  " times behind it, and drop the first ", left + right, " results"));
  }
  if (m.options.read.remove_memory)
    for (const std::string& pair : remove_memory(graph)) m.report.warnings.push_back(pair);
  name_cut_nodes(graph, cut);
  note_cut(m.report, std::move(cut));
  log_imported(graph, m.report, time);
  run_front(m, graph);
  return graph;
}

// Imports what was left as a stub when the IR was written: an extension may define it now.
void continue_import(ModelOrigin& m, Graph& graph) {
  Graph imported = graph.clone();
  ImportReport report = import_stubs(imported, *m.registry, m.options);
  if (count_stubs(imported) < count_stubs(graph)) {  // otherwise it stays as it was written
    graph = std::move(imported);
    forget_declared(graph);
  }
  for (UnknownType& u : report.unknown) m.report.unknown.push_back(std::move(u));
  m.report.problems = std::move(report.problems), m.report.claims = std::move(report.claims);
  m.report.warnings = std::move(report.warnings);
  run_front(m, graph);
}

// An IR, or a graph in the textual form.
Graph read_graph(ModelOrigin& m, ModelFormat::Kind format) {
  StepTime time;
  const ImportOptions& options = m.options;
  if (options.mapping || options.replacements)
    throw_user("'", m.files[0],
               "' is already converted; mapping files and replacements apply only to framework models");
  if (format == ModelFormat::ir && m.files.size() > 2)
    throw_user("expected one weights file for an IR, got ", m.files.size() - 1);
  Graph graph;
  if (format == ModelFormat::ir) {
    graph = read_ir(m.files[0], m.files.size() > 1 ? m.files[1] : "", *m.registry, options.limits);
    m.report.unknown = opaque_layers(graph);
    if (count_stubs(graph)) continue_import(m, graph);
  } else {
    graph = parse_graph(read_text_file(m.files[0]), options.limits);
    complete(graph, *m.registry, Extras::refuse, options.limits);
  }
  check_files();
  log_info("read '", m.path, "': ", m.framework, ", ", graph.node_count(), " nodes", time.text());
  if (!(options.input_forms.empty() && options.input_values.empty()))
    throw Error(ErrorKind::user,
                text("'", m.files[0], "' is already converted, the lengths of its sequences are fixed"),
                "convert the original model again for other lengths or values");
  const CutRequest& cut = options.read.cut;
  if (!cut.empty()) {
    note_cut(m.report, cut_graph(graph, cut));
    if (!cut.keeps_inputs()) reshape_inputs(graph, *m.registry, {}, {}, options.limits);
    if (!m.report.unknown.empty() && !count_stubs(graph)) m.report.unknown = opaque_layers(graph);
  }
  return graph;
}

}  // namespace

Model load_model(std::shared_ptr<const Registry> registry, const std::vector<std::string>& files,
                 const ImportOptions& options) {
  if (files.empty()) throw_user("expected a model file, got none");
  auto m = std::make_shared<ModelOrigin>();
  m->registry = std::move(registry);
  m->files = files;
  m->options = with_sizes(options, files);
  m->path = files[0];
  ModelFormat format = recognize(*m->registry, files[0]);
  m->framework = format.name();
  Graph graph = format.is_framework() ? import_files(*m, format) : read_graph(*m, format.kind);
  check_files();
  m->report.layers = format.is_framework() && !m->report.claims.empty() ? m->report.claims.size() : graph.node_count();
  if (!format.is_framework() && !(options.input_shapes.empty() && options.input_types.empty()))
    reshape_inputs(graph, *m->registry, options.input_shapes, options.input_types, options.limits);
  if (options.read.strict && !m->report.warnings.empty())
    throw_user("reading the model gives ", m->report.warnings.size(),
               m->report.warnings.size() == 1 ? " warning: " : " warnings: ", join(m->report.warnings, "; "));
  auto state = std::make_shared<Model::State>();
  state->origin = std::move(m);
  state->graph = std::make_shared<const Graph>(std::move(graph));
  return Model(std::move(state));
}

}  // namespace graft
