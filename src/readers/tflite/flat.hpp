// FlatBuffers, read in place without a schema: every offset, vtable, alignment and length is checked before it is used.
//
//   FlatFile file(bytes);
//   FlatTable model = file.root("Model");
//   auto version = model.number<uint32_t>(0, 0);
//   FlatTables graphs = model.tables(2, "SubGraph");
//
// Fields are named by their numbers, in the order in which the schema declares them. A table may be referred to many
// times: FlatFile counts what is read, so that a small file cannot become a large model.
#pragma once

#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace graft {

class FlatTable;

class FlatFile {
 public:
  explicit FlatFile(std::string_view bytes) : bytes_(bytes), left_(16 * bytes.size() + (size_t{1} << 20)) {}

  std::string_view bytes() const { return bytes_; }
  FlatTable root(const char* what);

  template <class T>
  T load(size_t at, const char* what) const {
    if (at > bytes_.size() || bytes_.size() - at < sizeof(T)) broken(at, what, "ends behind the end of the file");
    if (at % sizeof(T)) broken(at, what, "is not aligned");
    T value;
    std::memcpy(&value, bytes_.data() + at, sizeof value);
    return value;
  }
  // Where the offset at `at` leads.
  size_t follow(size_t at, const char* what) const {
    auto distance = load<uint32_t>(at, what);
    if (size_t left = bytes_.size() - at; distance == 0 || distance >= left)
      broken(at, what, text("points ", distance, " bytes ahead, expected 1 to ", left - 1));
    if ((at + distance) % 4) broken(at + distance, what, "is not aligned");
    return at + distance;
  }
  // The first element and the number of elements of the vector at `at`.
  std::pair<size_t, size_t> vector(size_t at, size_t item, const char* what) {
    size_t count = load<uint32_t>(at, what), first = at + 4;
    if (count > (bytes_.size() - first) / item) broken(at, what, text("has ", count, " elements of ", item, " bytes"));
    if (first % std::min<size_t>(item, 8)) broken(first, what, "is not aligned");
    return {first, count};
  }
  void count(size_t items) {
    if (items > left_) throw_user("the tables of the file refer to each other too often");
    left_ -= items;
  }
  template <class... Parts>
  [[noreturn]] static void broken(size_t at, const char* what, const Parts&... parts) {
    throw_user("the ", what, " at byte ", at, " ", parts...);
  }

 private:
  std::string_view bytes_;
  size_t left_;
};

class FlatTables {
 public:
  FlatTables() = default;
  FlatTables(FlatFile& file, size_t first, size_t count, const char* what)
      : file_(&file), first_(first), count_(count), what_(what) {}
  size_t size() const { return count_; }
  inline FlatTable operator[](size_t i) const;

 private:
  FlatFile* file_ = nullptr;
  size_t first_ = 0, count_ = 0;
  const char* what_ = "";
};

class FlatTable {
 public:
  FlatTable(FlatFile& file, size_t at, const char* what) : file_(&file), at_(at), what_(what) {
    file.count(1);
    auto back = static_cast<int64_t>(at) - file.load<int32_t>(at, what);
    if (back < 0 || static_cast<uint64_t>(back) >= file.bytes().size()) broken("has its vtable outside the file");
    vtable_ = static_cast<size_t>(back);
    vtable_size_ = file.load<uint16_t>(vtable_, what);
    if (vtable_size_ < 4 || vtable_size_ % 2 || vtable_size_ > file.bytes().size() - vtable_)
      broken("has a vtable of ", vtable_size_, " bytes");
    size_ = file.load<uint16_t>(vtable_ + 2, what);
    if (size_ < 4 || size_ > file.bytes().size() - at) broken("has a length of ", size_, " bytes");
  }

  size_t position() const { return at_; }
  bool has(size_t field) const { return place(field, 1).has_value(); }

  template <class T>
  T number(size_t field, T fallback) const {
    auto p = place(field, sizeof(T));
    return p ? file_->load<T>(*p, what_) : fallback;
  }
  bool flag(size_t field, bool fallback = false) const { return number<uint8_t>(field, fallback) != 0; }
  std::optional<FlatTable> table(size_t field, const char* what) const {
    auto p = place(field, 4);
    if (!p) return std::nullopt;
    return FlatTable(*file_, file_->follow(*p, what), what);
  }
  FlatTables tables(size_t field, const char* what) const {
    auto p = place(field, 4);
    if (!p) return {};
    auto [first, count] = file_->vector(file_->follow(*p, what), 4, what);
    file_->count(count);
    return {*file_, first, count, what};
  }
  // A vector of bytes, in place.
  std::string_view bytes(size_t field) const {
    auto p = place(field, 4);
    if (!p) return {};
    auto [first, count] = file_->vector(file_->follow(*p, what_), 1, what_);
    return file_->bytes().substr(first, count);
  }
  std::string string(size_t field) const {
    std::string_view s = bytes(field);
    file_->count(s.size());
    return std::string(s);
  }
  template <class T>
  std::vector<T> numbers(size_t field) const {
    auto p = place(field, 4);
    if (!p) return {};
    auto [first, count] = file_->vector(file_->follow(*p, what_), sizeof(T), what_);
    file_->count(count);
    std::vector<T> out(count);
    if (count) std::memcpy(out.data(), file_->bytes().data() + first, count * sizeof(T));
    return out;
  }

  template <class... Parts>
  [[noreturn]] void broken(const Parts&... parts) const {
    FlatFile::broken(at_, what_, parts...);
  }

 private:
  // Where a present field of `size` bytes lies.
  std::optional<size_t> place(size_t field, size_t size) const {
    size_t entry = 4 + 2 * field;
    if (entry + 2 > vtable_size_) return std::nullopt;
    auto offset = file_->load<uint16_t>(vtable_ + entry, what_);
    if (offset == 0) return std::nullopt;
    if (offset < 4 || offset + size > size_)
      broken("has its field ", field, " at ", offset, ", outside its ", size_, " bytes");
    return at_ + offset;
  }

  FlatFile* file_;
  size_t at_, vtable_ = 0, vtable_size_ = 0, size_ = 0;
  const char* what_;
};

inline FlatTable FlatTables::operator[](size_t i) const {
  return FlatTable(*file_, file_->follow(first_ + 4 * i, what_), what_);
}
inline FlatTable FlatFile::root(const char* what) { return FlatTable(*this, follow(0, what), what); }

}  // namespace graft
