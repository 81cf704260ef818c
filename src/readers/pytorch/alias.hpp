// Makes a graph functional while its nodes are read. Names of the file stand for tensors that operations may write to,
// some of them through views of others; a raw graph has values that never change. Each name is a cell that knows its
// present value, and, if it is a view, how to make it from the tensor it looks at.
//
//   y = x.select(0, 1)      cell y: a view of x
//   y.add_(1)               y.1 = add(y, 1);  x.1 = select_scatter(x, y.1, 0, 1)
//   z = x + y               z = add(x.1, y.1)
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "readers/raw.hpp"

namespace graft {

// How a write to a view of `parent` changes it. Operations of views are known by what torch calls them.
enum class ViewKind {
  none,      // not a view
  select,    // select_scatter, slice_scatter, diagonal_scatter, as_strided_scatter: an operation writes it back
  reshape,   // the same elements in order
  itself,    // applied again, it leads back
  elements,  // any other: where each element is from is found by applying it to positions
};

ViewKind pytorch_view(std::string_view type);

class Aliases {
 public:
  using Emit = std::function<void(RawNode)>;

  Aliases(std::string prefix, Emit emit) : prefix_(std::move(prefix)), emit_(std::move(emit)) {}

  // A name of the file that stands for this value of the raw graph.
  void define(const std::string& name, std::string value);
  // An output of a node that was just emitted, as a view of the tensor `of`.
  void define_view(const std::string& name, std::string value, const std::string& of, const RawNode& node,
                   size_t output);
  // Another name for the same tensor.
  void define_same(const std::string& name, const std::string& of);
  bool known(const std::string& name) const { return names_.count(name) != 0; }
  // The present value.
  std::string read(const std::string& name);
  // The tensor gets this value.
  void write(const std::string& name, std::string value);
  std::string fresh(const std::string& name) { return prefix_ + name + "." + std::to_string(++counter_); }
  const std::string& prefix() const { return prefix_; }

 private:
  struct Cell {
    std::string name, value;
    size_t of = SIZE_MAX, root = 0, output = 0;
    uint64_t version = 0;  // of a root: how often it was written; of a view: when its value was made
    RawNode node;
  };
  size_t cell(const std::string& name) const;
  std::string read(size_t i);
  void write(size_t i, std::string value);
  std::string written_back(const Cell& view, const std::string& parent, const std::string& value);

  std::string prefix_;
  Emit emit_;
  std::vector<Cell> cells_;
  std::unordered_map<std::string, size_t> names_;
  size_t counter_ = 0;
};

}  // namespace graft
