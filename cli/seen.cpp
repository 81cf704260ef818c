#include "seen.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <graft/text.hpp>
#include <map>

namespace graft::cli {
namespace {

graft_kind item_kind(graft_kind k) {
  switch (k) {
    case GRAFT_INTS: return GRAFT_INT;
    case GRAFT_FLOATS: return GRAFT_FLOAT;
    case GRAFT_TEXTS: return GRAFT_TEXT;
    case GRAFT_DTYPES: return GRAFT_DTYPE;
    default: return k;
  }
}
graft_kind list_kind(graft_kind item) {
  switch (item) {
    case GRAFT_INT: return GRAFT_INTS;
    case GRAFT_FLOAT: return GRAFT_FLOATS;
    case GRAFT_TEXT: return GRAFT_TEXTS;
    case GRAFT_DTYPE: return GRAFT_DTYPES;
    default: return item;
  }
}
bool is_list(graft_kind k) { return item_kind(k) != k; }

// The kind that can represent both: int and float become float, a value and a list become a list. If there is none,
// returns the first.
graft_kind joined_kind(graft_kind a, graft_kind b) {
  graft_kind x = item_kind(a), y = item_kind(b), item = x;
  if (x != y) {
    auto pair = std::minmax(x, y);
    if (pair == std::minmax<graft_kind>(GRAFT_INT, GRAFT_FLOAT)) item = GRAFT_FLOAT;
    else if (pair == std::minmax<graft_kind>(GRAFT_BOOL, GRAFT_INT)) item = GRAFT_INT;
    else return a;
  }
  return is_list(a) || is_list(b) ? list_kind(item) : item;
}

bool is_empty_list(const Attribute& a) {
  auto list = a.get_if<std::vector<int64_t>>();
  return list && list->empty();
}

std::string short_text(const Attribute& a) {
  std::string s = a.kind() == GRAFT_TENSOR ? text(a.as<Tensor>().info()) : print(a);
  return s.size() > 40 ? s.substr(0, 37) + "..." : s;
}

// The shortest decimal number that is the same in f32, for a number that a framework stores in 32 bits.
double shortest(double v) {
  auto narrow = static_cast<float>(v);
  if (!std::isfinite(v) || static_cast<double>(narrow) != v) return v;
  double out = v;
  std::string digits = text(narrow);
  std::from_chars(digits.data(), digits.data() + digits.size(), out);
  return out;
}
Attribute with_shortest_numbers(const Attribute& a) {
  if (auto v = a.get_if<double>()) return shortest(*v);
  if (auto list = a.get_if<std::vector<double>>()) {
    std::vector<double> out;
    for (double v : *list) out.push_back(shortest(v));
    return out;
  }
  return a;
}

void add(SeenAttribute& a, const Attribute& given) {
  Attribute value = with_shortest_numbers(given);
  constexpr size_t most_values = 4;
  // The element kind of an empty list is unknown.
  if (a.layers == 0 || is_empty_list(a.example)) a.kind = value.kind(), a.example = value;
  else if (!is_empty_list(value)) a.kind = joined_kind(a.kind, value.kind());
  ++a.layers;
  std::string v = short_text(value);
  if (std::find(a.values.begin(), a.values.end(), v) == a.values.end() && a.values.size() < most_values)
    a.values.push_back(v);
}

// Fields of a Caffe layer are in a message, "scale_param.axis", which is redundant with the layer type.
std::string_view without_message(std::string_view path) {
  constexpr std::string_view python = "python_param.param_str.";
  if (path.starts_with(python)) return path.substr(python.size());
  size_t dot = path.find('.');
  return dot != path.npos && path.substr(0, dot).ends_with("_param") ? path.substr(dot + 1) : path;
}

void shorten_names(SeenOperation& s) {
  std::map<std::string_view, int> uses;
  for (const SeenAttribute& a : s.attributes) ++uses[without_message(a.path)];
  for (SeenAttribute& a : s.attributes)
    if (std::string_view name = without_message(a.path); uses[name] == 1 && !name.empty()) a.name = name;
}

// Attribute names are XML attributes in an IR: replaces characters that XML does not allow with underscores.
void clean_names(SeenOperation& s) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  auto other = [](char c) { return (c >= '0' && c <= '9') || c == '.' || c == '-'; };
  std::set<std::string> taken;
  for (const SeenAttribute& a : s.attributes) taken.insert(a.name);
  for (SeenAttribute& a : s.attributes) {
    std::string name = a.name;
    for (char& c : name)
      if (!letter(c) && !other(c)) c = '_';
    if (name.empty() || !letter(name[0])) name = "_" + name;
    if (name == a.name) continue;
    a.name = name;
    for (int i = 2; !taken.insert(a.name).second; ++i) a.name = text(name, '_', i);
  }
}

// Module and class of a Python layer form its type; parsed settings are separate attributes.
void drop_python(SeenOperation& s) {
  constexpr std::string_view settings = "python_param.param_str";
  bool parsed = std::any_of(s.attributes.begin(), s.attributes.end(),
                            [&](const SeenAttribute& a) { return a.path.starts_with(std::string(settings) + "."); });
  std::erase_if(s.attributes, [&](const SeenAttribute& a) {
    return a.path == "python_param.module" || a.path == "python_param.layer" || (parsed && a.path == settings);
  });
}

// The reader of PyTorch tells the names of the inputs and the overload in fields of their own.
void use_schema(SeenOperation& s) {
  for (const SeenAttribute& a : s.attributes)
    if (auto names = a.path == "call.inputs" ? a.example.get_if<std::vector<std::string>>() : nullptr) {
      s.input_names = *names;
      for (std::string& n : s.input_names) std::replace(n.begin(), n.end(), '.', '_');
    }
  std::erase_if(s.attributes, [](const SeenAttribute& a) { return a.path.starts_with("call."); });
}

// What all layers declare of an output.
SeenOutput seen_output(const UnknownType& u, size_t output, std::optional<size_t> like) {
  SeenOutput out;
  for (const UnknownType::Layer& l : u.layers) {
    Info info = output < l.declared.size() ? l.declared[output] : Info{};
    bool first = &l == &u.layers[0];
    if (first) out.info = info, out.input_type = out.input_shape = like.has_value();
    if (info.type != out.info.type) out.info.type = DType::undefined;
    if (info.shape != out.info.shape) out.info.shape = Shape::unknown();
    if (!like) continue;
    const Info& input = *l.inputs[*like];
    out.input_type = out.input_type && info.type == input.type;
    out.input_shape = out.input_shape && info.shape == input.shape;
  }
  return out;
}

}  // namespace

