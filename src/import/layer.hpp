// One framework layer while a rule converts it to operations: the host's side of graft::Builder.
#pragma once

#include <deque>
#include <set>

#include "import/field_value.hpp"
#include "import/mapping.hpp"
#include "import/scope.hpp"
#include "schema/host.hpp"
#include "schema/new_node.hpp"

namespace graft {

// "Elu", "Elu@1" or "Twist@acme", as an entry of a replacement file names an operation.
struct OperationName {
  std::string type, opset;  // no opset: the newest
};
OperationName operation_name(const std::string& written);

class Layer final : public graft_builder {
 public:
  Layer(Scope& scope, const RawNode& raw, int64_t version, const std::map<std::string, int64_t>* opsets = nullptr);

  // Applies a rule: calls its function, or creates one node from its data.
  void apply(const RuleDef& rule);
  // Passes the layer through for a mapping file: an extension's operation, or an opaque node with the given shapes.
  void apply(const MappedLayer& entry, const LayerMapping& mapping);
  // An error of this layer; mentions the mapping file if an input depends on a shape that it does not specify.
  Error with_missing_shape(Error e) const;
  // Marks the nodes of this layer as depending on such a shape too. Call after `apply`.
  void hand_on_missing_shape();
  // One node of the operation that the layer names, with its fields as attributes.
  void apply_operation();
  // The operation that the layer names, if it names one; null: unknown.
  const OpDef* named_operation() const;
  // An opaque node with the outputs that a raw pass gave.
  void pass_on_given();
  // An opaque node with all the information of the file. `unknown`: the unknown layer because of which it is one;
  // empty: this one.
  void keep_opaque(const std::string& unknown = {});
  // Whether the rule asked for a type or rank that an unknown layer determines. What it made may then be wrong.
  bool asked_unknown() const { return asked_unknown_; }
  // Removes what the rule made.
  void discard();
  // The unknown layer that an input depends on, or that a sub-graph contains; empty: none.
  std::string unknown_source() const;
  // Marks the nodes of this layer as depending on such a layer. Call after `apply`.
  void propagate_unknown();
  // Adds the layer to the report of unknown layers, under this name.
  void report_unknown(const std::string& title) const;
  // Throws if the file or the user requests an output that the layer does not have. Call after `apply`.
  void require_outputs() const;
  // Names values and nodes. Call after `apply`.
  void finish();

  std::vector<std::string> operations() const;  // made so far
  std::vector<std::string> unread_fields() const;
  // Records the model inputs that the queried, non-constant values depend on.
  void note_needed_values(Problem& problem) const;

  graft_str layer_name() const override { return str(name_); }
  graft_str layer_type() const override { return str(raw_.type); }
  int64_t layer_version() const override { return version_; }
  graft_str layer_framework() const override;
  const graft_value* field(std::string_view path) override;
  size_t input_count() const override { return inputs_.size(); }
  size_t output_count() const override { return raw_.outputs.size(); }
  bool output_used(size_t i) const override { return i < raw_.outputs.size() && !raw_.outputs[i].empty(); }
  graft_ref input(size_t i) const override { return i < inputs_.size() ? ref_of(inputs_[i]) : 0; }
  graft_info ref_info(graft_ref ref) override;
  const graft_tensor* ref_constant(graft_ref ref) override;
  bool ref_known_values(graft_ref ref, graft_shape& values) override;
  graft_ref add_constant(const graft_tensor& tensor) override;
  void add_node(const graft_new_node& node, std::span<graft_ref> outputs) override;
  void set_output(size_t index, graft_ref ref) override;
  const graft_imported_body* import_body(std::string_view path, std::span<const graft_info> parameters,
                                         Callback prologue, Callback epilogue, void* user) override;
  graft_ref add_list(std::span<const graft_ref> items) override;
  const std::vector<graft_ref>* ref_list(graft_ref ref) override;
  size_t weight_count() const override { return raw_.weights; }
  std::span<const graft_ref> ref_outputs(graft_ref ref) override {
    return outputs_of_ = output_refs(scope_.graph, checked(ref));
  }
  graft_ref add_nothing() override { return ref_of(scope_.add_nothing()); }
  const std::vector<graft_ref>& inline_body(std::string_view path, std::span<const graft_ref> inputs) override;
  std::span<const graft_named_value> fields() override;

 private:
  bool depends_on_unknown(ValueId v) const;
  void check_ranks(const graft_rule& rule) const;

  struct CachedField {
    std::string_view path;
    FieldValue value;
    CachedField(std::string_view p, const RawField& f) : path(p), value(f) {}
  };
  struct ImportedGraph {
    std::unique_ptr<Graph> graph;
    std::vector<graft_ref> captured;
    std::vector<Info> results;
    std::vector<graft_info> raw_results;
    graft_imported_body record{};
  };
  struct BodyCall {
    std::string path;
    std::pair<bool, bool> callbacks;
    std::vector<Info> asked, used;  // parameters
    size_t index;                   // in bodies_
    bool is_like(const BodyCall& c) const { return path == c.path && callbacks == c.callbacks; }
  };
  // A body of this layer that was imported as asked for; or null, with the parameters to use.
  const graft_imported_body* find_body(BodyCall& call, const RawGraph& raw) const;
  void remember_body(BodyCall call, std::shared_ptr<const RawGraph> raw);
  void mark_python();
  ValueId checked(graft_ref ref) const { return checked_value(scope_.graph, ref); }
  // The layer of a mapping file because of which the shape of an input is unknown; no_node: none.
  NodeId shapeless_source() const;
  // One node with all inputs and outputs; throws on attributes that the operation does not have.
  void make_operation(const OpDef& op, Attributes attributes);
  // Adds an opaque node and lists it in the report; `shown` are its attributes there.
  NodeId pass_on(Node node, const Attributes& shown);
  // A node of the operation, or an opaque one if it is unknown.
  NodeId add_operation(Node node, const std::vector<Info>& outputs);

  Scope& scope_;
  const RawNode& raw_;
  int64_t version_;
  const std::map<std::string, int64_t>* opsets_;  // of the graph that contains the layer
  std::string name_;
  bool asked_unknown_ = false;
  size_t kept_before_;  // layers that were not imported before this one
  std::vector<ValueId> inputs_;
  std::vector<ValueId> outputs_;
  std::vector<NodeId> made_;
  std::deque<CachedField> fields_;
  std::vector<graft_named_value> all_fields_;  // once they were listed
  std::set<std::string, std::less<>> read_;
  std::deque<ImportedGraph> bodies_;
  std::vector<BodyCall> body_calls_;
  std::vector<graft_ref> items_;       // of the list queried last
  std::vector<graft_ref> outputs_of_;  // of the node queried last
  std::vector<graft_ref> inlined_;     // outputs of the body inlined last
  std::vector<ValueId> asked_;         // values that were queried and are not constant
  const std::shared_ptr<RawGraph>& body_graph(std::string_view path);
  std::shared_ptr<const Stub> make_stub(std::vector<ValueId>& inputs);
  std::set<std::string> needed_inputs() const;
};

}  // namespace graft
