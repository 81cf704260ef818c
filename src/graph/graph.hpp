// The graph: it owns its nodes and hands out indices.
//
// A node's inputs are outputs of other nodes; Parameter and Result nodes are the graph's inputs and outputs. Nodes may
// own bodies (If, Loop, TensorIterator), which are separate graphs that see only their Parameters.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/xml.hpp"
#include "graph/attribute.hpp"
#include "graph/forms.hpp"

namespace graft {

using NodeId = uint32_t;
inline constexpr NodeId no_node = UINT32_MAX;

// Output `port` of a node; `absent` for an omitted optional input.
struct ValueId {
  NodeId node = no_node;
  uint32_t port = 0;
  bool present() const { return node != no_node; }
  auto operator<=>(const ValueId&) const = default;
};

class Graph;
struct Stub;

struct Body {
  std::unique_ptr<Graph> graph;
  std::vector<graft_port_map> inputs, outputs;
  std::vector<graft_back_edge> back_edges;
  Body();
  Body(Body&&) noexcept;
  Body& operator=(Body&&) noexcept;
  ~Body();
};

struct Output {
  Info info;
  std::vector<std::string> names;  // tensor names; long lists are not in order, see graph/tensor_names.hpp
  std::optional<Shape>
      declared;  // as the IR lists it, which may be more or less exact; written back while it still fits
  std::shared_ptr<const Xml> rt_info;  // of the port, preserved
  void add_name(const std::string& name);
};

struct Node {
  std::string type;   // "Convolution"
  std::string opset;  // "opset1"
  std::string name;   // for people; unique in its graph
  Attributes attrs;
  std::vector<ValueId> inputs;
  std::vector<Output> outputs;
  std::vector<Body> bodies;
  std::string origin;                                     // "layer 'conv1' (Conv)", for messages
  std::shared_ptr<const Xml> rt_info;                     // runtime information of an IR, preserved
  std::vector<std::shared_ptr<const Xml>> input_rt_info;  // per input port; may be shorter than inputs
  std::shared_ptr<const Stub> stub;  // of an opaque node: the layer of the framework, to be imported later
  bool opaque = false;               // of an unknown operation: attributes and shapes as found in the file
  bool alive = true;

  bool is(std::string_view t) const { return type == t; }
};

class Graph {
 public:
  Graph() = default;
  Graph(Graph&&) noexcept = default;
  Graph& operator=(Graph&&) noexcept = default;
  Graph clone() const;

  std::string name;
  std::shared_ptr<const Xml> rt_info;  // of the whole model, preserved
  // Whether an IR of it records size and hash of its weights. One that did not is written back as it was.
  bool weights_recorded = true;
  // Of all inputs and outputs, in the framework's order; empty if each is a single tensor.
  std::vector<NamedForm> input_forms, output_forms;

  // Adds a node. Parameter and Result nodes become inputs and outputs in the order they are added.
  NodeId add(Node node);
  void erase(NodeId id);

  Node& operator[](NodeId id) { return nodes_[id]; }
  const Node& operator[](NodeId id) const { return nodes_[id]; }
  Output& output(ValueId v) { return nodes_[v.node].outputs[v.port]; }
  const Output& output(ValueId v) const { return nodes_[v.node].outputs[v.port]; }
  const Info& info(ValueId v) const { return output(v).info; }

  // One past the largest id; the ids below it include those of erased nodes.
  NodeId end_id() const { return static_cast<NodeId>(nodes_.size()); }
  size_t node_count() const { return alive_; }

  const std::vector<NodeId>& parameters() const { return parameters_; }
  const std::vector<NodeId>& results() const { return results_; }
  std::vector<NodeId>& parameters() { return parameters_; }
  std::vector<NodeId>& results() { return results_; }

  // All living nodes, producers before consumers; in the order of ids if that already qualifies. Throws on cycles.
  std::vector<NodeId> topological_order() const;

  // A name that no node has yet: `wanted`, or `wanted_1`, `wanted_2`, ...
  std::string unique_name(const std::string& wanted);

 private:
  struct Names;
  std::deque<Node> nodes_;
  size_t alive_ = 0;
  std::vector<NodeId> parameters_, results_;
  std::shared_ptr<Names> names_;
};

struct Use {
  NodeId node;
  uint32_t input;
};

// The consumers of every value, computed once and updated with every change. Stale uses are dropped when a value is
// next queried, so that a change costs no more than its own inputs.
class Users {
 public:
  explicit Users(Graph& graph);
  const std::vector<Use>& of(ValueId v);
  bool read(ValueId v) const;  // has any consumer
  // Redirects all consumers of `from` to `to`.
  void replace(ValueId from, ValueId to);
  // Changes one input to another value.
  void set(NodeId id, uint32_t input, ValueId to);
  // Registers the inputs of a new node.
  void add(NodeId id);
  // Removes the inputs of a node that is about to be erased.
  void remove(NodeId id);

 private:
  struct Slot {
    std::vector<Use> uses;  // may contain stale uses
    size_t living = 0;
  };
  Slot& slot(ValueId v);
  Graph& graph_;
  std::vector<std::vector<Slot>> slots_;
};

}  // namespace graft
