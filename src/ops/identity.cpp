#include <graft/op.hpp>

namespace graft {
namespace {

void identity_infer(Infer& ctx, const NoAttributes&) {
  Shape s = ctx.shape(0);
  ctx.output(0, ctx.type(0), s);
  if (auto k = ctx.known(0)) ctx.known_output(0, *k);
}
void identity_run(Run& ctx, const NoAttributes&) {
  if (ctx.input(0).bytes() != ctx.output(0).bytes()) ctx.output(0).assign(ctx.input(0));
}

// Forwards the input; no node is created. The value may be a list or an empty optional.
Value import_identity(Builder& layer) { return layer.input_or_nothing(0); }

}  // namespace

Definitions define_identity() {
  return {
      op("Identity", 16)
          .doc("Return the input unchanged")
          .inputs("data")
          .infer(identity_infer)
          .linear()
          .reference(identity_run)
          .view_of_input(),
      onnx("Identity").expand(import_identity),
  };
}

}  // namespace graft
