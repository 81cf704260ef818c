#include "graph/attribute_text.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

namespace graft {
namespace {

std::vector<std::string> split_escaped(std::string_view s) {
  std::vector<std::string> out(1);
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '\\' && i + 1 < s.size() && s[i + 1] == ',') out.back() += s[++i];
    else if (s[i] == ',') out.emplace_back();
    else out.back() += s[i];
  }
  return out;
}
std::vector<std::string> parse_texts(std::string_view s) {
  std::vector<std::string> out;
  if (s.empty()) return out;
  for (const std::string& item : split_escaped(s)) out.emplace_back(trim(item));
  return out;
}

template <class T, class F>
std::vector<T> parse_list(std::string_view s, F&& one, std::string_view what) {
  std::vector<T> out;
  if (trim(s).empty()) return out;
  for (std::string_view part : split(s, ',')) {
    auto v = one(trim(part));
    if (!v) throw_user("expected a list of ", what, ", got '", s, "'");
    out.push_back(static_cast<T>(*v));
  }
  return out;
}

}  // namespace

std::vector<std::string> parse_names(std::string_view s) {
  std::vector<std::string> out = split_escaped(s);
  std::erase(out, "");
  return out;
}

Attribute parse_attribute(std::string_view s, graft_kind kind) {
  auto wanted = [&](std::string_view what) -> Attribute { throw_user("expected ", what, ", got '", s, "'"); };
  switch (kind) {
    case GRAFT_BOOL: {
      auto v = parse_bool(s);
      return v ? Attribute(*v) : wanted("true or false");
    }
    case GRAFT_INT: {
      auto v = parse_int(s);
      return v ? Attribute(*v) : wanted("an integer");
    }
    case GRAFT_FLOAT: {
      auto v = parse_number(s);
      return v ? Attribute(*v) : wanted("a number");
    }
    case GRAFT_DTYPE: {
      auto v = parse_dtype(s);
      return v ? Attribute(*v) : wanted("an element type");
    }
    case GRAFT_SHAPE: {
      auto v = parse_shape(s);
      return v ? Attribute(*v) : wanted("a shape");
    }
    case GRAFT_INTS: return parse_list<int64_t>(s, parse_int, "integers");
    case GRAFT_FLOATS: return parse_list<double>(s, parse_number, "numbers");
    case GRAFT_DTYPES: return parse_list<DType>(s, parse_dtype, "element types");
    case GRAFT_TEXTS: return parse_texts(s);
    default: return std::string(s);
  }
}

namespace {

std::string list_text(const auto& items, auto&& one) {
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) out += (i ? ", " : "") + one(items[i]);
  return out;
}

}  // namespace

std::string escape_commas(const std::string& s) {
  std::string out;
  for (char c : s) {
    if (c == ',') out += '\\';
    out += c;
  }
  return out;
}

std::string attribute_text(const Attribute& v, bool single) {
  switch (v.kind()) {
    case GRAFT_BOOL: return v.as<bool>() ? "true" : "false";
    case GRAFT_INT: return text(v.as<int64_t>());
    case GRAFT_FLOAT: return number_text_17(v.as<double>());
    case GRAFT_TEXT: return v.as<std::string>();
    case GRAFT_DTYPE: return std::string(name_of(v.as<DType>()));
    case GRAFT_SHAPE: {
      std::string s = text(v.as<Shape>());
      return s.substr(1, s.size() - 2);
    }
    case GRAFT_INTS: return list_text(v.as<std::vector<int64_t>>(), [](int64_t i) { return text(i); });
    case GRAFT_FLOATS:
      return list_text(v.as<std::vector<double>>(), [&](double f) {
        return single && static_cast<double>(static_cast<float>(f)) == f ? text(static_cast<float>(f)) : number_text(f);
      });
    case GRAFT_TEXTS: return list_text(v.as<std::vector<std::string>>(), escape_commas);
    case GRAFT_DTYPES: return list_text(v.as<std::vector<DType>>(), [](DType t) { return std::string(name_of(t)); });
    default: throw_internal("a ", kind_name(v.kind()), " cannot be written as an attribute");
  }
}

bool reads_back(const Attribute& v, bool single) {
  if (v.kind() == GRAFT_SHAPE) return true;  // which unknown dimensions are equal belongs to the graph, not to a file
  Attribute back = parse_attribute(attribute_text(v, single), v.kind());
  return back == v || (single && rounded_to_f32(back) == v);
}

Attribute rounded_to_f32(const Attribute& v) {
  auto single = [](double f) { return static_cast<double>(static_cast<float>(f)); };
  if (auto f = v.get_if<double>()) return single(*f);
  auto list = v.get_if<std::vector<double>>();
  if (!list) return v;
  std::vector<double> out;
  for (double f : *list) out.push_back(single(f));
  return out;
}

}  // namespace graft
