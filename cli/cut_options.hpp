// Options that say which part of a model is wanted, and with which inputs.
#pragma once

#include "command.hpp"

namespace graft::cli {

struct CutOptions {
  std::vector<std::string> inputs, shapes, outputs, frozen;
  std::string batch;
  bool static_shape = false;

  void add(CLI::App& app);
  CutRequest request() const;
};

// Parts between commas that stand outside of brackets: "a[1,2],b" has two.
std::vector<std::string> items_of(std::string_view list);
// "name[1,2]" or "name(1,2)": the name and what is in the brackets; none where it does not end with a bracket.
struct Bracketed {
  std::string_view name, content;
};
std::optional<Bracketed> bracketed(std::string_view item);

}  // namespace graft::cli
