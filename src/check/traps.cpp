#include "check/traps.hpp"

#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>

namespace graft::testing {
namespace {

// `begin` is set last and cleared first, so that the handler sees whole entries only.
struct Zone {
  std::atomic<uintptr_t> begin{0}, end{0}, accessed{0};
  std::atomic<int> write{-1};  // 0: a read, 1: a write, -1: not known
};
std::array<Zone, 512> zones;
std::atomic<WriteWatch*> watch{nullptr};

std::mutex installing;
int installed = 0;
struct sigaction segv_before, trap_before;

uintptr_t this_thread() { return static_cast<uintptr_t>(::pthread_self()); }

// Whether the access that failed was a write; -1 where that is not known.
int is_write([[maybe_unused]] void* context) {
#if defined(__x86_64__)
  return static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & 2 ? 1 : 0;
#else
  return -1;
#endif
}

constexpr bool can_step =
#if defined(__x86_64__)
    true;
#else
    false;
#endif
void step([[maybe_unused]] void* context, [[maybe_unused]] bool on) {
#if defined(__x86_64__)
  constexpr greg_t trap_flag = 0x100;
  greg_t& flags = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL];
  flags = on ? flags | trap_flag : flags & ~trap_flag;
#endif
}

// Whether the next instruction is atomic: one with the prefix LOCK, or XCHG.
bool is_atomic([[maybe_unused]] void* context) {
#if defined(__x86_64__)
  const auto* p = reinterpret_cast<const uint8_t*>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
  constexpr uint8_t lock = 0xF0, prefixes[] = {0x26, 0x2E, 0x36, 0x3E, 0x64, 0x65, 0x66, 0x67, 0xF2, 0xF3};
  while (std::find(std::begin(prefixes), std::end(prefixes), *p) != std::end(prefixes)) ++p;
  if (*p == lock) return true;
  if ((*p & 0xF0) == 0x40) ++p;  // REX
  return *p == 0x86 || *p == 0x87;
#else
  return true;
#endif
}

bool open_zone(uintptr_t at, void* context) {
  for (Zone& z : zones) {
    uintptr_t begin = z.begin.load();
    if (begin <= 1 || at < begin || at >= z.end.load()) continue;
    uintptr_t none = 0;
    if (z.accessed.compare_exchange_strong(none, at)) z.write = is_write(context);
    return ::mprotect(reinterpret_cast<void*>(begin), z.end.load() - begin, PROT_READ | PROT_WRITE) == 0;
  }
  return false;
}

}  // namespace

// What the handlers do with a watch; only functions that are safe in a handler.
struct WatchHandlers {
  static bool written(WriteWatch& w, uintptr_t at, void* context) {
    size_t left = 0;  // bytes from here to the end of the pages
    for (const Pages& p : w.pages_) {
      auto begin = reinterpret_cast<uintptr_t>(p.begin);
      if (begin <= at && at < begin + p.bytes) left = begin + p.bytes - at;
    }
    if (!left) return false;
    w.protect(true);
    if (this_thread() != w.thread_) return w.open_ = true;
    if (++w.writes_ == w.at_ && w.moment_ == WriteWatch::Moment::before) {
      if (!can_step || is_atomic(context)) w.pause();
      w.written_.address = reinterpret_cast<uint8_t*>(at);
      w.written_.bytes = std::min(left, sizeof w.written_.content);
      std::memcpy(w.written_.content, w.written_.address, w.written_.bytes);
    }
    if (!can_step || w.writes_ >= WriteWatch::most_writes) w.open_ = true;
    if (!w.open_) step(context, true);
    return true;
  }
  // One instruction after a write.
  static bool stepped(WriteWatch& w, void* context) {
    if (this_thread() != w.thread_) return false;
    step(context, false);
    if (w.open_) return true;
    if (w.writes_ == w.at_) w.moment_ == WriteWatch::Moment::after ? w.pause() : w.pause_before();
    if (!w.open_) w.protect(false);
    return true;
  }
};

namespace {

void on_segv(int, siginfo_t* info, void* context) {
  int kept = errno;
  auto at = reinterpret_cast<uintptr_t>(info->si_addr);
  WriteWatch* w = watch.load();
  bool ours =
      info->si_code == SEGV_ACCERR && (open_zone(at, context) || (w && WatchHandlers::written(*w, at, context)));
  // The instruction runs again, and gets to the handler that was there before.
  if (!ours) ::sigaction(SIGSEGV, &segv_before, nullptr);
  errno = kept;
}

void on_trap(int, siginfo_t*, void* context) {
  int kept = errno;
  WriteWatch* w = watch.load();
  if (!w || !WatchHandlers::stepped(*w, context)) {
    ::sigaction(SIGTRAP, &trap_before, nullptr);
    ::raise(SIGTRAP);
  }
  errno = kept;
}

}  // namespace

