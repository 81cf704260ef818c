#include "toolkit/load.hpp"

#include <filesystem>
#include <set>
#include <unordered_map>

#include "base/file.hpp"
#include "base/guard.hpp"
#include "base/temporary.hpp"
#include "base/tensor.hpp"
#include "base/text.hpp"
#include "graph/text.hpp"
#include "import/mapping.hpp"
#include "infer/complete.hpp"
#include "infer/inference.hpp"
#include "ir/ir.hpp"
#include "passes/pass.hpp"
#include "readers/caffe.hpp"
#include "readers/onnx.hpp"
#include "readers/tensorflow.hpp"
#include "toolkit/load_log.hpp"

namespace graft {

std::string_view format_name(Format f) {
  switch (f) {
    case Format::onnx: return "onnx";
    case Format::caffe: return "caffe";
    case Format::ir: return "ir";
    case Format::tensorflow: return "tensorflow";
    case Format::text: return "text";
  }
  return "";
}

Format recognise(const std::string& path) {
  if (std::filesystem::is_directory(path)) {
    if (std::filesystem::exists(path + "/saved_model.pb") || std::filesystem::exists(path + "/saved_model.pbtxt"))
      return Format::tensorflow;
    throw Error(ErrorKind::unsupported, text("the folder '", path, "' contains no saved_model.pb"),
                "a TensorFlow SavedModel is the only model format that is a folder");
  }
  auto file = MappedFile::open(path);
  std::string_view bytes = file->chars();
  if (bytes.empty()) throw_user("'", path, "' is empty");
  if (looks_like_ir(bytes)) return Format::ir;
  std::string_view head = trim(bytes.substr(0, 4096));
  while (head.starts_with('#')) head = trim(head.substr(std::min(head.find('\n'), head.size())));
  if (head.starts_with("graph")) return Format::text;
  if (looks_like_caffe_text(bytes) || looks_like_caffe_weights(bytes)) return Format::caffe;
  if (looks_like_tensorflow(bytes)) return Format::tensorflow;  // before ONNX, whose check accepts nearly anything
  if (looks_like_onnx(bytes)) return Format::onnx;
  // The content is not recognized. Where the file extension suggests a format, let its reader report the error.
  std::string ending = extension_of(path);
  if (ending == ".prototxt" || ending == ".caffemodel") return Format::caffe;
  if (ending == ".onnx") return Format::onnx;
  throw Error(ErrorKind::unsupported, text("'", path, "' is not in a supported model format"),
              "supported are ONNX (.onnx), Caffe (.prototxt with .caffemodel), TensorFlow (frozen .pb, SavedModel) and "
              "IR (.xml with .bin)");
}

// An IR stores every attribute as a string; without a schema its kind has to be guessed from the string.
Attribute guessed(const Attribute& a) {
  if (a.kind() != GRAFT_TEXT) return a;
  std::vector<int64_t> whole;
  std::vector<double> numbers;
  std::string_view s = trim(a.as<std::string>());
  for (std::string_view part : split(s, ',')) {
    auto number = parse_number(trim(part));
    if (!number) return a;
    numbers.push_back(*number);
    if (auto n = parse_int(trim(part))) whole.push_back(*n);
  }
  if (numbers.empty()) return a;
  bool list = numbers.size() > 1;
  if (whole.size() == numbers.size()) return list ? Attribute(whole) : Attribute(whole[0]);
  return list ? Attribute(numbers) : Attribute(numbers[0]);
}

std::vector<UnknownType> opaque_layers(const Graph& g) {
  std::vector<UnknownType> out;
  std::unordered_map<std::string, size_t> groups;
  for (NodeId id : g.topological_order()) {
    const Node& n = g[id];
    for (const Body& b : n.bodies)
      for (UnknownType& u : opaque_layers(*b.graph)) out.push_back(std::move(u));
    if (!n.opaque) continue;
    auto [place, fresh] = groups.emplace(text(n.opset, '|', n.type), out.size());
    if (fresh) out.push_back(UnknownType{n.type, n.opset, 1, {}});
    UnknownType* group = &out[place->second];
    UnknownType::Layer layer{n.name, {}, n.outputs.size(), {}};
    for (const auto& [name, value] : n.attrs) layer.fields.emplace_back(name, guessed(value));
    for (ValueId v : n.inputs) layer.inputs.push_back(v.present() ? std::optional(g.info(v)) : std::nullopt);
    group->layers.push_back(std::move(layer));
  }
  return out;
}

namespace {

void forget_declared(Graph& g) {
  for (NodeId id = 0; id < g.end_id(); ++id) {
    for (Output& o : g[id].outputs) o.declared.reset();
    for (Body& b : g[id].bodies) forget_declared(*b.graph);
  }
}

// The definition and the weights, in either order. Weights alone have a definition next to them, or inside.
RawModel read_caffe_files(const std::vector<std::string>& files) {
  std::string definition, weights;
  for (const std::string& f : files) {
    bool is_text = looks_like_caffe_text(MappedFile::open(f)->chars()) || extension_of(f) == ".prototxt";
    std::string& place = is_text ? definition : weights;
    if (!place.empty())
      throw_user("expected one Caffe ", &place == &weights ? "weights" : "definition", " file, got '", place, "' and '",
                 f, "'");
    place = f;
  }
  if (definition.empty() && extension_of(weights) == ".caffemodel") {
    std::string beside = weights.substr(0, weights.size() - 11) + ".prototxt";
    std::error_code ec;
    if (std::filesystem::is_regular_file(beside, ec)) definition = beside;
  }
  return read_caffe(definition, weights);
}

// Further files of ONNX and TensorFlow are data that the model itself refers to; only a checkpoint may be passed.
RawModel read_framework(Format format, const std::vector<std::string>& files, ReadRequest request) {
  if (format == Format::onnx) return read_onnx(files[0]);
  if (format == Format::caffe) return read_caffe_files(files);
  for (size_t i = 1; i < files.size(); ++i)
    if (extension_of(files[i]) == ".index" && stem_of(files[0]) != "saved_model") request.checkpoint = files[i];
  return read_tensorflow(files[0], request);
}

void note_cut(ImportReport& report, CutEffect effect) {
  report.warnings.insert(report.warnings.begin(), effect.warnings.begin(), effect.warnings.end());
  report.cut_inputs = std::move(effect.inputs);
  report.more_outputs = std::move(effect.more_outputs);
}

// Runs the front passes of extensions before unknown layers are reported: a layer they replace is no longer unknown.
void run_front(Model::State& m, const ImportOptions& asked) {
  PassOptions options = pass_options(m.report);
  options.phases = PassPhases::front;
  options.disabled = asked.disabled_passes;
  m.front = run_passes(m.graph, m.core->registry, options);
  size_t changes = 0;
  for (const PassEffect& e : m.front) changes += e.changes;
  if (!changes) return;
  std::set<std::string> opaque;
  for (NodeId id = 0; id < m.graph.end_id(); ++id)
    if (m.graph[id].alive && m.graph[id].opaque) opaque.insert(m.graph[id].name);
  auto gone = [&](const auto& layer) { return !opaque.count(layer); };
  for (UnknownType& u : m.report.unknown)
    std::erase_if(u.layers, [&](const UnknownType::Layer& l) { return gone(l.name); });
  std::erase_if(m.report.unknown, [](const UnknownType& u) { return u.layers.empty(); });
  // An input whose structure is not given is no layer that could be replaced.
  std::erase_if(m.report.problems, [&](const Problem& p) { return p.type != "input" && p.type != "output" && gone(p.layer); });
}

// The model, or the requested part of it.
RawModel read_part(const Core::State& core, Format format, const std::vector<std::string>& files,
                   const ImportOptions& options, CutEffect& effect) {
  RawModel raw = read_framework(format, files, options.read);
  if (options.cut.empty()) return raw;
  effect = cut_model(raw, options.cut, [&](const RawModel& whole) {
    return with_context([&] { return import_model(whole, core.registry, options).graph; },
                        [] { return "importing the whole model to infer the shapes at the cut"; });
  });
  return raw;
}

bool is_framework(Format f) { return f == Format::onnx || f == Format::caffe || f == Format::tensorflow; }

// Applies the options that change a model before its import, and returns the outcomes.
std::vector<ReplacementOutcome> prepare(RawModel& raw, const ImportOptions& options) {
  if (options.mapping && raw.framework != "caffe")
    throw Error(ErrorKind::user,
                text("the mapping file '", options.mapping->file, "' applies to Caffe models only, got framework ",
                     raw.framework),
                "an extension can add layers of any framework");
  if (!options.replacements) return {};
  return apply_replacements(raw, *options.replacements);
}

// A replacement that contradicts the model is an error; so is one that matches nothing, unless that is allowed.
void take_over(const std::vector<ReplacementOutcome>& outcomes, const ImportOptions& options, ImportReport& report) {
  std::string unmatched;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const ReplacementOutcome& o = outcomes[i];
    const Replacement& entry = options.replacements->entries[i];
    if (!o.errors.empty()) throw o.errors[0];
    if (o.kind == Replacement::general) report.general.push_back({o.id, options.replacements->file, entry.attributes});
    for (const std::string& why : o.missed) {
      std::string line = text("replacement '", o.id, "' of ", options.replacements->file, " does not match: ", why);
      if (o.matches.empty() && !options.allow_unmatched) unmatched += (unmatched.empty() ? "" : "\n") + line;
      else report.warnings.push_back(line);
    }
  }
  if (!unmatched.empty())
    throw Error(ErrorKind::user, unmatched,
                "--dry-run shows what each entry matches, --allow-unmatched converts anyway");
}

// Replacements that can be applied: without sub-graphs that no rule expands and general ones without a pass of their
// name. A warning names each skipped one.
std::shared_ptr<const ReplacementConfig> usable(const ReplacementConfig& all, const Registry& registry,
                                                std::vector<std::string>& warnings) {
  std::vector<PassInfo> passes = list_passes(registry);
  auto out = std::make_shared<ReplacementConfig>();
  out->file = all.file;
  for (const Replacement& r : all.entries) {
    bool taken = r.kind == Replacement::general
                     ? std::any_of(passes.begin(), passes.end(),
                                   [&](const PassInfo& p) { return p.configured && p.name == r.id; })
                     : !r.op.empty() || !registry.rules("replacement", "", r.id).empty();
    if (taken) out->entries.push_back(r);
    else
      warnings.push_back(text("replacement '", r.id, "' of ", all.file, " is skipped: no extension has a ",
                              r.kind == Replacement::general ? "pass" : "rule", " of this name"));
  }
  return out;
}

RawModel read_for_replacing(const Core::State& core, const std::vector<std::string>& files,
                            const ImportOptions& options) {
  Format format = recognise(files.at(0));
  if (!is_framework(format))
    throw_user("'", files[0], "' is already converted; replacements apply only to framework models");
  CutEffect cut;
  return read_part(core, format, files, options, cut);
}

}  // namespace

