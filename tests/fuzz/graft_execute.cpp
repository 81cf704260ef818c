// Mutates models, imports and runs them, and keeps those that end badly.
//
//   graft_execute --format FORMAT --corpus DIR [--seconds N] [--count N] [--seed S] [--jobs N] [--findings DIR]
//       [--memory MB]
//   graft_execute --format FORMAT --corpus DIR --enumerate ranks|attributes|lengths|inputs [--one-per-type] ...
//   graft_execute --format FORMAT [--inputs NAME=V,V...;NAME=...] FILE...     runs files again, in this process
//
// The format is onnx, ir, tensorflow, caffe, mxnet or kaldi. `--device GPU` compares the GPU instead of the CPU with
// REFERENCE. A corpus is mutated for N seconds, or until there were N inputs.
//
// Workers run in processes of their own, so that one that crashes, hangs or grows is only a finding. Exit code: 0
// without a finding, 1 with one.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "enumerate.hpp"
#include "execute.hpp"
#include "mutate.hpp"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1  // as GCC says it
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
extern "C" const char* __asan_default_options() {
  return "allocator_may_return_null=1:max_allocation_size_mb=1024:detect_leaks=0:handle_abort=1:quarantine_size_mb=16:"
         "malloc_context_size=6";
}
extern "C" const char* __ubsan_default_options() { return "print_stacktrace=1"; }
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

namespace graft::fuzzing {
namespace {

namespace fs = std::filesystem;

constexpr size_t most_bytes = 1 << 20;  // of an input
constexpr size_t seed_bytes = 1 << 16;  // of a seed
constexpr int64_t most_seconds = 30;    // of processor time for one input; ten times as long by the clock

struct Options {
  Format format = Format::onnx;
  std::string corpus, findings = "findings";
  int64_t seconds = 60, jobs = 1, count = INT64_MAX;
  int64_t megabytes = 3072;  // of memory that a worker may take
  OtherDevice device = OtherDevice::cpu;
  GivenInputs inputs;
  uint64_t seed = 1;
  std::optional<Enumeration> enumeration;
  bool one_per_type = false;
  std::vector<std::string> files;
};

int64_t now() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// The processor time of a process, in milliseconds.
int64_t used_by(pid_t pid) {
  clockid_t clock;
  timespec t{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) != 0) return 0;
  return int64_t{t.tv_sec} * 1000 + t.tv_nsec / 1'000'000;
}

// What a worker shares with the parent, so that the input outlives a crash.
struct Shared {
  int64_t started = 0;  // when the current input began; 0: between inputs
  uint64_t number = 0;  // of the current input
  Counts counts{};
  uint64_t findings = 0;
  uint64_t size = 0;
  bool done = false;
  char given[4096] = {};  // as --inputs takes it
  char bytes[most_bytes];
};

// ---- findings ----

std::string without_digits(std::string_view s) {
  std::string out;
  for (char c : s)
    if (c < '0' || c > '9') out += c;
  return out;
}
// The places in our sources that a sanitizer's report names first, or the message itself.
std::string signature_of(const Options& o, std::string_view bytes, const std::string& kind, std::string_view log) {
  std::string out;
  int frames = 0;
  for (std::string_view line : split(log, '\n')) {
    if (line.find("runtime error:") != line.npos) out += line.substr(0, line.find(": runtime error"));
    bool frame = line.find(" in ") != line.npos &&
                 (line.find("/src/") != line.npos || line.find("/include/graft/") != line.npos);
    if (frame && frames++ < 2) out += line.substr(line.rfind(' '));
  }
  if (frames) return kind + out;
  std::set<std::string> types;  // of layers
  Document d = parse(o.format, bytes);
  for (Tree* l : layers_of(d))
    if (Tree* t = type_of(d, *l); t && t->text()) types.insert(*t->text());
  out = without_digits(log.substr(0, std::min({log.find('\n'), log.find("; while"), size_t{60}})));
  if (kind == "values" || kind == "crash")
    for (const std::string& t : types) out += " " + t;
  return kind + out;
}

void write_file(const std::string& path, std::string_view content) {
  OutputFile f(path);
  f.write(content);
  f.commit();
}

// Keeps one input per signature; true when it is the first.
bool save(const Options& o, std::string_view bytes, const std::string& kind, std::string log, std::string_view given) {
  if (!given.empty()) log += text("\nwith --inputs '", given, "'\n");
  uint64_t h = 1469598103934665603u;
  for (char c : signature_of(o, bytes, kind, log)) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
  std::string name = kind;
  std::replace(name.begin(), name.end(), ' ', '_');
  char id[32];
  std::snprintf(id, sizeof id, "%016llx", static_cast<unsigned long long>(h));
  std::string path = text(o.findings, "/", name_of(o.format), "-", name, "-", id);
  if (fs::exists(path + ".txt")) return false;
  write_file(path, bytes);
  write_file(path + ".txt", log);
  std::printf("finding: %s\n  %.300s\n", path.c_str(), log.c_str());
  std::fflush(stdout);
  return true;
}

// ---- workers ----

class Worker {
 public:
  Worker(const Options& o, std::vector<Document>& seeds, Shared& shared, int64_t index)
      : o_(o), seeds_(seeds), shared_(shared), index_(index) {}

