#include "graph/attribute.hpp"

#include <algorithm>
#include <bit>

#include "base/given.hpp"
#include "base/tensor.hpp"

namespace graft {

Attribute Attribute::from(const graft_value& v) {
  auto list = [&]<class T>(T) {
    auto items = given_list(static_cast<const T*>(v.items), v.count, "values");
    return std::vector<T>(items.begin(), items.end());
  };
  switch (v.kind) {
    case GRAFT_BOOL: return v.i != 0;
    case GRAFT_INT: return v.i;
    case GRAFT_FLOAT: return v.f;
    case GRAFT_TEXT: return std::string(given_text(v.s, "a text"));
    case GRAFT_DTYPE: return static_cast<DType>(v.i);
    case GRAFT_SHAPE: return given_shape(v.shape);
    case GRAFT_TENSOR:
      if (!v.tensor) throw_user("expected a tensor, got a null pointer");
      return copy_of(*v.tensor);
    case GRAFT_INTS: return list(int64_t{});
    case GRAFT_FLOATS: return list(double{});
    case GRAFT_TEXTS: {
      std::vector<std::string> out;
      for (graft_str s : given_list(static_cast<const graft_str*>(v.items), v.count, "texts"))
        out.emplace_back(given_text(s, "a text"));
      return out;
    }
    case GRAFT_DTYPES: {
      std::vector<DType> out;
      for (graft_type t : given_list(static_cast<const graft_type*>(v.items), v.count, "types"))
        out.push_back(static_cast<DType>(t));
      return out;
    }
    default: return {};
  }
}

graft_value Attribute::raw(std::vector<graft_str>& texts, std::vector<graft_type>& types) const {
  graft_value v{};
  v.kind = kind();
  switch (v.kind) {
    case GRAFT_BOOL: v.i = as<bool>(); break;
    case GRAFT_INT: v.i = as<int64_t>(); break;
    case GRAFT_FLOAT: v.f = as<double>(); break;
    case GRAFT_TEXT: v.s = str(as<std::string>()); break;
    case GRAFT_DTYPE: v.i = static_cast<graft_type>(as<DType>()); break;
    case GRAFT_SHAPE: v.shape = as<Shape>().raw(); break;
    case GRAFT_TENSOR: v.tensor = as<Tensor>().raw(); break;
    case GRAFT_INTS: v.items = as<std::vector<int64_t>>().data(), v.count = as<std::vector<int64_t>>().size(); break;
    case GRAFT_FLOATS: v.items = as<std::vector<double>>().data(), v.count = as<std::vector<double>>().size(); break;
    case GRAFT_TEXTS:
      texts.clear();
      for (const std::string& t : as<std::vector<std::string>>()) texts.push_back(str(t));
      v.items = texts.data(), v.count = texts.size();
      break;
    case GRAFT_DTYPES:
      types.clear();
      for (DType t : as<std::vector<DType>>()) types.push_back(static_cast<graft_type>(t));
      v.items = types.data(), v.count = types.size();
      break;
    default: break;
  }
  return v;
}

bool Attribute::operator==(const Attribute& o) const {
  if (data_.index() != o.data_.index()) return false;
  if (auto t = get_if<Tensor>()) return same_content(*t, o.as<Tensor>());
  // Numbers by their bits: -0 is not 0, and a NaN is itself.
  auto same = [](double a, double b) { return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b); };
  if (auto d = get_if<double>()) return same(*d, o.as<double>());
  if (auto list = get_if<std::vector<double>>()) {
    const auto& other = o.as<std::vector<double>>();
    return std::equal(list->begin(), list->end(), other.begin(), other.end(), same);
  }
  return std::visit(
      [&](const auto& mine) {
        using T = std::remove_cvref_t<decltype(mine)>;
        if constexpr (std::is_same_v<T, Tensor>) return false;
        else return mine == std::get<T>(o.data_);
      },
      data_);
}

std::string_view kind_name(graft_kind kind) {
  constexpr std::string_view names[] = {
      "nothing", "boolean",        "integer",          "number",          "string",          "element type",
      "shape",   "tensor",         "list of integers", "list of numbers", "list of strings", "list of element types",
      "graph",   "list of tensors"};
  return kind >= 0 && static_cast<size_t>(kind) < std::size(names) ? names[kind] : "unknown kind";
}

const Attribute* Attributes::find(std::string_view name) const {
  for (const auto& [n, a] : items_)
    if (n == name) return &a;
  return nullptr;
}
Attribute& Attributes::operator[](const std::string& name) {
  for (auto& [n, a] : items_)
    if (n == name) return a;
  return items_.emplace_back(name, Attribute()).second;
}
void Attributes::erase(std::string_view name) {
  std::erase_if(items_, [&](const auto& item) { return item.first == name; });
}

}  // namespace graft
