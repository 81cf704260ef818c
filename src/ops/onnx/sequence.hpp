// ONNX sequences at import time: lists of values. While their lengths follow from the model alone, producers and
// consumers of items are connected directly. An item that is itself a list stands for a run of items whose number is
// data-dependent: the slices of one tensor along its first axis.
#pragma once

#include <graft/op.hpp>

namespace graft {

inline Value sequence_run(const Value& stack) { return stack.in().list({stack}); }

// The previous contents of a sequence that grows in a loop, as seen from the loop body: a run that cannot be inspected.
inline Value sequence_so_far(Import& body) { return body.list({}); }

// The single item that a loop body appends to the previous contents.
inline Value sequence_growth(const Value& sequence) {
  auto items = sequence.items();
  auto before = items && items->size() == 2 ? (*items)[0].items() : std::nullopt;
  if (!before || !before->empty() || (*items)[1].items())
    unsupported("a loop that changes a sequence other than by appending one item per iteration is not supported");
  return (*items)[1];
}

}  // namespace graft
