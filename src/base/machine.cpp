#include "base/machine.hpp"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <set>

#include "base/text.hpp"

namespace graft {
namespace {

// Of a file of /proc or /sys; none: it is not there.
std::optional<std::string> text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::optional<int64_t> whole_number(std::string_view s) {
  int64_t n = 0;
  auto [end, problem] = std::from_chars(s.data(), s.data() + s.size(), n);
  if (s.empty() || problem != std::errc() || end != s.data() + s.size()) return std::nullopt;
  return n;
}

// "0-3,8" as ids.
std::optional<std::vector<int>> processor_ids(std::string_view list) {
  constexpr int64_t most = 1 << 16;
  std::vector<int> out;
  for (std::string_view part : split(trim(list), ',')) {
    size_t dash = std::min(part.find('-'), part.size());
    auto first = whole_number(part.substr(0, dash));
    auto last = dash == part.size() ? first : whole_number(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last > most) return std::nullopt;
    for (int64_t i = *first; i <= *last; ++i) out.push_back(static_cast<int>(i));
  }
  return out;
}

// ---- control groups ----

// Where a hierarchy is mounted, and which of its groups is visible there.
struct Mount {
  std::string group, point;
};
struct Hierarchies {
  std::optional<Mount> unified, cpu;  // version 2; the controller `cpu` of version 1
};

// In mountinfo, space, tab, newline and backslash are octal: "\040".
std::string unescaped(std::string_view s) {
  std::string out;
  for (size_t i = 0; i < s.size(); ++i) {
    auto digit = [&](size_t k) { return i + k < s.size() && s[i + k] >= '0' && s[i + k] <= '7'; };
    if (s[i] != '\\' || !digit(1) || !digit(2) || !digit(3)) {
      out += s[i];
      continue;
    }
    out += static_cast<char>((s[i + 1] - '0') * 64 + (s[i + 2] - '0') * 8 + (s[i + 3] - '0'));
    i += 3;
  }
  return out;
}

bool names_cpu(std::string_view list) {
  std::vector<std::string_view> words = split(list, ',');
  return std::find(words.begin(), words.end(), "cpu") != words.end();
}

// A line: id parent major:minor group point options [tags] - type source options
Hierarchies mounted_groups(const std::string& mountinfo) {
  Hierarchies out;
  for (std::string_view line : split(mountinfo, '\n')) {
    std::vector<std::string_view> words = split(line, ' ');
    auto dash = std::find(words.begin(), words.end(), "-");
    if (words.size() < 5 || words.end() - dash < 4) continue;
    Mount m{unescaped(words[3]), unescaped(words[4])};
    if (dash[1] == "cgroup2" && !out.unified) out.unified = m;
    if (dash[1] == "cgroup" && names_cpu(dash[3]) && !out.cpu) out.cpu = m;
  }
  return out;
}

// The folders of a group and its ancestors, innermost first, as far as they are visible.
std::vector<std::string> group_folders(const Mount& mount, std::string_view group) {
  std::string_view below = group;
  // Without a namespace for control groups, a container mounts its own group and is told its name on the host.
  if (mount.group != "/" && below.starts_with(mount.group)) below.remove_prefix(mount.group.size());
  else if (mount.group != "/") below = {};
  if (below.find("..") != below.npos) below = {};  // outside of what is mounted
  std::vector<std::string> out;
  for (std::string at(below); !at.empty() && at != "/"; at.erase(at.rfind('/'))) {
    if (at[0] != '/') break;
    out.push_back(mount.point + at);
  }
  out.push_back(mount.point);
  return out;
}

class Quotas {
 public:
  Quotas(const std::string& root, Machine& machine) : root_(root), machine_(machine) {}

