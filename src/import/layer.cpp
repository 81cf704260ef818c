#include "import/layer.hpp"

#include "base/given.hpp"
#include "base/request.hpp"
#include "base/tensor.hpp"
#include "base/text.hpp"
#include "graph/give_back.hpp"
#include "import/calls.hpp"
#include "schema/resolve.hpp"

namespace graft {
namespace {

std::string layer_title(const RawNode& raw) {
  if (!raw.name.empty()) return raw.name;
  for (const std::string& o : raw.outputs)
    if (!o.empty()) return o;
  return raw.type;
}

}  // namespace

graft_str Layer::layer_framework() const { return str(scope_.state().model.framework); }

Layer::Layer(Scope& scope, const RawNode& raw, int64_t version, const std::map<std::string, int64_t>* opsets)
    : scope_(scope),
      raw_(raw),
      version_(version),
      opsets_(opsets),
      name_(layer_title(raw)),
      kept_before_(scope.state().kept),
      outputs_(raw.outputs.size()) {
  if (!raw.origin().stands_for.empty()) read_.insert({"nodes", "nodes.*"});  // for lookup only: no warning when unused
  if (raw.find("python_param.layer")) mark_python();
  for (const std::string& in : raw.inputs) {
    ValueId v = in.empty() ? ValueId{} : scope.look_up(in);
    if (!in.empty() && !v.present()) throw_user("input '", in, "' is not produced by any layer");
    inputs_.push_back(scope.is_nothing(v) ? ValueId{} : v);
  }
  while (!inputs_.empty() && raw.inputs[inputs_.size() - 1].empty()) inputs_.pop_back();
}

// Module and class of a layer in Python are its type, and settings that were taken apart are fields of their own.
void Layer::mark_python() {
  read_.insert({"python_param.module", "python_param.layer"});
  for (const auto& [path, f] : raw_.fields)
    if (path.starts_with("python_param.param_str.") || (path == "python_param.param_str" && f.value == std::string()))
      read_.emplace("python_param.param_str");
}

void Layer::check_ranks(const graft_rule& rule) const {
  if (rule.size < offsetof(graft_rule, rank_count) + sizeof(size_t)) return;
  for (const graft_rank& r : std::span(rule.ranks, rule.rank_count)) {
    if (r.input >= inputs_.size() || !inputs_[r.input].present()) continue;
    const Shape& shape = scope_.graph.info(inputs_[r.input]).shape;
    if (!shape.ranked()) continue;
    auto rank = static_cast<int64_t>(shape.rank());
    if (rank >= r.min && rank <= r.max) continue;
    std::string expected = r.min == r.max ? text(r.min)
                           : rank < r.min ? text("at least ", r.min)
                                          : text("at most ", r.max);
    throw_user("expected rank ", expected, " for input ", r.input, ", got shape ", shape);
  }
}

void Layer::apply(const RuleDef& def) {
  const graft_rule& rule = *def.record;
  // A rule may ignore many fields, of which a layer has few.
  for (size_t i = 0; i < rule.ignored_count; ++i)
    if (std::string_view path = view(rule.ignored[i]); path.ends_with(".*") || raw_.find(path)) read_.emplace(path);
  for (size_t i = 0; i < rule.condition_count; ++i) read_.emplace(view(rule.conditions[i].name));
  check_ranks(rule);
  if (rule.expand) return check_callback(rule.expand(this, rule.user));

  const OpDef* op = scope_.state().registry.find(view(rule.op), view(rule.opset));
  if (!op) throw_internal("the rule for ", raw_.type, " refers to unknown operation ", rule.op, " of ", rule.opset);
  Node node;
  node.type = op->name();
  node.opset = op->opset();
  node.inputs = inputs_;
  for (const graft_attr* a : op->attrs()) {
    std::string ours(view(a->name));
    std::string_view path = ours;
    const graft_value* fallback = nullptr;
    for (size_t i = 0; i < rule.attr_count; ++i)
      if (view(rule.attrs[i].name) == ours) path = view(rule.attrs[i].path), fallback = &rule.attrs[i].fallback;
    if (const RawField* f = raw_.find(path)) {
      read_.emplace(path);
      node.attrs[ours] = f->value;
    } else if (fallback && fallback->kind != GRAFT_NONE) {
      node.attrs[ours] = Attribute::from(*fallback);
    }
  }
  NodeId id = scope_.add(std::move(node));
  made_.push_back(id);
  size_t n = scope_.graph[id].outputs.size();
  for (uint32_t i = 0; i < outputs_.size() && i < n; ++i) outputs_[i] = {id, i};
}

void Layer::finish() {
  // The rule may have read weights to convert them.
  for (ValueId v : inputs_)
    if (v.present()) give_back(scope_.graph[v.node]);
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (!output_used(i)) continue;
    if (!outputs_[i].present()) throw_user("the rule did not produce output ", i, " ('", raw_.outputs[i], "')");
    scope_.define(raw_.outputs[i], outputs_[i]);
  }
  Graph& g = scope_.graph;
  for (ValueId v : outputs_)
    if (scope_.is_list(v) && std::any_of(g[v.node].inputs.begin(), g[v.node].inputs.end(),
                                         [&](ValueId item) { return scope_.is_list(item); }))
      scope_.state().list_inputs.merge(needed_inputs());
  auto named = [&](NodeId id) { return !g[id].name.empty(); };
  std::unordered_set<NodeId> made(made_.begin(), made_.end());
  for (ValueId v : outputs_)
    if (v.present() && made.count(v.node) && !named(v.node)) g[v.node].name = g.unique_name(name_);
  for (NodeId id : made_) {
    if (!named(id)) g[id].name = g.unique_name(text(name_, '/', g[id].type));
    g[id].origin = text("layer '", name_, "' (", raw_.type, ')');
  }
}

