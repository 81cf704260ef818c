#include "readers/npy.hpp"

#include <algorithm>
#include <cstring>

#include "base/file.hpp"
#include "base/tensor.hpp"
#include "base/text.hpp"

namespace graft {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr int64_t max_empty_texts = 1 << 20;  // they take no byte of the file, but memory

struct Header {
  std::string descr;
  bool fortran = false;
  std::vector<int64_t> dims;
};

// The header is a Python dictionary with three fixed keys.
Header parse_header(std::string_view h) {
  auto after = [&](std::string_view key) {
    size_t at = h.find(key);
    if (at == h.npos) throw_user("the header has no ", key);
    at = h.find(':', at);
    if (at == h.npos) throw_user("the header ends after ", key);
    return trim(h.substr(at + 1));
  };
  Header out;
  std::string_view d = after("'descr'");
  if (d.empty() || (d[0] != '\'' && d[0] != '"')) throw_unsupported("structured arrays are not supported");
  size_t close = d.find(d[0], 1);
  if (close == d.npos) throw_user("the header ends inside 'descr'");
  out.descr = d.substr(1, close - 1);
  out.fortran = after("'fortran_order'").starts_with("True");
  std::string_view s = after("'shape'");
  size_t end = s.find(')');
  if (!s.starts_with('(') || end == s.npos) throw_user("the header has no shape");
  for (std::string_view part : split(s.substr(1, end - 1), ',')) {
    part = trim(part);
    if (part.empty()) continue;
    if (part.ends_with('L')) part.remove_suffix(1);
    auto n = parse_int(part);
    if (!n || *n < 0) throw_user("expected a dimension, got '", part, "'");
    out.dims.push_back(*n);
  }
  return out;
}

DType dtype_for(std::string_view descr) {
  constexpr std::pair<std::string_view, DType> types[] = {
      {"b1", DType::boolean}, {"f8", DType::f64}, {"f4", DType::f32}, {"f2", DType::f16},
      {"i8", DType::i64},     {"i4", DType::i32}, {"i2", DType::i16}, {"i1", DType::i8},
      {"u8", DType::u64},     {"u4", DType::u32}, {"u2", DType::u16}, {"u1", DType::u8}};
  if (descr.size() == 3)
    for (auto [name, type] : types)
      if (descr.substr(1) == name) return type;
  throw_unsupported("arrays of type '", descr, "' are not supported");
}

void append_utf8(std::string& out, uint32_t c) {
  if (c < 0x80) out += static_cast<char>(c);
  else if (c < 0x800) out += {static_cast<char>(0xc0 | c >> 6), static_cast<char>(0x80 | (c & 63))};
  else if (c < 0x10000)
    out += {static_cast<char>(0xe0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 63)),
            static_cast<char>(0x80 | (c & 63))};
  else
    out += {static_cast<char>(0xf0 | c >> 18), static_cast<char>(0x80 | (c >> 12 & 63)),
            static_cast<char>(0x80 | (c >> 6 & 63)), static_cast<char>(0x80 | (c & 63))};
}

std::u32string from_utf8(std::string_view s) {
  std::u32string out;
  for (size_t i = 0; i < s.size();) {
    auto c = static_cast<unsigned char>(s[i]);
    size_t n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    char32_t v = n == 1 ? c : c & (0xff >> (n + 1));
    for (size_t k = 1; k < n && i + k < s.size(); ++k) v = v << 6 | (static_cast<unsigned char>(s[i + k]) & 63);
    out += v;
    i += n;
  }
  return out;
}

// Strings: <U12 (four bytes a character) or |S12.
Tensor read_strings(std::string_view body, const Header& h) {
  bool wide = h.descr[1] == 'U';
  auto width = parse_int(std::string_view(h.descr).substr(2));
  int64_t count = count_checked(h.dims);
  if (!width || *width < 0 || *width > (1 << 24)) throw_user("expected a string type, got '", h.descr, "'");
  size_t cell = static_cast<size_t>(*width) * (wide ? 4 : 1);
  if (cell == 0 && count > max_empty_texts)
    throw_user("expected at most ", max_empty_texts, " empty strings in the array, got ", count);
  if (cell != 0 && static_cast<size_t>(count) > body.size() / cell) throw_user("the data is truncated");
  std::vector<std::string> texts;
  for (int64_t i = 0; i < count; ++i) {
    std::string s;
    const char* p = body.data() + static_cast<size_t>(i) * cell;
    for (int64_t k = 0; k < *width; ++k) {
      uint32_t c = 0;
      if (wide) std::memcpy(&c, p + 4 * k, 4);
      else c = static_cast<unsigned char>(p[k]);
      if (c == 0) break;
      if (wide) append_utf8(s, c);
      else s += static_cast<char>(c);
    }
    texts.push_back(std::move(s));
  }
  return Tensor::strings(h.dims, std::move(texts));
}

