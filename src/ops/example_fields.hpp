// tf.Example, read in place: messages of the protobuf wire format with named lists of numbers or strings.
#pragma once

#include <cstring>
#include <graft/op.hpp>
#include <map>

namespace graft {

// The fields of a message: keys and values, every length checked.
class ExampleFields {
 public:
  explicit ExampleFields(std::string_view message) : s_(message) {}
  bool next() {
    if (s_.empty()) return false;
    uint64_t key = varint();
    field_ = key >> 3, type_ = key & 7;
    if (type_ == 0) number_ = varint();
    else if (type_ == 1) bytes_ = take(8);
    else if (type_ == 2) bytes_ = take(varint());
    else if (type_ == 5) bytes_ = take(4);
    else broken();
    return true;
  }
  uint64_t field() const { return field_; }
  bool is_message(uint64_t field) const { return field_ == field && type_ == 2; }
  std::string_view bytes() const { return bytes_; }
  // Calls f for each number of a repeated field, packed or not.
  template <class F>
  void floats(F f) const {
    if (type_ != 5 && type_ != 2) broken();
    if (bytes_.size() % 4 != 0) broken();
    for (size_t i = 0; i < bytes_.size(); i += 4) {
      float v;
      std::memcpy(&v, bytes_.data() + i, sizeof v);
      f(v);
    }
  }
  template <class F>
  void integers(F f) const {
    if (type_ == 0) return f(static_cast<int64_t>(number_));
    if (type_ != 2) broken();
    for (ExampleFields rest(bytes_); !rest.s_.empty();) f(static_cast<int64_t>(rest.varint()));
  }

 private:
  [[noreturn]] static void broken() { fail("expected a serialized tf.Example, got bytes that are not one"); }
  uint64_t varint() {
    uint64_t v = 0;
    for (size_t i = 0; i < 10 && i < s_.size(); ++i) {
      auto byte = static_cast<unsigned char>(s_[i]);
      v |= static_cast<uint64_t>(byte & 0x7F) << (7 * i);
      if (byte < 0x80) {
        s_.remove_prefix(i + 1);
        return v;
      }
    }
    broken();
  }
  std::string_view take(uint64_t size) {
    if (size > s_.size()) broken();
    std::string_view part = s_.substr(0, static_cast<size_t>(size));
    s_.remove_prefix(static_cast<size_t>(size));
    return part;
  }
  std::string_view s_, bytes_;
  uint64_t field_ = 0, type_ = 0, number_ = 0;
};

// The list of one feature: bytes, floats or integers, which are fields 1 to 3 of its message.
struct ExampleFeature {
  uint64_t kind = 0;
  std::string_view list;
};
using ExampleFeatures = std::map<std::string_view, ExampleFeature>;

inline ExampleFeatures example_features(std::string_view example) {
  ExampleFeatures out;
  for (ExampleFields e(example); e.next();) {
    if (!e.is_message(1)) continue;
    for (ExampleFields features(e.bytes()); features.next();) {
      if (!features.is_message(1)) continue;
      std::string_view name;
      ExampleFeature feature;
      for (ExampleFields entry(features.bytes()); entry.next();) {
        if (entry.is_message(1)) name = entry.bytes();
        if (!entry.is_message(2)) continue;
        for (ExampleFields f(entry.bytes()); f.next();)
          if (f.field() >= 1 && f.field() <= 3 && f.is_message(f.field())) feature = {f.field(), f.bytes()};
      }
      out[name] = feature;
    }
  }
  return out;
}

// The values of one feature of all examples, one behind the other.
struct ExampleColumn {
  DType type = DType::f32;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string_view> texts;

  static void check_type(DType t) {
    if (t != DType::f32 && t != DType::i64 && t != DType::string)
      fail("expected features of type f32, i64 or string, got ", t);
  }
  int64_t size() const {
    return static_cast<int64_t>(type == DType::f32 ? floats.size() : type == DType::i64 ? ints.size() : texts.size());
  }
  void append(const ExampleFeature& f, std::string_view name) {
    constexpr DType kinds[] = {DType::undefined, DType::string, DType::f32, DType::i64};
    if (DType found = kinds[f.kind]; found != type)
      fail("expected values of type ", type, " of feature '", name, "', got ", found);
    for (ExampleFields list(f.list); list.next();) {
      if (list.field() != 1) continue;
      if (type == DType::f32) list.floats([&](float v) { floats.push_back(v); });
      else if (type == DType::i64) list.integers([&](int64_t v) { ints.push_back(v); });
      else if (list.is_message(1)) texts.push_back(list.bytes());
    }
  }
  // The values of a tensor of the same type, or the first of them as often as asked.
  void append(const TensorView& t) {
    for (int64_t i = 0; i < t.size(); ++i) append(t, i);
  }
  void append(const TensorView& t, int64_t i) {
    if (type == DType::f32) floats.push_back(t.data<float>()[i]);
    else if (type == DType::i64) ints.push_back(t.data<int64_t>()[i]);
    else texts.push_back(view(t.data<graft_str>()[i]));
  }
  // Zeros or empty strings.
  void append_blank() {
    if (type == DType::f32) floats.push_back(0);
    else if (type == DType::i64) ints.push_back(0);
    else texts.emplace_back();
  }
  void store(Run& ctx, size_t output, std::span<const int64_t> dims) const {
    if (!ctx.output_used(output)) return;
    fill(ctx, ctx.allocate(output, dims));
  }
  void fill(Run& ctx, OutputView y) const {
    if (type == DType::f32) y.assign(floats);
    else if (type == DType::i64) y.assign(ints);
    for (size_t i = 0; i < texts.size(); ++i) ctx.store(y, static_cast<int64_t>(i), texts[i]);
  }
};

}  // namespace graft
