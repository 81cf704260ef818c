#include "readers/tflite/assemble.hpp"

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "readers/tflite/operators.hpp"
#include "readers/tflite/tflite.hpp"

namespace graft {
namespace tflite_assembly {
namespace {

// A copy of a sub-graph at one place: the names of its tensors there, and where its layers go.
struct Place {
  const TfliteGraph& graph;
  std::string prefix;
  std::vector<std::string> names;  // of each tensor; empty: none yet
  std::vector<bool> written;
  std::vector<RawNode>& nodes;
  std::vector<std::pair<std::string, Tensor>>& constants;
  bool inside = false;  // a body of control flow
};

class Assembler {
 public:
  Assembler(const TfliteModel& model, const Limits& limits) : model_(model), limits_(limits) {}

  RawModel run(const TfliteSignature* signature) {
    RawModel m;
    m.framework = "tflite", m.conventions = tflite_conventions;
    m.producer = model_.description;
    index_ = signature ? signature->graph : 0;
    const TfliteGraph& g = model_.graphs[index_];
    m.graph.name = g.name;
    main_ = &m.graph;
    Place p{g,
            "",
            std::vector<std::string>(g.tensors.size()),
            std::vector<bool>(g.tensors.size()),
            m.graph.nodes,
            m.graph.constants};
    if (signature) name_by(*signature, p);
    name_tensors(p);
    inputs(m, p, signature);
    calls_.push_back(index_);
    operators(p);
    calls_.pop_back();
    outputs(m, p, signature);
    for (const auto& [key, value] : now_) assign(key, value);
    return m;
  }

 private:
  // ---- names ----

  std::string unique(std::string wanted) {
    std::string name = wanted;
    for (size_t i = 1; !names_.insert(name).second; ++i) name = text(wanted, '_', i);
    return name;
  }
  // Inputs of a signature are known by its names.
  void name_by(const TfliteSignature& s, Place& p) {
    for (const auto& [name, tensor] : s.inputs)
      if (p.names[tensor].empty() && !name.empty()) p.names[tensor] = unique(name);
  }
  void name_tensors(Place& p) {
    for (size_t i = 0; i < p.names.size(); ++i)
      if (p.names[i].empty()) {
        const std::string& own = p.graph.tensors[i].name;
        p.names[i] = unique(p.prefix + (own.empty() ? text("tensor", i) : own));
      }
  }

  // ---- inputs, outputs, tensors ----

  static Info info_of(const TfliteTensor& t) { return {tflite_known_type(t.type), t.shape}; }

  void inputs(RawModel& m, Place& p, const TfliteSignature* signature) {
    std::vector<uint32_t> order(p.graph.inputs.begin(), p.graph.inputs.end());
    if (signature) {
      order.clear();
      for (const auto& [name, tensor] : signature->inputs) order.push_back(tensor);
    }
    for (uint32_t i : order) {
      const TfliteTensor& t = p.graph.tensors[i];
      if (p.written[i]) throw_user("the tensor '", t.name, "' is an input of the sub-graph '", p.graph.name, "' twice");
      p.written[i] = true;
      RawValue v;
      v.name = p.names[i];
      v.info = {tflite_element_type(t.type), t.shape};
      v.also = also(i);
      m.graph.inputs.push_back(std::move(v));
    }
  }
  // The name of an input in a signature of the sub-graph.
  std::string also(uint32_t tensor) const {
    for (const TfliteSignature& s : model_.signatures)
      for (const auto& [name, t] : s.inputs)
        if (s.graph == index_ && t == tensor) return name;
    return {};
  }
  void outputs(RawModel& m, Place& p, const TfliteSignature* signature) {
    auto add = [&](uint32_t i, const std::string& name) {
      provide(p, static_cast<int32_t>(i));
      RawValue v;
      v.name = p.names[i];
      if (!name.empty() && name != v.name) {
        RawNode same = node("Same", name, 0);
        same.inputs = {v.name}, same.outputs = {v.name = unique(name)};
        p.nodes.push_back(std::move(same));
      }
      m.graph.outputs.push_back(std::move(v));
    };
    if (signature)
      for (const auto& [name, tensor] : signature->outputs) add(tensor, name);
    else
      for (int32_t i : p.graph.outputs) add(static_cast<uint32_t>(i), "");
  }

  static bool is_empty(const TfliteTensor& t) { return std::find(t.dims.begin(), t.dims.end(), 0) != t.dims.end(); }

