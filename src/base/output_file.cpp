#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/guard.hpp"
#include "base/log.hpp"

namespace graft {
namespace {

constexpr std::string_view temporary_ending = ".tmp";

[[noreturn]] void cannot_write(const std::string& path) {
  throw_io("cannot write '", path, "': ", static_cast<const char*>(std::strerror(errno)));
}

void write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) cannot_write(path);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

// Held by the one process that renames files in a folder. The kernel releases it when a process ends, so that nothing
// stays behind. File systems without locks go without.
class FolderLock {
 public:
  explicit FolderLock(const std::string& file) {
    using namespace std::chrono_literals;
    constexpr auto longest = 30s;
    std::string folder = folder_of(file);
    fd_ = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    auto end = std::chrono::steady_clock::now() + longest;
    while (fd_ >= 0 && ::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno != EWOULDBLOCK) {
        log_info("cannot lock the folder of '", file, "': ", static_cast<const char*>(std::strerror(errno)));
        return;
      }
      if (std::chrono::steady_clock::now() > end) {
        ::close(fd_);
        throw_io("cannot write '", file, "': another process has locked its folder for ", longest.count(), " s");
      }
      std::this_thread::sleep_for(2ms);
    }
  }
  ~FolderLock() {
    if (fd_ >= 0) ::close(fd_);
  }
  FolderLock(const FolderLock&) = delete;

 private:
  int fd_;
};

// A file that is about to be replaced, under another name until that has succeeded.
class Aside {
 public:
  explicit Aside(const std::string& path) : path_(path), aside_(text(path, temporary_ending, ::getpid(), "-old")) {
    struct stat st {};
    if (::lstat(path.c_str(), &st) != 0) return;
    if (S_ISDIR(st.st_mode)) errno = EISDIR;
    if (S_ISDIR(st.st_mode) || ::rename(path.c_str(), aside_.c_str()) != 0) cannot_write(path);
    existed_ = true;
  }
  ~Aside() {
    if (!path_.empty() && existed_) ::rename(aside_.c_str(), path_.c_str());
    else if (!path_.empty()) ::unlink(path_.c_str());
  }
  Aside(const Aside&) = delete;
  void discard() {
    if (existed_) ::unlink(aside_.c_str());
    path_.clear();
  }

 private:
  std::string path_, aside_;
  bool existed_ = false;
};

void remove_left_overs(const std::string& path) {
  namespace fs = std::filesystem;
  std::string folder = folder_of(path), start = fs::path(path).filename().string().append(temporary_ending);
  std::error_code ec;
  for (const fs::directory_entry& e : fs::directory_iterator(folder.empty() ? "." : folder, ec)) {
    std::string name = e.path().filename().string();
    if (!name.starts_with(start) || name.find_first_not_of("0123456789-old", start.size()) != name.npos) continue;
    int fd = ::open(e.path().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) continue;
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0) ::unlink(e.path().c_str());
    ::close(fd);
  }
}

}  // namespace

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    temporary_ = text(path_, temporary_ending, ::getpid(), "-", attempt);
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd_ < 0 && errno == EEXIST) continue;
    if (fd_ < 0) break;
    ::flock(fd_, LOCK_EX | LOCK_NB);
    struct stat st {};
    if (::fstat(fd_, &st) == 0 && st.st_nlink > 0) break;
    ::close(fd_);  // taken for a leftover before it was locked
    fd_ = -1;
  }
  if (fd_ < 0) cannot_write(path_);
  guarded_ = guard_temporary(temporary_);
}

OutputFile::~OutputFile() {
  if (fd_ >= 0) {
    ::unlink(temporary_.c_str());
    ::close(fd_);
  }
  release_temporary(guarded_);
}

void OutputFile::write(const void* data, size_t size) {
  written_ += size;
  constexpr size_t chunk = size_t{1} << 18;
  if (buffer_.size() + size < chunk) {
    buffer_.append(static_cast<const char*>(data), size);
    return;
  }
  flush();
  write_all(fd_, {static_cast<const char*>(data), size}, path_);
}

void OutputFile::flush() {
  std::string held = std::move(buffer_);
  buffer_.clear();
  write_all(fd_, held, path_);
}

std::shared_ptr<const MappedFile> OutputFile::read_back() {
  flush();
  return MappedFile::open(temporary_);
}

void OutputFile::finish() {
  flush();
  if (::fsync(fd_) != 0 && errno != EINVAL) cannot_write(path_);
}

void OutputFile::take_name() {
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) cannot_write(path_);
  ::close(fd_);
  fd_ = -1;
  log_debug("wrote '", path_, "', ", written_, " bytes");
}

void OutputFile::commit() {
  finish();
  take_name();
}

void commit_pair(OutputFile& data, OutputFile& index) {
  data.finish();
  index.finish();
  FolderLock lock(index.path());
  UninterruptedStep step;
  remove_left_overs(data.path());
  remove_left_overs(index.path());
  // Without an index nothing can be read: from here to the end there is none, or the one that was there before.
  Aside old_index(index.path()), old_data(data.path());
  data.take_name();
  index.take_name();
  old_index.discard();
  old_data.discard();
}

}  // namespace graft
