// Any bytes as the description of OpenCL kernels for GPU or VPU, with its formulas, and as their source.
#include "readers/kernel_xml.hpp"

#include "common.hpp"
#include "readers/cl_source.hpp"
#include "readers/work_size.hpp"

namespace {

// What loading a source does before a compiler sees it.
void as_source(std::string_view bytes) {
  for (const std::string& name : graft::kernel_functions(bytes)) {
    graft::cl_function(bytes, name);
    graft::cl_function(bytes, "__dma_preload_" + name);
  }
  graft::without_half_syntax(bytes);
}

// Dimensions that formulas of a layer may meet.
void evaluate(const graft::KernelDescription& d) {
  auto kind = d.device == graft::KernelDevice::gpu ? graft::FormulaKind::gpu : graft::FormulaKind::vpu;
  for (double dimension : {0.0, 1.0, 7.0, 1e9})
    for (const graft::KernelStage& s : d.stages) {
      std::vector<std::string> all = s.global;
      all.insert(all.end(), s.local.begin(), s.local.end());
      for (const graft::KernelArgument& a : s.arguments)
        if (!a.size.empty()) all.push_back(a.size);
      for (const std::string& f : all)
        graft::fuzz([&] { graft::evaluate_work_size(f, kind, [&](std::string_view) { return dimension; }); });
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  as_source(bytes);
  return graft::fuzz([&] {
    for (const graft::KernelDescription& d : graft::parse_kernel_xml(bytes, "fuzz")) evaluate(d);
  });
}
