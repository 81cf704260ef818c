// Element types, and tensors made from sizes.
#include "pytorch/call.hpp"

namespace graft {
namespace {

using pt::Call, pt::Ints;

// ---- element types ----

Value import_pt_to(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  if (Value other = c.find("other")) return convert(x, other.type());
  auto type = c.dtype();
  return type ? convert(x, *type) : x;
}
Value import_pt_type_as(Builder& layer) {
  Call c(layer);
  return convert(c["self"], c["other"].type());
}
Value import_pt_copy(Builder& layer) {
  Call c(layer);
  Value self = c["self"], src = convert(c["src"], self.type());
  Shape a = self.shape(), b = src.shape();
  bool same = a.ranked() && b.ranked() && a.rank() == b.rank();
  for (size_t i = 0; same && i < a.rank(); ++i) same = a[i].same(b[i]);
  return same ? src : pt::expanded(src, shape_of(self));
}

// ---- tensors from sizes ----

Value pt_created(Builder& layer, Call& c, const Value& sizes, const Value& number) {
  auto n = sizes.values<int64_t>();
  (void)layer, (void)c;
  if (n && n->empty()) return number;
  return build::broadcast(number, sizes);
}
template <int number>
Value import_pt_constant(Builder& layer) {
  Call c(layer);
  DType type = c.dtype().value_or(DType::f32);
  return pt_created(layer, c, c.sizes("size"), layer.scalar(static_cast<double>(number), type));
}
template <int number>
Value import_pt_constant_like(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  return pt::filled_like(x, number, c.dtype().value_or(x.type()));
}
template <int number>
Value import_pt_new_constant(Builder& layer) {
  Call c(layer);
  return pt_created(layer, c, c.sizes("size"),
                    layer.scalar(static_cast<double>(number), c.dtype().value_or(c["self"].type())));
}
DType pt_type_of(Call& c, std::string_view name) {
  const graft_value* f = c.in.field(name);
  if (!f) {
    Value v = c.find(name);
    return v && !pt::is_float(v.type()) ? v.type() : DType::f32;
  }
  return f->kind == GRAFT_BOOL ? DType::boolean : f->kind == GRAFT_INT ? DType::i64 : DType::f32;
}
Value import_pt_full(Builder& layer) {
  Call c(layer);
  DType type = c.dtype().value_or(pt_type_of(c, "fill_value"));
  return pt_created(layer, c, c.sizes("size"), as_scalar(c.number("fill_value", type)));
}
Value import_pt_full_like(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  return pt_created(layer, c, shape_of(x), as_scalar(c.number("fill_value", c.dtype().value_or(x.type()))));
}
Value import_pt_new_full(Builder& layer) {
  Call c(layer);
  return pt_created(layer, c, c.sizes("size"), as_scalar(c.number("fill_value", c.dtype().value_or(c["self"].type()))));
}
Value import_pt_fill(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  Value v = as_scalar(c.number("value", x.type()));
  return x.rank() == 0 ? v : build::broadcast(v, shape_of(x));
}
Value import_pt_zero(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  return pt::filled_like(x, 0, x.type());
}
Value import_pt_scalar_tensor(Builder& layer) {
  Call c(layer);
  return as_scalar(c.number("s", c.dtype().value_or(DType::f32)));
}
Value import_pt_arange(Builder& layer) {
  Call c(layer);
  bool whole = true, plain = true;
  for (std::string_view name : {"start", "end", "step"}) {
    const graft_value* f = layer.field(name);
    if (f) whole &= f->kind != GRAFT_FLOAT;
    if (Value v = c.find(name)) whole &= !pt::is_float(v.type()), plain = false;
  }
  DType type = c.dtype().value_or(whole ? DType::i64 : DType::f32);
  if (whole) {
    Value end = c.whole("end"), start = c.whole("start"), step = c.whole("step");
    return convert(layer.op("Range", {start, end, step}, {{"output_type", DType::i64}}), type);
  }
  if (plain) {
    double start = c.real("start"), end = c.real("end"), step = c.real("step");
    if (step == 0) fail("expected a step other than 0");
    double n = std::ceil((end - start) / step);
    if (!(n >= 0 && n <= 1 << 28)) fail("expected a range of 0 to ", 1 << 28, " numbers");
    Value at =
        layer.op("Range", {layer.scalar(int64_t{0}), layer.scalar(static_cast<int64_t>(n)), layer.scalar(int64_t{1})},
                 {{"output_type", DType::i64}});
    return convert(convert(at, DType::f64) * step + start, type);
  }
  return convert(
      layer.op("Range", {c.number("start", DType::f64), c.number("end", DType::f64), c.number("step", DType::f64)},
               {{"output_type", DType::f64}}),
      type);
}
// Numbers from both ends towards the middle, as torch computes them.
Value pt_line(Call& c, const Value& start, const Value& end, int64_t steps) {
  Builder& in = c.in;
  if (steps < 0 || steps > 1 << 28) fail("expected 0 to ", 1 << 28, " steps, got ", steps);
  if (steps == 1) return reshape(start, {1});
  Value at = convert(counting(in.scalar(steps), DType::i64), DType::f64);
  Value step = (end - start) / static_cast<double>(std::max<int64_t>(steps - 1, 1));
  Value low = start + at * step, high = end - (static_cast<double>(steps - 1) - at) * step;
  return pt::where(pt::less(at, static_cast<double>(steps / 2)), low, high);
}
Value import_pt_linspace(Builder& layer) {
  Call c(layer);
  DType type = c.dtype().value_or(DType::f32);
  Value start = as_scalar(c.number("start", DType::f64)), end = as_scalar(c.number("end", DType::f64));
  Value y = pt_line(c, start, end, c.integer("steps"));
  if (layer.type() == "aten::logspace") y = layer.op("Power", {like(y, c.real("base")), y});
  return pt::is_float(type) ? convert(y, type) : convert(pt::truncated(y), type);
}
Value import_pt_eye(Builder& layer) {
  Call c(layer);
  Value rows = c.whole("n"), columns = c.given("m") ? c.whole("m") : rows;
  DType type = c.dtype().value_or(DType::f32);
  Value y = layer.op("Eye", {rows, columns, layer.scalar(int64_t{0})},
                     {{"output_type", type == DType::boolean ? DType::u8 : type}});
  return convert(y, type);
}
std::vector<Value> import_pt_vander(Builder& layer) {
  Call c(layer);
  Value x = c.find("x");
  int64_t n = c.given("N") ? c.integer("N") : pt::known_size(x, static_cast<int64_t>(x.rank()) - 1);
  if (n < 0 || n > 1 << 20) fail("expected 0 to ", 1 << 20, " columns, got ", n);
  Value e = convert(counting(layer.scalar(n), DType::i64), x.type());
  return {layer.op("Power", {unsqueeze(x, {-1}), e})};
}

}  // namespace

Definitions define_pytorch_creation() {
  return {
      pt::rules({"aten::to", "aten::_to_copy"}, import_pt_to, {"copy"}),
      pt::rules({"aten::type_as"}, import_pt_type_as),
      pt::rules({"aten::copy"}, import_pt_copy),
      pt::rules({"aten::zeros", "aten::empty", "aten::empty_strided", "aten::empty_permuted"}, import_pt_constant<0>,
                {"stride", "physical_layout"}),
      pt::rules({"aten::ones"}, import_pt_constant<1>),
      pt::rules({"aten::zeros_like", "aten::empty_like"}, import_pt_constant_like<0>),
      pt::rules({"aten::ones_like"}, import_pt_constant_like<1>),
      pt::rules({"aten::new_zeros", "aten::new_empty", "aten::new_empty_strided"}, import_pt_new_constant<0>,
                {"stride"}),
      pt::rules({"aten::new_ones"}, import_pt_new_constant<1>),
      pt::rules({"aten::full"}, import_pt_full),
      pt::rules({"aten::full_like"}, import_pt_full_like),
      pt::rules({"aten::new_full"}, import_pt_new_full),
      pt::rules({"aten::fill"}, import_pt_fill),
      pt::rules({"aten::zero"}, import_pt_zero),
      pt::rules({"aten::scalar_tensor"}, import_pt_scalar_tensor),
      pt::rules({"aten::arange"}, import_pt_arange),
      pt::rules({"aten::linspace", "aten::logspace"}, import_pt_linspace),
      pt::rules({"aten::eye"}, import_pt_eye),
      pt::rules({"aten::linalg_vander"}, import_pt_vander),
  };
}

}  // namespace graft
