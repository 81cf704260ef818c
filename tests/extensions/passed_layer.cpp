// The operation that the tests' mapping file passes on, for running such an IR: under an opset of its own.
#include <graft/extension.hpp>

namespace {

using namespace graft;

struct Passing {
  int64_t factor = 1;
  std::vector<int64_t> shape;
  std::string mode = "plain";
  static constexpr std::tuple schema{attr("factor", &Passing::factor, "how often each element stands").between(1, 1000),
                                     attr("shape", &Passing::shape, "not used"),
                                     attr("mode", &Passing::mode, "not used")};
};
void passing_infer(Infer& ctx, const Passing& a) {
  Shape s = ctx.shape(0);
  if (!s.ranked() || s.rank() != 2) fail("expected a matrix, got shape ", s);
  ctx.output(0, ctx.type(0), Shape{s[0], s[1] * Dim(a.factor)});
}
void passing_run(Run& ctx, const Passing& a) {
  std::vector<double> y;
  for (double v : ctx.input(0).to<double>()) y.insert(y.end(), static_cast<size_t>(a.factor), v);
  ctx.output(0).assign(y);
}

}  // namespace

GRAFT_EXTENSION("passed_layer", "1.0") {
  return op<Passing>("Passing", "acme").inputs("x, weights...").infer(passing_infer).reference(passing_run);
}
