// Sequences of ONNX. They exist while importing only: as long as their lengths follow from the model alone, what goes
// in and out of them can be connected directly. Optional values likewise are either there or not.
#include <graft/op.hpp>

namespace graft {
namespace {

std::vector<Value> sequence_input(Import& layer, size_t i) {
  std::optional<std::vector<Value>> items = layer.input(i).items();
  if (!items) unsupported("input ", i, " is no sequence whose length is known here");
  return *items;
}
// A position that is given as a constant; -1 is the last of `count`.
size_t sequence_position(Import& layer, size_t input, size_t count) {
  auto v = layer.input(input).values<int64_t>();
  if (!v || v->size() != 1) unsupported("a position in a sequence is known only when the model runs");
  auto n = static_cast<int64_t>(count);
  if ((*v)[0] < -n || (*v)[0] >= n) fail("position ", (*v)[0], " is outside a sequence of ", count);
  return static_cast<size_t>((*v)[0] < 0 ? (*v)[0] + n : (*v)[0]);
}
Value stacked(Import& layer, const std::vector<Value>& items, int64_t axis) {
  std::vector<Value> parts;
  for (const Value& v : items) parts.push_back(unsqueeze(v, {axis}));
  return layer.op("Concat", parts, {{"axis", axis}});
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
  return layer.scalar(static_cast<int64_t>(sequence_input(layer, 0).size()));
}
Value import_sequence_at(Import& layer) {
  std::vector<Value> items = sequence_input(layer, 0);
  if (items.empty()) fail("the sequence is empty");
  if (layer.input(1).constant()) return items[sequence_position(layer, 1, items.size())];
  return layer.op("Gather@8", {stacked(layer, items, 0), reshape(layer.input(1), {}), layer.scalar(int64_t{0})},
                  {{"batch_dims", 0}});
}
Value import_sequence_insert(Import& layer) {
  std::vector<Value> items = sequence_input(layer, 0);
  size_t at = layer.has_input(2) ? sequence_position(layer, 2, items.size() + 1) : items.size();
  // A negative position counts from the end of what was there: -1 is before the last.
  if (layer.has_input(2) && layer.input(2).values<int64_t>()->at(0) < 0) {
    if (at == 0) fail("position ", layer.input(2).values<int64_t>()->at(0), " is outside a sequence of ", items.size());
    --at;
  }
  items.insert(items.begin() + static_cast<ptrdiff_t>(at), layer.input(1));
  return layer.list(items);
}
Value import_sequence_erase(Import& layer) {
  std::vector<Value> items = sequence_input(layer, 0);
  if (items.empty()) fail("the sequence is empty");
  size_t at = layer.has_input(1) ? sequence_position(layer, 1, items.size()) : items.size() - 1;
  items.erase(items.begin() + static_cast<ptrdiff_t>(at));
  return layer.list(items);
}
Value import_concat_from_sequence(Import& layer) {
  std::vector<Value> items = sequence_input(layer, 0);
  auto axis = layer.get<int64_t>("axis");
  if (items.empty()) fail("the sequence is empty");
  if (layer.get<bool>("new_axis", false)) return stacked(layer, items, axis);
  return layer.op("Concat", items, {{"axis", axis}});
}

// The lengths of the parts: given, or equal ones with what is left over at the end.
std::vector<int64_t> split_lengths(Import& layer, const Dim& whole) {
  std::optional<std::vector<int64_t>> given;
  bool listed = false;
  if (layer.has_input(1)) {
    given = layer.input(1).values<int64_t>();
    if (!given) unsupported("the lengths of the parts are known only when the model runs");
    listed = layer.input(1).rank() > 0;
    if (listed) return *given;
  }
  if (!whole.known()) unsupported("the number of parts is known only when the model runs");
  int64_t each = given ? given->at(0) : 1;
  if (each < 1) fail("parts of length ", each, " make no sense");
  std::vector<int64_t> lengths;
  for (int64_t left = whole.value(); left > 0; left -= each) lengths.push_back(std::min(left, each));
  return lengths;
}
Value import_split_to_sequence(Import& layer) {
  Value x = layer.input(0);
  size_t rank = x.rank(), axis = normalize_axis(layer.get<int64_t>("axis", 0), rank);
  auto a = static_cast<int64_t>(axis);
  // Lengths that are given keep the axis whatever `keepdims` says.
  bool keep = layer.get<bool>("keepdims", true) || layer.has_input(1);
  Shape shape = x.shape();
  std::vector<int64_t> lengths = split_lengths(layer, shape[axis]);
  if (lengths.empty()) return layer.list({});
  std::vector<Value> parts = layer.ops("VariadicSplit", {x, layer.scalar(a), layer.ints(lengths)}, {}, lengths.size());
  if (!keep)
    for (Value& p : parts) p = squeeze(p, {a});
  return layer.list(parts);
}

Value import_optional(Import& layer) {
  layer.has("type");
  if (!layer.has_input(0)) unsupported("an optional value that is never there");
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
