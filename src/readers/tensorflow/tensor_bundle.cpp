#include "readers/tensorflow/tensor_bundle.hpp"

#include <cstdio>

#include "base/tensor.hpp"
#include "readers/tensorflow/tensor.hpp"

namespace graft {
namespace {

constexpr size_t footer_size = 48, trailer_size = 5, most_unpacked = size_t{64} << 20;
constexpr uint64_t table_magic = 0xdb4775248b80fb57;

template <class T>
T fixed(std::string_view s, size_t at) {
  T v;
  std::memcpy(&v, s.data() + at, sizeof v);
  return v;
}

// Reads numbers and bytes from the front of a piece of the table.
struct Cursor {
  std::string_view left;
  uint64_t number() {
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64 && !left.empty(); shift += 7) {
      auto byte = static_cast<unsigned char>(left[0]);
      left.remove_prefix(1);
      v |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return v;
    }
    throw_user("the checkpoint's index is truncated inside a number");
  }
  std::string_view bytes(uint64_t n) {
    if (n > left.size())
      throw_user("the checkpoint's index has an entry of ", n, " bytes, but only ", left.size(), " are left");
    std::string_view v = left.substr(0, n);
    left.remove_prefix(n);
    return v;
  }
};

struct Place {
  uint64_t offset = 0, size = 0;
};
Place place(Cursor& c) {
  Place p;
  p.offset = c.number();
  p.size = c.number();
  return p;
}

// Snappy: the length, then pieces that are literals or copies of earlier output.
std::string unpacked(std::string_view packed) {
  Cursor c{packed};
  uint64_t size = c.number();
  if (size > most_unpacked)
    throw_user("the checkpoint's index has a compressed block of ", size, " bytes, expected at most ", most_unpacked);
  std::string out;
  out.reserve(size);
  auto byte = [&] { return static_cast<uint64_t>(static_cast<unsigned char>(c.bytes(1)[0])); };
  auto number = [&](uint64_t bytes) {
    uint64_t v = 0;
    for (uint64_t i = 0; i < bytes; ++i) v |= byte() << (8 * i);
    return v;
  };
  while (!c.left.empty()) {
    uint64_t tag = byte(), length = tag >> 2, offset = 0;
    switch (tag & 3) {
      case 0: length = (length < 60 ? length : number(length - 59)) + 1; break;
      case 1:
        offset = (tag >> 5) << 8 | byte();
        length = (length & 7) + 4;
        break;
      case 2: offset = number(2), length += 1; break;
      default: offset = number(4), length += 1;
    }
    if (length > size - out.size() || ((tag & 3) && (offset == 0 || offset > out.size())))
      throw_user("the checkpoint's index has a corrupt compressed block");
    if ((tag & 3) == 0) out += c.bytes(length);
    else
      for (uint64_t i = 0; i < length; ++i) out += out[out.size() - offset];
  }
  if (out.size() != size)
    throw_user("the checkpoint's index has a block that decompresses to ", out.size(), " bytes, expected ", size);
  return out;
}

// The contents of a block, decompressed into `space` where necessary.
std::string_view block(std::string_view file, Place p, std::string& space) {
  if (p.offset > file.size() || p.size > file.size() - p.offset || file.size() - p.offset - p.size < trailer_size)
    throw_user("the checkpoint's index has a block at bytes ", p.offset, " to ", p.offset, "+", p.size, " of ",
               file.size());
  std::string_view bytes = file.substr(p.offset, p.size);
  int kind = static_cast<unsigned char>(file[p.offset + p.size]);
  if (kind > 1) throw_unsupported("the checkpoint's index has a block of unknown compression type ", kind);
  if (kind == 0) return bytes;
  space = unpacked(bytes);
  return space;
}

// The entries of a block: each key stores only what differs from the key before it.
template <class F>
void each_entry(std::string_view block, F&& each) {
  if (block.size() < 4)
    throw_user("the checkpoint's index has a block of ", block.size(), " bytes, expected at least 4");
  uint64_t restarts = fixed<uint32_t>(block, block.size() - 4);
  if (restarts > (block.size() - 4) / 4)
    throw_user("the checkpoint's index has a block of ", block.size(), " bytes with ", restarts, " restarts");
  Cursor c{block.substr(0, block.size() - 4 - restarts * 4)};
  std::string key;
  while (!c.left.empty()) {
    uint64_t shared = c.number(), fresh = c.number(), size = c.number();
    if (shared > key.size())
      throw_user("the checkpoint's index has a key that shares ", shared, " bytes with one of ", key.size());
    key.resize(shared);
    key += c.bytes(fresh);
    each(key, c.bytes(size));
  }
}

}  // namespace

