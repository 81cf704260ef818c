#include "base/guard.hpp"

#include <cxxabi.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <graft/app/log.hpp>

#include "base/error.hpp"
#include "base/running.hpp"

namespace graft {
namespace {

// `begin` is set last and cleared first, so that the handler sees whole entries only.
struct Mapping {
  std::atomic<uintptr_t> begin{0};
  std::atomic<uintptr_t> end{0};
  std::atomic<bool> lost{false};
  std::array<char, 512> path{};
};
struct Temporary {
  enum State { free, being_filled, guarded };
  std::atomic<int> state{free};
  std::array<char, 4096> path{};
};
constexpr size_t max_mappings = 1024, max_temporaries = 16;
std::array<Mapping, max_mappings> mappings;
std::array<Temporary, max_temporaries> temporaries;
std::atomic<bool> any_lost{false};
std::atomic<int> uninterrupted_steps{0}, waiting_signal{0};
constexpr std::array ending_signals{SIGINT, SIGTERM, SIGHUP, SIGXCPU};
std::array<struct sigaction, ending_signals.size()> before;
struct sigaction before_bus;
constexpr std::array crash_signals{SIGSEGV, SIGFPE, SIGILL, SIGABRT};
std::array<struct sigaction, crash_signals.size()> before_crash;

Mapping* mapping_with(uintptr_t address) {
  for (Mapping& m : mappings)
    if (uintptr_t begin = m.begin.load(); begin && begin <= address && address < m.end.load()) return &m;
  return nullptr;
}

void on_crash(int signal, siginfo_t*, void*);

std::terminate_handler before_terminate = nullptr;
std::atomic<bool> terminating{false};  // and the reason was printed

// An uncaught exception, for example on a thread that a kernel started.
void on_terminate() {
  std::string reason = "terminated";
  if (std::exception_ptr thrown = std::current_exception()) try {
      std::rethrow_exception(thrown);
    } catch (const std::exception& e) {
      reason = text("uncaught exception: ", e.what());
    } catch (...) {
      const std::type_info* type = abi::__cxa_current_exception_type();
      int failed = 0;
      char* readable = type ? abi::__cxa_demangle(type->name(), nullptr, nullptr, &failed) : nullptr;
      reason = text("uncaught exception of type ", readable ? readable : type ? type->name() : "unknown");
      std::free(readable);
    }
  terminating = print_crash(reason);
  if (before_terminate) before_terminate();
  std::abort();
}

void on_bus_error(int, siginfo_t* info, void*) {
  int kept = errno;
  auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  Mapping* m = mapping_with(address);
  auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  void* at = reinterpret_cast<void*>(address / page * page);
  if (m && ::mmap(at, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED) {
    m->lost = true;
    any_lost = true;
    errno = kept;
    return;
  }
  on_crash(SIGBUS, info, nullptr);
}

void on_end(int signal) {
  waiting_signal = signal;  // before looking at the steps, so that the last one to end sees it
  if (uninterrupted_steps > 0) return;
  waiting_signal = 0;
  for (Temporary& t : temporaries)
    if (t.state.load() == Temporary::guarded) ::unlink(t.path.data());
  for (size_t i = 0; i < ending_signals.size(); ++i)
    if (ending_signals[i] == signal) ::sigaction(signal, &before[i], nullptr);
  ::raise(signal);
}

// Says which kernel crashed, then lets the signal take its course. Only functions that are safe in a handler.
void on_crash(int signal, siginfo_t*, void*) {
  static std::atomic<pid_t> reporter{0};
  pid_t none = 0, self = ::gettid();
  bool first = reporter.compare_exchange_strong(none, self);
  while (!first && none != self) ::pause();  // another thread reports; the process is about to end
  const char* name = ::sigdescr_np(signal);
  if (first && !terminating) print_crash(name ? name : "unknown signal");
  for (Temporary& t : temporaries)
    if (t.state.load() == Temporary::guarded) ::unlink(t.path.data());
  for (size_t i = 0; i < crash_signals.size(); ++i)
    if (crash_signals[i] == signal) ::sigaction(signal, &before_crash[i], nullptr);
  if (signal == SIGBUS) ::sigaction(signal, &before_bus, nullptr);
  ::raise(signal);
}

template <size_t n>
bool put(std::array<char, n>& to, const std::string& s, bool cut) {
  if (s.size() >= n && !cut) return false;
  size_t count = std::min(s.size(), n - 1);
  std::memcpy(to.data(), s.data(), count);
  to[count] = 0;
  return true;
}

// A kernel that calls exit would end the program as if all was well: it ends as after an uncaught exception.
void on_exit_in_kernel() {
  if (!running_kernel) return;
  terminating = print_crash("exit was called");
  std::abort();
}

}  // namespace

void guard_files() {
  struct sigaction bus {};
  bus.sa_sigaction = on_bus_error;
  bus.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
  ::sigaction(SIGBUS, &bus, &before_bus);
  ::signal(SIGXFSZ, SIG_IGN);  // writing fails instead, and what was begun is removed
  for (size_t i = 0; i < ending_signals.size(); ++i) {
    struct sigaction end {};
    end.sa_handler = on_end;
    ::sigaction(ending_signals[i], nullptr, &before[i]);
    if (before[i].sa_handler != SIG_IGN) ::sigaction(ending_signals[i], &end, nullptr);
  }
}

void report_crashes() {
  for (size_t i = 0; i < crash_signals.size(); ++i) {
    struct sigaction crash {};
    crash.sa_sigaction = on_crash;
    crash.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    ::sigaction(crash_signals[i], nullptr, &before_crash[i]);
    // Whoever has a handler, such as a sanitizer, knows better.
    if (before_crash[i].sa_handler == SIG_DFL) ::sigaction(crash_signals[i], &crash, nullptr);
  }
  if (!crashes_reported.exchange(true)) std::atexit(on_exit_in_kernel);
  if (std::get_terminate() != on_terminate) before_terminate = std::set_terminate(on_terminate);
}

UninterruptedStep::UninterruptedStep() { ++uninterrupted_steps; }
UninterruptedStep::~UninterruptedStep() {
  if (--uninterrupted_steps > 0) return;
  if (int signal = waiting_signal.exchange(0)) ::raise(signal);
}

void check_files() {
  if (!any_lost) return;
  for (Mapping& m : mappings)
    if (m.begin && m.lost)
      throw_io("'", static_cast<const char*>(m.path.data()), "' became shorter while it was being read");
}

void guard_mapping(const void* begin, size_t size, const std::string& path) {
  for (Mapping& m : mappings) {
    uintptr_t none = 0;
    // 1 is no address of a mapping: the entry is taken, and not valid yet.
    if (!m.begin.compare_exchange_strong(none, 1)) continue;
    m.lost = false;
    put(m.path, path, true);
    m.end = reinterpret_cast<uintptr_t>(begin) + size;
    m.begin = reinterpret_cast<uintptr_t>(begin);
    return;
  }
}

void release_mapping(const void* begin) {
  for (Mapping& m : mappings)
    if (m.begin == reinterpret_cast<uintptr_t>(begin)) {
      m.end = 0;
      m.begin = 0;
      return;
    }
}

int guard_temporary(const std::string& path) {
  for (size_t i = 0; i < temporaries.size(); ++i) {
    int free = Temporary::free;
    if (!temporaries[i].state.compare_exchange_strong(free, Temporary::being_filled)) continue;
    if (!put(temporaries[i].path, path, false)) {
      temporaries[i].state = Temporary::free;
      return -1;
    }
    temporaries[i].state = Temporary::guarded;
    return static_cast<int>(i);
  }
  return -1;
}

void release_temporary(int slot) {
  if (slot >= 0) temporaries[static_cast<size_t>(slot)].state = Temporary::free;
}

}  // namespace graft