  // Makes the value of a tensor that no operator computes.
  void provide(Place& p, int32_t index) {
    auto i = static_cast<size_t>(index);
    if (p.written[i]) return;
    const TfliteTensor& t = p.graph.tensors[i];
    if (model_.is_constant(t)) {
      p.constants.emplace_back(p.names[i], model_.constant(t));
    } else if (t.is_variable) {
      std::string key = "tensor " + p.names[i];
      variables_.emplace(p.names[i], key);
      read(key, {}, p.names[i], info_of(t), 0);
    } else if (is_empty(t) && tflite_known_type(t.type) != DType::undefined) {
      p.constants.emplace_back(p.names[i], Tensor(tflite_element_type(t.type), {t.dims.begin(), t.dims.end()}));
    } else {
      throw_user("the tensor '", t.name, "' of the sub-graph '", p.graph.name,
                 "' is used, but no operator computes it and it has no data");
    }
    p.written[i] = true;
  }
  void write(Place& p, int32_t index) {
    if (index < 0) return;
    auto i = static_cast<size_t>(index);
    const TfliteTensor& t = p.graph.tensors[i];
    if (p.written[i]) throw_user("the tensor '", t.name, "' of the sub-graph '", p.graph.name, "' is computed twice");
    p.written[i] = true;
    Info info = info_of(t);
    if (!p.inside && info.shape.rank() > 0 && info.type != DType::undefined) {
      RawValue v;
      v.name = p.names[i], v.info = info;
      main_->values.emplace(v.name, v);
    }
  }

  // ---- operators ----

  static RawNode node(std::string_view type, const std::string& name, size_t position) {
    RawNode n;
    n.type = type, n.domain = "graft", n.name = name, n.position = position;
    return n;
  }
  std::string name_of(const Place& p, const TfliteOperator& op) const {
    for (int32_t o : op.outputs)
      if (o >= 0) return p.names[static_cast<size_t>(o)];
    return text(p.prefix, op.type, " at ", op.position);
  }

  void operators(Place& p) {
    for (const TfliteOperator& op : p.graph.operators)
      with_context([&] { operation(p, op); },
                   [&] { return text("reading the operator ", op.type, " at byte ", op.position); });
  }
  void operation(Place& p, const TfliteOperator& op) {
    for (int32_t i : op.inputs)
      if (i >= 0) provide(p, i);
    for (int32_t i : op.outputs)
      if (i >= 0 && !is_handle(op)) write(p, i);
    for (const Special& s : specials)
      if (op.type == s.type && op.is_builtin()) return (this->*s.read)(p, op);
    RawNode n;
    n.type = op.type, n.name = name_of(p, op), n.position = op.position;
    if (!op.fallback_framework.empty()) n.set_origin().fallback_framework = op.fallback_framework;
    n.inputs = values(p, op.inputs), n.outputs = values(p, op.outputs);
    n.fields = op.fields;
    if (op.is_builtin() && (any_complex(p, op.inputs) || any_complex(p, op.outputs))) n.domain = "complex";
    if (n.fields.size() > limits_.attributes)
      throw_limit(&Limits::attributes, "the operator has more than ", limits_.attributes, " options");
    add_tflite_steps(p.graph, op, n.fields);
    for (size_t i = 0; i < op.inputs.size(); ++i)
      if (auto it = variables_.find(n.inputs[i]); it != variables_.end())
        n.fields.emplace_back(text("variable.input", i), field_of(it->second));
    p.nodes.push_back(std::move(n));
  }
  static bool any_complex(const Place& p, const std::vector<int32_t>& tensors) {
    return std::any_of(tensors.begin(), tensors.end(), [&](int32_t i) {
      return i >= 0 && tflite_type_name(p.graph.tensors[static_cast<size_t>(i)].type).starts_with("COMPLEX");
    });
  }
  std::vector<std::string> values(const Place& p, const std::vector<int32_t>& tensors) const {
    std::vector<std::string> out;
    for (int32_t i : tensors) out.push_back(i < 0 ? "" : p.names[static_cast<size_t>(i)]);
    return out;
  }
  static int64_t number(const TfliteOperator& op, std::string_view name) {
    for (const auto& [path, f] : op.fields)
      if (path == name)
        if (const auto* v = f.value.get_if<int64_t>()) return *v;
    return -1;
  }

  // ---- calls ----