TensorBundle::TensorBundle(std::string folder, std::string prefix, const Limits& limits)
    : folder_(std::move(folder)), prefix_(std::move(prefix)), limits_(limits) {
  auto file = open_below(folder_, prefix_ + ".index");
  with_context([&] { read_index(file->chars()); }, [&] { return text("reading the checkpoint '", file->path(), "'"); });
}

TensorBundle::TensorBundle(std::string_view index, std::string folder, std::string prefix, const Limits& limits)
    : folder_(std::move(folder)), prefix_(std::move(prefix)), limits_(limits) {
  read_index(index);
}

void TensorBundle::read_index(std::string_view bytes) {
  if (bytes.size() < footer_size || fixed<uint64_t>(bytes, bytes.size() - 8) != table_magic)
    throw_user("not the index of a checkpoint: the magic number at its end is missing");
  Cursor footer{bytes.substr(bytes.size() - footer_size, footer_size - 8)};
  place(footer);  // of the metaindex, which is empty in checkpoints
  std::string index_space, space;
  constexpr size_t most_read = size_t{16} << 20;
  size_t read = 0;
  std::string_view index = block(bytes, place(footer), index_space);
  each_entry(index, [&](const std::string&, std::string_view value) {
    Cursor c{value};
    std::string_view entries = block(bytes, place(c), space);
    // Blocks may lie on top of each other, and unpack to more than the file has.
    read += entries.size();
    if (read > most_read + 16 * bytes.size())
      throw_user("the checkpoint's index has blocks of more than ", read, " bytes");
    each_entry(entries, [&](const std::string& key, std::string_view v) { add(key, v); });
  });
}

void TensorBundle::add(const std::string& key, std::string_view value) {
  if (key.empty()) {
    for (Wire w(value, "BundleHeaderProto"); w.next();) switch (w.field()) {
        case 1: shards_ = w.small(); break;
        case 2:
          if (w.small() != 0) throw_unsupported("the checkpoint was written in big-endian order");
          break;
        default: w.skip();
      }
    if (shards_ < 1) throw_user("expected 1 or more shards of the checkpoint, got ", shards_);
    if (static_cast<uint64_t>(shards_) > limits_.files)
      throw_limit(&Limits::files, "expected 1 to ", limits_.files, " shards of the checkpoint, got ", shards_);
    return;
  }
  if (entries_.size() >= limits_.nodes)
    throw_limit(&Limits::nodes, "the checkpoint has more than ", limits_.nodes, " tensors");
  Entry e;
  TensorFlowTensors shapes(nullptr, limits_);
  for (Wire w(value, "BundleEntryProto"); w.next();) switch (w.field()) {
      case 1: e.type = w.small(); break;
      case 2: e.shape = shapes.shape(w.message("TensorShapeProto")); break;
      case 3: e.shard = w.small(); break;
      case 4: e.offset = w.varint(); break;
      case 5: e.size = w.varint(); break;
      case 7: e.sliced = true, w.skip(); break;
      default: w.skip();
    }
  entries_[key] = std::move(e);
}

