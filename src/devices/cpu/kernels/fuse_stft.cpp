// The CPU's own pass for STFT: for frames of moderate size a convolution with the windowed waves is faster than a
// transform of every frame, and its kernels are there.
#include <cmath>
#include <graft/formula.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

constexpr int64_t longest_frame = 1024;

// Cosines, then sines, of every frequency, times the window, which is centered in the frame.
Value waves(Rewrite& at, std::vector<double> window, int64_t size) {
  constexpr double turn = 6.283185307179586;
  std::vector<double> whole(static_cast<size_t>(size), 0.0), out;
  std::copy(window.begin(), window.end(), whole.begin() + (size - static_cast<int64_t>(window.size())) / 2);
  int64_t bins = size / 2 + 1;
  for (bool sine : {false, true})
    for (int64_t k = 0; k < bins; ++k)
      for (int64_t i = 0; i < size; ++i) {
        double angle = turn * static_cast<double>(k * i % size) / static_cast<double>(size);
        out.push_back(whole[static_cast<size_t>(i)] * (sine ? -std::sin(angle) : std::cos(angle)));
      }
  return at.typed(out, {2 * bins, 1, size}, DType::f32);
}

Value to_convolution(Rewrite& at) {
  Value signal = at.input(0);
  auto dims = static_dims(signal);
  auto window = at.input(1).values<double>();
  auto size = single(at.input(2)), step = single(at.input(3));
  if (!dims || !window || !size || !step || signal.type() != DType::f32) return {};
  auto frame = static_cast<int64_t>(*size), stride = static_cast<int64_t>(*step);
  auto given = static_cast<int64_t>(window->size());
  if (frame < 1 || frame > longest_frame || stride < 1 || dims->back() < frame || given < 1 || given > frame) return {};
  int64_t batch = dims->size() == 2 ? (*dims)[0] : 1, bins = frame / 2 + 1,
          frames = (dims->back() - frame) / stride + 1;
  Value y = at.op("Convolution", {reshape(signal, {batch, 1, dims->back()}), waves(at, *window, frame)},
                  {{"strides", std::vector<int64_t>{stride}},
                   {"dilations", std::vector<int64_t>{1}},
                   {"pads_begin", std::vector<int64_t>{0}},
                   {"pads_end", std::vector<int64_t>{0}}});
  bool last = at.get<bool>("transpose_frames");
  y = transpose(reshape(y, {batch, 2, bins, frames}),
                last ? std::vector<int64_t>{0, 2, 3, 1} : std::vector<int64_t>{0, 3, 2, 1});
  if (dims->size() == 2) return y;
  return reshape(y, {last ? bins : frames, last ? frames : bins, 2});
}

}  // namespace

Definitions cpu_fuse_stft() {
  return Pass("cpu_stft")
      .doc("compute STFT as a convolution with the waves of every frequency")
      .device("CPU")
      .before("fold_constants")
      .visit({"STFT"}, to_convolution);
}

}  // namespace graft
