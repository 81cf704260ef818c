#include "readers/tflite/flex.hpp"

#include <algorithm>
#include <cstring>

namespace graft {
namespace flex {
namespace {

enum Type : uint8_t {
  null = 0,
  integer = 1,
  natural = 2,
  real = 3,
  key = 4,
  string = 5,
  far_integer = 6,
  far_natural = 7,
  far_real = 8,
  map = 9,
  vector = 10,
  integers = 11,
  naturals = 12,
  reals = 13,
  keys = 14,
  strings = 15,
  first_pair = 16,
  last_quad = 24,  // two to four integers, naturals or reals without a length
  blob = 25,
  boolean = 26,
  booleans = 36
};

// Thrown inside this file alone: the bytes are no FlexBuffer.
struct NoFlex {};

struct Ref {
  size_t at = 0;      // of the value, or of the offset to it
  size_t parent = 1;  // bytes of the value here
  size_t width = 1;   // bytes of each element behind an offset
  unsigned type = null;
};

class FlexReader {
 public:
  explicit FlexReader(std::string_view bytes) : bytes_(bytes), left_(bytes.size() * 4 + 64) {}

  Ref root() const {
    if (bytes_.size() < 3) throw NoFlex{};
    size_t width = byte(bytes_.size() - 1);
    if (!is_width(width) || width + 2 > bytes_.size()) throw NoFlex{};
    return ref(bytes_.size() - 2 - width, width, byte(bytes_.size() - 2));
  }

  Ref target(const Ref& r) const {
    uint64_t back = unsigned_at(r.at, r.parent);
    if (back == 0 || back > r.at) throw NoFlex{};
    Ref out = r;
    out.at = r.at - static_cast<size_t>(back);
    return out;
  }
  // Of a vector, a map or a blob: the first element and their number. `packed`: a byte with the type of each follows.
  struct List {
    size_t first = 0, count = 0, width = 1, types = 0;
    unsigned type = 0;  // of all elements; 0: each has its own
    Ref item(const FlexReader& in, size_t i) const {
      size_t at = first + i * width;
      return types ? in.ref(at, width, in.byte(types + i)) : Ref{at, width, width, type};
    }
  };
  List list(const Ref& r) const {
    Ref t = target(r);
    List l;
    l.width = t.width, l.first = t.at;
    if (r.type >= first_pair && r.type <= last_quad) {
      l.count = 2 + (r.type - first_pair) / 3;
      l.type = integer + (r.type - first_pair) % 3;
    } else {
      if (t.at < t.width) throw NoFlex{};
      uint64_t count = unsigned_at(t.at - t.width, t.width);
      if (count > bytes_.size()) throw NoFlex{};
      l.count = static_cast<size_t>(count);
      switch (r.type) {
        case integers: l.type = integer; break;
        case naturals: l.type = natural; break;
        case reals: l.type = real; break;
        case keys: l.type = key; break;
        case strings: l.type = string; break;
        case booleans: l.type = boolean; break;
        case map:
        case vector: l.types = t.at + l.count * t.width; break;
        default: throw NoFlex{};
      }
    }
    size_t end = t.at + l.count * l.width + (l.types ? l.count : 0);
    if (end > bytes_.size()) throw NoFlex{};
    return l;
  }
  List keys_of(const Ref& r) const {
    Ref t = target(r);
    if (t.at < 3 * t.width) throw NoFlex{};
    size_t width = static_cast<size_t>(unsigned_at(t.at - 2 * t.width, t.width));
    if (!is_width(width)) throw NoFlex{};
    return list({t.at - 3 * t.width, t.width, width, keys});
  }

  std::string_view text(const Ref& r) const {
    if (r.type == key) {
      size_t at = target(r).at;
      size_t end = bytes_.find('\0', at);
      if (end == bytes_.npos) throw NoFlex{};
      return bytes_.substr(at, end - at);
    }
    Ref t = target(r);
    if (t.at < t.width) throw NoFlex{};
    uint64_t size = unsigned_at(t.at - t.width, t.width);
    if (size > bytes_.size() - t.at) throw NoFlex{};
    return bytes_.substr(t.at, static_cast<size_t>(size));
  }
  int64_t whole(const Ref& r) const {
    Ref v = direct(r);
    return v.type == natural || v.type == boolean ? static_cast<int64_t>(unsigned_at(v.at, v.parent))
                                                  : signed_at(v.at, v.parent);
  }
  double number(const Ref& r) const {
    Ref v = direct(r);
    if (v.type != real) return static_cast<double>(whole(v));
    if (v.parent == 4) return load<float>(v.at);
    if (v.parent == 8) return load<double>(v.at);
    throw NoFlex{};
  }
  void count(size_t n) {
    if (n > left_) throw NoFlex{};
    left_ -= n;
  }

 private:
  static bool is_width(uint64_t w) { return w == 1 || w == 2 || w == 4 || w == 8; }
  size_t byte(size_t at) const {
    if (at >= bytes_.size()) throw NoFlex{};
    return static_cast<uint8_t>(bytes_[at]);
  }
  Ref ref(size_t at, size_t parent, size_t packed) const {
    return {at, parent, size_t{1} << (packed & 3), static_cast<unsigned>(packed >> 2)};
  }
  template <class T>
  T load(size_t at) const {
    if (at > bytes_.size() || bytes_.size() - at < sizeof(T)) throw NoFlex{};
    T v;
    std::memcpy(&v, bytes_.data() + at, sizeof v);
    return v;
  }
  uint64_t unsigned_at(size_t at, size_t width) const {
    switch (width) {
      case 1: return load<uint8_t>(at);
      case 2: return load<uint16_t>(at);
      case 4: return load<uint32_t>(at);
      default: return load<uint64_t>(at);
    }
  }
  int64_t signed_at(size_t at, size_t width) const {
    switch (width) {
      case 1: return load<int8_t>(at);
      case 2: return load<int16_t>(at);
      case 4: return load<int32_t>(at);
      default: return load<int64_t>(at);
    }
  }
  // The number itself, where it lies behind an offset.
  Ref direct(const Ref& r) const {
    if (r.type < far_integer || r.type > far_real) return r;
    Ref t = target(r);
    return {t.at, t.width, t.width, r.type - far_integer + integer};
  }