void Layer::require_outputs() const {
  size_t n = 0, i = 0;
  for (size_t k = 0; k < outputs_.size(); ++k)
    if (outputs_[k].present()) n = k + 1;
  while (i < outputs_.size() && (outputs_[i].present() || !output_used(i))) ++i;
  if (i == outputs_.size()) return;
  std::string message = text("layer '", name_, "' (", raw_.type, ") has no output ", i);
  std::string hint = text("it has ", n, n == 1 ? " output" : " outputs", ", counted from 0");
  const std::vector<std::string>& asked = scope_.state().options.read.cut.outputs;
  if (std::find(asked.begin(), asked.end(), raw_.outputs[i]) != asked.end()) throw RequestError(message, hint);
  throw Error(ErrorKind::user, message, hint);
}

std::vector<std::string> Layer::operations() const {
  std::vector<std::string> out;
  for (NodeId id : made_)
    if (!scope_.graph[id].is("Constant")) out.push_back(scope_.graph[id].type);
  return out;
}

std::vector<std::string> Layer::unread_fields() const {
  std::vector<std::string> out;
  auto below_ignored = [&](const std::string& path) {
    for (const std::string& r : read_)
      if (r.ends_with(".*") && path.starts_with(std::string_view(r).substr(0, r.size() - 1))) return true;
    return false;
  };
  for (const auto& [path, f] : raw_.fields)
    // Element types are known to the graph anyway.
    if (!read_.count(path) && !below_ignored(path) && f.value.kind() != GRAFT_DTYPE && f.value.kind() != GRAFT_DTYPES)
      out.push_back(path);
  return out;
}

const graft_value* Layer::field(std::string_view path) {
  for (const CachedField& c : fields_)
    if (c.path == path) return &c.value.value;
  const RawField* f = raw_.find(path);
  if (!f) return nullptr;
  auto [it, fresh] = read_.emplace(path);
  return &fields_.emplace_back(*it, *f).value.value;
}

std::span<const graft_named_value> Layer::fields() {
  if (all_fields_.empty())
    for (const auto& [path, f] : raw_.fields) all_fields_.push_back({str(path), *field(path)});
  return all_fields_;
}

