#include "devices/vpu/vpu.hpp"

#include "devices/opencl/opencl.hpp"

namespace graft {

std::unique_ptr<Device> make_vpu_device() {
  OpenclRules rules;
  rules.name = vpu_name;
  rules.title = "custom layers for Myriad on ";
  rules.fallback = cpu_device;
  rules.local_memory = vpu_local_memory;
  rules.layer_properties = {"MYRIAD_CUSTOM_LAYERS", "VPU_CUSTOM_LAYERS", "CONFIG_FILE"};
  return make_opencl_device(std::move(rules));
}

}  // namespace graft
