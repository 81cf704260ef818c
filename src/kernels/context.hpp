// A node as its operation's callbacks see it: attributes from the graph, inputs as far as they are known.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>

#include "graph/graph.hpp"
#include "schema/host.hpp"
#include "schema/registry.hpp"

namespace graft {

// What is known of the inputs of a node; none: absent.
std::vector<std::optional<Info>> input_infos(const Graph& graph, const Node& node);
std::vector<std::optional<Info>> infos_of(std::span<const Tensor> inputs);  // absent ones are empty tensors

class NodeContext : public graft_node {
 public:
  NodeContext(const Node& node, std::vector<std::optional<Info>> inputs)
      : declared_outputs(node.outputs.size()), node_(node), inputs_(std::move(inputs)) {}

  // Known values of the inputs, beyond type and shape; may be empty.
  std::function<const Tensor*(size_t)> constants;
  std::function<const Shape*(size_t)> values;
  std::function<std::vector<Info>(size_t, std::vector<Info>)> bodies;
  std::function<const void*()> packs;
  std::vector<size_t>* taken = nullptr;  // in pack: the inputs that the kernel reads only there
  // Of a device that compiles sources.
  std::function<void(const graft_launch&)> launches;
  std::function<size_t(size_t)> scratches;
  std::function<int64_t(std::string_view, bool, size_t)> work_sizes;
  std::function<void(const graft_formula&)> formulas;
  // Where other operations are defined that the kernel applies to its results; null: nowhere.
  const Registry* registry = nullptr;

  // The number of outputs that the node has at least; before inference, `outputs` is empty.
  size_t declared_outputs;
  // After inference, or before accept and prepare.
  std::vector<std::optional<Info>> outputs;
  std::vector<std::optional<Shape>> output_values;
  size_t scratch_bytes = 0;
  // What `element_rows` has given, and what it is: "HSwish (simd_f32)".
  std::vector<std::pair<std::string, std::shared_ptr<const void>>> applied;
  int call_threads = 1;  // that a call of the kernel may use
  // Before prepare: the layouts that were chosen; ports beyond the end are plain.
  std::vector<Layout> input_layouts, output_layouts;

  const Node& node() const { return node_; }
  const std::vector<std::optional<Info>>& inputs() const { return inputs_; }

  graft_str name() const override { return str(node_.name); }
  graft_str type() const override { return str(node_.type); }
  graft_str opset() const override { return str(node_.opset); }
  const graft_value* attribute(std::string_view name) const override;
  std::span<const graft_named_value> attributes() const override;
  bool declared_output(size_t index, graft_info& info) const override;
  size_t input_count() const override { return inputs_.size(); }
  size_t output_count() const override { return std::max(outputs.size(), declared_outputs); }
  bool input(size_t index, graft_info& info) const override;
  bool output(size_t index, graft_info& info) const override;
  const graft_tensor* constant(size_t input) const override;
  bool known_values(size_t input, graft_shape& values) const override;
  void set_output(size_t index, const graft_info& info) override;
  void set_known_values(size_t output, const graft_shape& values) override;
  size_t body_count() const override { return node_.bodies.size(); }
  const graft_body* body(size_t index) const override;
  const graft_info* infer_body(size_t index, const graft_info* parameters) override;
  void request_scratch(size_t bytes) override { scratch_bytes = std::max(scratch_bytes, bytes); }
  const void* packed() override { return packs ? packs() : graft_node::packed(); }
  void add_launch(const graft_launch& l) override { launches ? launches(l) : graft_node::add_launch(l); }
  size_t add_scratch(size_t bytes) override { return scratches ? scratches(bytes) : graft_node::add_scratch(bytes); }
  int64_t work_size(std::string_view formula, bool of_input, size_t port) override {
    return work_sizes ? work_sizes(formula, of_input, port) : graft_node::work_size(formula, of_input, port);
  }
  void set_formula(const graft_formula& f) override { formulas ? formulas(f) : graft_node::set_formula(f); }
  int32_t threads() const override { return call_threads; }
  bool is_constant(size_t input) const override { return find_constant(input) != nullptr; }
  void take_constant(size_t input) override;
  graft_rows element_rows(std::string_view op, std::string_view opset, std::span<const graft_named_value> attributes,
                          std::span<const float> numbers) override;
  int32_t input_layout(size_t i) const override { return layout_in(input_layouts, i); }
  int32_t output_layout(size_t i) const override { return layout_in(output_layouts, i); }

 private:
  const Tensor* find_constant(size_t input) const;
  static int32_t layout_in(const std::vector<Layout>& list, size_t i) {
    return static_cast<int32_t>(i < list.size() ? list[i] : Layout::plain);
  }
  struct Cached {
    std::string_view name;
    graft_value value;
    std::vector<graft_str> texts;
    std::vector<graft_type> types;
  };
  const Node& node_;
  std::vector<std::optional<Info>> inputs_;
  mutable std::deque<Cached> attributes_;
  mutable std::map<const void*, Tensor> aligned_;  // copies of constants, by their address in the file
  mutable std::vector<graft_named_value> all_attributes_;
  mutable std::deque<std::pair<graft_body, std::vector<graft_info>>> bodies_;
  std::vector<Info> body_results_;
  std::vector<graft_info> body_raw_;
};

}  // namespace graft
