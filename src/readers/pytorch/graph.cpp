#include "readers/pytorch/graph.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/text.hpp"
#include "readers/pytorch/tensors.hpp"

namespace graft {

using nlohmann::json;

// ---- types and shapes ----

namespace {

// "s77" of "Symbol('s77', positive=True, integer=True)" or of itself; empty: an expression.
std::string symbol_of(std::string_view e) {
  constexpr std::string_view begin = "Symbol('";
  if (e.starts_with(begin)) {
    size_t end = e.find('\'', begin.size());
    bool only = end != e.npos && e.find(')') == e.size() - 1 && e.find("Symbol", 1) == e.npos;
    return only ? std::string(e.substr(begin.size(), end - begin.size())) : std::string();
  }
  bool word =
      !e.empty() && std::all_of(e.begin(), e.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
  return word && !std::isdigit(static_cast<unsigned char>(e[0])) ? std::string(e) : std::string();
}

int64_t bound(const json& range, const char* key, int64_t open) {
  auto it = range.find(key);
  return it != range.end() && it->is_number_integer() ? std::max<int64_t>(it->get<int64_t>(), 0) : open;
}

}  // namespace

Dim PytorchProgram::dim(const json& size) {
  auto [tag, v] = tagged(size);
  if (tag == "as_int") {
    if (!v.is_number_integer()) throw_user("expected an integer as size");
    auto n = v.get<int64_t>();
    if (n < 0 || static_cast<uint64_t>(n) > limits.dimension)
      throw_user("expected sizes of 0 to ", limits.dimension, ", got ", n);
    return n;
  }
  if (tag != "as_expr") throw_user("expected an integer or an expression as size, got '", tag, "'");
  std::string symbol = symbol_of(text_member(v, "expr_str"));
  if (symbol.empty()) return Dim();
  auto [it, fresh] = symbols.emplace(symbol, static_cast<uint32_t>(model.symbols.size() + 1));
  if (fresh) model.symbols.push_back(symbol);
  graft_dim d{0, Dim::unbounded, it->second, 0};
  if (ranges.is_object() && ranges.contains(symbol) && ranges[symbol].is_object())
    d.min = bound(ranges[symbol], "min_val", 0), d.max = bound(ranges[symbol], "max_val", Dim::unbounded);
  // Sizes of 0 and 1 are left out of ranges for the sake of tracing alone.
  if (d.min <= 2) d.min = 0;
  if (d.min >= d.max) return Dim();
  return Dim(d);
}

Info PytorchProgram::info(const json& m) {
  const json& type = member(m, "dtype");
  const json& sizes = member(m, "sizes");
  if (!type.is_number_integer() || !sizes.is_array() || sizes.size() > limits.rank)
    throw_user("expected an element type and at most ", limits.rank, " sizes of a tensor");
  Shape s;
  for (const json& d : sizes) s.push_back(dim(d));
  return {pytorch_element_type(type.get<int64_t>()), s};
}

// ---- the graph ----

PytorchGraph::PytorchGraph(PytorchProgram& program, const json& graph, std::string prefix, int depth)
    : program_(program),
      graph_(graph),
      aliases_(std::move(prefix), [this](RawNode n) { emit(std::move(n)); }),
      depth_(depth) {
  if (depth > program.limits.levels())
    throw_limit(&Limits::depth, "sub-graphs are nested more than ", program.limits.depth, " deep");
}

const json* PytorchGraph::meta(const std::string& name) const {
  auto all = graph_.find("tensor_values");
  if (all == graph_.end() || !all->is_object()) return nullptr;
  auto it = all->find(name);
  return it == all->end() ? nullptr : &*it;
}

Info PytorchGraph::info_of(const std::string& name) {
  const json* m = meta(name);
  if (!m) throw_user("the graph has no type and shape of '", name, "'");
  return program_.info(*m);
}

void PytorchGraph::read_nodes() {
  const json& nodes = member(graph_, "nodes");
  if (!nodes.is_array()) throw_user("expected a list of nodes");
  for (const json& j : nodes) node(j);
}

void PytorchGraph::emit(RawNode n) {
  if (++program_.nodes > program_.limits.nodes)
    throw_limit(&Limits::nodes, "the model has more than ", program_.limits.nodes, " nodes");
  n.position = position_;
  if (!source_.source.empty()) n.set_origin().source = source_.source;
  out_.nodes.push_back(std::move(n));
}

// The line of the user's code: the last one outside of torch itself.
void PytorchGraph::add_source(RawNode&, const json& j) {
  source_.source.clear();
  auto m = j.find("metadata");
  if (m == j.end() || !m->is_object()) return;
  std::string line, module;
  if (auto t = m->find("stack_trace"); t != m->end() && t->is_string()) {
    const auto& trace = t->get_ref<const std::string&>();
    for (std::string_view l : split(trace, '\n')) {
      l = trim(l);
      if (!l.starts_with("File \"")) continue;
      size_t end = l.find('"', 6), at = l.find("line ");
      if (end == l.npos || at == l.npos) continue;
      std::string_view file = l.substr(6, end - 6), number = l.substr(at + 5, l.find(',', at) - at - 5);
      bool library = file.find("/torch/") != file.npos;
      if (line.empty() || !library) line = text(file, ':', number);
    }
  }
  if (auto s = m->find("nn_module_stack"); s != m->end() && s->is_string()) {
    const auto& stack = s->get_ref<const std::string&>();
    std::string_view last = std::string_view(stack).substr(stack.rfind(';') + 1);
    size_t a = last.find(','), b = a == last.npos ? a : last.find(',', a + 1);
    if (b != last.npos && b > a + 1) module = text(" in ", last.substr(a + 1, b - a - 1));
  }
  if (!line.empty() || !module.empty()) source_.source = (line + module).substr(line.empty() ? 1 : 0, 1024);
}

PytorchGraph::Call PytorchGraph::call_of(const std::string& target) {
  Call c;
  std::string_view t = target;
  if (t.starts_with("torch.ops.")) {
    t.remove_prefix(10);
    size_t dot = t.find('.');
    if (dot == t.npos) throw_user("expected a namespace and a name of an operator, got '", target, "'");
    c.ns = t.substr(0, dot), t.remove_prefix(dot + 1);
    dot = t.find('.');
    c.name = t.substr(0, dot);
    if (dot != t.npos) c.overload = t.substr(dot + 1);
    return c;
  }
  size_t dot = t.rfind('.');
  if (dot == t.npos) throw_user("expected the name of a function, got '", target, "'");
  c.ns = t.substr(0, dot), c.name = t.substr(dot + 1);
  return c;
}

std::vector<std::string> PytorchGraph::outputs_of(const json& j) {
  std::vector<std::string> out;
  for (const json& o : member(j, "outputs")) {
    auto [tag, v] = tagged(o);
    if (tag == "as_none") continue;
    if (v.is_array()) {
      for (const json& item : v) {
        const json& t = item.is_object() && item.contains("as_tensor") ? item["as_tensor"] : item;
        out.push_back(name_in(t));
      }
    } else {
      out.push_back(name_in(v));
    }
  }
  return out;
}

void PytorchGraph::node(const json& j) {
  std::string target = text_member(j, "target");
  ++position_;
  RawNode none;
  add_source(none, j);
  with_context([&] { read_node(j); },
               [&] {
                 return text("reading node ", position_, " (", target, ")",
                             source_.source.empty() ? "" : " at " + source_.source);
               });
}

namespace {

// Arguments that receive the results: add.out(self, other, *, out).
std::vector<std::string> receivers(const json& j, const std::string& overload, size_t outputs) {
  std::vector<std::string> names;
  for (const json& i : member(j, "inputs")) {
    const json& arg = member(i, "arg");
    if (!arg.is_object() || !arg.contains("as_tensor")) continue;
    std::string name = text_member(i, "name");
    bool keyword = i.contains("kind") && i["kind"] == 2;
    if (keyword || name == "out") names.push_back(name);
  }
  bool named = std::find(names.begin(), names.end(), "out") != names.end() || overload.find("out") != overload.npos;
  bool functional =
      overload == "default" || overload.find("tensor") != overload.npos || overload.find("Tensor") != overload.npos;
  if (names.empty() || names.size() != outputs || (!named && functional)) return {};
  return names;
}

}  // namespace

void PytorchGraph::read_node(const json& j) {
  Call call = call_of(text_member(j, "target"));
  if (call.ns == "higher_order") {
    if (call.name == "auto_functionalized_v2") return functionalized_call(j);
    if (control(j, call)) return;
  }
  std::vector<std::string> outputs = outputs_of(j);
  if (call.ns != "aten") {
    bool writes = ends_in_place(call.name) || (outputs.empty() && call.ns != "_operator" && call.ns != "torch");
    return writes ? mutating_call(j, call) : plain_call(j, call);
  }
  if (std::vector<std::string> to = receivers(j, call.overload, outputs.size()); !to.empty())
    return out_call(j, call, to);
  bool in_place = ends_in_place(call.name) || (call.name.starts_with("__i") && call.name.ends_with("__"));
  in_place ? in_place_call(j, call) : plain_call(j, call);
}

RawNode PytorchGraph::call_node(const json& j, const Call& call, std::vector<std::string>* tensors,
                                const std::vector<std::string>& without) {
  Arguments args([&](const std::string& name) { return aliases_.read(name); });
  for (const json& i : member(j, "inputs")) {
    std::string name = text_member(i, "name");
    if (std::find(without.begin(), without.end(), name) == without.end()) args.add(name, member(i, "arg"));
  }
  if (tensors) *tensors = args.tensors;
  RawNode n;
  n.type = call.type();
  std::move(args).finish(n, call.overload);
  return n;
}

// Some of them look at their input only if it has the right layout or type: then a write to one is seen by the other.
bool PytorchGraph::makes_view(const RawNode& n, const std::string& of, const std::vector<std::string>& outputs) const {
  if (pytorch_view(n.type) == ViewKind::none) return false;
  const json *in = meta(of), *out = outputs.empty() ? nullptr : meta(outputs[0]);
  if (!in || !out) return true;
  if (n.type == "aten::to") return in->value("dtype", json()) == out->value("dtype", json()) && !n.find("copy");
  if (n.type.ends_with("dropout")) {
    const RawField* f = n.find("train");
    const bool* train = f ? f->value.get_if<bool>() : nullptr;
    return train && !*train;
  }
  bool depends = n.type == "aten::reshape" || n.type == "aten::reshape_as" || n.type == "aten::flatten" ||
                 n.type == "aten::ravel" || n.type == "aten::contiguous";
  if (!depends) return true;
  auto sizes = in->find("sizes"), strides = in->find("strides");
  if (sizes == in->end() || strides == in->end() || sizes->size() != strides->size()) return true;
  int64_t step = 1;
  for (size_t i = sizes->size(); i-- > 0;) {
    const json &size = (*sizes)[i], &stride = (*strides)[i];
    if (!size.contains("as_int") || !stride.contains("as_int")) return true;
    if (size["as_int"] != 1 && stride["as_int"] != step) return false;
    step *= size["as_int"].get<int64_t>();
  }
  return true;
}

// as_strided counts in memory: the axes of a tensor that lies there in another order come first in that order.
void PytorchGraph::order_by_memory(RawNode& n, const std::string& of) {
  const json* m = meta(of);
  if (!m || !m->contains("strides") || !(*m)["strides"].is_array()) return;
  std::vector<int64_t> strides, order;
  for (const json& s : (*m)["strides"]) {
    if (!s.is_object() || !s.contains("as_int") || !s["as_int"].is_number_integer())
      throw_unsupported("as_strided of a tensor with unknown strides is not supported");
    strides.push_back(s["as_int"].get<int64_t>()), order.push_back(static_cast<int64_t>(order.size()));
  }
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return strides[static_cast<size_t>(a)] > strides[static_cast<size_t>(b)];
  });
  if (std::is_sorted(order.begin(), order.end())) return;
  RawNode p;
  p.type = "aten::permute", p.inputs = {n.inputs[0]};
  p.fields.emplace_back("dims", RawField{std::move(order), {}, {}, {}});
  p.fields.emplace_back("call.inputs", RawField{std::vector<std::string>{"self"}, {}, {}, {}});
  p.name = aliases_.fresh(of), p.outputs = {p.name};
  n.inputs[0] = p.name;
  emit(std::move(p));
}