SeenOperation seen(const UnknownType& u, const std::string& framework) {
  SeenOperation s;
  s.type = u.type;
  s.opset = u.domain.empty() ? "extension" : u.domain;
  s.framework = u.is_operation ? "" : framework;
  s.domain = u.domain == "extension" ? "" : u.domain;
  s.most_inputs = 0, s.least_inputs = SIZE_MAX;
  s.layers = u.layers.size();
  s.example = u.layers[0].inputs;
  s.weights = u.layers[0].weights;
  for (const UnknownType::Layer& l : u.layers) {
    s.most_inputs = std::max(s.most_inputs, l.inputs.size());
    s.least_inputs = std::min(s.least_inputs, l.inputs.size());
    s.outputs = std::max(s.outputs, l.outputs);
    if (l.weights != s.weights) s.weights = 0;
    for (size_t i = 0; i < l.inputs.size(); ++i)
      if (!l.inputs[i]) s.left_out.insert(i);
    for (const auto& [path, value] : l.attributes) {
      auto it = std::find_if(s.attributes.begin(), s.attributes.end(), [&](const auto& a) { return a.path == path; });
      if (it == s.attributes.end()) it = s.attributes.insert(it, {path, path, GRAFT_NONE, {}, {}, 0});
      add(*it, value);
    }
    for (const auto& f : l.other_attributes)
      if (std::find(s.other_fields.begin(), s.other_fields.end(), f) == s.other_fields.end())
        s.other_fields.push_back(f);
  }
  if (s.most_inputs != s.least_inputs) s.weights = 0;
  for (size_t i = s.least_inputs; i-- > 0;)
    if (!s.left_out.count(i)) s.like = i;
  s.declared.clear();
  for (size_t i = 0; i < s.outputs; ++i) s.declared.push_back(seen_output(u, i, s.like));
  if (s.framework == "caffe") {
    drop_python(s);
    shorten_names(s);
  }
  if (s.framework == "pytorch") use_schema(s);
  if (!s.framework.empty()) clean_names(s);  // without a rule there is nothing to map names
  return s;
}

}  // namespace graft::cli