graft_info Layer::ref_info(graft_ref ref) {
  ValueId v = checked(ref);
  const Info& info = scope_.graph.info(v);
  bool partly = info.type == DType::undefined || !info.shape.ranked();
  if (partly && depends_on_unknown(v)) asked_unknown_ = true;
  return info.raw();
}

const graft_tensor* Layer::ref_constant(graft_ref ref) {
  const Tensor* t = scope_.inference.constant(checked(ref));
  if (!t) asked_.push_back(checked(ref));
  return t ? t->raw() : nullptr;
}

std::set<std::string> Layer::needed_inputs() const {
  std::set<std::string> out;
  for (ValueId v : asked_) scope_.collect_inputs(v, out);
  return out;
}

void Layer::note_needed_values(Problem& problem) const {
  constexpr size_t most = 64;  // problems that are reported
  if (problem.error.kind() != ErrorKind::unsupported || scope_.state().report.problems.size() > most) return;
  std::set<std::string> names = needed_inputs();
  problem.inputs.assign(names.begin(), names.end());
  if (names.empty() || !problem.error.hint().empty()) return;
  problem.error.hint(text("the layer may need the values of '", join(problem.inputs, "', '"),
                          "' while the model is imported: ", Remedy{"constants", problem.inputs[0], "VALUE"},
                          " makes an input a constant"));
}

bool Layer::ref_known_values(graft_ref ref, graft_shape& values) {
  const Shape* s = scope_.inference.known_values(checked(ref));
  if (s) values = s->raw();
  return s != nullptr;
}

graft_ref Layer::add_constant(const graft_tensor& tensor) {
  // Fields of the layer are views of the file: the constant shares them instead of copying.
  Tensor value;
  for (const auto& [path, f] : raw_.fields)
    if (auto t = f.value.get_if<Tensor>(); t && t->raw() == &tensor) value = *t;
  ValueId v = scope_.add_constant("", value ? value : copy_of(tensor));
  made_.push_back(v.node);
  return ref_of(v);
}

void Layer::add_node(const graft_new_node& spec, std::span<graft_ref> outputs) {
  std::vector<Info> infos = given_infos(spec);
  Node node = new_node(scope_.state().registry, scope_.graph, spec, outputs.size());
  std::string name = given_name(spec);
  for (size_t i = 0; i < spec.body_count; ++i) {
    const graft_new_body& b = spec.bodies[i];
    if (b.body < 1 || static_cast<size_t>(b.body) > bodies_.size() || !bodies_[static_cast<size_t>(b.body) - 1].graph)
      throw_user("reference to a body that does not exist or is already used");
    Body& body = node.bodies.emplace_back();
    body.graph = std::move(bodies_[static_cast<size_t>(b.body) - 1].graph);
    body.inputs.assign(b.inputs, b.inputs + b.input_count);
    body.outputs.assign(b.outputs, b.outputs + b.output_count);
    body.back_edges.assign(b.back_edges, b.back_edges + b.back_edge_count);
  }
  NodeId id = no_node;
  if (infos.empty()) made_.push_back(id = scope_.add(std::move(node)));
  else id = add_operation(std::move(node), infos);
  if (!name.empty()) scope_.graph[id].name = scope_.graph.unique_name(name);
  size_t n = scope_.graph[id].outputs.size();
  if (outputs.size() > n) throw_user("expected at most ", n, " outputs of ", spec.op, ", got ", outputs.size());
  for (uint32_t i = 0; i < outputs.size(); ++i) outputs[i] = ref_of({id, i});
}

void Layer::set_output(size_t index, graft_ref ref) {
  if (index >= outputs_.size()) {
    if (index < 64) return;  // an optional output that the file does not use
    throw_user("there is no output ", index);
  }
  outputs_[index] = checked(ref);
}

