#include <algorithm>
#include <cstring>
#include <filesystem>
#include <unordered_map>

#include "base/file.hpp"
#include "base/tensor.hpp"
#include "base/text.hpp"
#include "graph/verify.hpp"
#include "infer/inference.hpp"
#include "ir/attributes.hpp"
#include "ir/forms.hpp"
#include "ir/ir.hpp"
#include "ir/stub.hpp"
#include "ir/weights.hpp"
#include "ir/xml_values.hpp"
#include "schema/resolve.hpp"

namespace graft {
namespace {

using pugi::xml_attribute;
using pugi::xml_node;

class Reader {
 public:
  Reader(const Registry& registry, std::string_view weights, std::shared_ptr<const void> keeper, const Limits& limits,
         IrReading reading)
      : registry_(registry), weights_(weights), keeper_(std::move(keeper)), limits_(limits), reading_(reading) {}

  Graph document(xml_node net) {
    if (!equal_ignoring_case(net.name(), "net"))
      throw_user("expected <net> as the root element, got <", net.name(), ">");
    int64_t version = required_int(net, "version");
    if (version != 10 && version != 11)
      throw Error(ErrorKind::unsupported, text("expected IR version 10 or 11, got ", version),
                  version < 10 ? "convert the original model again" : "");
    version_ = version;
    if (net.child("pre-process")) throw_unsupported("the <pre-process> section is not supported");
    xml_node record = net.child("graft").child("weights");
    if (record) check_record(record);
    Graph g = graph(net, 0);
    if (g.results().empty()) throw_user("the model has no outputs");
    check_names(g);
    check_overlaps();
    g.name = net.attribute("name").value();
    g.weights_recorded = static_cast<bool>(record);
    return g;
  }

 private:
  // The indices of a layer's ports by their ids.
  class Ports {
   public:
    explicit Ports(xml_node list, const char* kind) {
      for (xml_node p : list.children("port"))
        by_id_.emplace_back(required_int(p, "id"), static_cast<uint32_t>(by_id_.size()));
      std::sort(by_id_.begin(), by_id_.end());
      for (size_t i = 1; i < by_id_.size(); ++i)
        if (by_id_[i].first == by_id_[i - 1].first) throw_user("two ", kind, " ports have the id ", by_id_[i].first);
    }
    std::optional<uint32_t> find(int64_t id) const {
      auto it = std::lower_bound(by_id_.begin(), by_id_.end(), std::pair<int64_t, uint32_t>(id, 0));
      return it != by_id_.end() && it->first == id ? std::optional(it->second) : std::nullopt;
    }

   private:
    std::vector<std::pair<int64_t, uint32_t>> by_id_;
  };
  struct Layer {
    NodeId node;
    Ports inputs, outputs;
  };

  void check_record(xml_node n) const {
    WeightsRecord record{static_cast<uint64_t>(required_int(n, "size")), std::string(required(n, "hash"))};
    if (record.hash.size() != 16) throw_user("expected a hash of 16 digits of the weights, got '", record.hash, "'");
    // Without any weights, the constants tell which file is missing.
    bool missing = weights_.empty() && !keeper_;
    if (!missing && (reading_ == IrReading::file || record.size != weights_.size())) check_weights(weights_, record);
  }

