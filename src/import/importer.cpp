#include "import/importer.hpp"

#include "base/log.hpp"
#include "base/request.hpp"
#include "base/tensor.hpp"
#include "base/text.hpp"
#include "graph/port_nodes.hpp"
#include "import/calls.hpp"
#include "import/layer.hpp"
#include "import/model_ports.hpp"
#include "import/scope.hpp"
#include "import/stub.hpp"
#include "readers/names.hpp"
#include "schema/resolve.hpp"

namespace graft {

// ---- scope: names and nodes ----

Scope::Scope(ImportState& state, Scope* parent, int depth)
    : inference(state.registry, graph, state.budget), state_(state), parent_(parent), depth_(depth) {}

void Scope::define(const std::string& name, ValueId v) {
  if (!names_.emplace(name, v).second) throw_user("duplicate value name '", name, "'");
  add_names(graph.output(v), name);
}

void Scope::bind(const std::string& name, ValueId v) {
  if (!names_.emplace(name, v).second) throw_user("duplicate value name '", name, "'");
}

void Scope::add_names(Output& output, const std::string& name) {
  output.add_name(name);
  const std::string& first = state_.model.first_output;
  if (!first.empty() && name.find(':') == name.npos) output.add_name(name + first);
}

void Scope::declare_constants(const RawGraph& raw) {
  for (const auto& [name, tensor] : raw.constants)
    if (!constants_.emplace(name, tensor).second) throw_user("duplicate constant name '", name, "'");
}

void Scope::add_hints(const RawGraph& raw) {
  for (const auto& [name, v] : raw.values) hints_.emplace(name, v);
  for (const RawValue& v : raw.outputs) hints_.emplace(v.name, v);
}

ValueId Scope::look_up(const std::string& name) {
  if (auto it = names_.find(name); it != names_.end()) return it->second;
  if (auto it = constants_.find(name); it != constants_.end()) {
    ValueId v = add_constant(name, it->second);
    constants_.erase(it);
    define(name, v);
    return v;
  }
  if (!parent_) return {};
  ValueId outer = parent_->look_up(name);
  if (!outer.present()) return {};
  return capture(name, outer);
}

ValueId Scope::capture(const std::string& name, ValueId outer) {
  if (parent_->is_nothing(outer)) {
    ValueId v = add_nothing();
    names_.emplace(name, v);
    return v;
  }
  if (parent_->is_list(outer)) {
    std::vector<ValueId> items = parent_->graph[outer.node].inputs;
    for (size_t i = 0; i < items.size(); ++i) items[i] = capture(text(name, "/item", i), items[i]);
    ValueId v = add_list(std::move(items));
    names_.emplace(name, v);
    return v;
  }
  // Constants are shared with the body, so that its shapes can depend on them; other values enter through a parameter.
  if (const Tensor* t = parent_->inference.constant(outer)) {
    ValueId v = add_constant(name, *t);
    names_.emplace(name, v);
    return v;
  }
  ValueId v = add_parameter(name, parent_->graph.info(outer));
  if (const std::string* source = parent_->unknown_source(outer)) mark_unknown(v.node, *source);
  captured.push_back(outer);
  return v;
}

const std::string* Scope::unknown_source(ValueId v) const {
  auto it = v.present() ? unknown_.find(v.node) : unknown_.end();
  return it == unknown_.end() ? nullptr : &it->second;
}

void Scope::propagate_unknown(NodeId id) {
  if (unknown_.empty()) return;
  for (ValueId v : graph[id].inputs)
    if (const std::string* source = unknown_source(v)) return mark_unknown(id, std::string(*source));
}

NodeId Scope::add(Node node) {
  const OpDef& op = definition(state_.registry, node);
  for (size_t i = 0; i < node.inputs.size(); ++i)
    if (is_handed_on(node.inputs[i]))
      throw_unsupported(node.type, ": expected a tensor as input ", i, ", got ",
                        is_list(node.inputs[i]) ? "a list of tensors" : "an empty optional");
  try {
    resolve(node, op, Extras::refuse);
  } catch (Error& e) {
    throw Error(e.kind(), text(node.type, ": ", e.message()), e.hint(), e.code());
  }
  NodeId id = graph.add(std::move(node));
  try {
    inference.infer(id);
  } catch (...) {
    graph.erase(id);
    throw;
  }
  return id;
}

ValueId Scope::add_constant(const std::string& name, Tensor t) {
  NodeId id = add(constant_node(std::move(t)));
  if (!name.empty()) graph[id].name = graph.unique_name(name);
  return {id, 0};
}

namespace {
Node handed_on(const char* type, std::string_view opset, std::vector<ValueId> items) {
  Node node;
  node.type = type;
  node.opset = opset;
  node.opaque = true;
  node.inputs = std::move(items);
  node.outputs.emplace_back();
  return node;
}
}  // namespace

ValueId Scope::add_list(std::vector<ValueId> items) {
  for (ValueId item : items)
    if (is_nothing(item)) throw_unsupported("a sequence cannot contain an empty optional");
  // Every layer that changes a sequence makes a list of its own.
  state_.list_items += items.size();
  if (state_.list_items > state_.options.limits.sequence_items)
    throw_limit(&Limits::sequence_items, "expected at most ", state_.options.limits.sequence_items,
                " items in all sequences of the model");
  return {graph.add(handed_on("List", list_opset, std::move(items))), 0};
}
ValueId Scope::add_nothing() { return {graph.add(handed_on("Nothing", list_opset, {})), 0}; }

void Scope::collect_inputs(ValueId v, std::set<std::string>& out) const {
  constexpr size_t farthest = 4096;  // nodes to visit at most
  std::vector<ValueId> todo{v};
  std::unordered_set<NodeId> seen;
  while (!todo.empty() && seen.size() < farthest) {
    ValueId at = todo.back();
    todo.pop_back();
    if (!at.present() || !seen.insert(at.node).second) continue;
    const Node& n = graph[at.node];
    if (n.is("ShapeOf")) continue;  // depends on no values
    todo.insert(todo.end(), n.inputs.begin(), n.inputs.end());
    if (!n.is("Parameter")) continue;
    if (!parent_) {
      DType type = n.outputs[0].info.type;
      if (is_integer(type) || type == DType::boolean) out.insert(n.name);
      continue;
    }
    const std::vector<NodeId>& all = graph.parameters();
    auto index = static_cast<size_t>(std::find(all.begin(), all.end(), at.node) - all.begin());
    size_t declared = all.size() - captured.size();
    if (index >= declared) parent_->collect_inputs(captured[index - declared], out);
  }
}

void Scope::remove_lists() {
  // Only layers that could not be converted may still read one.
  for (NodeId id = 0; id < graph.end_id(); ++id)
    for (ValueId& v : graph[id].inputs)
      if (is_list(v)) v = {};
  for (NodeId id = 0; id < graph.end_id(); ++id)
    if (is_handed_on({id, 0})) graph.erase(id);
}

ValueId Scope::add_parameter(const std::string& name, const Info& info) {
  ValueId v{add(parameter_node(info)), 0};
  graph[v.node].name = graph.unique_name(name);
  define(name, v);
  return v;
}

void Scope::add_results(const std::string& name, ValueId v) {
  if (!is_list(v)) {
    add_result(name, v);
    return;
  }
  std::vector<ValueId> items = graph[v.node].inputs;
  for (size_t i = 0; i < items.size(); ++i) add_results(text(name, "/item", i), items[i]);
}

NodeId Scope::add_result(const std::string& name, ValueId v) {
  if (is_handed_on(v))
    throw_unsupported("'", name, "' is ", is_list(v) ? "a list" : "an empty optional", ", expected a tensor");
  Node node = result_node(v);
  node.name = graph.unique_name(name + "/sink_port_0");
  add_names(node.outputs.emplace_back(), name);
  return graph.add(std::move(node));
}

// ---- layers in order ----

namespace {

// What the sub-graphs of a node use of the graph around it: a raw pass may have moved its producers behind the node.
std::vector<std::string> captured(const RawNode& node) {
  std::set<std::string> found;
  for (const auto& [path, f] : node.fields)
    for (const auto& g : f.graphs) outer_reads(*g, found);
  return {found.begin(), found.end()};
}

// Producers before consumers; files are usually already in such an order.
std::vector<size_t> sorted(const std::vector<RawNode>& nodes) {
  std::unordered_map<std::string_view, size_t> producer;
  producer.reserve(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i)
    for (const std::string& o : nodes[i].outputs)
      if (!o.empty() && !producer.emplace(o, i).second) throw_user("duplicate value name '", o, "'");
  enum : uint8_t { fresh, open, done };
  std::vector<uint8_t> state(nodes.size(), fresh);
  std::vector<size_t> order;
  order.reserve(nodes.size());
  struct Step {
    size_t node;
    std::vector<std::string> captured;
    size_t next = 0;
  };
  std::vector<Step> stack;
  auto enter = [&](size_t n) {
    state[n] = open;
    stack.push_back({n, captured(nodes[n])});
  };
  for (size_t root = 0; root < nodes.size(); ++root) {
    if (state[root] != fresh) continue;
    enter(root);
    while (!stack.empty()) {
      Step& s = stack.back();
      const std::vector<std::string>& inputs = nodes[s.node].inputs;
      if (s.next == inputs.size() + s.captured.size()) {
        state[s.node] = done;
        order.push_back(s.node);
        stack.pop_back();
        continue;
      }
      size_t i = s.next++;
      auto it = producer.find(i < inputs.size() ? inputs[i] : s.captured[i - inputs.size()]);
      if (it == producer.end() || state[it->second] == done) continue;
      if (state[it->second] == open) throw_user("the layers form a cycle through '", it->first, "'");
      enter(it->second);
    }
  }
  return order;
}

// An error that needs shapes names the inputs whose shapes are open.
Error with_open_inputs(const Graph& g, Error e) {
  if (e.code() != ErrorCode::shape_needed) return e;
  std::vector<std::string> names;
  for (NodeId p : g.parameters())
    if (!g.info({p, 0}).shape.is_static()) names.push_back(g[p].name);
  if (names.empty()) return e;
  Error out(e.kind(), e.message(),
            text("the shape of ", names.size() == 1 ? "input " : "inputs ", join(names, ", "), " is open: add ",
                 Remedy{"shapes", names[0], "[...]"}),
            e.code());
  for (const std::string& c : e.context()) out.while_(c);
  return out;
}

std::string layer_context(const ImportState& state, const RawNode& raw) {
  std::string file =
      text(state.model.path, state.model.path.empty() ? "" : ", ", state.model.position_unit, " ", raw.position);
  std::string title = raw.name.empty() && !raw.outputs.empty() ? raw.outputs[0] : raw.name;
  return text("importing layer '", title, "' (", raw.domain.empty() ? "" : raw.domain + "::", raw.type, ")",
              raw.origin().source.empty() ? "" : " at " + raw.origin().source,
              raw.origin().added_by.empty() ? text(raw.origin().source.empty() ? " at " : ", ", file)
                                            : ", added by " + raw.origin().added_by);
}

}  // namespace

void Scope::import_nodes(const std::vector<RawNode>& nodes, const std::map<std::string, int64_t>& opsets) {
  names_.reserve(names_.size() + nodes.size());
  if (state_.report.claims.empty()) state_.report.claims.reserve(nodes.size());
  for (size_t i : sorted(nodes)) import_node(nodes[i], opsets);
}

void Scope::import_node(const RawNode& raw, const std::map<std::string, int64_t>& opsets) {
  auto it = opsets.find(raw.domain);
  int64_t version = it == opsets.end() ? 1 : it->second;
  ImportReport& report = state_.report;
  with_context(
      [&] {
        Layer layer(*this, raw, version, &opsets);
        bool replaced = !raw.origin().stands_for.empty();
        const LayerMapping* mapping = replaced || raw.is_operation ? nullptr : state_.options.mapping.get();
        const MappedLayer* mapped = mapping ? mapped_layer(*mapping, raw) : nullptr;
        const RuleDef* rule = mapped ? nullptr : rule_for(state_.registry, state_.model.framework, raw, version);
        // The mapping file, extensions, then the model's own functions, then the built-in rules.
        if (!mapped && !replaced && !raw.is_operation && (!rule || rule->source->built_in())) {
          auto f = state_.functions.find(text(raw.domain, '|', raw.type));
          if (f != state_.functions.end()) return import_function(raw, *f->second);
        }
        Claim claim{layer.layer_name().size ? std::string(view(layer.layer_name())) : raw.type,
                    raw.type,
                    raw.domain,
                    {},
                    {},
                    false,
                    raw.origin().added_by};
        bool missing = raw.is_operation && raw.origin().infos.empty() && !layer.named_operation();
        if ((rule || mapped || replaced || raw.is_operation) && !missing) {
          claim.by = replaced                   ? raw.origin().stands_for
                     : raw.is_operation         ? raw.origin().added_by
                     : mapped                   ? "mapping file " + mapping->file
                     : rule->source->built_in() ? "built-in"
                                                : rule->source->name;
          claim.extension = rule && !rule->source->built_in();
          bool failed = false;
          try {
            if (mapped) layer.apply(*mapped, *mapping);
            else if (!raw.origin().infos.empty()) layer.pass_on_given();
            else if (raw.is_operation) layer.apply_operation();
            else if (rule) layer.apply(*rule);
            else
              throw Error(ErrorKind::unsupported, text("no extension has a rule for the replacement '", raw.type, "'"),
                          text("define graft::replacement(\"", raw.type,
                               "\").expand(...) in an extension, name an operation with \"op\" in the entry, or use "
                               "`allow_unmatched` to keep the sub-graph unchanged"));
            layer.require_outputs();
          } catch (const RequestError&) {
            throw;
          } catch (...) {
            Error e = with_open_inputs(graph, layer.with_missing_shape(current_error()));
            if (e.kind() == ErrorKind::internal) throw e;
            e.while_(layer_context(state_, raw));
            report.problems.push_back({claim.layer, raw.type, e, {}, layer.unknown_source()});
            layer.note_needed_values(report.problems.back());
            failed = true;
          }
          if (!failed && layer.asked_unknown()) layer.discard(), failed = true;
          if (failed) layer.keep_opaque(layer.unknown_source());
          else
            for (const std::string& f : layer.unread_fields())
              report.warnings.push_back(
                  text("attribute '", f, "' of layer '", claim.layer, "' (", raw.type, ") is not used"));
        } else {
          layer.report_unknown(claim.layer);
          layer.keep_opaque();
          claim.by = "no rule";
        }
        layer.finish();
        layer.hand_on_missing_shape();
        layer.propagate_unknown();
        claim.operations = layer.operations();
        if (is_logged(LogLevel::debug))
          log_debug("layer '", claim.layer, "' (", claim.domain.empty() ? "" : claim.domain + "::", claim.type, ") ",
                    claim.by == "no rule" ? "is unknown" : "by " + claim.by, " -> ",
                    claim.operations.empty() ? "no operation" : join(claim.operations, ", "));
        report.claims.push_back(std::move(claim));
      },
      [&] { return layer_context(state_, raw); });
}

void ImportState::bring_in(size_t layers) {
  inlined += layers;
  if (inlined > most_inlined)
    throw_limit(&Limits::inlined, "inlining functions and sub-graphs adds more than ", most_inlined, " layers");
}

void Scope::import_function(const RawNode& raw, const RawFunction& function) {
  if (depth_ >= state_.options.limits.levels())
    throw_limit(&Limits::depth, "function calls are nested more than ", depth_, " deep");
  if (std::find(state_.calls.begin(), state_.calls.end(), &function) != state_.calls.end())
    throw_user("the function '", function.name, "' calls itself");
  state_.bring_in(layers_of(function));
  CalledFunction called = called_function(raw, function, state_.inlined);
  struct Inside {
    Scope& scope;
    Inside(Scope& s, const RawFunction& f) : scope(s) { ++s.depth_, s.state_.calls.push_back(&f); }
    ~Inside() { --scope.depth_, scope.state_.calls.pop_back(); }
  };
  {
    Inside call(*this, function);
    import_nodes(called.nodes, function.opsets.empty() ? state_.model.opsets : function.opsets);
  }
  // An output that is one of the inputs has no node to carry its name.
  for (size_t i = 0; i < raw.outputs.size(); ++i) {
    if (raw.outputs[i].empty() || look_up(raw.outputs[i]).present()) continue;
    ValueId v = look_up(called.outputs[i]);
    if (!v.present()) throw_user("the function does not produce its output '", function.outputs[i], "'");
    names_[raw.outputs[i]] = v;
    add_names(graph.output(v), raw.outputs[i]);
  }
  std::string title = raw.name.empty() ? raw.outputs.empty() ? raw.type : raw.outputs[0] : raw.name;
  state_.report.claims.push_back(
      {std::move(title), raw.type, raw.domain, "function of the model", {}, false, raw.origin().added_by});
}

namespace {

void check_names(const std::vector<RawNode>& nodes) {
  for (const RawNode& n : nodes) {
    check_name(n.name);
    for (const std::string& s : n.inputs) check_name(s);
    for (const std::string& s : n.outputs) check_name(s);
    for (const auto& [path, f] : n.fields)
      for (const auto& g : f.graphs) check_names(g->nodes);
  }
}
void check_names(const RawModel& model) {
  for (const RawFunction& f : model.functions) check_names(f.nodes);
  for (const RawValue& v : model.graph.inputs) check_name(v.name);
  for (const RawValue& v : model.graph.outputs) check_name(v.name);
  check_names(model.graph.nodes);
}

}  // namespace

Imported import_model(const RawModel& model, const Registry& registry, const ImportOptions& options) {
  Imported out;
  check_names(model);
  ImportState state{model, registry, options, out.report, {}};
  for (const RawFunction& f : model.functions)
    if (!state.functions.emplace(text(f.domain, '|', f.name), &f).second)
      throw_user("duplicate function '", f.name, "'");
  const RawGraph& raw = model.graph;
  state.most_inlined = most_inlined(model, options.limits);
  // Weights that are transposed or scaled cost what they hold: a large file may take longer than a small one.
  std::set<const void*> counted;  // tied weights once
  for (const auto& [name, t] : raw.constants)
    if (t.type() != DType::string && counted.insert(t.data()).second) state.budget->add_weights(t.bytes(), 0);
  Scope scope(state, nullptr, 0);
  scope.graph.name = raw.name.empty() ? stem_of(model.path) : raw.name;
  scope.add_hints(raw);
  scope.declare_constants(raw);
  ModelPorts ports(scope, raw);
  ports.add_inputs();
  scope.import_nodes(raw.nodes, model.opsets);
  ports.add_outputs();
  scope.remove_lists();
  out.graph = std::move(scope.graph);
  // The body of a loop may be imported several times.
  std::set<std::string> said;
  std::erase_if(out.report.warnings, [&](const std::string& w) { return !said.insert(w).second; });
  return out;
}

}  // namespace graft
