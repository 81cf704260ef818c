// Files: memory-mapped for reading, written atomically (graft/app/files.hpp), and confined to a model's folder.
#pragma once

#include <functional>
#include <graft/app/files.hpp>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace graft {

// A read-only memory-mapped file. Pages are loaded when first accessed.
class MappedFile {
 public:
  static std::shared_ptr<const MappedFile> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(data_), size_}; }
  std::string_view chars() const { return {static_cast<const char*>(data_), size_}; }
  // Whether the path still leads to this file.
  bool is_current() const;

 private:
  friend std::shared_ptr<const MappedFile> open_below(const std::string& folder, std::string_view name);
  friend class OutputFile;
  static std::shared_ptr<const MappedFile> map(int fd, const std::string& path);
  MappedFile() = default;
  std::string path_;
  void* data_ = nullptr;
  size_t size_ = 0;
  uint64_t device_ = 0, inode_ = 0;
};

// Releases the pages of a range if they belong to a mapped file; they are read again on the next access.
void forget_pages(const void* begin, size_t size);

// Opens the file `name` below `folder`, for files that a model refers to. Rejects absolute names, names that lead
// outside (also through links), and anything that is not a regular file. The kernel resolves the name and opens the
// file in one step, so that a link replaced in the meantime cannot lead outside.
std::shared_ptr<const MappedFile> open_below(const std::string& folder, std::string_view name);

// Writes to a temporary file next to `path` and renames it in `commit`; without it the temporary file is deleted.
class OutputFile {
 public:
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  void write(const void* data, size_t size);
  void write(std::string_view s) { write(s.data(), s.size()); }
  size_t written() const { return written_; }
  const std::string& path() const { return path_; }
  // Maps what was written so far, before it has its name.
  std::shared_ptr<const MappedFile> read_back();
  void commit();

 private:
  friend void commit_pair(OutputFile& data, OutputFile& index);
  void flush();
  void finish();     // everything is on the disk
  void take_name();  // renames
  std::string path_, temporary_;
  int fd_ = -1;       // locked while this file exists: an unlocked temporary file was left by a process that was killed
  int guarded_ = -1;  // see guard_temporary
  size_t written_ = 0;
  std::string buffer_;
};

// Renames two files that belong together, `index` being read first. Both replace what was there, or neither does. Of
// several processes one after the other does this. One that is killed in between leaves no index, never one that
// belongs to other data. Also removes temporary files of the same names that killed processes left.
void commit_pair(OutputFile& data, OutputFile& index);

std::string folder_of(const std::string& path);
std::string stem_of(const std::string& path);       // "a/b.onnx" -> "b"
std::string extension_of(const std::string& path);  // "a/b.ONNX" -> ".onnx"

}  // namespace graft
