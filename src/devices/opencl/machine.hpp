// The OpenCL device that the process uses: what it can do, and the programs that were compiled for it.
#pragma once

#include <map>
#include <mutex>

#include "devices/opencl/cl.hpp"

namespace graft {

// A compiled program.
class OpenclBinary {
 public:
  explicit OpenclBinary(cl::OwnedProgram p) : program_(std::move(p)) {}
  cl::Program get() const { return program_.get(); }

 private:
  cl::OwnedProgram program_;
};

class OpenclMachine {
 public:
  // The first GPU of the system, or its first device of any other kind; or why there is none.
  static const std::variant<OpenclMachine*, Error>& find();

  const std::string& name() const { return name_; }
  const std::string& version() const { return version_; }
  bool has_f64() const { return f64_; }
  bool has_f16() const { return f16_; }
  size_t alignment() const { return alignment_; }  // of sub-buffers, in bytes
  size_t local_memory() const { return local_memory_; }
  size_t most_work_items() const { return most_work_items_; }  // of a work group
  cl::Context context() const { return context_; }
  cl::DeviceId device() const { return device_; }

  cl::OwnedQueue queue(bool profile) const;
  // At least one byte.
  cl::OwnedMem buffer(size_t bytes) const;

  // Compiles a source, or finds what was compiled before: in memory, or on the disk. Throws with the compiler's log.
  std::shared_ptr<const OpenclBinary> build(const std::string& source, const std::string& options);

 private:
  explicit OpenclMachine(cl::DeviceId device);
  std::string key(const std::string& source, const std::string& options) const;
  cl::OwnedProgram compile(const std::string& source, const std::string& options) const;
  cl::OwnedProgram from_disk(const std::string& path) const;
  void to_disk(const std::string& path, cl::Program program) const;

  cl::DeviceId device_;
  cl::Context context_ = nullptr;
  std::string name_, driver_, version_;
  bool f64_ = false, f16_ = false;
  size_t alignment_ = 128, local_memory_ = 0, most_work_items_ = 1;
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<const OpenclBinary>> programs_;
  std::map<std::string, std::shared_ptr<const OpenclBinary>> recent_;  // kept alive, for plans to come
};

}  // namespace graft
