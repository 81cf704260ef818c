#include <algorithm>
#include <functional>

#include "base/file.hpp"
#include "base/guard.hpp"
#include "base/log.hpp"
#include "base/tensor.hpp"
#include "base/text.hpp"
#include "ir/attributes.hpp"
#include "ir/forms.hpp"
#include "ir/ir.hpp"
#include "ir/stub.hpp"
#include "ir/weights.hpp"
#include "ir/xml_values.hpp"
#include "schema/resolve.hpp"

namespace graft {
namespace {

class Writer {
 public:
  // `sink` takes the text piece by piece: that of a large graph takes as much memory as the graph.
  using Sink = std::function<void(std::string_view)>;
  Writer(const Registry& registry, WeightsStore& weights, int version, Sink sink)
      : registry_(registry), weights_(weights), version_(version), sink_(std::move(sink)) {}

  void document(const Graph& g) {
    xml_.out = "<?xml version=\"1.0\"?>\n";
    xml_.open("net").attribute("name", g.name).attribute("version", version_);
    contents(g);
    if (g.weights_recorded) weights_record();
    xml_.close();
    drain(0);
  }

 private:
  void drain(size_t most) {
    if (xml_.out.size() <= most) return;
    sink_(xml_.out);
    xml_.out.clear();
  }

  // Inputs first, then the computation, then nodes with only side effects, then outputs: readers derive the order of
  // inputs and outputs from it.
  std::vector<NodeId> layer_order(const Graph& g) {
    std::vector<NodeId> order(g.parameters()), sinks;
    for (NodeId id : g.topological_order()) {
      const Node& n = g[id];
      if (n.is("Parameter") || n.is("Result")) continue;
      const OpDef* op = n.opaque ? nullptr : registry_.find(n.type, n.opset);
      (op && op->has(GRAFT_OP_SINK) ? sinks : order).push_back(id);
    }
    order.insert(order.end(), sinks.begin(), sinks.end());
    order.insert(order.end(), g.results().begin(), g.results().end());
    return order;
  }

  void contents(const Graph& g) {
    std::vector<NodeId> order = layer_order(g);
    std::vector<int64_t> layer_id(g.end_id(), -1);
    for (size_t i = 0; i < order.size(); ++i) layer_id[order[i]] = static_cast<int64_t>(i);
    xml_.open("layers");
    for (NodeId id : order) {
      layer(g, g[id], layer_id[id]);
      drain(size_t{1} << 18);
    }
    xml_.close();

    struct Edge {
      int64_t from, from_port, to, to_port;
    };
    std::vector<Edge> edges;
    for (NodeId id : order)
      for (size_t i = 0; i < g[id].inputs.size(); ++i) {
        ValueId v = g[id].inputs[i];
        if (!v.present()) continue;
        edges.push_back({layer_id[v.node], static_cast<int64_t>(g[v.node].inputs.size() + v.port), layer_id[id],
                         static_cast<int64_t>(i)});
      }
    // Not a stable sort: OpenVINO sorts like this, and files written by it should round-trip unchanged.
    std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.from < b.from; });
    xml_.open("edges");
    for (const Edge& e : edges) {
      xml_.open("edge")
          .attribute("from-layer", e.from)
          .attribute("from-port", e.from_port)
          .attribute("to-layer", e.to)
          .attribute("to-port", e.to_port);
      xml_.close();
      drain(size_t{1} << 18);
    }
    xml_.close();
    if (!has_rt_info()) return;
    if (auto rt_info = with_forms(g)) return xml_.element(*rt_info);
    xml_.open("rt_info");
    xml_.close();
  }

  void weights_record() {
    WeightsRecord record = weights_.record();
    xml_.open("graft");
    xml_.open("weights").attribute("size", record.size).attribute("hash", record.hash);
    xml_.close();
    xml_.close();
  }

