#include "passes/edit.hpp"

#include <cstring>

#include "base/tensor.hpp"
#include "schema/resolve.hpp"

namespace graft {

ValueId GraphEdit::constant(Tensor value, const std::string& name) {
  Node c;
  c.type = "Constant", c.opset = "opset1";
  c.attrs["value"] = std::move(value);
  c.outputs.resize(1);
  c.name = g.unique_name(name);
  NodeId id = g.add(std::move(c));
  inference.infer(id);
  return {id, 0};
}

ValueId GraphEdit::list(const std::vector<int64_t>& values, const std::string& name) {
  return constant(make_tensor<int64_t>({static_cast<int64_t>(values.size())}, values), name);
}

ValueId GraphEdit::add(std::string type, std::string opset, std::vector<ValueId> inputs, const std::string& name) {
  Node n;
  n.type = std::move(type), n.opset = std::move(opset);
  n.origin = g[inputs[0].node].origin;
  n.inputs = std::move(inputs);
  n.outputs.resize(1);
  n.name = g.unique_name(name);
  resolve(n, definition(inference.registry(), n), Extras::refuse);
  NodeId id = g.add(std::move(n));
  inference.infer(id);
  return {id, 0};
}

std::vector<Use> GraphEdit::readers(ValueId v) const {
  std::vector<Use> out;
  for (NodeId id = 0; id < g.end_id(); ++id)
    for (uint32_t i = 0; i < g[id].inputs.size(); ++i)
      if (g[id].alive && g[id].inputs[i] == v) out.push_back({id, i});
  return out;
}

void GraphEdit::redirect(const std::vector<Use>& uses, ValueId to) {
  for (Use u : uses) g[u.node].inputs[u.input] = to;
}

Tensor reordered(const Tensor& t, size_t axis, const std::vector<int64_t>& order) {
  if (is_packed(t.type()) || t.type() == DType::string)
    throw_internal("elements of type ", t.type(), " cannot be reordered here");
  std::vector<int64_t> dims = t.dims();
  size_t inner = static_cast<size_t>(bits_of(t.type())) / 8, outer = 1;
  for (size_t i = 0; i < dims.size(); ++i) (i < axis ? outer : inner) *= i == axis ? 1 : static_cast<size_t>(dims[i]);
  auto count = static_cast<size_t>(dims[axis]);
  dims[axis] = static_cast<int64_t>(order.size());
  Tensor out(t.type(), dims);
  const char* from = static_cast<const char*>(t.data());
  char* to = static_cast<char*>(out.data());
  for (size_t o = 0; o < outer; ++o)
    for (int64_t k : order) {
      std::memcpy(to, from + (o * count + static_cast<size_t>(k)) * inner, inner);
      to += inner;
    }
  return out;
}

}  // namespace graft