  size_t called(const TfliteOperator& op, std::string_view option) const {
    int64_t i = number(op, option);
    if (i < 0 || static_cast<size_t>(i) >= model_.graphs.size())
      throw_user("expected a sub-graph 0 to ", model_.graphs.size() - 1, " as '", option, "', got ", i);
    if (std::find(calls_.begin(), calls_.end(), static_cast<size_t>(i)) != calls_.end())
      throw_user("the sub-graph '", model_.graphs[static_cast<size_t>(i)].name, "' calls itself");
    return static_cast<size_t>(i);
  }
  // The layers of a sub-graph whose inputs are these values; returns the names of its outputs.
  std::vector<std::string> copy(size_t index, const std::string& prefix, const std::vector<std::string>& bound,
                                std::vector<RawNode>& nodes, std::vector<std::pair<std::string, Tensor>>& constants,
                                bool inside) {
    const TfliteGraph& g = model_.graphs[index];
    if (bound.size() != g.inputs.size())
      throw_user("expected ", g.inputs.size(), " inputs for the sub-graph '", g.name, "', got ", bound.size());
    if (calls_.size() >= limits_.depth)
      throw_limit(&Limits::depth, "sub-graphs are nested more than ", limits_.depth, " deep");
    if ((copied_ += g.operators.size() + g.tensors.size() / 4 + 1) > limits_.inlined)
      throw_limit(&Limits::inlined, "calling sub-graphs adds more than ", limits_.inlined, " layers");
    Place p{g,         prefix, std::vector<std::string>(g.tensors.size()), std::vector<bool>(g.tensors.size()), nodes,
            constants, inside};
    for (size_t i = 0; i < bound.size(); ++i) {
      auto t = static_cast<size_t>(g.inputs[i]);
      p.names[t] = bound[i], p.written[t] = true;
    }
    name_tensors(p);
    calls_.push_back(index);
    operators(p);
    calls_.pop_back();
    std::vector<std::string> out;
    for (int32_t o : g.outputs) provide(p, o), out.push_back(p.names[static_cast<size_t>(o)]);
    return out;
  }
  // The outputs of an operator are values that are there already.
  void forward(Place& p, const TfliteOperator& op, const std::vector<std::string>& made) {
    if (made.size() < op.outputs.size())
      throw_user("expected ", op.outputs.size(), " outputs of the sub-graph, got ", made.size());
    RawNode same = node("Same", name_of(p, op), op.position);
    same.outputs = values(p, op.outputs);
    same.inputs.assign(made.begin(), made.begin() + static_cast<ptrdiff_t>(same.outputs.size()));
    for (size_t i = 0; i < same.inputs.size(); ++i) hand_on_handle(same.inputs[i], same.outputs[i]);
    p.nodes.push_back(std::move(same));
  }
  void call(Place& p, const TfliteOperator& op) {
    size_t index = called(op, op.type == "CALL" ? "subgraph" : "decomposition_subgraph_index");
    forward(p, op, copy(index, name_of(p, op) + '/', values(p, op.inputs), p.nodes, p.constants, p.inside));
  }
  void branches(Place& p, const TfliteOperator& op) {
    std::vector<std::string> in = values(p, op.inputs);
    if (in.empty()) throw_user("expected a condition as the first input, got none");
    RawNode n = node("If", name_of(p, op), op.position);
    n.inputs = {in[0]}, n.outputs = values(p, op.outputs);
    for (bool yes : {true, false}) {
      size_t index = called(op, yes ? "then_subgraph_index" : "else_subgraph_index");
      auto g = std::make_shared<RawGraph>();
      g->name = model_.graphs[index].name;
      auto made =
          copy(index, n.name + (yes ? "/then/" : "/else/"), {in.begin() + 1, in.end()}, g->nodes, g->constants, true);
      if (made.size() != n.outputs.size())
        throw_user("expected ", n.outputs.size(), " outputs of the sub-graph '", g->name, "', got ", made.size());
      for (std::string& name : made) {
        RawValue v;
        v.name = std::move(name);
        g->outputs.push_back(std::move(v));
      }
      n.fields.emplace_back(yes ? "then_branch" : "else_branch", field_of(g));
    }
    p.nodes.push_back(std::move(n));
  }
  void loop(Place& p, const TfliteOperator& op) {
    size_t test = called(op, "cond_subgraph_index"), body = called(op, "body_subgraph_index");
    const TfliteGraph& b = model_.graphs[body];
    std::vector<std::string> in = values(p, op.inputs), out = values(p, op.outputs);
    if (b.inputs.size() != in.size() || b.outputs.size() != in.size() || out.size() > in.size())
      throw_user("expected a body with ", in.size(), " inputs and outputs, got ", b.inputs.size(), " and ",
                 b.outputs.size());
    RawNode n = node("Loop", name_of(p, op), op.position);
    auto condition = [&](const std::string& prefix, const std::vector<std::string>& bound, auto& nodes, auto& constants,
                         bool inside) {
      auto made = copy(test, prefix, bound, nodes, constants, inside);
      if (made.size() != 1) throw_user("expected a condition with one output, got ", made.size());
      return made[0];
    };
    n.inputs = {"", condition(n.name + "/first/", in, p.nodes, p.constants, p.inside)};
    auto g = std::make_shared<RawGraph>();
    g->name = b.name;
    auto parameter = [&](std::string name, Info info) {
      RawValue v;
      v.name = unique(n.name + '/' + name), v.info = std::move(info);
      g->inputs.push_back(v);
      return v.name;
    };
    parameter("iteration", {DType::i64, Shape()}), parameter("going", {DType::boolean, Shape()});
    std::vector<std::string> before;
    std::vector<size_t> kept;
    for (size_t i = 0; i < in.size(); ++i) {
      // What the body hands on is the same in all iterations.
      if (b.inputs[i] == b.outputs[i]) {
        before.push_back(in[i]);
        continue;
      }
      const TfliteTensor& t = b.tensors[static_cast<size_t>(b.inputs[i])];
      before.push_back(parameter(text("value", i), {tflite_known_type(t.type), Shape::unknown()}));
      kept.push_back(i);
      n.inputs.push_back(in[i]);
    }
    auto after = copy(body, n.name + "/body/", before, g->nodes, g->constants, true);
    auto result = [&](const std::string& name) {
      RawValue v;
      v.name = name;
      g->outputs.push_back(std::move(v));
    };
    result(condition(n.name + "/next/", after, g->nodes, g->constants, true));
    for (size_t i : kept) {
      result(after[i]);
      n.outputs.push_back(i < out.size() ? out[i] : "");
    }
    n.fields.emplace_back("body", field_of(g));
    n.fields.emplace_back("lists", field_of(std::vector<int64_t>{}));
    p.nodes.push_back(std::move(n));
    for (size_t i = 0; i < out.size(); ++i) {
      if (b.inputs[i] != b.outputs[i] || out[i].empty()) continue;
      RawNode same = node("Same", out[i], op.position);
      same.inputs = {in[i]}, same.outputs = {out[i]};
      p.nodes.push_back(std::move(same));
    }
  }
  // What runs before the first run gives variables and tables their first values.
  void call_once(Place& p, const TfliteOperator& op) {
    size_t index = called(op, "init_subgraph_index");
    if (!initialized_.insert(index).second) return;
    bool before = initializing_;
    initializing_ = true;
    copy(index, text("init", initialized_.size(), '/'), {}, main_->nodes, main_->constants, p.inside);
    initializing_ = before;
  }

