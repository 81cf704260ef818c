// Formulas of activations that come in pieces become the activation.
#include <graft/extension.hpp>

namespace graft {
namespace {

// x * sigmoid(x * beta)  =>  Swish(x, beta)
Value to_swish(Rewrite& at) {
  for (size_t i : {0, 1}) {
    NodeRef s = maker(at.input(i));
    if (!s.is("Sigmoid")) continue;
    Value x = at.input(1 - i), inside = s.input(0);
    if (inside == x) return at.op("Swish", {x});
    NodeRef m = maker(inside);
    if (!m.is("Multiply")) continue;
    for (size_t k : {0, 1}) {
      Shape beta = m.input(k).shape();
      if (m.input(1 - k) == x && m.input(k).constant() && beta.elements().value() == 1)
        return at.op("Swish", {x, reshape(m.input(k), {})});
    }
  }
  return {};
}

}  // namespace

Ops rewrite_activations() {
  return {Pass("fuse_swish").doc("x * sigmoid(x) becomes Swish").visit({"Multiply"}, to_swish)};
}

}  // namespace graft
