// Formulas of work sizes and buffer sizes in kernel files: "X", "Y*F", "(B*F+7)/8*8".
//
//   expression := term (("+" | "-") term)*
//   term       := factor (("*" | "/" | "%") factor)*
//   factor     := number | variable | "(" expression ")"
//
// The GPU knows whole numbers and B, F, Y, X, in either case. The VPU also knows fractions, floor, ceil, round, abs and
// sqrt, and parameters of the layer as variables.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace graft {

enum class FormulaKind { gpu, vpu };

// The value of a variable; throw an Error if there is none.
using FormulaVariables = std::function<double(std::string_view name)>;

// Throws Error of kind user: a wrong formula, a division by zero, an overflow.
int64_t evaluate_work_size(std::string_view formula, FormulaKind kind, const FormulaVariables& variables);

}  // namespace graft
