// Sequences and optional values of ONNX.
#include "sequence.hpp"

namespace graft {
namespace {

std::vector<Value> sequence_items(Import& layer, size_t input) {
  std::optional<std::vector<Value>> items = layer.input(input).items();
  if (!items) unsupported("input ", input, " is not a sequence that can be traced at import time");
  return *items;
}
// The tensor behind a run of items; empty for a single item.
Value sequence_stack(const Value& item) {
  auto inner = item.items();
  if (inner && inner->empty())
    unsupported("reading a sequence inside the loop that grows it is not supported, only after the loop");
  return inner ? (*inner)[0] : Value();
}
// The position given by an input, in 0..count-1; -1 is the last. Items after a run have no known position.
size_t sequence_position(Import& layer, size_t input, const std::vector<Value>& items, bool behind_last) {
  auto given = layer.input(input).values<int64_t>();
  if (!given || given->size() != 1) unsupported("a data-dependent position in a sequence is not supported");
  int64_t p = (*given)[0], n = static_cast<int64_t>(items.size()), most = behind_last ? n : n - 1;
  for (size_t i = 0; i < items.size(); ++i)
    if (items[i].items() && (p < 0 || p > static_cast<int64_t>(i) || (p == static_cast<int64_t>(i) && !behind_last)))
      unsupported("position ", p, " of a sequence of data-dependent length is not supported");
  if (p < -n || p > most) fail("position ", p, " is out of range for a sequence of ", n);
  return static_cast<size_t>(p < 0 ? p + n : p);
}

Value import_sequence_construct(Import& layer) {
  std::vector<Value> items;
  for (size_t i = 0; i < layer.inputs(); ++i) items.push_back(layer.input(i));
  return layer.list(items);
}
Value import_sequence_empty(Import& layer) {
  layer.has("dtype");
  return layer.list({});
}
Value import_sequence_length(Import& layer) {
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
Value sequence_joined(Import& layer, const std::vector<Value>& items, int64_t axis, bool fresh) {
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
Value import_sequence_at(Import& layer) {
  std::vector<Value> items = sequence_items(layer, 0);
  Value position = layer.input(1);
  bool single = std::none_of(items.begin(), items.end(), [](const Value& v) { return v.items().has_value(); });
  if (position.constant() && (single || items.size() > 1)) return items[sequence_position(layer, 1, items, false)];
  return layer.op("Gather@8",
                  {sequence_joined(layer, items, 0, true), reshape(position, {}), layer.scalar(int64_t{0})});
}
Value import_sequence_insert(Import& layer) {
  std::vector<Value> items = sequence_items(layer, 0);
  size_t at = layer.has_input(2) ? sequence_position(layer, 2, items, true) : items.size();
  items.insert(items.begin() + static_cast<ptrdiff_t>(at), layer.input(1));
  return layer.list(items);
}
Value import_sequence_erase(Import& layer) {
  std::vector<Value> items = sequence_items(layer, 0);
  if (items.empty()) fail("expected a non-empty sequence, got an empty one");
  if (!layer.has_input(1) && items.back().items())
    unsupported("the end of a sequence of data-dependent length is not supported");
  size_t at = layer.has_input(1) ? sequence_position(layer, 1, items, false) : items.size() - 1;
  items.erase(items.begin() + static_cast<ptrdiff_t>(at));
  return layer.list(items);
}
Value import_concat_from_sequence(Import& layer) {
  return sequence_joined(layer, sequence_items(layer, 0), layer.get<int64_t>("axis"),
                         layer.get<bool>("new_axis", false));
}

// The lengths of the parts: given, or equal ones with the remainder at the end.
std::vector<int64_t> sequence_lengths(Import& layer, const Dim& whole) {
  int64_t each = 1;
  if (layer.has_input(1)) {
    auto given = layer.input(1).values<int64_t>();
    if (!given) unsupported("data-dependent lengths of the parts are not supported");
    if (layer.input(1).rank() > 0) return *given;
    each = given->at(0);
  }
  if (!whole.known()) unsupported("a data-dependent number of parts is not supported");
  if (each < 1) fail("expected a positive length of the parts, got ", each);
  std::vector<int64_t> lengths;
  for (int64_t left = whole.value(); left > 0; left -= each) lengths.push_back(std::min(left, each));
  return lengths;
}
Value import_split_to_sequence(Import& layer) {
  Value x = layer.input(0);
  size_t rank = x.rank(), axis = normalize_axis(layer.get<int64_t>("axis", 0), rank);
  auto a = static_cast<int64_t>(axis);
  // Explicit lengths keep the axis regardless of `keepdims`.
  bool keep = layer.get<bool>("keepdims", true) || layer.has_input(1);
  Shape shape = x.shape();
  // Slices of size 1 are the items of a run, however many there are.
  if (!layer.has_input(1) && !keep && !shape[axis].known() && axis == 0) return layer.list({sequence_run(x)});
  std::vector<int64_t> lengths = sequence_lengths(layer, shape[axis]);
  if (lengths.empty()) return layer.list({});
  std::vector<Value> parts = layer.ops("VariadicSplit", {x, layer.scalar(a), layer.ints(lengths)}, {}, lengths.size());
  if (!keep)
    for (Value& p : parts) p = squeeze(p, {a});
  return layer.list(parts);
}

Value import_optional(Import& layer) {
  layer.has("type");
  if (!layer.has_input(0)) unsupported("an optional value that is always empty is not supported");
  return layer.input(0);
}
Value import_optional_has_element(Import& layer) { return layer.truth(layer.has_input(0)); }

}  // namespace

Ops define_onnx_sequence() {
  return {
      onnx("SequenceConstruct").expand(import_sequence_construct),
      onnx("SequenceEmpty").expand(import_sequence_empty),
      onnx("SequenceLength").expand(import_sequence_length),
      onnx("SequenceAt").expand(import_sequence_at),
      onnx("SequenceInsert").expand(import_sequence_insert),
      onnx("SequenceErase").expand(import_sequence_erase),
      onnx("ConcatFromSequence").expand(import_concat_from_sequence),
      onnx("SplitToSequence").expand(import_split_to_sequence),
      onnx("Optional").expand(import_optional),
      onnx("OptionalGetElement").expand(import_optional),
      onnx("OptionalHasElement").expand(import_optional_has_element),
  };
}

}  // namespace graft
