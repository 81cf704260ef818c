#include "toolkit/load.hpp"

#include <filesystem>
#include <set>

#include "base/file.hpp"
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
  bool list = numbers.size() > 1;
  if (whole.size() == numbers.size()) return list ? Attribute(whole) : Attribute(whole[0]);
  return list ? Attribute(numbers) : Attribute(numbers[0]);
}

std::vector<UnknownType> opaque_layers(const Graph& g) {
  std::vector<UnknownType> out;
  for (NodeId id : g.topological_order()) {
    const Node& n = g[id];
    for (const Body& b : n.bodies)
      for (UnknownType& u : opaque_layers(*b.graph)) out.push_back(std::move(u));
    if (!n.opaque) continue;
    UnknownType* group = nullptr;
    for (UnknownType& u : out)
      if (u.type == n.type && u.domain == n.opset) group = &u;
    if (!group) group = &out.emplace_back(UnknownType{n.type, n.opset, 1, {}});
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
  std::erase_if(m.report.problems, [&](const Problem& p) { return gone(p.layer); });
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
  take_over(prepare(raw, options), options, taught);
  Imported out = import_model(raw, registry, options);
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
  Format format = recognise(files[0]);
  m->framework = format_name(format);
  if (!is_framework(format) && (options.mapping || options.replacements))
    throw_user("'", files[0], "' is already converted; mapping files and replacements apply only to framework models");
  switch (format) {
    case Format::onnx:
    case Format::caffe:
    case Format::tensorflow: {
      CutEffect cut;
      RawModel raw = read_part(*core, format, files, options, cut);
      m->path = raw.path;
      Imported imported = import_taught(std::move(raw), core->registry, options);
      m->graph = std::move(imported.graph);
      m->report = std::move(imported.report);
      name_cut_nodes(m->graph, cut);
      note_cut(m->report, std::move(cut));
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
  bool graph = format == Format::ir || format == Format::text;
  if (graph && !options.cut.empty()) {
    note_cut(m->report, cut_graph(m->graph, options.cut));
    reshape_inputs(m->graph, core->registry, {}, {});
    if (!m->report.unknown.empty()) m->report.unknown = opaque_layers(m->graph);
  }
  m->report.layers = m->report.claims.empty() ? m->graph.node_count() : m->report.claims.size();
  if (graph && !(options.input_shapes.empty() && options.input_types.empty()))
    reshape_inputs(m->graph, core->registry, options.input_shapes, options.input_types);
  return m;
}

Model through_ir(const Model& model) {
  const Model::State& m = *model.state();
  require_complete(m.report, m.path);
  Graph g = m.graph.clone();
  run_passes(g, m.core->registry, pass_options(m.report));
  TemporaryFolder folder;
  std::string path = folder.path() + "/model.xml";
  write_ir(g, m.core->registry, path);
  return Model(load_model(m.core, {path}));
}

// ---- the report on unknown and failed layers ----

namespace {

std::string operation_name(const UnknownType& u) {
  return u.domain.empty() || u.domain == "extension" ? u.type : u.domain + "::" + u.type;
}

std::string short_value(const Attribute& a) {
  if (a.kind() == GRAFT_NONE) return "(graph)";
  if (a.kind() == GRAFT_TENSOR) return text(info_of(a.as<Tensor>()));
  std::string s = print(a);
  return s.size() > 60 ? s.substr(0, 57) + "..." : s;
}

}  // namespace

std::string verdict_text(const ImportReport& report, const std::string& model_path) {
  size_t layers = 0;
  for (const UnknownType& u : report.unknown) layers += u.layers.size();
  std::string out;
  if (!report.unknown.empty()) {
    out += text(report.unknown.size(), report.unknown.size() == 1 ? " layer type is" : " layer types are", " unknown (",
                layers, " of ", report.layers, report.layers == 1 ? " layer" : " layers", ")\n");
    for (const UnknownType& u : report.unknown) {
      out += text("\n  ", operation_name(u), "   ", u.layers.size(), u.layers.size() == 1 ? " layer: " : " layers: ");
      for (size_t i = 0; i < u.layers.size() && i < 8; ++i) out += text(i ? ", " : "", u.layers[i].name);
      if (u.layers.size() > 8) out += text(", and ", u.layers.size() - 8, " more");
      const UnknownType::Layer& first = u.layers[0];
      out += "\n    inputs      ";
      for (size_t i = 0; i < first.inputs.size(); ++i)
        out += text(i ? ", " : "", first.inputs[i] ? text(*first.inputs[i]) : "(absent)");
      if (first.inputs.empty()) out += "none";
      out += text("\n    outputs     ", first.outputs);
      // Every field that any of the layers has, with the values seen.
      std::vector<std::pair<std::string, std::vector<std::string>>> fields;
      for (const UnknownType::Layer& l : u.layers)
        for (const auto& [name, value] : l.fields) {
          auto it = std::find_if(fields.begin(), fields.end(), [&](const auto& f) { return f.first == name; });
          if (it == fields.end()) it = fields.insert(fields.end(), {name, {}});
          std::string v = short_value(value);
          if (std::find(it->second.begin(), it->second.end(), v) == it->second.end()) it->second.push_back(v);
        }
      for (size_t i = 0; i < fields.size(); ++i) {
        if (fields[i].second.size() > 4) fields[i].second.resize(4), fields[i].second.push_back("...");
        out +=
            text("\n    ", i ? "            " : "attributes  ", fields[i].first, " = ", join(fields[i].second, " | "));
      }
      out += text("\n    scaffold    graft new ", u.type, " --from-model ", quoted_for_shell(model_path), "\n");
    }
    out += text("\nAll at once: graft new --from-model ", quoted_for_shell(model_path), "\n");
  }
  if (!report.problems.empty()) {
    if (!out.empty()) out += "\n";
    out += text(report.problems.size(), report.problems.size() == 1 ? " layer is" : " layers are",
                " known but cannot be imported",
                report.unknown.empty() ? "" : " (possibly only because of the unknown ones)", "\n");
    for (size_t i = 0; i < report.problems.size() && i < 20; ++i) {
      const Problem& p = report.problems[i];
      out += text("\n  '", p.layer, "' (", p.type, "): ", p.error.message(), "\n");
      for (const std::string& c : p.error.context()) out += text("    while ", c, "\n");
      if (!p.error.hint().empty()) out += text("    hint: ", p.error.hint(), "\n");
    }
    if (report.problems.size() > 20) out += text("\n  and ", report.problems.size() - 20, " more\n");
  }
  return out;
}

void require_runnable(const ImportReport& report) {
  if (report.passed_on.empty()) return;
  std::vector<std::string> layers;
  for (const UnknownType& u : report.passed_on)
    for (const UnknownType::Layer& l : u.layers) layers.push_back(text("'", l.name, "' (", u.type, ")"));
  size_t more = layers.size() > 8 ? layers.size() - 8 : 0;
  layers.resize(layers.size() - more);
  throw Error(ErrorKind::unsupported,
              text("a mapping file passes through layers that no loaded operation can run: ", join(layers, ", "),
                   more ? text(" and ", more, " more") : ""),
              "load an extension that defines the operation; converting works without it");
}

void require_complete(const ImportReport& report, const std::string& model_path) {
  if (report.complete()) return;
  if (report.unknown.empty() && report.problems.size() == 1) throw report.problems[0].error;
  throw Error(ErrorKind::unsupported,
              text("the model cannot be imported completely\n\n", verdict_text(report, model_path)));
}

}  // namespace graft