  // From input `first` on.
  void work(uint64_t first, int64_t until) {
    if (o_.enumeration) enumerate_all(first);
    else mutate_all(first, until);
    shared_.done = true;
  }

 private:
  void run(const std::string& bytes, uint64_t number, const GivenInputs& given = {}) {
    std::string inputs = text_of(given);
    if (bytes.size() > most_bytes || inputs.size() >= sizeof shared_.given) return;
    std::memcpy(shared_.given, inputs.c_str(), inputs.size() + 1);
    std::memcpy(shared_.bytes, bytes.data(), bytes.size());
    shared_.size = bytes.size();
    shared_.number = number;
    shared_.started = now();
    if (auto f = execute(o_.format, bytes, shared_.counts, given, o_.device)) {
      ++shared_.findings;
      save(o_, bytes, f->kind, f->message, inputs);
    }
    shared_.started = 0;
  }

  void mutate_all(uint64_t first, int64_t until) {
    std::vector<Document> grown;  // what ran, as the beginning of more
    auto last = static_cast<uint64_t>(o_.count / o_.jobs + (index_ < o_.count % o_.jobs));
    for (uint64_t n = first; now() < until && n < last; ++n) {
      Random r((o_.seed * 1'000'003 + static_cast<uint64_t>(index_)) * 0x9e3779b97f4a7c15 + n);
      bool deeper = !grown.empty() && r.one_in(3);
      Document d = deeper ? r.pick(grown) : r.pick(seeds_);
      mutate(d, r, seeds_);
      uint64_t before = shared_.counts[compared];
      run(print(d), n);
      if (shared_.counts[compared] == before || !r.one_in(4)) continue;
      if (grown.size() < 200) grown.push_back(std::move(d));
      else r.pick(grown) = std::move(d);
    }
  }

  void enumerate_all(uint64_t first) {
    Vocabulary vocabulary = attributes_in(seeds_);
    uint64_t number = 0;
    for (const Document& seed : seeds_)
      enumerate(*o_.enumeration, seed, vocabulary, [&](const Document& d, const GivenInputs& given) {
        uint64_t n = number++;
        if (n >= first && n % static_cast<uint64_t>(o_.jobs) == static_cast<uint64_t>(index_)) run(print(d), n, given);
      });
  }

  const Options& o_;
  std::vector<Document>& seeds_;
  Shared& shared_;
  int64_t index_;
};

size_t memory_of(pid_t pid) {
  std::FILE* f = std::fopen(text("/proc/", int64_t{pid}, "/statm").c_str(), "r");
  long total = 0, resident = 0;
  if (f && std::fscanf(f, "%ld %ld", &total, &resident) != 2) resident = 0;
  if (f) std::fclose(f);
  return static_cast<size_t>(resident) * 4096;
}

class Parent {
 public:
  Parent(const Options& o, std::vector<Document>& seeds)
      : o_(o), seeds_(seeds), started_(now()), until_(started_ + o.seconds * 1000) {}