  void read() {
    auto groups = text_of(root_ + "/proc/self/cgroup"), mountinfo = text_of(root_ + "/proc/self/mountinfo");
    if (!groups || !mountinfo) return;
    Hierarchies at = mounted_groups(*mountinfo);
    for (std::string_view line : split(*groups, '\n')) {  // number:controllers:group
      if (line.empty()) continue;
      size_t first = line.find(':'), second = first == line.npos ? first : line.find(':', first + 1);
      if (second == line.npos) {
        warn("/proc/self/cgroup", "lines of the form number:controllers:group", line);
        continue;
      }
      std::string_view controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
      if (controllers.empty() && at.unified)
        for (const std::string& f : group_folders(*at.unified, group)) version_2(f + "/cpu.max");
      if (names_cpu(controllers) && at.cpu)
        for (const std::string& f : group_folders(*at.cpu, group)) version_1(f);
    }
  }

 private:
  // "max 100000" or "150000 100000", in microseconds
  void version_2(const std::string& file) {
    auto text = text_of(root_ + file);
    if (!text) return;
    std::vector<std::string_view> words = split(trim(*text), ' ');
    if (words.size() == 2 && words[0] == "max") return;
    int64_t quota = 0, period = 0;
    if (words.size() == 2) quota = whole_number(words[0]).value_or(0), period = whole_number(words[1]).value_or(0);
    if (quota <= 0 || period <= 0) return warn(file, "a quota and a period", trim(*text));
    limit(static_cast<double>(quota) / static_cast<double>(period), file);
  }
  void version_1(const std::string& folder) {
    std::string file = folder + "/cpu.cfs_quota_us", other = folder + "/cpu.cfs_period_us";
    auto quota = text_of(root_ + file), period = text_of(root_ + other);
    if (!quota) return;
    int64_t q = whole_number(trim(*quota)).value_or(0), p = period ? whole_number(trim(*period)).value_or(0) : 0;
    if (q == -1) return;
    if (q <= 0) return warn(file, "microseconds, or -1", trim(*quota));
    if (p <= 0) return warn(other, "microseconds", period ? trim(*period) : std::string_view("no file"));
    limit(static_cast<double>(q) / static_cast<double>(p), file);
  }
  void limit(double processors, const std::string& file) {
    if (!machine_.quota || processors < machine_.quota->processors) machine_.quota = Machine::Quota{processors, file};
  }
  void warn(std::string_view file, std::string_view expected, std::string_view got) {
    machine_.warnings.push_back(text("ignoring ", file, ": expected ", expected, ", got '", got.substr(0, 60), "'"));
  }

  const std::string& root_;
  Machine& machine_;
};

// ---- cores ----

// Of processors that share a core, the first one in the mask.
std::vector<int> one_per_core(const std::string& root, Machine& machine) {
  std::vector<int> out;
  std::set<int> seen;
  for (int id : machine.processors) {
    if (seen.count(id)) continue;
    out.push_back(id);
    std::string file = text("/sys/devices/system/cpu/cpu", id, "/topology/thread_siblings_list");
    auto list = text_of(root + file);
    if (!list) continue;  // no file: a core of its own
    auto siblings = processor_ids(*list);
    if (siblings) seen.insert(siblings->begin(), siblings->end());
    else
      machine.warnings.push_back(
          text("ignoring ", file, ": expected a list of processors, got '", trim(*list).substr(0, 60), "'"));
  }
  return out;
}

std::string number_of(const char* what, int n) { return text(n, ' ', what, n == 1 ? "" : "s"); }

}  // namespace

int Machine::at_once() const {
  int n = std::max(1, static_cast<int>(processors.size()));
  if (quota) n = std::min(n, static_cast<int>(std::ceil(std::min<double>(quota->processors, n))));
  return std::max(1, n);
}

std::vector<int> affinity_mask() {
  std::vector<int> out;
  for (int size = 1024; size <= 1 << 20; size *= 2) {  // the kernel refuses a set that is smaller than its own
    cpu_set_t* set = CPU_ALLOC(static_cast<size_t>(size));
    size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(size));
    CPU_ZERO_S(bytes, set);
    bool read = sched_getaffinity(0, bytes, set) == 0;
    for (int i = 0; read && i < size; ++i)
      if (CPU_ISSET_S(static_cast<size_t>(i), bytes, set)) out.push_back(i);
    CPU_FREE(set);
    if (read) break;
  }
  return out;
}

