// Oclgrind, a simulator of OpenCL devices: it finds accesses out of bounds and data races of kernels.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace graft::cli {

class Simulator {
 public:
  struct Fault {
    std::string kind, detail;
  };

  // None: it is not installed.
  static std::unique_ptr<Simulator> find();
  ~Simulator();
  Simulator(const Simulator&) = delete;

  // Variables of a process whose kernels it runs: NAME=value.
  std::vector<std::string> environment() const;
  // What it found in the last process, once per kind, kernel and line.
  std::vector<Fault> faults() const;

 private:
  explicit Simulator(const std::string& library);
  std::string log() const { return folder_ + "/log.txt"; }

  std::string folder_;
};

}  // namespace graft::cli
