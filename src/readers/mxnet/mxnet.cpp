#include "readers/mxnet/mxnet.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/text.hpp"
#include "readers/mxnet/control.hpp"
#include "readers/mxnet/symbol.hpp"
#include "readers/python_text.hpp"

namespace graft {
namespace {

// Outputs that MXNet names; those of other operators are "output", or "output0" and so on.
struct OutputNames {
  std::string_view op;
  std::vector<std::string_view> names;
};
const std::vector<OutputNames>& output_names() {
  static const std::vector<OutputNames> all = {
      {"BatchNorm", {"output", "mean", "var"}},
      {"BatchNorm_v1", {"output", "mean", "var"}},
      {"LayerNorm", {"output", "mean", "std"}},
      {"RNN", {"output", "state", "state_cell"}},
      {"Dropout", {"output", "mask"}},
      {"_contrib_Proposal", {"output", "score"}},
      {"_contrib_MultiProposal", {"output", "score"}},
  };
  return all;
}

// Layers for training that ignore their label in inference.
constexpr std::string_view labeled[] = {"SoftmaxOutput",          "Softmax",
                                        "LinearRegressionOutput", "LogisticRegressionOutput",
                                        "MAERegressionOutput",    "SVMOutput"};
// Names that MXNet and Gluon give to parameters.
constexpr std::string_view parameter_suffixes[] = {"_weight",       "_bias",        "_gamma",
                                                   "_beta",         "_moving_mean", "_moving_var",
                                                   "_running_mean", "_running_var", "_parameters"};

template <class List>
bool ends_with_any(std::string_view name, const List& endings) {
  return std::any_of(std::begin(endings), std::end(endings), [&](std::string_view e) { return name.ends_with(e); });
}

DType element_type(int64_t code) {
  constexpr DType types[] = {DType::f32, DType::f64, DType::f16, DType::u8,
                             DType::i32, DType::i8,  DType::i64, DType::boolean};
  return code >= 0 && code < static_cast<int64_t>(std::size(types)) ? types[code] : DType::undefined;
}

class MxnetReader {
 public:
  MxnetReader(const MxnetSymbol& s, const std::string& file, const MxnetParams& params, const ReadOptions& request,
              const Limits& limits)
      : s_(s), file_(file), params_(params), limits_(limits) {
    for (const CutInput& in : request.cut.inputs) asked_.insert(in.place);
  }

  RawModel model() {
    RawModel m;
    m.framework = "mxnet";
    m.position_unit = "node";
    m.producer = text("MXNet ", s_.version / 10000, '.', s_.version / 100 % 100, '.', s_.version % 100);
    m.opsets[""] = m.opsets[std::string(mxnet_custom_domain)] = m.opsets["graft"] = s_.version;
    made_->most = limits_.inlined / 8 + 2 * weight_of_nodes(s_);
    layers(m.graph);
    find_types();
    variables(m.graph);
    std::set<std::string> given;
    std::erase_if(m.graph.outputs, [&](const RawValue& v) { return !given.insert(v.name).second; });
    return m;
  }

 private:
  // A sub-graph: its names get a prefix, its variables are values of the graph around it.
  MxnetReader(const MxnetReader& around, const MxnetSymbol& s, std::string prefix, std::vector<std::string> bound)
      : s_(s),
        file_(around.file_),
        params_(around.params_),
        limits_(around.limits_),
        prefix_(std::move(prefix)),
        bound_(std::move(bound)),
        is_body_(true),
        made_(around.made_) {}

