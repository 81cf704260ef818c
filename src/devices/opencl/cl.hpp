// The part of OpenCL 1.2 that the device uses, declared here because the library is opened at run time: types,
// constants, and a table of its functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "base/error.hpp"

namespace graft::cl {

using Platform = struct PlatformTag*;
using DeviceId = struct DeviceTag*;
using Context = struct ContextTag*;
using Queue = struct QueueTag*;
using Mem = struct MemTag*;
using Program = struct ProgramTag*;
using Kernel = struct KernelTag*;
using Event = struct EventTag*;

inline constexpr int32_t success = 0, device_not_found = -1, allocation_failure = -4, out_of_resources = -5,
                         out_of_host_memory = -6, invalid_command_queue = -36, invalid_kernel_name = -46,
                         invalid_work_group_size = -54, invalid_buffer_size = -61, platform_not_found = -1001;
inline constexpr uint64_t type_cpu = 2, type_gpu = 4, type_all = 0xFFFFFFFF;
inline constexpr uint32_t device_type = 0x1000, device_max_work_group_size = 0x1004, device_max_alloc = 0x1010,
                          device_align_bits = 0x1019, device_global_memory = 0x101F, device_local_memory = 0x1023,
                          device_available = 0x1027, device_compiler_available = 0x1028, device_name = 0x102B,
                          device_driver = 0x102D, device_version = 0x102F, device_extensions = 0x1030,
                          platform_name = 0x0902;
inline constexpr uint64_t mem_read_write = 1, mem_copy_host = 32, queue_profiling = 2;
inline constexpr uint32_t sub_buffer_region = 0x1220, program_binary_sizes = 0x1165, program_binaries = 0x1166,
                          build_log = 0x1183, kernel_argument_count = 0x1191, kernel_work_group_size = 0x11B0,
                          kernel_local_memory = 0x11B2, profile_start = 0x1282, profile_end = 0x1283;

struct Region {
  size_t offset, size;
};

struct Functions {
  int32_t (*get_platforms)(uint32_t, Platform*, uint32_t*);
  int32_t (*get_platform_info)(Platform, uint32_t, size_t, void*, size_t*);
  int32_t (*get_devices)(Platform, uint64_t, uint32_t, DeviceId*, uint32_t*);
  int32_t (*get_device_info)(DeviceId, uint32_t, size_t, void*, size_t*);
  Context (*create_context)(const intptr_t*, uint32_t, const DeviceId*, void*, void*, int32_t*);
  Queue (*create_queue)(Context, DeviceId, uint64_t, int32_t*);
  int32_t (*release_queue)(Queue);
  Mem (*create_buffer)(Context, uint64_t, size_t, void*, int32_t*);
  Mem (*create_sub_buffer)(Mem, uint64_t, uint32_t, const void*, int32_t*);
  int32_t (*release_mem)(Mem);
  Program (*create_program)(Context, uint32_t, const char**, const size_t*, int32_t*);
  Program (*create_program_binary)(Context, uint32_t, const DeviceId*, const size_t*, const unsigned char**, int32_t*,
                                   int32_t*);
  int32_t (*build_program)(Program, uint32_t, const DeviceId*, const char*, void*, void*);
  int32_t (*get_program_info)(Program, uint32_t, size_t, void*, size_t*);
  int32_t (*get_build_info)(Program, DeviceId, uint32_t, size_t, void*, size_t*);
  int32_t (*release_program)(Program);
  Kernel (*create_kernel)(Program, const char*, int32_t*);
  int32_t (*get_kernel_info)(Kernel, uint32_t, size_t, void*, size_t*);
  int32_t (*get_work_group_info)(Kernel, DeviceId, uint32_t, size_t, void*, size_t*);
  int32_t (*set_argument)(Kernel, uint32_t, size_t, const void*);
  int32_t (*release_kernel)(Kernel);
  int32_t (*launch)(Queue, Kernel, uint32_t, const size_t*, const size_t*, const size_t*, uint32_t, const Event*,
                    Event*);
  int32_t (*write_buffer)(Queue, Mem, uint32_t, size_t, size_t, const void*, uint32_t, const Event*, Event*);
  int32_t (*read_buffer)(Queue, Mem, uint32_t, size_t, size_t, void*, uint32_t, const Event*, Event*);
  int32_t (*finish)(Queue);
  int32_t (*get_profile)(Event, uint32_t, size_t, void*, size_t*);
  int32_t (*release_event)(Event);
};

// The functions of the installed library, or why it cannot be used.
const std::variant<Functions, Error>& library();
// The functions, where a device has been found.
inline const Functions& api() { return std::get<Functions>(library()); }

// The name of an error code: "CL_OUT_OF_RESOURCES".
std::string error_name(int32_t code);
// Throws unless the code is a success. Memory that is exhausted is an error of the user, others are internal.
void check(int32_t code, std::string_view what);

// Owned objects.
template <class T, int32_t (*Functions::*release)(T)>
struct Release {
  using pointer = T;
  void operator()(T object) const { (api().*release)(object); }
};
using OwnedQueue = std::unique_ptr<void, Release<Queue, &Functions::release_queue>>;
using OwnedMem = std::unique_ptr<void, Release<Mem, &Functions::release_mem>>;
using OwnedProgram = std::unique_ptr<void, Release<Program, &Functions::release_program>>;
using OwnedKernel = std::unique_ptr<void, Release<Kernel, &Functions::release_kernel>>;
using OwnedEvent = std::unique_ptr<void, Release<Event, &Functions::release_event>>;

}  // namespace graft::cl
