// Sequences of ONNX while importing: lists of values. As long as their lengths follow from the model alone, what goes
// in and out of them is connected directly. An item that is itself a list stands for a run of items whose number only
// the running model knows: one tensor, whose slices along the first axis they are (a run), or a tensor, an axis and a
// length: pieces of that length along the axis, the last one perhaps shorter (pieces).
#pragma once

#include <graft/op.hpp>

namespace graft {

inline Value sequence_run(const Value& stack) { return stack.in().list({stack}); }

// A sequence of pieces of one tensor. It is the only item of its list.
struct SequencePieces {
  Value data, axis, length;  // both lists of one number

  static Value list(const Value& data, int64_t axis, const Value& length) {
    Import& in = data.in();
    return in.list({in.list({data, in.ints({axis}), length})});
  }
  static std::optional<SequencePieces> of(const Value& sequence) {
    auto items = sequence.items();
    auto parts = items && items->size() == 1 ? (*items)[0].items() : std::nullopt;
    if (!parts || parts->size() != 3) return std::nullopt;
    return SequencePieces{(*parts)[0], (*parts)[1], (*parts)[2]};
  }
  // How many there are, as a list of one number.
  Value count() const {
    Import& in = data.in();
    Value whole = in.op("Gather@8", {shape_of(data), axis, in.scalar(int64_t{0})});
    return in.op("Divide", {whole + length - 1, length});
  }
  // Piece `position`, a list of one number; negative ones count from the end.
  Value at(const Value& position) const {
    Import& in = data.in();
    auto given = position.values<int64_t>();
    Value from = position;
    if (given && (*given)[0] < 0) from = count() + position;
    else if (!given) from = in.op("Select", {in.op("Less", {position, in.ints({0})}), count() + position, position});
    Value start = from * length;
    return in.op("Slice", {data, start, start + length, in.ints({1}), axis});
  }
};

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
