// Any bytes as the description of OpenCL kernels, and as their source.
#include "readers/kernel_xml.hpp"

#include "common.hpp"
#include "readers/cl_source.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  graft::kernel_functions(bytes);
  return graft::fuzz([&] { graft::parse_kernel_xml(bytes, "fuzz"); });
}
