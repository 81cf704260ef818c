#include <graft/kit/expressions.hpp>
#include <graft/numeric.hpp>
#include <graft/op.hpp>

#include "one_way.hpp"

namespace graft {
namespace {

struct Range {
  DType output_type = DType::undefined;
  static constexpr std::tuple schema{attr("output_type", &Range::output_type, "element type of the result").required()};
};

constexpr double most_steps = 1e12;

int64_t steps_between(double start, double stop, double step) {
  if (!std::isfinite(start) || !std::isfinite(stop) || !std::isfinite(step))
    fail("expected finite start, stop and step, got ", start, ", ", stop, " and ", step);
  if (step == 0) fail("expected a nonzero step, got 0");
  double n = std::ceil((stop - start) / step);
  if (n > most_steps) fail("a range from ", start, " to ", stop, " by ", step, " has too many elements");
  return n > 0 ? static_cast<int64_t>(n) : 0;
}
int64_t steps_between(int64_t start, int64_t stop, int64_t step) {
  if (step == 0) fail("expected a nonzero step, got 0");
  bool up = step > 0;
  if (up ? start >= stop : start <= stop) return 0;
  auto low = static_cast<uint64_t>(up ? start : stop), high = static_cast<uint64_t>(up ? stop : start);
  auto stride = up ? static_cast<uint64_t>(step) : uint64_t{0} - static_cast<uint64_t>(step);
  uint64_t n = (high - low - 1) / stride + 1;
  if (static_cast<double>(n) > most_steps)
    fail("a range from ", start, " to ", stop, " by ", step, " has too many elements");
  return static_cast<int64_t>(n);
}

// Integer ranges are computed exactly; floating-point inputs are truncated toward zero first.
template <class View>
bool whole_range(const View& type_of, DType out) {
  return !is_real(out) && !is_real(type_of(0)) && !is_real(type_of(1)) && !is_real(type_of(2));
}

void range_shape(Infer& ctx, DType type) {
  for (size_t i = 0; i < 3; ++i) check_single(ctx, i, i == 0 ? "start" : i == 1 ? "stop" : "step");
  Dim n;
  if (ctx.constant(0) && ctx.constant(1) && ctx.constant(2)) {
    if (whole_range([&](size_t i) { return ctx.type(i); }, type)) {
      n = steps_between(ctx.constant(0).scalar<int64_t>(), ctx.constant(1).scalar<int64_t>(),
                        ctx.constant(2).scalar<int64_t>());
    } else {
      auto at = [&](size_t i) {
        double v = ctx.constant(i).scalar<double>();
        return is_real(type) ? v : std::trunc(v);
      };
      n = steps_between(at(0), at(1), at(2));
    }
  } else if (auto start = ctx.known(0), stop = ctx.known(1), step = ctx.known(2); start && stop && step) {
    const Dim &a = (*start)[0], &b = (*stop)[0], &c = (*step)[0];
    if (a.known() && b.known() && c.known()) n = steps_between(a.min(), b.min(), c.min());
    else if (a.known() && a.min() >= 0 && b.min() >= 0 && c.known() && c.min() > 0) n = Dim::divide_up(b - a, c.min());
  }
  ctx.output(0, type, Shape{n});
}
void range_infer(Infer& ctx, const Range& a) { range_shape(ctx, a.output_type); }
void old_range_infer(Infer& ctx, const NoAttributes&) { range_shape(ctx, common_type(ctx)); }

void range_fill(Run& ctx) {
  OutputView y = ctx.output(0);
  auto fill = [&]<class T>(T start, T step) {
    std::vector<T> v(static_cast<size_t>(y.size()));
    for (size_t i = 0; i < v.size(); ++i) v[i] = wrap_add(start, wrap_mul(static_cast<T>(i), step));
    y.assign(v);
  };
  if (whole_range([&](size_t i) { return ctx.input(i).type(); }, y.type()))
    return fill(ctx.input(0).scalar<int64_t>(), ctx.input(2).scalar<int64_t>());
  auto at = [&](size_t i) {
    double v = ctx.input(i).scalar<double>();
    return is_real(y.type()) ? v : std::trunc(v);
  };
  fill(at(0), at(2));
}
void range_run(Run& ctx, const Range&) { range_fill(ctx); }
void old_range_run(Run& ctx, const NoAttributes&) { range_fill(ctx); }

Value import_range(Builder& layer) {
  Value start = as_scalar(layer.input(0)), stop = as_scalar(layer.input(1));
  Value step = layer.has_input(2) ? as_scalar(layer.input(2)) : like(start, 1);
  return layer.op("Range@4", {start, stop, step}, {{"output_type", start.type()}});
}

// In the earlier version the output has the type of the inputs.
void range_as_1(Rewrite& at) {
  for (size_t i = 0; i < 3; ++i)
    if (at.input(i).type() != at.self().type()) return;
  at.restate("Range@1", at.all_inputs(), {"output_type"});
}

}  // namespace

Definitions define_range() {
  return {
      op("Range", 1)
          .doc("Evenly spaced numbers from start up to but excluding stop")
          .inputs("start, stop, step")
          .infer(old_range_infer)
          .linear()
          .reference(old_range_run),
      op<Range>("Range", 4)
          .doc("Evenly spaced numbers from start up to but excluding stop")
          .inputs("start, stop, step")
          .infer(range_infer)
          .linear()
          .reference(range_run)
          .import(onnx("Range").expand(import_range))
          .import(onnx("Range").domain("com.microsoft").expand(import_range))
          .earlier(range_as_1),
  };
}

}  // namespace graft