  int run() {
    slots_.resize(static_cast<size_t>(o_.jobs));
    for (size_t i = 0; i < slots_.size(); ++i) {
      void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
      slots_[i].shared = new (memory) Shared;
      start(i, 0);
    }
    for (size_t running = slots_.size(); running > 0;) {
      usleep(50'000);
      for (size_t i = 0; i < slots_.size(); ++i)
        if (slots_[i].pid && !look_after(i)) --running;
    }
    return report();
  }

 private:
  struct Slot {
    pid_t pid = 0;
    Shared* shared = nullptr;
    std::string log, reason;
    int64_t started = 0, used = 0;  // the input that runs, and the processor time when it began

    // Whether the current input takes too long, by `more` milliseconds. A busy machine is no reason.
    bool is_late(int64_t more = 0) {
      if (shared->started != started) started = shared->started, used = used_by(pid);
      if (!started) return false;
      return used_by(pid) - used > most_seconds * 1000 + more || now() - started > most_seconds * 10'000 + more;
    }
  };

  void start(size_t i, uint64_t first) {
    Slot& s = slots_[i];
    s.log = text(o_.findings, "/worker", i, ".log");
    s.reason.clear();
    s.shared->started = 0;
    std::fflush(stdout);
    s.pid = fork();
    if (s.pid) return;
    int log = open(s.log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    dup2(log, 2);
    rlimit none{0, 0}, memory{size_t{6} << 30, size_t{6} << 30};
    setrlimit(RLIMIT_CORE, &none);
    if (!sanitized) setrlimit(RLIMIT_AS, &memory);
    Worker(o_, seeds_, *s.shared, static_cast<int64_t>(i)).work(first, until_);
    std::fflush(stdout);
    _exit(0);
  }

  // False when the worker is through with its part.
  bool look_after(size_t i) {
    Slot& s = slots_[i];
    int status = 0;
    if (waitpid(s.pid, &status, WNOHANG) == 0) {
      if (s.reason.empty() && s.is_late()) {
        s.reason = "timeout";
        kill(s.pid, SIGABRT);
      } else if (s.is_late(10'000)) {
        kill(s.pid, SIGKILL);
      } else if (memory_of(s.pid) > static_cast<size_t>(o_.megabytes) << 20 && s.reason.empty()) {
        s.reason = "memory";
        kill(s.pid, SIGABRT);
      }
      return true;
    }
    s.pid = 0;
    if (s.shared->done) return false;
    ++s.shared->findings;
    std::string log = read_text_file(s.log);
    std::string kind = !s.reason.empty() ? s.reason : log.find("runtime error:") != log.npos ? "undefined" : "crash";
    if (log.empty()) log = text("ended by signal ", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    save(o_, {s.shared->bytes, s.shared->size}, kind, log, s.shared->given);
    if (!o_.enumeration && now() >= until_) return false;
    start(i, s.shared->number + 1);
    return true;
  }

  int report() {
    Counts sum{};
    uint64_t findings = 0;
    for (Slot& s : slots_) {
      for (size_t c = 0; c < count_size; ++c) sum[c] += s.shared->counts[c];
      findings += s.shared->findings;
      std::error_code ec;
      fs::remove(s.log, ec);
    }
    std::string line;
    for (size_t c = 0; c < count_size; ++c)
      if (sum[c]) line += text(line.empty() ? "" : ", ", count_names[c], " ", sum[c]);
    std::printf("%s: %s, findings %llu, in %lld s\n", std::string(name_of(o_.format)).c_str(), line.c_str(),
                static_cast<unsigned long long>(findings), static_cast<long long>((now() - started_ + 999) / 1000));
    return findings ? 1 : 0;
  }

  const Options& o_;
  std::vector<Document>& seeds_;
  int64_t started_, until_;
  std::vector<Slot> slots_;
};

// ---- the command line ----

Options parse_options(int argc, char** argv) {
  Options o;
  bool timed = false;
  for (int i = 1; i < argc; ++i) {
    std::string a = argv[i];
    auto value = [&]() -> std::string {
      if (i + 1 >= argc) throw_user("expected a value after ", a);
      return argv[++i];
    };
    auto number = [&] {
      std::string v = value();
      auto n = parse_int(v);
      if (!n || *n < 0) throw_user("expected a number after ", a, ", got '", v, "'");
      return *n;
    };
    if (a == "--format") o.format = format_named(value());
    else if (a == "--corpus") o.corpus = value();
    else if (a == "--findings") o.findings = value();
    else if (a == "--seconds") o.seconds = number(), timed = true;
    else if (a == "--jobs") o.jobs = std::max<int64_t>(1, number());
    else if (a == "--seed") o.seed = static_cast<uint64_t>(number());
    else if (a == "--one-per-type") o.one_per_type = true;
    else if (a == "--enumerate") o.enumeration = enumeration_named(value());
    else if (a == "--inputs") o.inputs = given_inputs(value());
    else if (a == "--count") o.count = number();
    else if (a == "--memory") o.megabytes = number();
    else if (a == "--device") {
      std::string v = value();
      if (v != "CPU" && v != "GPU") throw_user("expected CPU or GPU, got '", v, "'");
      o.device = v == "CPU" ? OtherDevice::cpu : OtherDevice::gpu;
    } else if (a.starts_with("--")) throw_user("unknown option ", a);
    else o.files.push_back(a);
  }
  if (o.count != INT64_MAX && !timed) o.seconds = INT32_MAX;
  if (o.corpus.empty() == o.files.empty()) throw_user("expected --corpus DIR, or files to run again");
  return o;
}

// All files below the folder, in order; with one_per_type only the first with a layer of a new type.
std::vector<Document> read_seeds(const Options& o) {
  std::vector<std::string> paths;
  for (const auto& e : fs::recursive_directory_iterator(o.corpus))
    if (e.is_regular_file() && e.file_size() <= seed_bytes) paths.push_back(e.path().string());
  std::sort(paths.begin(), paths.end());
  std::vector<Document> out;
  std::set<std::string> types;
  for (const std::string& p : paths) try {
      Document d = parse(o.format, read_text_file(p));
      bool fresh = false;
      for (const std::string& kind : kinds_in(d, o.enumeration.value_or(Enumeration::ranks)))
        fresh |= types.insert(kind).second;
      if (fresh || !o.one_per_type) out.push_back(std::move(d));
    } catch (const Error&) {  // seeds of the readers are broken on purpose
    }
  if (out.empty()) throw_user("expected seeds in '", o.corpus, "'");
  std::printf("%zu seeds, %zu kinds of layers\n", out.size(), types.size());
  return out;
}

int replay(const Options& o) {
  int failed = 0;
  for (const std::string& path : o.files) {
    Counts counts{};
    auto f = execute(o.format, read_text_file(path), counts, o.inputs, o.device);
    failed += f.has_value();
    if (f) std::printf("%s: %s: %s\n", path.c_str(), f->kind.c_str(), f->message.c_str());
    for (size_t c = 1; c < count_size && !f; ++c)
      if (counts[c]) std::printf("%s: %s\n", path.c_str(), std::string(count_names[c]).c_str());
  }
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace graft::fuzzing

int main(int argc, char** argv) {
  using namespace graft;
  using namespace graft::fuzzing;
  setenv("GRAFT_NUM_THREADS", "2", 0);
  try {
    Options o = parse_options(argc, argv);
    if (!o.files.empty()) return replay(o);
    make_folder(o.findings);
    std::vector<Document> seeds = read_seeds(o);
    return Parent(o, seeds).run();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 2;
  }
}
