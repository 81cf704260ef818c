// The kernels of convolutions, in the order in which they are tried.
#include <graft/op.hpp>

namespace graft {

Definitions depthwise_convolution();
Definitions depthwise_last_convolution();
Definitions grouped_convolution();
Definitions winograd_convolution();
Definitions direct_convolution();
Definitions gemm_convolution();
Definitions direct_backprop();
Definitions gemm_backprop();
Definitions quantized_convolution();

Definitions cpu_convolutions() {
  return {
      // Of plain tensors.
      depthwise_convolution(),
      // Of tensors with the channels last: those for special windows first.
      depthwise_last_convolution(),
      grouped_convolution(),
      winograd_convolution(),
      direct_convolution(),
      // Of all others.
      gemm_convolution(),
      // Transposed ones.
      direct_backprop(),
      gemm_backprop(),
      // Of bytes.
      quantized_convolution(),
  };
}

}  // namespace graft
