#include "readers/onnx/onnx.hpp"

#include <algorithm>
#include <graft/builder.hpp>
#include <set>

#include "readers/onnx/tensor.hpp"
#include "readers/wire.hpp"

namespace graft {
namespace {

class Reader {
 public:
  Reader(std::string_view bytes, std::shared_ptr<const void> keeper, const std::string& folder, const Limits& limits)
      : origin_(bytes.data()), limits_(limits), tensors_(std::move(keeper), folder, limits) {}

  RawModel model(std::string_view bytes) {
    RawModel m;
    m.framework = "onnx", m.conventions = onnx_conventions;
    bool has_graph = false;
    std::string_view graph_bytes;
    for (Wire w(bytes, "ModelProto", origin_); w.next();) switch (w.field()) {
        case 2: m.producer = w.text(); break;
        case 7:
          graph_bytes = w.bytes();
          has_graph = true;
          break;
        case 8: opset(w.message("OperatorSetIdProto"), m.opsets); break;
        case 25: m.functions.push_back(function(w.bytes())); break;
        default: w.skip();
      }
    if (!has_graph) throw_user("the ModelProto has no graph");
    m.graph = graph(graph_bytes, 0);
    if (m.opsets.empty()) m.opsets[""] = 1;
    tensors_.check_overlaps();
    m.symbols = std::move(symbols_);
    return m;
  }

 private:
  static void opset(Wire w, std::map<std::string, int64_t>& out) {
    std::string domain;
    int64_t version = 0;
    while (w.next()) switch (w.field()) {
        case 1: domain = w.text(); break;
        case 2: version = w.integer(); break;
        default: w.skip();
      }
    out[normal(domain)] = version;
  }
  static std::string normal(std::string domain) { return domain == "ai.onnx" ? std::string() : domain; }

  // In quarters of a node, for what takes less memory.
  void count(uint64_t quarters) {
    if ((quarters_ += quarters) > 4 * std::min(limits_.nodes, UINT64_MAX / 4))
      throw_limit(&Limits::nodes, "the model has more than ", limits_.nodes, " nodes");
  }
  // Inputs, outputs, constants and long lists count only where there are very many of them.
  void count_beside(uint64_t quarters) {
    constexpr uint64_t usual = 4'000;
    if ((beside_ += quarters) > usual) count(quarters);
  }
  void count_node(const RawNode& n) {
    constexpr size_t usual = 8;
    count(4);
    // Many rules make one or two nodes of each input.
    count_beside(8 * (std::max(n.inputs.size(), usual) - usual));
    count_beside(std::max(n.outputs.size() + n.fields.size(), usual) - usual);
  }

  RawGraph graph(std::string_view bytes, int depth) {
    if (depth > limits_.levels()) throw_limit(&Limits::depth, "graphs are nested more than ", limits_.depth, " deep");
    RawGraph g;
    for (Wire w(bytes, "GraphProto", origin_); w.next();) switch (w.field()) {
        case 1:
          g.nodes.push_back(node(w.bytes(), depth));
          count_node(g.nodes.back());
          break;
        case 2: g.name = w.text(); break;
        case 5: {
          count_beside(2);
          auto [name, tensor] = tensors_.tensor(w.message("TensorProto"));
          g.constants.emplace_back(std::move(name), std::move(tensor));
          break;
        }
        case 11: count_beside(4), g.inputs.push_back(value(w.message("ValueInfoProto"))); break;
        case 12: count_beside(4), g.outputs.push_back(value(w.message("ValueInfoProto"))); break;
        case 13: {
          count_beside(1);
          RawValue v = value(w.message("ValueInfoProto"));
          std::string name = v.name;
          g.values.emplace(std::move(name), std::move(v));
          break;
        }
        case 15: {
          count_beside(2);
          auto [name, tensor] = tensors_.sparse(w.message("SparseTensorProto"));
          g.constants.emplace_back(std::move(name), std::move(tensor));
          break;
        }
        default: w.skip();
      }
    return g;
  }

  RawNode node(std::string_view bytes, int depth) {
    RawNode n;
    n.position = static_cast<size_t>(bytes.data() - origin_);
    std::string overload;
    for (Wire w(bytes, "NodeProto", origin_); w.next();) switch (w.field()) {
        case 1: n.inputs.push_back(w.text()); break;
        case 2: n.outputs.push_back(w.text()); break;
        case 3: n.name = w.text(); break;
        case 4: n.type = w.text(); break;
        case 5:
          if (n.fields.size() >= limits_.attributes)
            throw_limit(&Limits::attributes, "the node '", n.name, "' at byte ", n.position, " has more than ",
                        limits_.attributes, " attributes");
          n.fields.push_back(field(w.message("AttributeProto"), depth));
          break;
        case 7: n.domain = normal(w.text()); break;
        case 8: overload = w.text(); break;
        default: w.skip();
      }
    if (n.type.empty()) throw_user("the node '", n.name, "' at byte ", n.position, " has no op_type");
    if (!overload.empty()) n.type += ":" + overload;
    check_duplicates(n);
    return n;
  }

