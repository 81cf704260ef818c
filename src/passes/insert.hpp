// Putting in what the user asks for, by name of operation.
#pragma once

#include "passes/editor.hpp"

namespace graft {

// A node of one output with default attributes.
ValueId insert(Editor& editor, std::string type, std::string opset, std::vector<ValueId> inputs,
               const std::string& name);
// These inputs read `to` from now on.
void redirect(Editor& editor, const std::vector<Use>& uses, ValueId to);

// Elements along `axis` in another order: element i of the result is element order[i].
Tensor reordered(const Tensor& t, size_t axis, const std::vector<int64_t>& order);

}  // namespace graft