bool set_affinity(const std::vector<int>& processors) {
  if (processors.empty()) return false;
  auto size = static_cast<size_t>(*std::max_element(processors.begin(), processors.end())) + 1;
  cpu_set_t* set = CPU_ALLOC(size);
  size_t bytes = CPU_ALLOC_SIZE(size);
  CPU_ZERO_S(bytes, set);
  for (int i : processors) CPU_SET_S(static_cast<size_t>(i), bytes, set);
  bool done = sched_setaffinity(0, bytes, set) == 0;
  CPU_FREE(set);
  return done;
}

Machine read_machine(const std::string& root, const std::vector<int>& mask) {
  Machine m;
  std::string file = "/sys/devices/system/cpu/online";
  auto list = text_of(root + file);
  auto online = list ? processor_ids(*list) : std::nullopt;
  if (list && (!online || online->empty()))
    m.warnings.push_back(
        text("ignoring ", file, ": expected a list of processors, got '", trim(*list).substr(0, 60), "'"));
  m.processors = mask;
  if (mask.empty() && online) m.processors = *online;
  if (m.processors.empty()) m.processors = {0};
  m.online = std::max(online ? static_cast<int>(online->size()) : 0, static_cast<int>(m.processors.size()));
  m.cores = one_per_core(root, m);
  Quotas(root, m).read();
  return m;
}

const Machine& this_machine() {
  static const Machine machine = read_machine("", affinity_mask());
  return machine;
}

ThreadCount threads_for(const Machine& m, const char* graft_num_threads, const char* omp_num_threads,
                        bool hyper_threads) {
  ThreadCount out;
  out.warnings = m.warnings;
  auto valid = [](const char* given) -> std::optional<int> {
    auto n = whole_number(trim(given));
    if (!n || *n < 1 || *n > most_threads) return std::nullopt;
    return static_cast<int>(*n);
  };
  if (graft_num_threads) {
    if (auto n = valid(graft_num_threads)) {
      out.threads = *n, out.set = true, out.reason = "GRAFT_NUM_THREADS";
      return out;
    }
    out.warnings.push_back(text("ignoring GRAFT_NUM_THREADS: expected a number from 1 to ", most_threads, ", got '",
                                std::string_view(graft_num_threads).substr(0, 60), "'"));
  }
  auto processors = static_cast<int>(m.processors.size()), cores = static_cast<int>(m.cores.size());
  out.threads = hyper_threads ? processors : cores;
  if (processors < m.online) out.reason = text(processors, " of ", m.online, " processors are in the affinity mask");
  else if (processors == cores) out.reason = number_of("core", cores);
  if (processors > cores)
    out.reason += text(out.reason.empty() ? "" : ", ", number_of("core", cores), " with ", processors,
                       " hardware threads, ", hyper_threads ? "all counted" : "one counted per core");
  if (m.quota && m.quota->processors < out.threads) {
    out.threads = std::max(1, static_cast<int>(m.quota->processors));
    bool rounded = out.threads != m.quota->processors;
    out.reason +=
        text("; the CPU quota in ", m.quota->file, " is ", number_text(std::round(m.quota->processors * 100) / 100),
             rounded ? out.threads > m.quota->processors ? ", rounded up" : ", rounded down" : "");
  }
  out.threads = std::min(out.threads, most_threads);
  if (omp_num_threads && valid(omp_num_threads).value_or(0) != out.threads)
    out.notes.push_back(text("OMP_NUM_THREADS=", std::string_view(omp_num_threads).substr(0, 60),
                             " has no effect: set GRAFT_NUM_THREADS"));
  return out;
}

const ThreadCount& default_threads(bool hyper_threads) {
  static const ThreadCount counts[] = {
      threads_for(this_machine(), std::getenv("GRAFT_NUM_THREADS"), std::getenv("OMP_NUM_THREADS"), false),
      threads_for(this_machine(), std::getenv("GRAFT_NUM_THREADS"), std::getenv("OMP_NUM_THREADS"), true)};
  return counts[hyper_threads];
}

}  // namespace graft
