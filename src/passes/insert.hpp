// Helpers to insert preprocessing nodes.
#pragma once

#include "passes/editor.hpp"

namespace graft {

// Inserts a node with one output and default attributes.
ValueId insert(Editor& editor, std::string type, std::string opset, std::vector<ValueId> inputs,
               const std::string& name);
// Redirects these inputs to `to`.
void redirect(Editor& editor, const std::vector<Use>& uses, ValueId to);

// Reorders elements along `axis`: element i of the result is element order[i].
Tensor reordered(const Tensor& t, size_t axis, const std::vector<int64_t>& order);

}  // namespace graft
