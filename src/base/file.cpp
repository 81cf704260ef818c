#include "base/file.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>

#include "base/error.hpp"
#include "base/guard.hpp"
#include "base/log.hpp"

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
  return map(d.fd, path);
}

std::shared_ptr<const MappedFile> MappedFile::map(int fd, const std::string& path) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) throw_io("cannot stat '", path, "': ", reason());
  if (S_ISDIR(st.st_mode)) throw_io("expected a file, got the folder '", path, "'");
  if (!S_ISREG(st.st_mode)) throw_io("'", path, "' is not a regular file");
  std::shared_ptr<MappedFile> file(new MappedFile);
  file->path_ = path;
  file->size_ = static_cast<size_t>(st.st_size);
  file->device_ = st.st_dev, file->inode_ = st.st_ino;
  if (file->size_ > 0) {
    void* p = ::mmap(nullptr, file->size_, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED) throw_io("cannot map '", path, "': ", reason());
    file->data_ = p;
    Mappings::all().add(p, file->size_);
    guard_mapping(p, file->size_, path);
  }
  log_debug("opened '", path, "', ", file->size_, " bytes");
  return file;
}

MappedFile::~MappedFile() {
  if (!data_) return;
  Mappings::all().remove(data_);
  release_mapping(data_);
  ::munmap(data_, size_);
}

bool MappedFile::is_current() const {
  struct stat st {};
  return ::stat(path_.c_str(), &st) == 0 && st.st_dev == device_ && st.st_ino == inode_;
}

void forget_pages(const void* begin, size_t size) {
  auto first = reinterpret_cast<uintptr_t>(begin), last = first + size;
  if (!Mappings::all().contains(first, last)) return;
  first = (first + page_size() - 1) / page_size() * page_size();
  last = last / page_size() * page_size();
  if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

std::shared_ptr<const MappedFile> open_below(const std::string& folder, std::string_view name) {
  auto refuse = [&](std::string_view why) -> void {
    throw_user("the model refers to the file '", name, "', which ", why);
  };
  if (name.empty()) refuse("has an empty name");
  if (name.find('\0') != name.npos) refuse("has a zero byte in its name");
  fs::path relative{std::string(name)};
  if (relative.is_absolute()) refuse("is an absolute path; only files below the model's folder are read");
  for (const fs::path& part : relative)
    if (part == "..") refuse("leads outside the model's folder");
  std::string root = folder.empty() ? "." : folder;
  Descriptor base{::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  if (base.fd < 0) throw_io("cannot access the folder '", folder, "': ", reason());
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  auto open_beneath = [&] {
    return static_cast<int>(::syscall(SYS_openat2, base.fd, relative.c_str(), &how, sizeof how));
  };
  int fd = open_beneath();
  if (fd < 0 && errno == EXDEV) {
    // An absolute link may still lead inside the folder: open its target, which must not be a link itself.
    std::error_code ec;
    fs::path inside = fs::canonical(fs::path(root) / relative, ec).lexically_relative(fs::canonical(root, ec));
    if (ec || inside.empty() || *inside.begin() == "..") refuse("is a link that leads outside the model's folder");
    relative = inside;
    how.resolve |= RESOLVE_NO_SYMLINKS;
    fd = open_beneath();
  }
  Descriptor d{fd};
  if (d.fd < 0) throw_io("cannot open '", name, "' next to the model: ", reason());
  struct stat st {};
  if (::fstat(d.fd, &st) != 0 || !S_ISREG(st.st_mode)) refuse("is not a regular file");
  return MappedFile::map(d.fd, (fs::path(root) / relative).string());
}

std::string read_text_file(const std::string& path, size_t limit) {
  auto file = MappedFile::open(path);
  if (file->chars().size() > limit)
    throw_user("expected at most ", limit, " bytes in '", path, "', got ", file->chars().size());
  return std::string(file->chars());
}

void make_folder(const std::string& path) {
  std::error_code ec;
  fs::create_directories(path, ec);
  if (ec) throw_io("cannot create the folder '", path, "': ", ec.message());
}
void write_file(const std::string& path, std::string_view content) {
  OutputFile out(path);
  out.write(content);
  out.commit();
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
