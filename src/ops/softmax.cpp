// Softmax and LogSoftmax
#include <graft/op.hpp>

#include "flatten.hpp"

namespace graft {
namespace {

struct Softmax {
  int64_t axis = 1;
  static constexpr std::tuple schema{attr("axis", &Softmax::axis, "axis along which the results sum to 1")};
};
struct OldSoftmax {
  int64_t axis = 1;
  static constexpr std::tuple schema{
      attr("axis", &OldSoftmax::axis, "axis along which the results sum to 1").at_least(0)};
};

void softmax_shape(Infer& ctx, int64_t axis) {
  Shape s = ctx.shape(0);
  if (s.ranked() && s.rank() > 0) normalize_axis(axis, s.rank());
  ctx.output(0, ctx.type(0), s);
}
void softmax_infer(Infer& ctx, const Softmax& a) { softmax_shape(ctx, a.axis); }
void old_softmax_infer(Infer& ctx, const OldSoftmax& a) { softmax_shape(ctx, a.axis); }

// Subtract the maximum first to prevent overflow.
void softmax_along(Run& ctx, int64_t wanted, bool logarithm) {
  TensorView x = ctx.input(0);
  OutputView y = ctx.output(0);
  std::vector<double> v = x.to<double>();
  size_t axis = x.rank() == 0 ? 0 : normalize_axis(wanted, x.rank());
  int64_t n = x.rank() == 0 ? 1 : x.dim(axis), inner = x.rank() == 0 ? 1 : count_of(x.dims().subspan(axis + 1));
  int64_t lines = n == 0 ? 0 : x.size() / n;
  for (int64_t line = 0; line < lines; ++line) {
    double* first = v.data() + line / inner * n * inner + line % inner;
    double most = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; ++i) most = std::max(most, first[i * inner]);
    for (int64_t i = 0; i < n; ++i) sum += std::exp(first[i * inner] - most);
    for (int64_t i = 0; i < n; ++i) {
      double& e = first[i * inner];
      e = logarithm ? e - most - std::log(sum) : std::exp(e - most) / sum;
    }
  }
  y.assign(v);
}
void softmax_run(Run& ctx, const Softmax& a) { softmax_along(ctx, a.axis, false); }
void old_softmax_run(Run& ctx, const OldSoftmax& a) { softmax_along(ctx, a.axis, false); }
void log_softmax_run(Run& ctx, const Softmax& a) { softmax_along(ctx, a.axis, true); }

Value import_softmax_like(Builder& layer, std::string_view op) {
  auto along = [&](const Value& x, int64_t axis) { return layer.op(op, {x}, {{"axis", axis}}); };
  Value x = layer.input(0);
  if (layer.version() >= 13) return along(x, layer.get<int64_t>("axis", -1));
  return along_rows(x, layer.get<int64_t>("axis", 1), along);
}
Value import_softmax(Builder& layer) { return import_softmax_like(layer, "Softmax@8"); }
Value import_log_softmax(Builder& layer) { return import_softmax_like(layer, "LogSoftmax"); }

// The first version does not accept a negative axis.
void softmax_as_1(Rewrite& at) {
  auto axis = at.get<int64_t>("axis");
  if (axis < 0) axis += static_cast<int64_t>(at.input(0).rank());
  if (axis < 0 || (at.input(0).shape().ranked() && at.input(0).rank() == 0)) return;
  at.restate("Softmax@1", {at.input(0)}, {}, {{"axis", axis}});
}

}  // namespace

Definitions define_softmax() {
  return {
      op<OldSoftmax>("Softmax", 1)
          .doc("Softmax: e^x divided by the sum of e^x along an axis")
          .ir_name("SoftMax")
          .traits(Trait::widens, Trait::axis_attribute)
          .inputs("data")
          .infer(old_softmax_infer)
          .linear()
          .reference(old_softmax_run)
          .in_place(),
      op<Softmax>("Softmax", 8)
          .doc("Softmax: e^x divided by the sum of e^x along an axis, which may be negative")
          .ir_name("SoftMax")
          .traits(Trait::widens, Trait::axis_attribute)
          .inputs("data")
          .infer(softmax_infer)
          .linear()
          .reference(softmax_run)
          .in_place()
          .import(onnx("Softmax").expand(import_softmax))
          .earlier(softmax_as_1),
      op<Softmax>("LogSoftmax", 5)
          .doc("Logarithm of Softmax")
          .traits(Trait::widens, Trait::axis_attribute)
          .inputs("data")
          .infer(softmax_infer)
          .linear()
          .reference(log_softmax_run)
          .in_place()
          .import(onnx("LogSoftmax").expand(import_log_softmax)),
  };
}

}  // namespace graft
