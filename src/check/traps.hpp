// Pages that may not be touched, or not be written: a handler of SIGSEGV notices who does so, and lets it continue.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace graft::testing {

size_t page_size();

// The handlers of the process, as long as one of these exists. An access that is no business of ours goes to the
// handler that was there before.
class TrapHandlers {
 public:
  TrapHandlers();
  ~TrapHandlers();
  TrapHandlers(const TrapHandlers&) = delete;
};

// Whole pages that are inaccessible while they are closed. Needs TrapHandlers.
class ForbiddenPages {
 public:
  struct Access {
    uintptr_t address;
    std::optional<bool> write;  // none: the processor does not say
  };

  ForbiddenPages() = default;
  ~ForbiddenPages() { open(); }
  ForbiddenPages(const ForbiddenPages&) = delete;
  ForbiddenPages& operator=(const ForbiddenPages&) = delete;

  void close(void* begin, size_t bytes);
  // Gives the first access since they were closed; it has opened them.
  std::optional<Access> open();

 private:
  size_t slot_ = SIZE_MAX;
};

struct Pages {
  void* begin;
  size_t bytes;
};

// Writes of one thread to pages that it may otherwise use. Needs TrapHandlers. One watch at a time.
class WriteWatch {
 public:
  enum class Moment { never, before, after };
  static constexpr size_t most_writes = 4096;  // that are counted

  explicit WriteWatch(std::vector<Pages> pages) : pages_(std::move(pages)) {}
  WriteWatch(const WriteWatch&) = delete;

  // Runs work(arg) on this thread and counts its writes; before or after number `at` (from 1), calls meanwhile(arg).
  // Before an instruction that reads and writes, without being atomic, means between the two. Where the processor
  // cannot run a single instruction, only the first write is seen.
  size_t run(void (*work)(void*), void* arg, Moment moment, size_t at, void (*meanwhile)(void*));

 private:
  friend struct WatchHandlers;
  void protect(bool writable) const;
  void pause();
  void pause_before();

  // What an instruction may write, as it was before.
  struct Written {
    uint8_t* address = nullptr;
    size_t bytes = 0;
    uint8_t content[64];
  };

  std::vector<Pages> pages_;
  uintptr_t thread_ = 0;
  size_t writes_ = 0, at_ = 0;
  Moment moment_ = Moment::never;
  bool open_ = false;  // for good
  void (*meanwhile_)(void*) = nullptr;
  void* arg_ = nullptr;
  Written written_;
};

// The static data, which can be written, of the library that contains this function. Empty: it is not found.
std::vector<Pages> static_data_of(const void* function);

}  // namespace graft::testing
