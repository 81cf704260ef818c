#include "import/cut_plan.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "base/request.hpp"
#include "base/text.hpp"

namespace graft {
namespace {

// A resolved place.
struct Place {
  enum Kind { declared, layer, layer_input, layer_output, tensor } kind;
  int layer_index = -1, port = 0, value = no_value;
  std::string name;  // of the layer, input or tensor
};

class Map {
 public:
  explicit Map(const Anatomy& a) : a_(a) {
    for (size_t i = 0; i < a.layers.size(); ++i)
      if (!a.layers[i].name.empty()) layers_[a.layers[i].name].push_back(static_cast<int>(i));
    for (size_t v = 0; v < a.values.size(); ++v)
      for (const std::string& n : a.values[v].names) values_.emplace(n, static_cast<int>(v));
    for (int v : a.inputs) declared_.insert(v);
  }

  bool is_declared(int value) const { return declared_.count(value) != 0; }

  Place find(const std::string& written, std::string_view what) const {
    if (auto place = look_up(written)) return *place;
    refuse_unknown(written, what);
  }

  // None where nothing has this name. A layer goes before a tensor that another layer makes under its name.
  std::optional<Place> look_up(const std::string& written) const {
    std::vector<Place> found;
    if (auto it = layers_.find(written); it != layers_.end()) {
      if (it->second.size() > 1)
        throw RequestError(text("the model has ", it->second.size(), " layers '", written, "'"),
                           "name a tensor that one of them consumes or produces");
      found.push_back({Place::layer, it->second[0], 0, no_value, written});
    }
    add_ports(found, written);  // before tensors: a place with a port refers to a layer
    if (auto it = values_.find(written); it != values_.end()) add_tensor(found, written, it->second);
    if (found.empty()) return std::nullopt;
    if (found.size() == 1) return found[0];
    // A layer's own output named like the layer, or "name:0", is not an ambiguity.
    Place first = found[0];
    for (size_t i = 1; i < found.size(); ++i)
      if (value_at(found[i]) != value_at(first) && !(a_.tensors_share_names && first.kind == Place::layer)) {
        std::string all;
        for (const Place& p : found) all += text(all.empty() ? "" : ", ", describe(p));
        throw RequestError(text("'", written, "' is ambiguous: it may be ", all),
                           "select one with LAYER:OUTPUT or INPUT:LAYER");
      }
    return first;
  }

  const Anatomy::Layer& layer(const Place& p) const { return a_.layers[static_cast<size_t>(p.layer_index)]; }
  // The value of an output, or no_value when the layer has no such output.
  int output_value(int layer, int port) const {
    const auto& outputs = a_.layers[static_cast<size_t>(layer)].outputs;
    return static_cast<size_t>(port) < outputs.size() ? outputs[static_cast<size_t>(port)] : no_value;
  }

 private:
  void add_tensor(std::vector<Place>& found, const std::string& written, int v) const {
    if (is_declared(v)) found.push_back({Place::declared, -1, 0, v, written});
    else found.push_back({Place::tensor, a_.values[static_cast<size_t>(v)].layer, 0, v, written});
  }

  void add_ports(std::vector<Place>& found, const std::string& written) const {
    auto port_of = [](std::string_view s) {
      auto n = parse_int(s);
      return n && *n >= 0 && *n < (1 << 20) && !s.starts_with('+') ? static_cast<int>(*n) : -1;
    };
    size_t last = written.rfind(':'), first = written.find(':');
    if (last == written.npos) return;
    if (int p = port_of(std::string_view(written).substr(last + 1)); p >= 0)
      add_port(found, written.substr(0, last), p, Place::layer_output);
    if (int p = port_of(std::string_view(written).substr(0, first)); p >= 0)
      add_port(found, written.substr(first + 1), p, Place::layer_input);
  }

  void add_port(std::vector<Place>& found, const std::string& name, int port, Place::Kind kind) const {
    auto it = layers_.find(name);
    if (it == layers_.end()) {
      auto v = values_.find(name);
      if (v == values_.end() || !is_declared(v->second)) return;
      if (kind == Place::layer_output && port == 0) return add_tensor(found, name, v->second);
      throw RequestError(text("'", name, "' is an input of the model, it has no ",
                              kind == Place::layer_input ? "inputs of its own" : text("output ", port)),
                         text("use '", name, "' without a port"));
    }
    const Anatomy::Layer& l = a_.layers[static_cast<size_t>(it->second[0])];
    Place p{kind, it->second[0], port, no_value, name};
    if (kind == Place::layer_input) {
      if (static_cast<size_t>(port) >= l.inputs.size() || l.inputs[static_cast<size_t>(port)] == no_value)
        throw RequestError(
            text("layer '", name, "' (", l.type, ") has no input ", port),
            text("it has ", l.inputs.size(), l.inputs.size() == 1 ? " input" : " inputs", ", counted from 0"));
      p.value = l.inputs[static_cast<size_t>(port)];
    } else {
      p.value = output_value(it->second[0], port);
      if (p.value == no_value && !a_.open_outputs)
        throw RequestError(
            text("layer '", name, "' (", l.type, ") has no output ", port),
            text("it has ", l.outputs.size(), l.outputs.size() == 1 ? " output" : " outputs", ", counted from 0"));
    }
    found.push_back(std::move(p));
  }

