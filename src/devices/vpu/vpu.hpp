// The device VPU: custom layers as they were written for Myriad sticks (type MVCL), run on OpenCL under the VPU's
// rules. All other operations run on the CPU.
#pragma once

#include <memory>

#include "runtime/device.hpp"

namespace graft {

inline constexpr std::string_view vpu_name = "VPU";
// Names of the same device in old programs.
inline constexpr std::string_view vpu_aliases[] = {"MYRIAD", "HDDL"};
// On-chip memory of a work group.
inline constexpr size_t vpu_local_memory = size_t{100} << 10;

std::unique_ptr<Device> make_vpu_device();

}  // namespace graft
