// The processors that this process is given, and how many threads follow from them. Nothing else asks the machine
// (scripts/check_machine.py).
//
// A process in a container sees all processors of the host. What it may use is less: the affinity mask (taskset,
// cpuset) leaves some of them out, and a CPU quota of a control group stops all of its threads for the rest of the
// period once they have used the quota together.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace graft {

struct Machine {
  struct Quota {
    double processors;  // time per period
    std::string file;   // that says so
  };
  int online = 1;               // processors of the system
  std::vector<int> processors;  // ids of those in the affinity mask
  std::vector<int> cores;       // of each core that some of them belong to, the first one
  std::optional<Quota> quota;   // the smallest of the control group and its ancestors
  std::vector<std::string> warnings;

  // Threads that run at the same time: more of them only take time from each other.
  int at_once() const;
};

// Reads `root`/proc and `root`/sys. `mask`: the ids of the processors that the process may run on.
Machine read_machine(const std::string& root, const std::vector<int>& mask);
// The ids in the affinity mask of the calling thread.
std::vector<int> affinity_mask();
// Returns whether it could be set.
bool set_affinity(const std::vector<int>& processors);
// As it was when first asked.
const Machine& this_machine();

struct ThreadCount {
  int threads = 1;
  std::string reason;                 // "2 of 16 cores are in the affinity mask"
  bool set = false;                   // by GRAFT_NUM_THREADS
  std::vector<std::string> warnings;  // on values that are ignored
  std::vector<std::string> notes;     // on settings that look as if they had an effect here
};

constexpr int most_threads = 1024;
// Hardware threads that share a core count once unless `hyper_threads` is set: on them vector units and caches are
// shared, so that a second one adds nothing to a matrix product, and the slower of a pair delays every loop. A quota is
// rounded down: a thread that exceeds it waits for the next period, up to 100 ms, and all others wait for it.
ThreadCount threads_for(const Machine& machine, const char* graft_num_threads, const char* omp_num_threads,
                        bool hyper_threads = false);
// Of this machine and the environment, as they were when first asked.
const ThreadCount& default_threads(bool hyper_threads = false);

}  // namespace graft
