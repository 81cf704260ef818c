// Convolutions and pooling.
#include "pytorch/call.hpp"

namespace graft {
namespace {

using pt::Call, pt::Ints;

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
Value pt_convolution(Call& c, bool transposed) {
  Builder& in = c.in;
  Value w = c["weight"], given = c["input"];
  if (w.rank() < 3) fail("expected weights of rank 3 at least, got ", w.rank());
  size_t axes = w.rank() - 2;
  PtImages images = pt_images(given, axes);
  int64_t groups = c.integer("groups");
  if (groups < 1) fail("expected at least one group, got ", groups);
  Ints stride = c.per_axis("stride", axes), dilation = c.per_axis("dilation", axes), begin(axes, 0), end(axes, 0);
  pt::check_positive("stride", stride), pt::check_positive("dilation", dilation);
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
  std::vector<NamedAttr> attributes{
      {"strides", stride}, {"dilations", dilation}, {"pads_begin", begin}, {"pads_end", end}};
  Value x = images.x, y;
  if (transposed) {
    attributes.push_back({"output_padding", c.per_axis("output_padding", axes)});
    y = groups == 1 ? in.op("ConvolutionBackpropData", {x, w}, attributes)
                    : in.op("GroupConvolutionBackpropData", {x, pt_grouped(w, groups)}, attributes);
  } else {
    y = groups == 1 ? in.op("Convolution", {x, w}, attributes)
                    : in.op("GroupConvolution", {x, pt_grouped(w, groups)}, attributes);
  }
  if (Value b = c.find("bias")) y = y + pt::by_channel(b, axes);
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
  Ints k = c.per_axis("kernel_size", 2), d = c.per_axis("dilation", 2), p = c.per_axis("padding", 2),
       s = c.per_axis("stride", 2);
  pt::check_positive("stride", s), pt::check_positive("dilation", d), pt::check_positive("kernel_size", k);
  x = layer.op("Pad", {x, layer.ints({0, 0, p[0], p[1]}), layer.ints({0, 0, p[0], p[1]}), like(x, 0)},
               {{"pad_mode", "constant"}});
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
                  {{"strides", c.per_axis("stride", 2)},
                   {"dilations", c.per_axis("dilation", 2)},
                   {"pads_begin", p},
                   {"pads_end", p}});
}

// ---- pooling ----

struct PtPool {
  PtImages images;
  Ints kernel, stride, padding;
  std::string rounding;
};
PtPool pt_pool(Call& c) {
  size_t axes = pt::axes_in_name(c.in.type());
  PtPool p{pt_images(c["self"], axes), c.per_axis("kernel_size", axes), {}, c.per_axis("padding", axes), {}};
  p.stride = c.ints("stride").empty() ? p.kernel : c.per_axis("stride", axes);
  p.rounding = c.flag("ceil_mode") ? "ceil_torch" : "floor";
  pt::check_positive("kernel_size", p.kernel), pt::check_positive("stride", p.stride);
  return p;
}
std::vector<Value> import_pt_max_pool(Builder& layer) {
  Call c(layer);
  PtPool p = pt_pool(c);
  Value x = p.images.x;
  DType type = x.type();
  std::vector<Value> y = layer.ops("MaxPool@14", {x},
                                   {{"kernel", p.kernel},
                                    {"strides", p.stride},
                                    {"dilations", c.per_axis("dilation", p.kernel.size())},
                                    {"pads_begin", p.padding},
                                    {"pads_end", p.padding},
                                    {"rounding_type", p.rounding},
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
  std::vector<NamedAttr> attributes{{"kernel", p.kernel},    {"strides", p.stride},         {"pads_begin", p.padding},
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
  size_t axes = pt::axes_in_name(layer.type());
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
  size_t axes = pt::axes_in_name(layer.type());
  PtImages images = pt_images(c["self"], axes);
  std::vector<Value> y = layer.ops("AdaptiveMaxPool", {images.x, layer.ints(c.per_axis("output_size", axes))},
                                   {{"index_element_type", DType::i64}}, 2);
  for (Value& v : y) v = pt_unbatched(images, v);
  return y;
}
Value import_pt_max_unpool(Builder& layer) {
  Call c(layer);
  size_t axes = pt::axes_in_name(layer.type());
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

}  // namespace

Definitions define_pytorch_windows() {
  return {
      pt::rules({"aten::conv1d", "aten::conv2d", "aten::conv3d", "aten::convolution", "aten::_convolution"},
                import_pt_conv, {"benchmark", "deterministic", "allow_tf32"}),
      pt::rules({"aten::conv_transpose1d", "aten::conv_transpose2d", "aten::conv_transpose3d"},
                import_pt_conv_transpose),
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
      pt::rules({"aten::max_pool2d_with_indices_backward", "aten::max_pool3d_with_indices_backward"},
                import_pt_max_pool_backward),
  };
}

}  // namespace graft
