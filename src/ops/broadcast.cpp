#include <graft/kit/broadcast.hpp>
#include <graft/kit/following.hpp>
#include <graft/kit/moves.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

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

template <class A>
void broadcast_run(Run& ctx, const A& a) {
  BroadcastRule rule(a);
  TensorView x = ctx.input(0);
  OutputView y = ctx.output(0);
  std::vector<int64_t> mapping, strides = strides_of(x.dims());
  if (rule.is_mapped()) mapping = ctx.input(2).to<int64_t>();
  std::vector<size_t> axes = rule.axes(x.rank(), y.rank(), mapping);
  Strided source{0, std::vector<int64_t>(y.rank(), 0)};
  for (size_t i = 0; i < x.rank(); ++i) {
    if (x.dim(i) == 1) continue;
    if (x.dim(i) != y.dim(axes[i])) fail("a dimension of ", x.dim(i), " does not broadcast to ", y.dim(axes[i]));
    source.strides[axes[i]] = strides[i];
  }
  move_view(y, x, source);
}

Shape broadcast_shape(Infer& ctx, const BroadcastRule& rule) {
  Shape in = ctx.shape(0), target = broadcast_target(ctx), out = target;
  if (rule.is_mapped() && !ctx.has_input(2)) fail("mode 'explicit' requires the input axes_mapping");
  if (rule.mode == BroadcastMode::both_ways) {
    out = broadcast(in, target);
  } else if (in.ranked() && target.ranked()) {
    std::optional<std::vector<int64_t>> mapping;
    if (rule.is_mapped()) mapping = certain_numbers(ctx, 2);
    if (!rule.is_mapped() || mapping) {
      std::vector<size_t> axes = rule.axes(in.rank(), target.rank(), mapping ? *mapping : std::vector<int64_t>());
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
template <class A>
void broadcast_infer(Infer& ctx, const A& a) {
  follow_moves(ctx, a, broadcast_run<A>, {0}, {broadcast_shape(ctx, BroadcastRule(a))});
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
          .infer(broadcast_infer<Broadcast1>)
          .linear()
          .reference(broadcast_run<Broadcast1>),
      op<Broadcast3>("Broadcast", 3)
          .doc("Broadcast the data to the target shape; in bidirectional mode the target is broadcast as well")
          .traits(Trait::moves_data)
          .inputs("data, target_shape, axes_mapping?")
          .infer(broadcast_infer<Broadcast3>)
          .linear()
          .reference(broadcast_run<Broadcast3>)
          .import(onnx("Expand").expand(import_expand))
          .earlier(broadcast_as_1),
      onnx("ConstantOfShape").expand(import_constant_of_shape),
  };
}

}  // namespace graft