std::shared_ptr<const MappedFile> TensorBundle::shard(int64_t number) {
  auto& file = files_[number];
  if (!file) {
    char ending[48];
    std::snprintf(ending, sizeof ending, ".data-%05d-of-%05d", static_cast<int>(number), static_cast<int>(shards_));
    file = open_below(folder_, prefix_ + ending);
  }
  return file;
}

const TensorBundle::Entry& TensorBundle::entry(const std::string& name) const {
  auto it = entries_.find(name);
  if (it == entries_.end()) throw_user("the checkpoint has no such tensor");
  if (it->second.sliced) throw_unsupported("the tensor is stored in slices");
  return it->second;
}

std::string_view TensorBundle::bytes_of(const Entry& e, std::shared_ptr<const MappedFile>& file) {
  if (e.shard < 0 || e.shard >= shards_) throw_user("the tensor lies in shard ", e.shard, " of ", shards_);
  file = shard(e.shard);
  uint64_t size = file->chars().size();
  if (e.offset > size || e.size > size - e.offset)
    throw_user("the tensor lies at bytes ", e.offset, " to ", e.offset, "+", e.size, " of '", file->path(),
               "', which has ", size, " bytes");
  return file->chars().substr(e.offset, e.size);
}

Tensor TensorBundle::tensor(const std::string& name) {
  return with_context(
      [&]() -> Tensor {
        const Entry& e = entry(name);
        DType type = tensorflow_element_type(e.type);
        if (type == DType::undefined)
          throw_unsupported("expected a numeric or string element type, got ", tensorflow_type_name(e.type));
        if (!e.shape.is_static()) throw_user("expected a static shape, got ", e.shape);
        std::vector<int64_t> dims = e.shape.values();
        if (type == DType::string) return texts(e, std::move(dims));
        uint64_t want = bytes_for(type, count_checked(dims));
        if (e.size != want) throw_user("expected ", want, " bytes for shape ", dims, " of ", type, ", got ", e.size);
        std::shared_ptr<const MappedFile> file;
        std::string_view bytes = bytes_of(e, file);
        return tensor_in_file(type, std::move(dims), bytes.data(), file);
      },
      [&] { return text("reading '", name, "' from the checkpoint"); });
}

// The lengths of all texts, a checksum, then the texts.
Tensor TensorBundle::texts(const Entry& e, std::vector<int64_t> dims) {
  int64_t count = count_checked(dims);
  std::shared_ptr<const MappedFile> file;
  Cursor c{bytes_of(e, file)};
  if (static_cast<uint64_t>(count) > c.left.size())
    throw_user("expected at least ", count, " bytes for ", count, " strings, got ", c.left.size());
  std::vector<uint64_t> lengths;
  for (int64_t i = 0; i < count; ++i) lengths.push_back(c.number());
  c.bytes(4);
  std::vector<std::string> out;
  for (uint64_t n : lengths) out.emplace_back(c.bytes(n));
  if (!c.left.empty()) throw_user("the tensor has ", c.left.size(), " bytes after its strings");
  return Tensor::strings(std::move(dims), std::move(out));
}

std::string_view TensorBundle::text_of(const std::string& name) {
  return with_context(
      [&] {
        const Entry& e = entry(name);
        if (tensorflow_element_type(e.type) != DType::string || !e.shape.is_static() || e.shape.rank() != 0)
          throw_user("expected a scalar string, got ", tensorflow_type_name(e.type), e.shape);
        std::shared_ptr<const MappedFile> file;
        Cursor c{bytes_of(e, file)};
        uint64_t size = c.number();
        // The length is followed by a checksum.
        if (c.left.size() < 4 || c.left.size() - 4 != size)
          throw_user("expected ", size, " bytes and a checksum of 4 after the length, got ", c.left.size());
        return c.left.substr(4);
      },
      [&] { return text("reading '", name, "' from the checkpoint"); });
}

std::vector<std::string> TensorBundle::names() const {
  std::vector<std::string> out;
  for (const auto& [name, e] : entries_) out.push_back(name);
  return out;
}

}  // namespace graft
