// Finds kernel functions in OpenCL sources, without a compiler.
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

}  // namespace graft