PassOptions pass_options(const ImportReport& report) {
  PassOptions options;
  for (const GeneralReplacement& g : report.general) options.calls.push_back({g.id, g.file, g.attributes});
  return options;
}

Imported import_taught(RawModel raw, const Registry& registry, const ImportOptions& options) {
  ImportReport taught;
  ImportOptions asked = options;
  if (asked.replacements && asked.allow_unmatched)
    asked.replacements = usable(*asked.replacements, registry, taught.warnings);
  take_over(prepare(raw, asked), asked, taught);
  Imported out = import_model(raw, registry, asked);
  out.report.general = std::move(taught.general);
  out.report.warnings.insert(out.report.warnings.begin(), taught.warnings.begin(), taught.warnings.end());
  return out;
}

std::vector<ReplacementOutcome> try_replacements(const Core::State& core, const std::vector<std::string>& files,
                                                 const ImportOptions& options) {
  RawModel raw = read_for_replacing(core, files, options);
  return prepare(raw, options);
}

void update_replacements(const Core::State& core, const std::vector<std::string>& files, const ImportOptions& options,
                         const std::string& path) {
  RawModel raw = read_for_replacing(core, files, options);
  std::string updated = updated_replacements(raw, MappedFile::open(path)->chars(), path);
  OutputFile out(path);
  out.write(updated);
  out.commit();
}

