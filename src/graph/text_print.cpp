#include <bit>
#include <charconv>
#include <cmath>

#include "base/tensor.hpp"
#include "base/text.hpp"
#include "graph/tensor_names.hpp"
#include "graph/text.hpp"

namespace graft {
namespace {

bool is_plain(std::string_view s) {
  if (s.empty() || s == "_" || s == "return" || s == "graph" || s == "body" || (s[0] >= '0' && s[0] <= '9'))
    return false;
  for (char c : s)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '/'))
      return false;
  return true;
}
// A name that is spelled like an element type would be parsed as the beginning of a tensor.
std::string name_text(std::string_view s) { return is_plain(s) && !parse_dtype(s) ? std::string(s) : in_quotes(s); }

// A NaN that is not the usual one has its bits behind it.
std::string nan_text(double v) {
  std::string s = number_text(v);
  auto bits = std::bit_cast<uint64_t>(v), usual = uint64_t{0x7ff8} << 48;
  if (bits == usual || bits == (usual | uint64_t{1} << 63)) return s;
  char digits[17];
  return text("nan(0x", std::string_view(digits, std::to_chars(digits, digits + 17, bits, 16).ptr), ")");
}

std::string real_text(double v) {
  if (std::isnan(v)) return nan_text(v);
  std::string s = number_text(v);
  return std::isfinite(v) && s.find_first_of(".e") == s.npos ? s + ".0" : s;
}

template <class T, class F>
std::string list_text(const std::vector<T>& items, F&& one) {
  std::string out = "[";
  for (size_t i = 0; i < items.size(); ++i) out += (i ? ", " : "") + one(items[i]);
  return out + "]";
}

std::string value_text(const Graph& g, ValueId v) {
  if (!v.present()) return "_";
  std::string name = name_text(g[v.node].name);
  return v.port ? text(name, '.', v.port) : name;
}

std::string map_text(const graft_port_map& m, std::string_view arrow, const std::string& inside) {
  std::string out = text(inside, ' ', arrow, ' ');
  if (m.purpose == GRAFT_CURRENT_ITERATION) out += "iteration";
  else if (m.purpose == GRAFT_EXECUTION_CONDITION) out += "condition";
  else append_text(out, m.external);
  if (m.sliced) out += text(" cut(", m.axis, ", ", m.start, ", ", m.end, ", ", m.stride, ", ", m.part_size, ")");
  return out;
}

class Printer {
 public:
  std::string out;

  void graph(const Graph& g, const std::string& indent) {
    out += "graph ";
    if (!g.name.empty()) out += in_quotes(g.name) + " ";
    out += "(";
    for (size_t i = 0; i < g.parameters().size(); ++i) {
      const Node& p = g[g.parameters()[i]];
      out += (i ? ", " : "") + name_text(p.name) + ": ";
      out_info(p.outputs.empty() ? Output{} : p.outputs[0]);
    }
    out += ") {\n";
    for (NodeId id : g.topological_order()) {
      if (g[id].is("Parameter") || g[id].is("Result")) continue;
      out += indent + "  ";
      node(g, g[id], indent + "  ");
      out += "\n";
    }
    out += indent + "  return ";
    for (size_t i = 0; i < g.results().size(); ++i) {
      const Node& r = g[g.results()[i]];
      out += (i ? ", " : "") + name_text(r.name) + " = " + value_text(g, r.inputs[0]);
      if (!r.outputs.empty())
        for (const std::string& n : ordered_names(r.outputs[0].names)) out += " " + in_quotes(n);
    }
    out += "\n" + indent + "}";
  }

 private:
  void out_info(const Output& o) {
    append_text(out, o.info);
    for (const std::string& n : ordered_names(o.names)) out += " " + in_quotes(n);
  }

