// Reductions along some axes.
#include <graft/numeric.hpp>
#include <graft/op.hpp>

#include "intervals.hpp"

namespace graft {
namespace {

struct Reduction {
  bool keep_dims = false;
  static constexpr std::tuple schema{attr("keep_dims", &Reduction::keep_dims, "keep the reduced axes with size 1")};
};
enum class Reduce { sum, mean, max, min, prod, l1, l2, all, any };

// The axes to reduce. Axis 0 or -1 of a scalar is tolerated.
std::vector<bool> reduced_axes(const std::vector<int64_t>& axes, size_t rank) {
  std::vector<bool> gone(rank, false);
  for (int64_t a : axes) {
    size_t axis = normalize_axis(a, std::max<size_t>(rank, 1));
    if (rank > 0) gone[axis] = true;
  }
  return gone;
}

// The reduction of known shape values, as certain as they are.
Dim reduced_values(Reduce what, const Shape& values) {
  bool product = what == Reduce::prod || what == Reduce::all, nothing = values.rank() == 0;
  if ((what == Reduce::max || what == Reduce::min) && nothing) return any_number();
  Dim out = what == Reduce::max || what == Reduce::min ? values[0] : exact_number(product ? 1 : 0);
  for (const Dim& d : values) {
    switch (what) {
      case Reduce::sum: out = intervals::add(out, d); break;
      case Reduce::prod: out = intervals::multiply(out, d); break;
      case Reduce::max: out = intervals::maximum(out, d); break;
      case Reduce::min: out = intervals::minimum(out, d); break;
      case Reduce::all: out = intervals::both(out, d); break;
      case Reduce::any: out = intervals::any(out, d); break;
      default: return any_number();
    }
  }
  return out;
}
void follow_reduced(Infer& ctx, Reduce what, const std::vector<bool>& gone) {
  if (what == Reduce::mean || what == Reduce::l1 || what == Reduce::l2 || !ctx.known(0)) return;
  if (ctx.type(0) == DType::boolean && what != Reduce::all && what != Reduce::any) return;
  auto known = followed_values(ctx, 0);
  if (!known) return;
  std::vector<int64_t> dims = ctx.shape(0).values(), kept = dims;
  for (size_t i = 0; i < dims.size(); ++i)
    if (gone[i]) kept[i] = 1;
  if (count_of(kept) > most_followed) return;
  std::vector<Shape> groups(static_cast<size_t>(count_of(kept)));
  Walk walk(dims, {broadcast_strides(kept, dims)});
  size_t from = 0;
  if (!walk.empty()) {
    do groups[static_cast<size_t>(walk[0])].push_back((*known)[from++]);
    while (walk.next());
  }
  Shape values;
  for (const Shape& g : groups) values.push_back(reduced_values(what, g));
  ctx.known_output(0, values);
}

template <Reduce what>
void reduce_infer(Infer& ctx, const Reduction& a) {
  constexpr bool truth = what == Reduce::all || what == Reduce::any;
  DType type = ctx.type(0);
  if (truth && type != DType::boolean && type != DType::undefined) fail("expected boolean data, got ", type);
  Shape in = ctx.shape(0), count = ctx.shape(1), out = Shape::unknown();
  if (count.ranked() && count.rank() > 1) fail("expected 1-D axes, got shape ", count);
  auto axes = ctx.values<int64_t>(1);
  if (!in.ranked()) return ctx.output(0, type, out);
  if (axes) {
    std::vector<bool> gone = reduced_axes(*axes, in.rank());
    out = Shape();
    for (size_t i = 0; i < in.rank(); ++i)
      if (!gone[i]) out.push_back(in[i]);
      else if (a.keep_dims) out.push_back(1);
  } else if (a.keep_dims) {
    out = in;
    for (Dim& d : out) d = either(d, Dim(1));
  } else if (count.elements().same(Dim(1)) && in.rank() > 0) {
    out = Shape::of_rank(in.rank() - 1);
  }
  ctx.output(0, type, out);
  if (axes) follow_reduced(ctx, what, reduced_axes(*axes, in.rank()));
}

// The reduction of no elements.
template <Reduce what, class T>
T reduce_start(DType type) {
  if constexpr (what == Reduce::prod || what == Reduce::all) return 1;
  if constexpr (what == Reduce::max || what == Reduce::min) {
    bool least = what == Reduce::max;
    if constexpr (std::is_floating_point_v<T>) return least ? -INFINITY : INFINITY;
    if (!is_signed_integer(type) && least) return 0;
    int bits = type == DType::boolean ? 1 : bits_of(type) - is_signed_integer(type);
    auto most = static_cast<T>(bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1);
    return least ? static_cast<T>(wrap_sub(wrap_neg(most), T{1})) : most;
  }
  return 0;
}
template <Reduce what, class T>
T reduce_step(T so_far, T x) {
  if constexpr (what == Reduce::sum || what == Reduce::mean) return wrap_add(so_far, x);
  else if constexpr (what == Reduce::prod) return wrap_mul(so_far, x);
  else if constexpr (what == Reduce::max) return x != x || x > so_far ? x : so_far;
  else if constexpr (what == Reduce::min) return x != x || x < so_far ? x : so_far;
  else if constexpr (what == Reduce::l1) return wrap_add(so_far, x < 0 ? wrap_neg(x) : x);
  else if constexpr (what == Reduce::l2) return wrap_add(so_far, wrap_mul(x, x));
  else if constexpr (what == Reduce::all) return so_far != 0 && x != 0;
  else return so_far != 0 || x != 0;
}
template <Reduce what, class T>
T reduce_end(T so_far, int64_t count) {
  if constexpr (what == Reduce::mean) return count == 0 ? so_far : safe_div(so_far, static_cast<T>(count));
  else if constexpr (what == Reduce::l2) return std::sqrt(so_far);
  else return so_far;
}

template <Reduce what>
void reduce_run(Run& ctx, const Reduction&) {
  TensorView x = ctx.input(0);
  OutputView y = ctx.output(0);
  std::vector<bool> gone = reduced_axes(ctx.input(1).to<int64_t>(), x.rank());
  std::vector<int64_t> strides(x.rank(), 0);
  int64_t step = 1, count = 1;
  for (size_t i = x.rank(); i-- > 0;) {
    if (gone[i]) count *= x.dim(i);
    else strides[i] = step, step *= x.dim(i);
  }
  auto reduce = [&]<class T>(T) {
    std::vector<T> in = x.to<T>(), out(static_cast<size_t>(y.size()), reduce_start<what, T>(x.type()));
    Walk walk(x.dims(), {strides});
    auto next = in.begin();
    if (!walk.empty()) do {
        T& o = out[static_cast<size_t>(walk[0])];
        o = reduce_step<what>(o, *next++);
      } while (walk.next());
    for (T& o : out) o = reduce_end<what>(o, count);
    y.assign(out);
  };
  // Squares of integers may overflow, so compute in double.
  if constexpr (what == Reduce::l2) reduce(double{});
  else with_number_type(x.type(), reduce);
}

// ---- ONNX ----

// The axes to reduce: all if omitted, unless noop_with_empty_axes is set.
Value reduce_axes_of(Builder& layer, const Value& x) {
  bool stay = layer.get<bool>("noop_with_empty_axes", false);
  if (layer.has("axes")) {
    auto axes = layer.get<std::vector<int64_t>>("axes");
    if (!axes.empty()) return layer.ints(axes);
  } else if (layer.has_input(1)) {
    Value axes = layer.input(1);
    if (!axes.shape().elements().same(Dim(0))) return axes;
  }
  if (stay) return layer.ints({});
  Shape s = x.shape();
  if (s.ranked()) {
    std::vector<int64_t> all(s.rank());
    std::iota(all.begin(), all.end(), 0);
    return layer.ints(all);
  }
  Value rank = squeeze(shape_of(shape_of(x)), {0});
  return layer.op("Range", {layer.scalar(int64_t{0}), rank, layer.scalar(int64_t{1})}, {{"output_type", DType::i64}});
}
Value reduced(Builder& layer, std::string_view op, const Value& x, const Value& axes, bool keep) {
  return layer.op(op, {x, axes}, {{"keep_dims", keep}});
}
bool reduce_keeps(Builder& layer) { return layer.get<bool>("keepdims", true); }

Value import_reduce(Builder& layer) {
  Value x = layer.input(0);
  std::string_view op = layer.type();
  if (x.type() == DType::boolean && op == "ReduceMax") op = "ReduceLogicalOr";
  if (x.type() == DType::boolean && op == "ReduceMin") op = "ReduceLogicalAnd";
  return reduced(layer, op, x, reduce_axes_of(layer, x), reduce_keeps(layer));
}
Value import_reduce_log_sum(Builder& layer) {
  Value x = layer.input(0);
  return layer.op("Log", {reduced(layer, "ReduceSum", x, reduce_axes_of(layer, x), reduce_keeps(layer))});
}
Value import_reduce_sum_square(Builder& layer) {
  Value x = layer.input(0);
  return reduced(layer, "ReduceSum", x * x, reduce_axes_of(layer, x), reduce_keeps(layer));
}
// Subtract the maximum first to prevent overflow; an infinite maximum would produce NaN, so it is not subtracted.
Value import_reduce_log_sum_exp(Builder& layer) {
  Value x = layer.input(0), axes = reduce_axes_of(layer, x);
  Value most = reduced(layer, "ReduceMax", x, axes, true);
  most = layer.op("Select", {layer.op("IsFinite", {most}), most, like(most, 0)});
  Value y = layer.op("Log", {reduced(layer, "ReduceSum", layer.op("Exp", {x - most}), axes, true)}) + most;
  return reduce_keeps(layer) ? y : reduced(layer, "ReduceSum", y, axes, false);
}

template <Reduce what>
OpOf<Reduction> reduction(std::string_view name, int version, std::string_view doc) {
  return op<Reduction>(name, version)
      .doc(doc)
      .traits(what == Reduce::l1 || what == Reduce::l2 ? Trait::axes_input : Trait::reduction, Trait::widens)
      .inputs("data, axes")
      .infer(reduce_infer<what>)
      .linear()
      .reference(reduce_run<what>);
}

}  // namespace

Definitions define_reduce() {
  auto rule = [](std::string_view type) { return onnx(type).expand(import_reduce); };
  return {
      reduction<Reduce::sum>("ReduceSum", 1, "Sum along the given axes").import(rule("ReduceSum")),
      reduction<Reduce::mean>("ReduceMean", 1, "Mean along the given axes").import(rule("ReduceMean")),
      reduction<Reduce::max>("ReduceMax", 1, "Maximum along the given axes").import(rule("ReduceMax")),
      reduction<Reduce::min>("ReduceMin", 1, "Minimum along the given axes").import(rule("ReduceMin")),
      reduction<Reduce::prod>("ReduceProd", 1, "Product along the given axes").import(rule("ReduceProd")),
      reduction<Reduce::l1>("ReduceL1", 4, "L1 norm (sum of absolute values) along the given axes")
          .import(rule("ReduceL1")),
      reduction<Reduce::l2>("ReduceL2", 4, "L2 norm (square root of the sum of squares) along the given axes")
          .import(rule("ReduceL2")),
      reduction<Reduce::all>("ReduceLogicalAnd", 1, "Logical AND along the given axes"),
      reduction<Reduce::any>("ReduceLogicalOr", 1, "Logical OR along the given axes"),
      onnx("ReduceLogSum").expand(import_reduce_log_sum),
      onnx("ReduceSumSquare").expand(import_reduce_sum_square),
      onnx("ReduceLogSumExp").expand(import_reduce_log_sum_exp),
  };
}

}  // namespace graft
