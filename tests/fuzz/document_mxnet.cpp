#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/text.hpp"
#include "document_formats.hpp"
#include "readers/json.hpp"

namespace graft::fuzzing {
namespace {

using nlohmann::json;

// ---- the symbol ----

// In Tree::field: what a group was.
constexpr uint32_t an_object = 1, an_array = 2;

Tree read_value(const std::string& name, const json& v, bool attribute) {
  Tree t = make_tree(attribute ? "@" + name : name);
  bool attributes = name == "attrs" || name == "param" || name == "attr";
  if (v.is_object()) {
    t.field = an_object;
    for (const auto& [key, value] : v.items()) t.children.push_back(read_value(key, value, attributes));
  } else if (v.is_array()) {
    t.field = an_array;
    for (const json& item : v) t.children.push_back(read_value("item", item, false));
  } else if (v.is_string()) {
    t.value = v.get<std::string>();
    t.quoted = true;
  } else if (v.is_number_integer()) {
    t.value = v.get<int64_t>();
  } else if (v.is_number()) {
    t.value = v.get<double>();
  } else {
    t.value = v.dump();  // true, false, null
  }
  return t;
}

json write_value(const Tree& t) {
  if (const int64_t* i = t.integer()) return *i;
  if (const double* d = std::get_if<double>(&t.value)) return *d;
  if (const std::string* s = t.text()) {
    if (t.quoted) return *s;
    return *s == "true" ? json(true) : *s == "false" ? json(false) : json();
  }
  if (t.field == an_array) {
    json out = json::array();
    for (const Tree& c : t.children) out.push_back(write_value(c));
    return out;
  }
  json out = json::object();
  for (const Tree& c : t.children) out[c.name.starts_with('@') ? c.name.substr(1) : c.name] = write_value(c);
  return out;
}

// ---- the arrays ----

constexpr uint32_t array_mark = 0xF993fac9;
constexpr uint64_t list_mark = 0x112;
constexpr size_t element_bytes[] = {4, 8, 2, 1, 4, 1, 8, 1, 2, 2, 4, 8, 2};

class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  T number() {
    T v;
    std::memcpy(&v, take(sizeof v).data(), sizeof v);
    return v;
  }
  std::string_view take(uint64_t count) {
    if (count > bytes_.size()) throw_user("the arrays end too early");
    std::string_view out = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return out;
  }

 private:
  std::string_view bytes_;
};

Tree read_array(Bytes& in) {
  if (in.number<uint32_t>() != array_mark || in.number<int32_t>() != 0) throw_user("expected a dense array");
  Tree out = make_tree("array");
  auto rank = in.number<uint32_t>();
  uint64_t size = 1;
  for (uint32_t i = 0; i < rank; ++i) {
    auto d = in.number<int64_t>();
    out.children.push_back(make_tree("dims", d));
    if (__builtin_mul_overflow(size, static_cast<uint64_t>(d), &size)) throw_user("an array is too large");
  }
  in.take(8);  // the device
  auto type = in.number<int32_t>();
  if (type < 0 || type >= static_cast<int32_t>(std::size(element_bytes))) throw_user("unknown element type");
  if (__builtin_mul_overflow(size, uint64_t{element_bytes[type]}, &size)) throw_user("an array is too large");
  out.children.push_back(make_tree("data_type", int64_t{type}));
  out.children.push_back(make_tree("raw_data", std::string(in.take(size))));
  return out;
}

Tree read_arrays(std::string_view bytes) {
  Tree out = make_tree("arrays");
  if (bytes.empty()) return out;
  Bytes in(bytes);
  if (in.number<uint64_t>() != list_mark) throw_user("expected a list of arrays");
  in.take(8);
  auto count = in.number<uint64_t>();
  for (uint64_t i = 0; i < count; ++i) out.children.push_back(read_array(in));
  if (in.number<uint64_t>() != count) throw_user("expected a name per array");
  for (Tree& a : out.children) {
    auto size = in.number<uint64_t>();
    a.children.push_back(make_tree("name", std::string(in.take(size))));
  }
  return out;
}

template <class T>
void put(std::string& out, T v) {
  out.append(reinterpret_cast<const char*>(&v), sizeof v);
}
void write_array(const Tree& t, std::string& out) {
  uint32_t rank = 0;
  std::string dims;
  for (const Tree& c : t.children)
    if (c.name == "dims" && c.integer()) put(dims, *c.integer()), ++rank;
  put(out, array_mark), put(out, int32_t{0}), put(out, rank);
  out += dims;
  put(out, int32_t{1}), put(out, int32_t{0}), put(out, static_cast<int32_t>(t.integer_of("data_type")));
  out += t.text_of("raw_data");
}

}  // namespace

Tree make_tree(std::string name, decltype(Tree::value) value) {
  Tree t;
  t.name = std::move(name);
  t.value = std::move(value);
  return t;
}

Tree read_mxnet_document(std::string_view bytes) {
  size_t zero = std::min(bytes.find('\0'), bytes.size());
  Tree root = make_tree("");
  root.children.push_back(read_value("symbol", parse_json(bytes.substr(0, zero), "symbol", {}), false));
  root.children.push_back(read_arrays(bytes.substr(std::min(zero + 1, bytes.size()))));
  return root;
}

void write_mxnet_document(const Tree& root, std::string& out) {
  if (const Tree* symbol = root.child("symbol"))
    out += write_value(*symbol).dump(-1, ' ', false, json::error_handler_t::replace);
  const Tree* arrays = root.child("arrays");
  if (!arrays || arrays->children.empty()) return;
  out += '\0';
  put(out, list_mark), put(out, uint64_t{0}), put(out, uint64_t{arrays->children.size()});
  for (const Tree& a : arrays->children) write_array(a, out);
  put(out, uint64_t{arrays->children.size()});
  for (const Tree& a : arrays->children) {
    std::string name = a.text_of("name");
    put(out, uint64_t{name.size()});
    out += name;
  }
}

std::vector<std::string> items_of(std::string_view list) {
  list = trim(list);
  if (list.size() > 1 && (list.front() == '(' || list.front() == '[')) list = list.substr(1, list.size() - 2);
  std::vector<std::string> out;
  for (std::string_view s : split(list, ',')) out.emplace_back(trim(s));
  if (!out.empty() && out.back().empty()) out.pop_back();  // as in "(1,)"
  return out;
}
std::string with_items(std::string_view list, const std::vector<std::string>& items) {
  list = trim(list);
  std::string out = join(items, ",");
  if (!list.empty() && list.front() == '(') return "(" + out + (items.size() == 1 ? ",)" : ")");
  return !list.empty() && list.front() == '[' ? "[" + out + "]" : out;
}

}  // namespace graft::fuzzing