  // The value a place denotes as an output; enough to tell whether two meanings differ.
  int value_at(const Place& p) const { return p.kind == Place::layer ? output_value(p.layer_index, 0) : p.value; }

  std::string describe(const Place& p) const {
    switch (p.kind) {
      case Place::declared: return text("the input '", p.name, "'");
      case Place::layer: return text("the layer '", p.name, "'");
      case Place::layer_input: return text("input ", p.port, " of the layer '", p.name, "'");
      case Place::layer_output: return text("output ", p.port, " of the layer '", p.name, "'");
      case Place::tensor: break;
    }
    if (p.layer_index < 0) return text("the constant '", p.name, "'");
    return text("the tensor '", p.name, "', produced by the layer '", layer(p).name, "'");
  }

  [[noreturn]] void refuse_unknown(const std::string& written, std::string_view what) const {
    std::vector<std::string> names;
    for (const auto& [n, l] : layers_) names.push_back(n);
    for (const auto& [n, v] : values_) names.push_back(n);
    std::sort(names.begin(), names.end());
    std::string bare = written;  // ports are not part of the name that may be misspelled
    if (size_t c = bare.rfind(':'); c != bare.npos && parse_int(bare.substr(c + 1))) bare.resize(c);
    if (size_t c = bare.find(':'); c != bare.npos && parse_int(bare.substr(0, c))) bare = bare.substr(c + 1);
    auto close = nearest(bare, names);
    std::vector<std::string> inputs;
    for (int v : a_.inputs) inputs.push_back(a_.values[static_cast<size_t>(v)].names[0]);
    std::string hint = close             ? text("did you mean ", *close, "?")
                       : what == "input" ? text("the model's inputs are ", join(inputs, ", "))
                                         : "graft explain lists the layers";
    throw RequestError(text("the model has no ", what, ", layer or tensor '", written, "'"), hint);
  }

  const Anatomy& a_;
  std::unordered_map<std::string, std::vector<int>> layers_;
  std::unordered_map<std::string, int> values_;
  std::unordered_set<int> declared_;
};

// Values that depend on an input of the model.
std::vector<bool> varying(const Anatomy& a) {
  std::vector<std::vector<int>> readers(a.values.size());
  for (size_t l = 0; l < a.layers.size(); ++l)
    for (const auto* list : {&a.layers[l].inputs, &a.layers[l].captured})
      for (int v : *list)
        if (v != no_value) readers[static_cast<size_t>(v)].push_back(static_cast<int>(l));
  std::vector<bool> seen(a.values.size(), false);
  std::vector<int> stack = a.inputs;
  for (int v : stack) seen[static_cast<size_t>(v)] = true;
  while (!stack.empty()) {
    int v = stack.back();
    stack.pop_back();
    for (int l : readers[static_cast<size_t>(v)])
      for (int o : a.layers[static_cast<size_t>(l)].outputs)
        if (o != no_value && !seen[static_cast<size_t>(o)]) seen[static_cast<size_t>(o)] = true, stack.push_back(o);
  }
  return seen;
}

// The inputs of a layer that are replaced when the whole layer is named as an input.
std::vector<int> ports_of(const Anatomy& a, int layer) {
  std::vector<bool> vary = varying(a);
  std::vector<int> out, all;
  const auto& inputs = a.layers[static_cast<size_t>(layer)].inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == no_value) continue;
    all.push_back(static_cast<int>(i));
    if (vary[static_cast<size_t>(inputs[i])]) out.push_back(static_cast<int>(i));
  }
  return out.empty() ? all : out;
}

