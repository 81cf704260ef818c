// Complex numbers as pairs along a last axis, and Fourier transforms of them.
#include <graft/op.hpp>

#include "layout.hpp"
#include "rules.hpp"

namespace graft {
namespace {

Rule tf_complex(std::string_view type) { return tensorflow(type).domain("complex"); }

Value tf_pair(const Value& real, const Value& imaginary) {
  return build::concat({unsqueeze(real, {-1}), unsqueeze(imaginary, {-1})}, -1);
}
Value tf_part(const Value& pair, int64_t which) { return squeeze(build::slice(pair, -1, which, which + 1), {-1}); }

Value tf_make_complex(Builder& layer) {
  Value real = layer.input(0), imaginary = layer.input(1);
  Value shape = shape_of(real + imaginary);  // one of them may be a scalar
  return tf_pair(build::broadcast(real, shape), build::broadcast(imaginary, shape));
}
Value tf_real(Builder& layer) { return tf_part(layer.input(0), 0); }
Value tf_imaginary(Builder& layer) { return tf_part(layer.input(0), 1); }
Value tf_complex_abs(Builder& layer) {
  return layer.op("ReduceL2", {layer.input(0), layer.ints({-1})}, {{"keep_dims", false}});
}
Value tf_angle(Builder& layer) { return tf::arc_tangent(tf_part(layer.input(0), 1), tf_part(layer.input(0), 0)); }
Value tf_conjugate(Builder& layer) { return tf_pair(tf_part(layer.input(0), 0), -tf_part(layer.input(0), 1)); }
// Converts real to complex numbers, or back, which drops the imaginary part.
Value tf_complex_cast(Builder& layer) {
  layer.has("Truncate");
  DType to = layer.get<DType>("DstT"), from = layer.get<DType>("SrcT");
  Value x = layer.input(0);
  if (to == DType::undefined && from == DType::undefined) return x;
  if (to != DType::undefined) return convert(tf_part(x, 0), to);
  Value real = convert(x, DType::f32);
  return tf_pair(real, real * 0.0);
}
Value tf_complex_same(Builder& layer) { return layer.input(0); }

// ---- arithmetic ----

Value tf_complex_product(const Value& x, const Value& y) {
  Value a = tf_part(x, 0), b = tf_part(x, 1), c = tf_part(y, 0), d = tf_part(y, 1);
  return tf_pair(a * c - b * d, a * d + b * c);
}
Value tf_complex_multiply(Builder& layer) { return tf_complex_product(layer.input(0), layer.input(1)); }
Value tf_complex_square(Builder& layer) { return tf_complex_product(layer.input(0), layer.input(0)); }
Value tf_complex_divide(Builder& layer) {
  Value y = layer.input(1), c = tf_part(y, 0), d = tf_part(y, 1);
  return tf_complex_product(layer.input(0), tf_pair(c, -d)) / unsqueeze(c * c + d * d, {-1});
}
Value tf_complex_exp(Builder& layer) {
  Value size = layer.op("Exp", {tf_part(layer.input(0), 0)}), angle = tf_part(layer.input(0), 1);
  return tf_pair(size * layer.op("Cos", {angle}), size * layer.op("Sin", {angle}));
}
Value tf_complex_add(Builder& layer) { return layer.input(0) + layer.input(1); }
Value tf_complex_subtract(Builder& layer) { return layer.input(0) - layer.input(1); }
Value tf_complex_negative(Builder& layer) { return -layer.input(0); }

// ---- layers that move elements: the axis of real and imaginary parts stays the last one ----

int64_t tf_paired(int64_t axis) { return axis < 0 ? axis - 1 : axis; }
std::vector<int64_t> tf_paired(std::vector<int64_t> axes) {
  for (int64_t& a : axes) a = tf_paired(a);
  return axes;
}
// A 1-D tensor of one number per axis, extended by one for the axis of real and imaginary parts.
Value tf_with_pairs(Builder& layer, const Value& list, int64_t number) {
  return build::concat({convert(tf::as_list(list), DType::i64), layer.ints({number})}, 0);
}
Value tf_complex_reshape(Builder& layer) {
  return layer.op("Reshape", {layer.input(0), tf_with_pairs(layer, layer.input(1), 2)}, {{"special_zero", false}});
}
Value tf_complex_transpose(Builder& layer) {
  auto last = static_cast<int64_t>(layer.input(0).rank()) - 1;
  return layer.op("Transpose", {layer.input(0), tf_with_pairs(layer, layer.input(1), last)});
}
Value tf_complex_tile(Builder& layer) {
  return layer.op("Tile", {layer.input(0), tf_with_pairs(layer, layer.input(1), 1)});
}
Value tf_complex_expand_dims(Builder& layer) {
  return unsqueeze(layer.input(0), {tf_paired(tf::constant_int(layer.input(1), "the new axis"))});
}
Value tf_complex_squeeze(Builder& layer) {
  auto axes = layer.get<std::vector<int64_t>>("squeeze_dims", {});
  if (axes.empty()) axes = layer.get<std::vector<int64_t>>("axis", {});
  return axes.empty() ? layer.op("Squeeze@1", {layer.input(0)}) : squeeze(layer.input(0), tf_paired(axes));
}
Value tf_complex_concat(Builder& layer) {
  std::vector<Value> parts;
  for (size_t i = 0; i + 1 < layer.inputs(); ++i) parts.push_back(layer.input(i));
  if (parts.empty()) fail("expected at least one tensor to concatenate, got none");
  return build::concat(parts, tf_paired(tf::constant_int(layer.input(layer.inputs() - 1), "the axis")));
}
Value tf_complex_pack(Builder& layer) {
  auto axis = tf_paired(layer.get<int64_t>("axis", 0));
  std::vector<Value> parts;
  for (size_t i = 0; i < layer.inputs(); ++i) parts.push_back(unsqueeze(layer.input(i), {axis}));
  if (parts.empty()) fail("expected at least one tensor to pack, got none");
  return build::concat(parts, axis);
}
Value tf_complex_reverse(Builder& layer) {
  Value axes = layer.ints(tf_paired(tf::constant_ints(layer.input(1), "the axes")));
  return layer.op("Reverse", {layer.input(0), axes}, {{"mode", "index"}});
}
Value tf_complex_roll(Builder& layer) {
  Value axes = layer.ints(tf_paired(tf::constant_ints(layer.input(2), "the axes")));
  return layer.op("Roll", {layer.input(0), tf::as_list(layer.input(1)), axes});
}
Value tf_complex_gather(Builder& layer) {
  Value axis = layer.scalar(tf_paired(tf::constant_int(layer.input(2), "the axis")));
  return layer.op("Gather@8", {layer.input(0), layer.input(1), axis},
                  {{"batch_dims", layer.get<int64_t>("batch_dims", 0)}});
}
Value tf_complex_sum(Builder& layer) {
  Value axes = layer.ints(tf_paired(tf::constant_ints(layer.input(1), "the axes")));
  return layer.op(layer.type() == "Mean" ? "ReduceMean" : "ReduceSum", {layer.input(0), axes},
                  {{"keep_dims", layer.get<bool>("keep_dims", false)}});
}
Value tf_complex_pad(Builder& layer) {
  if (layer.has_input(2)) unsupported("padding with a complex number is not supported");
  Value pads = convert(layer.input(1), DType::i64);
  std::vector<Value> sides = build::split(pads, 1, 2);
  auto side = [&](size_t i) { return tf_with_pairs(layer, reshape(sides[i], {-1}), 0); };
  return layer.op("Pad@1", {layer.input(0), side(0), side(1), like(layer.input(0), 0)}, {{"pad_mode", "constant"}});
}
// Without an ellipsis, slices apply to the leading axes; with one, the axis of real and imaginary parts needs an entry.
Value tf_complex_strided_slice(Builder& layer) {
  Value begin = layer.input(1);
  Shape s = begin.shape();
  if (!s.ranked() || s.rank() != 1 || !s[0].known()) unsupported("a data-dependent number of slices is not supported");
  auto count = static_cast<size_t>(s[0].value());
  if (count > 32) fail("expected at most 32 slices, got ", count);
  bool ellipsis = layer.get<int64_t>("ellipsis_mask", 0) != 0;
  auto mask = [&](std::string_view name, int64_t pairs) {
    auto bits = static_cast<uint64_t>(layer.get<int64_t>(name, 0));
    std::vector<int64_t> list(count);
    for (size_t i = 0; i < count; ++i) list[i] = static_cast<int64_t>(bits >> i & 1);
    if (ellipsis) list.push_back(pairs);
    return list;
  };
  auto numbers = [&](size_t input) {
    Value v = convert(layer.input(input), DType::i64);
    return ellipsis ? tf_with_pairs(layer, v, 1) : v;
  };
  return layer.op("StridedSlice", {layer.input(0), numbers(1), numbers(2), numbers(3)},
                  {{"begin_mask", mask("begin_mask", 1)},
                   {"end_mask", mask("end_mask", 1)},
                   {"new_axis_mask", mask("new_axis_mask", 0)},
                   {"shrink_axis_mask", mask("shrink_axis_mask", 0)},
                   {"ellipsis_mask", mask("ellipsis_mask", 0)}});
}

// ---- Fourier transforms ----

// The innermost axes, excluding the axis of real and imaginary parts.
std::vector<int64_t> tf_fourier_axes(int64_t count) {
  std::vector<int64_t> axes;
  for (int64_t i = -count; i < 0; ++i) axes.push_back(i);
  return axes;
}
std::vector<int64_t> tf_paired_axes(int64_t count) {
  std::vector<int64_t> axes = tf_fourier_axes(count);
  for (int64_t& a : axes) a -= 1;
  return axes;
}
std::vector<int64_t> tf_positive(const Value& x, std::vector<int64_t> axes) {
  for (int64_t& a : axes) a += static_cast<int64_t>(x.rank());
  return axes;
}
template <int64_t count>
Value tf_fft(Builder& layer) {
  Value x = layer.input(0);
  return layer.op("DFT", {x, layer.ints(tf_positive(x, tf_paired_axes(count)))});
}
template <int64_t count>
Value tf_ifft(Builder& layer) {
  Value x = layer.input(0);
  return layer.op("IDFT", {x, layer.ints(tf_positive(x, tf_paired_axes(count)))});
}
template <int64_t count>
Value tf_rfft(Builder& layer) {
  Value x = layer.input(0);
  return layer.op("RDFT", {x, layer.ints(tf_positive(x, tf_fourier_axes(count))), tf::as_list(layer.input(1))});
}
template <int64_t count>
Value tf_irfft(Builder& layer) {
  Value x = layer.input(0);
  return layer.op("IRDFT", {x, layer.ints(tf_positive(x, tf_paired_axes(count))), tf::as_list(layer.input(1))});
}

}  // namespace

namespace tf {
Value complex_reshape(Builder& layer) { return tf_complex_reshape(layer); }
Value complex_transpose(Builder& layer) { return tf_complex_transpose(layer); }
Value complex_expand_dims(Builder& layer) { return tf_complex_expand_dims(layer); }
Value complex_squeeze(Builder& layer) { return tf_complex_squeeze(layer); }
Value complex_strided_slice(Builder& layer) { return tf_complex_strided_slice(layer); }
Value complex_multiply(Builder& layer) { return tf_complex_multiply(layer); }
Value complex_add(Builder& layer) { return tf_complex_add(layer); }
Value complex_subtract(Builder& layer) { return tf_complex_subtract(layer); }
Value complex_divide(Builder& layer) { return tf_complex_divide(layer); }
Value make_complex(Builder& layer) { return tf_make_complex(layer); }
Value real(Builder& layer) { return tf_real(layer); }
Value imaginary(Builder& layer) { return tf_imaginary(layer); }
Value complex_abs(Builder& layer) { return tf_complex_abs(layer); }
Value rfft_2d(Builder& layer) { return tf_rfft<2>(layer); }
}  // namespace tf

Definitions define_tensorflow_complex() {
  Definitions ops{tf_complex("Cast").expand(tf_complex_cast), tf_complex("Identity").expand(tf_complex_same)};
  struct Row {
    std::string_view type;
    Value (*import)(Builder&);
  };
  // These exist for real and complex numbers, depending on the type attributes.
  static constexpr Row also_real[] = {
      {"Add", tf_complex_add},
      {"AddV2", tf_complex_add},
      {"ConcatV2", tf_complex_concat},
      {"Exp", tf_complex_exp},
      {"ExpandDims", tf_complex_expand_dims},
      {"GatherV2", tf_complex_gather},
      {"Mean", tf_complex_sum},
      {"Mul", tf_complex_multiply},
      {"Neg", tf_complex_negative},
      {"Pack", tf_complex_pack},
      {"Pad", tf_complex_pad},
      {"RealDiv", tf_complex_divide},
      {"Reshape", tf_complex_reshape},
      {"ReverseV2", tf_complex_reverse},
      {"Roll", tf_complex_roll},
      {"Square", tf_complex_square},
      {"Squeeze", tf_complex_squeeze},
      {"StridedSlice", tf_complex_strided_slice},
      {"Sub", tf_complex_subtract},
      {"Sum", tf_complex_sum},
      {"Tile", tf_complex_tile},
      {"Transpose", tf_complex_transpose},
  };
  for (const Row& r : also_real) ops += tf_complex(r.type).ignore("N").expand(r.import);
  // These layers always involve complex numbers, even if the file omits the type attributes.
  static constexpr Row rows[] = {
      {"Angle", tf_angle},      {"Complex", tf_make_complex}, {"ComplexAbs", tf_complex_abs},
      {"Conj", tf_conjugate},   {"FFT", tf_fft<1>},           {"FFT2D", tf_fft<2>},
      {"FFT3D", tf_fft<3>},     {"IFFT", tf_ifft<1>},         {"IFFT2D", tf_ifft<2>},
      {"IFFT3D", tf_ifft<3>},   {"IRFFT", tf_irfft<1>},       {"IRFFT2D", tf_irfft<2>},
      {"IRFFT3D", tf_irfft<3>}, {"Imag", tf_imaginary},       {"RFFT", tf_rfft<1>},
      {"RFFT2D", tf_rfft<2>},   {"RFFT3D", tf_rfft<3>},       {"Real", tf_real},
  };
  for (const Row& r : rows)
    ops += Definitions{tf_complex(r.type).expand(r.import), tensorflow(r.type).expand(r.import)};
  return ops;
}

}  // namespace graft
