// The CPU's own passes for Fourier transforms: of moderate sizes, products with the matrix of the transform are faster
// than a transform of every row, and have kernels.
#include <cmath>
#include <graft/formula.hpp>
#include <graft/kit/expressions.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

constexpr int64_t longest_frame = 1024, longest_axis = 256;
constexpr double turn = 6.283185307179586;

// Cosines, then sines, of every frequency, times the window, which is centered in the frame.
Value waves(Rewrite& at, std::vector<double> window, int64_t size) {
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

// The transform of rows of `n` complex numbers, real and imaginary parts in turn, as a matrix.
Value transform(Rewrite& at, int64_t n, bool inverse) {
  std::vector<double> out(static_cast<size_t>(4 * n * n));
  double share = inverse ? 1 / static_cast<double>(n) : 1;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = 0; k < n; ++k) {
      double angle = turn * static_cast<double>(i * k % n) / static_cast<double>(n);
      double c = std::cos(angle) * share, s = std::sin(angle) * (inverse ? share : -share);
      auto real = static_cast<size_t>(2 * i * 2 * n + 2 * k), imaginary = real + static_cast<size_t>(2 * n);
      out[real] = c, out[real + 1] = s, out[imaginary] = -s, out[imaginary + 1] = c;
    }
  return at.typed(out, {2 * n, 2 * n}, DType::f32);
}

// DFT and IDFT  =>  a product for each axis, which is moved next to the parts of the numbers
Value to_products(Rewrite& at) {
  Value x = at.input(0);
  auto dims = static_dims(x);
  if (!dims || dims->size() < 2 || dims->back() != 2 || x.type() != DType::f32 || at.inputs() > 2) return {};
  size_t rank = dims->size();
  auto axes = axes_of(at.input(1), rank - 1);
  if (!axes) return {};
  for (size_t axis : *axes)
    if ((*dims)[axis] < 1 || (*dims)[axis] > longest_axis) return {};
  for (size_t axis : *axes) {
    std::vector<int64_t> order, moved;
    for (size_t i = 0; i < rank; ++i) order.push_back(static_cast<int64_t>(i));
    std::swap(order[axis], order[rank - 2]);  // its own inverse
    bool moves = axis != rank - 2;
    if (moves) x = transpose(x, order);
    for (int64_t i : order) moved.push_back((*dims)[static_cast<size_t>(i)]);
    std::vector<int64_t> rows(moved.begin(), moved.end() - 1);
    rows.back() *= 2;
    x = reshape(build::matmul(reshape(x, rows), transform(at, (*dims)[axis], at.node().is("IDFT"))), moved);
    if (moves) x = transpose(x, order);
  }
  return x;
}

}  // namespace

Definitions cpu_fuse_fourier() {
  return {Pass("cpu_stft")
              .doc("compute STFT as a convolution with the rows of the DFT matrix")
              .device("CPU")
              .before("fold_constants")
              .visit({"STFT"}, to_convolution),
          Pass("cpu_dft")
              .doc("compute DFT and IDFT as products with the DFT matrix")
              .device("CPU")
              .before("fold_constants")
              .visit({"DFT", "IDFT"}, to_products)};
}

}  // namespace graft
