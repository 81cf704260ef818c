// Layers of networks: products, convolutions, pooling, normalization, attention, resizing.
#include "pytorch/call.hpp"

namespace graft {
namespace {

using pt::Call, pt::Ints;

// ---- products ----

Value pt_matmul(const Value& a, const Value& b) {
  if (a.type() == DType::i64 || a.type() == DType::i32 || pt::is_float(a.type())) return build::matmul(a, b);
  return convert(build::matmul(convert(a, DType::i64), convert(b, DType::i64)), a.type());
}
Value import_pt_matmul(Builder& layer) {
  Call c(layer);
  Value b;
  for (const char* name : {"other", "mat2", "vec", "tensor", "vec2"})
    if (!b) b = c.find(name);
  if (!b) fail("expected a second tensor");
  Value a = c.find("self") ? c["self"] : c["input"];
  // Vectors get an axis, which is taken off again.
  return pt_matmul(a, b);
}
Value pt_biased(Call& c, const Value& x, const Value& w) {
  Value y = build::matmul(x, w, false, true);
  if (Value b = c.find("bias")) y = y + b;
  return y;
}
Value import_pt_linear(Builder& layer) {
  Call c(layer);
  return pt_biased(c, c["input"], c["weight"]);
}
Value import_pt_bilinear(Builder& layer) {
  Call c(layer);
  Value a = c["input1"], b = c["input2"];
  Value y = layer.op("Einsum", {a, c["weight"], b}, {{"equation", "...i,oij,...j->...o"}});
  if (Value bias = c.find("bias")) y = y + bias;
  return y;
}
// beta * self + alpha * product
Value pt_added(Call& c, const Value& product) {
  Value self = c["self"], y = product;
  DType type = pt::Promotion().add(self).add(product).type();
  y = convert(y, type), self = convert(self, type);
  if (c.given("alpha")) y = y * c.number("alpha", type);
  if (c.given("beta")) {
    if (c.in.has("beta") && c.real("beta") == 0) return pt::expanded(y, shape_of(y));
    self = self * c.number("beta", type);
  }
  return self + y;
}
Value import_pt_addmm(Builder& layer) {
  Call c(layer);
  Value y;
  if (c.find("mat1")) y = pt_matmul(c["mat1"], c["mat2"]);
  else if (c.find("vec1")) y = unsqueeze(c["vec1"], {1}) * unsqueeze(c["vec2"], {0});
  else if (c.find("batch1")) y = pt_matmul(c["batch1"], c["batch2"]);
  else y = pt_matmul(c["mat"], c["vec"]);
  if (layer.type() == "aten::addbmm") y = pt::reduce("ReduceSum", y, {0}, false);
  y = pt_added(c, y);
  return layer.type() == "aten::_addmm_activation" ? layer.op(c.flag("use_gelu") ? "Gelu" : "Relu", {y}) : y;
}
Value import_pt_outer(Builder& layer) {
  Call c(layer);
  Value a = c["self"], b = c["vec2"];
  DType type = pt::Promotion().add(a).add(b).type();
  return unsqueeze(convert(a, type), {1}) * unsqueeze(convert(b, type), {0});
}
Value import_pt_inner(Builder& layer) {
  Call c(layer);
  Value a = c["self"], b = c["other"];
  if (a.rank() == 0 || b.rank() == 0) return a * b;
  // Over the last axes of both.
  std::string left, right, out;
  char next = 'a';
  for (size_t i = 0; i + 1 < a.rank(); ++i) left += next, out += next++;
  for (size_t i = 0; i + 1 < b.rank(); ++i) right += next, out += next++;
  return layer.op("Einsum", {a, b}, {{"equation", left + "z," + right + "z->" + out}});
}
Value import_pt_tensordot(Builder& layer) {
  Call c(layer);
  Value a = c["self"], b = c["other"];
  Ints da = pt::axes_of(c.ints("dims_self"), a.rank()), db = pt::axes_of(c.ints("dims_other"), b.rank());
  if (da.size() != db.size()) fail("expected as many axes of both tensors");
  std::string left(a.rank(), ' '), right(b.rank(), ' '), out;
  char next = 'a';
  for (size_t i = 0; i < da.size(); ++i) left[static_cast<size_t>(da[i])] = right[static_cast<size_t>(db[i])] = next++;
  for (std::string* s : {&left, &right})
    for (char& l : *s)
      if (l == ' ') l = next++, out += l;
  return layer.op("Einsum", {a, b}, {{"equation", left + "," + right + "->" + out}});
}
Value import_pt_einsum(Builder& layer) {
  Call c(layer);
  std::vector<Value> all = c.tensors("tensors");
  return layer.op("Einsum", all, {{"equation", c.word("equation")}});
}
Value import_pt_kron(Builder& layer) {
  Call c(layer);
  Value a = c["self"], b = c["other"];
  size_t r = std::max(a.rank(), b.rank());
  auto spread = [&](Value v, int64_t extra) {
    while (v.rank() < r) v = unsqueeze(v, {0});
    Ints axes;
    for (size_t i = 0; i < r; ++i) axes.push_back(static_cast<int64_t>(2 * i) + extra);
    return axes.empty() ? v : unsqueeze(v, axes);
  };
  Value y = spread(a, 1) * spread(b, 0);
  Ints target;
  for (size_t i = 0; i < r; ++i) {
    Shape s = y.shape();
    if (!s[2 * i].known() || !s[2 * i + 1].known()) needs_shape("the sizes of the factors are unknown");
    target.push_back(s[2 * i].value() * s[2 * i + 1].value());
  }
  return reshape(y, target);
}
Value import_pt_multi_dot(Builder& layer) {
  Call c(layer);
  std::vector<Value> all = c.tensors("tensors");
  Value y = all[0];
  for (size_t i = 1; i < all.size(); ++i) y = build::matmul(y, all[i]);
  return y;
}
Value import_pt_cross(Builder& layer) {
  Call c(layer);
  Value a = c["self"], b = c["other"];
  Value both = a * b;
  a = pt::broadcast_to(a, both), b = pt::broadcast_to(b, both);
  int64_t axis = static_cast<int64_t>(a.rank()) - 1;
  if (c.given("dim") || layer.type() == "aten::linalg_cross") axis = pt::axis_of(c.integer("dim"), a.rank());
  else
    for (size_t i = a.rank(); i-- > 0;)
      if (Shape s = a.shape(); s[i].known() && s[i].value() == 3) axis = static_cast<int64_t>(i);
  auto turned = [&](const Value& v, const Ints& order) { return build::gather(v, layer.ints(order), axis); };
  return turned(a, {1, 2, 0}) * turned(b, {2, 0, 1}) - turned(a, {2, 0, 1}) * turned(b, {1, 2, 0});
}
Value import_pt_vecdot(Builder& layer) {
  Call c(layer);
  Value p = c["x"] * c["y"];
  return pt::reduce("ReduceSum", p, {pt::axis_of(c.integer("dim"), p.rank())}, false);
}

// ---- convolutions ----

struct PtWindow {
  Ints stride, padding, dilation;
  std::string automatic = "explicit";
};
// Data with a batch axis, whether it was missing, and the number of spatial axes.
struct PtImages {
  Value x;
  size_t axes;
  bool single;
};
PtImages pt_images(const Value& x, size_t axes) {
  bool single = x.rank() == axes + 1;
  return {single ? unsqueeze(x, {0}) : x, axes, single};
}
Value pt_unbatched(const PtImages& i, const Value& y) { return i.single ? squeeze(y, {0}) : y; }
Value pt_channels(const Value& v, size_t axes) {
  Ints dims(axes + 2, 1);
  dims[1] = -1;
  return reshape(v, dims);
}
Value pt_grouped(const Value& w, int64_t groups) {
  Shape s = w.shape();
  Ints target{groups};
  for (size_t i = 0; i < s.rank(); ++i) {
    if (!s[i].known()) needs_shape("the shape of the weights of a convolution is unknown");
    target.push_back(i == 0 ? s[i].value() / groups : s[i].value());
  }
  if (s[0].value() % groups) fail("expected a number of channels divisible by ", groups, " groups, got ", s[0]);
  return reshape(w, target);
}
void pt_positive(std::string_view name, const Ints& list) {
  for (int64_t v : list)
    if (v < 1 || v > 1 << 24) fail("expected '", name, "' of 1 to ", 1 << 24, ", got ", v);
}
Value pt_convolution(Call& c, bool transposed) {
  Builder& in = c.in;
  Value w = c["weight"], given = c["input"];
  if (w.rank() < 3) fail("expected weights of rank 3 at least, got ", w.rank());
  size_t axes = w.rank() - 2;
  PtImages images = pt_images(given, axes);
  int64_t groups = c.integer("groups");
  if (groups < 1) fail("expected at least one group, got ", groups);
  Ints stride = c.per_axis("stride", axes), dilation = c.per_axis("dilation", axes), begin(axes, 0), end(axes, 0);
  pt_positive("stride", stride), pt_positive("dilation", dilation);
  std::string automatic = "explicit";
  const graft_value* padding = in.field("padding");
  if (padding && padding->kind == GRAFT_TEXT) {
    std::string word = c.word("padding");
    if (word != "same" && word != "valid") fail("expected padding 'same' or 'valid', got '", word, "'");
    Shape ws = w.shape();
    for (size_t i = 0; word == "same" && i < axes; ++i) {
      int64_t total = dilation[i] * (ws[i + 2].value() - 1);
      begin[i] = total / 2, end[i] = total - total / 2;
    }
  } else {
    begin = end = c.per_axis("padding", axes);
  }
  std::vector<NamedAttr> attributes{{"strides", stride}, {"dilations", dilation}, {"pads_begin", begin}, {"pads_end", end}};
  Value x = images.x, y;
  if (transposed) {
    attributes.push_back({"output_padding", c.per_axis("output_padding", axes)});
    y = groups == 1 ? in.op("ConvolutionBackpropData", {x, w}, attributes)
                    : in.op("GroupConvolutionBackpropData", {x, pt_grouped(w, groups)}, attributes);
  } else {
    y = groups == 1 ? in.op("Convolution", {x, w}, attributes)
                    : in.op("GroupConvolution", {x, pt_grouped(w, groups)}, attributes);
  }
  if (Value b = c.find("bias")) y = y + pt_channels(b, axes);
  return pt_unbatched(images, y);
}
Value import_pt_conv(Builder& layer) {
  Call c(layer);
  layer.has("output_padding");
  return pt_convolution(c, c.flag("transposed"));
}
Value import_pt_conv_transpose(Builder& layer) {
  Call c(layer);
  return pt_convolution(c, true);
}
Value import_pt_im2col(Builder& layer) {
  Call c(layer);
  PtImages images = pt_images(c["self"], 2);
  Value x = images.x;
  Ints k = c.per_axis("kernel_size", 2), d = c.per_axis("dilation", 2), p = c.per_axis("padding", 2), s = c.per_axis("stride", 2);
  pt_positive("stride", s), pt_positive("dilation", d), pt_positive("kernel_size", k);
  x = layer.op("Pad", {x, layer.ints({0, 0, p[0], p[1]}), layer.ints({0, 0, p[0], p[1]}), like(x, 0)}, {{"pad_mode", "constant"}});
  Shape shape = x.shape();
  if (!shape[2].known() || !shape[3].known()) needs_shape("the size of an image whose patches are taken is unknown");
  Ints counts, at[2];
  for (size_t i = 0; i < 2; ++i) {
    int64_t n = (shape[i + 2].value() - d[i] * (k[i] - 1) - 1) / s[i] + 1;
    counts.push_back(std::max<int64_t>(n, 0));
    for (int64_t a = 0; a < k[i]; ++a)
      for (int64_t b = 0; b < counts[i]; ++b) at[i].push_back(a * d[i] + b * s[i]);
  }
  Value y = build::gather(x, layer.constant<int64_t>(at[0], {k[0], counts[0]}), 2);
  y = build::gather(y, layer.constant<int64_t>(at[1], {k[1], counts[1]}), 4);
  y = transpose(y, {0, 1, 2, 4, 3, 5});
  Value rows = build::dim(y, 1) * static_cast<double>(k[0] * k[1]);
  y = build::reshape(y, {build::dim(y, 0), rows, layer.ints({counts[0] * counts[1]})});
  return pt_unbatched(images, y);
}
Value import_pt_col2im(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  Ints p = c.per_axis("padding", 2);
  return layer.op("Col2Im", {x, c.sizes("output_size"), layer.ints(c.per_axis("kernel_size", 2))},
                  {{"strides", c.per_axis("stride", 2)}, {"dilations", c.per_axis("dilation", 2)}, {"pads_begin", p}, {"pads_end", p}});
}

// ---- pooling ----

size_t pt_pool_axes(std::string_view type) {
  for (char ch : type)
    if (ch >= '1' && ch <= '3') return static_cast<size_t>(ch - '0');
  fail("expected a pooling operator over 1 to 3 axes");
}
struct PtPool {
  PtImages images;
  Ints kernel, stride, padding;
  std::string rounding;
};
PtPool pt_pool(Call& c) {
  size_t axes = pt_pool_axes(c.in.type());
  PtPool p{pt_images(c["self"], axes), c.per_axis("kernel_size", axes), {}, c.per_axis("padding", axes), {}};
  p.stride = c.ints("stride").empty() ? p.kernel : c.per_axis("stride", axes);
  p.rounding = c.flag("ceil_mode") ? "ceil_torch" : "floor";
  pt_positive("kernel_size", p.kernel), pt_positive("stride", p.stride);
  return p;
}
std::vector<Value> import_pt_max_pool(Builder& layer) {
  Call c(layer);
  PtPool p = pt_pool(c);
  Value x = p.images.x;
  DType type = x.type();
  std::vector<Value> y = layer.ops("MaxPool@14", {x},
                                   {{"kernel", p.kernel}, {"strides", p.stride}, {"dilations", c.per_axis("dilation", p.kernel.size())},
                                    {"pads_begin", p.padding}, {"pads_end", p.padding}, {"rounding_type", p.rounding},
                                    {"axis", 2}},
                                   2);
  y[0] = convert(pt_unbatched(p.images, y[0]), type);
  if (layer.type().find("with_indices") == std::string_view::npos) return {y[0]};
  y[1] = pt_unbatched(p.images, y[1]);
  return y;
}
Value import_pt_avg_pool(Builder& layer) {
  Call c(layer);
  PtPool p = pt_pool(c);
  bool include = c.flag("count_include_pad");
  Value x = p.images.x;
  std::vector<NamedAttr> attributes{{"kernel", p.kernel}, {"strides", p.stride}, {"pads_begin", p.padding},
                                    {"pads_end", p.padding}, {"rounding_type", p.rounding}, {"exclude-pad", !include}};
  if (!c.given("divisor_override")) return pt_unbatched(p.images, layer.op("AvgPool@14", {x}, attributes));
  // The mean of a window without padding, times its size: padded by hand, the sum.
  int64_t divisor = c.integer("divisor_override"), size = 1;
  if (divisor == 0) fail("expected a divisor other than 0");
  for (int64_t k : p.kernel) size *= k;
  attributes[5] = {"exclude-pad", false};
  if (p.rounding != "floor") {
    // Padded so far that the last window lies inside.
    Ints before{0, 0}, after{0, 0};
    Shape s = x.shape();
    for (size_t i = 0; i < p.kernel.size(); ++i) {
      if (!s[i + 2].known()) needs_shape("ceil_mode with divisor_override needs the size of the image");
      int64_t n = s[i + 2].value(), pad = p.padding[i], step = p.stride[i], room = n + 2 * pad - p.kernel[i];
      int64_t count = (room + step - 1) / step + 1;
      if ((count - 1) * step >= n + pad) --count;
      before.push_back(pad), after.push_back(std::max((count - 1) * step + p.kernel[i] - n - pad, pad));
    }
    x = layer.op("Pad", {x, layer.ints(before), layer.ints(after), like(x, 0)}, {{"pad_mode", "constant"}});
    attributes = {{"kernel", p.kernel}, {"strides", p.stride}, {"exclude-pad", false}};
  }
  Value y = layer.op("AvgPool@14", {x}, attributes);
  return pt_unbatched(p.images, y * (static_cast<double>(size) / static_cast<double>(divisor)));
}
Value import_pt_adaptive_avg_pool(Builder& layer) {
  Call c(layer);
  size_t axes = pt_pool_axes(layer.type());
  PtImages images = pt_images(c["self"], axes);
  Ints size = c.per_axis("output_size", axes);
  Shape s = images.x.shape();
  Ints all;
  bool ones = true;
  for (size_t i = 0; i < axes; ++i) ones &= size[i] == 1, all.push_back(static_cast<int64_t>(i) + 2);
  (void)s;
  if (ones) return pt_unbatched(images, pt::reduce("ReduceMean", images.x, all, true));
  return pt_unbatched(images, layer.op("AdaptiveAvgPool", {images.x, layer.ints(size)}));
}
std::vector<Value> import_pt_adaptive_max_pool(Builder& layer) {
  Call c(layer);
  size_t axes = pt_pool_axes(layer.type());
  PtImages images = pt_images(c["self"], axes);
  std::vector<Value> y = layer.ops("AdaptiveMaxPool", {images.x, layer.ints(c.per_axis("output_size", axes))},
                                   {{"index_element_type", DType::i64}}, 2);
  for (Value& v : y) v = pt_unbatched(images, v);
  return y;
}
Value import_pt_max_unpool(Builder& layer) {
  Call c(layer);
  size_t axes = pt_pool_axes(layer.type());
  PtImages images = pt_images(c["self"], axes), at = pt_images(c["indices"], axes);
  Value x = images.x, lead = build::dims(x, {0, 1}), size = c.sizes("output_size");
  Value product = layer.op("ReduceProd", {size, layer.ints({0})}, {{"keep_dims", true}});
  Value zeros = build::fill(layer, 0, x.type(), build::concat({lead, product}, 0));
  auto flat = [&](const Value& v) { return build::reshape(v, {lead, layer.ints({-1})}); };
  Value y = layer.op("ScatterElementsUpdate", {zeros, flat(at.x), flat(x), layer.scalar(int64_t{2})});
  return pt_unbatched(images, build::reshape(y, {lead, size}));
}
// Each gradient goes to the element that was the largest.
Value import_pt_max_pool_backward(Builder& layer) {
  Call c(layer);
  for (const char* name : {"kernel_size", "stride", "padding", "dilation", "ceil_mode"}) layer.has(name);
  Value g = c["grad_output"], x = c["self"], at = c["indices"];
  auto r = static_cast<int64_t>(x.rank());
  Ints lead;
  for (int64_t i = 0; i < r - 2; ++i) lead.push_back(i);
  auto flat = [&](const Value& v) { return build::reshape(v, {build::dims(v, lead), layer.ints({-1})}); };
  Value zeros = flat(pt::filled_like(x, 0, x.type()));
  return pt::same_shape(layer.op("ScatterElementsUpdate", {zeros, flat(at), flat(g), layer.scalar(r - 2)},
                                 {{"reduction", "sum"}, {"use_init_val", true}}),
                        x);
}

// ---- normalization ----

Value pt_affine(const Value& y, const Value& weight, const Value& bias, size_t axes) {
  Value v = y;
  if (weight) v = v * convert(pt_channels(weight, axes), v.type());
  return bias ? v + convert(pt_channels(bias, axes), v.type()) : v;
}
// Mean and variance over axes, in f32 at least.
struct PtMoments {
  Value mean, variance;
};
PtMoments pt_moments(const Value& x, const Ints& axes) {
  Value mean = pt::reduce("ReduceMean", x, axes, true), d = x - mean;
  return {mean, pt::reduce("ReduceMean", d * d, axes, true)};
}
Value pt_wide(const Value& x) { return x.type() == DType::f16 || x.type() == DType::bf16 ? convert(x, DType::f32) : x; }
Value pt_inverse_root(const Value& v, double eps) { return pt::binary_op("Power", v + eps, like(v, -0.5)); }

Ints pt_all_but_channels(size_t rank) {
  Ints axes{0};
  for (size_t i = 2; i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
  return axes;
}
std::vector<Value> pt_batch_norm(Call& c, bool training, double eps) {
  Builder& in = c.in;
  Value x = c["input"], weight = c.find("weight"), bias = c.find("bias");
  Value mean = c.find("running_mean"), variance = c.find("running_var");
  size_t axes = x.rank() - std::min<size_t>(2, x.rank());
  if (!training) {
    if (!mean || !variance) fail("expected running statistics");
    DType type = mean.type();
    Value scale = weight ? weight : pt::filled_like(mean, 1, type), shift = bias ? bias : pt::filled_like(mean, 0, type);
    auto as = [&](const Value& v) { return convert(v, x.type()); };
    Value y = in.op("BatchNormInference@5", {x, as(scale), as(shift), as(mean), as(variance)}, {{"epsilon", eps}});
    Value none = in.constant<float>({}, {0});
    return {y, none, none};
  }
  Value wide = pt_wide(x);
  PtMoments m = pt_moments(wide, pt_all_but_channels(x.rank()));
  Value inverse = pt_inverse_root(m.variance, eps);
  Value y = pt_affine((wide - m.mean) * inverse, weight, bias, axes);
  std::vector<Value> out{convert(y, x.type()), pt::flat(m.mean), pt::flat(inverse)};
  if (!mean || !variance) return out;
  double momentum = c.real("momentum");
  Ints all = pt_all_but_channels(x.rank());
  Value n = pt::count_along(wide, all, wide.type());
  Value unbiased = pt::flat(m.variance) * (n / (n - 1.0));
  out.push_back(mean * (1 - momentum) + convert(pt::flat(m.mean) * momentum, mean.type()));
  out.push_back(variance * (1 - momentum) + convert(unbiased * momentum, variance.type()));
  return out;
}
std::vector<Value> import_pt_batch_norm(Builder& layer) {
  Call c(layer);
  layer.has("momentum");
  std::string_view type = layer.type();
  bool fixed = type.find("no_training") != type.npos, always = type == "aten::_batch_norm_with_update" ||
                                                               type == "aten::_batch_norm_with_update_functional";
  std::vector<Value> out = pt_batch_norm(c, !fixed && (always || c.flag("training")), c.real("eps"));
  if (always) out.insert(out.begin() + 3, layer.constant<uint8_t>({}, {0}));
  out.resize(std::max<size_t>(std::min(out.size(), layer.outputs()), 1));
  return out;
}
Value import_pt_instance_norm(Builder& layer) {
  Call c(layer);
  layer.has("momentum");
  Value x = c["input"];
  if (!c.flag("use_input_stats")) return pt_batch_norm(c, false, c.real("eps"))[0];
  Ints axes;
  for (size_t i = 2; i < x.rank(); ++i) axes.push_back(static_cast<int64_t>(i));
  Value wide = pt_wide(x);
  PtMoments m = pt_moments(wide, axes);
  Value y = (wide - m.mean) * pt_inverse_root(m.variance, c.real("eps"));
  return convert(pt_affine(y, c.find("weight"), c.find("bias"), x.rank() - 2), x.type());
}
std::vector<Value> import_pt_group_norm(Builder& layer) {
  Call c(layer);
  for (const char* name : {"N", "C", "HxW"}) layer.has(name), c.find(name);
  Value x = c["input"];
  int64_t groups = c.given("num_groups") ? c.integer("num_groups") : c.integer("group");
  Value wide = pt_wide(x);
  // [n, groups, what belongs to a group]
  Value parts = build::reshape(wide, {build::dim(wide, 0), layer.ints({groups, -1})});
  PtMoments m = pt_moments(parts, {2});
  Value inverse = pt_inverse_root(m.variance, c.real("eps"));
  Value y = pt::same_shape((parts - m.mean) * inverse, x);
  y = pt_affine(y, c.find("weight"), c.find("bias"), x.rank() - 2);
  std::vector<Value> out{convert(y, x.type()), squeeze(convert(m.mean, x.type()), {2}), squeeze(convert(inverse, x.type()), {2})};
  out.resize(std::max<size_t>(std::min(out.size(), layer.outputs()), 1));
  return out;
}
Ints pt_last_axes(Call& c, const Value& x) {
  size_t n = std::max(c.ints("normalized_shape").size(), size_t{1});
  if (n > x.rank()) fail("expected at most ", x.rank(), " normalized axes, got ", n);
  Ints axes;
  for (size_t i = x.rank() - n; i < x.rank(); ++i) axes.push_back(static_cast<int64_t>(i));
  return axes;
}
std::vector<Value> import_pt_layer_norm(Builder& layer) {
  Call c(layer);
  Value x = c["input"];
  Ints axes = pt_last_axes(c, x);
  double eps = c.real("eps");
  Value wide = pt_wide(x), y;
  std::vector<Value> out;
  if (layer.outputs() > 1 && (layer.output_used(1) || layer.output_used(2))) {
    PtMoments m = pt_moments(wide, axes);
    Value inverse = pt_inverse_root(m.variance, eps);
    y = (wide - m.mean) * inverse;
    out = {convert(m.mean, x.type()), convert(inverse, x.type())};
  } else {
    y = layer.op("MVN", {wide, layer.ints(axes)}, {{"eps", eps}, {"normalize_variance", true}, {"eps_mode", "INSIDE_SQRT"}});
  }
  if (Value w = c.find("weight")) y = y * convert(w, y.type());
  if (Value b = c.find("bias")) y = y + convert(b, y.type());
  out.insert(out.begin(), convert(y, x.type()));
  return out;
}
std::vector<Value> import_pt_rms_norm(Builder& layer) {
  Call c(layer);
  Value x = c["input"], wide = pt_wide(x);
  double eps = c.given("eps") ? c.real("eps") : wide.type() == DType::f64 ? 2.220446049250313e-16 : 1.1920928955078125e-07;
  Value inverse = pt_inverse_root(pt::reduce("ReduceMean", wide * wide, pt_last_axes(c, x), true), eps);
  Value y = wide * inverse;
  if (Value w = c.find("weight")) y = y * convert(w, y.type());
  std::vector<Value> out{convert(y, x.type()), inverse};
  out.resize(std::max<size_t>(std::min(out.size(), layer.outputs()), 1));
  return out;
}
Value import_pt_weight_norm(Builder& layer) {
  Call c(layer);
  Value v = c["v"];
  Ints axes;
  for (int64_t i : pt::counting_to(v.rank()))
    if (i != c.integer("dim")) axes.push_back(i);
  Value n = layer.op("Sqrt", {pt::reduce("ReduceSum", v * v, axes, true)});
  return v * (c["g"] / n);
}
Value import_pt_local_response_norm(Builder& layer) {
  Call c(layer);
  Value x = c["input"];
  return layer.op("LRN", {x, layer.ints({1})},
                  {{"alpha", c.real("alpha")}, {"beta", c.real("beta")}, {"bias", c.real("k")}, {"size", c.integer("size")}});
}

// ---- attention ----

Value pt_repeated_heads(const Value& v, const Value& query) {
  Shape a = v.shape(), q = query.shape();
  size_t h = a.rank() - 3;
  if (!a[h].known() || !q[h].known() || a[h].value() == q[h].value()) return v;
  if (a[h].value() == 0 || q[h].value() % a[h].value()) fail("expected a number of heads divisible by ", a[h]);
  int64_t times = q[h].value() / a[h].value();
  Ints at;
  for (int64_t i = 0; i < q[h].value(); ++i) at.push_back(i / times);
  return build::gather(v, v.in().ints(at), static_cast<int64_t>(h));
}
std::vector<Value> import_pt_attention(Builder& layer) {
  Call c(layer);
  if (c.given("dropout_p") && c.real("dropout_p") != 0) unsupported("attention with dropout is not supported: it is random");
  Value q = c["query"], k = c["key"], v = c["value"], mask = c.find("attn_mask");
  if (c.flag("enable_gqa")) k = pt_repeated_heads(k, q), v = pt_repeated_heads(v, q);
  auto r = static_cast<int64_t>(q.rank());
  DType type = q.type();
  Value scores = build::matmul(pt_wide(q), pt_wide(k), false, true);
  if (c.given("scale")) scores = scores * c.number("scale", scores.type());
  else {
    Shape s = q.shape();
    const Dim& d = s[s.rank() - 1];
    scores = d.known() ? scores * (1 / std::sqrt(static_cast<double>(std::max<int64_t>(d.value(), 1))))
                       : scores / layer.op("Sqrt", {convert(dimension_of(q, -1), scores.type())});
  }
  constexpr double none = -std::numeric_limits<double>::infinity();
  if (c.flag("is_causal")) {
    Value rows = unsqueeze(counting(dimension_of(q, r - 2), DType::i64), {1}),
          columns = unsqueeze(counting(dimension_of(k, r - 2), DType::i64), {0});
    scores = pt::where(layer.op("LessEqual", {columns, rows}), scores, like(scores, none));
  }
  if (mask) {
    if (mask.type() == DType::boolean) scores = pt::where(mask, scores, like(scores, none));
    else scores = scores + convert(mask, scores.type());
  }
  Value weights = build::softmax(scores, static_cast<int64_t>(scores.rank()) - 1);
  // Rows that are masked as a whole are zeros.
  if (mask) weights = pt::where(layer.op("IsNaN", {weights}), like(weights, 0), weights);
  std::vector<Value> out{convert(build::matmul(weights, pt_wide(v)), type)};
  if (layer.outputs() > 1 && layer.output_used(1)) {
    Value most = pt::reduce("ReduceMax", scores, {-1}, true);
    Value sum = pt::reduce("ReduceSum", layer.op("Exp", {scores - most}), {-1}, true);
    out.push_back(squeeze(layer.op("Log", {sum}) + most, {-1}));
  }
  return out;
}

// ---- resizing ----

Value import_pt_upsample(Builder& layer) {
  Call c(layer);
  std::string_view type = layer.type();
  size_t axes = pt_pool_axes(type);
  Value x = c.find("input") ? c["input"] : c["self"];
  bool nearest = type.find("nearest") != type.npos, exact = type.find("exact") != type.npos,
       cubic = type.find("cubic") != type.npos, smooth = type.find("_aa") != type.npos;
  bool corners = c.flag("align_corners");
  Ints spatial;
  for (size_t i = 0; i < axes; ++i) spatial.push_back(static_cast<int64_t>(i) + 2);
  std::string coordinates = nearest ? exact ? "half_pixel" : "asymmetric" : corners ? "align_corners" : "half_pixel";
  std::vector<NamedAttr> attributes{
      {"mode", nearest ? "nearest" : cubic ? "cubic" : axes == 2 || axes == 3 || smooth ? "linear_onnx" : "linear_onnx"},
      {"coordinate_transformation_mode", coordinates},
      {"nearest_mode", exact ? "round_prefer_ceil" : "floor"},
      {"cube_coeff", smooth ? -0.5 : -0.75},
      {"antialias", smooth}};
  // Scales decide about the positions too, where they are given.
  std::vector<double> scales;
  if (layer.has("scale_factors")) scales = layer.get<std::vector<double>>("scale_factors");
  const char* names[3][3] = {{"scales", nullptr, nullptr}, {"scales_h", "scales_w", nullptr}, {"scales_d", "scales_h", "scales_w"}};
  for (size_t i = 0; i < axes; ++i)
    if (layer.has(names[axes - 1][i])) scales.push_back(layer.get<double>(names[axes - 1][i]));
  bool sized = !c.list("output_size").empty() || layer.has("output_size");
  if (scales.size() == axes && !corners && !smooth) {
    attributes.push_back({"shape_calculation_mode", "scales"});
    // Sizes are rounded down from the product in double precision.
    return layer.op("Interpolate@11", {x, layer.typed(scales, {static_cast<int64_t>(axes)}, DType::f32), layer.ints(spatial)},
                    attributes);
  }
  attributes.push_back({"shape_calculation_mode", "sizes"});
  Value sizes;
  if (sized) sizes = c.sizes("output_size");
  else if (scales.size() == axes) {
    Value n = convert(build::dims(x, spatial), DType::f64) * layer.typed(scales, {static_cast<int64_t>(axes)}, DType::f64);
    sizes = convert(layer.op("Floor", {n}), DType::i64);
  } else {
    fail("expected sizes or scales");
  }
  return layer.op("Interpolate@11", {x, sizes, layer.ints(spatial)}, attributes);
}
Value import_pt_pixel_shuffle(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  bool down = layer.type() == "aten::pixel_unshuffle";
  int64_t f = c.integer(down ? "downscale_factor" : "upscale_factor");
  pt_positive("factor", {f});
  auto r = static_cast<int64_t>(x.rank());
  if (r < 3) fail("expected a tensor of rank 3 at least, got ", r);
  Shape s = x.shape();
  Ints lead = pt::counting_to(static_cast<size_t>(r - 3));
  for (int64_t i = r - 3; i < r; ++i)
    if (!s[static_cast<size_t>(i)].known()) needs_shape("the size of an image is unknown");
  auto size = [&](int64_t i) { return s[static_cast<size_t>(i)].value(); };
  int64_t ch = size(r - 3), h = size(r - 2), w = size(r - 1);
  Ints inner = down ? Ints{ch, h / f, f, w / f, f} : Ints{ch / (f * f), f, f, h, w};
  Ints order = down ? Ints{0, 2, 4, 1, 3} : Ints{0, 3, 1, 4, 2};
  Ints outer = down ? Ints{ch * f * f, h / f, w / f} : Ints{ch / (f * f), h * f, w * f};
  auto with_lead = [&](const Value& v, const Ints& rest) {
    return lead.empty() ? reshape(v, rest) : build::reshape(v, {build::dims(x, lead), layer.ints(rest)});
  };
  Ints moved = lead;
  for (int64_t o : order) moved.push_back(static_cast<int64_t>(lead.size()) + o);
  return with_lead(transpose(with_lead(x, inner), moved), outer);
}
Value import_pt_channel_shuffle(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  int64_t g = c.integer("groups");
  Value parts = build::reshape(x, {build::dim(x, 0), layer.ints({g, -1}), build::dims(x, [&] {
                                     Ints rest;
                                     for (size_t i = 2; i < x.rank(); ++i) rest.push_back(static_cast<int64_t>(i));
                                     return rest;
                                   }())});
  return pt::same_shape(pt::swapped(parts, 1, 2), x);
}
Value import_pt_pad(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  std::string_view type = layer.type();
  std::string mode = type.find("reflection") != type.npos    ? "reflect"
                     : type.find("replication") != type.npos ? "replicate"
                     : c.word("mode").empty()                ? "constant"
                                                             : c.word("mode");
  std::string_view name = c.given("pad") || !c.list("pad").empty() ? "pad" : "padding";
  Value pads = c.sizes(name);
  Shape n = pads.shape();
  if (!n.ranked() || !n[0].known() || n[0].value() % 2 || n[0].value() / 2 > static_cast<int64_t>(x.rank()))
    fail("expected up to two numbers per axis as padding");
  int64_t axes = n[0].value() / 2, rank = static_cast<int64_t>(x.rank());
  if (axes == 0) return x;
  // The last axis comes first.
  auto sides = [&](int64_t first) {
    Ints at;
    for (int64_t i = axes; i-- > 0;) at.push_back(2 * i + first);
    Value v = build::gather(pads, layer.ints(at), 0);
    return axes == rank ? v : build::concat({layer.ints(Ints(static_cast<size_t>(rank - axes), 0)), v}, 0);
  };
  if (mode == "circular") {
    Ints p = c.ints(name);
    Value y = x;
    for (int64_t i = 0; i < axes; ++i) {
      int64_t axis = rank - 1 - i, before = p[static_cast<size_t>(2 * i)], after = p[static_cast<size_t>(2 * i + 1)];
      Value base = y;
      if (before < 0) base = build::slice(base, axis, -before, INT64_MAX);
      if (after < 0) base = build::slice(base, axis, 0, after);
      std::vector<Value> parts;
      if (before > 0) parts.push_back(build::slice(base, axis, -before, INT64_MAX));
      parts.push_back(base);
      if (after > 0) parts.push_back(build::slice(base, axis, 0, after));
      y = build::concat(parts, axis);
    }
    return y;
  }
  std::string ours = mode == "reflect" ? "reflect" : mode == "replicate" ? "edge" : "constant";
  if (mode != "constant" && mode != "reflect" && mode != "replicate") fail("expected a mode of padding, got '", mode, "'");
  bool truth = x.type() == DType::boolean;
  Value v = truth ? convert(x, DType::u8) : x;
  Value y = layer.op("Pad", {v, sides(0), sides(1), c.given("value") ? as_scalar(c.number("value", v.type())) : like(v, 0)}, {{"pad_mode", ours}});
  return convert(y, x.type());
}
Value import_pt_grid_sampler(Builder& layer) {
  Call c(layer);
  Value x = c["input"], grid = c["grid"];
  constexpr const char *modes[] = {"bilinear", "nearest", "bicubic"}, *outside[] = {"zeros", "border", "reflection"};
  int64_t mode = c.integer("interpolation_mode"), padding = c.integer("padding_mode");
  if (mode < 0 || mode > 2 || padding < 0 || padding > 2) fail("expected modes of 0 to 2, got ", mode, " and ", padding);
  return layer.op(x.rank() == 4 ? "GridSample" : "GridSampleND@graft", {x, grid},
                  {{"align_corners", c.flag("align_corners")}, {"mode", x.rank() == 4 || mode != 0 ? modes[mode] : "linear"},
                   {"padding_mode", outside[padding]}});
}
Value import_pt_affine_grid(Builder& layer) {
  Call c(layer);
  Value theta = c["theta"];
  Ints size = c.ints("size");
  bool corners = c.flag("align_corners");
  size_t axes = size.size() - 2;
  Value ones, grid;
  std::vector<Value> columns;
  Ints spatial(size.begin() + 2, size.end());
  for (size_t i = axes; i-- > 0;) {  // x first
    int64_t n = spatial[i];
    Value at = convert(counting(layer.scalar(n), DType::i64), theta.type());
    Value line = corners ? n > 1 ? at * (2.0 / static_cast<double>(n - 1)) - 1.0 : at * 0.0
                         : (at * 2.0 + 1.0) / static_cast<double>(n) - 1.0;
    Ints dims(axes + 1, 1);
    dims[i] = n;
    Ints full = spatial;
    full.push_back(1);
    columns.push_back(pt::expanded(reshape(line, dims), layer.ints(full)));
  }
  columns.push_back(pt::filled_like(columns[0], 1, theta.type()));
  grid = reshape(build::concat(columns, static_cast<int64_t>(axes)), {1, -1, static_cast<int64_t>(axes) + 1});
  Value y = build::matmul(grid, theta, false, true);
  Ints target{size[0]};
  target.insert(target.end(), spatial.begin(), spatial.end());
  target.push_back(static_cast<int64_t>(axes));
  return reshape(y, target);
}

// ---- the rest ----

Value import_pt_dropout(Builder& layer) {
  Call c(layer);
  double p = layer.has("p") ? c.real("p") : 0.5;
  bool training = layer.has("train") ? c.flag("train") : c.flag("training");
  Value x = c.find("input") ? c["input"] : c["self"];
  if (training && p == 1) return x * 0.0;
  if (training && p != 0) unsupported("dropout in training mode is not supported: it is random");
  return x;
}
std::vector<Value> import_pt_embedding_bag(Builder& layer) {
  Call c(layer);
  Value table = c["weight"], indices = convert(c["indices"], DType::i64), offsets = c.find("offsets"), w = c.find("per_sample_weights");
  int64_t mode = c.integer("mode"), padding = layer.has("padding_idx") ? c.integer("padding_idx") : -1;
  Value n = dimension_of(indices, 0), bags;
  if (indices.rank() == 2) unsupported("embedding_bag with a matrix of indices is not supported");
  offsets = convert(offsets, DType::i64);
  if (c.flag("include_last_offset")) offsets = build::slice(offsets, 0, 0, -1);
  bags = dimension_of(offsets, 0);
  // The bag of each index.
  Value bag = layer.op("SearchSorted", {offsets, counting(n, DType::i64)}, {{"right_mode", true}}) - 1.0;
  Value rows = build::gather(table, indices, 0), counted = pt::filled_like(indices, 1, table.type());
  if (w) rows = rows * unsqueeze(convert(w, table.type()), {1});
  Value keep;
  if (padding >= 0) {
    keep = layer.op("NotEqual", {indices, layer.scalar(padding)});
    counted = convert(keep, table.type());
    if (mode != 2) rows = pt::where(unsqueeze(keep, {1}), rows, like(rows, 0));
  }
  Value width = build::dim(table, 1), target = build::concat({reshape(bags, {1}), width}, 0);
  Value at = pt::expanded(unsqueeze(bag, {1}), shape_of(rows));
  auto gathered = [&](const Value& values, const char* how, bool initial) {
    Value zeros = build::fill(layer, 0, table.type(), target);
    return layer.op("ScatterElementsUpdate", {zeros, at, values, layer.scalar(int64_t{0})}, {{"reduction", how}, {"use_init_val", initial}});
  };
  Value y;
  if (mode == 2) {
    if (keep) rows = pt::where(unsqueeze(keep, {1}), rows, like(rows, std::numeric_limits<float>::lowest()));
    y = gathered(rows, "max", false);
    if (keep) y = pt::where(layer.op("LessEqual", {y, like(y, std::numeric_limits<float>::lowest())}), like(y, 0), y);
  } else {
    y = gathered(rows, "sum", true);
    if (mode == 1) {
      Value zero = build::fill(layer, 0, table.type(), reshape(bags, {1}));
      Value total = layer.op("ScatterElementsUpdate", {zero, bag, counted, layer.scalar(int64_t{0})}, {{"reduction", "sum"}});
      y = y / unsqueeze(layer.op("Maximum", {total, like(total, 1)}), {1});
    }
  }
  std::vector<Value> out{y};
  if (layer.outputs() > 1) {
    Value zero = build::fill(layer, 0, DType::i64, reshape(bags, {1}));
    Value sizes = layer.op("ScatterElementsUpdate", {zero, bag, convert(counted, DType::i64), layer.scalar(int64_t{0})}, {{"reduction", "sum"}});
    out.push_back(bag), out.push_back(sizes), out.push_back(zero);
  }
  return out;
}

}  // namespace

Definitions define_pytorch_layers() {
  return {
      pt::rules({"aten::matmul", "aten::mm", "aten::bmm", "aten::mv", "aten::dot", "aten::vdot", "aten::linalg_matmul",
                 "aten::chain_matmul"},
                import_pt_matmul),
      pt::rules({"aten::linear"}, import_pt_linear),
      pt::rules({"aten::bilinear"}, import_pt_bilinear),
      pt::rules({"aten::addmm", "aten::addmv", "aten::addbmm", "aten::baddbmm", "aten::addr", "aten::_addmm_activation"},
                import_pt_addmm),
      pt::rules({"aten::outer", "aten::ger"}, import_pt_outer),
      pt::rules({"aten::inner"}, import_pt_inner),
      pt::rules({"aten::tensordot"}, import_pt_tensordot),
      pt::rules({"aten::einsum"}, import_pt_einsum, {"path"}),
      pt::rules({"aten::kron"}, import_pt_kron),
      pt::rules({"aten::linalg_multi_dot"}, import_pt_multi_dot),
      pt::rules({"aten::cross", "aten::linalg_cross"}, import_pt_cross),
      pt::rules({"aten::linalg_vecdot"}, import_pt_vecdot),
      pt::rules({"aten::conv1d", "aten::conv2d", "aten::conv3d", "aten::convolution", "aten::_convolution"}, import_pt_conv,
                {"benchmark", "deterministic", "allow_tf32"}),
      pt::rules({"aten::conv_transpose1d", "aten::conv_transpose2d", "aten::conv_transpose3d"}, import_pt_conv_transpose),
      pt::rules({"aten::im2col"}, import_pt_im2col),
      pt::rules({"aten::col2im"}, import_pt_col2im),
      pt::rules({"aten::max_pool1d", "aten::max_pool2d", "aten::max_pool3d", "aten::max_pool1d_with_indices",
                 "aten::max_pool2d_with_indices", "aten::max_pool3d_with_indices"},
                import_pt_max_pool),
      pt::rules({"aten::avg_pool1d", "aten::avg_pool2d", "aten::avg_pool3d"}, import_pt_avg_pool),
      pt::rules({"aten::adaptive_avg_pool1d", "aten::adaptive_avg_pool2d", "aten::adaptive_avg_pool3d",
                 "aten::_adaptive_avg_pool2d", "aten::_adaptive_avg_pool3d"},
                import_pt_adaptive_avg_pool),
      pt::rules({"aten::adaptive_max_pool1d", "aten::adaptive_max_pool2d", "aten::adaptive_max_pool3d"},
                import_pt_adaptive_max_pool),
      pt::rules({"aten::max_unpool2d", "aten::max_unpool3d"}, import_pt_max_unpool, {"stride", "padding"}),
      pt::rules({"aten::max_pool2d_with_indices_backward", "aten::max_pool3d_with_indices_backward"}, import_pt_max_pool_backward),
      pt::rules({"aten::batch_norm", "aten::native_batch_norm", "aten::_native_batch_norm_legit",
                 "aten::_native_batch_norm_legit_no_training", "aten::_native_batch_norm_legit_functional",
                 "aten::_batch_norm_with_update", "aten::_batch_norm_no_update"},
                import_pt_batch_norm),
      pt::rules({"aten::instance_norm"}, import_pt_instance_norm),
      pt::rules({"aten::group_norm", "aten::native_group_norm"}, import_pt_group_norm),
      pt::rules({"aten::layer_norm", "aten::native_layer_norm"}, import_pt_layer_norm),
      pt::rules({"aten::rms_norm", "aten::_fused_rms_norm"}, import_pt_rms_norm),
      pt::rules({"aten::_weight_norm"}, import_pt_weight_norm),
      pt::rules({"aten::local_response_norm"}, import_pt_local_response_norm),
      pt::rules({"aten::scaled_dot_product_attention", "aten::_scaled_dot_product_flash_attention_for_cpu",
                 "aten::_scaled_dot_product_attention_math"},
                import_pt_attention, {"return_debug_mask"}),
      pt::rules({"aten::upsample_nearest1d", "aten::upsample_nearest2d", "aten::upsample_nearest3d",
                 "aten::_upsample_nearest_exact1d", "aten::_upsample_nearest_exact2d", "aten::_upsample_nearest_exact3d",
                 "aten::upsample_linear1d", "aten::upsample_bilinear2d", "aten::upsample_trilinear3d",
                 "aten::upsample_bicubic2d", "aten::_upsample_bilinear2d_aa", "aten::_upsample_bicubic2d_aa"},
                import_pt_upsample),
      pt::rules({"aten::pixel_shuffle", "aten::pixel_unshuffle"}, import_pt_pixel_shuffle),
      pt::rules({"aten::channel_shuffle", "aten::native_channel_shuffle"}, import_pt_channel_shuffle),
      pt::rules({"aten::pad", "aten::constant_pad_nd", "aten::reflection_pad1d", "aten::reflection_pad2d",
                 "aten::reflection_pad3d", "aten::replication_pad1d", "aten::replication_pad2d", "aten::replication_pad3d"},
                import_pt_pad),
      pt::rules({"aten::grid_sampler", "aten::grid_sampler_2d", "aten::grid_sampler_3d"}, import_pt_grid_sampler),
      pt::rules({"aten::affine_grid_generator"}, import_pt_affine_grid),
      pt::rules({"aten::dropout", "aten::native_dropout", "aten::feature_dropout", "aten::alpha_dropout",
                 "aten::feature_alpha_dropout"},
                import_pt_dropout),
      pt::rules({"aten::embedding_bag", "aten::_embedding_bag", "aten::_embedding_bag_forward_only"},
                import_pt_embedding_bag, {"scale_grad_by_freq", "sparse"}),
  };
}

}  // namespace graft
