// What GPU and VPU share: a device that runs kernels which come as OpenCL source, on any device that OpenCL offers.
#pragma once

#include <memory>

#include "runtime/device.hpp"

namespace graft {

// One of these devices.
struct OpenclRules {
  std::string name;
  std::string title;                          // before the name of OpenCL's device
  std::string fallback;                       // the device for operations without a kernel, if any
  size_t local_memory = SIZE_MAX;             // most bytes of a work group
  std::vector<std::string> layer_properties;  // properties that name a file of custom layers
};

std::unique_ptr<Device> make_opencl_device(OpenclRules rules);

}  // namespace graft