void plan_input(const Anatomy& a, const Map& map, const CutInput& in, size_t index, CutPlan& plan) {
  Place p = map.find(in.place, "input");
  auto edge = [&](int port) {
    int value = map.layer(p).inputs[static_cast<size_t>(port)];
    plan.inputs.push_back(
        {InputCut::edge, p.layer_index, port, value, index, text(p.name, "/placeholder_port_", port)});
  };
  if (p.kind != Place::declared && !in.listed && !in.value)
    throw RequestError(text("the model has no input '", in.place, "', only a layer or tensor of that name"),
                       text("to cut the model there, use ", Remedy{"inputs", in.place, "[...]"}));
  switch (p.kind) {
    case Place::declared: plan.inputs.push_back({InputCut::declared, -1, 0, p.value, index, {}}); break;
    case Place::layer_input: edge(p.port); break;
    case Place::tensor: plan.inputs.push_back({InputCut::value, p.layer_index, 0, p.value, index, p.name}); break;
    case Place::layer_output:
      if (p.value == no_value)
        throw RequestError(text("output ", p.port, " of layer '", p.name, "' is unused, so it cannot become an input"));
      plan.inputs.push_back(
          {InputCut::value, p.layer_index, p.port, p.value, index, text(p.name, "/placeholder_out_port_", p.port)});
      break;
    case Place::layer: {
      std::vector<int> ports = ports_of(a, p.layer_index);
      const Anatomy::Layer& l = map.layer(p);
      if (ports.empty())
        throw RequestError(text("layer '", p.name, "' (", l.type, ") has no inputs that could become model inputs"));
      if (ports.size() > 1 && (in.shape || in.type || in.value))
        throw RequestError(text("layer '", p.name, "' (", l.type, ") has ", ports.size(),
                                " inputs, but the shape, type or value applies to one of them"),
                           text("select them: ", Remedy{"inputs", text(ports[0], ":", p.name),
                                                        text("[...],", ports[1], ":", p.name, "[...]")}));
      for (int port : ports) edge(port);
    }
  }
  // A layer as a whole may be an input with a default; its type and shape are inferred.
  if (in.value && !in.shape && p.kind != Place::declared && p.kind != Place::layer)
    throw RequestError(text("'", in.place, "' is not an input of the model, so its value needs a shape"),
                       text("use ", Remedy{"inputs", in.place, "[2]->[1 2]"}));
}

OutputCut output_at(const Map& map, const Place& p) {
  switch (p.kind) {
    case Place::layer: return {map.output_value(p.layer_index, 0), p.layer_index, 0};
    case Place::layer_output: return {p.value, p.layer_index, p.port};
    default: return {p.value, -1, 0};
  }
}

}  // namespace

std::string edge_name(const Anatomy& a, const InputCut& cut) {
  return text(cut.port, ':', a.layers[static_cast<size_t>(cut.layer)].name);
}

CutPlan plan_cut(const Anatomy& a, const CutRequest& request) {
  Map map(a);
  CutPlan plan;
  for (size_t i = 0; i < request.inputs.size(); ++i) plan_input(a, map, request.inputs[i], i, plan);
  for (size_t i = 0; i < plan.inputs.size(); ++i)
    for (size_t k = 0; k < i; ++k) {
      const InputCut &x = plan.inputs[i], &y = plan.inputs[k];
      if (x.kind == y.kind && x.at == y.at && x.layer == y.layer && x.port == y.port)
        throw RequestError(text("'", request.inputs[y.request].place, "' and '", request.inputs[x.request].place,
                                "' are the same input"));
    }
  auto check = [&](const OutputCut& cut, const std::string& written) {
    if (cut.at == no_value && !a.open_outputs) throw RequestError(text("layer '", written, "' has no outputs"));
  };
  bool same = !request.outputs.empty() && request.outputs == request.more_outputs;  // see CutRequest::more_outputs
  for (const std::string& o : request.outputs) {
    if (same) break;
    plan.outputs.push_back(output_at(map, map.find(o, "output")));
    check(plan.outputs.back(), o);
  }
  auto own_output = [&](const std::string& name) -> std::optional<OutputCut> {
    for (size_t i = 0; i < a.output_names.size(); ++i)
      if (std::find(a.output_names[i].begin(), a.output_names[i].end(), name) != a.output_names[i].end())
        return OutputCut{a.outputs[i], -1, 0};
    return std::nullopt;
  };
  for (const std::string& o : request.more_outputs) {
    if (auto own = own_output(o)) {
      plan.more_outputs.push_back(own);
      continue;
    }
    std::optional<Place> place = map.look_up(o);
    plan.more_outputs.push_back(place ? std::optional(output_at(map, *place)) : std::nullopt);
    if (place) check(*plan.more_outputs.back(), o);
  }
  plan.only_more = same && std::all_of(plan.more_outputs.begin(), plan.more_outputs.end(),
                                       [](const auto& o) { return o.has_value(); });
  plan.prunes = !plan.outputs.empty() || plan.only_more;
  for (const CutInput& i : request.inputs) plan.prunes |= i.listed;
  if (!request.only_shape) return plan;

  std::vector<int> free;  // inputs that are not frozen
  for (int v : a.inputs)
    if (std::none_of(plan.inputs.begin(), plan.inputs.end(), [&](const InputCut& c) { return c.at == v; }))
      free.push_back(v);
  if (free.size() != 1) {
    std::vector<std::string> names;
    for (int v : free) names.push_back(a.values[static_cast<size_t>(v)].names[0]);
    throw RequestError(
        text("expected a shape for each of the ", free.size(), " inputs, got only ", *request.only_shape),
        names.empty() ? std::string("every input already has a value or a shape")
                      : text("name the input: ", Remedy{"shapes", names[0], text(*request.only_shape)}, "; inputs are ",
                             join(names, ", ")));
  }
  return plan;
}

