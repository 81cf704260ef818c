// The device GPU: kernels that come as OpenCL source, on any device that OpenCL offers.
#pragma once

#include <memory>

#include "runtime/device.hpp"

namespace graft {

inline constexpr std::string_view gpu_name = "GPU";

std::unique_ptr<Device> make_gpu_device();

}  // namespace graft
