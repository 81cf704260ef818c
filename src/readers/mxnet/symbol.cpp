#include "readers/mxnet/symbol.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/text.hpp"
#include "readers/json.hpp"
#include "readers/mxnet/mxnet.hpp"
#include "readers/names.hpp"

namespace graft {
namespace {

using nlohmann::json;

constexpr size_t most_outputs = 65'536;

// Annotations of training and placement; files before 0.9 have them without underscores, also as "weight_lr_mult".
constexpr std::string_view annotations[] = {"ctx_group",       "lr_mult",      "wd_mult",
                                            "force_mirroring", "mirror_stage", "profiler_scope"};

bool is_annotation(std::string_view key) {
  if (key.size() > 4 && key.starts_with("__") && key.ends_with("__")) return true;
  return std::any_of(std::begin(annotations), std::end(annotations), [&](std::string_view a) {
    return key == a || (key.size() > a.size() && key.ends_with(a) && key[key.size() - a.size() - 1] == '_');
  });
}

class SymbolReader {
 public:
  SymbolReader(const std::string& file, const Limits& limits) : file_(file), limits_(limits) {}

  MxnetSymbol read(std::string_view bytes) {
    json j = parse(bytes);
    MxnetSymbol s = symbol(j);
    s.version = version_of(j);
    upgrade(s);
    return s;
  }

 private:
  // Of a file, or a sub-graph; the nesting of the JSON bounds that of sub-graphs.
  MxnetSymbol symbol(const json& j) {
    if (!j.is_object() || !j.contains("nodes") || !j["nodes"].is_array())
      throw_user(file_, ": expected a symbol with a list of nodes");
    const json& nodes = j["nodes"];
    nodes_ += nodes.size();
    check_nodes();
    MxnetSymbol s;
    s.nodes.reserve(nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i) s.nodes.push_back(node(nodes[i], i));
    heads(j, s);
    return s;
  }

  void check_nodes() const {
    if (nodes_ > limits_.nodes)
      throw_limit(&Limits::nodes, file_, ": the symbol has more than ", limits_.nodes, " nodes");
  }

  json parse(std::string_view bytes) const {
    JsonRules rules;
    rules.depth = limits_.levels();
    rules.too_deep = [&] {
      throw_limit(&Limits::depth, file_, ": values are nested more than ", limits_.depth, " deep");
    };
    return parse_json(bytes, file_, rules);
  }

  // "attrs": {"mxnet_version": ["int", 10100]}
  static int64_t version_of(const json& j) {
    if (!j.contains("attrs") || !j["attrs"].is_object() || !j["attrs"].contains("mxnet_version")) return 800;
    const json& v = j["attrs"]["mxnet_version"];
    if (v.is_array() && v.size() == 2 && v[1].is_number_integer()) return v[1].get<int64_t>();
    return 800;
  }

  template <class... Parts>
  [[noreturn]] void broken(size_t node, const Parts&... parts) const {
    throw_user(file_, ": node ", node, ": ", parts...);
  }

  MxnetNode node(const json& j, size_t index) {
    if (!j.is_object()) broken(index, "expected an object");
    MxnetNode n;
    n.op = text_of(j, "op", index), n.name = text_of(j, "name", index);
    if (n.op.empty()) broken(index, "'", n.name, "' has no operator");
    if (n.name.empty()) broken(index, "a node (", n.op, ") has no name");
    check_name(n.name);
    for (const char* key : {"param", "attr", "attrs"})
      if (j.contains(key)) attributes(j[key], n, index);
    if (j.contains("subgraphs")) subgraphs(j["subgraphs"], n, index);
    if (!j.contains("inputs")) return n;
    if (!j["inputs"].is_array()) broken(index, "expected a list of inputs");
    if (j["inputs"].size() > limits_.items)
      throw_limit(&Limits::items, file_, ": node ", index, ": '", n.name, "' has more than ", limits_.items, " inputs");
    constexpr size_t usual = 8;  // many rules make one or two nodes of each input
    nodes_ += 2 * (std::max(j["inputs"].size(), usual) - usual);
    check_nodes();
    for (const json& in : j["inputs"]) n.inputs.push_back(entry(in, index, text("node ", index)));
    if (n.is_variable() && !n.inputs.empty()) broken(index, "the variable '", n.name, "' has inputs");
    return n;
  }

  void subgraphs(const json& j, MxnetNode& n, size_t index) {
    if (!j.is_array()) broken(index, "expected a list with the sub-graphs of '", n.name, "'");
    for (const json& s : j) n.subgraphs.push_back(symbol(s));
  }

  std::string text_of(const json& j, const char* key, size_t index) const {
    if (!j.contains(key)) return {};
    if (!j[key].is_string()) broken(index, "expected a string for '", key, "'");
    return j[key].get<std::string>();
  }

