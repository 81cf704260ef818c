#include "check/wire_text.hpp"

#include "base/error.hpp"

namespace graft::testing {
namespace {

void put_varint(std::string& out, uint64_t v) {
  for (; v >= 0x80; v >>= 7) out += static_cast<char>(v | 0x80);
  out += static_cast<char>(v);
}
template <class T>
void put_raw(std::string& out, T v) {
  out.append(reinterpret_cast<const char*>(&v), sizeof v);
}

template <class T>
std::string packed_numbers(TextReader& r) {
  std::string out;
  r.expect("[");
  while (!r.accept("]")) {
    put_raw(out, static_cast<T>(r.number()));
    r.accept(",");
  }
  return out;
}

}  // namespace

std::string from_hex(const std::string& hex) {
  std::string out;
  int high = -1;
  for (char c : hex) {
    int v = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c == ' ' || c == '\n' ? -2 : -1;
    if (v == -2) continue;
    if (v < 0) throw_user("'", hex, "' is not hexadecimal");
    if (high < 0) high = v;
    else out += static_cast<char>(high << 4 | v), high = -1;
  }
  return out;
}

std::string read_wire(TextReader& r) {
  std::string out;
  r.expect("{");
  while (!r.accept("}")) {
    if (r.accept("raw")) {
      out += from_hex(r.quoted());
      r.accept(",");
      continue;
    }
    auto field = static_cast<uint64_t>(r.integer());
    r.expect(":");
    auto key = [&](unsigned type) { put_varint(out, field << 3 | type); };
    auto bytes = [&](const std::string& b) {
      key(2);
      put_varint(out, b.size());
      out += b;
    };
    if (r.peek("{")) bytes(read_wire(r));
    else if (r.accept("bytes")) bytes(from_hex(r.quoted()));
    else if (r.accept("floats")) bytes(packed_numbers<float>(r));
    else if (r.accept("doubles")) bytes(packed_numbers<double>(r));
    else if (r.accept("float")) key(5), put_raw(out, static_cast<float>(r.number()));
    else if (r.accept("double")) key(1), put_raw(out, r.number());
    else if (r.accept("packed")) {
      std::string packed;
      r.expect("[");
      while (!r.accept("]")) {
        put_varint(packed, static_cast<uint64_t>(r.integer()));
        r.accept(",");
      }
      bytes(packed);
    } else if (r.accept("length")) {
      key(2);
      put_varint(out, static_cast<uint64_t>(r.integer()));
      out += read_wire(r);
    } else if (r.peek_quoted()) bytes(r.quoted());
    else key(0), put_varint(out, static_cast<uint64_t>(r.integer()));
    r.accept(",");
  }
  return out;
}

}  // namespace graft::testing
