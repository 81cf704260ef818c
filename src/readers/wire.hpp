// The protobuf wire format, read in place: no copies, no schema, every length checked.
//
//   for (Wire w(bytes, "ModelProto"); w.next();)
//     switch (w.field()) {
//       case 1: version = w.varint(); break;
//       case 7: graph(w.bytes()); break;
//       default: w.skip();
//     }
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace graft {

class Wire {
 public:
  enum Type : unsigned {
    varint_type = 0,
    fixed64_type = 1,
    bytes_type = 2,
    group_type = 3,
    group_end_type = 4,
    fixed32_type = 5
  };

  // `what` is the message's name in errors; `origin` is the beginning of the file, for offsets in errors.
  Wire(std::string_view message, const char* what, const char* origin = nullptr)
      : at_(message.data()),
        end_(message.data() + message.size()),
        origin_(origin ? origin : message.data()),
        what_(what) {}

  // Advances to the next field. A field that was not read is skipped.
  bool next() {
    if (pending_) skip();
    if (at_ == end_) return false;
    uint64_t key = read_varint();
    type_ = static_cast<Type>(key & 7);
    if (key >> 3 == 0 || key >> 3 > 0x1fffffff) broken("has the invalid field number ", key >> 3);
    field_ = static_cast<uint32_t>(key >> 3);
    pending_ = true;
    return true;
  }
  uint32_t field() const { return field_; }
  Type type() const { return type_; }

  uint64_t varint() {
    expect(varint_type);
    return read_varint();
  }
  int64_t integer() { return static_cast<int64_t>(varint()); }
  int32_t small() { return static_cast<int32_t>(varint()); }  // int32 and enums
  float fixed_float() {
    expect(fixed32_type);
    return take<float>();
  }
  std::string_view bytes() {
    expect(bytes_type);
    return read_bytes();
  }
  std::string text() { return std::string(bytes()); }
  // A sub-message.
  Wire message(const char* what) { return Wire(bytes(), what, origin_); }

  // Repeated numbers, packed or one by one.
  template <class F>
  void integers(F&& each) {
    if (type_ == varint_type) return each(static_cast<int64_t>(varint()));
    Wire packed(bytes(), what_, origin_);
    while (packed.at_ != packed.end_) each(static_cast<int64_t>(packed.read_varint()));
  }
  template <class T, class F>
  void fixed(F&& each) {  // T: float or double
    if (type_ == (sizeof(T) == 4 ? fixed32_type : fixed64_type)) {
      pending_ = false;
      return each(take<T>());
    }
    Wire packed(bytes(), what_, origin_);
    while (packed.at_ != packed.end_) each(packed.take<T>());
  }

  void skip() {
    pending_ = false;
    switch (type_) {
      case varint_type: read_varint(); return;
      case fixed64_type: take<uint64_t>(); return;
      case bytes_type: read_bytes(); return;
      case fixed32_type: take<uint32_t>(); return;
      default: broken("uses groups, which are not supported");
    }
  }

  size_t offset() const { return static_cast<size_t>(at_ - origin_); }
  const char* origin() const { return origin_; }

  template <class... Parts>
  [[noreturn]] void broken(const Parts&... parts) const {
    throw_user("the ", what_, " at byte ", offset(), " ", parts...);
  }

 private:
  void expect(Type t) {
    if (type_ != t)
      broken("has field ", field_, " with wire type ", static_cast<unsigned>(type_), ", expected ",
             static_cast<unsigned>(t));
    pending_ = false;
  }
  uint64_t read_varint() {
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ == end_) broken("ends inside a number");
      auto byte = static_cast<unsigned char>(*at_++);
      v |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return v;
    }
    broken("has a number of more than ten bytes");
  }
  std::string_view read_bytes() {
    uint64_t n = read_varint();
    if (n > static_cast<uint64_t>(end_ - at_))
      broken("has a field of ", n, " bytes, but only ", end_ - at_, " are left");
    std::string_view v(at_, static_cast<size_t>(n));
    at_ += n;
    return v;
  }
  template <class T>
  T take() {
    if (static_cast<size_t>(end_ - at_) < sizeof(T)) broken("ends inside a number");
    T v;
    std::memcpy(&v, at_, sizeof(T));
    at_ += sizeof(T);
    return v;
  }

  const char* at_;
  const char* end_;
  const char* origin_;
  const char* what_;
  uint32_t field_ = 0;
  Type type_ = varint_type;
  bool pending_ = false;
};

}  // namespace graft