  // The layers that are made of the file, each time counted: the condition of a loop is read twice, so that conditions
  // in conditions multiply. Importing them multiplies them once more, so they are fewer than it may add.
  struct Made {
    uint64_t layers = 0, most = 0;
  };
  static uint64_t weight_of_nodes(const MxnetSymbol& s) {
    uint64_t out = 0;
    for (const MxnetNode& n : s.nodes) {
      out += weight(n);
      for (const MxnetSymbol& inner : n.subgraphs) out += weight_of_nodes(inner);
    }
    return out;
  }
  static uint64_t weight(const MxnetNode& n) {
    return 1 + (n.inputs.size() + n.attrs.size()) / 16 + n.name.size() / 1024;
  }
  void count(const MxnetNode& n) {
    if ((made_->layers += weight(n)) > made_->most)
      throw_limit(&Limits::inlined, file_, ": reading the sub-graphs makes more than ", made_->most, " layers");
  }
  // Sub-graphs in sub-graphs would make names longer and longer.
  std::string inner_prefix(const std::string& prefix) const {
    constexpr size_t longest = 256, kept = 64;
    return prefix.size() <= longest ? prefix : text(prefix.substr(0, kept), '~', made_->layers, '/');
  }

  void layers(RawGraph& g) {
    count_outputs();
    name_values();
    for (size_t i = 0; i < s_.nodes.size(); ++i) {
      if (s_.nodes[i].is_variable()) continue;
      count(s_.nodes[i]);
      RawNode n = layer(i);
      if (!is_mxnet_control(s_.nodes[i])) {
        g.nodes.push_back(std::move(n));
        continue;
      }
      auto read = [&](const MxnetSymbol& s, const std::string& prefix, const std::vector<std::string>& variables) {
        RawGraph body;
        MxnetReader(*this, s, inner_prefix(prefix), variables).layers(body);
        return body;
      };
      std::vector<RawNode> made = with_context([&] { return mxnet_control(s_.nodes[i], n, read); },
                                               [&] { return text("reading '", n.name, "' (", n.type, ')'); });
      g.nodes.insert(g.nodes.end(), std::make_move_iterator(made.begin()), std::make_move_iterator(made.end()));
    }
    for (const auto& [node, output] : s_.heads) g.outputs.push_back({names_[node][output], {}, {}});
  }

  // The file does not say how many outputs a node has: at least as many as are used.
  void count_outputs() {
    names_.resize(s_.nodes.size());
    size_t total = 0;
    auto at_least = [&](size_t node, size_t count) {
      std::vector<std::string>& names = names_[node];
      if (count <= names.size()) return;
      total += count - names.size();
      if (total > limits_.nodes)
        throw_limit(&Limits::nodes, file_, ": the nodes have more than ", limits_.nodes, " outputs");
      names.resize(count);
    };
    for (size_t i = 0; i < s_.nodes.size(); ++i) {
      const MxnetNode& n = s_.nodes[i];
      at_least(i, 1);
      const std::string* count = n.is_variable() ? nullptr : n.find("num_outputs");
      auto number = count ? parse_int(*count) : std::nullopt;
      if (number && *number > 1 && *number <= 65'536) at_least(i, static_cast<size_t>(*number));
    }
    for (const MxnetNode& n : s_.nodes)
      for (const auto& [node, output] : n.inputs) at_least(node, output + 1);
    for (const auto& [node, output] : s_.heads) at_least(node, output + 1);
    for (size_t i = 0; i < s_.nodes.size(); ++i)
      if (s_.nodes[i].is_variable() && names_[i].size() > 1)
        throw_user(file_, ": expected output 0 of the variable '", s_.nodes[i].name, "', got output ",
                   names_[i].size() - 1);
  }

  void name_values() {
    std::set<std::string> given;
    size_t variable = 0;
    for (size_t i = 0; i < s_.nodes.size(); ++i)
      if (s_.nodes[i].is_variable()) given.insert(names_[i][0] = is_body_ ? bound_[variable++] : s_.nodes[i].name);
    std::unordered_map<std::string, int> tried;
    for (size_t i = 0; i < s_.nodes.size(); ++i) {
      const MxnetNode& n = s_.nodes[i];
      if (n.is_variable()) continue;
      auto named = std::find_if(output_names().begin(), output_names().end(), [&](const OutputNames& o) {
        return o.op == n.op && names_[i].size() <= o.names.size();
      });
      for (size_t k = 0; k < names_[i].size(); ++k) {
        std::string base = named != output_names().end() ? text(prefix_, n.name, '_', named->names[k])
                           : names_[i].size() == 1       ? text(prefix_, n.name, "_output")
                                                         : text(prefix_, n.name, "_output", k);
        names_[i][k] = base;
        for (int& number = tried[base]; !given.insert(names_[i][k]).second;) names_[i][k] = text(base, '_', ++number);
      }
    }
  }

  RawNode layer(size_t index) {
    const MxnetNode& n = s_.nodes[index];
    RawNode out;
    out.type = n.op, out.name = prefix_ + n.name, out.position = index;
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      const auto& [from, output] = n.inputs[i];
      out.inputs.push_back(is_left_out(n, i) ? std::string() : names_[from][output]);
    }
    while (!out.inputs.empty() && out.inputs.back().empty()) out.inputs.pop_back();
    for (const std::string& in : out.inputs)
      if (!in.empty()) used_.insert(in);
    out.outputs = names_[index];
    for (const auto& [key, value] : n.attrs) {
      RawField f;
      std::optional<Attribute> typed = parse_python_value(value);
      f.value = typed ? std::move(*typed) : Attribute(value);
      out.fields.emplace_back(key, std::move(f));
    }
    if (n.op == "Custom") custom(out, index);
    // Bodies that import does not know: the count says that they exist.
    if (!n.subgraphs.empty()) {
      RawField f;
      f.value = static_cast<int64_t>(n.subgraphs.size());
      out.fields.emplace_back("subgraphs", std::move(f));
    }
    return out;
  }

