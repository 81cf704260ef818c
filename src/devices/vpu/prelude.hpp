// OpenCL C in front of VPU kernels.
#pragma once

namespace graft {

// half where the device has cl_khr_fp16.
extern const char* const vpu_half_extension;
// half as _Float16, and the functions of OpenCL C for it.
extern const char* const vpu_half_type;
// half2 to half16, after vpu_half_type.
extern const char* const vpu_half_vectors;
// WorkGroupDma... and WorkItemDma...
extern const char* const vpu_dma;

}  // namespace graft
