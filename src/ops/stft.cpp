// STFT and ISTFT: Fourier transforms of a sliding window over a signal, and the inverse.
#include <graft/op.hpp>

#include "fourier.hpp"

namespace graft {
namespace {

struct Stft {
  bool transpose_frames = false;
  static constexpr std::tuple schema{
      attr("transpose_frames", &Stft::transpose_frames, "put the frames axis after the frequency axis").required()};
};
struct Istft {
  bool center = false, normalized = false;
  static constexpr std::tuple schema{
      attr("center", &Istft::center, "the signal was padded by half a frame on both sides").required(),
      attr("normalized", &Istft::normalized, "the transform was divided by the square root of the frame size")
          .required()};
};

int64_t stft_number(const std::vector<int64_t>& v, std::string_view what) {
  if (v.size() != 1) fail("expected a single ", what, ", got ", v.size(), " values");
  if (v[0] < 1) fail("expected a ", what, " of at least 1, got ", v[0]);
  return v[0];
}
void stft_check_window(const Shape& window, std::optional<int64_t> size) {
  if (!window.ranked()) return;
  if (window.rank() != 1) fail("expected a window of rank 1, got shape ", window);
  if (size && (window[0].min() > *size || window[0].max() < 1))
    fail("expected a window of 1 to ", *size, " elements, the frame size, got ", window[0]);
}
struct StftFrame {
  std::optional<int64_t> size, step;
};
// Frame size and step as far as they are known, checked against the window.
StftFrame stft_frame(Infer& ctx) {
  StftFrame f;
  if (auto sizes = ctx.values<int64_t>(2)) f.size = stft_number(*sizes, "frame size");
  if (auto steps = ctx.values<int64_t>(3)) f.step = stft_number(*steps, "frame step");
  stft_check_window(ctx.shape(1), f.size);
  return f;
}
// The window centered in a frame.
std::vector<double> stft_window(TensorView window, int64_t size) {
  std::vector<double> w = window.to<double>(), out(static_cast<size_t>(size), 0);
  if (w.empty() || static_cast<int64_t>(w.size()) > size)
    fail("expected a window of 1 to ", size, " elements, the frame size, got ", w.size());
  std::copy(w.begin(), w.end(), out.begin() + (size - static_cast<int64_t>(w.size())) / 2);
  return out;
}

void stft_infer(Infer& ctx, const Stft& a) {
  Shape signal = ctx.shape(0);
  DType type = common_type(ctx, {0, 1});
  auto [size, step] = stft_frame(ctx);
  if (!signal.ranked()) return ctx.output(0, type, signal);
  if (signal.rank() != 1 && signal.rank() != 2) fail("expected a signal of rank 1 or 2, got shape ", signal);
  Dim length = signal[signal.rank() - 1], frames, bins = size ? Dim(*size / 2 + 1) : Dim();
  if (size && length.max() < *size) fail("a frame of ", *size, " does not fit a signal of ", length);
  if (size && step) frames = (length - Dim(*size)) / *step + Dim(1);
  Shape out = signal.rank() == 2 ? Shape{signal[0]} : Shape{};
  for (const Dim& d : {a.transpose_frames ? bins : frames, a.transpose_frames ? frames : bins, Dim(2)})
    out.push_back(d);
  ctx.output(0, type, out);
}

void stft_run(Run& ctx, const Stft& a) {
  TensorView signal = ctx.input(0);
  int64_t size = stft_number(ctx.input(2).to<int64_t>(), "frame size"),
          step = stft_number(ctx.input(3).to<int64_t>(), "frame step"), length = signal.dim(signal.rank() - 1),
          batch = signal.rank() == 2 ? signal.dim(0) : 1;
  if (size > length) fail("a frame of ", size, " does not fit a signal of ", length);
  int64_t frames = (length - size) / step + 1, bins = size / 2 + 1;
  std::vector<double> x = signal.to<double>(), window = stft_window(ctx.input(1), size),
                      out(static_cast<size_t>(batch * frames * bins * 2));
  std::vector<Complex> frame(window.size()), spectrum(window.size());
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t f = 0; f < frames; ++f) {
      for (size_t i = 0; i < window.size(); ++i)
        frame[i] = x[static_cast<size_t>(b * length + f * step) + i] * window[i];
      fourier(frame.data(), 1, frame.size(), -1, spectrum.data());
      for (int64_t k = 0; k < bins; ++k) {
        int64_t at = a.transpose_frames ? (b * bins + k) * frames + f : (b * frames + f) * bins + k;
        out[static_cast<size_t>(2 * at)] = spectrum[static_cast<size_t>(k)].real();
        out[static_cast<size_t>(2 * at + 1)] = spectrum[static_cast<size_t>(k)].imag();
      }
    }
  ctx.output(0).assign(out);
}

void istft_infer(Infer& ctx, const Istft& a) {
  Shape data = ctx.shape(0);
  DType type = common_type(ctx, {0, 1});
  auto [size, step] = stft_frame(ctx);
  if (!data.ranked()) return ctx.output(0, type, data);
  size_t rank = data.rank();
  if (rank != 3 && rank != 4) fail("expected data of rank 3 or 4, got shape ", data);
  if (!data[rank - 1].can_be(2)) fail("expected complex data with a trailing axis of size 2, got shape ", data);
  if (size && !data[rank - 3].can_be(*size / 2 + 1))
    fail("expected ", *size / 2 + 1, " frequencies for a frame size of ", *size, ", got ", data[rank - 3]);
  Dim length;
  if (ctx.has_input(4)) {
    if (auto given = ctx.values<int64_t>(4)) length = Dim(stft_number(*given, "signal length"));
  } else if (size && step) {
    if (data[rank - 2].max() < 1) fail("expected at least one frame, got none");
    length = (data[rank - 2] - Dim(1)) * Dim(*step) + Dim(a.center ? *size % 2 : *size);
  }
  ctx.output(0, type, rank == 4 ? Shape{data[0], length} : Shape{length});
}

void istft_run(Run& ctx, const Istft& a) {
  TensorView data = ctx.input(0);
  OutputView y = ctx.output(0);
  int64_t size = stft_number(ctx.input(2).to<int64_t>(), "frame size"),
          step = stft_number(ctx.input(3).to<int64_t>(), "frame step");
  size_t rank = data.rank();
  int64_t batch = rank == 4 ? data.dim(0) : 1, bins = data.dim(rank - 3), frames = data.dim(rank - 2),
          length = y.dim(y.rank() - 1), margin = a.center ? size / 2 : 0;
  if (bins != size / 2 + 1) fail("expected ", size / 2 + 1, " frequencies for a frame size of ", size, ", got ", bins);
  std::vector<double> x = data.to<double>(), window = stft_window(ctx.input(1), size),
                      out(static_cast<size_t>(batch * length), 0), weight(static_cast<size_t>(length));
  double scale = a.normalized ? std::sqrt(static_cast<double>(size)) : 1;
  std::vector<Complex> spectrum(window.size()), frame(window.size());
  for (int64_t b = 0; b < batch; ++b) {
    std::fill(weight.begin(), weight.end(), 0);
    double* signal = out.data() + b * length;
    for (int64_t f = 0; f < frames; ++f) {
      int64_t start;  // of the frame within the result
      if (__builtin_mul_overflow(f, step, &start) || start >= margin + length) break;
      start -= margin;
      for (int64_t k = 0; k < size; ++k) {
        int64_t half = std::min(k, size - k);
        const double* at = x.data() + ((b * bins + half) * frames + f) * 2;
        spectrum[static_cast<size_t>(k)] = {at[0], k == half ? at[1] : -at[1]};
      }
      fourier(spectrum.data(), 1, spectrum.size(), 1, frame.data());
      for (int64_t i = 0; i < size; ++i) {
        if (start + i < 0 || start + i >= length) continue;
        double w = window[static_cast<size_t>(i)];
        signal[start + i] += frame[static_cast<size_t>(i)].real() / static_cast<double>(size) * w;
        weight[static_cast<size_t>(start + i)] += w * w;
      }
    }
    for (int64_t i = 0; i < length; ++i) {
      double w = weight[static_cast<size_t>(i)];
      signal[i] = w != 0 ? signal[i] * scale / w : 0;
    }
  }
  y.assign(out);
}

}  // namespace

Definitions define_stft() {
  return {
      op<Stft>("STFT", 15)
          .doc("Short-time Fourier transform of a real signal")
          .inputs("signal, window, frame_size, frame_step")
          .infer(stft_infer)
          .reference(stft_run),
      op<Istft>("ISTFT", 16)
          .doc("Inverse short-time Fourier transform")
          .inputs("data, window, frame_size, frame_step, signal_length?")
          .outputs("signal")
          .infer(istft_infer)
          .reference(istft_run),
  };
}

}  // namespace graft
