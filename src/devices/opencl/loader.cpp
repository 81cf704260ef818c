// Opens the OpenCL library of the system.
#include <dlfcn.h>

#include "devices/opencl/cl.hpp"

namespace graft::cl {
namespace {

constexpr const char* library_name = "libOpenCL.so.1";
constexpr const char* advice =
    "install the OpenCL driver of the GPU, or one for the processor: apt-get install ocl-icd-libopencl1 "
    "pocl-opencl-icd";

template <class F>
void load(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(::dlsym(library, name));
  if (!function) throw Error(ErrorKind::unsupported, text(library_name, " has no function ", name), advice);
}

Functions open() {
  void* l = ::dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
  if (!l) throw Error(ErrorKind::unsupported, text("OpenCL is not installed: ", ::dlerror()), advice);
  Functions f{};
  load(l, "clGetPlatformIDs", f.get_platforms);
  load(l, "clGetPlatformInfo", f.get_platform_info);
  load(l, "clGetDeviceIDs", f.get_devices);
  load(l, "clGetDeviceInfo", f.get_device_info);
  load(l, "clCreateContext", f.create_context);
  load(l, "clCreateCommandQueue", f.create_queue);
  load(l, "clReleaseCommandQueue", f.release_queue);
  load(l, "clCreateBuffer", f.create_buffer);
  load(l, "clCreateSubBuffer", f.create_sub_buffer);
  load(l, "clReleaseMemObject", f.release_mem);
  load(l, "clCreateProgramWithSource", f.create_program);
  load(l, "clCreateProgramWithBinary", f.create_program_binary);
  load(l, "clBuildProgram", f.build_program);
  load(l, "clGetProgramInfo", f.get_program_info);
  load(l, "clGetProgramBuildInfo", f.get_build_info);
  load(l, "clReleaseProgram", f.release_program);
  load(l, "clCreateKernel", f.create_kernel);
  load(l, "clGetKernelInfo", f.get_kernel_info);
  load(l, "clGetKernelWorkGroupInfo", f.get_work_group_info);
  load(l, "clSetKernelArg", f.set_argument);
  load(l, "clReleaseKernel", f.release_kernel);
  load(l, "clEnqueueNDRangeKernel", f.launch);
  load(l, "clEnqueueWriteBuffer", f.write_buffer);
  load(l, "clEnqueueReadBuffer", f.read_buffer);
  load(l, "clFinish", f.finish);
  load(l, "clGetEventProfilingInfo", f.get_profile);
  load(l, "clReleaseEvent", f.release_event);
  return f;
}

}  // namespace

const std::variant<Functions, Error>& library() {
  static const std::variant<Functions, Error> found = []() -> std::variant<Functions, Error> {
    try {
      return open();
    } catch (const Error& e) {
      return e;
    }
  }();
  return found;
}

std::string error_name(int32_t code) {
  static constexpr std::pair<int32_t, std::string_view> names[] = {
      {-1, "CL_DEVICE_NOT_FOUND"},         {-2, "CL_DEVICE_NOT_AVAILABLE"},
      {-3, "CL_COMPILER_NOT_AVAILABLE"},   {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
      {-5, "CL_OUT_OF_RESOURCES"},         {-6, "CL_OUT_OF_HOST_MEMORY"},
      {-11, "CL_BUILD_PROGRAM_FAILURE"},   {-30, "CL_INVALID_VALUE"},
      {-36, "CL_INVALID_COMMAND_QUEUE"},   {-38, "CL_INVALID_MEM_OBJECT"},
      {-42, "CL_INVALID_BINARY"},          {-43, "CL_INVALID_BUILD_OPTIONS"},
      {-46, "CL_INVALID_KERNEL_NAME"},     {-48, "CL_INVALID_KERNEL"},
      {-49, "CL_INVALID_ARG_INDEX"},       {-50, "CL_INVALID_ARG_VALUE"},
      {-51, "CL_INVALID_ARG_SIZE"},        {-52, "CL_INVALID_KERNEL_ARGS"},
      {-54, "CL_INVALID_WORK_GROUP_SIZE"}, {-55, "CL_INVALID_WORK_ITEM_SIZE"},
      {-61, "CL_INVALID_BUFFER_SIZE"},     {-63, "CL_INVALID_GLOBAL_WORK_SIZE"},
      {-1001, "CL_PLATFORM_NOT_FOUND_KHR"}};
  for (const auto& [c, name] : names)
    if (c == code) return std::string(name);
  return text("error ", code);
}

void check(int32_t code, std::string_view what) {
  if (code == success) return;
  bool memory = code == allocation_failure || code == out_of_resources || code == out_of_host_memory ||
                code == invalid_buffer_size;
  bool fault = code == invalid_command_queue;  // NVIDIA's drivers report it after a kernel that failed
  throw Error(memory || fault ? ErrorKind::user : ErrorKind::internal,
              text("OpenCL failed while ", what, ": ", error_name(code)),
              memory  ? "the device may not have enough memory for the model"
              : fault ? "a kernel may have accessed memory outside of its arguments; restart the process"
                      : "");
}

}  // namespace graft::cl