void PytorchGraph::plain_call(const json& j, const Call& call) {
  std::vector<std::string> tensors, outputs = outputs_of(j);
  RawNode n = call_node(j, call, &tensors);
  if (n.type.starts_with("aten::as_strided") && !tensors.empty()) {
    std::string before = n.inputs[0];
    order_by_memory(n, tensors[0]);
    if (n.inputs[0] != before) {  // a write would have to find its way back through the order
      n.outputs = {own(outputs.at(0))}, n.name = n.outputs[0];
      aliases_.define(outputs[0], n.name);
      return emit(std::move(n));
    }
  }
  for (const std::string& o : outputs) n.outputs.push_back(own(o));
  n.name = n.outputs.empty() ? own(call.name + "." + std::to_string(position_)) : n.outputs[0];
  bool view = !tensors.empty() && makes_view(n, tensors[0], outputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (view) aliases_.define_view(outputs[i], n.outputs[i], tensors[0], n, i);
    else aliases_.define(outputs[i], n.outputs[i]);
    if (const json* m = meta(outputs[i])) out_.values[n.outputs[i]] = {n.outputs[i], program_.info(*m), {}, {}, {}, {}};
  }
  emit(std::move(n));
}

std::string PytorchGraph::constant(Tensor value, const std::string& name) {
  std::string out = aliases_.fresh(name);
  out_.constants.emplace_back(out, std::move(value));
  return out;
}

