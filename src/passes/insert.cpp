#include "passes/insert.hpp"

#include <cstring>

#include "base/tensor.hpp"

namespace graft {

ValueId insert(Editor& editor, std::string type, std::string opset, std::vector<ValueId> inputs,
               const std::string& name) {
  Graph& g = editor.graph();
  Node n;
  n.type = std::move(type), n.opset = std::move(opset);
  n.origin = g[inputs[0].node].origin;
  n.inputs = std::move(inputs);
  n.outputs.resize(1);
  n.name = g.unique_name(name);
  return {editor.add(std::move(n)), 0};
}

void redirect(Editor& editor, const std::vector<Use>& uses, ValueId to) {
  for (Use u : uses) editor.set_input(u.node, u.input, to);
}

Tensor reordered(const Tensor& t, size_t axis, const std::vector<int64_t>& order) {
  if (is_packed(t.type()) || t.type() == DType::string) throw_internal("cannot reorder elements of type ", t.type());
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