  std::string_view bytes_;
  size_t left_;
};

bool is_whole(unsigned t) { return t == integer || t == natural || t == far_integer || t == far_natural; }
bool is_real_number(unsigned t) { return t == real || t == far_real; }
bool is_text(unsigned t) { return t == key || t == string; }
bool is_list(unsigned t) { return (t >= vector && t <= last_quad) || t == booleans; }

using Fields = std::vector<std::pair<std::string, RawField>>;

class FlexFields {
 public:
  FlexFields(std::string_view bytes, const Limits& limits) : in_(bytes), limits_(limits) {}

  std::optional<Fields> run() {
    Ref root = in_.root();
    if (root.type != map) return std::nullopt;
    entries(root, "", 0);
    return std::move(out_);
  }

 private:
  void entries(const Ref& r, const std::string& path, uint64_t depth) {
    if (depth > limits_.depth)
      throw_limit(&Limits::depth, "custom options are nested more than ", limits_.depth, " deep");
    auto values = in_.list(r), names = in_.keys_of(r);
    if (names.count != values.count) throw NoFlex{};
    for (size_t i = 0; i < values.count; ++i)
      value(values.item(in_, i), path + std::string(in_.text(names.item(in_, i))), depth);
  }
  void add(const std::string& path, Attribute a) {
    if (out_.size() >= limits_.attributes)
      throw_limit(&Limits::attributes, "custom options have more than ", limits_.attributes, " values");
    in_.count(path.size() + 1);
    RawField f;
    f.value = std::move(a);
    out_.emplace_back(path, std::move(f));
  }
  void value(const Ref& r, const std::string& path, uint64_t depth) {
    in_.count(1);
    if (r.type == null) return;
    if (is_whole(r.type)) return add(path, in_.whole(r));
    if (is_real_number(r.type)) return add(path, in_.number(r));
    if (r.type == boolean) return add(path, in_.whole(r) != 0);
    if (is_text(r.type)) return add(path, std::string(in_.text(r)));
    if (r.type == map) return entries(r, path + '.', depth + 1);
    if (r.type == blob) return add(path, bytes_of(in_.text(r)));
    if (!is_list(r.type)) throw NoFlex{};
    list(r, path, depth);
  }
  static Tensor bytes_of(std::string_view bytes) {
    Tensor t(DType::u8, {static_cast<int64_t>(bytes.size())});
    std::memcpy(t.data(), bytes.data(), bytes.size());
    return t;
  }
  void list(const Ref& r, const std::string& path, uint64_t depth) {
    if (depth > limits_.depth)
      throw_limit(&Limits::depth, "custom options are nested more than ", limits_.depth, " deep");
    auto l = in_.list(r);
    in_.count(l.count);
    bool whole = true, number = true, text = true;
    for (size_t i = 0; i < l.count; ++i) {
      unsigned t = l.item(in_, i).type;
      whole = whole && (is_whole(t) || t == boolean);
      number = number && (is_whole(t) || is_real_number(t));
      text = text && is_text(t);
    }
    if (l.count == 0 && l.type == real) whole = false;
    if (l.count == 0 && is_text(l.type)) whole = number = false;
    if (whole) return all<int64_t>(l, path, [&](const Ref& v) { return in_.whole(v); });
    if (number) return all<double>(l, path, [&](const Ref& v) { return in_.number(v); });
    if (text) return all<std::string>(l, path, [&](const Ref& v) { return std::string(in_.text(v)); });
    for (size_t i = 0; i < l.count; ++i) value(l.item(in_, i), graft::text(path, '.', i), depth + 1);
  }
  template <class T, class F>
  void all(const FlexReader::List& l, const std::string& path, F&& read) {
    std::vector<T> values;
    for (size_t i = 0; i < l.count; ++i) values.push_back(read(l.item(in_, i)));
    add(path, std::move(values));
  }

  FlexReader in_;
  const Limits& limits_;
  Fields out_;
};

}  // namespace
}  // namespace flex

std::optional<flex::Fields> read_flex_map(std::string_view bytes, const Limits& limits) {
  try {
    return flex::FlexFields(bytes, limits).run();
  } catch (const flex::NoFlex&) {
    return std::nullopt;
  }
}

std::optional<std::vector<std::string_view>> read_flex_strings(std::string_view bytes) {
  using namespace flex;
  try {
    FlexReader in(bytes);
    Ref root = in.root();
    if (!is_list(root.type)) return std::nullopt;
    auto l = in.list(root);
    in.count(l.count);
    std::vector<std::string_view> out;
    for (size_t i = 0; i < l.count; ++i) {
      Ref r = l.item(in, i);
      if (!is_text(r.type) && r.type != blob) return std::nullopt;
      out.push_back(in.text(r));
    }
    return out;
  } catch (const flex::NoFlex&) {
    return std::nullopt;
  }
}

}  // namespace graft