graft_ref Layer::add_list(std::span<const graft_ref> items) {
  std::vector<ValueId> values;
  for (graft_ref r : items) values.push_back(checked(r));
  return ref_of(scope_.add_list(std::move(values)));
}

const std::vector<graft_ref>* Layer::ref_list(graft_ref ref) {
  ValueId v = checked(ref);
  if (!scope_.is_list(v)) return nullptr;
  items_.clear();
  for (ValueId item : scope_.graph[v.node].inputs) items_.push_back(ref_of(item));
  return &items_;
}

namespace {
// Runs a callback between two lists of names: it sees `from` as a layer's inputs and produces `to`.
void interpose(Scope& scope, const char* type, std::vector<std::string> from, std::vector<std::string> to,
               int64_t version, graft_builder::Callback callback, void* user) {
  RawNode raw;
  raw.type = type;
  raw.inputs = std::move(from);
  raw.outputs = std::move(to);
  Layer layer(scope, raw, version);
  check_callback(callback(&layer, user));
  layer.finish();
}
}  // namespace

const std::shared_ptr<RawGraph>& Layer::body_graph(std::string_view path) {
  const RawField* f = raw_.find(path);
  if (!f || f->graphs.empty()) throw_user("missing attribute '", path, "', expected a graph");
  read_.emplace(path);
  if (scope_.depth() >= scope_.state().options.limits.levels())
    throw_limit(&Limits::depth, "graphs are nested more than ", scope_.depth(), " deep");
  return f->graphs[0];
}

const std::vector<graft_ref>& Layer::inline_body(std::string_view path, std::span<const graft_ref> inputs) {
  const RawGraph& body = *body_graph(path);
  if (inputs.size() != body.inputs.size())
    throw_user("expected ", body.inputs.size(), " inputs of the graph '", path, "', got ", inputs.size());
  ImportState& state = scope_.state();
  state.unrolled += body.nodes.size() + 1;
  if (uint64_t most = state.options.limits.unrolled; state.unrolled > most)
    throw_limit(&Limits::unrolled, "inlining branches and loops adds more than ", most, " layers");
  // Names of the body are known in it alone.
  RawGraph own = renamed_body(body, text(name_, '/', state.bodies++, '/'));
  scope_.add_hints(own);
  scope_.declare_constants(own);
  for (size_t i = 0; i < inputs.size(); ++i) scope_.bind(own.inputs[i].name, checked(inputs[i]));
  struct Deeper {
    int& depth;
    explicit Deeper(int& d) : depth(d) { ++depth; }
    ~Deeper() { --depth; }
  };
  {
    Deeper inside(scope_.depth_);
    scope_.import_nodes(own.nodes, *opsets_);
  }
  inlined_.clear();
  for (const RawValue& out : own.outputs) {
    ValueId v = scope_.look_up(out.name);
    if (!v.present()) throw_user("output '", out.name, "' of the graph '", path, "' is not produced by any layer");
    inlined_.push_back(ref_of(v));
  }
  return inlined_;
}

