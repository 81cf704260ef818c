#include "devices/opencl/machine.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/text.hpp"

namespace graft {
namespace {

std::string text_of(cl::DeviceId device, uint32_t what) {
  size_t size = 0;
  if (cl::api().get_device_info(device, what, 0, nullptr, &size) != cl::success || size == 0) return "";
  std::string out(size, '\0');
  cl::api().get_device_info(device, what, size, out.data(), nullptr);
  return std::string(trim(std::string_view(out.c_str())));
}

template <class T>
T number_of(cl::DeviceId device, uint32_t what) {
  T out{};
  cl::api().get_device_info(device, what, sizeof out, &out, nullptr);
  return out;
}

bool usable(cl::DeviceId d) {
  return number_of<uint32_t>(d, cl::device_available) && number_of<uint32_t>(d, cl::device_compiler_available);
}

std::vector<cl::DeviceId> devices_of(cl::Platform platform) {
  uint32_t count = 0;
  if (cl::api().get_devices(platform, cl::type_all, 0, nullptr, &count) != cl::success) return {};
  std::vector<cl::DeviceId> out(count);
  if (cl::api().get_devices(platform, cl::type_all, count, out.data(), nullptr) != cl::success) return {};
  std::erase_if(out, [](cl::DeviceId d) { return !usable(d); });
  return out;
}

cl::DeviceId best_device() {
  if (const Error* e = std::get_if<Error>(&cl::library())) throw Error(*e);
  uint32_t count = 0;
  cl::api().get_platforms(0, nullptr, &count);
  std::vector<cl::Platform> platforms(count);
  if (count) cl::api().get_platforms(count, platforms.data(), nullptr);
  std::vector<cl::DeviceId> all;
  for (cl::Platform p : platforms)
    for (cl::DeviceId d : devices_of(p)) all.push_back(d);
  if (all.empty())
    throw Error(ErrorKind::unsupported,
                count ? "OpenCL has no usable device" : "OpenCL is installed without a driver for any device",
                "install the OpenCL driver of the GPU, or one for the processor: apt-get install pocl-opencl-icd");
  auto is_gpu = [](cl::DeviceId d) { return number_of<uint64_t>(d, cl::device_type) & cl::type_gpu; };
  auto found = std::find_if(all.begin(), all.end(), is_gpu);
  return found == all.end() ? all[0] : *found;
}

}  // namespace

const std::variant<OpenclMachine*, Error>& OpenclMachine::find() {
  // Never destroyed: a request may still be running while the process exits.
  static const auto* found = new std::variant<OpenclMachine*, Error>([]() -> std::variant<OpenclMachine*, Error> {
    try {
      return new OpenclMachine(best_device());
    } catch (const Error& e) {
      return e;
    }
  }());
  return *found;
}

OpenclMachine::OpenclMachine(cl::DeviceId device) : device_(device) {
  int32_t code = 0;
  context_ = cl::api().create_context(nullptr, 1, &device, nullptr, nullptr, &code);
  cl::check(code, "creating a context");
  name_ = text_of(device, cl::device_name);
  driver_ = text_of(device, cl::device_driver);
  version_ = text_of(device, cl::device_version);
  std::string extensions = text_of(device, cl::device_extensions);
  f64_ = extensions.find("cl_khr_fp64") != extensions.npos;
  f16_ = extensions.find("cl_khr_fp16") != extensions.npos;
  alignment_ = std::max<size_t>(64, number_of<uint32_t>(device, cl::device_align_bits) / 8);
  local_memory_ = number_of<uint64_t>(device, cl::device_local_memory);
  most_work_items_ = number_of<size_t>(device, cl::device_max_work_group_size);
}

cl::OwnedQueue OpenclMachine::queue(bool profile) const {
  int32_t code = 0;
  cl::OwnedQueue q(cl::api().create_queue(context_, device_, profile ? cl::queue_profiling : 0, &code));
  cl::check(code, "creating a queue");
  return q;
}

cl::OwnedMem OpenclMachine::buffer(size_t bytes) const {
  int32_t code = 0;
  cl::OwnedMem m(cl::api().create_buffer(context_, cl::mem_read_write, std::max<size_t>(bytes, 1), nullptr, &code));
  cl::check(code, text("allocating ", bytes, " bytes"));
  return m;
}

}  // namespace graft
