// Finds functions in OpenCL sources, without a compiler.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace graft {

// The names of the arguments of a kernel; none if the source does not define it. An argument without a name is "".
std::optional<std::vector<std::string>> kernel_arguments(std::string_view source, std::string_view function);
// All kernels that a source defines.
std::vector<std::string> kernel_functions(std::string_view source);

struct ClArgument {
  std::string name;
  std::string type;   // the word without qualifiers, "half8"; "unsigned" counts as "uint"
  std::string space;  // "global", "local", "constant" or "private"
  bool pointer = false;
};
struct ClFunction {
  std::string parameters;  // as written, without the parentheses
  std::vector<ClArgument> arguments;
};
// A function that the source defines, kernel or not; none if there is no definition of this name.
std::optional<ClFunction> cl_function(std::string_view source, std::string_view name);

// The source for a compiler that knows half only as another type with this name: literals such as 0.5h become casts,
// and the directive that enables half, which it would complain about, becomes empty. Lines stay where they are.
std::string without_half_syntax(std::string_view source);

}  // namespace graft
