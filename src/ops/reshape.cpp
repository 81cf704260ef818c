// Reshape, Squeeze, Unsqueeze: the same elements with another shape.
#include <graft/op.hpp>

#include "flatten.hpp"

namespace graft {
namespace {

// Small integer tensors keep their known values if only their shape changes.
void keep_known(Infer& ctx) {
  if (auto k = ctx.known(0)) ctx.known_output(0, *k);
}
void same_bytes_run(TensorView from, OutputView to) {
  if (from.bytes() != to.bytes()) to.assign(from);
}

struct Reshape {
  bool special_zero = false;
  static constexpr std::tuple schema{
      attr("special_zero", &Reshape::special_zero, "let 0 in the target shape copy the dimension of the input")};
};

void reshape_infer(Infer& ctx, const Reshape& a) {
  Shape in = ctx.shape(0), target = Shape::unknown(), list = ctx.shape(1);
  if (list.ranked() && list.rank() > 1) fail("expected a 1-D target shape, got a tensor of shape ", list);
  if (auto k = ctx.known(1)) {
    target = *k;
  } else if (auto v = ctx.values<int64_t>(1)) {
    target = Shape();
    for (int64_t x : *v) target.push_back(Dim(graft_dim{x, x, 0, 0}));
  } else {
    // Perhaps only the number of target dimensions is known.
    if (list.ranked() && list.rank() == 1 && list[0].known())
      target = Shape::of_rank(static_cast<size_t>(list[0].value()));
    return ctx.output(0, ctx.type(0), target);
  }
  Shape out;
  std::optional<size_t> rest;
  Dim given = 1;
  for (size_t i = 0; i < target.rank(); ++i) {
    const Dim& t = target[i];
    if (t.known() && t.min() == -1) {
      if (rest) fail("expected at most one -1 in the target shape, got two");
      rest = i;
      out.push_back(Dim());
      continue;
    }
    Dim d = t;
    if (t.known() && t.min() == 0 && a.special_zero) {
      if (in.ranked() && i >= in.rank())
        fail("the target shape copies dimension ", i, ", which the input of shape ", in, " does not have");
      d = in.ranked() ? in[i] : Dim();
    } else if (t.known() && t.min() < 0) {
      fail("expected target dimensions of at least -1, got ", t.min());
    } else if (!t.known() && t.min() < 0) {
      d = Dim();  // computed, and possibly the -1
    }
    given = given * d;
    out.push_back(d);
  }
  Dim total = in.elements();
  if (rest && given.known() && total.known()) {
    if (given.value() == 0) {
      if (total.value() != 0) fail("the input of shape ", in, " does not fit the target shape");
      out[*rest] = Dim(0);
    } else {
      if (total.value() % given.value() != 0)
        fail("the ", total, " elements of shape ", in, " do not fit the target shape ", out);
      out[*rest] = Dim(total.value() / given.value());
    }
  } else if (rest && in.ranked()) {
    // Equal unknown dimensions on both sides cancel: [?, 8, 8] to [?, -1].
    std::vector<Dim> left(in.begin(), in.end());
    int64_t over = 1;
    bool certain = true;
    for (size_t i = 0; i < out.rank() && certain; ++i) {
      if (i == *rest) continue;
      if (out[i].known()) {
        certain = !__builtin_mul_overflow(over, out[i].value(), &over);
        continue;
      }
      auto twin = std::find_if(left.begin(), left.end(), [&](const Dim& d) { return d.same(out[i]); });
      if (twin == left.end() && a.special_zero && target[i].known() && i < left.size())
        twin = left.begin() + static_cast<ptrdiff_t>(i);
      if (twin == left.end()) certain = false;
      else *twin = Dim(1);
    }
    Dim remaining = 1;
    for (const Dim& d : left) remaining = remaining * d;
    if (certain && over > 0) out[*rest] = remaining / over;
  } else if (!rest && given.known() && total.known() && given.value() != total.value()) {
    fail("the ", total, " elements of shape ", in, " do not fit the target shape ", out);
  }
  ctx.output(0, ctx.type(0), out);
  keep_known(ctx);
}
void reshape_run(Run& ctx, const Reshape&) { same_bytes_run(ctx.input(0), ctx.output(0)); }

struct SqueezeAttributes {
  bool allow_axis_skip = false;
  static constexpr std::tuple schema{
      attr("allow_axis_skip", &SqueezeAttributes::allow_axis_skip, "keep an axis that is not 1 instead of failing")};
};

void squeeze_shape(Infer& ctx, bool skip) {
  Shape in = ctx.shape(0);
  Info out{ctx.type(0), Shape::unknown()};
  auto axes = ctx.has_input(1) ? ctx.values<int64_t>(1) : std::nullopt;
  bool all = !ctx.has_input(1) || (axes && axes->empty());
  if (in.ranked() && (axes || all)) {
    std::vector<bool> gone(in.rank(), false);
    if (all) {
      for (size_t i = 0; i < in.rank(); ++i) {
        if (in[i].known()) gone[i] = in[i].value() == 1;
        else if (in[i].can_be(1)) return ctx.output(0, out);  // may or may not be removed
      }
    } else {
      for (size_t axis : normalize_axes(*axes, in.rank())) {
        if (!in[axis].can_be(1)) {
          if (skip) continue;
          fail("expected a dimension of 1 along axis ", axis, " to remove it, got shape ", in);
        }
        if (skip && !in[axis].known()) return ctx.output(0, out);
        gone[axis] = true;
      }
    }
    out.shape = Shape();
    for (size_t i = 0; i < in.rank(); ++i)
      if (!gone[i]) out.shape.push_back(in[i]);
  }
  ctx.output(0, out);
  keep_known(ctx);
}
void squeeze_infer(Infer& ctx, const NoAttributes&) { squeeze_shape(ctx, false); }
void squeeze15_infer(Infer& ctx, const SqueezeAttributes& a) { squeeze_shape(ctx, a.allow_axis_skip); }
void squeeze_run(Run& ctx, const NoAttributes&) { same_bytes_run(ctx.input(0), ctx.output(0)); }
void squeeze15_run(Run& ctx, const SqueezeAttributes&) { same_bytes_run(ctx.input(0), ctx.output(0)); }

void unsqueeze_infer(Infer& ctx, const NoAttributes&) {
  Shape in = ctx.shape(0);
  Info out{ctx.type(0), Shape::unknown()};
  if (auto axes = ctx.values<int64_t>(1); axes && in.ranked()) {
    size_t rank = in.rank() + axes->size();
    std::vector<bool> fresh(rank, false);
    for (size_t axis : normalize_axes(*axes, rank)) {
      if (fresh[axis]) fail("axis ", axis, " is inserted twice");
      fresh[axis] = true;
    }
    out.shape = Shape();
    size_t next = 0;
    for (size_t i = 0; i < rank; ++i) out.shape.push_back(fresh[i] ? Dim(1) : in[next++]);
  }
  ctx.output(0, out);
  keep_known(ctx);
}
void unsqueeze_run(Run& ctx, const NoAttributes&) { same_bytes_run(ctx.input(0), ctx.output(0)); }

// ---- ONNX ----

Value import_reshape(Builder& layer) {
  layer.has("consumed_inputs");
  Value target = layer.version() < 5 ? layer.ints(layer.get<std::vector<int64_t>>("shape")) : layer.input(1);
  return layer.op("Reshape", {layer.input(0), target}, {{"special_zero", !layer.get<bool>("allowzero", false)}});
}

Value axes_of(Builder& layer) {
  return layer.has("axes")    ? layer.ints(layer.get<std::vector<int64_t>>("axes"))
         : layer.has_input(1) ? layer.input(1)
                              : Value();
}

Value import_squeeze(Builder& layer) {
  Value axes = axes_of(layer);
  return axes ? layer.op("Squeeze@1", {layer.input(0), axes}) : layer.op("Squeeze@1", {layer.input(0)});
}
Value import_unsqueeze(Builder& layer) {
  Value axes = axes_of(layer);
  if (!axes) fail("expected axes, got none");
  return layer.op("Unsqueeze", {layer.input(0), axes});
}

Value import_flatten(Builder& layer) { return flattened(layer.input(0), layer.get<int64_t>("axis", 1)); }

}  // namespace

Definitions define_reshape() {
  return {
      op<Reshape>("Reshape", 1)
          .doc("Change the shape and keep the elements")
          .inputs("data, shape")
          .infer(reshape_infer)
          .linear()
          .reference(reshape_run)
          .view_of_input()
          .import(onnx("Reshape").expand(import_reshape)),
      op("Squeeze", 1)
          .doc("Remove dimensions of size 1")
          .inputs("data, axes?")
          .infer(squeeze_infer)
          .linear()
          .reference(squeeze_run)
          .view_of_input()
          .import(onnx("Squeeze").expand(import_squeeze)),
      op<SqueezeAttributes>("Squeeze", 15)
          .doc("Remove dimensions of size 1")
          .inputs("data, axes?")
          .infer(squeeze15_infer)
          .linear()
          .reference(squeeze15_run)
          .view_of_input()
          .earlier(1, {{"allow_axis_skip", false}}),
      op("Unsqueeze", 1)
          .doc("Insert dimensions of size 1")
          .inputs("data, axes")
          .infer(unsqueeze_infer)
          .linear()
          .reference(unsqueeze_run)
          .view_of_input()
          .import(onnx("Unsqueeze").expand(import_unsqueeze)),
      onnx("Flatten").expand(import_flatten),
  };
}

}  // namespace graft
