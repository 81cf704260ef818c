#include "transform_option.hpp"

#include <algorithm>

#include "command.hpp"

namespace graft::cli {
namespace {

constexpr const char* transform_form =
    "write --transform \"LowLatency2[use_const_initializer=False]\" or \"MakeStateful[param_res_names={'in':'out'}]\"";

struct Transform {
  std::string name, argument, value;  // NAME[argument=value]
};

[[noreturn]] void refuse_transform(std::string_view why, std::string_view given) {
  throw UsageError(text("--transform: ", why, ", got '", given, "'"), transform_form);
}

// Parts at a separator that is not in brackets, braces or quotes.
std::vector<std::string_view> transform_parts(std::string_view s, char separator) {
  std::vector<std::string_view> out;
  size_t begin = 0;
  int depth = 0;
  char quote = 0;
  for (size_t i = 0; i < s.size(); ++i) {
    char c = s[i];
    if (quote) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      if (--depth < 0) refuse_transform("expected matching brackets", s);
    } else if (c == separator && depth == 0) {
      out.push_back(trim(s.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  if (depth || quote) refuse_transform("expected matching brackets and quotes", s);
  out.push_back(trim(s.substr(begin)));
  return out;
}

Transform transform_of(std::string_view item) {
  size_t open = item.find('[');
  Transform t{std::string(trim(item.substr(0, open))), {}, {}};
  if (t.name.empty()) refuse_transform("expected the name of a transformation", item);
  if (open == item.npos) return t;
  if (item.back() != ']') refuse_transform("expected NAME[argument=value]", item);
  std::string_view inside = trim(item.substr(open + 1, item.size() - open - 2));
  if (inside.empty()) return t;
  size_t equals = inside.find('=');
  if (equals == inside.npos) refuse_transform("expected NAME[argument=value]", item);
  t.argument = trim(inside.substr(0, equals)), t.value = trim(inside.substr(equals + 1));
  return t;
}

std::string transform_name(std::string_view s) {
  if (s.size() < 2 || s.front() != s.back() || (s.front() != '\'' && s.front() != '"'))
    refuse_transform("expected a name in quotes", s);
  return std::string(s.substr(1, s.size() - 2));
}

// {'input':'output','other':'more'}
std::vector<std::pair<std::string, std::string>> transform_pairs(std::string_view map) {
  if (map.size() < 2 || map.front() != '{' || map.back() != '}') refuse_transform("expected {'input':'output'}", map);
  std::vector<std::pair<std::string, std::string>> out;
  for (std::string_view pair : transform_parts(map.substr(1, map.size() - 2), ',')) {
    std::vector<std::string_view> sides = transform_parts(pair, ':');
    if (sides.size() != 2) refuse_transform("expected {'input':'output'}", map);
    out.emplace_back(transform_name(sides[0]), transform_name(sides[1]));
  }
  return out;
}

void expect_transform(const Transform& t, std::string_view argument) {
  if (t.argument != argument) refuse_transform(text("expected ", t.name, "[", argument, "=...]"), t.argument);
}

void apply_transform(const Transform& t, ConvertOptions& out, std::vector<std::string>& notes) {
  if (t.name == "LowLatency2") {
    bool zeros = true;
    if (!t.argument.empty()) {
      expect_transform(t, "use_const_initializer");
      auto given = parse_bool(t.value);
      if (!given) refuse_transform("expected use_const_initializer=True or False", t.value);
      zeros = *given;
    }
    out.recurrent_state = zeros ? "zeros" : "initial";
  } else if (t.name == "MakeStateful") {
    expect_transform(t, "param_res_names");
    out.state = transform_pairs(t.value);
  } else if (t.name == "Pruning") {
    notes.push_back("--transform Pruning has no effect: channels whose weights are zeros are kept");
  } else {
    refuse_transform("expected LowLatency2, MakeStateful or Pruning", t.name);
  }
}

}  // namespace

void parse_transforms(const std::string& given, ConvertOptions& out, std::vector<std::string>& notes) {
  if (trim(given).empty()) return;
  for (std::string_view item : transform_parts(given, ',')) apply_transform(transform_of(item), out, notes);
}

}  // namespace graft::cli
