// The CPU's own pass for networks in f16: they are computed in f32, and nothing in between is rounded to f16.
#include <graft/formula.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

// Between two operations that are computed in f32: f32 as f16, and back again it is nothing. Conversions of the model
// itself round, and stay.
void narrow_infer(Infer& ctx, const NoAttributes&) {
  if (ctx.type(0) != DType::f32) fail("expected f32, got ", ctx.type(0));
  ctx.output(0, DType::f16, ctx.shape(0));
}
void narrow_run(Run& ctx, const NoAttributes&) { ctx.output(0).assign(ctx.input(0).to<double>()); }

// The value in f32.
Value widened(const Value& v) {
  if (!v || v.type() != DType::f16) return v;
  NodeRef narrow = made_by(v, "Narrow");
  return narrow ? narrow.input(0) : convert(v, DType::f32);
}

void widen(Rewrite& at) {
  NodeRef self = at.node();
  bool narrow = false;
  std::vector<Value> inputs;
  for (const Value& v : at.all_inputs()) {
    narrow |= v && v.type() == DType::f16;
    inputs.push_back(widened(v));
  }
  if (!narrow) return;
  NodeRef wide = producer(at.like(self, inputs));
  for (size_t i = 0; i < self.outputs(); ++i) {
    Value from = self.output(i), to = wide.output(i);
    at.replace(from, to.type() == DType::f32 && from.type() == DType::f16 ? at.op("Narrow", {to}) : to);
  }
}

// Convert(Narrow(x)) to f32  =>  x
Value widen_again(Rewrite& at) {
  NodeRef narrow = at.self().type() == DType::f32 ? made_by(at.input(0), "Narrow") : NodeRef();
  return narrow ? narrow.input(0) : Value();
}

// What is left: Narrow(x)  =>  Convert(x) to f16
Value narrow(Rewrite& at) { return convert(at.input(0), DType::f16); }

}  // namespace

Definitions cpu_widen() {
  return {
      op("Narrow", "graft")
          .doc("f32 as f16, for a value that the CPU computes in f32; made by a pass")
          .inputs("data")
          .infer(narrow_infer)
          .reference(narrow_run),
      Pass("cpu_widen").doc("compute f16 in f32").device("CPU").before("fold_constants").visit(Trait::widens, widen),
      Pass("cpu_widen_again")
          .doc("remove rounding to f16 between operations")
          .device("CPU")
          .before("fold_constants")
          .after("cpu_widen")
          .visit({"Convert"}, widen_again),
      Pass("cpu_narrow")
          .doc("round results to f16")
          .device("CPU")
          .before("fold_constants")
          .after("cpu_widen_again")
          .visit({"Narrow"}, narrow)};
}

}  // namespace graft
