// The device GPU: runs kernels that come as OpenCL source, on any device that OpenCL offers. Other devices may be built
// on it.
#pragma once

#include <memory>

#include "runtime/device.hpp"

namespace graft {

inline constexpr std::string_view gpu_name = "GPU";

// A device on OpenCL, and where it differs from the GPU.
struct OpenclRules {
  std::string name{gpu_name};
  std::string title;                                         // before the name of OpenCL's device
  std::string fallback;                                      // the device for operations without a kernel, if any
  size_t local_memory = SIZE_MAX;                            // most bytes of a work group
  std::vector<std::string> layer_properties{"CONFIG_FILE"};  // properties that name a file of custom layers
};

std::unique_ptr<Device> make_opencl_device(OpenclRules rules = {});

}  // namespace graft
