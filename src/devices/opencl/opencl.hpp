// The device GPU: runs kernels that come as OpenCL source, on any device that OpenCL offers.
#pragma once

#include <memory>

#include "runtime/device.hpp"

namespace graft {

std::unique_ptr<Device> make_opencl_device();

}  // namespace graft
