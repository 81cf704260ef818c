// String helpers of the library itself, besides those of graft/text.hpp: numbers and element types as files spell them.
#pragma once

#include <graft/text.hpp>

namespace graft {

// The shortest string that parses back to the same number.
std::string number_text(double v);
// 17 significant digits, as IR files carry them.
std::string number_text_17(double v);
// In IR ports: "FP32", "I64", "BOOL".
std::string port_precision(DType type);

}  // namespace graft