  // Labels, and states of recurrent layers that begin with zeros, unless they have values or the user asks for them.
  bool is_left_out(const MxnetNode& n, size_t input) const {
    const MxnetNode& from = s_.nodes[n.inputs[input].first];
    if (!from.is_variable()) return false;
    if (!is_body_ && (params_.arrays.count(from.name) || asked_.count(from.name))) return false;
    if (input == 1 && std::find(std::begin(labeled), std::end(labeled), n.op) != std::end(labeled)) return true;
    if (is_body_ || n.op != "RNN" || input < 2) return false;
    return from.find("__shape__") || from.find("__init__") ||
           (from.name.starts_with(n.name) && from.name.substr(n.name.size(), 1) == "_");
  }

  void custom(RawNode& n, size_t index) const {
    const std::string* type = s_.nodes[index].find("op_type");
    if (!type || type->empty()) throw_user(file_, ": node ", index, ": '", n.name, "' (Custom) has no op_type");
    n.type = *type;
    n.domain = mxnet_custom_domain;
    std::erase_if(n.fields, [](const auto& f) { return f.first == "op_type"; });
  }

  void variables(RawGraph& g) {
    for (const auto& [node, output] : s_.heads) used_.insert(names_[node][output]);
    std::set<std::string> seen;
    std::vector<std::string> missing;
    for (const MxnetNode& n : s_.nodes) {
      if (!n.is_variable() || !seen.insert(n.name).second) continue;
      auto array = params_.arrays.find(n.name);
      bool used = used_.count(n.name);
      if (array != params_.arrays.end() && !asked_.count(n.name)) {
        if (used) g.constants.emplace_back(n.name, array->second);
        continue;
      }
      if (used && !asked_.count(n.name) && ends_with_any(n.name, parameter_suffixes)) missing.push_back(n.name);
      RawValue v{n.name, input_info(n), {}};
      if (array != params_.arrays.end()) v.info = array->second.info();
      v.unused = !used;
      g.inputs.push_back(std::move(v));
    }
    if (!missing.empty())
      throw Error(ErrorKind::user,
                  text(file_, ": the parameter '", missing[0], "'",
                       missing.size() > 1 ? text(" and ", missing.size() - 1, " more have") : " has", " no value",
                       params_.arrays.empty() ? "" : " in the parameters file"),
                  params_.arrays.empty() ? "pass the .params file too"
                                         : text("pass the right .params file, or make it an input of the model: ",
                                                Remedy{"inputs", missing[0], ""}));
  }

