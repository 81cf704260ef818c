// Equations of Einsum, parsed: what the operation and its kernels share.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "../types.hpp"

namespace [[gnu::visibility("hidden")]] graft {

// The axis labels; '.' stands for all axes of an ellipsis.
struct EinsumEquation {
  std::vector<std::string> inputs;
  std::string output;
};

inline std::string einsum_term(std::string_view equation, std::string_view term) {
  std::string names;
  for (size_t i = 0; i < term.size(); ++i) {
    char c = term[i];
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      names += c;
    } else if (term.substr(i, 3) == "..." && names.find('.') == names.npos) {
      names += '.';
      i += 2;
    } else {
      fail("expected letters and at most one ellipsis per input in the equation '", equation, "', got '", c, "'");
    }
  }
  return names;
}

inline EinsumEquation parse_einsum(std::string_view equation) {
  std::string dense;
  for (char c : equation)
    if (c != ' ' && c != '\t' && c != '\n' && c != '\r') dense += c;
  std::string_view rest = dense;
  size_t arrow = rest.find("->");
  std::string_view left = rest.substr(0, arrow);
  EinsumEquation e;
  while (true) {
    size_t comma = left.find(',');
    e.inputs.push_back(einsum_term(equation, left.substr(0, comma)));
    if (comma == left.npos) break;
    left.remove_prefix(comma + 1);
  }
  std::map<char, int> uses;
  for (const std::string& names : e.inputs)
    for (char c : names) ++uses[c];
  if (arrow == rest.npos) {
    // In implicit mode, labels that occur once remain, in alphabetical order; '.' sorts before all letters.
    for (auto [c, n] : uses)
      if (n == 1 || c == '.') e.output += c;
    return e;
  }
  e.output = einsum_term(equation, rest.substr(arrow + 2));
  for (size_t i = 0; i < e.output.size(); ++i) {
    char c = e.output[i];
    if (e.output.find(c, i + 1) != e.output.npos)
      fail("label '", c, "' occurs twice in the output of the equation '", equation, "'");
    if (!uses.count(c) && c != '.')
      fail("label '", c, "' in the output of the equation '", equation, "' does not occur in any input");
  }
  return e;
}

// The number of axes that the ellipsis of an input stands for.
inline size_t einsum_ellipsis(const std::string& names, size_t rank, size_t input) {
  bool dots = names.find('.') != names.npos;
  size_t named = names.size() - (dots ? 1 : 0);
  if (rank < named || (!dots && rank != named))
    fail("expected input ", input, " of rank ", named, " to match the equation, got rank ", rank);
  return rank - named;
}

// The labels of the axes, where the ellipsis stands for `dots` axes: these are numbered from the right, with negative
// labels.
inline std::vector<int> einsum_axes(const std::string& names, size_t dots) {
  std::vector<int> out;
  for (char c : names) {
    if (c != '.') out.push_back(c);
    else
      for (size_t i = dots; i > 0; --i) out.push_back(-static_cast<int>(i));
  }
  return out;
}

}  // namespace graft
