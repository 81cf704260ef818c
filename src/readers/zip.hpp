// ZIP archives: the files in one, stored or deflated. Hostile ones are refused: entries outside the file, entries that
// overlap, names that leave the archive, and content that expands beyond a limit.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.hpp"

namespace graft {

struct ZipEntry {
  std::string name;
  unsigned method = 0;      // 0: stored, 8: deflated
  std::string_view packed;  // the bytes in the file
  uint64_t size = 0;        // of the content
};

// The content of an entry: a view of the file if it is stored.
struct ZipContent {
  std::string_view bytes;
  std::shared_ptr<const void> keeper;
};

class ZipArchive {
 public:
  // `what` is the archive in messages ("the archive"); `keeper` owns `bytes`.
  ZipArchive(std::string_view bytes, std::shared_ptr<const void> keeper, const Limits& limits);

  const std::vector<ZipEntry>& entries() const { return entries_; }
  const ZipEntry* find(std::string_view name) const;
  // The only entry whose name is `end` or ends with "/" and `end`.
  const ZipEntry* ending(std::string_view end) const;
  ZipContent content(const ZipEntry& e) const;

 private:
  std::string_view bytes_;
  std::shared_ptr<const void> keeper_;
  std::vector<ZipEntry> entries_;  // in the order of the archive
  std::map<std::string, size_t, std::less<>> by_name_;
};

bool looks_like_zip(std::string_view bytes);

}  // namespace graft