  void node(const Graph& g, const Node& n, const std::string& indent) {
    out += name_text(n.name) + " = ";
    if (n.is("Constant") && n.opset == "opset1" && n.attrs.size() == 1) {
      out += print(n.attrs.begin()->second);
      for (const std::string& t : n.outputs.empty() ? std::vector<std::string>() : ordered_names(n.outputs[0].names))
        out += " " + in_quotes(t);
      return;
    }
    int version = n.opset.starts_with("opset")
                      ? static_cast<int>(parse_int(std::string_view(n.opset).substr(5)).value_or(-1))
                      : -1;
    if (text("opset", version) != n.opset) version = -1;
    out += (is_plain(n.type) ? n.type : in_quotes(n.type)) + "@" + (version >= 0 ? text(version) : name_text(n.opset)) +
           "(";
    for (size_t i = 0; i < n.inputs.size(); ++i) out += (i ? ", " : "") + value_text(g, n.inputs[i]);
    out += ")";
    if (n.opaque) out += " opaque";
    if (!n.attrs.empty()) {
      out += " {";
      bool first = true;
      for (const auto& [name, value] : n.attrs) {
        out += (first ? "" : ", ") + name_text(name) + " = " + print(value);
        first = false;
      }
      out += "}";
    }
    for (size_t i = 0; i < n.outputs.size(); ++i) {
      out += i ? ", " : " : ";
      out_info(n.outputs[i]);
    }
    for (const Body& b : n.bodies) body(b, indent + "  ");
  }

  void body(const Body& b, const std::string& indent) {
    auto parameter = [&](int64_t i) {
      return name_text((*b.graph)[b.graph->parameters()[static_cast<size_t>(i)]].name);
    };
    auto result = [&](int64_t i) { return name_text((*b.graph)[b.graph->results()[static_cast<size_t>(i)]].name); };
    auto list = [&](const auto& items, auto&& one) {
      out += "(";
      for (size_t i = 0; i < items.size(); ++i) out += (i ? ", " : "") + one(items[i]);
      out += ")";
    };
    out += "\n" + indent + "body ";
    list(b.inputs, [&](const graft_port_map& m) { return map_text(m, "<-", parameter(m.internal)); });
    out += " -> ";
    list(b.outputs, [&](const graft_port_map& m) { return map_text(m, "->", result(m.internal)); });
    out += " feed ";
    list(b.back_edges, [&](const graft_back_edge& e) { return result(e.result) + " -> " + parameter(e.parameter); });
    out += " ";
    graph(*b.graph, indent);
  }
};

}  // namespace

std::string print(const Tensor& t, size_t limit) {
  std::string out = text(t.type(), Shape::of(t.dims()), " {");
  bool real = is_real(t.type());
  std::vector<double> reals = real ? values_of<double>(t) : std::vector<double>();
  std::vector<int64_t> ints =
      !real && t.type() != DType::string && t.type() != DType::u64 ? values_of<int64_t>(t) : std::vector<int64_t>();
  std::vector<uint64_t> naturals = t.type() == DType::u64 ? values_of<uint64_t>(t) : std::vector<uint64_t>();
  for (int64_t i = 0; i < t.size(); ++i) {
    auto k = static_cast<size_t>(i);
    if (i) out += ", ";
    if (k >= limit) {
      out += "...";
      break;
    }
    if (t.type() == DType::string) out += in_quotes(t.text_at(i));
    else if (t.type() == DType::u64) out += text(naturals[k]);
    else if (real && std::isnan(reals[k])) out += nan_text(reals[k]);
    else if (t.type() == DType::f32 || t.type() == DType::f16 || t.type() == DType::bf16)
      out += text(static_cast<float>(reals[k]));
    else out += real ? number_text(reals[k]) : text(ints[k]);
  }
  return out + "}";
}

std::string print(const Attribute& v) {
  switch (v.kind()) {
    case GRAFT_BOOL: return v.as<bool>() ? "true" : "false";
    case GRAFT_INT: return text(v.as<int64_t>());
    case GRAFT_FLOAT: return real_text(v.as<double>());
    case GRAFT_TEXT: return in_quotes(v.as<std::string>());
    case GRAFT_DTYPE: return std::string(name_of(v.as<DType>()));
    case GRAFT_SHAPE: return text("shape", v.as<Shape>());
    case GRAFT_TENSOR: return print(v.as<Tensor>());
    case GRAFT_INTS: return list_text(v.as<std::vector<int64_t>>(), [](int64_t i) { return text(i); });
    case GRAFT_FLOATS: return list_text(v.as<std::vector<double>>(), real_text);
    case GRAFT_TEXTS:
      return list_text(v.as<std::vector<std::string>>(), [](const std::string& s) { return in_quotes(s); });
    case GRAFT_DTYPES: return list_text(v.as<std::vector<DType>>(), [](DType t) { return std::string(name_of(t)); });
    default: return "none";
  }
}

std::string print(const Graph& graph) {
  Printer p;
  p.graph(graph, "");
  return p.out + "\n";
}

}  // namespace graft
