// Complex numbers as pairs along a last axis, and Fourier transforms of them.
#include "layout.hpp"

namespace graft {
namespace {

Rule tf_complex(std::string_view type) { return tensorflow(type).domain("complex"); }

Value tf_pair(const Value& real, const Value& imaginary) {
  return build::concat({unsqueeze(real, {-1}), unsqueeze(imaginary, {-1})}, -1);
}
Value tf_part(const Value& pair, int64_t which) { return squeeze(build::slice(pair, -1, which, which + 1), {-1}); }

Value tf_make_complex(Import& layer) {
  Value real = layer.input(0), imaginary = layer.input(1);
  Value shape = shape_of(real + imaginary);  // one of them may be a scalar
  return tf_pair(build::broadcast(real, shape), build::broadcast(imaginary, shape));
}
Value tf_real(Import& layer) { return tf_part(layer.input(0), 0); }
Value tf_imaginary(Import& layer) { return tf_part(layer.input(0), 1); }
Value tf_complex_abs(Import& layer) {
  return layer.op("ReduceL2", {layer.input(0), layer.ints({-1})}, {{"keep_dims", false}});
}
Value tf_conjugate(Import& layer) { return tf_pair(tf_part(layer.input(0), 0), -tf_part(layer.input(0), 1)); }
// Converts real to complex numbers, or back, which drops the imaginary part.
Value tf_complex_cast(Import& layer) {
  layer.has("Truncate");
  DType to = layer.get<DType>("DstT"), from = layer.get<DType>("SrcT");
  Value x = layer.input(0);
  if (to == DType::undefined && from == DType::undefined) return x;
  if (to != DType::undefined) return convert(tf_part(x, 0), to);
  Value real = convert(x, DType::f32);
  return tf_pair(real, real * 0.0);
}
Value tf_complex_same(Import& layer) { return layer.input(0); }

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
Value tf_fft(Import& layer) {
  Value x = layer.input(0);
  return layer.op("DFT", {x, layer.ints(tf_positive(x, tf_paired_axes(count)))});
}
template <int64_t count>
Value tf_ifft(Import& layer) {
  Value x = layer.input(0);
  return layer.op("IDFT", {x, layer.ints(tf_positive(x, tf_paired_axes(count)))});
}
template <int64_t count>
Value tf_rfft(Import& layer) {
  Value x = layer.input(0);
  return layer.op("RDFT", {x, layer.ints(tf_positive(x, tf_fourier_axes(count))), tf::as_list(layer.input(1))});
}
template <int64_t count>
Value tf_irfft(Import& layer) {
  Value x = layer.input(0);
  return layer.op("IRDFT", {x, layer.ints(tf_positive(x, tf_paired_axes(count))), tf::as_list(layer.input(1))});
}

}  // namespace

Ops define_tensorflow_complex() {
  Ops ops{tf_complex("Cast").expand(tf_complex_cast), tf_complex("Identity").expand(tf_complex_same)};
  struct Row {
    std::string_view type;
    Value (*import)(Import&);
  };
  // These layers always involve complex numbers, even if the file omits the type attributes.
  static constexpr Row rows[] = {
      {"Complex", tf_make_complex},
      {"ComplexAbs", tf_complex_abs},
      {"Conj", tf_conjugate},
      {"FFT", tf_fft<1>},
      {"FFT2D", tf_fft<2>},
      {"FFT3D", tf_fft<3>},
      {"IFFT", tf_ifft<1>},
      {"IFFT2D", tf_ifft<2>},
      {"IFFT3D", tf_ifft<3>},
      {"IRFFT", tf_irfft<1>},
      {"IRFFT2D", tf_irfft<2>},
      {"IRFFT3D", tf_irfft<3>},
      {"Imag", tf_imaginary},
      {"RFFT", tf_rfft<1>},
      {"RFFT2D", tf_rfft<2>},
      {"RFFT3D", tf_rfft<3>},
      {"Real", tf_real},
  };
  for (const Row& r : rows) ops += Ops{tf_complex(r.type).expand(r.import), tensorflow(r.type).expand(r.import)};
  return ops;
}

}  // namespace graft
