#include "readers/zip.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "readers/names.hpp"

namespace graft {
namespace {

constexpr uint64_t max_ratio = 100;  // against decompression bombs: of all entries together

class Bytes {
 public:
  explicit Bytes(std::string_view b) : b_(b) {}
  uint64_t number(uint64_t at, unsigned width) const {
    if (at > b_.size() || width > b_.size() - at) throw_user("the archive is truncated");
    uint64_t v = 0;
    std::memcpy(&v, b_.data() + at, width);
    return v;
  }
  std::string_view part(uint64_t at, uint64_t size) const {
    if (at > b_.size() || size > b_.size() - at) throw_user("the archive is truncated");
    return b_.substr(at, size);
  }

 private:
  std::string_view b_;
};

std::string inflated(std::string_view packed, uint64_t size) {
  std::string out(size, '\0');
  z_stream z{};
  if (inflateInit2(&z, -MAX_WBITS) != Z_OK) throw_internal("cannot initialize zlib");
  z.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(packed.data()));
  z.next_out = reinterpret_cast<unsigned char*>(out.data());
  uint64_t left_in = packed.size(), left_out = size;
  int status = Z_OK;
  while (status == Z_OK) {
    z.avail_in = static_cast<unsigned>(std::min<uint64_t>(left_in, 1u << 30));
    z.avail_out = static_cast<unsigned>(std::min<uint64_t>(left_out, 1u << 30));
    unsigned in = z.avail_in, room = z.avail_out;
    status = ::inflate(&z, Z_NO_FLUSH);
    left_in -= in - z.avail_in;
    left_out -= room - z.avail_out;
    if (status == Z_OK && in == z.avail_in && room == z.avail_out) break;
  }
  inflateEnd(&z);
  if (status != Z_STREAM_END || left_out != 0) throw_user("an entry of the archive is corrupt");
  return out;
}

struct Directory {
  uint64_t count, at;
};

// The end record lies at most 64 KiB and a bit before the end; archives of more than 4 GiB have a second one before it.
Directory directory_of(const Bytes& b, std::string_view all) {
  size_t end = all.size() >= 22 ? all.rfind("PK\x05\x06", all.size() - 22) : all.npos;
  if (end == all.npos || all.size() - end > 66000)
    throw_user("expected a ZIP archive, got a file without its last record, which may be cut off");
  Directory d{b.number(end + 10, 2), b.number(end + 16, 4)};
  if (d.count != 0xffff && d.at != 0xffffffff) return d;
  if (end < 20 || b.part(end - 20, 4) != "PK\x06\x07") throw_user("the ZIP64 end record of the archive is missing");
  uint64_t wide = b.number(end - 12, 8);
  if (b.part(wide, 4) != "PK\x06\x06") throw_user("the ZIP64 end record of the archive is corrupt");
  return {b.number(wide + 32, 8), b.number(wide + 48, 8)};
}

void check_path(const std::string& name) {
  check_name(name);
  bool leaves = name.starts_with("/") || name.find('\\') != name.npos || name.find('\0') != name.npos;
  for (size_t at = 0; !leaves && at <= name.size();) {
    size_t end = std::min(name.find('/', at), name.size());
    leaves = name.substr(at, end - at) == "..";
    at = end + 1;
  }
  if (leaves) throw_user("the archive has an entry whose name leads outside of it: '", name, "'");
}

// The entry at `at` of the directory, which is moved behind it; its packed bytes are not looked up yet.
std::pair<ZipEntry, uint64_t> entry_at(const Bytes& b, uint64_t& at, uint64_t& packed) {
  if (b.part(at, 4) != "PK\x01\x02") throw_user("the central directory of the archive is corrupt");
  ZipEntry e;
  if (b.number(at + 8, 2) & 1) throw_unsupported("encrypted archives are not supported");
  e.method = static_cast<unsigned>(b.number(at + 10, 2));
  packed = b.number(at + 20, 4), e.size = b.number(at + 24, 4);
  uint64_t name_size = b.number(at + 28, 2), extra = b.number(at + 30, 2), comment = b.number(at + 32, 2),
           local = b.number(at + 42, 4);
  e.name = b.part(at + 46, name_size);
  // Large entries keep their sizes in an extra field.
  for (uint64_t x = at + 46 + name_size, stop = x + extra; x + 4 <= stop;) {
    uint64_t id = b.number(x, 2), length = b.number(x + 2, 2), p = x + 4;
    if (id == 1) {
      if (e.size == 0xffffffff) e.size = b.number(p, 8), p += 8;
      if (packed == 0xffffffff) packed = b.number(p, 8), p += 8;
      if (local == 0xffffffff) local = b.number(p, 8);
    }
    x += 4 + length;
  }
  at += 46 + name_size + extra + comment;
  return {std::move(e), local};
}

void check_overlaps(const std::vector<ZipEntry>& entries) {
  std::vector<std::pair<const char*, const char*>> ranges;
  for (const ZipEntry& e : entries)
    if (!e.packed.empty()) ranges.emplace_back(e.packed.data(), e.packed.data() + e.packed.size());
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].first < ranges[i - 1].second) throw_user("entries of the archive overlap");
}

}  // namespace

