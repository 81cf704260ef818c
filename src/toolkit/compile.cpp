// Compiling models, and asking which of their layers devices support.
#include <algorithm>
#include <set>

#include "base/heap.hpp"
#include "base/log.hpp"
#include "base/machine.hpp"
#include "base/streams.hpp"
#include "base/text.hpp"
#include "base/threads.hpp"
#include "toolkit/columns.hpp"
#include "toolkit/custom_layers.hpp"
#include "toolkit/device_name.hpp"
#include "toolkit/errors.hpp"
#include "toolkit/read.hpp"

namespace graft {
namespace {

// The device that an IR asks for in <rt_info>; its spellings: <attribute name="affinity" value="GPU"/>,
// <affinity value="GPU"/>, <affinity>GPU</affinity>.
std::optional<std::string> affinity_in(const Node& node) {
  if (!node.rt_info) return std::nullopt;
  auto attribute = [](const Xml& x, std::string_view name) -> const std::string* {
    for (const auto& [key, value] : x.attributes)
      if (key == name) return &value;
    return nullptr;
  };
  for (const Xml& x : node.rt_info->children) {
    const std::string* name = attribute(x, "name");
    if (x.name != "affinity" && (x.name != "attribute" || !name || *name != "affinity")) continue;
    if (const std::string* value = attribute(x, "value")) return *value;
    return std::string(trim(x.text));
  }
  return std::nullopt;
}

// Those of the options go before those of the IR.
std::map<std::string, std::string> affinities_of(const Graph& graph, const Options& options) {
  std::map<std::string, std::string> out;
  std::vector<std::string> names;
  std::set<std::string> layers;
  for (NodeId id = 0; id < graph.end_id(); ++id) {
    if (!graph[id].alive) continue;
    layers.insert(graph[id].name);
    if (auto device = affinity_in(graph[id])) out[graph[id].name] = *device;
  }
  for (const auto& [layer, device] : options.affinities) {
    if (!layers.count(layer)) {
      auto close = nearest(layer, std::vector<std::string>(layers.begin(), layers.end()));
      throw RequestError(text("the model has no layer '", layer, "', which has an affinity"),
                         close ? text("did you mean ", *close, "?") : "graft explain lists the layers");
    }
    out[layer] = device;
  }
  for (auto& [layer, device] : out)
    device = with_context([&, &d = device] { return parse_device(d).text(); },
                          [&, &l = layer] { return text("reading the affinity of layer '", l, "'"); });
  return out;
}

// Sets the numbers of streams and threads where they are left open. Returns the number of threads per stream. One is
// best for throughput: no thread waits for another, and streams share the weights alone.
int divide_threads(Options& o) {
  if (o.hint == PerformanceHint::none) o.hint = PerformanceHint::latency;
  if (o.threads == 0) o.threads = default_threads(o.hyper_threads).threads;
  o.threads = std::min(o.threads, most_threads);
  if (o.streams == 0) o.streams = o.hint == PerformanceHint::throughput ? o.threads : 1;
  ThreadPool::shared().reserve(o.threads);
  return std::max(1, o.threads / o.streams);
}

// A part of the cores for each stream, if there is one core for each thread and no other. With fewer threads, another
// process or model that counts in the same way would run on the same cores while others are idle.
std::vector<std::vector<int>> processors_of_streams(const Options& o) {
  const std::vector<int>& cores = this_machine().cores;
  auto streams = static_cast<size_t>(o.streams), each = static_cast<size_t>(std::max(1, o.threads / o.streams));
  std::vector<std::vector<int>> out;
  if (o.hint != PerformanceHint::throughput || streams < 2 || streams * each != cores.size()) return out;
  for (size_t i = 0; i < streams; ++i)
    out.emplace_back(cores.begin() + static_cast<std::ptrdiff_t>(i * each),
                     cores.begin() + static_cast<std::ptrdiff_t>((i + 1) * each));
  return out;
}

// What compiling and querying have in common.
class Preparation {
 public:
  Preparation(const Core::State& core, const std::string& device, const Model::State& model, const Options& given)
      : device(core.device(device)),
        devices(core.devices_of(device)),
        options(core.with_properties(device, given)),
        origin(*model.origin),
        from(model.current()) {
    if (splits()) how.affinities = affinities_of(*from, options);
    else if (!options.affinities.empty())
      throw RequestError(text("affinities were given, but the model is compiled for ", device, " alone"),
                         text("compile it for ", hetero_name, ":", device, ",..."));
    for (auto [name, count] : {std::pair("threads", options.threads), {"streams", options.streams}})
      if (count < 0) throw RequestError(text("expected a number of ", name, " of at least 0, got ", count));
    how.profile = options.profile;
    how.limits = origin.options.limits;
    how.properties = core.device_properties();
    how.threads = divide_threads(options);
    passes_ = pass_options(origin.report, how.limits);
    passes_.disabled = options.disabled_passes;
    as_request([&] { check_pass_names(*origin.registry, passes_.disabled); });
    if (!options.passes) return;
    how.optimize = [this](Graph& graph, const Device* d, const std::function<bool(const std::string&)>& is_kept) {
      PassOptions p = passes_;
      Unfolded left;
      p.phases = d ? PassPhases::compiling : PassPhases::others;
      p.device = d ? parse_device(d->name()).name : "";
      std::set<std::string> named = configured(graph, d);
      if (named.empty()) p.is_kept = is_kept;
      else p.is_kept = [&](const std::string& name) { return named.count(name) > 0 || (is_kept && is_kept(name)); };
      p.unfolded = &left;
      for (PassEffect& e : run_passes(graph, *origin.registry, p))
        if (e.changes > 0) effects.push_back(std::move(e));
      unfolded.nodes.insert(unfolded.nodes.end(), left.nodes.begin(), left.nodes.end());
      if (unfolded.limit.empty()) unfolded.limit = left.limit;
    };
  }
  Preparation(const Preparation&) = delete;

