// Element-wise operations as formulas, and the kernel that computes one of them or a chain.
#pragma once

#include <graft/abi.h>

#include <graft/types.hpp>
#include <string>
#include <vector>

namespace graft {

// A launch before its source is compiled.
struct OpenclLaunch {
  std::string source, options, entry;
  std::vector<graft_argument> arguments;
  std::vector<size_t> global, local;
  bool custom = false;  // written by a user, who can mend it
  bool empty() const;   // no work items
};

// Formulas over elements of the same position. Operands of a part are loads, or parts before it; the last part is the
// output.
struct OpenclFormula {
  struct Load {
    size_t input;  // of the step
    DType type;
    std::vector<int64_t> strides;  // for the dimensions of the output
    bool operator==(const Load&) const = default;
  };
  struct Operand {
    bool is_part;
    size_t index;
  };
  struct Part {
    std::string functions, statements, result;
    std::vector<Operand> operands;
    DType type;
    bool in_double = false;  // whatever the types are
  };
  std::vector<Load> loads;
  std::vector<Part> parts;
  std::vector<int64_t> dims;

  bool is_wide() const;  // computed in double
  size_t text_size() const;
};

// `most_work_items`: of a work group.
OpenclLaunch formula_launch(const OpenclFormula& formula, size_t most_work_items);

}  // namespace graft