  void layer(const Graph& g, const Node& n, int64_t id) {
    with_context(
        [&] {
          const OpDef* op = n.opaque ? nullptr : &definition(registry_, n);
          xml_.open("layer")
              .attribute("id", id)
              .attribute("name", n.name)
              .attribute("type", op ? op->ir_name() : n.type)
              .attribute("version", n.opset);
          if (version_ >= 11 && n.is("Result") && !n.outputs.empty() && !n.outputs[0].names.empty())
            xml_.attribute("output_names", tensor_names_text(n.outputs[0].names));
          for (size_t b = n.bodies.size(); b-- > 0;) port_map(n, b, op->bodies()[b]);
          bool loop = !n.bodies.empty() && op->bodies()[0].size == 0;
          if (loop) ports(g, n);
          write_attributes(xml_, weights_, n, op);
          if (n.rt_info && has_rt_info()) xml_.element(*n.rt_info);
          if (!loop) ports(g, n);
          if (n.stub) write_stub(xml_, weights_, *n.stub);
          for (size_t b = 0; b < n.bodies.size(); ++b) {
            xml_.open(text(op->bodies()[b], "body"));
            contents(*n.bodies[b].graph);
            xml_.close();
          }
          xml_.close();
        },
        [&] { return text("writing ", describe(n)); });
  }

  bool has_rt_info() const { return version_ >= 11; }

  // The dimensions of a port: those of the file it was read from, unless they contradict the inferred shape. A file
  // lists no dimensions for a scalar and for an unknown rank alike.
  static const Shape& listed(const Output& o) {
    if (!o.declared || !o.info.shape.ranked() || o.declared->rank() == 0)
      return o.declared ? *o.declared : o.info.shape;
    if (o.declared->rank() != o.info.shape.rank()) return o.info.shape;
    for (size_t i = 0; i < o.declared->rank(); ++i) {
      const Dim &a = (*o.declared)[i], &b = o.info.shape[i];
      if (a.known() && !b.can_be(a.value())) return o.info.shape;
    }
    return *o.declared;
  }

  void port(int64_t id, const Output& o, bool with_names, const Xml* rt_info) {
    xml_.open("port").attribute("id", id).attribute("precision", port_precision(o.info.type));
    if (std::string names = with_names ? tensor_names_text(o.names) : ""; !names.empty())
      xml_.attribute("names", names);
    if (const Shape& shape = listed(o); shape.ranked())
      for (const Dim& d : shape) xml_.text_element("dim", d.known() ? text(d) : "-1");
    if (rt_info && has_rt_info()) xml_.element(*rt_info);
    xml_.close();
  }

  void ports(const Graph& g, const Node& n) {
    int64_t id = 0;
    if (!n.inputs.empty()) {
      static const Output absent;
      xml_.open("input");
      for (size_t i = 0; i < n.inputs.size(); ++i) {
        const Xml* rt = i < n.input_rt_info.size() ? n.input_rt_info[i].get() : nullptr;
        // By reference: a value may have very many names.
        port(id++, n.inputs[i].present() ? g.output(n.inputs[i]) : absent, false, rt);
      }
      xml_.close();
    }
    if (!n.outputs.empty() && !n.is("Result")) {
      xml_.open("output");
      for (const Output& o : n.outputs) port(id++, o, true, o.rt_info.get());
      xml_.close();
    }
  }

  void port_map(const Node& n, size_t index, graft_str prefix) {
    const Body& b = n.bodies[index];
    // Layer ids of the inputs and outputs as `contents` will number them.
    const Graph& g = *b.graph;
    auto parameter_id = [&](int64_t i) { return i; };
    auto result_id = [&](int64_t i) { return static_cast<int64_t>(g.node_count() - g.results().size()) + i; };
    auto entry = [&](std::string_view kind, const graft_port_map& m, int64_t internal, int64_t external) {
      xml_.open(kind);
      if (m.sliced) xml_.attribute("axis", m.axis);
      xml_.attribute("external_port_id", external).attribute("internal_layer_id", internal);
      if (m.sliced)
        xml_.attribute("start", m.start)
            .attribute("end", m.end)
            .attribute("stride", m.stride)
            .attribute("part_size", m.part_size);
      if (m.purpose)
        xml_.attribute("purpose", m.purpose == GRAFT_CURRENT_ITERATION ? "current_iteration" : "execution_condition");
      xml_.close();
    };
    auto inputs = static_cast<int64_t>(n.inputs.size());
    auto outside = [&](const graft_port_map& m) { return m.external < 0 ? -1 : inputs + m.external; };
    xml_.open(text(prefix, "port_map"));
    for (bool special : {false, true}) {
      for (const graft_port_map& m : b.inputs)
        if ((m.purpose != 0) == special) entry("input", m, parameter_id(m.internal), m.external);
      for (const graft_port_map& m : b.outputs)
        if ((m.purpose != 0) == special) entry("output", m, result_id(m.internal), outside(m));
    }
    xml_.close();
    if (b.back_edges.empty()) return;
    xml_.open("back_edges");
    for (const graft_back_edge& e : b.back_edges) {
      xml_.open("edge").attribute("from-layer", result_id(e.result)).attribute("to-layer", parameter_id(e.parameter));
      xml_.close();
    }
    xml_.close();
  }