void reshape_inputs(Graph& g, const Registry& registry, const std::map<std::string, Shape>& shapes,
                    const std::map<std::string, DType>& types) {
  std::vector<Port> ports = input_ports(g);
  for (const auto& [name, shape] : shapes) g[g.parameters()[find_port(ports, name, "input")]].attrs["shape"] = shape;
  for (const auto& [name, type] : types)
    g[g.parameters()[find_port(ports, name, "input")]].attrs["element_type"] = type;
  forget_declared(g);
  Inference(registry, g).infer_all();
}

std::shared_ptr<Model::State> load_model(const std::shared_ptr<Core::State>& core,
                                         const std::vector<std::string>& files, const ImportOptions& options) {
  if (files.empty()) throw_user("expected a model file, got none");
  auto m = std::make_shared<Model::State>();
  m->core = core;
  m->path = files[0];
  m->arguments = load_arguments(files, options);
  StepTime whole;
  Format format = recognise(files[0]);
  m->framework = format_name(format);
  if (!is_framework(format) && (options.mapping || options.replacements))
    throw_user("'", files[0], "' is already converted; mapping files and replacements apply only to framework models");
  switch (format) {
    case Format::onnx:
    case Format::caffe:
    case Format::tensorflow: {
      CutEffect cut;
      StepTime time;
      RawModel raw = read_part(*core, format, files, options, cut);
      log_read(raw, time);
      m->path = raw.path;
      time = {};
      Imported imported = import_taught(std::move(raw), core->registry, options);
      m->graph = std::move(imported.graph);
      m->report = std::move(imported.report);
      name_cut_nodes(m->graph, cut);
      note_cut(m->report, std::move(cut));
      log_imported(m->graph, m->report, time);
      run_front(*m, options);
      break;
    }
    case Format::ir:
      if (files.size() > 2) throw_user("expected one weights file for an IR, got ", files.size() - 1);
      m->graph = read_ir(files[0], files.size() > 1 ? files[1] : "", core->registry);
      m->report.unknown = opaque_layers(m->graph);
      break;
    case Format::text:
      m->graph = parse_graph(read_text_file(files[0]));
      complete(m->graph, core->registry);
      break;
  }
  check_files();
  bool graph = format == Format::ir || format == Format::text;
  if (graph) log_info("read '", m->path, "': ", m->framework, ", ", m->graph.node_count(), " nodes", whole.text());
  if (graph && !(options.input_forms.empty() && options.input_values.empty()))
    throw Error(ErrorKind::user, text("'", files[0], "' is already converted, the lengths of its sequences are fixed"),
                "convert the original model again for other lengths or values");
  if (graph && !options.cut.empty()) {
    note_cut(m->report, cut_graph(m->graph, options.cut));
    if (!options.cut.only_adds()) reshape_inputs(m->graph, core->registry, {}, {});
    if (!m->report.unknown.empty()) m->report.unknown = opaque_layers(m->graph);
  }
  m->report.layers = m->report.claims.empty() ? m->graph.node_count() : m->report.claims.size();
  if (graph && !(options.input_shapes.empty() && options.input_types.empty()))
    reshape_inputs(m->graph, core->registry, options.input_shapes, options.input_types);
  return m;
}

Model through_ir(const Model& model) {
  const Model::State& m = *model.state();
  require_complete(m);
  Graph g = m.graph.clone();
  PassOptions passes = pass_options(m.report);
  passes.phases = PassPhases::writing;
  run_passes(g, m.core->registry, passes);
  TemporaryFolder folder;
  std::string path = folder.path() + "/model.xml";
  write_ir(g, m.core->registry, path);
  return Model(load_model(m.core, {path}));
}

}  // namespace graft