Needs needs_of(const Anatomy& a, const CutRequest& request, const CutPlan& plan, CutEffect& effect) {
  Needs n;
  n.layers.resize(a.layers.size(), false);
  n.values.resize(a.values.size(), false);
  std::vector<bool> stops(a.values.size(), false);
  std::map<std::pair<int, int>, size_t> edges;
  std::vector<bool> used(plan.inputs.size(), false);
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    const InputCut& c = plan.inputs[i];
    if (c.kind == InputCut::edge) edges[{c.layer, c.port}] = i;
    else stops[static_cast<size_t>(c.at)] = true;
  }
  std::multimap<std::string, int> states;
  for (size_t l = 0; l < a.layers.size(); ++l)
    if (!a.layers[l].variable.empty()) states.emplace(a.layers[l].variable, static_cast<int>(l));
  std::vector<int> layers;
  auto visit_layer = [&](int l) {
    if (l >= 0 && !n.layers[static_cast<size_t>(l)]) n.layers[static_cast<size_t>(l)] = true, layers.push_back(l);
  };
  auto visit_value = [&](int v) {
    if (v == no_value || n.values[static_cast<size_t>(v)]) return;
    n.values[static_cast<size_t>(v)] = true;
    if (!stops[static_cast<size_t>(v)]) visit_layer(a.values[static_cast<size_t>(v)].layer);
  };
  if (plan.outputs.empty() && !plan.only_more)
    for (int v : a.outputs) visit_value(v);
  auto visit_output = [&](const OutputCut& o) {
    if (o.at != no_value) visit_value(o.at);
    else visit_layer(o.layer);
  };
  for (const OutputCut& o : plan.outputs) visit_output(o);
  for (const std::optional<OutputCut>& o : plan.more_outputs)
    if (o) visit_output(*o);
  while (!layers.empty()) {
    int l = layers.back();
    layers.pop_back();
    const Anatomy::Layer& layer = a.layers[static_cast<size_t>(l)];
    for (size_t i = 0; i < layer.inputs.size(); ++i) {
      if (auto it = edges.find({l, static_cast<int>(i)}); it != edges.end()) used[it->second] = true;
      else visit_value(layer.inputs[i]);
    }
    for (int v : layer.captured) visit_value(v);
    auto [first, last] = states.equal_range(layer.variable);
    for (auto it = first; it != last; ++it) visit_layer(it->second);
  }
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    const InputCut& c = plan.inputs[i];
    if (c.kind != InputCut::edge) used[i] = n.values[static_cast<size_t>(c.at)];
    if (!used[i] && plan.prunes)
      effect.warnings.push_back(text("no output depends on '", request.inputs[c.request].place,
                                     "', so it is not an input of the remaining model"));
  }

  bool complete = false;  // the request lists all inputs
  for (const CutInput& i : request.inputs) complete |= i.listed;
  std::vector<std::string> missing;
  for (int v : a.inputs)
    if (complete && n.values[static_cast<size_t>(v)] && !stops[static_cast<size_t>(v)])
      missing.push_back(a.values[static_cast<size_t>(v)].names[0]);
  if (!missing.empty())
    throw RequestError(text("the outputs also depend on ", missing.size() == 1 ? "the input " : "the inputs ",
                            join(missing, ", "), ", which `inputs` does not list"),
                       "list them too, set a value (name->value), or cut before the outputs that depend on them");
  return n;
}

// ---- values ----

