#include <graft/kit/following.hpp>
#include <graft/kit/moves.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

// IR of version 1 writes "none" where axes_mapping is given.
enum class BroadcastMode { by_numpy, by_axes, none, by_paddle, both_ways };
BroadcastMode broadcast_mode(BroadcastMode m) { return m == BroadcastMode::none ? BroadcastMode::by_axes : m; }

struct Broadcast1 {
  BroadcastMode mode = BroadcastMode::by_numpy;
  std::optional<int64_t> auto_broadcast_axis;
  static constexpr std::tuple schema{
      attr("mode", &Broadcast1::mode, "broadcasting rule that aligns the data with the target shape")
          .one_of("numpy", "explicit", "none", "pdpd"),
      attr("auto_broadcast_axis", &Broadcast1::auto_broadcast_axis,
           "axis of the target at which the data begins (mode pdpd)")};
};
struct Broadcast3 {
  BroadcastMode mode = BroadcastMode::by_numpy;
  std::optional<int64_t> axis;
  static constexpr std::tuple schema{
      attr("mode", &Broadcast3::mode, "broadcasting rule that aligns the data with the target shape")
          .one_of("numpy", "explicit", "none", "pdpd", "bidirectional"),
      attr("axis", &Broadcast3::axis, "axis of the target at which the data begins (mode pdpd)")};
};

// The output axis of each data axis. `mapping` holds the values of axes_mapping, for mode "explicit".
std::vector<size_t> broadcast_axes(BroadcastMode mode, std::optional<int64_t> start, size_t rank, size_t out_rank,
                                   const std::vector<int64_t>* mapping) {
  if (mode == BroadcastMode::by_axes) {
    if (mapping->size() != rank)
      fail("expected ", rank, " values in axes_mapping for data of rank ", rank, ", got ", mapping->size());
    std::vector<size_t> axes = normalize_axes(*mapping, out_rank);
    for (size_t i = 1; i < axes.size(); ++i)
      if (axes[i] <= axes[i - 1]) fail("expected axes_mapping in strictly ascending order, got ", *mapping);
    return axes;
  }
  if (rank > out_rank) fail("data of rank ", rank, " does not broadcast to a target of rank ", out_rank);
  size_t first = out_rank - rank;
  if (mode == BroadcastMode::by_paddle && start && *start != -1) {
    first = normalize_axis(*start, out_rank);
    if (first + rank > out_rank)
      fail("data of rank ", rank, " does not fit a target of rank ", out_rank, " from axis ", first, " on");
  }
  std::vector<size_t> axes;
  for (size_t i = 0; i < rank; ++i) axes.push_back(first + i);
  return axes;
}

Shape broadcast_target(Infer& ctx) {
  Dim length = length_of(ctx, 1);
  if (!length.known()) return Shape::unknown();
  Shape target = Shape::of_rank(axes_in(length));
  auto values = numbers_of(ctx, 1);
  for (size_t i = 0; values && i < target.rank(); ++i) {
    const Dim& d = (*values)[i];
    if (d.known() && d.min() < 0) fail("expected non-negative target dimensions, got ", d.min());
    target[i] = d.min() >= 0 ? d : Dim::between(0, d.max());
  }
  return target;
}

void broadcast_any_run(Run& ctx, BroadcastMode mode, std::optional<int64_t> start) {
  TensorView x = ctx.input(0);
  OutputView y = ctx.output(0);
  std::vector<int64_t> mapping, strides = strides_of(x.dims());
  if (mode == BroadcastMode::by_axes) mapping = ctx.input(2).to<int64_t>();
  std::vector<size_t> axes = broadcast_axes(mode, start, x.rank(), y.rank(), &mapping);
  Strided source{0, std::vector<int64_t>(y.rank(), 0)};
  for (size_t i = 0; i < x.rank(); ++i) {
    if (x.dim(i) == 1) continue;
    if (x.dim(i) != y.dim(axes[i])) fail("a dimension of ", x.dim(i), " does not broadcast to ", y.dim(axes[i]));
    source.strides[axes[i]] = strides[i];
  }
  move_view(y, x, source);
}
void broadcast1_run(Run& ctx, const Broadcast1& a) {
  broadcast_any_run(ctx, broadcast_mode(a.mode), a.auto_broadcast_axis);
}
void broadcast3_run(Run& ctx, const Broadcast3& a) { broadcast_any_run(ctx, broadcast_mode(a.mode), a.axis); }

