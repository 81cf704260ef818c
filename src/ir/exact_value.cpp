#include "ir/exact_value.hpp"

#include <bit>
#include <cstring>

#include "base/error.hpp"
#include "base/tensor.hpp"
#include "base/text.hpp"
#include "base/xml_text.hpp"
#include "ir/xml_values.hpp"

namespace graft {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers in hexadecimal digits are little-endian");

std::string to_hex(std::string_view bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (char c : bytes) {
    auto u = static_cast<unsigned char>(c);
    out += digits[u >> 4];
    out += digits[u & 15];
  }
  return out;
}

std::string from_hex(std::string_view s) {
  auto digit = [&](char c) -> unsigned {
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
    throw_user("expected hexadecimal digits, got '", s, "'");
  };
  if (s.size() % 2) throw_user("expected pairs of hexadecimal digits, got '", s, "'");
  std::string out;
  for (size_t i = 0; i < s.size(); i += 2) out += static_cast<char>(digit(s[i]) * 16 + digit(s[i + 1]));
  return out;
}

std::string number_bytes(const std::vector<double>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(double)};
}
std::vector<double> numbers_from(std::string_view bytes) {
  if (bytes.size() % sizeof(double)) throw_user("expected 16 hexadecimal digits per number");
  std::vector<double> out(bytes.size() / sizeof(double));
  if (!bytes.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

}  // namespace

void write_bytes(XmlWriter& xml, std::string_view name, const std::string& value) {
  if (xml_can_hold(value)) xml.attribute(name, value);
  else xml.attribute(text(name, "_hex"), to_hex(value));
}

std::string read_bytes(pugi::xml_node x, const char* name) {
  std::string coded = text(name, "_hex");
  if (x.attribute(coded.c_str())) return from_hex(x.attribute(coded.c_str()).value());
  return std::string(required(x, name));
}

void write_place(XmlWriter& xml, WeightsStore& weights, const Tensor& t, const std::string& prefix) {
  WeightsPlace at = weights.add(t);
  xml.attribute(prefix + "element_type", name_of(t.type()));
  xml.attribute(prefix + "shape", attribute_text(t.dims()));
  xml.attribute(prefix + "offset", at.offset).attribute(prefix + "size", at.size);
}

void write_exactly(XmlWriter& xml, WeightsStore& weights, const Attribute& v) {
  if (v.kind() != GRAFT_NONE) xml.attribute("kind", kind_name(v.kind()));
  switch (v.kind()) {
    case GRAFT_NONE: return;
    case GRAFT_TEXT: return write_bytes(xml, "value", v.as<std::string>());
    case GRAFT_TENSOR: return write_place(xml, weights, v.as<Tensor>());
    case GRAFT_TEXTS:
      for (const std::string& s : v.as<std::vector<std::string>>()) {
        xml.open("item");
        write_bytes(xml, "value", s);
        xml.close();
      }
      return;
    default: break;
  }
  if (reads_back(v)) return (void)xml.attribute("value", attribute_text(v));
  if (auto f = v.get_if<double>()) xml.attribute("value_hex", to_hex(number_bytes({*f})));
  else if (auto list = v.get_if<std::vector<double>>()) xml.attribute("value_hex", to_hex(number_bytes(*list)));
  else throw_user("the ", kind_name(v.kind()), " ", print(v), " cannot be written to an IR");
}

Attribute read_exactly(pugi::xml_node x, const std::function<Tensor(pugi::xml_node)>& tensor) {
  if (!x.attribute("kind")) return {};
  std::string_view word = x.attribute("kind").value();
  graft_kind kind = GRAFT_BOOL;
  while (kind <= GRAFT_DTYPES && kind_name(kind) != word) ++kind;
  if (kind > GRAFT_DTYPES) throw_user("unknown kind '", word, "' of a field");
  if (kind == GRAFT_TENSOR) return tensor(x);
  if (kind == GRAFT_TEXT) return read_bytes(x, "value");
  if (kind == GRAFT_TEXTS) {
    std::vector<std::string> items;
    for (pugi::xml_node i : x.children("item")) items.push_back(read_bytes(i, "value"));
    return items;
  }
  bool number = kind == GRAFT_FLOAT, numbers = kind == GRAFT_FLOATS;
  if (!x.attribute("value_hex") || (!number && !numbers)) return parse_attribute(required(x, "value"), kind);
  std::vector<double> list = numbers_from(read_bytes(x, "value"));
  if (numbers) return list;
  if (list.size() != 1) throw_user("expected the 16 hexadecimal digits of one number, got those of ", list.size());
  return list[0];
}

}  // namespace graft
