// Sequences of ONNX while importing: lists of values. As long as their lengths follow from the model alone, what goes
// in and out of them is connected directly. An item that is itself a list stands for a run of items whose number only
// the running model knows: one tensor, whose slices along the first axis they are.
#pragma once

#include <graft/op.hpp>

namespace graft {

inline Value sequence_run(const Value& stack) { return stack.in().list({stack}); }

// What a sequence that grows in a loop held before, seen from the loop's body: a run that nobody can look into.
inline Value sequence_so_far(Import& body) { return body.list({}); }

// The one item that a loop's body has put behind what was there before.
inline Value sequence_growth(const Value& sequence) {
  auto items = sequence.items();
  auto before = items && items->size() == 2 ? (*items)[0].items() : std::nullopt;
  if (!before || !before->empty() || (*items)[1].items())
    unsupported("a sequence that a loop changes otherwise than by one item at its end every time");
  return (*items)[1];
}

}  // namespace graft
