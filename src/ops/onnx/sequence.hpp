// ONNX sequences at import time: lists of values. While their lengths follow from the model alone, producers and
// consumers of items are connected directly. An item that is itself a list stands for items whose number is
// data-dependent: the slices of one tensor along its first axis (a run); or, given as a tensor, an axis and a length,
// parts of that length along the axis, of which the last one may be shorter (pieces).
#pragma once

#include <graft/op.hpp>

namespace graft {

inline Value sequence_run(const Value& stack) { return stack.in().list({stack}); }

// A sequence of pieces of one tensor. It is the only item of its list.
struct SequencePieces {
  Value data, axis, length;  // axis and length are 1-D tensors of one element

  static Value list(const Value& data, int64_t axis, const Value& length) {
    Builder& in = data.in();
    return in.list({in.list({data, in.ints({axis}), length})});
  }
  static std::optional<SequencePieces> of(const Value& sequence) {
    auto items = sequence.items();
    auto parts = items && items->size() == 1 ? (*items)[0].items() : std::nullopt;
    if (!parts || parts->size() != 3) return std::nullopt;
    return SequencePieces{(*parts)[0], (*parts)[1], (*parts)[2]};
  }
  // The number of pieces, as a 1-D tensor of one element.
  Value count() const {
    Builder& in = data.in();
    Value whole = in.op("Gather@8", {shape_of(data), axis, in.scalar(int64_t{0})});
    return in.op("Divide", {whole + length - 1, length});
  }
  // The piece at `position`, a 1-D tensor of one element; negative positions count from the end.
  Value at(const Value& position) const {
    Builder& in = data.in();
    auto given = position.values<int64_t>();
    Value from = position;
    if (given && (*given)[0] < 0) from = count() + position;
    else if (!given) from = in.op("Select", {in.op("Less", {position, in.ints({0})}), count() + position, position});
    Value start = from * length;
    return in.op("Slice", {data, start, start + length, in.ints({1}), axis});
  }
};

// The previous contents of a sequence that grows in a loop, as seen from the loop body: a run that cannot be inspected.
inline Value sequence_so_far(Builder& body) { return body.list({}); }

// The single item that a loop body appends to the previous contents.
inline Value sequence_growth(const Value& sequence) {
  auto items = sequence.items();
  auto before = items && items->size() == 2 ? (*items)[0].items() : std::nullopt;
  if (!before || !before->empty() || (*items)[1].items())
    unsupported("a loop that changes a sequence other than by appending one item per iteration is not supported");
  return (*items)[1];
}

}  // namespace graft