namespace {
template <class T>
Tensor scalar_of(DType type, T v) {
  Tensor t(type, {});
  *static_cast<T*>(t.data()) = v;
  return t;
}
}  // namespace

std::string PytorchGraph::output(const json& arg, size_t at) {
  auto [tag, v] = tagged(arg);
  if (tag == "as_none") return {};
  if (std::string name = name_in(v); !name.empty()) return aliases_.read(name);
  if (tag.starts_with("as_sym")) return output(v, at);
  std::string name = text("output_", at);
  if (v.is_number_integer()) return constant(scalar_of(DType::i64, v.get<int64_t>()), name);
  if (v.is_boolean()) return constant(scalar_of(DType::boolean, v.get<bool>()), name);
  if (tag == "as_float") return constant(scalar_of(DType::f64, number_in(v)), name);
  throw_unsupported("output ", at, " of the graph is of kind '", tag, "', which is not supported");
}

std::string PytorchGraph::copied(const std::string& value) {
  RawNode same;
  same.type = "graft::same", same.inputs = {value};
  same.name = aliases_.fresh("output"), same.outputs = {same.name};
  std::string out = same.name;
  emit(std::move(same));
  return out;
}

void PytorchGraph::name_outputs(const std::vector<std::pair<std::string, std::string>>& names) {
  std::map<std::string, std::string> renamed;  // value -> its new name
  for (const auto& [value, wanted] : names)
    if (value != wanted && !renamed.count(value) && !renamed.count(wanted))
      renamed[value] = wanted, renamed[wanted] = value;
  for (const RawValue& in : out_.inputs)
    if (auto it = renamed.find(in.name); it != renamed.end()) renamed.erase(it->second), renamed.erase(in.name);
  for (const auto& [name, t] : out_.constants)
    if (auto it = renamed.find(name); it != renamed.end()) {
      std::string other = it->second;
      renamed.erase(other), renamed.erase(name);
    }
  if (renamed.empty()) return;
  auto fix = [&](std::string& s) {
    if (auto it = renamed.find(s); it != renamed.end()) s = it->second;
  };
  std::function<void(RawGraph&)> graph = [&](RawGraph& g) {
    for (RawNode& n : g.nodes) {
      for (std::string& s : n.inputs) fix(s);
      for (std::string& s : n.outputs) fix(s);
      fix(n.name);
      for (auto& [path, f] : n.fields)
        for (auto& body : f.graphs) graph(*body);
    }
    for (RawValue& o : g.outputs) fix(o.name);
  };
  graph(out_);
}

}  // namespace graft
