#include "devices/gpu/gpu.hpp"

#include "devices/opencl/opencl.hpp"

namespace graft {

std::unique_ptr<Device> make_gpu_device() {
  OpenclRules rules;
  rules.name = gpu_name;
  rules.layer_properties = {"CONFIG_FILE"};
  return make_opencl_device(std::move(rules));
}

}  // namespace graft