const graft_imported_body* Layer::import_body(std::string_view path, std::span<const graft_info> parameters,
                                              Callback prologue, Callback epilogue, void* user) {
  const std::shared_ptr<RawGraph> held = body_graph(path);
  const RawGraph& raw = *held;
  if (!prologue && parameters.size() != raw.inputs.size())
    throw_user("expected ", raw.inputs.size(), " inputs of the graph '", path, "', got ", parameters.size());
  std::string unknown = unknown_source();
  BodyCall call{std::string(path), {prologue != nullptr, epilogue != nullptr}, {}, {}, bodies_.size()};
  for (const graft_info& i : parameters) call.asked.push_back(Info::from(i));
  if (const graft_imported_body* made = find_body(call, raw)) return made;
  scope_.state().bring_in(raw.nodes.size() + 1);

  Scope inner(scope_.state(), &scope_, scope_.depth() + 1);
  inner.graph.name = raw.name;
  inner.add_hints(raw);
  inner.declare_constants(raw);
  std::vector<std::string> outside, inside;
  for (const RawValue& in : raw.inputs) inside.push_back(in.name);
  bool alike = parameters.size() == inside.size();
  for (size_t i = 0; i < parameters.size(); ++i) {
    Info info = call.used[i];
    if (alike && info.type == DType::undefined) info.type = raw.inputs[i].info.type;
    outside.push_back(!prologue ? inside[i] : alike ? inside[i] + "/part" : text("parameter", i, "/part"));
    ValueId p = inner.add_parameter(outside.back(), info);
    if (!unknown.empty()) inner.mark_unknown(p.node, unknown);
  }
  if (prologue) interpose(inner, "prologue", outside, inside, version_, prologue, user);
  inner.import_nodes(raw.nodes, *opsets_);
  outside.clear(), inside.clear();
  for (const RawValue& out : raw.outputs) {
    if (!inner.look_up(out.name).present())
      throw_user("output '", out.name, "' of the graph '", path, "' is not produced by any layer");
    inside.push_back(out.name);
    outside.push_back(epilogue ? text(out.name, "/part", inside.size()) : out.name);
  }
  if (epilogue) interpose(inner, "epilogue", inside, outside, version_, epilogue, user);
  for (const std::string& name : outside) inner.add_results(name, inner.look_up(name));
  inner.remove_lists();

  ImportedGraph& b = bodies_.emplace_back();
  for (ValueId v : inner.captured) b.captured.push_back(ref_of(v));
  for (NodeId r : inner.graph.results()) b.results.push_back(inner.graph.info(inner.graph[r].inputs[0]));
  for (const Info& i : b.results) b.raw_results.push_back(i.raw());
  b.graph = std::make_unique<Graph>(std::move(inner.graph));
  b.record = {sizeof(graft_imported_body),
              0,
              static_cast<int64_t>(bodies_.size()),
              parameters.size(),
              b.captured.data(),
              b.captured.size(),
              b.raw_results.data(),
              b.raw_results.size()};
  remember_body(std::move(call), held);
  return &b.record;
}

namespace {
bool is_more_general(const std::vector<Info>& a, const std::vector<Info>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    const Shape &s = a[i].shape, &t = b[i].shape;
    if (a[i].type != b[i].type) return false;
    if (!s.ranked()) continue;
    if (!t.ranked() || s.rank() != t.rank()) return false;
    for (size_t k = 0; k < s.rank(); ++k)
      if (s[k].min() > t[k].min() || s[k].max() < t[k].max()) return false;
  }
  return true;
}
}  // namespace

const graft_imported_body* Layer::find_body(BodyCall& call, const RawGraph& raw) const {
  bool first = true;
  for (const BodyCall& c : body_calls_) {
    if (!c.is_like(call)) continue;
    first = false;
    bool fits = c.used == call.asked || (c.used != c.asked && is_more_general(c.used, call.asked));
    if (fits && bodies_[c.index].graph) return &bodies_[c.index].record;
  }
  call.used = call.asked;
  auto known = scope_.state().body_shapes.find(&raw);
  if (!first || known == scope_.state().body_shapes.end()) return nullptr;
  for (const ImportState::BodyShapes& s : known->second)
    if (s.first == call.asked && is_more_general(s.last, call.asked)) call.used = s.last;
  return nullptr;
}

void Layer::remember_body(BodyCall call, std::shared_ptr<const RawGraph> raw) {
  auto first = std::find_if(body_calls_.begin(), body_calls_.end(), [&](const BodyCall& c) { return c.is_like(call); });
  if (first != body_calls_.end()) {
    auto& known = scope_.state().body_shapes[raw.get()];
    auto it = std::find_if(known.begin(), known.end(), [&](const auto& s) { return s.first == first->asked; });
    if (it == known.end()) it = known.insert(known.end(), {std::move(raw), first->asked, {}});
    it->last = call.used;
  }
  body_calls_.push_back(std::move(call));
}

}  // namespace graft
