// Definitions that load, but cannot work as their author expects; the warnings are in tests/cli/test_cli.py.
#include <graft/extension.hpp>

namespace {

using namespace graft;

struct Bounded {
  int64_t size = 0;
  std::string mode = "soft";
  static constexpr std::tuple schema{attr("size", &Bounded::size, "a size").at_least(1),
                                     attr("mode", &Bounded::mode, "a mode").one_of("hard", "fast")};
};

void same(Infer& ctx, const Bounded&) { ctx.output(0, ctx.input(0)); }
void copy(Run& ctx, const Bounded&) { ctx.output(0).assign(ctx.input(0)); }
void copy_plain(Run& ctx, const NoAttributes&) { ctx.output(0).assign(ctx.input(0)); }

}  // namespace

GRAFT_EXTENSION("lint", "1.0") {
  return {op<Bounded>("Bounded", "lint").inputs("x").infer(same).reference(copy),
          op("Silent", "lint").inputs("x"),
          op("Broken", "lint").inputs("x").decompose("graph (x: f32[...]) { return Elu(x }"),
          op("Stranger", "lint").inputs("x").decompose("graph (x: f32[...]) { return Frobnicate(x) }"),
          op("TwoInputs", "lint").inputs("a, b").decompose("graph (x: f32[...]) { return Abs(x) }"),
          Kernel("CPU", "fast").of("Elu", "opset99").run(copy_plain),
          Kernel("CPU", "fast").of("Frobnicate", "opset1").run(copy_plain),
          Kernel("TPU", "fast").of("Elu", "opset1").run(copy_plain),
          onnx("Bounded").to("Bounded", "lint").attr("depth", "d"),
          onnx("Lost").to("Lost", "lint"),
          Rule("torch", "Bounded").to("Bounded", "lint"),
          onnx("AcmeOp").to("Bounded", "lint"),
          Pass("lint_pass").after("no_such_pass").visit({"Abs"}, [](Rewrite&) { return Value(); })};
}