  void attributes(const json& j, MxnetNode& n, size_t index) const {
    if (j.is_null()) return;
    if (!j.is_object()) broken(index, "expected an object with the attributes of '", n.name, "'");
    for (const auto& [key, value] : j.items()) {
      if (value.is_structured()) broken(index, "expected a string for the attribute '", key, "' of '", n.name, "'");
      if (!n.is_variable() && is_annotation(key)) continue;
      std::string s = value.is_string()                         ? value.get<std::string>()
                      : value.is_boolean() && value.get<bool>() ? "True"
                      : value.is_boolean()                      ? "False"
                      : value.is_null()                         ? "None"
                                                                : value.dump();
      auto same = std::find_if(n.attrs.begin(), n.attrs.end(), [&](const auto& a) { return a.first == key; });
      if (same != n.attrs.end()) {
        same->second = std::move(s);
        continue;
      }
      if (n.attrs.size() >= limits_.attributes)
        throw_limit(&Limits::attributes, file_, ": node ", index, ": '", n.name, "' (", n.op, ") has more than ",
                    limits_.attributes, " attributes");
      n.attrs.emplace_back(key, std::move(s));
    }
  }

  // [node, output] or [node, output, version], of a node before `end`.
  std::pair<size_t, size_t> entry(const json& j, size_t end, const std::string& where) const {
    bool whole = j.is_array() && (j.size() == 2 || j.size() == 3);
    for (size_t i = 0; whole && i < 2; ++i) whole = j[i].is_number_unsigned();
    if (!whole) throw_user(file_, ": ", where, ": expected [node, output] as an input or a head");
    auto node = j[0].get<uint64_t>(), output = j[1].get<uint64_t>();
    if (node >= end) throw_user(file_, ": ", where, ": node ", node, " is not one of the ", end, " nodes before it");
    if (output >= most_outputs)
      throw_user(file_, ": ", where, ": expected an output number below ", most_outputs, ", got ", output);
    return {node, output};
  }

  // The outputs of the model. Files without heads have those nodes as outputs that no node consumes.
  void heads(const json& j, MxnetSymbol& s) const {
    if (j.contains("heads")) {
      if (!j["heads"].is_array()) throw_user(file_, ": expected a list of heads");
      if (j["heads"].size() > limits_.items)
        throw_limit(&Limits::items, file_, ": the symbol has more than ", limits_.items, " heads");
      for (const json& h : j["heads"]) s.heads.push_back(entry(h, s.nodes.size(), "heads"));
    } else {
      std::vector<bool> used(s.nodes.size());
      for (const MxnetNode& n : s.nodes)
        for (const auto& [from, output] : n.inputs) used[from] = true;
      for (size_t i = 0; i < s.nodes.size(); ++i)
        if (!used[i] && !s.nodes[i].is_variable()) s.heads.emplace_back(i, 0);
    }
    if (s.heads.empty()) throw_user(file_, ": the symbol has no outputs");
  }

  // As MXNet itself upgrades files of earlier versions.
  static void upgrade(MxnetSymbol& s) {
    std::vector<MxnetNode> states;
    size_t count = s.nodes.size();
    for (size_t i = 0; i < count; ++i) {
      MxnetNode& n = s.nodes[i];
      // Before 0.9, moving averages were no inputs.
      if ((n.op == "BatchNorm" || n.op == "BatchNorm_v1" || n.op == "CuDNNBatchNorm") && n.inputs.size() == 3)
        for (const char* state : {"moving_mean", "moving_var"}) {
          n.inputs.emplace_back(count + states.size(), 0);
          states.push_back({"null", text(n.name, '_', state), {}, {}, {}});
        }
      // Before 0.9.5, axis -1 meant the whole tensor.
      if (s.version < 905 && (n.op == "argmax" || n.op == "argmin"))
        std::erase_if(n.attrs, [](const auto& a) { return a.first == "axis" && a.second == "-1"; });
    }
    s.nodes.insert(s.nodes.end(), states.begin(), states.end());
  }

  const std::string& file_;
  const Limits& limits_;
  uint64_t nodes_ = 0;  // of the file and its sub-graphs
};

}  // namespace

bool looks_like_mxnet_symbol(std::string_view bytes) {
  if (bytes.starts_with("\xef\xbb\xbf")) bytes.remove_prefix(3);
  std::string_view head = trim(bytes.substr(0, 4096));
  return head.starts_with('{') && bytes.find("\"nodes\"") != bytes.npos && bytes.find("\"op\"") != bytes.npos;
}

MxnetSymbol read_mxnet_symbol(std::string_view json, const std::string& file, const Limits& limits) {
  return SymbolReader(file, limits).read(json);
}

}  // namespace graft
