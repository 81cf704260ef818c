// Options that select a part of a model and its inputs.
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

// Splits at commas outside of brackets: "a[1,2],b" has two.
std::vector<std::string> items_of(std::string_view list);
// "name[1,2]" or "name(1,2)": the name and the text in brackets; none if it does not end with a bracket.
struct Bracketed {
  std::string_view name, content;
};
std::optional<Bracketed> bracketed(std::string_view item);

}  // namespace graft::cli
