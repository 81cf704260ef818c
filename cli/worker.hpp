// A part of graft check in a process of its own: a kernel that crashes or hangs ends only that.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace graft::cli {

struct WorkerEnd {
  enum { finished, crashed, timed_out } how = finished;
  std::string signal;  // "Segmentation fault"
};

// Runs this program with these arguments, and calls `line` for each line of its standard output. Ends it when no line
// arrives for `seconds`. `variables` (NAME=value) replace those of this process.
WorkerEnd run_worker(const std::vector<std::string>& arguments, double seconds,
                     const std::function<void(const std::string&)>& line,
                     const std::vector<std::string>& variables = {});

}  // namespace graft::cli