  // Layers whose kernels the user has named: they are not merged into others.
  std::set<std::string> configured(const Graph& graph, const Device* only) const {
    std::set<std::string> out;
    for (const auto& d : devices) {
      if (only && only != d.get()) continue;
      for (NodeId id : custom_layers_in(graph, *origin.registry, d->name())) out.insert(graph[id].name);
    }
    return out;
  }

  // Whether the device passes parts of the graph on to others.
  bool splits() const { return device->name() != devices[0]->name(); }

  std::shared_ptr<const Device> device;
  DeviceList devices;  // that nodes are assigned to
  Options options;
  const ModelOrigin& origin;
  std::shared_ptr<const Graph> from;
  CompileOptions how;
  std::vector<PassEffect> effects;
  Unfolded unfolded;

 private:
  PassOptions passes_;
};

std::shared_ptr<CompiledModel::State> compiled(const Core::State& core, const std::string& device,
                                               const Model::State& model, const Options& options) {
  require_complete(*model.origin);
  require_runnable(model.origin->report);
  StepTime time;
  Preparation made(core, device, model, options);
  auto s = std::make_shared<CompiledModel::State>();
  s->registry = made.origin.registry;
  s->device = made.device->name();
  s->options = made.options;
  s->inputs = input_ports(*made.from);
  s->outputs = output_ports(*made.from);
  s->input_groups = input_groups(*made.from);
  s->output_groups = output_groups(*made.from);
  Graph graph = made.from->clone();
  std::set<const OpDef*> whole = operations_in(graph, *s->registry);
  made.from.reset();
  CompileOptions how = made.how;
  if (!made.splits()) {
    if (how.optimize && made.device->wants_passes()) how.optimize(graph, made.device.get(), {});
    how.optimize = {};
  }
  check_custom_layers(*s->registry, core.devices, made.devices, whole, graph);
  s->program = made.device->compile(std::move(graph), *s->registry, how);
  s->passes = std::move(made.effects);
  s->unfolded = std::move(made.unfolded);
  s->streams = std::make_unique<Streams>(made.options.streams, processors_of_streams(made.options));
  log_info("compiled for ", s->device, time.text());
  return s;
}

QueryResult query(const Core::State& core, const std::string& device, const Model::State& model,
                  const Options& options) {
  Preparation made(core, device, model, options);
  Graph graph = made.from->clone();
  // A model with unknown layers cannot be optimized, but the other layers can be looked at.
  if (made.how.optimize && report_of(made.origin).complete()) {
    if (made.splits()) optimize_whole(graph, made.devices, made.how);
    else if (made.device->wants_passes()) made.how.optimize(graph, made.device.get(), {});
  }
  std::vector<Assignment> assigned = assign_devices(graph, *made.origin.registry, made.devices, made.how);
  std::map<std::string, NodeId> now;
  for (NodeId id : graph.topological_order())
    if (!is_free(graph[id])) now.emplace(graph[id].name, id);

  QueryResult out{made.device->name(), {}};
  auto add = [&](NodeId id) {
    const Assignment& a = assigned[id];
    bool supported = a.device != no_device;
    std::string reason = a.reason;
    if (std::string alone = text(made.devices[0]->name(), ": "); made.devices.size() == 1 && reason.starts_with(alone))
      reason.erase(0, alone.size());
    out.layers.push_back({graph[id].name, graph[id].type, supported, supported ? made.devices[a.device]->name() : "",
                          std::move(reason)});
  };
  for (NodeId id : made.from->topological_order()) {
    const Node& n = (*made.from)[id];
    if (is_free(n)) continue;
    if (auto it = now.find(n.name); it != now.end()) {
      add(it->second);
      now.erase(it);
    } else {
      out.layers.push_back({n.name, n.type, true, "", "merged or removed by optimization"});
    }
  }
  for (NodeId id : graph.topological_order())
    if (auto it = now.find(graph[id].name); it != now.end() && it->second == id) add(id);
  return out;
}

}  // namespace

CompiledModel Core::compile_model(const Model& model, const std::string& device, const Options& options) const {
  return as_errors([&] {
    CompiledModel made(compiled(*s_, device, *model.state(), options));
    trim_heap();
    return made;
  });
}
CompiledModel Core::compile_model(const std::string& path, const std::string& device, const Options& options) const {
  return compile_model(read_model(path), device, options);
}
QueryResult Core::query_model(const Model& model, const std::string& device, const Options& options) const {
  return as_errors([&] { return query(*s_, device, *model.state(), options); });
}

bool QueryResult::supported() const {
  return std::all_of(layers.begin(), layers.end(), [](const LayerSupport& l) { return l.supported; });
}

std::map<std::string, std::string> QueryResult::assigned() const {
  std::map<std::string, std::string> out;
  for (const LayerSupport& l : layers)
    if (!l.device.empty()) out[l.layer] = l.device;
  return out;
}

std::string QueryResult::to_text() const {
  size_t count = 0;
  std::string out;
  for (const LayerSupport& l : layers) {
    count += l.supported;
    std::string reason = l.supported && l.reason.empty() ? "decided at run time" : l.reason;
    out += text("  ", padded(l.layer, 28), ' ', padded(l.type, 22), ' ',
                padded(l.supported ? l.device.empty() ? "-" : l.device : "none", 12), ' ', reason, "\n");
  }
  return text(device, " supports ", count, " of ", layers.size(), layers.size() == 1 ? " layer\n" : " layers\n", out);
}

}  // namespace graft
