#include "runtime/packs.hpp"

#include "base/file.hpp"

namespace graft {

std::shared_ptr<const void> Packs::get(const graft_kernel& kernel, const Graph& graph, NodeId id) {
  if (!kernel.pack) return nullptr;
  std::lock_guard lock(mutex_);
  std::shared_ptr<const void>& made = made_[{id, &kernel}];
  if (made) return made;
  const Node& node = graph[id];
  std::vector<std::optional<Info>> inputs;
  std::vector<Tensor> constants;
  for (ValueId v : node.inputs) {
    Tensor& t = constants.emplace_back();
    if (v.present() && graph[v.node].is("Constant")) t = graph[v.node].attrs.find("value")->as<Tensor>();
    if (!v.present()) inputs.emplace_back();
    else inputs.push_back(t ? t.info() : Info{graph.info(v).type, Shape::unknown()});
  }
  made = pack_constants(kernel, node, std::move(inputs), constants);
  for (const Tensor& t : constants)
    if (t) forget_pages(t.data(), t.bytes());  // most kernels read them no more
  return made;
}

}  // namespace graft
