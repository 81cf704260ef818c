// Objects that a kernel keeps in a request, for programs that link the library. A kernel of an extension, which links
// nothing, keeps tensors: Run::variable and set_variable.
#pragma once

#include <memory>
#include <string_view>

#include "abi.h"
#include "error.hpp"

namespace graft {

// What the node keeps under `id` in the request that `runner` belongs to; empty at first, and after
// InferRequest::reset_state. It belongs to the node, as variables do, and lives as long as the request. The reference
// is valid during the call of the kernel. Null where no request runs, as in constant folding.
GRAFT_API std::shared_ptr<void>* request_object(graft_runner* runner, std::string_view id);

}  // namespace graft
