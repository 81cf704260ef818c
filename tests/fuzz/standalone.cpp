// A main program for the fuzz targets where there is no libFuzzer: mutates seeds, without feedback, in child processes.
//
//   fuzz_kaldi CORPUS SECONDS FINDINGS    exit status 1 if there are findings: crashes, traps, and inputs that take 20
//   s fuzz_kaldi FILE                       runs a finding again
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int batch = 2000, most_findings = 20, seconds_each = 20;

std::string content(const fs::path& p) {
  std::ifstream f(p, std::ios::binary);
  return {std::istreambuf_iterator<char>(f), {}};
}
void run(const std::string& s) { LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(s.data()), s.size()); }

bool in_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}
// Begin and length of a word at or behind a place; length 0 if there is none.
std::pair<size_t, size_t> word_at(const std::string& s, size_t at) {
  while (at < s.size() && !in_word(s[at])) ++at;
  size_t end = at;
  while (end < s.size() && in_word(s[end])) ++end;
  return {at, end - at};
}

class Mutator {
 public:
  explicit Mutator(const fs::path& corpus) {
    for (const auto& e : fs::recursive_directory_iterator(corpus))
      if (e.is_regular_file()) seeds_.push_back(content(e.path()));
    for (const std::string& s : seeds_)
      for (size_t at = 0; at < s.size() && words_.size() < 100'000;) {
        auto [begin, length] = word_at(s, at);
        if (length && length < 64) words_.push_back(s.substr(begin, length));
        at = begin + length + 1;
      }
    for (const char* w : {"0", "-1", "1", "2147483647", "-2147483648", "4294967296", "9223372036854775807", "1e30",
                          "nan", "None", "True", "", "()", "(0, 0)", "(2147483647, 2147483647)", "[]"})
      for (int i = 0; i < 200; ++i) words_.push_back(w);
  }
  bool empty() const { return seeds_.empty(); }
  void start(uint64_t seed) { random_.seed(seed); }

  std::string next() {
    std::string s = any(seeds_);
    for (size_t n = 1 + below(4); n > 0 && !s.empty(); --n) change(s);
    return s;
  }

 private:
  size_t below(size_t n) { return n ? random_() % n : 0; }
  const std::string& any(const std::vector<std::string>& list) { return list[below(list.size())]; }

  void change(std::string& s) {
    size_t at = below(s.size());
    switch (below(9)) {
      case 0: s[at] = static_cast<char>(random_()); break;
      case 1: s.erase(at, 1 + below(8)); break;
      case 2: s.insert(at, s.substr(below(s.size()), below(40))); break;
      case 3: {  // the rest of another seed
        const std::string& other = any(seeds_);
        s = s.substr(0, at) + other.substr(below(other.size()));
        break;
      }
      case 4: number(s, at); break;
      default:
        if (auto [begin, length] = word_at(s, at); length) s.replace(begin, length, any(words_));
    }
  }
  void number(std::string& s, size_t at) {
    constexpr uint32_t odd[] = {0, 1, 2, 7, 0xFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x01000000};
    uint32_t v = odd[below(std::size(odd))];
    for (size_t i = 0; i < 4 && at + i < s.size(); ++i) s[at + i] = static_cast<char>(v >> (8 * i));
  }

  std::vector<std::string> seeds_, words_;
  std::mt19937_64 random_;
};

// A batch in a child, which keeps each input in a file while it runs. The number of inputs comes back by the pipe.
void child(Mutator& mutator, uint64_t seed, const fs::path& current, Clock::time_point end, int pipe) {
  mutator.start(seed);
  for (int i = 0; i < batch && Clock::now() < end; ++i) {
    std::string s = mutator.next();
    std::ofstream(current, std::ios::binary) << s;
    alarm(seconds_each);
    run(s);
    alarm(0);
    if (write(pipe, "", 1) != 1) _exit(3);
  }
  _exit(0);
}

int fuzz(const fs::path& corpus, int seconds, const fs::path& findings) {
  Mutator mutator(corpus);
  if (mutator.empty()) return fprintf(stderr, "no seeds in %s\n", corpus.c_str()), 2;
  fs::create_directories(findings);
  fs::path current = findings / "current";
  auto end = Clock::now() + std::chrono::seconds(seconds);
  size_t total = 0;
  int found = 0;
  for (uint64_t seed = 1; Clock::now() < end && found < most_findings; ++seed) {
    int ends[2], status = 0;
    if (pipe(ends)) return 2;
    pid_t p = fork();
    if (p == 0) close(ends[0]), child(mutator, seed, current, end, ends[1]);
    close(ends[1]);
    char buffer[256];
    for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) total += static_cast<size_t>(n);
    close(ends[0]);
    waitpid(p, &status, 0);
    if (status == 0) continue;
    fs::path kept = findings / ("finding-" + std::to_string(seed));
    fs::copy_file(current, kept, fs::copy_options::overwrite_existing);
    printf("%s: %s %d\n", kept.c_str(), WIFSIGNALED(status) ? "signal" : "status",
           WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    ++found;
  }
  fs::remove(current);
  printf("%zu inputs, %d findings\n", total, found);
  return found ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2) return run(content(argv[1])), 0;
  if (argc == 4) return fuzz(argv[1], atoi(argv[2]), argv[3]);
  fprintf(stderr, "usage: %s CORPUS SECONDS FINDINGS | FILE\n", argv[0]);
  return 2;
}