namespace {

constexpr int64_t most_frozen_elements = int64_t{1} << 24;

std::optional<double> truth(std::string_view s) {
  if (equal_ignoring_case(s, "true")) return 1;
  if (equal_ignoring_case(s, "false")) return 0;
  return std::nullopt;
}

// The values as a list of `count` elements of this type; a single value is repeated.
Tensor typed(const CutInput& in, DType type, int64_t count) {
  const std::vector<std::string>& items = in.value->items;
  auto refuse = [&](const std::string& item) {
    throw RequestError(text("expected a value of type ", type, " for '", in.place, "', got '", item, "'"));
  };
  auto item = [&](int64_t i) -> const std::string& { return items[items.size() == 1 ? 0 : static_cast<size_t>(i)]; };
  if (type == DType::string) {
    std::vector<std::string> texts;
    for (int64_t i = 0; i < count; ++i) texts.push_back(item(i));
    return Tensor::strings({count}, texts);
  }
  std::vector<double> reals;
  std::vector<int64_t> whole;
  for (const std::string& s : items) {
    auto real = parse_number(s);
    if (!real) real = truth(s);
    if (!real) refuse(s);
    reals.push_back(*real);
    auto n = parse_int(s);
    if (!n && std::abs(*real) < 9e18 && *real == std::trunc(*real)) n = static_cast<int64_t>(*real);
    if (!n && !is_real(type)) refuse(s);
    whole.push_back(n.value_or(0));
  }
  Tensor wide(is_real(type) ? DType::f64 : DType::i64, {count});
  for (int64_t i = 0; i < count; ++i) {
    size_t k = items.size() == 1 ? 0 : static_cast<size_t>(i);
    if (is_real(type)) wide.data<double>()[i] = reals[k];
    else wide.data<int64_t>()[i] = whole[k];
  }
  Tensor out = wide.to(type);
  if (is_real(type)) return out;
  Tensor back = out.to(DType::i64);
  for (int64_t i = 0; i < count; ++i)
    if (back.data<int64_t>()[i] != wide.data<int64_t>()[i]) refuse(item(i));
  return out;
}

// The dimensions that a value of `count` elements gets.
std::vector<int64_t> frozen_dims(const CutInput& in, const Shape& shape, int64_t count) {
  if (!shape.ranked()) return in.value->list ? std::vector<int64_t>{count} : std::vector<int64_t>{};
  std::vector<int64_t> dims;
  int64_t known = 1;
  size_t open = 0;
  for (const Dim& d : shape) {
    dims.push_back(d.known() ? d.value() : -1);
    if (!d.known()) ++open;
    else if (__builtin_mul_overflow(known, d.value(), &known)) known = INT64_MAX;
  }
  if (!open) return dims;
  // Without further information, unknown dimensions of a single number are 1.
  int64_t rest = !in.value->list || count == 1 ? 1 : open == 1 && known > 0 && count % known == 0 ? count / known : -1;
  if (rest < 0)
    throw RequestError(
        text("'", in.place, "' has shape ", shape, ", which ", count, " values cannot fill unambiguously"),
        text("set the shape too: ", Remedy{"inputs", in.place, "[2 3]->[...]"}));
  for (int64_t& d : dims)
    if (d < 0) d = rest;
  return dims;
}

}  // namespace

Tensor frozen_tensor(const CutInput& in, const Info& info) {
  auto count = static_cast<int64_t>(in.value->items.size());
  std::vector<int64_t> dims = frozen_dims(in, info.shape, count);
  int64_t wanted = 1;
  for (int64_t d : dims)
    if (__builtin_mul_overflow(wanted, d, &wanted)) wanted = INT64_MAX;
  if (wanted > most_frozen_elements)
    throw RequestError(
        text("'", in.place, "' has shape ", Shape::of(dims), ", too large for a value on the command line"));
  if (count != wanted && count != 1)
    throw RequestError(
        text("expected ", wanted, " values for '", in.place, "' of shape ", Shape::of(dims), ", got ", count));
  return typed(in, info.type, wanted).reshaped(dims);
}

Shape with_batch(const Shape& shape, int64_t batch, const std::string& name) {
  if (!shape.ranked())
    throw RequestError(text("the rank of input '", name, "' is unknown, so it has no batch dimension to set"),
                       text("set its shape: ", Remedy{"shapes", name, text("[", batch, ",...]")}));
  if (shape.rank() == 0) return shape;
  const Dim& d = shape[0];
  if (d.known() && d.value() > 1 && d.value() != batch)
    throw RequestError(
        text("expected a first dimension of 1 or unknown for input '", name, "', got ", d, " (", shape, ")"),
        "set the shapes with `shapes` instead of `batch`");
  Shape out = shape;
  out[0] = Dim(batch);
  return out;
}

}  // namespace graft