Shape broadcast_shape(Infer& ctx, BroadcastMode mode, std::optional<int64_t> start) {
  Shape in = ctx.shape(0), target = broadcast_target(ctx), out = target;
  if (mode == BroadcastMode::by_axes && !ctx.has_input(2)) fail("mode 'explicit' requires the input axes_mapping");
  if (mode == BroadcastMode::both_ways) {
    out = broadcast(in, target);
  } else if (in.ranked() && target.ranked()) {
    std::optional<std::vector<int64_t>> mapping;
    if (mode == BroadcastMode::by_axes) mapping = certain_numbers(ctx, 2);
    if (mode != BroadcastMode::by_axes || mapping) {
      std::vector<size_t> axes = broadcast_axes(mode, start, in.rank(), target.rank(), mapping ? &*mapping : nullptr);
      for (size_t i = 0; i < in.rank(); ++i) {
        const Dim& t = target[axes[i]];
        if (!in[i].can_be(1) && (in[i].min() > t.max() || in[i].max() < t.min()))
          fail("data of shape ", in, " does not broadcast to ", target);
        if (!in[i].can_be(1) && !t.known()) out[axes[i]] = in[i];
      }
    }
  }
  ctx.output(0, ctx.type(0), out);
  return out;
}
void broadcast1_infer(Infer& ctx, const Broadcast1& a) {
  follow_moves(ctx, a, broadcast1_run, {0}, {broadcast_shape(ctx, broadcast_mode(a.mode), a.auto_broadcast_axis)});
}
void broadcast3_infer(Infer& ctx, const Broadcast3& a) {
  follow_moves(ctx, a, broadcast3_run, {0}, {broadcast_shape(ctx, broadcast_mode(a.mode), a.axis)});
}

// ---- ONNX ----

Value import_expand(Builder& layer) {
  return layer.op("Broadcast", {layer.input(0), layer.input(1)}, {{"mode", "bidirectional"}});
}
Value import_constant_of_shape(Builder& layer) {
  Value value;
  if (layer.has("value")) {
    value = layer.constant(layer.get<TensorView>("value"));
    if (value.rank() != 0) value = reshape(value, {});
  } else {
    value = layer.scalar(0, DType::f32);
  }
  if (!layer.has_input(0)) return value;  // an omitted shape means a scalar
  return layer.op("Broadcast", {value, layer.input(0)}, {{"mode", "numpy"}});
}

// The first version broadcasts only the data: the output must have the target shape. There, aligning at an axis has a
// different meaning.
void broadcast_as_1(Rewrite& at) {
  auto mode = at.get<std::string>("mode");
  if (mode == "pdpd") return;
  std::vector<NamedAttr> changed;
  if (mode == "bidirectional") {
    auto target = at.input(1).values<int64_t>();
    Shape result = at.self().shape();
    if (!target || !result.is_static() || result.values() != *target) return;
    changed.push_back({"mode", "numpy"});
  }
  at.restate("Broadcast@1", at.all_inputs(), {"axis"}, changed);
}

}  // namespace

Definitions define_broadcast() {
  return {
      op<Broadcast1>("Broadcast", 1)
          .doc("Broadcast the data to the target shape")
          .traits(Trait::moves_data)
          .inputs("data, target_shape, axes_mapping?")
          .infer(broadcast1_infer)
          .linear()
          .reference(broadcast1_run),
      op<Broadcast3>("Broadcast", 3)
          .doc("Broadcast the data to the target shape; in bidirectional mode the target is broadcast as well")
          .traits(Trait::moves_data)
          .inputs("data, target_shape, axes_mapping?")
          .infer(broadcast3_infer)
          .linear()
          .reference(broadcast3_run)
          .import(onnx("Expand").expand(import_expand))
          .earlier(broadcast_as_1),
      onnx("ConstantOfShape").expand(import_constant_of_shape),
  };
}

}  // namespace graft
