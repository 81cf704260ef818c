// Variables of a fixed shape, over Run::variable.
#pragma once

#include "context.hpp"

namespace [[gnu::visibility("hidden")]] graft {

// The value of a variable of this node, empty if it was never set. Fails if it has other dimensions than `dims`,
// because it was set in a run with inputs of other shapes:
//
//   if (TensorView old = variable_of_shape(ctx, "mean", ctx.input(0).dims())) { ... old has the elements of the input
//   ... }
inline TensorView variable_of_shape(const Run& ctx, std::string_view id, std::span<const int64_t> dims) {
  TensorView value = ctx.variable(id);
  if (value && !std::equal(dims.begin(), dims.end(), value.dims().begin(), value.dims().end()))
    throw Failure{
        GRAFT_USER,
        text("expected the variable '", id, "' of shape ", Shape::of(dims), ", got ", Shape::of(value.dims())),
        "call reset_state of the request before it runs with inputs of other shapes"};
  return value;
}

}  // namespace graft
