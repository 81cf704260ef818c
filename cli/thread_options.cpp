#include "thread_options.hpp"

namespace graft::cli {

void ThreadOptions::add(CLI::App& app, const char* names, const char* group) {
  app.add_option(names, threads, "number of threads; 0: as many as graft devices says")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str()
      ->group(group);
  app.add_option("--hint", hint,
                 "performance hint: latency (one request at a time, on all threads) or throughput (many requests at "
                 "once, each on few threads)")
      ->check(CLI::IsMember({"latency", "throughput", "none"}))
      ->capture_default_str()
      ->group(group);
}

void ThreadOptions::apply(const Core& core, Options& options) const {
  options.threads = threads;
  if (hint == "latency") options.hint = PerformanceHint::latency;
  if (hint == "throughput") options.hint = PerformanceHint::throughput;
  if (threads > 0) return;
  for (const std::string& line : core.threads().notes) warn(line);
}

}  // namespace graft::cli
