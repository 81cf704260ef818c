#include "runtime/packs.hpp"

#include "base/file.hpp"
#include "base/tensor.hpp"

namespace graft {
namespace {

Packed pack_node(const graft_kernel& kernel, const Graph& graph, NodeId id) {
  const Node& node = graph[id];
  std::vector<std::optional<Info>> inputs;
  std::vector<Tensor> constants;
  for (ValueId v : node.inputs) {
    Tensor& t = constants.emplace_back();
    if (!v.present()) {
      inputs.emplace_back();
      continue;
    }
    if (graph[v.node].is("Constant")) {
      t = graph[v.node].attrs.find("value")->as<Tensor>();
      if (!t) throw_internal("kernel '", kernel.name, "' needs a constant that another kernel has taken");
    }
    inputs.push_back(t ? t.info() : Info{graph.info(v).type, Shape::unknown()});
  }
  Packed packed = pack_constants(kernel, node, std::move(inputs), constants);
  for (const Tensor& t : constants)
    if (t) forget_pages(t.data(), t.bytes());  // most kernels read them no more
  return packed;
}

}  // namespace

const Packed& Packs::get(const graft_kernel& kernel, const Graph& graph, NodeId id) {
  static const Packed none;
  if (!kernel.pack) return none;
  std::unique_lock lock(mutex_);
  Entry& e = made_[{id, &kernel}];
  lock.unlock();
  std::call_once(e.once, [&] { e.packed = pack_node(kernel, graph, id); });
  return e.packed;
}

Tensor Packs::aligned(const Tensor& t) {
  if (is_aligned(t)) return t;
  std::lock_guard lock(mutex_);
  Copy& c = aligned_[{t.data(), t.bytes()}];
  if (!c.aligned) {
    c = {t, t.clone()};
    forget_pages(t.data(), t.bytes());
  }
  // Constants of other types and shapes may share the bytes: i32[2] {0, 0} and i64[1] {0} are the same eight.
  if (t.type() == c.aligned.type()) return c.aligned.reshaped(t.dims());
  return Tensor::wrap(t.type(), t.dims(), c.aligned.data(), std::make_shared<Tensor>(c.aligned));
}

}  // namespace graft
