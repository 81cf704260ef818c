#include "readers/npz.hpp"

#include <zlib.h>

#include <cstring>

#include "base/file.hpp"
#include "base/tensor.hpp"
#include "readers/npy.hpp"

namespace graft {
namespace {

constexpr uint64_t max_ratio = 100;  // against decompression bombs: of all arrays together

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
  if (status != Z_STREAM_END || left_out != 0) throw_user("an array in the archive is corrupt");
  return out;
}

}  // namespace

std::vector<std::pair<std::string, Tensor>> read_npz(const std::string& path, const Limits& limits) {
  return with_context(
      [&] {
        auto file = MappedFile::open(path);
        std::string_view all = file->chars();
        Bytes b(all);
        // The end record lies at most 64 KiB and a bit before the end.
        size_t end = all.size() >= 22 ? all.rfind("PK\x05\x06", all.size() - 22) : all.npos;
        if (end == all.npos || all.size() - end > 66000) throw_user("not an .npz file");
        uint64_t count = b.number(end + 10, 2), at = b.number(end + 16, 4);
        if (count == 0xffff || at == 0xffffffff)
          throw_unsupported("ZIP64 archives with more than 65534 arrays are not supported");
        std::vector<std::pair<std::string, Tensor>> out;
        uint64_t expanded = 0;  // by all arrays so far; entries may share their bytes in the file
        for (uint64_t i = 0; i < count; ++i) {
          if (b.part(at, 4) != "PK\x01\x02") throw_user("the central directory of the archive is corrupt");
          uint64_t method = b.number(at + 10, 2), packed = b.number(at + 20, 4), size = b.number(at + 24, 4),
                   name_size = b.number(at + 28, 2);
          uint64_t extra = b.number(at + 30, 2), comment = b.number(at + 32, 2), local = b.number(at + 42, 4);
          std::string name(b.part(at + 46, name_size));
          // Large arrays keep their sizes in an extra field.
          for (uint64_t e = at + 46 + name_size, stop = e + extra; e + 4 <= stop;) {
            uint64_t id = b.number(e, 2), length = b.number(e + 2, 2), p = e + 4;
            if (id == 1) {
              if (size == 0xffffffff) size = b.number(p, 8), p += 8;
              if (packed == 0xffffffff) packed = b.number(p, 8), p += 8;
              if (local == 0xffffffff) local = b.number(p, 8);
            }
            e += 4 + length;
          }
          at += 46 + name_size + extra + comment;
          uint64_t data = local + 30 + b.number(local + 26, 2) + b.number(local + 28, 2);
          std::string_view body = b.part(data, packed);
          expanded += std::min(size, limits.npz_bytes + 1);
          if (expanded > limits.npz_bytes)
            throw_limit(&Limits::npz_bytes, "the arrays expand from ", all.size(), " to more than ", limits.npz_bytes,
                        " bytes");
          if (expanded / max_ratio > all.size() + 1)
            throw_user("the arrays expand from ", all.size(), " to more than ", expanded,
                       " bytes, which exceeds the limit");
          if (name.ends_with(".npy")) name.resize(name.size() - 4);
          if (method == 0) {
            out.emplace_back(name, read_npy(body, file, limits));
          } else if (method == 8) {
            auto held = std::make_shared<std::string>(inflated(body, size));
            out.emplace_back(name, read_npy(*held, held, limits));
          } else {
            throw_unsupported("unsupported compression method ", method, " of array '", name, "'");
          }
        }
        return out;
      },
      [&] { return text("reading '", path, "'"); });
}

}  // namespace graft
