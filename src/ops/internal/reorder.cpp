// Reorder: the same tensor with its elements in another order in memory. Plans insert it between kernels that work with
// different layouts; in a graph it does nothing.
#include <graft/kit/known.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

struct Reorder {
  bool channels_last = false;
  static constexpr std::tuple schema{
      attr("channels_last", &Reorder::channels_last, "the layout of the output: channels last, or plain")};
};

void reorder_infer(Infer& ctx, const Reorder&) { ctx.output(0, ctx.type(0), ctx.shape(0)); }
void reorder_run(Run& ctx, const Reorder&) { ctx.output(0).assign(ctx.input(0)); }

}  // namespace

Definitions define_internal_reorder() {
  return op<Reorder>("Reorder", "graft")
      .doc("The same values in another memory layout; only plans contain it")
      .inputs("data")
      .infer(reorder_infer)
      .reference(reorder_run);
}

}  // namespace graft