  // ---- variables and tables: an operator makes a handle, which others take ----

  static bool is_handle(const TfliteOperator& op) { return op.type == "VAR_HANDLE" || op.type == "HASHTABLE"; }
  void hand_on_handle(const std::string& from, const std::string& to) {
    if (auto it = handles_.find(from); it != handles_.end()) handles_[to] = it->second;
  }
  void handle(Place& p, const TfliteOperator& op) {
    std::string key;
    for (const auto& [path, f] : op.fields) {
      if (path == "key_dtype" || path == "value_dtype") continue;
      if (const auto* s = f.value.get_if<std::string>()) key += (key.empty() ? "" : "/") + *s;
      else if (const auto* i = f.value.get_if<int64_t>()) key += text("table ", *i);
    }
    if (op.outputs.size() != 1 || op.outputs[0] < 0) throw_user("expected one output, got ", op.outputs.size());
    auto i = static_cast<size_t>(op.outputs[0]);
    if (p.written[i]) throw_user("the tensor '", p.graph.tensors[i].name, "' is computed twice");
    p.written[i] = true;
    handles_[p.names[i]] = key;
  }
  const std::string& key_of(Place& p, const TfliteOperator& op, size_t inputs) const {
    if (op.inputs.size() < inputs) throw_user("expected ", inputs, " inputs, got ", op.inputs.size());
    for (size_t i = 0; i < inputs; ++i)
      if (op.inputs[i] < 0) throw_user("required input ", i, " is missing");
    auto it = handles_.find(p.names[static_cast<size_t>(op.inputs[0])]);
    if (it == handles_.end()) throw_unsupported("expected a variable or table that an operator of the model creates");
    return it->second;
  }
  // A layer for the value that a variable has before a run.
  void read(const std::string& key, const std::string& first, const std::string& name, const Info& info,
            size_t position) {
    RawNode n;
    n.type = "ReadVariable", n.domain = "graft", n.name = name, n.position = position;
    n.inputs = {first}, n.outputs = {name};
    n.fields.emplace_back("variable_id", field_of(key));
    n.fields.emplace_back("type", field_of(info.type));
    n.fields.emplace_back("shape", field_of(info.shape));
    main_->nodes.push_back(std::move(n));
  }
  void read_variable(Place& p, const TfliteOperator& op) {
    std::string key = key_of(p, op, 1);
    std::string& value = initializing_ ? first_[key] : now_[key];
    if (value.empty() && initializing_) throw_user("the variable '", key, "' is read before it has a value");
    if (value.empty()) {
      const TfliteTensor& t = p.graph.tensors[static_cast<size_t>(op.outputs.at(0))];
      value = unique(key + "/value");
      auto it = first_.find(key);
      read(key, it == first_.end() ? "" : it->second, value, info_of(t), op.position);
      unchanged_.insert(key);
    }
    forward(p, op, {value});
  }
  void assign_variable(Place& p, const TfliteOperator& op) {
    std::string key = key_of(p, op, 2), value = p.names[static_cast<size_t>(op.inputs[1])];
    if (initializing_) {
      first_[key] = value;
      return;
    }
    if (p.inside)
      throw_unsupported("an assignment of the variable '", key, "' inside of control flow is not supported");
    now_[key] = value;
    unchanged_.erase(key);
  }
  void assign(const std::string& key, const std::string& value) {
    if (unchanged_.count(key)) return;
    RawNode n;
    n.type = "AssignVariable", n.domain = "graft", n.name = key + "/assign";
    n.inputs = {value};
    n.fields.emplace_back("variable_id", field_of(key));
    main_->nodes.push_back(std::move(n));
  }
  void fill_table(Place& p, const TfliteOperator& op) {
    std::string key = key_of(p, op, 3);
    if (!initializing_) throw_unsupported("a table that changes while the model runs is not supported");
    tables_[key] = {p.names[static_cast<size_t>(op.inputs[1])], p.names[static_cast<size_t>(op.inputs[2])]};
  }
  void use_table(Place& p, const TfliteOperator& op) {
    bool find = op.type == "HASHTABLE_FIND";
    auto it = tables_.find(key_of(p, op, find ? 3 : 1));
    if (it == tables_.end()) throw_unsupported("expected a table that the model fills before the first run");
    RawNode n = node(find ? "TableFind" : "TableSize", name_of(p, op), op.position);
    n.outputs = values(p, op.outputs);
    n.inputs = {it->second.first, it->second.second};
    for (size_t i = 1; find && i < 3; ++i) n.inputs.push_back(p.names[static_cast<size_t>(op.inputs[i])]);
    p.nodes.push_back(std::move(n));
  }