  static void check_duplicates(const RawNode& n) {
    if (n.fields.size() < 2) return;
    std::vector<std::string_view> names;
    for (const auto& [name, f] : n.fields) names.push_back(name);
    std::sort(names.begin(), names.end());
    if (auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
      throw_user("the node '", n.name, "' (", n.type, ") has a duplicate attribute '", *twice, "'");
  }

  std::pair<std::string, RawField> field(Wire w, int depth) {
    std::string name;
    RawField f;
    int32_t type = 0;
    double number = 0;
    int64_t integer = 0;
    std::string text;
    std::vector<double> floats;
    std::vector<int64_t> ints;
    std::vector<std::string> texts;
    Tensor tensor;
    unsigned seen = 0;  // bit per kind that has content
    while (w.next()) switch (w.field()) {
        case 1: name = w.text(); break;
        case 2: number = w.fixed_float(), seen |= 1 << 1; break;
        case 3: integer = w.integer(), seen |= 1 << 2; break;
        case 4: text = w.text(), seen |= 1 << 3; break;
        case 5: tensor = tensors_.tensor(w.message("TensorProto")).second, seen |= 1 << 4; break;
        case 6: f.graphs.push_back(std::make_shared<RawGraph>(graph(w.bytes(), depth + 1))), seen |= 1 << 5; break;
        case 7: w.fixed<float>([&](float v) { floats.push_back(v); }), seen |= 1 << 6; break;
        case 8: w.integers([&](int64_t v) { ints.push_back(v); }), seen |= 1 << 7; break;
        case 9: texts.push_back(w.text()), seen |= 1 << 8; break;
        case 10: f.tensors.push_back(tensors_.tensor(w.message("TensorProto")).second), seen |= 1 << 9; break;
        case 11: f.graphs.push_back(std::make_shared<RawGraph>(graph(w.bytes(), depth + 1))), seen |= 1 << 10; break;
        case 20: type = w.small(); break;
        case 21: f.refers_to = w.text(); break;
        case 22: tensor = tensors_.sparse(w.message("SparseTensorProto")).second, seen |= 1 << 11; break;
        default: w.skip();
      }
    if (name.empty()) w.broken("has no name");
    if (!f.refers_to.empty()) return {std::move(name), std::move(f)};
    // Files before IR version 2 omit the type: it is the one kind with content.
    if (type == 0)
      for (int k = 1; k <= 11; ++k)
        if (seen >> k & 1) type = type ? -1 : k;
    switch (type) {
      case 1: f.value = number; break;
      case 2: f.value = integer; break;
      case 3: f.value = std::move(text); break;
      case 4:
      case 11:
        if (!tensor) w.broken("('", name, "') has type tensor, but no tensor");
        f.value = std::move(tensor);
        break;
      case 5:
        if (f.graphs.size() != 1) w.broken("('", name, "') has type graph, expected one graph, got ", f.graphs.size());
        break;
      case 6: f.value = std::move(floats); break;
      case 7: f.value = std::move(ints); break;
      case 8: f.value = std::move(texts); break;
      case 9:
      case 10: break;
      case 13:  // a TypeProto: only Optional uses it
        f.value = std::string("type");
        break;
      default: w.broken("('", name, "') has unknown type ", type);
    }
    return {std::move(name), std::move(f)};
  }

  RawValue value(Wire w) {
    RawValue v;
    while (w.next()) switch (w.field()) {
        case 1: v.name = w.text(); break;
        case 2: type(w.message("TypeProto"), v, 0); break;
        default: w.skip();
      }
    return v;
  }

  void type(Wire w, RawValue& v, int depth) {
    if (depth > limits_.levels()) over_limit(&Limits::depth, [&] { w.broken("is nested too deeply"); });
    while (w.next()) switch (w.field()) {
        case 1:
          for (Wire t = w.message("TypeProto.Tensor"); t.next();) switch (t.field()) {
              case 1: v.info.type = onnx_element_type(t.small()); break;
              case 2: v.info.shape = shape(t.message("TensorShapeProto")); break;
              default: t.skip();
            }
          break;
        case 4: element(w.message("TypeProto.Sequence"), v, "sequence", depth); break;
        case 5: map(w.message("TypeProto.Map"), v, depth); break;
        case 8: v.kind = "sparse tensor", w.skip(); break;
        case 9: element(w.message("TypeProto.Optional"), v, "optional", depth); break;
        default: w.skip();
      }
  }

  void element(Wire w, RawValue& v, const char* kind, int depth) {
    v.kind = kind;
    v.parts.assign(1, {});
    while (w.next()) {
      if (w.field() == 1) type(w.message("TypeProto"), v.parts[0], depth + 1);
      else w.skip();
    }
  }
  void map(Wire w, RawValue& v, int depth) {
    v.kind = "map";
    v.parts.assign(2, {});
    while (w.next()) switch (w.field()) {
        case 1: v.parts[0].info.type = onnx_element_type(w.small()); break;
        case 2: type(w.message("TypeProto"), v.parts[1], depth + 1); break;
        default: w.skip();
      }
  }

  Shape shape(Wire w) {
    Shape s;
    while (w.next()) {
      if (w.field() != 1) {
        w.skip();
        continue;
      }
      if (s.dims().size() >= limits_.rank)
        over_limit(&Limits::rank, [&] { w.broken("has more than ", limits_.rank, " dimensions"); });
      Dim d;
      for (Wire t = w.message("Dimension"); t.next();) switch (t.field()) {
          case 1: {
            int64_t n = t.integer();
            if (n > static_cast<int64_t>(limits_.dimension))
              over_limit(&Limits::dimension, [&] { t.broken("is ", n, ", expected at most ", limits_.dimension); });
            d = n < 0 ? Dim() : Dim(n);  // some exporters write -1 for unknown dimensions
            break;
          }
          case 2: d = symbol(t.text()); break;
          default: t.skip();
        }
      s.push_back(d);
    }
    return s;
  }

  Dim symbol(const std::string& name) {
    if (name.empty() || name == "?") return Dim();
    auto [it, fresh] = symbol_ids_.emplace(name, static_cast<uint32_t>(symbols_.size() + 1));
    if (fresh) symbols_.push_back(name);
    return Dim::symbolic(it->second);
  }

  RawFunction function(std::string_view bytes) {
    RawFunction f;
    std::string overload;
    for (Wire w(bytes, "FunctionProto", origin_); w.next();) switch (w.field()) {
        case 1: f.name = w.text(); break;
        case 4: f.inputs.push_back(w.text()); break;
        case 5: f.outputs.push_back(w.text()); break;
        case 6: f.fields.push_back(w.text()); break;
        case 7:
          f.nodes.push_back(node(w.bytes(), 0));
          count_node(f.nodes.back());
          break;
        case 9: opset(w.message("OperatorSetIdProto"), f.opsets); break;
        case 10: f.domain = normal(w.text()); break;
        case 11: f.defaults.push_back(field(w.message("AttributeProto"), 0)); break;
        case 13: overload = w.text(); break;
        default: w.skip();
      }
    if (!overload.empty()) f.name += ":" + overload;
    return f;
  }

  const char* origin_;
  Limits limits_;
  OnnxTensors tensors_;
  uint64_t quarters_ = 0, beside_ = 0;  // of nodes
  std::vector<std::string> symbols_;
  std::map<std::string, uint32_t> symbol_ids_;
};

}  // namespace

bool looks_like_onnx(std::string_view bytes) {
  // A ModelProto begins with small fields and has a graph (7, bytes) and opsets (8, bytes) or a version (1, varint).
  bool graph = false, version = false;
  try {
    for (Wire w(bytes, "file"); w.next();) {
      if (w.field() == 1 && w.type() == Wire::varint_type) version = true;
      else if (w.field() == 7 && w.type() == Wire::bytes_type) graph = true;
      else if (w.field() == 8 && w.type() == Wire::bytes_type) version = true;
      else if (w.field() == 1 || w.field() > 30) return false;
      w.skip();
    }
  } catch (const Error&) {
    // A truncated model is still recognized, so that the reader can report what is wrong with it.
    return version && (graph || bytes.size() > 4);
  }
  return version && (graph || !bytes.empty());
}

RawModel read_onnx(std::string_view bytes, std::shared_ptr<const void> keeper, const std::string& folder,
                   const Limits& limits) {
  return Reader(bytes, std::move(keeper), folder, limits).model(bytes);
}

RawModel read_onnx(const std::string& path, const Limits& limits) {
  return with_context(
      [&] {
        auto file = MappedFile::open(path);
        RawModel m = read_onnx(file->chars(), file, folder_of(path), limits);
        m.path = path;
        return m;
      },
      [&] { return text("reading '", path, "' as ONNX"); });
}

}  // namespace graft
