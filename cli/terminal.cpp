#include "terminal.hpp"

#include <unistd.h>

#include <cerrno>
#include <graft/text.hpp>
#include <string>

namespace graft::cli {
namespace {

// A chunk may end within a UTF-8 sequence: its first bytes are buffered until the next chunk.
struct Protected {
  int fd;
  std::string waiting;
};

// Number of bytes at the end of `s` that form an incomplete sequence.
size_t incomplete_tail(std::string_view s) {
  for (size_t back = 1; back <= 3 && back <= s.size(); ++back) {
    auto c = static_cast<unsigned char>(s[s.size() - back]);
    if (c >= 0xc0) return (c >= 0xf0 ? 4U : c >= 0xe0 ? 3U : 2U) > back ? back : 0;
    if (c < 0x80) return 0;
  }
  return 0;
}

bool write_all(int fd, std::string_view s) {
  while (!s.empty()) {
    ssize_t n = ::write(fd, s.data(), s.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    s.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

ssize_t write_protected(void* cookie, const char* data, size_t size) {
  auto& p = *static_cast<Protected*>(cookie);
  std::string all = std::move(p.waiting) + std::string(data, size);
  p.waiting = all.substr(all.size() - incomplete_tail(all));
  all.resize(all.size() - p.waiting.size());
  return write_all(p.fd, printable(all)) ? static_cast<ssize_t>(size) : 0;
}

std::FILE* protected_stream(Protected& p, int mode) {
  cookie_io_functions_t functions{};
  functions.write = write_protected;
  std::FILE* f = ::fopencookie(&p, "w", functions);
  if (f) std::setvbuf(f, nullptr, mode, BUFSIZ);
  return f;
}

std::FILE* raw = nullptr;

}  // namespace

void protect_terminal() {
  static Protected out{STDOUT_FILENO, {}}, err{STDERR_FILENO, {}};
  raw = stderr;
  std::FILE* o = protected_stream(out, ::isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF);
  std::FILE* e = protected_stream(err, _IONBF);
  if (!o || !e) return;  // out of memory: the program ends soon enough
  stdout = o;
  stderr = e;
}

std::FILE* raw_stderr() { return raw ? raw : stderr; }

}  // namespace graft::cli
