// Interpolate of opset1, opset4 and opset11.
#include <graft/kit/interpolation.hpp>
#include <graft/kit/known.hpp>
#include <graft/op.hpp>

#include "resample.hpp"

namespace graft {
namespace {

Dim padded_dim(const Dim& d, const Interpolation& a, size_t axis) {
  return d + Dim(interpolation_pad(a.pads_begin, axis) + interpolation_pad(a.pads_end, axis));
}

// The scaled size; the tolerance keeps a product just below an integer from losing an element.
Dim scaled_dim(const Dim& d, double scale) {
  if (!(scale > 0) || std::isinf(scale)) fail("expected a positive scale, got ", scale);
  if (scale == 1) return d;
  auto grown = [&](int64_t n) {
    float size = static_cast<float>(n) * (static_cast<float>(scale) + 1e-6f);
    return n == Dim::unbounded || size >= 0x1p62f ? Dim::unbounded : static_cast<int64_t>(size);
  };
  return Dim::between(grown(d.min()), grown(d.max()));
}

void interpolate_shape(Infer& ctx, const Interpolation& a, size_t sizes_at, size_t scales_at, size_t axes_at) {
  Shape data = ctx.shape(0);
  bool has_axes = ctx.has_input(axes_at);
  auto listed = has_axes ? ctx.values<int64_t>(axes_at) : std::nullopt;
  if (!data.ranked()) return ctx.output(0, ctx.type(0), data);
  if (has_axes && !listed) return ctx.output(0, ctx.type(0), Shape::of_rank(data.rank()));
  for (size_t i = 0; i < data.rank(); ++i) data[i] = padded_dim(data[i], a, i);
  std::vector<size_t> axes = interpolation_axes(listed, data.rank());
  auto factors = a.shape_calculation_mode == Interpolation::scales ? ctx.values<double>(scales_at) : std::nullopt;
  auto sizes =
      a.shape_calculation_mode == Interpolation::sizes ? target_sizes(ctx, sizes_at, axes.size()) : std::nullopt;
  if (factors && factors->size() != axes.size())
    fail("expected ", axes.size(), " scales, one per axis, got ", factors->size());
  for (size_t i = 0; i < axes.size(); ++i) {
    Dim& d = data[axes[i]];
    bool empty = d.max() == 0;
    d = factors ? scaled_dim(d, (*factors)[i]) : sizes ? (*sizes)[i] : Dim();
    if (empty && d.min() > 0) fail("cannot resize axis ", axes[i], " from 0 to ", d, " elements");
  }
  ctx.output(0, ctx.type(0), data);
}
void interpolate4_infer(Infer& ctx, const Interpolate4& a) { interpolate_shape(ctx, a, 1, 2, 3); }
void interpolate11_infer(Infer& ctx, const Interpolate11& a) { interpolate_shape(ctx, a, 1, 1, 2); }
void interpolate1_infer(Infer& ctx, const Interpolate1& a) {
  Shape data = ctx.shape(0);
  if (data.ranked()) {
    std::vector<size_t> axes = interpolate1_axes(a, data.rank());
    auto sizes = target_sizes(ctx, 1, axes.size());
    for (size_t i = 0; i < data.rank(); ++i) data[i] = padded_dim(data[i], a, i);
    for (size_t i = 0; i < axes.size(); ++i) {
      Dim size = sizes ? (*sizes)[i] : Dim();
      if (data[axes[i]].max() == 0 && size.min() > 0)
        fail("cannot resize axis ", axes[i], " from 0 to ", size, " elements");
      data[axes[i]] = size;
    }
  }
  ctx.output(0, ctx.type(0), data);
}

void interpolate_any(TensorView x, OutputView y, const Interpolation& a, const InterpolationPlan& plan) {
  bool pillow = a.mode == Interpolation::bilinear_pillow || a.mode == Interpolation::bicubic_pillow;
  bool whole = !is_real(x.type()) && a.mode != Interpolation::nearest;
  // Some modes round to the nearest integer within the range of the type, others truncate the f32 result.
  bool cut = a.mode == Interpolation::linear_onnx || a.mode == Interpolation::cubic;
  double steps = std::ldexp(1.0, bits_of(x.type())), low = is_signed_integer(x.type()) ? -steps / 2 : 0;
  auto to_whole = [&](auto& values) {
    for (auto& v : values) {
      auto d = static_cast<double>(v);
      d = cut ? std::trunc(static_cast<float>(d)) : std::min(std::max(std::round(d), low), low + steps - 1);
      v = static_cast<std::remove_reference_t<decltype(v)>>(d);
    }
  };
  auto run = [&]<class T>(T) {
    std::vector<T> v = x.to<T>();
    std::vector<int64_t> dims(x.dims().begin(), x.dims().end());
    for (size_t i = x.rank(); i-- > 0;) {
      if (plan.stays(i, dims[i])) continue;
      v = resample(v, dims, i, interpolation_taps(plan.axes[i], dims[i], a, a.antialias && plan.fewer));
      // Pillow rounds pixels after each axis.
      if (pillow && whole) to_whole(v);
    }
    if (whole) to_whole(v);
    y.assign(v);
  };
  if (a.mode == Interpolation::nearest) with_number_type(x.type(), run);
  else run(double{});
}

void interpolate_with_inputs(Run& ctx, const Interpolation& a, size_t scales_at, size_t axes_at) {
  TensorView x = ctx.input(0);
  OutputView y = ctx.output(0);
  if (y.size() == 0) return;
  auto listed = ctx.has_input(axes_at) ? std::optional(ctx.input(axes_at).to<int64_t>()) : std::nullopt;
  bool scaled = a.shape_calculation_mode == Interpolation::scales;
  std::vector<double> factors = scaled ? ctx.input(scales_at).to<double>() : std::vector<double>();
  interpolate_any(x, y, a, {x.dims(), y.dims(), a, interpolation_axes(listed, x.rank()), factors});
}
void interpolate4_run(Run& ctx, const Interpolate4& a) { interpolate_with_inputs(ctx, a, 2, 3); }
void interpolate11_run(Run& ctx, const Interpolate11& a) { interpolate_with_inputs(ctx, a, 1, 2); }

void interpolate1_run(Run& ctx, const Interpolate1& a) {
  TensorView x = ctx.input(0);
  OutputView y = ctx.output(0);
  if (y.size() == 0) return;
  std::vector<size_t> axes = interpolate1_axes(a, x.rank());
  Interpolation now = interpolate1_settings(a, axes, x.rank());
  interpolate_any(x, y, now, {x.dims(), y.dims(), now, axes, {}});
}

// The earlier version has separate inputs for sizes and scales; the unused one is filled with ones.
void interpolate_as_4(Rewrite& at) {
  if (at.get<std::string>("mode").ends_with("_pillow")) return;
  Shape given = at.input(1).shape();
  if (!given.is_static() || given.rank() != 1) return;
  int64_t axes = given[0].value();
  bool by_scales = at.get<std::string>("shape_calculation_mode") == "scales";
  std::vector<double> ones(static_cast<size_t>(axes), 1);
  std::vector<Value> inputs{at.input(0), at.input(1), at.typed(ones, {axes}, DType::f32)};
  if (by_scales) inputs = {at.input(0), at.typed(ones, {axes}, DType::i64), at.input(1)};
  if (at.has_input(2)) inputs.push_back(at.input(2));
  at.restate("Interpolate@4", inputs);
}

}  // namespace

Definitions define_interpolate() {
  constexpr std::string_view doc = "Resize some axes by interpolation";
  return {
      op<Interpolate1>("Interpolate", 1)
          .doc(doc)
          .traits(Trait::widens)
          .inputs("data, sizes")
          .infer(interpolate1_infer)
          .reference(interpolate1_run),
      op<Interpolate4>("Interpolate", 4)
          .doc(doc)
          .traits(Trait::widens)
          .inputs("data, sizes, scales, axes?")
          .infer(interpolate4_infer)
          .reference(interpolate4_run),
      op<Interpolate11>("Interpolate", 11)
          .doc(doc)
          .traits(Trait::widens)
          .inputs("data, sizes_or_scales, axes?")
          .infer(interpolate11_infer)
          .reference(interpolate11_run)
          .earlier(interpolate_as_4),
  };
}

}  // namespace graft