Tensor row_major(const Tensor& t) {
  // `t` holds the elements in column-major order of its dims.
  Tensor out(t.type(), t.dims());
  size_t cell = static_cast<size_t>(bits_of(t.type())) / 8, rank = t.dims().size();
  std::vector<int64_t> at(rank, 0), step(rank, 1);
  for (size_t i = 1; i < rank; ++i) step[i] = step[i - 1] * t.dims()[i - 1];
  auto* to = static_cast<char*>(out.data());
  for (int64_t n = 0; n < t.size(); ++n) {
    int64_t from = 0;
    for (size_t i = 0; i < rank; ++i) from += at[i] * step[i];
    std::memcpy(to + static_cast<size_t>(n) * cell,
                static_cast<const char*>(t.data()) + static_cast<size_t>(from) * cell, cell);
    for (size_t i = rank; i-- > 0;) {
      if (++at[i] < t.dims()[i]) break;
      at[i] = 0;
    }
  }
  return out;
}

}  // namespace

Tensor read_npy(std::string_view bytes, std::shared_ptr<const void> keeper, const Limits& limits) {
  if (!bytes.starts_with(magic) || bytes.size() < 10) throw_user("not an .npy file");
  auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(bytes[i])); };
  size_t start = byte(6) >= 2 ? 12 : 10;
  if (bytes.size() < start) throw_user("the file ends inside its header");
  size_t length = byte(8) | byte(9) << 8;
  if (start == 12) length |= byte(10) << 16 | byte(11) << 24;
  if (length > bytes.size() - start) throw_user("the file ends inside its header");
  Header h = parse_header(bytes.substr(start, length));
  std::string_view body = bytes.substr(start + length);
  if (h.dims.size() > limits.rank)
    throw_limit(&Limits::rank, "expected at most ", limits.rank, " dimensions, got ", h.dims.size());
  if (h.descr.size() > 2 && (h.descr[1] == 'U' || h.descr[1] == 'S')) return read_strings(body, h);
  DType type = dtype_for(h.descr);
  size_t want = bytes_for(type, count_checked(h.dims));
  if (body.size() < want) throw_user("expected ", want, " bytes of data for shape ", h.dims, ", got ", body.size());
  Tensor t = tensor_in_file(type, h.dims, body.data(), std::move(keeper));
  if (h.descr[0] == '>') {
    t = t.clone();
    size_t cell = static_cast<size_t>(bits_of(type)) / 8;
    for (int64_t i = 0; i < t.size(); ++i)
      std::reverse(static_cast<char*>(t.data()) + static_cast<size_t>(i) * cell,
                   static_cast<char*>(t.data()) + static_cast<size_t>(i + 1) * cell);
  }
  return h.fortran && h.dims.size() > 1 ? row_major(t) : is_aligned(t) ? t : t.clone();
}

Tensor read_npy(const std::string& path, const Limits& limits) {
  return with_context(
      [&] {
        auto file = MappedFile::open(path);
        return read_npy(file->chars(), file, limits);
      },
      [&] { return text("reading '", path, "'"); });
}

std::string npy_bytes(const Tensor& given) {
  Tensor t = given;
  if (is_real(t.type()) && (bits_of(t.type()) < 16 || t.type() == DType::bf16)) t = t.to(DType::f32);
  if (t.type() == DType::i4) t = t.to(DType::i8);
  if (t.type() == DType::u4 || t.type() == DType::u1) t = t.to(DType::u8);
  std::string descr, body;
  if (t.type() == DType::string) {
    std::vector<std::u32string> texts;
    size_t width = 1;
    for (int64_t i = 0; i < t.size(); ++i) {
      texts.push_back(from_utf8(t.text_at(i)));
      width = std::max(width, texts.back().size());
    }
    descr = text("<U", width);
    for (std::u32string& s : texts) {
      s.resize(width);
      body.append(reinterpret_cast<const char*>(s.data()), width * 4);
    }
  } else {
    char family = t.type() == DType::boolean ? 'b' : is_real(t.type()) ? 'f' : is_signed_integer(t.type()) ? 'i' : 'u';
    int width = bits_of(t.type()) / 8;
    descr = text(width == 1 ? '|' : '<', family, width);
    body.assign(static_cast<const char*>(t.data()), t.bytes());
  }
  std::string shape = "(";
  for (size_t i = 0; i < t.dims().size(); ++i)
    shape += text(t.dims()[i], i + 1 == t.dims().size() && i > 0 ? "" : ", ");
  if (t.dims().size() == 1) shape = text("(", t.dims()[0], ",");
  shape += ")";
  std::string header = text("{'descr': '", descr, "', 'fortran_order': False, 'shape': ", shape, ", }");
  while ((header.size() + 11) % 64) header += ' ';
  header += '\n';
  std::string out(magic);
  out += {1, 0, static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  return out + header + body;
}

void write_npy(const std::string& path, const Tensor& t) {
  OutputFile file(path);
  file.write(npy_bytes(t));
  file.commit();
}

}  // namespace graft
