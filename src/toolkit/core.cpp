#include <algorithm>

#include "base/file.hpp"
#include "base/heap.hpp"
#include "base/log.hpp"
#include "base/streams.hpp"
#include "base/text.hpp"
#include "base/threads.hpp"
#include "devices/cpu/cpu.hpp"
#include "devices/gpu/gpu.hpp"
#include "devices/reference/reference.hpp"
#include "devices/vpu/vpu.hpp"
#include "toolkit/errors.hpp"
#include "toolkit/read.hpp"

namespace graft {

Core::State::State() {
  devices.push_back(make_cpu_device());
  devices.push_back(make_gpu_device());
  devices.push_back(make_vpu_device());
  devices.push_back(make_reference_device());
  publish(registry_of({}), {});
}

Core::Core() : s_(as_errors([] { return std::make_shared<State>(); })) {}

// ---- models ----

Model Core::read_model(const std::string& path, const std::string& weights) const {
  return read_model(path, weights, ReadOptions{});
}
Model Core::read_model(const std::string& path, const std::string& weights, const ReadOptions& options) const {
  std::vector<std::string> files{path};
  if (!weights.empty()) files.push_back(weights);
  return read_model(files, options);
}
Model Core::read_model(const std::vector<std::string>& files, const ReadOptions& options) const {
  return as_errors([&] {
    Model model = load_model(s_->registry(), files, import_options(options));
    trim_heap();
    return model;
  });
}

std::vector<ReplacementOutcome> Core::try_replacements(const std::vector<std::string>& files,
                                                       const ReadOptions& options) const {
  return as_errors([&] { return graft::try_replacements(*s_->registry(), files, import_options(options)); });
}
void Core::update_replacements(const std::vector<std::string>& files, const ReadOptions& options,
                               const std::string& path) const {
  as_errors([&] { graft::update_replacements(*s_->registry(), files, import_options(options), path); });
}

}  // namespace graft
