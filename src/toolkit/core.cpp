#include <algorithm>

#include "base/log.hpp"
#include "base/text.hpp"
#include "base/threads.hpp"
#include "devices/cpu/cpu.hpp"
#include "devices/reference/reference.hpp"
#include "graph/text.hpp"
#include "infer/inference.hpp"
#include "ir/ir.hpp"
#include "toolkit/built_ins.hpp"
#include "toolkit/load.hpp"
#include "toolkit/streams.hpp"

namespace graft {

// ---- ports ----

std::vector<Port> input_ports(const Graph& g) {
  std::vector<Port> out;
  for (NodeId id : g.parameters()) {
    const Output& o = g.output({id, 0});
    out.push_back({g[id].name, o.names, o.info.type, o.info.shape});
  }
  return out;
}
std::vector<Port> output_ports(const Graph& g) {
  std::vector<Port> out;
  for (NodeId id : g.results()) {
    const Output& o = g.output(g[id].inputs[0]);
    bool own = !g[id].outputs.empty() && !g[id].outputs[0].names.empty();
    out.push_back({g[id].name, own ? g[id].outputs[0].names : o.names, o.info.type, o.info.shape});
    // Files without tensor names identify an output by the layer that produces it.
    if (out.back().names.empty()) out.back().names.push_back(g[g[id].inputs[0].node].name);
  }
  return out;
}

std::optional<size_t> position_of(const std::vector<Port>& ports, const std::string& name) {
  for (size_t i = 0; i < ports.size(); ++i)
    if (std::find(ports[i].names.begin(), ports[i].names.end(), name) != ports[i].names.end()) return i;
  for (size_t i = 0; i < ports.size(); ++i)
    if (ports[i].name == name) return i;
  return std::nullopt;
}

size_t find_port(const std::vector<Port>& ports, const std::string& name, std::string_view what) {
  if (auto i = position_of(ports, name)) return *i;
  std::vector<std::string> names;
  for (const Port& p : ports) names.push_back(p.any_name());
  throw Error(ErrorKind::user, text("the model has no ", what, " '", name, "'"),
              names.empty() ? text("it has none") : text("it has ", join(names, ", ")));
}

// ---- core ----

const Device& Core::State::device(const std::string& name) const {
  std::vector<std::string> names;
  for (const auto& d : devices) {
    if (d->name() == name) return *d;
    names.push_back(d->name());
  }
  throw Error(ErrorKind::user, text("unknown device '", name, "'"), text("available devices: ", join(names, ", ")));
}

Core::Core() : s_(std::make_shared<State>()) {
  add_built_ins(s_->registry);
  s_->devices.push_back(make_cpu_device());
  s_->devices.push_back(make_reference_device());
}

void Core::add_extension(const std::string& path) { load_extension(s_->registry, path); }

Model Core::read_model(const std::string& path, const std::string& weights) {
  std::vector<std::string> files{path};
  if (!weights.empty()) files.push_back(weights);
  return Model(load_model(s_, files));
}

Model Core::read_model(const std::string& path, const std::string& weights, const ReadOptions& options) {
  std::vector<std::string> files{path};
  if (!weights.empty()) files.push_back(weights);
  ImportOptions import;
  for (const auto& [name, length] : options.items) import.input_forms[name].length = length;
  for (const std::string& name : options.absent) import.input_forms[name].absent = true;
  import.input_values = options.constants;
  return Model(load_model(s_, files, import));
}

CompiledModel Core::compile_model(const Model& model, const std::string& device, const Options& options) {
  const Model::State& m = *model.state();
  require_complete(m);
  require_runnable(m.report);
  auto s = std::make_shared<CompiledModel::State>();
  s->core = s_;
  s->device = device;
  s->options = options;
  s->inputs = input_ports(m.graph);
  s->outputs = output_ports(m.graph);
  s->input_groups = input_groups(m.graph);
  s->output_groups = output_groups(m.graph);
  CompileOptions how;
  how.profile = options.profile;
  int all = options.threads > 0 ? options.threads : ThreadPool::shared().threads();
  how.threads = std::max(1, all / std::max(1, options.streams));
  StepTime time;
  Graph graph = m.graph.clone();
  if (options.passes && s_->device(device).wants_passes()) run_passes(graph, s_->registry, pass_options(m.report));
  s->program = s_->device(device).compile(std::move(graph), s_->registry, how);
  s->streams = std::make_unique<Streams>(options.streams);
  log_info("compiled for ", device, time.text());
  return CompiledModel(std::move(s));
}

CompiledModel Core::compile_model(const std::string& path, const std::string& device, const Options& options) {
  return compile_model(read_model(path), device, options);
}

std::vector<std::string> Core::get_available_devices() const {
  std::vector<std::string> out;
  for (const auto& d : s_->devices) out.push_back(d->name());
  return out;
}
std::string Core::device_description(const std::string& device) const { return s_->device(device).description(); }

// ---- model ----

std::string Model::name() const { return s_->graph.name; }
std::string Model::framework() const { return s_->framework; }
std::vector<Port> Model::inputs() const { return input_ports(s_->graph); }
std::vector<Port> Model::outputs() const { return output_ports(s_->graph); }
std::vector<Group> Model::input_groups() const { return graft::input_groups(s_->graph); }
std::vector<Group> Model::output_groups() const { return graft::output_groups(s_->graph); }
std::vector<std::string> Model::unknown_layers() const {
  std::vector<std::string> out;
  for (const UnknownType& u : s_->report.unknown)
    for (const UnknownType::Layer& l : u.layers) out.push_back(text(l.name, " (", u.type, ")"));
  return out;
}
void Model::reshape(const std::map<std::string, Shape>& shapes) {
  // On a copy: a rejected shape leaves the model unchanged.
  Graph g = s_->graph.clone();
  reshape_inputs(g, s_->core->registry, shapes, {});
  s_->graph = std::move(g);
}

size_t Model::add_output(const std::string& name) {
  CutRequest request;
  request.more_outputs = {name};
  if (auto at = cut_graph(s_->graph, request, s_->framework == "caffe").more_outputs[0]) return *at;
  // What the graph does not know may still be what an output is called.
  if (auto at = position_of(output_ports(s_->graph), name)) return *at;
  std::vector<std::string> known;
  for (NodeId id = 0; id < s_->graph.end_id(); ++id)
    if (const Node& n = s_->graph[id]; n.alive && !n.is("Result")) {
      known.push_back(n.name);
      for (const Output& o : n.outputs) known.insert(known.end(), o.names.begin(), o.names.end());
    }
  auto close = nearest(name, known);
  throw Error(ErrorKind::user, text("the model has no layer or tensor '", name, "'"),
              close ? text("did you mean ", *close, "?") : "graft explain lists the layers");
}
void Model::save_ir(const std::string& path) const {
  require_complete(*s_);
  write_ir(s_->graph, s_->core->registry, path);
}
std::string Model::to_text() const { return print(s_->graph); }

// ---- compiled model ----

InferRequest CompiledModel::create_infer_request() {
  auto r = std::make_shared<InferRequest::State>();
  r->model = s_;
  r->execution = s_->program->create_execution();
  r->inputs.resize(s_->inputs.size());
  r->outputs.resize(s_->outputs.size());
  r->given.resize(s_->outputs.size(), false);
  return InferRequest(std::move(r));
}
std::vector<Port> CompiledModel::inputs() const { return s_->inputs; }
std::vector<Port> CompiledModel::outputs() const { return s_->outputs; }
std::vector<Group> CompiledModel::input_groups() const { return s_->input_groups; }
std::vector<Group> CompiledModel::output_groups() const { return s_->output_groups; }
std::string CompiledModel::device() const { return s_->device; }
const Options& CompiledModel::options() const { return s_->options; }

}  // namespace graft