  struct Special {
    std::string_view type;
    void (Assembler::*read)(Place&, const TfliteOperator&);
  };
  static const Special specials[13];

  const TfliteModel& model_;
  const Limits& limits_;
  RawGraph* main_ = nullptr;
  size_t index_ = 0;  // of the sub-graph that is the model
  std::set<std::string> names_;
  std::vector<size_t> calls_;
  size_t copied_ = 0;
  std::set<size_t> initialized_;
  bool initializing_ = false;
  std::map<std::string, std::string> variables_;    // tensors that keep their values -> variable
  std::map<std::string, std::string> handles_;      // values -> variable or table
  std::map<std::string, std::string> first_, now_;  // variable -> value: initially, and where the reading stands
  std::set<std::string> unchanged_;
  std::map<std::string, std::pair<std::string, std::string>> tables_;  // keys, values
};

const Assembler::Special Assembler::specials[13] = {
    {"CALL", &Assembler::call},
    {"STABLEHLO_COMPOSITE", &Assembler::call},
    {"IF", &Assembler::branches},
    {"WHILE", &Assembler::loop},
    {"STABLEHLO_WHILE", &Assembler::loop},
    {"CALL_ONCE", &Assembler::call_once},
    {"VAR_HANDLE", &Assembler::handle},
    {"HASHTABLE", &Assembler::handle},
    {"READ_VARIABLE", &Assembler::read_variable},
    {"ASSIGN_VARIABLE", &Assembler::assign_variable},
    {"HASHTABLE_IMPORT", &Assembler::fill_table},
    {"HASHTABLE_FIND", &Assembler::use_table},
    {"HASHTABLE_SIZE", &Assembler::use_table},
};

}  // namespace
}  // namespace tflite_assembly

RawModel assemble_tflite(const TfliteModel& model, const TfliteSignature* signature, const Limits& limits) {
  return tflite_assembly::Assembler(model, limits).run(signature);
}

}  // namespace graft
