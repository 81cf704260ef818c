#include "kernels/context.hpp"

#include "base/tensor.hpp"

namespace graft {

std::vector<std::optional<Info>> input_infos(const Graph& graph, const Node& node) {
  std::vector<std::optional<Info>> out;
  for (ValueId v : node.inputs) out.push_back(v.present() ? std::optional(graph.info(v)) : std::nullopt);
  return out;
}

std::vector<std::optional<Info>> infos_of(std::span<const Tensor> inputs) {
  std::vector<std::optional<Info>> out;
  for (const Tensor& t : inputs) out.push_back(t ? std::optional(t.info()) : std::nullopt);
  return out;
}

const graft_value* NodeContext::attribute(std::string_view name) const {
  for (const Cached& c : attributes_)
    if (c.name == name) return &c.value;
  for (const auto& [n, a] : node_.attrs)
    if (n == name) {
      Cached& c = attributes_.emplace_back(Cached{n, {}, {}, {}});
      c.value = a.raw(c.texts, c.types);
      return &c.value;
    }
  return nullptr;
}

std::span<const graft_named_value> NodeContext::attributes() const {
  if (all_attributes_.empty())
    for (const auto& [name, a] : node_.attrs) all_attributes_.push_back({str(name), *attribute(name)});
  return all_attributes_;
}

bool NodeContext::declared_output(size_t index, graft_info& info) const {
  if (index >= node_.outputs.size() || !node_.outputs[index].declared) return false;
  info = node_.outputs[index].info.raw();
  info.shape = node_.outputs[index].declared->raw();
  return true;
}

bool NodeContext::input(size_t index, graft_info& info) const {
  if (index >= inputs_.size() || !inputs_[index]) return false;
  info = inputs_[index]->raw();
  return true;
}

bool NodeContext::output(size_t index, graft_info& info) const {
  if (index >= outputs.size() || !outputs[index]) return false;
  info = outputs[index]->raw();
  return true;
}

const Tensor* NodeContext::find_constant(size_t input) const {
  if (!constants || input >= inputs_.size() || !inputs_[input]) return nullptr;
  return constants(input);
}

const graft_tensor* NodeContext::constant(size_t input) const {
  const Tensor* t = find_constant(input);
  if (!t || !*t) return nullptr;  // an empty one was taken, and is freed
  if (is_aligned(*t)) return t->raw();
  // Unaligned in a file. The copy lasts as long as the callback that reads it.
  Tensor& copy = aligned_[t->data()];
  if (!copy) copy = t->clone();
  return copy.raw();
}

void NodeContext::take_constant(size_t input) {
  if (!taken) return graft_node::take_constant(input);
  if (!find_constant(input)) throw_user("expected a constant to take, but input ", input, " is not constant");
  taken->push_back(input);
}

bool NodeContext::known_values(size_t input, graft_shape& out) const {
  if (!values || input >= inputs_.size() || !inputs_[input]) return false;
  const Shape* s = values(input);
  if (!s) return false;
  out = s->raw();
  return true;
}

void NodeContext::set_output(size_t index, const graft_info& info) {
  if (index >= 65536) throw_user("an operation cannot have output ", index);
  if (outputs.size() <= index) outputs.resize(index + 1);
  outputs[index] = Info::from(info);
}

void NodeContext::set_known_values(size_t output, const graft_shape& values) {
  if (output >= 65536) throw_user("an operation cannot have output ", output);
  if (output_values.size() <= output) output_values.resize(output + 1);
  output_values[output] = Shape(values);
}

const graft_body* NodeContext::body(size_t index) const {
  if (index >= node_.bodies.size()) return nullptr;
  const Body& b = node_.bodies[index];
  auto& [out, parameters] = bodies_.emplace_back();
  for (NodeId p : b.graph->parameters()) parameters.push_back(b.graph->info({p, 0}).raw());
  out.parameters = parameters.data();
  out.size = sizeof out;
  out.parameter_count = static_cast<uint32_t>(b.graph->parameters().size());
  out.result_count = static_cast<uint32_t>(b.graph->results().size());
  out.inputs = b.inputs.data(), out.input_count = b.inputs.size();
  out.outputs = b.outputs.data(), out.output_count = b.outputs.size();
  out.back_edges = b.back_edges.data(), out.back_edge_count = b.back_edges.size();
  return &out;
}

const graft_info* NodeContext::infer_body(size_t index, const graft_info* parameters) {
  if (index >= node_.bodies.size()) throw_user("there is no body ", index);
  if (!bodies) throw_internal("bodies are not inferred here");
  std::vector<Info> in;
  for (size_t i = 0; i < node_.bodies[index].graph->parameters().size(); ++i) in.push_back(Info::from(parameters[i]));
  body_results_ = bodies(index, std::move(in));
  body_raw_.clear();
  for (const Info& i : body_results_) body_raw_.push_back(i.raw());
  return body_raw_.data();
}

}  // namespace graft
