#include "base/running.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace graft {
namespace {

// A table of fixed size, because a signal handler reads it: a thread that does not fit is not listed.
struct Listed {
  std::atomic<bool> taken{false};
  std::atomic<const RunningKernel*> kernel{nullptr};
};
constexpr size_t most_threads = 1024;
std::array<Listed, most_threads> threads;

class ThisThread {
 public:
  ThisThread() {
    for (Listed& t : threads)
      if (!t.taken.exchange(true)) {
        listed_ = &t;
        break;
      }
    stack_t now{};
    if (::sigaltstack(nullptr, &now) != 0 || !(now.ss_flags & SS_DISABLE)) return;  // it has one, such as a sanitizer's
    void* memory = ::mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    stack_t own{};
    own.ss_sp = memory, own.ss_size = stack_bytes;
    if (::sigaltstack(&own, nullptr) == 0) stack_ = memory;
    else ::munmap(memory, stack_bytes);
  }
  ~ThisThread() {
    if (listed_) listed_->kernel = nullptr, listed_->taken = false;
    stack_t now{};
    if (!stack_ || ::sigaltstack(nullptr, &now) != 0 || now.ss_sp != stack_) return;
    now = {};
    now.ss_flags = SS_DISABLE;
    if (::sigaltstack(&now, nullptr) == 0) ::munmap(stack_, stack_bytes);
  }
  ThisThread(const ThisThread&) = delete;
  void set(const RunningKernel* k) {
    if (listed_) listed_->kernel.store(k, std::memory_order_relaxed);
  }

 private:
  static constexpr size_t stack_bytes = 64 << 10;
  Listed* listed_ = nullptr;
  void* stack_ = nullptr;
};

void print(std::string_view s) { (void)!::write(STDERR_FILENO, s.data(), s.size()); }

void print_line(const RunningKernel& k, std::string_view crashed, std::string_view reason, std::string_view where) {
  for (std::string_view part : {std::string_view("error: the kernel '"), k.kernel, std::string_view("' of "), k.library,
                                crashed, reason, std::string_view(") while running '"), k.node, std::string_view("' ("),
                                k.type, std::string_view(")"), where, std::string_view("\n")})
    print(part);
}

}  // namespace

void list_running(const RunningKernel* kernel) {
  static thread_local ThisThread own;
  own.set(kernel);
}

bool print_crash(std::string_view reason) {
  if (const RunningKernel* k = running_kernel) {
    print_line(*k, " crashed (", reason, "");
    return true;
  }
  constexpr size_t most = 8;
  std::array<const RunningKernel*, most> found{};
  size_t count = 0;
  for (Listed& t : threads)
    if (const RunningKernel* k = t.kernel.load(std::memory_order_relaxed))
      if (count < most && std::find(found.begin(), found.begin() + count, k) == found.begin() + count)
        found[count++] = k;
  for (size_t i = 0; i < count; ++i)
    print_line(*found[i], count == 1 ? " crashed (" : " or another one crashed (", reason, ", on another thread");
  return count > 0;
}

}  // namespace graft
