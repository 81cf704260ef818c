// Fourier transforms along the last axis. Complex numbers are pairs: an axis of d numbers has 2 d elements.
#include "mxnet/building.hpp"

namespace graft {
namespace {

std::vector<int64_t> mxnet_outer(size_t rank, std::initializer_list<int64_t> last) {
  std::vector<int64_t> out(rank - 1, 0);
  out.insert(out.end(), last);
  return out;
}
Value mxnet_signal(Builder& layer) {
  Value x = layer.input(0);
  Shape s = x.shape();
  if (s.ranked() && s.rank() != 2 && s.rank() != 4) fail("expected a tensor of rank 2 or 4, got ", s);
  return x;
}

Value import_mxnet_fft(Builder& layer) {
  Value x = mxnet_signal(layer), real = unsqueeze(x, {-1});
  Value pairs = build::concat({real, real * 0.0}, -1);
  return build::reshape_keeping(layer.op("DFT", {pairs, layer.ints({-1})}), mxnet_outer(x.rank(), {-1}));
}

// The real part of the inverse transform, not divided by the length.
Value import_mxnet_ifft(Builder& layer) {
  Value x = mxnet_signal(layer), pairs = build::reshape_keeping(x, mxnet_outer(x.rank(), {-1, 2}));
  Value signal = layer.op("IDFT", {pairs, layer.ints({-1})});
  Value real = squeeze(build::slice(signal, -1, 0, 1), {-1});
  return real * convert(build::dim(real, -1), x.type());
}

}  // namespace

Definitions define_mxnet_fourier() {
  return {
      mx::rules({"_contrib_fft", "fft"}, import_mxnet_fft, {"compute_size"}),
      mx::rules({"_contrib_ifft", "ifft"}, import_mxnet_ifft, {"compute_size"}),
  };
}

}  // namespace graft