  // A small file could otherwise describe constants of any total size, which converting it would write to the disk.
  void check_overlaps() {
    std::sort(ranges_.begin(), ranges_.end(),
              [](const Range& a, const Range& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
    for (size_t i = 1; i < ranges_.size(); ++i) {
      const Range &a = ranges_[i - 1], &b = ranges_[i];
      bool same = a.begin == b.begin && a.end == b.end;
      if (!same && b.begin < a.end)
        throw_user("constants '", a.layer, "' and '", b.layer, "' partly overlap in the weights");
    }
  }

  // An output without a name of its own has all names of its value; those of many outputs of one value multiply.
  void check_names(const Graph& g) const {
    uint64_t names = 0;
    for (NodeId r : g.results())
      if (g[r].outputs.empty() || g[r].outputs[0].names.empty()) {
        ValueId v = g[r].inputs[0];
        names += v.present() ? g.output(v).names.size() : 0;
      }
    if (names > limits_.nodes) throw_limit(&Limits::nodes, "the outputs have more than ", limits_.nodes, " names");
  }

  template <class F>
  static void each_and_remove(xml_node list, const char* name, F&& each) {
    for (xml_node n = list.child(name), next; n; n = next) {
      next = n.next_sibling(name);
      each(n);
      list.remove_child(n);
    }
  }

  Graph graph(xml_node parent, int depth) {
    if (depth > limits_.levels()) throw_limit(&Limits::depth, "bodies are nested more than ", limits_.depth, " deep");
    Graph g;
    std::unordered_map<int64_t, Layer> layers;
    xml_node list = parent.child("layers");
    if (!list) throw_user("<", parent.name(), "> has no <layers>");
    // What is read is given back: the parsed document of a large graph takes more memory than the graph.
    each_and_remove(list, "layer", [&](xml_node n) {
      if (++count_ > limits_.nodes) throw_limit(&Limits::nodes, "the model has more than ", limits_.nodes, " layers");
      with_context([&] { layer(g, n, layers, depth); },
                   [&] {
                     return text("reading layer '", n.attribute("name").value(), "' (", n.attribute("type").value(),
                                 ", id ", n.attribute("id").value(), ")");
                   });
    });
    each_and_remove(parent.child("edges"), "edge", [&](xml_node n) { edge(g, n, layers); });
    for (auto& [id, l] : layers) {
      std::vector<ValueId>& in = g[l.node].inputs;
      while (!in.empty() && !in.back().present()) in.pop_back();
    }
    finish(g);
    if (version_ >= 11) g.rt_info = keep(parent.child("rt_info"));
    if (g.rt_info && g.rt_info->children.empty()) g.rt_info = nullptr;
    if (depth == 0) take_forms(g);
    return g;
  }

  void layer(Graph& g, xml_node n, std::unordered_map<int64_t, Layer>& layers, int depth) {
    int64_t id = required_int(n, "id");
    Node node;
    std::string_view type = required(n, "type"), version = required(n, "version");
    node.name = required(n, "name");
    if (xml_node stub = n.child("stub"))
      node.stub =
          std::make_shared<Stub>(read_stub(stub, {limits_, count_, [&](xml_node t) { return constant(t, ""); }}));
    const OpDef* op = node.stub && stays_stub(*node.stub) ? nullptr : find(type, version);
    if (op) node.stub = nullptr;
    node.type = op ? op->name() : type;
    node.opset = op ? op->opset() : version;
    node.opaque = !op;
    // Structural operations must be known: they cannot become opaque nodes.
    for (std::string_view own : {"Parameter", "Result", "Constant", "Const"})
      if (!op && !node.stub && type == own) throw_user("expected ", type, " of opset1, got version '", version, "'");
    if (version_ >= 11) node.rt_info = keep(n.child("rt_info"));
    Layer l{0, Ports(n.child("input"), "input"), Ports(n.child("output"), "output")};
    for (xml_node p : n.child("input").children("port")) {
      node.inputs.emplace_back();
      if (version_ >= 11 && p.child("rt_info")) {
        node.input_rt_info.resize(node.inputs.size());
        node.input_rt_info.back() = keep(p.child("rt_info"));
      }
    }
    for (xml_node p : n.child("output").children("port")) {
      node.outputs.push_back(output(p));
      node.outputs.back().declared = node.outputs.back().info.shape;
      // A port without dimensions is a scalar or of unknown rank; an opaque node has no shape function to tell which.
      if (node.opaque && node.outputs.back().info.shape.rank() == 0) node.outputs.back().info.shape = Shape::unknown();
    }
    if (n.attribute("output_names"))
      for (const std::string& name : parse_names(n.attribute("output_names").value())) {
        if (node.outputs.empty()) node.outputs.emplace_back();
        node.outputs[0].add_name(name);
      }
    if (node.stub) node.attrs = plain_attributes(node.stub->layer);
    else
      read_attributes(node, n.child("data"), op,
                      {limits_, [&]() -> const std::vector<const RuleDef*>& { return extension_rules(); },
                       [&](xml_node t, const std::string& prefix) { return constant(t, prefix); }});
    if (op)
      for (graft_str prefix : op->bodies()) node.bodies.push_back(body(n, view(prefix), l, depth));
    if (reading_ == IrReading::file) node.name = g.unique_name(node.name);
    l.node = g.add(std::move(node));
    if (!layers.emplace(id, std::move(l)).second) throw_user("two layers have the id ", id);
  }

  // A stub is imported later by its rule. Without one, the operation of its name takes it.
  bool stays_stub(const Stub& s) const {
    return reading_ == IrReading::back || rule_for(registry_, s.framework, s.layer, s.version());
  }

  // Old files refer to opsets that never had the operation: experimental ones, and some of opset2 as opset1.
  const OpDef* find(std::string_view type, std::string_view version) const {
    const OpDef* exact = registry_.find_in_ir(type, version);
    if (version == "extension" && once_experimental(type) && (!exact || exact->has(GRAFT_OP_WEAK)))
      return registry_.find(type, "opset6");
    // A layer that a mapping file passed through names no opset: it means the one extension that defines its type.
    if (version == "extension" && (!exact || exact->has(GRAFT_OP_WEAK)))
      if (const OpDef* op = only_extension(type)) return op;
    if (exact) return exact;
    // Types of extensions are theirs: their Cosh is not ours.
    if (version == "extension") return nullptr;
    if (version == "experimental")
      if (const OpDef* op = registry_.find_in_ir(type, "opset6")) return op;
    for (int n = opset_number(version) + 1; n > 0 && n <= 32; ++n)
      if (const OpDef* op = registry_.find_in_ir(type, text("opset", n))) return op;
    // Kernels of the classic kinds know the type of a layer, not its opset.
    const OpDef* op = reading_ == IrReading::file ? only_extension(type) : nullptr;
    return op && op->has(GRAFT_OP_WEAK) ? op : nullptr;
  }

  // Operations that early releases wrote with the version "extension", and later ones as opset6. We never do.
  bool once_experimental(std::string_view type) const {
    return reading_ == IrReading::file &&
           (type.starts_with("ExperimentalDetectron") || type == "GRUCell" || type == "RNNCell" || type == "Proposal");
  }

  const OpDef* only_extension(std::string_view type) const {
    if (!extensions_) {
      extensions_.emplace();
      for (const OpDef* d : registry_.ops())
        if (!d->source->built_in())
          for (std::string_view name : {d->name(), d->ir_name()}) extensions_->try_emplace(to_lower(name));
    }
    auto it = extensions_->find(to_lower(type));
    if (it == extensions_->end()) return nullptr;
    if (!it->second) {
      auto known = extension_operations(registry_, type);
      it->second = known.size() == 1 ? known[0] : nullptr;
    }
    return *it->second;
  }

  const std::vector<const RuleDef*>& extension_rules() const {
    if (!rules_) {
      rules_.emplace();
      for (const RuleDef* r : registry_.all_rules())
        if (!r->source->built_in()) rules_->push_back(r);
    }
    return *rules_;
  }

  Output output(xml_node p) {
    Output o;
    std::string_view precision = required(p, "precision");
    auto type = parse_dtype(precision);
    if (!type) throw_user("unknown precision '", precision, "' of an output port");
    o.info.type = *type;
    o.info.shape = Shape();
    for (xml_node d : p.children("dim")) {
      std::string_view s = trim(d.text().get());
      auto v = parse_int(s);
      if (!v || *v < -1) throw_user("expected a port dimension of -1 or more, got '", s, "'");
      if (o.info.shape.rank() >= limits_.rank)
        throw_limit(&Limits::rank, "a port has more than ", limits_.rank, " dimensions");
      o.info.shape.push_back(*v < 0 ? Dim() : Dim(*v));
    }
    for (const std::string& name : parse_names(p.attribute("names").value())) o.add_name(name);
    if (version_ >= 11) o.rt_info = keep(p.child("rt_info"));
    return o;
  }

  Tensor constant(xml_node data, const std::string& prefix) {
    std::string_view type_text = required(data, (prefix + "element_type").c_str()),
                     shape_text = required(data, (prefix + "shape").c_str());
    auto type = parse_dtype(type_text);
    if (!type || *type == DType::undefined) throw_user("unknown element type '", type_text, "' of the constant");
    auto shape = parse_shape(shape_text);
    if (shape && shape->rank() > limits_.rank)
      throw_limit(&Limits::rank, "the constant has more than ", limits_.rank, " dimensions");
    if (!shape || !shape->is_static()) throw_user("expected a static shape of the constant, got '", shape_text, "'");
    std::vector<int64_t> dims = shape->values();
    int64_t offset = required_int(data, (prefix + "offset").c_str()),
            size = required_int(data, (prefix + "size").c_str());
    if (offset < 0 || size < 0)
      throw_user("expected a non-negative offset and size of the constant, got ", offset, " and ", size);
    auto total = static_cast<int64_t>(weights_.size());
    if (total == 0 && size > 0)
      throw Error(ErrorKind::user, "the constant refers to the weights file, but there is none",
                  "place the .bin next to the .xml under the same name, or pass it as the second file");
    if (size > total || offset > total - size)
      throw_user("the constant lies at bytes ", offset, " to ", offset, "+", size, " of the weights, which have ",
                 total, " bytes");
    std::string_view bytes = weights_.substr(static_cast<size_t>(offset), static_cast<size_t>(size));
    if (size > 0) ranges_.push_back({offset, offset + size, data.parent().attribute("name").value()});
    if (*type == DType::string) return strings(dims, bytes);
    size_t want = bytes_for(*type, count_checked(dims));
    if (bytes.size() < want)
      throw_user("expected ", want, " bytes for a constant of shape ", dims, " and type ", *type, ", got ",
                 bytes.size());
    return tensor_in_file(*type, dims, bytes.data(), keeper_);
  }

  static Tensor strings(const std::vector<int64_t>& dims, std::string_view bytes) {
    auto number = [&](size_t i) {
      if (bytes.size() / 4 <= i) throw_user("the string data of the constant is truncated");
      int32_t v;
      std::memcpy(&v, bytes.data() + 4 * i, 4);
      return v;
    };
    int64_t count = count_checked(dims);
    if (number(0) != count)
      throw_user("expected ", count, " strings for a constant of shape ", dims, ", got ", number(0));
    size_t start = 4 * (static_cast<size_t>(count) + 2);
    if (start > bytes.size()) throw_user("the string data of the constant is truncated");
    std::string_view texts = bytes.substr(start);
    std::vector<std::string> out;
    for (int64_t i = 0; i < count; ++i) {
      int32_t a = number(static_cast<size_t>(i) + 1), b = number(static_cast<size_t>(i) + 2);
      if (a < 0 || b < a || static_cast<size_t>(b) > texts.size())
        throw_user("string ", i, " of the constant lies at bytes ", a, " to ", b, " of ", texts.size());
      out.emplace_back(texts.substr(static_cast<size_t>(a), static_cast<size_t>(b - a)));
    }
    forget_pages(bytes.data(), bytes.size());
    return Tensor::strings(dims, std::move(out));
  }

  void edge(Graph& g, xml_node n, const std::unordered_map<int64_t, Layer>& layers) {
    int64_t from = required_int(n, "from-layer"), from_port = required_int(n, "from-port"),
            to = required_int(n, "to-layer"), to_port = required_int(n, "to-port");
    auto find_layer = [&](int64_t id) -> const Layer& {
      auto it = layers.find(id);
      if (it == layers.end())
        throw_user("an edge connects layer ", from, " to layer ", to, ", but layer ", id, " does not exist");
      return it->second;
    };
    const Layer &a = find_layer(from), &b = find_layer(to);
    std::optional<uint32_t> out = a.outputs.find(from_port);
    if (!out)
      throw_user("an edge leaves port ", from_port, " of layer ", from, " ", describe(g[a.node]),
                 ", which has no such output");
    std::optional<uint32_t> in = b.inputs.find(to_port);
    if (!in)
      throw_user("an edge enters port ", to_port, " of layer ", to, " ", describe(g[b.node]),
                 ", which has no such input");
    ValueId& slot = g[b.node].inputs[*in];
    if (slot.present()) throw_user("two edges enter port ", to_port, " of layer ", to, " ", describe(g[b.node]));
    slot = {a.node, *out};
  }

  Body body(xml_node layer, std::string_view prefix, const Layer& ports, int depth) {
    xml_node section = layer.child(text(prefix, "body").c_str());
    if (!section) throw_user("missing <", prefix, "body>");
    Body b;
    // Positions of the body's parameters and results by layer id.
    std::unordered_map<int64_t, int64_t> parameters, results;
    for (xml_node n : section.child("layers").children("layer")) {
      std::string_view type = n.attribute("type").value();
      if (type == "Parameter") parameters.emplace(required_int(n, "id"), static_cast<int64_t>(parameters.size()));
      if (type == "Result") results.emplace(required_int(n, "id"), static_cast<int64_t>(results.size()));
    }
    b.graph = std::make_unique<Graph>(graph(section, depth + 1));
    auto inside = [&](const auto& known, int64_t id, std::string_view what) {
      auto it = known.find(id);
      if (it == known.end()) throw_user("the port map refers to layer ", id, " of the body, which is not a ", what);
      return it->second;
    };
    std::vector<std::pair<int64_t, size_t>> external_outputs;
    for (xml_node e : layer.child(text(prefix, "port_map").c_str()).children()) {
      graft_port_map m{};
      bool input = std::string_view(e.name()) == "input";
      m.external = required_int(e, "external_port_id");
      m.internal = input ? inside(parameters, required_int(e, "internal_layer_id"), "Parameter")
                         : inside(results, required_int(e, "internal_layer_id"), "Result");
      std::string_view purpose = e.attribute("purpose").value();
      if (purpose == "current_iteration") m.purpose = GRAFT_CURRENT_ITERATION;
      else if (purpose == "execution_condition") m.purpose = GRAFT_EXECUTION_CONDITION;
      else if (!purpose.empty()) throw_user("unknown purpose '", purpose, "' in the port map");
      if (e.attribute("axis")) {
        m.sliced = 1;
        m.axis = required_int(e, "axis");
        m.start = optional_int(e, "start", 0), m.end = optional_int(e, "end", -1);
        m.stride = optional_int(e, "stride", 1), m.part_size = optional_int(e, "part_size", 1);
      }
      if (input) {
        if (m.external >= 0) {
          std::optional<uint32_t> in = ports.inputs.find(m.external);
          if (!in) throw_user("the port map refers to input port ", m.external, ", which does not exist");
          m.external = *in;
        }
        b.inputs.push_back(m);
      } else {
        if (m.external >= 0) external_outputs.emplace_back(m.external, b.outputs.size());
        b.outputs.push_back(m);
      }
    }
    // IR writers number external outputs differently; their ascending order is the order of the outputs.
    std::stable_sort(external_outputs.begin(), external_outputs.end());
    for (size_t i = 0; i < external_outputs.size(); ++i)
      b.outputs[external_outputs[i].second].external = static_cast<int64_t>(i);
    for (xml_node e : layer.child("back_edges").children("edge"))
      b.back_edges.push_back({inside(results, required_int(e, "from-layer"), "Result"),
                              inside(parameters, required_int(e, "to-layer"), "Parameter")});
    return b;
  }

  // Resolves attributes and inputs against the schema, then infers shapes; the file's own shapes are not trusted.
  void finish(Graph& g) {
    for (NodeId id = 0; id < g.end_id(); ++id) {
      Node& n = g[id];
      if (n.opaque) continue;
      with_context([&] { resolve(n, definition(registry_, n), Extras::keep); },
                   [&] { return text("reading layer ", describe(n)); });
    }
    verify(g, Bodies::left_alone);  // each body was verified when it was read
    Inference(registry_, g, limits_).infer_all();
  }

  // Of extensions, filled on first use. Operations by type: empty if not looked up yet, null if the type is ambiguous.
  mutable std::optional<std::unordered_map<std::string, std::optional<const OpDef*>>> extensions_;
  mutable std::optional<std::vector<const RuleDef*>> rules_;
  const Registry& registry_;
  std::string_view weights_;
  std::shared_ptr<const void> keeper_;
  Limits limits_;
  struct Range {
    int64_t begin, end;
    std::string layer;
  };
  std::vector<Range> ranges_;  // of constants in the weights
  IrReading reading_;
  int64_t version_ = 11;
  size_t count_ = 0;
};

}  // namespace

bool looks_like_ir(std::string_view bytes) {
  std::string_view head = trim(bytes.substr(0, std::min<size_t>(bytes.size(), 4096)));
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  return head.starts_with('<') && to_lower(head).find("<net") != std::string::npos;
}

Graph read_ir(std::string_view xml, std::string_view weights, std::shared_ptr<const void> keeper,
              const Registry& registry, const Limits& limits, IrReading reading) {
  pugi::xml_document doc;
  pugi::xml_parse_result parsed = doc.load_buffer(xml.data(), xml.size());
  if (parsed) forget_pages(xml.data(), xml.size());  // copied
  if (!parsed) {
    auto at = static_cast<size_t>(std::max<ptrdiff_t>(parsed.offset, 0));
    auto line = 1 + std::count(xml.begin(), xml.begin() + static_cast<ptrdiff_t>(std::min(at, xml.size())), '\n');
    throw_user("invalid XML at line ", line, " (byte ", at, "): ", to_lower(parsed.description()));
  }
  xml_node net = doc.document_element();
  if (!net) throw_user("the file has no XML element");
  return Reader(registry, weights, std::move(keeper), limits, reading).document(net);
}

namespace {

struct IrFiles {
  std::shared_ptr<const MappedFile> xml, bin;
};
// Another process may replace both files in between: then the ones that were opened may not belong together.
IrFiles open_files(const std::string& xml_path, const std::string& weights_path) {
  constexpr int most = 100;
  std::string beside =
      xml_path.substr(0, xml_path.size() - std::min(xml_path.size(), extension_of(xml_path).size())) + ".bin";
  for (int attempt = 0; attempt < most; ++attempt) {
    IrFiles f{MappedFile::open(xml_path), nullptr};
    std::error_code ec;
    if (!weights_path.empty()) f.bin = MappedFile::open(weights_path);
    else if (std::filesystem::exists(beside, ec)) f.bin = MappedFile::open(beside);
    if (f.xml->is_current()) return f;
  }
  throw_io("'", xml_path, "' is replaced again and again while it is being read");
}

}  // namespace

Graph read_ir(const std::string& xml_path, const std::string& weights_path, const Registry& registry,
              const Limits& limits) {
  return with_context(
      [&] {
        auto [xml, bin] = open_files(xml_path, weights_path);
        return read_ir(xml->chars(), bin ? bin->chars() : std::string_view(), bin, registry, limits);
      },
      [&] { return text("reading '", xml_path, "' as IR"); });
}

}  // namespace graft
