// Resizing, padding and sampling of images, dropout and bags of embeddings.
#include "pytorch/call.hpp"

namespace graft {
namespace {

using pt::Call, pt::Ints;

// ---- resizing ----

Value import_pt_upsample(Builder& layer) {
  Call c(layer);
  std::string_view type = layer.type();
  size_t axes = pt::axes_in_name(type);
  Value x = c.find("input") ? c["input"] : c["self"];
  bool nearest = type.find("nearest") != type.npos, exact = type.find("exact") != type.npos,
       cubic = type.find("cubic") != type.npos, smooth = type.find("_aa") != type.npos;
  bool corners = c.flag("align_corners");
  Ints spatial;
  for (size_t i = 0; i < axes; ++i) spatial.push_back(static_cast<int64_t>(i) + 2);
  std::string coordinates = nearest ? exact ? "half_pixel" : "asymmetric" : corners ? "align_corners" : "half_pixel";
  std::vector<NamedAttr> attributes{{"mode", nearest                            ? "nearest"
                                             : cubic                            ? "cubic"
                                             : axes == 2 || axes == 3 || smooth ? "linear_onnx"
                                                                                : "linear_onnx"},
                                    {"coordinate_transformation_mode", coordinates},
                                    {"nearest_mode", exact ? "round_prefer_ceil" : "floor"},
                                    {"cube_coeff", smooth ? -0.5 : -0.75},
                                    {"antialias", smooth}};
  // Scales decide about the positions too, where they are given.
  std::vector<double> scales;
  if (layer.has("scale_factors")) scales = layer.get<std::vector<double>>("scale_factors");
  const char* names[3][3] = {
      {"scales", nullptr, nullptr}, {"scales_h", "scales_w", nullptr}, {"scales_d", "scales_h", "scales_w"}};
  for (size_t i = 0; i < axes; ++i)
    if (layer.has(names[axes - 1][i])) scales.push_back(layer.get<double>(names[axes - 1][i]));
  bool sized = !c.list("output_size").empty() || layer.has("output_size");
  if (scales.size() == axes && !corners && !smooth) {
    attributes.push_back({"shape_calculation_mode", "scales"});
    // Sizes are rounded down from the product in double precision.
    return layer.op("Interpolate@11",
                    {x, layer.typed(scales, {static_cast<int64_t>(axes)}, DType::f32), layer.ints(spatial)},
                    attributes);
  }
  attributes.push_back({"shape_calculation_mode", "sizes"});
  Value sizes;
  if (sized) sizes = c.sizes("output_size");
  else if (scales.size() == axes) {
    Value n =
        convert(build::dims(x, spatial), DType::f64) * layer.typed(scales, {static_cast<int64_t>(axes)}, DType::f64);
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
  pt::check_positive("factor", {f});
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
  if (mode != "constant" && mode != "reflect" && mode != "replicate")
    fail("expected a mode of padding, got '", mode, "'");
  bool truth = x.type() == DType::boolean;
  Value v = truth ? convert(x, DType::u8) : x;
  Value y =
      layer.op("Pad", {v, sides(0), sides(1), c.given("value") ? as_scalar(c.number("value", v.type())) : like(v, 0)},
               {{"pad_mode", ours}});
  return convert(y, x.type());
}
Value import_pt_grid_sampler(Builder& layer) {
  Call c(layer);
  Value x = c["input"], grid = c["grid"];
  constexpr const char *modes[] = {"bilinear", "nearest", "bicubic"}, *outside[] = {"zeros", "border", "reflection"};
  int64_t mode = c.integer("interpolation_mode"), padding = c.integer("padding_mode");
  if (mode < 0 || mode > 2 || padding < 0 || padding > 2)
    fail("expected modes of 0 to 2, got ", mode, " and ", padding);
  return layer.op(x.rank() == 4 ? "GridSample" : "GridSampleND@graft", {x, grid},
                  {{"align_corners", c.flag("align_corners")},
                   {"mode", x.rank() == 4 || mode != 0 ? modes[mode] : "linear"},
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
  Value table = c["weight"], indices = convert(c["indices"], DType::i64), offsets = c.find("offsets"),
        w = c.find("per_sample_weights");
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
    return layer.op("ScatterElementsUpdate", {zeros, at, values, layer.scalar(int64_t{0})},
                    {{"reduction", how}, {"use_init_val", initial}});
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
      Value total =
          layer.op("ScatterElementsUpdate", {zero, bag, counted, layer.scalar(int64_t{0})}, {{"reduction", "sum"}});
      y = y / unsqueeze(layer.op("Maximum", {total, like(total, 1)}), {1});
    }
  }
  std::vector<Value> out{y};
  if (layer.outputs() > 1) {
    Value zero = build::fill(layer, 0, DType::i64, reshape(bags, {1}));
    Value sizes = layer.op("ScatterElementsUpdate", {zero, bag, convert(counted, DType::i64), layer.scalar(int64_t{0})},
                           {{"reduction", "sum"}});
    out.push_back(bag), out.push_back(sizes), out.push_back(zero);
  }
  return out;
}

}  // namespace

Definitions define_pytorch_resizing() {
  return {
      pt::rules(
          {"aten::upsample_nearest1d", "aten::upsample_nearest2d", "aten::upsample_nearest3d",
           "aten::_upsample_nearest_exact1d", "aten::_upsample_nearest_exact2d", "aten::_upsample_nearest_exact3d",
           "aten::upsample_linear1d", "aten::upsample_bilinear2d", "aten::upsample_trilinear3d",
           "aten::upsample_bicubic2d", "aten::_upsample_bilinear2d_aa", "aten::_upsample_bicubic2d_aa"},
          import_pt_upsample),
      pt::rules({"aten::pixel_shuffle", "aten::pixel_unshuffle"}, import_pt_pixel_shuffle),
      pt::rules({"aten::channel_shuffle", "aten::native_channel_shuffle"}, import_pt_channel_shuffle),
      pt::rules(
          {"aten::pad", "aten::constant_pad_nd", "aten::reflection_pad1d", "aten::reflection_pad2d",
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
