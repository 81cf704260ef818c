#include "base/file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>

#include "base/error.hpp"

namespace graft {
namespace fs = std::filesystem;

namespace {

std::string reason() { return std::strerror(errno); }

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

size_t page_size() {
  static const auto size = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

// Address ranges of mapped files: only their pages can be dropped and read again on demand.
class Mappings {
 public:
  static Mappings& all() {
    static auto* m = new Mappings;
    return *m;
  }
  void add(const void* begin, size_t size) {
    std::lock_guard lock(mutex_);
    ends_[reinterpret_cast<uintptr_t>(begin)] = reinterpret_cast<uintptr_t>(begin) + size;
  }
  void remove(const void* begin) {
    std::lock_guard lock(mutex_);
    ends_.erase(reinterpret_cast<uintptr_t>(begin));
  }
  bool contains(uintptr_t first, uintptr_t last) {
    std::lock_guard lock(mutex_);
    auto it = ends_.upper_bound(first);
    return it != ends_.begin() && last <= std::prev(it)->second;
  }

 private:
  std::mutex mutex_;
  std::map<uintptr_t, uintptr_t> ends_;
};

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path) {
  Descriptor d{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (d.fd < 0) throw_io("cannot open '", path, "': ", reason());
  struct stat st {};
  if (::fstat(d.fd, &st) != 0) throw_io("cannot stat '", path, "': ", reason());
  if (S_ISDIR(st.st_mode)) throw_io("expected a file, got the folder '", path, "'");
  if (!S_ISREG(st.st_mode)) throw_io("'", path, "' is not a regular file");
  std::shared_ptr<MappedFile> file(new MappedFile);
  file->path_ = path;
  file->size_ = static_cast<size_t>(st.st_size);
  if (file->size_ > 0) {
    void* p = ::mmap(nullptr, file->size_, PROT_READ, MAP_PRIVATE, d.fd, 0);
    if (p == MAP_FAILED) throw_io("cannot map '", path, "': ", reason());
    file->data_ = p;
    Mappings::all().add(p, file->size_);
  }
  return file;
}

MappedFile::~MappedFile() {
  if (!data_) return;
  Mappings::all().remove(data_);
  ::munmap(data_, size_);
}

void forget_pages(const void* begin, size_t size) {
  auto first = reinterpret_cast<uintptr_t>(begin), last = first + size;
  if (!Mappings::all().contains(first, last)) return;
  first = (first + page_size() - 1) / page_size() * page_size();
  last = last / page_size() * page_size();
  if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

std::string resolve_below(const std::string& folder, std::string_view name) {
  auto refuse = [&](std::string_view why) -> void {
    throw_user("the model refers to the file '", name, "', which ", why);
  };
  if (name.empty()) refuse("has an empty name");
  if (name.find('\0') != name.npos) refuse("has a zero byte in its name");
  fs::path relative{std::string(name)};
  if (relative.is_absolute()) refuse("is an absolute path; only files below the model's folder are read");
  for (const fs::path& part : relative)
    if (part == "..") refuse("leads outside the model's folder");
  std::error_code ec;
  fs::path root = fs::canonical(folder.empty() ? "." : folder, ec);
  if (ec) throw_io("cannot access the folder '", folder, "': ", ec.message());
  fs::path target = fs::canonical(root / relative, ec);
  if (ec) throw_io("cannot open '", std::string(name), "' next to the model: ", ec.message());
  auto [end, rest] = std::mismatch(root.begin(), root.end(), target.begin(), target.end());
  if (end != root.end() || rest == target.end()) refuse("is a link that leads outside the model's folder");
  if (!fs::is_regular_file(target, ec)) refuse("is not a regular file");
  return target.string();
}

std::string read_text_file(const std::string& path, size_t limit) {
  auto file = MappedFile::open(path);
  if (file->chars().size() > limit)
    throw_user("expected at most ", limit, " bytes in '", path, "', got ", file->chars().size());
  return std::string(file->chars());
}

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    temporary_ = text(path_, ".tmp", static_cast<int>(::getpid()), "-", attempt);
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd_ >= 0 || errno != EEXIST) break;
  }
  if (fd_ < 0) throw_io("cannot write '", path_, "': ", reason());
}

OutputFile::~OutputFile() {
  if (fd_ >= 0) {
    ::close(fd_);
    ::unlink(temporary_.c_str());
  }
}

void OutputFile::write(const void* data, size_t size) {
  written_ += size;
  constexpr size_t chunk = size_t{1} << 18;
  if (buffer_.size() + size < chunk) {
    buffer_.append(static_cast<const char*>(data), size);
    return;
  }
  flush();
  const char* p = static_cast<const char*>(data);
  while (size > 0) {
    ssize_t n = ::write(fd_, p, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw_io("cannot write '", path_, "': ", reason());
    p += n;
    size -= static_cast<size_t>(n);
  }
}

void OutputFile::flush() {
  if (buffer_.empty()) return;
  std::string held = std::move(buffer_);
  buffer_.clear();
  const char* p = held.data();
  size_t left = held.size();
  while (left > 0) {
    ssize_t n = ::write(fd_, p, left);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw_io("cannot write '", path_, "': ", reason());
    p += n;
    left -= static_cast<size_t>(n);
  }
}

void OutputFile::commit() {
  flush();
  if (::fsync(fd_) != 0 && errno != EINVAL) throw_io("cannot write '", path_, "': ", reason());
  ::close(fd_);
  fd_ = -1;
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    std::string why = reason();
    ::unlink(temporary_.c_str());
    throw_io("cannot write '", path_, "': ", why);
  }
}

void make_folder(const std::string& path) {
  std::error_code ec;
  fs::create_directories(path, ec);
  if (ec) throw_io("cannot create the folder '", path, "': ", ec.message());
}
std::string folder_of(const std::string& path) { return fs::path(path).parent_path().string(); }
std::string stem_of(const std::string& path) { return fs::path(path).stem().string(); }
std::string extension_of(const std::string& path) {
  std::string e = fs::path(path).extension().string();
  for (char& c : e)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return e;
}

}  // namespace graft