  Info input_info(const MxnetNode& n) const {
    Info info{DType::undefined, Shape::unknown()};
    if (const std::string* type = n.find("__dtype__"))
      if (auto code = parse_int(*type)) info.type = element_type(*code);
    auto beside = types_.find(n.name);
    if (info.type == DType::undefined) info.type = beside == types_.end() ? DType::f32 : beside->second;
    const std::string* shape = n.find("__shape__");
    std::optional<Attribute> value = shape ? parse_python_value(*shape) : std::nullopt;
    const std::vector<int64_t>* dims = value ? value->get_if<std::vector<int64_t>>() : nullptr;
    if (!dims || dims->empty() || dims->size() > limits_.rank) return info;
    info.shape = Shape();
    for (int64_t d : *dims) {
      if (d > static_cast<int64_t>(limits_.dimension))
        throw_limit(&Limits::dimension, file_, ": expected a dimension of at most ", limits_.dimension,
                    " in the shape of '", n.name, "', got ", d);
      info.shape.push_back(d > 0 ? Dim(d) : Dim());  // 0 and -1: unknown
    }
    return info;
  }

  // MXNet infers the type of an input from the parameters of the layers that consume it.
  void find_types() {
    for (const MxnetNode& n : s_.nodes) {
      std::optional<DType> type;
      for (const auto& [from, output] : n.inputs)
        if (auto it = params_.arrays.find(s_.nodes[from].name);
            it != params_.arrays.end() && is_real(it->second.type()))
          type = it->second.type();
      if (!type) continue;
      for (const auto& [from, output] : n.inputs)
        if (s_.nodes[from].is_variable()) types_.emplace(s_.nodes[from].name, *type);
    }
  }

  const MxnetSymbol& s_;
  const std::string& file_;
  const MxnetParams& params_;
  const Limits& limits_;
  std::string prefix_;              // of names in a sub-graph
  std::vector<std::string> bound_;  // values of its variables, in order
  bool is_body_ = false;
  std::shared_ptr<Made> made_ = std::make_shared<Made>();
  std::set<std::string> asked_, used_;
  std::map<std::string, DType> types_;           // of variables, as their consumers suggest
  std::vector<std::vector<std::string>> names_;  // of the outputs of each node
};

}  // namespace

RawModel read_mxnet(std::string_view symbol, const std::string& name, const MxnetParams& params,
                    const ReadOptions& request, const Limits& limits) {
  MxnetSymbol s = read_mxnet_symbol(symbol, name, limits);
  return MxnetReader(s, name, params, request, limits).model();
}

RawModel read_mxnet(const std::string& symbol, const std::vector<std::string>& params, const ReadOptions& request,
                    const Limits& limits) {
  return with_context(
      [&] {
        MxnetParams all;
        for (const std::string& path : params) {
          auto file = MappedFile::open(path);
          MxnetParams more = with_context([&] { return read_mxnet_params(file->chars(), file, limits); },
                                          [&] { return text("reading the arrays of '", path, "'"); });
          for (auto& [name, t] : more.arrays) all.arrays[name] = t, all.auxiliary[name] = more.auxiliary[name];
        }
        if (!request.save_parameters.empty()) write_mxnet_params(request.save_parameters, all);
        auto file = MappedFile::open(symbol);
        RawModel m = read_mxnet(file->chars(), symbol, all, request, limits);
        m.path = symbol;
        return m;
      },
      [&] {
        return text("reading '", symbol, params.empty() ? "'" : "' with '" + join(params, "', '") + "'", " as MXNet");
      });
}

}  // namespace graft