bool looks_like_zip(std::string_view bytes) { return bytes.starts_with("PK\x03\x04"); }

ZipArchive::ZipArchive(std::string_view bytes, std::shared_ptr<const void> keeper, const Limits& limits)
    : bytes_(bytes), keeper_(std::move(keeper)) {
  Bytes b(bytes);
  auto [count, at] = directory_of(b, bytes);
  uint64_t expanded = 0;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t packed = 0;
    auto [e, local] = entry_at(b, at, packed);
    check_path(e.name);
    if (b.part(local, 4) != "PK\x03\x04") throw_user("entry '", e.name, "' of the archive has no local header");
    e.packed = b.part(local + 30 + b.number(local + 26, 2) + b.number(local + 28, 2), packed);
    if (e.method != 0 && e.method != 8)
      throw_unsupported("unsupported compression method ", e.method, " of entry '", e.name, "'");
    if (e.method == 0 && e.size != packed)
      throw_user("stored entry '", e.name, "' of the archive has ", packed, " bytes, expected ", e.size);
    expanded += std::min(e.size, limits.npz_bytes + 1);
    if (expanded > limits.npz_bytes && expanded > bytes.size())
      throw_limit(&Limits::npz_bytes, "the entries expand from ", bytes.size(), " to more than ", limits.npz_bytes,
                  " bytes");
    if (expanded / max_ratio > bytes.size() + 1)
      throw_user("the entries expand from ", bytes.size(), " to more than ", expanded,
                 " bytes, which exceeds the limit");
    entries_.push_back(std::move(e));
  }
  check_overlaps(entries_);
  for (size_t i = 0; i < entries_.size(); ++i)
    if (!by_name_.emplace(entries_[i].name, i).second)
      throw_user("the archive has more than one entry '", entries_[i].name, "'");
}

const ZipEntry* ZipArchive::find(std::string_view name) const {
  auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : &entries_[it->second];
}

const ZipEntry* ZipArchive::ending(std::string_view end) const {
  const ZipEntry* found = nullptr;
  for (const ZipEntry& e : entries_) {
    std::string_view name = e.name;
    bool fits =
        name == end || (name.size() > end.size() && name.ends_with(end) && name[name.size() - end.size() - 1] == '/');
    if (!fits) continue;
    if (found) throw_user("expected one '", end, "' in the archive, got '", found->name, "' and '", e.name, "'");
    found = &e;
  }
  return found;
}

ZipContent ZipArchive::content(const ZipEntry& e) const {
  if (e.method == 0) return {e.packed, keeper_};
  auto held = std::make_shared<std::string>(inflated(e.packed, e.size));
  return {*held, held};
}

}  // namespace graft
