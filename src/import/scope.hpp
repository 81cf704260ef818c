// Internals of the importer: a graph under construction and the names visible in it.
#pragma once

#include <set>
#include <unordered_map>
#include <unordered_set>

#include "import/importer.hpp"
#include "infer/inference.hpp"

namespace graft {

// What extensions define, for the notes on unknown layers: found once, since a file may have any number of those.
struct ExtensionNames {
  explicit ExtensionNames(const Registry& registry);
  std::unordered_map<std::string_view, std::vector<const RuleDef*>> rules;  // by type
  std::unordered_map<std::string_view, const OpDef*> ops;                   // by name
};

// State shared by all scopes of one import.
struct ImportState {
  const RawModel& model;
  const Registry& registry;
  const ImportOptions& options;
  ImportReport& report;
  std::unordered_map<std::string, const RawFunction*> functions;  // "domain|name"
  std::shared_ptr<Budget> budget = std::make_shared<Budget>(options.limits);
  size_t most_inlined = 0;
  std::vector<const RawFunction*> calls;  // that are being imported, inside each other
  // Nodes whose output shapes are not specified by their entry in a mapping file, and the location of the entry.
  std::unordered_map<NodeId, std::string> shapeless;
  std::unordered_map<NodeId, NodeId> shapeless_from;  // nodes that depend on them -> one of them
  size_t bodies = 0, unrolled = 0;                    // sub-graphs inlined in place of their layer; their layers
  size_t list_items = 0;                              // of all lists
  std::set<std::string> list_inputs;                  // of the model, that determine a list of unknown length
  std::unordered_map<std::string, size_t> unknown;    // "domain|type" -> place in report.unknown
  std::optional<ExtensionNames> extensions;
  size_t kept = 0;        // layers that were not imported
  std::string last_kept;  // the unknown layer that is the cause of the last one
  size_t inlined = 0;     // layers added by function calls and sub-graphs, counted each time

  // A loop imports its body with more and more general parameters until its values keep their shapes. When a loop
  // around it is imported again, the last parameters come first; nested loops would multiply otherwise.
  struct BodyShapes {
    std::shared_ptr<const RawGraph> body;  // keeps the address
    std::vector<Info> first, last;
  };
  std::unordered_map<const RawGraph*, std::vector<BodyShapes>> body_shapes;

  // Counts layers imported in addition to those of the main graph against the limit. A loop imports its body more than
  // once to infer the shapes of its carried values, so nested sub-graphs multiply.
  void bring_in(size_t layers);
};

// One graph: the model's, or a body's. Names of enclosing graphs are captured on use.
class Scope {
 public:
  Scope(ImportState& state, Scope* parent, int depth);

  // Imports the nodes of `raw` in topological order, then returns the values of its outputs.
  void import_nodes(const std::vector<RawNode>& nodes, const std::map<std::string, int64_t>& opsets);

  // The value with this name, or an absent one.
  ValueId look_up(const std::string& name);
  void define(const std::string& name, ValueId v);
  void declare_constants(const RawGraph& raw);
  ValueId add_parameter(const std::string& name, const Info& info);
  NodeId add_result(const std::string& name, ValueId v);
  // The same for a value that may be a list: one result for every item.
  void add_results(const std::string& name, ValueId v);
  // Adds a node, resolves it against its schema and infers it.
  NodeId add(Node node);
  ValueId add_constant(const std::string& name, Tensor t);
  // A list of values: a placeholder node that operations cannot consume, removed when the graph is complete.
  ValueId add_list(std::vector<ValueId> items);
  bool is_list(ValueId v) const { return is_handed_on(v) && graph[v.node].type == "List"; }
  void remove_lists();
  // An empty optional, to be treated like a list.
  ValueId add_nothing();
  bool is_nothing(ValueId v) const { return is_handed_on(v) && graph[v.node].type == "Nothing"; }
  // Binds a name to a value that has names of its own.
  void bind(const std::string& name, ValueId v);
  void unbind(const std::string& name) { names_.erase(name); }
  void import_node(const RawNode& raw, const std::map<std::string, int64_t>& opsets);

  // Nodes that depend on an unknown layer: its name. An error in such a layer may only be a consequence.
  void mark_unknown(NodeId id, const std::string& layer) { unknown_.emplace(id, layer); }
  const std::string* unknown_source(ValueId v) const;
  void propagate_unknown(NodeId id);

  // Integers and booleans among the model's inputs that the value is computed from.
  void collect_inputs(ValueId v, std::set<std::string>& out) const;

  Graph graph;
  Inference inference;
  std::vector<ValueId> captured;  // in the parent; parameters follow the declared ones

  ImportState& state() { return state_; }
  int depth() const { return depth_; }
  Scope* parent() { return parent_; }
  const std::unordered_map<std::string, RawValue>& hints() const { return hints_; }
  void add_hints(const RawGraph& raw);

 private:
  friend class Layer;
  void import_function(const RawNode& raw, const RawFunction& function);
  ValueId capture(const std::string& name, ValueId outer);
  void add_names(Output& output, const std::string& name);
  // Exists while importing only: no operation takes it.
  bool is_handed_on(ValueId v) const {
    return v.present() && graph[v.node].opaque && graph[v.node].opset == list_opset;
  }

  static constexpr std::string_view list_opset = "import list";

  ImportState& state_;
  Scope* parent_;
  int depth_;
  std::unordered_map<std::string, ValueId> names_;
  std::unordered_map<std::string, Tensor> constants_;  // not used yet
  std::unordered_map<std::string, RawValue> hints_;    // types and shapes from the file
  std::unordered_map<NodeId, std::string> unknown_;
};

}  // namespace graft
