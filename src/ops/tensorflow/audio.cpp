// TensorFlow's features of audio: spectrograms and mel-frequency cepstral coefficients.
#include <cmath>
#include <graft/op.hpp>

#include "layout.hpp"

namespace graft {
namespace {

constexpr double tf_audio_pi = 3.14159265358979323846;

// [samples, channels] -> [channels, frames, bins]. The windows are as long as the file says, their transforms the next
// power of two: both the window and the signal are continued with zeros.
Value tf_audio_spectrogram(Builder& layer) {
  int64_t window = layer.get<int64_t>("window_size"), stride = layer.get<int64_t>("stride");
  if (window < 2 || window > 1 << 20) fail("expected a window_size from 2 to 1048576, got ", window);
  if (stride < 1) fail("expected a positive stride, got ", stride);
  int64_t size = 1;
  while (size < window) size *= 2;
  std::vector<double> hann(static_cast<size_t>(size), 0);
  for (int64_t i = 0; i < window; ++i)
    hann[static_cast<size_t>(i)] =
        0.5 - 0.5 * std::cos(2 * tf_audio_pi * static_cast<double>(i) / static_cast<double>(window));
  Value x = transpose(layer.input(0), {1, 0});
  Value padded =
      layer.op("Pad", {x, layer.ints({0, 0}), layer.ints({0, size - window}), like(x, 0)}, {{"pad_mode", "constant"}});
  Value parts =
      layer.op("STFT", {padded, layer.typed(hann, {size}, x.type()), layer.scalar(size), layer.scalar(stride)},
               {{"transpose_frames", false}});
  Value squared = layer.op("ReduceSum", {parts * parts, layer.ints({-1})}, {{"keep_dims", false}});
  return layer.get<bool>("magnitude_squared", false) ? squared : layer.op("Sqrt", {squared});
}

// How much of each bin's magnitude goes to each channel: triangles on the mel scale between neighboring centers.
std::vector<double> tf_mel_weights(int64_t bins, int64_t channels, double rate, double low, double high) {
  auto mel = [](double hertz) { return 1127 * std::log1p(hertz / 700); };
  double hertz = 0.5 * rate / static_cast<double>(bins - 1), bottom = mel(low);
  double step = (mel(high) - bottom) / static_cast<double>(channels + 1);
  if (!(step > 0)) fail("expected frequency limits that are further apart, got ", low, " and ", high);
  auto bin = [&](double place) { return static_cast<int64_t>(std::min(place, static_cast<double>(bins))); };
  int64_t first = bin(1.5 + low / hertz), last = bin(high / hertz);
  std::vector<double> weights(static_cast<size_t>(bins * channels), 0);
  for (int64_t i = first; i < bins && i <= last; ++i) {
    // Center k is at bottom + step * (k + 1); the bin lies between centers `below` and `below + 1`.
    double at =
        std::clamp((mel(static_cast<double>(i) * hertz) - bottom) / step, 0.0, static_cast<double>(channels + 1));
    int64_t below = std::clamp<int64_t>(static_cast<int64_t>(std::ceil(at)) - 2, -1, channels - 1);
    double share = static_cast<double>(below + 2) - at;  // of the channel below
    if (below >= 0) weights[static_cast<size_t>(i * channels + below)] = share;
    if (below + 1 >= 0 && below + 1 < channels) weights[static_cast<size_t>(i * channels + below + 1)] = 1 - share;
  }
  return weights;
}

Value tf_mfcc(Builder& layer) {
  Value spectrum = layer.input(0);
  auto rate = layer.input(1).values<double>();
  if (!rate || rate->size() != 1) unsupported("expected one constant sample rate");
  double low = layer.get<float>("lower_frequency_limit", 20), high = layer.get<float>("upper_frequency_limit", 4000);
  int64_t channels = layer.get<int64_t>("filterbank_channel_count", 40),
          kept = layer.get<int64_t>("dct_coefficient_count", 13);
  Shape s = spectrum.shape();
  if (!s.ranked() || s.rank() != 3 || !s[2].known())
    unsupported("expected a spectrogram [channels,frames,bins] with a known number of bins, got ", s);
  int64_t bins = s[2].value();
  if (bins < 2 || channels < 1 || channels > 1 << 14 || kept < 1 || kept > 1 << 14 || !(rate->front() > 0) ||
      !(low >= 0) || !(high > low))
    fail(
        "expected at least 2 bins, 1 to 16384 channels and coefficients, a positive rate and rising frequency limits, "
        "got ",
        bins, ", ", channels, ", ", kept, ", ", rate->front(), " and ", low, " to ", high);
  if (bins > (1 << 24) / channels)
    fail("expected at most ", 1 << 24, " weights of bins and channels, got ", bins, " x ", channels);
  Value magnitude = layer.op("Sqrt", {spectrum});
  Value mel = build::matmul(
      magnitude,
      layer.typed(tf_mel_weights(bins, channels, rate->front(), low, high), {bins, channels}, spectrum.type()), false,
      false);
  Value logs = layer.op("Log", {layer.op("Maximum", {mel, like(mel, 1e-12)})});
  std::vector<double> cosines;
  double scale = std::sqrt(2.0 / static_cast<double>(channels));
  for (int64_t j = 0; j < channels; ++j)
    for (int64_t i = 0; i < kept; ++i)
      cosines.push_back(scale * std::cos(tf_audio_pi / static_cast<double>(channels) * static_cast<double>(i) *
                                         (static_cast<double>(j) + 0.5)));
  return build::matmul(logs, layer.typed(cosines, {channels, kept}, spectrum.type()), false, false);
}

}  // namespace

Definitions define_tensorflow_audio() {
  return {
      tensorflow("AudioSpectrogram").expand(tf_audio_spectrogram),
      tensorflow("Mfcc").expand(tf_mfcc),
  };
}

}  // namespace graft