  const Registry& registry_;
  WeightsStore& weights_;
  int version_;
  Sink sink_;
  XmlWriter xml_;
};

// Compares a document with the one that was written.
class Comparison {
 public:
  explicit Comparison(std::string_view expected) : expected_(expected) {}
  void take(std::string_view piece) {
    std::string_view there = expected_.substr(at_, piece.size());
    if (there != piece) {
      auto same = std::mismatch(there.begin(), there.end(), piece.begin(), piece.end()).first - there.begin();
      throw Error(ErrorKind::internal,
                  text("the IR reads back differently: expected ", line(there, static_cast<size_t>(same)), ", got ",
                       line(piece, static_cast<size_t>(same))),
                  "nothing was replaced");
    }
    forget_pages(there.data(), there.size());
    at_ += piece.size();
  }
  void finish() const {
    if (at_ != expected_.size())
      throw Error(ErrorKind::internal, "the IR reads back as less than was written", "nothing was replaced");
  }

 private:
  static std::string line(std::string_view s, size_t at) {
    size_t begin = s.substr(0, at).rfind('\n') + 1;
    return in_quotes(trim(s.substr(begin, std::min<size_t>(s.find('\n', begin) - begin, 200))));
  }
  std::string_view expected_;
  size_t at_ = 0;
};

// A file that cannot be read, or that reads as another graph, must not replace a good one. Constants are compared by
// their place in the file; their bytes are not read again.
void check_written(OutputFile& xml, OutputFile& bin, const NewWeights& weights, const Registry& registry, int version,
                   const Limits& limits) {
  auto text_file = xml.read_back(), bin_file = bin.read_back();
  Graph read;
  try {
    Limits own = limits;
    own.nodes = UINT64_MAX;  // those are for files of others: import makes several nodes of a layer
    read = read_ir(text_file->chars(), bin_file->chars(), bin_file, registry, own, IrReading::back);
  } catch (...) {
    Error e = current_error();
    if (is_limit_error(e)) throw e;
    throw Error(ErrorKind::internal, text("the IR cannot be read back: ", e.what()), "nothing was replaced");
  }
  WrittenWeights written(weights, bin_file->chars());
  Comparison comparison(text_file->chars());
  Writer(registry, written, version, [&](std::string_view s) { comparison.take(s); }).document(read);
  comparison.finish();
}

}  // namespace

std::string write_ir(const Graph& graph, const Registry& registry, const std::string& xml_path, int version,
                     const Limits& limits) {
  return with_context(
      [&] {
        if (extension_of(xml_path) != ".xml") throw_user("expected a file name that ends in .xml");
        if (graph.results().empty()) throw_user("the model has no outputs");
        std::string bin_path = xml_path.substr(0, xml_path.size() - 4) + ".bin";
        OutputFile bin(bin_path), xml(xml_path);
        NewWeights weights(bin);
        Writer(registry, weights, version, [&](std::string_view s) { xml.write(s); }).document(graph);
        check_files();
        StepTime time;
        check_written(xml, bin, weights, registry, version, limits);
        log_debug("read the IR back", time.text());
        commit_pair(bin, xml);
        return bin_path;
      },
      [&] { return text("writing '", xml_path, "'"); });
}

}  // namespace graft
