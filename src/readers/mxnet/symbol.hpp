// The JSON of an MXNet symbol, upgraded to the current form.
#pragma once

#include "readers/raw.hpp"

namespace graft {

struct MxnetSymbol;

struct MxnetNode {
  std::string op;  // "null": a variable
  std::string name;
  std::vector<std::pair<std::string, std::string>> attrs;  // without annotations, except those of variables
  std::vector<std::pair<size_t, size_t>> inputs;           // node, output
  std::vector<MxnetSymbol> subgraphs;                      // of control flow

  bool is_variable() const { return op == "null"; }
  const std::string* find(std::string_view key) const {
    for (const auto& [k, v] : attrs)
      if (k == key) return &v;
    return nullptr;
  }
};

struct MxnetSymbol {
  std::vector<MxnetNode> nodes;  // producers before consumers
  std::vector<std::pair<size_t, size_t>> heads;
  int64_t version = 800;  // of MXNet: 10901 is 1.9.1; files before 0.9 and sub-graphs do not say
};

MxnetSymbol read_mxnet_symbol(std::string_view json, const std::string& file, const Limits& limits);

}  // namespace graft
