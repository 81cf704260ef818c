// DFT, STFT and the window functions of ONNX.

#include <graft/kit/expressions.hpp>
#include <graft/op.hpp>
namespace graft {
namespace {

// Whether the last axis holds real and imaginary parts, or only real ones.
bool is_complex_signal(const Value& x) {
  Shape s = x.shape();
  if (!s.ranked() || s.rank() == 0 || !s[s.rank() - 1].known())
    unsupported("the last dimension of the signal must be known (1: real, 2: complex), got shape ", s);
  int64_t parts = s[s.rank() - 1].value();
  if (parts != 1 && parts != 2) fail("expected a signal whose last dimension is 1 or 2, got ", parts, " in shape ", s);
  return parts == 2;
}
Value with_imaginary_part(Builder& layer, const Value& x) {
  return is_complex_signal(x) ? x : build::concat({x, build::fill(layer, 0, x.type(), shape_of(x))}, -1);
}
Value signal_list(const Value& v) { return reshape(v, {1}); }

Value import_dft(Builder& layer) {
  Value x = layer.input(0), axis, size;
  bool inverse = layer.get<bool>("inverse", false), one_sided = layer.get<bool>("onesided", false);
  if (layer.version() < 20) {
    axis = layer.ints({layer.get<int64_t>("axis", 1)});
  } else {
    axis = layer.has_input(2) ? signal_list(layer.input(2)) : layer.ints({-2});
  }
  // Negative axes of our operation do not count the axis of real and imaginary parts.
  if (auto v = axis.values<int64_t>()) {
    axis = layer.ints({(*v)[0] < 0 ? (*v)[0] + 1 : (*v)[0]});
    if ((*v)[0] == -1) fail("the axis of real and imaginary parts cannot be transformed");
  } else {
    Value negative = layer.op("Less", {axis, layer.ints({0})});
    axis = axis + convert(negative, DType::i64);
  }
  if (layer.has_input(1)) size = signal_list(layer.input(1));
  auto transform = [&](std::string_view op, const Value& data) {
    return size ? layer.op(op, {data, axis, size}) : layer.op(op, {data, axis});
  };
  bool complex = is_complex_signal(x);
  if (one_sided && !inverse) {
    if (complex) fail("a one-sided transform requires a real signal");
    return transform("RDFT", squeeze(x, {-1}));
  }
  if (one_sided) return unsqueeze(transform("IRDFT", with_imaginary_part(layer, x)), {-1});
  return transform(inverse ? "IDFT" : "DFT", with_imaginary_part(layer, x));
}

// [batch, length, parts] -> [batch, frames, size, parts]
Value cut_into_frames(Builder& layer, const Value& signal, const Value& size, const Value& step) {
  Value zero = layer.scalar(int64_t{0}), length = squeeze(build::dim(signal, 1), {0});
  Value frames = (length - size) / step + 1;
  Value starts = unsqueeze(build::range(zero, frames, DType::i64) * step, {1});
  return build::gather(signal, starts + build::range(zero, size, DType::i64), 1);
}

Value import_stft(Builder& layer) {
  // A real signal may omit the axis of real and imaginary parts.
  Value signal = layer.input(0).rank() == 2 ? unsqueeze(layer.input(0), {-1}) : layer.input(0);
  Value step = convert(reshape(layer.input(1), {}), DType::i64), window, size;
  if (layer.has_input(2)) window = layer.input(2);
  if (layer.has_input(3)) size = convert(reshape(layer.input(3), {}), DType::i64);
  else size = squeeze(window ? build::dim(window, 0) : build::dim(signal, 1), {0});
  Value size_list = reshape(size, {1});
  if (window) {
    // Our operation centers a short window in the frame, ONNX puts it at the start.
    auto n = size.values<int64_t>();
    Shape w = window.shape();
    if (!n || !w.ranked() || w.rank() != 1 || !w[0].known() || w[0].value() != (*n)[0]) {
      Value missing = size_list - build::dim(window, 0);
      window = build::concat({window, build::fill(layer, 0, window.type(), missing)}, 0);
    }
  } else {
    window = build::fill(layer, 1, signal.type(), size_list);
  }
  bool one_sided = layer.get<bool>("onesided", true), complex = is_complex_signal(signal);
  if (one_sided && !complex)
    return layer.op("STFT", {squeeze(signal, {-1}), window, size, step}, {{"transpose_frames", false}});
  Value frames = cut_into_frames(layer, signal, size, step) * unsqueeze(window, {1});
  Value spectrum = layer.op("DFT", {with_imaginary_part(layer, frames), layer.ints({2})});
  return one_sided ? build::slice(spectrum, 2, layer.ints({0}), reshape(size / 2.0 + 1, {1})) : spectrum;
}

// a - b cos(x) + c cos(2 x), with one period of x over the window
Value cosine_window(Builder& layer, double a, double b, double c) {
  DType type = onnx_element_type(layer.get<int64_t>("output_datatype", 1));
  bool periodic = layer.get<bool>("periodic", true);
  Value size = reshape(convert(layer.input(0), DType::i64), {});
  constexpr double pi = 3.14159265358979323846;
  Value last = layer.op("Maximum", {periodic ? size : size - 1, layer.scalar(int64_t{1})});
  Value n = build::range(layer.scalar(int64_t{0}), size, DType::f64);
  Value angle = n * (2 * pi) / convert(last, DType::f64);
  Value y = a - layer.op("Cos", {angle}) * b;
  if (c != 0) y = y + layer.op("Cos", {angle * 2}) * c;
  return convert(y, type);
}
Value import_hann_window(Builder& layer) { return cosine_window(layer, 0.5, 0.5, 0); }
Value import_hamming_window(Builder& layer) { return cosine_window(layer, 25.0 / 46, 21.0 / 46, 0); }
Value import_blackman_window(Builder& layer) { return cosine_window(layer, 0.42, 0.5, 0.08); }

}  // namespace

Definitions define_onnx_signal() {
  return {
      onnx("DFT").expand(import_dft),
      onnx("STFT").expand(import_stft),
      onnx("HannWindow").expand(import_hann_window),
      onnx("HammingWindow").expand(import_hamming_window),
      onnx("BlackmanWindow").expand(import_blackman_window),
  };
}

}  // namespace graft
