#include "template.hpp"

#include <graft/error.hpp>
#include <graft/text.hpp>
#include <vector>

#include "command.hpp"

namespace graft::cli::extgen {
namespace {

const std::string& value_of(const Values& values, std::string_view name) {
  auto it = values.find(name);
  if (it == values.end()) throw Error(ErrorKind::internal, text("a template uses the unknown value '", name, "'"));
  return it->second;
}

// The name in a line that holds only {{name}}, with the mark in front of it; empty: another line.
std::string_view only_name(std::string_view line) {
  std::string_view s = trim(line);
  if (s.size() < 5 || !s.starts_with("{{") || s.find("}}") != s.size() - 2) return {};
  return s.substr(2, s.size() - 4);
}

void add_indented(std::string& out, std::string_view indent, const std::string& value) {
  if (value.empty()) return;
  for (std::string_view line : split(value, '\n')) {
    if (!line.empty()) out.append(indent);
    out.append(line).push_back('\n');
  }
}

void add_filled(std::string& out, std::string_view line, const Values& values) {
  for (size_t open; (open = line.find("{{")) != line.npos;) {
    size_t close = line.find("}}", open);
    if (close == line.npos) break;
    out.append(line.substr(0, open)).append(value_of(values, line.substr(open + 2, close - open - 2)));
    line.remove_prefix(close + 2);
  }
  out.append(line).push_back('\n');
}

}  // namespace

std::string fill(std::string_view source, const Values& values) {
  std::string out;
  std::vector<bool> kept;  // of each section that is open
  auto keep = [&] {
    for (bool k : kept)
      if (!k) return false;
    return true;
  };
  if (source.ends_with('\n')) source.remove_suffix(1);
  for (std::string_view line : split(source, '\n')) {
    std::string_view name = only_name(line);
    if (name.starts_with('#')) kept.push_back(!value_of(values, name.substr(1)).empty());
    else if (name.starts_with('^')) kept.push_back(value_of(values, name.substr(1)).empty());
    else if (name.starts_with('/')) kept.pop_back();
    else if (!keep()) continue;
    else if (!name.empty()) add_indented(out, line.substr(0, line.find('{')), value_of(values, name));
    else add_filled(out, line, values);
  }
  return out;
}

}  // namespace graft::cli::extgen
