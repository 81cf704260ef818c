// Sequences and optional values of ONNX.
#include "sequence.hpp"

#include <graft/op.hpp>

namespace graft {
namespace {

std::vector<Value> sequence_items(Builder& layer, size_t input) {
  std::optional<std::vector<Value>> items = layer.input(input).items();
  if (!items) unsupported("input ", input, " is not a sequence that can be traced at import time");
  return *items;
}
// The tensor behind a run of items; empty for a single item.
Value sequence_stack(const Value& item) {
  auto inner = item.items();
  if (inner && inner->size() == 3)
    unsupported(
        "a data-dependent number of parts is supported only by SequenceAt, SequenceLength and ConcatFromSequence");
  if (inner && inner->empty())
    unsupported("reading a sequence inside the loop that grows it is not supported, only after the loop");
  return inner ? (*inner)[0] : Value();
}
// The position given by an input, in 0..count-1; -1 is the last. Items after a run have no known position.
size_t sequence_position(Builder& layer, size_t input, const std::vector<Value>& items, bool behind_last) {
  auto given = layer.input(input).values<int64_t>();
  if (!given || given->size() != 1) unsupported("a data-dependent position in a sequence is not supported");
  int64_t p = (*given)[0], n = static_cast<int64_t>(items.size()), most = behind_last ? n : n - 1;
  for (size_t i = 0; i < items.size(); ++i)
    if (items[i].items() && (p < 0 || p > static_cast<int64_t>(i) || (p == static_cast<int64_t>(i) && !behind_last)))
      unsupported("position ", p, " of a sequence of data-dependent length is not supported");
  if (p < -n || p > most) fail("position ", p, " is out of range for a sequence of ", n);
  return static_cast<size_t>(p < 0 ? p + n : p);
}

Value import_sequence_construct(Builder& layer) {
  std::vector<Value> items;
  for (size_t i = 0; i < layer.inputs(); ++i) items.push_back(layer.input(i));
  return layer.list(items);
}
Value import_sequence_empty(Builder& layer) {
  layer.has("dtype");
  return layer.list({});
}
Value import_sequence_length(Builder& layer) {
  if (auto pieces = SequencePieces::of(layer.input(0))) return reshape(pieces->count(), {});
  int64_t single = 0;
  Value length;
  for (const Value& item : sequence_items(layer, 0)) {
    Value stack = sequence_stack(item);
    if (!stack) {
      ++single;
      continue;
    }
    Value n = layer.op("Gather@8", {shape_of(stack), layer.scalar(int64_t{0}), layer.scalar(int64_t{0})});
    length = length ? length + n : n;
  }
  return length ? length + static_cast<double>(single) : layer.scalar(single);
}

// Concatenates items along an existing `axis`, or stacks them along a new one.
Value sequence_joined(Builder& layer, const std::vector<Value>& items, int64_t axis, bool fresh) {
  if (items.empty()) fail("expected a non-empty sequence, got an empty one");
  std::vector<Value> parts;
  for (const Value& item : items) {
    Value stack = sequence_stack(item);
    if (!stack) {
      parts.push_back(fresh ? unsqueeze(item, {axis}) : item);
      continue;
    }
    auto rank = static_cast<int64_t>(stack.rank());
    auto a = static_cast<int64_t>(normalize_axis(axis, static_cast<size_t>(fresh ? rank : rank - 1)));
    // Move the axis that counts the items to where they are concatenated ...
    std::vector<int64_t> order;
    for (int64_t i = 1; i <= a; ++i) order.push_back(i);
    order.push_back(0);
    for (int64_t i = a + 1; i < rank; ++i) order.push_back(i);
    Value moved = a == 0 ? stack : transpose(stack, order);
    if (!fresh) {  // ... and merge it with theirs.
      auto dims = [&](int64_t from, int64_t to) {
        return layer.op("Slice", {shape_of(moved), layer.ints({from}), layer.ints({to}), layer.ints({1})});
      };
      Value target = layer.op("Concat", {dims(0, a), layer.ints({-1}), dims(a + 2, rank)}, {{"axis", 0}});
      moved = layer.op("Reshape", {moved, target}, {{"special_zero", false}});
    }
    parts.push_back(moved);
  }
  return parts.size() == 1 ? parts[0] : layer.op("Concat", parts, {{"axis", axis}});
}
Value import_sequence_at(Builder& layer) {
  if (auto pieces = SequencePieces::of(layer.input(0)))
    return pieces->at(convert(reshape(layer.input(1), {1}), DType::i64));
  std::vector<Value> items = sequence_items(layer, 0);
  Value position = layer.input(1);
  bool single = std::none_of(items.begin(), items.end(), [](const Value& v) { return v.items().has_value(); });
  if (position.constant() && (single || items.size() > 1)) return items[sequence_position(layer, 1, items, false)];
  return layer.op("Gather@8",
                  {sequence_joined(layer, items, 0, true), reshape(position, {}), layer.scalar(int64_t{0})});
}
Value import_sequence_insert(Builder& layer) {
  std::vector<Value> items = sequence_items(layer, 0);
  size_t at = layer.has_input(2) ? sequence_position(layer, 2, items, true) : items.size();
  items.insert(items.begin() + static_cast<ptrdiff_t>(at), layer.input(1));
  return layer.list(items);
}
Value import_sequence_erase(Builder& layer) {
  std::vector<Value> items = sequence_items(layer, 0);
  if (items.empty()) fail("expected a non-empty sequence, got an empty one");
  if (!layer.has_input(1) && items.back().items())
    unsupported("the end of a sequence of data-dependent length is not supported");
  size_t at = layer.has_input(1) ? sequence_position(layer, 1, items, false) : items.size() - 1;
  items.erase(items.begin() + static_cast<ptrdiff_t>(at));
  return layer.list(items);
}
Value import_concat_from_sequence(Builder& layer) {
  if (auto pieces = SequencePieces::of(layer.input(0)); pieces && !layer.get<bool>("new_axis", false)) {
    size_t rank = pieces->data.rank(), axis = normalize_axis(layer.get<int64_t>("axis"), rank);
    if (pieces->axis.values<int64_t>()->at(0) == static_cast<int64_t>(axis)) return pieces->data;
  }
  return sequence_joined(layer, sequence_items(layer, 0), layer.get<int64_t>("axis"),
                         layer.get<bool>("new_axis", false));
}

// Equal lengths, with the remainder at the end.
std::vector<int64_t> sequence_lengths(int64_t whole, int64_t each) {
  constexpr int64_t most = 65'536;  // as many outputs as an operation may have
  if (each < 1) fail("expected a positive length of the parts, got ", each);
  if (whole / each > most) unsupported("expected at most ", most, " parts, got ", whole / each);
  std::vector<int64_t> lengths;
  for (int64_t left = whole; left > 0; left -= each) lengths.push_back(std::min(left, each));
  return lengths;
}
Value split_into(Builder& layer, Value x, int64_t axis, Value lengths, size_t count, bool keep) {
  if (count == 0) return layer.list({});
  std::vector<Value> parts = layer.ops("VariadicSplit", {x, layer.scalar(axis), lengths}, {}, count);
  if (!keep)
    for (Value& p : parts) p = squeeze(p, {axis});
  return layer.list(parts);
}
Value import_split_to_sequence(Builder& layer) {
  Value x = layer.input(0);
  size_t rank = x.rank(), axis = normalize_axis(layer.get<int64_t>("axis", 0), rank);
  auto a = static_cast<int64_t>(axis);
  // Explicit lengths keep the axis regardless of `keepdims`.
  bool keep = layer.get<bool>("keepdims", true) || layer.has_input(1);
  Value given = layer.has_input(1) ? convert(layer.input(1), DType::i64) : layer.scalar(int64_t{1});
  if (given.rank() > 0) {
    Shape count = given.shape();
    if (!count.is_static()) unsupported("a data-dependent number of parts is not supported");
    return split_into(layer, x, a, given, static_cast<size_t>(count.elements().value()), keep);
  }
  Dim whole = x.shape()[axis];
  if (auto each = given.values<int64_t>(); each && whole.known()) {
    std::vector<int64_t> lengths = sequence_lengths(whole.value(), (*each)[0]);
    return split_into(layer, x, a, layer.ints(lengths), lengths.size(), keep);
  }
  if (keep) return SequencePieces::list(x, a, reshape(given, {1}));
  // Slices of size 1 are the items of a run, however many there are.
  std::vector<int64_t> order{a};
  for (int64_t i = 0; i < static_cast<int64_t>(rank); ++i)
    if (i != a) order.push_back(i);
  return layer.list({sequence_run(a == 0 ? x : transpose(x, order))});
}

// Imports the body once per item; other inputs are shared by all.
std::vector<Value> import_sequence_map(Builder& layer) {
  std::vector<std::optional<std::vector<Value>>> inputs;
  size_t length = sequence_items(layer, 0).size();
  for (size_t i = 0; i < layer.inputs(); ++i) {
    inputs.push_back(layer.input(i).items());
    if (!inputs[i]) continue;
    if (inputs[i]->size() != length)
      fail("expected sequences of equal length, got ", length, " and ", inputs[i]->size());
    for (const Value& item : *inputs[i])
      if (item.items()) unsupported("SequenceMap over a sequence of data-dependent length is not supported");
  }
  std::vector<std::vector<Value>> columns(layer.outputs());
  for (size_t k = 0; k < length; ++k) {
    std::vector<Value> row;
    for (size_t i = 0; i < inputs.size(); ++i) row.push_back(inputs[i] ? (*inputs[i])[k] : layer.input(i));
    std::vector<Value> out = layer.inlined("body", row);
    if (out.size() < columns.size()) fail("expected a body with ", columns.size(), " outputs, got ", out.size());
    for (size_t i = 0; i < columns.size(); ++i) columns[i].push_back(out[i]);
  }
  std::vector<Value> outputs;
  for (const std::vector<Value>& column : columns) outputs.push_back(layer.list(column));
  return outputs;
}

Value import_optional(Builder& layer) {
  layer.has("type");
  return layer.input_or_nothing(0);
}
Value import_optional_get_element(Builder& layer) {
  if (!layer.has_input(0)) fail("expected an optional with a value, got an empty one");
  return layer.input(0);
}
Value import_optional_has_element(Builder& layer) { return layer.truth(layer.has_input(0)); }

}  // namespace

Definitions define_onnx_sequence() {
  return {
      onnx("SequenceConstruct").expand(import_sequence_construct),
      onnx("SequenceEmpty").expand(import_sequence_empty),
      onnx("SequenceLength").expand(import_sequence_length),
      onnx("SequenceAt").expand(import_sequence_at),
      onnx("SequenceInsert").expand(import_sequence_insert),
      onnx("SequenceErase").expand(import_sequence_erase),
      onnx("ConcatFromSequence").expand(import_concat_from_sequence),
      onnx("SplitToSequence").expand(import_split_to_sequence),
      onnx("SequenceMap").expand(import_sequence_map),
      onnx("Optional").expand(import_optional),
      onnx("OptionalGetElement").expand(import_optional_get_element),
      onnx("OptionalHasElement").expand(import_optional_has_element),
  };
}

}  // namespace graft
