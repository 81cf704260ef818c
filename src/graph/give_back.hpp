// Memory of constants that are not needed for now.
#pragma once

#include "base/file.hpp"
#include "graph/graph.hpp"

namespace graft {

// If the node is a large constant in a mapped file, its pages need not stay in memory: they are read again on the next
// access.
inline void give_back(const Node& n) {
  constexpr size_t worth_it = size_t{1} << 18;
  const Attribute* a = n.is("Constant") ? n.attrs.find("value") : nullptr;
  const Tensor* t = a ? a->get_if<Tensor>() : nullptr;
  if (t && *t && t->type() != DType::string && t->bytes() >= worth_it) forget_pages(t->data(), t->bytes());
}

}  // namespace graft