size_t page_size() {
  static const auto size = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

TrapHandlers::TrapHandlers() {
  std::lock_guard lock(installing);
  if (installed++) return;
  struct sigaction a {};
  a.sa_flags = SA_SIGINFO | SA_ONSTACK;
  a.sa_sigaction = on_segv;
  ::sigaction(SIGSEGV, &a, &segv_before);
  a.sa_sigaction = on_trap;
  ::sigaction(SIGTRAP, &a, &trap_before);
}

TrapHandlers::~TrapHandlers() {
  std::lock_guard lock(installing);
  if (--installed) return;
  ::sigaction(SIGSEGV, &segv_before, nullptr);
  ::sigaction(SIGTRAP, &trap_before, nullptr);
}

void ForbiddenPages::close(void* begin, size_t bytes) {
  open();
  for (size_t i = 0; i < zones.size(); ++i) {
    uintptr_t none = 0;
    // 1 is no address: the entry is taken, and not valid yet.
    if (!zones[i].begin.compare_exchange_strong(none, 1)) continue;
    zones[i].accessed = 0;
    zones[i].write = -1;
    zones[i].end = reinterpret_cast<uintptr_t>(begin) + bytes;
    zones[i].begin = reinterpret_cast<uintptr_t>(begin);
    slot_ = i;
    ::mprotect(begin, bytes, PROT_NONE);
    return;
  }
}

std::optional<ForbiddenPages::Access> ForbiddenPages::open() {
  if (slot_ == SIZE_MAX) return std::nullopt;
  Zone& z = zones[slot_];
  slot_ = SIZE_MAX;
  uintptr_t begin = z.begin.load(), accessed = z.accessed.load();
  int write = z.write.load();
  ::mprotect(reinterpret_cast<void*>(begin), z.end.load() - begin, PROT_READ | PROT_WRITE);
  z.begin = 0;
  if (!accessed) return std::nullopt;
  return Access{accessed, write < 0 ? std::nullopt : std::optional(write == 1)};
}

void WriteWatch::protect(bool writable) const {
  for (const Pages& p : pages_) ::mprotect(p.begin, p.bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ);
}

void WriteWatch::pause() {
  open_ = true;
  protect(true);
  meanwhile_(arg_);
}

// The instruction has run; what it wrote comes after what happens meanwhile, as if it had read before.
void WriteWatch::pause_before() {
  uint8_t now[sizeof written_.content];
  std::memcpy(now, written_.address, written_.bytes);
  std::memcpy(written_.address, written_.content, written_.bytes);
  pause();
  for (size_t i = 0; i < written_.bytes; ++i)
    if (now[i] != written_.content[i]) written_.address[i] = now[i];
}

size_t WriteWatch::run(void (*work)(void*), void* arg, Moment moment, size_t at, void (*meanwhile)(void*)) {
  thread_ = this_thread();
  writes_ = 0, at_ = at, moment_ = moment, open_ = false, meanwhile_ = meanwhile, arg_ = arg;
  watch = this;
  protect(false);
  work(arg);
  protect(true);
  watch = nullptr;
  return writes_;
}

std::vector<Pages> static_data_of(const void* function) {
  struct Search {
    uintptr_t function;
    std::vector<Pages> found;
  } search{reinterpret_cast<uintptr_t>(function), {}};
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* arg) {
        auto& s = *static_cast<Search*>(arg);
        bool here = false;
        uintptr_t read_only = 0;  // where the part ends that is writable only while the library is loaded
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& h = info->dlpi_phdr[i];
          uintptr_t begin = info->dlpi_addr + h.p_vaddr, end = begin + h.p_memsz;
          if (h.p_type == PT_LOAD && begin <= s.function && s.function < end) here = true;
          if (h.p_type == PT_GNU_RELRO) read_only = end / page_size() * page_size();
        }
        if (!here) return 0;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& h = info->dlpi_phdr[i];
          if (h.p_type != PT_LOAD || !(h.p_flags & PF_W)) continue;
          uintptr_t begin = info->dlpi_addr + h.p_vaddr, end = begin + h.p_memsz;
          begin = std::max(begin / page_size() * page_size(), read_only);
          end = (end + page_size() - 1) / page_size() * page_size();
          if (begin < end) s.found.push_back({reinterpret_cast<void*>(begin), end - begin});
        }
        return 1;
      },
      &search);
  return search.found;
}

}  // namespace graft::testing
