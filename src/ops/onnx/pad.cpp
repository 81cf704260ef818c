// Pad and CenterCropPad: the pads of the layer become separate lists for the beginning and the end.
#include <graft/list.hpp>
#include <graft/numeric.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

// The two lists, with one element per axis of the data; as values, because they may be computed.
struct PadLists {
  Value begin, end;
};

// Scatters values for the given axes into a list for all of them.
Value pad_list_for_all(Builder& layer, Value some, Value axes, Value x) {
  auto rank = static_cast<int64_t>(x.rank());
  Value zeros = layer.constant<int64_t>(std::vector<int64_t>(static_cast<size_t>(rank), 0), {rank});
  return layer.op("ScatterElementsUpdate",
                  {zeros, layer.op("FloorMod", {axes, layer.scalar(rank)}), some, layer.scalar(int64_t{0})},
                  {{"reduction", "none"}, {"use_init_val", true}});
}

PadLists pad_lists(Builder& layer, Value x, Value pads, Value axes) {
  pads = convert(pads, DType::i64);
  Shape s = pads.shape();
  if (s.ranked() && s.rank() != 1) pads = reshape(pads, {-1});
  auto given = pads.values<int64_t>();
  if (given && !axes) {
    if (given->size() % 2 != 0) fail("expected two values per axis in 'pads', got ", given->size());
    if (Shape data = x.shape(); data.ranked()) exactly(given, 2 * data.rank(), "values in 'pads', two per axis");
    auto middle = given->begin() + static_cast<ptrdiff_t>(given->size() / 2);
    return {layer.ints({given->begin(), middle}), layer.ints({middle, given->end()})};
  }
  std::vector<Value> halves = layer.ops("Split", {pads, layer.scalar(int64_t{0})}, {{"num_splits", 2}}, 2);
  if (!axes) return {halves[0], halves[1]};
  axes = convert(axes, DType::i64);
  if (auto where = axes.values<int64_t>(); where && given) {
    if (given->size() != 2 * where->size())
      fail("expected ", 2 * where->size(), " values in 'pads' for ", where->size(), " axes, got ", given->size());
    size_t rank = x.rank();
    std::vector<int64_t> begin(rank, 0), end(rank, 0);
    for (size_t i = 0; i < where->size(); ++i) {
      size_t axis = normalize_axis((*where)[i], rank);
      begin[axis] = (*given)[i];
      end[axis] = (*given)[where->size() + i];
    }
    return {layer.ints(begin), layer.ints(end)};
  }
  return {pad_list_for_all(layer, halves[0], axes, x), pad_list_for_all(layer, halves[1], axes, x)};
}

// Mode 'wrap': no operation has it, but each element can be gathered by its index modulo the size.
Value pad_wrap(Builder& layer, Value x, const PadLists& pads) {
  auto begin = exactly(pads.begin.values<int64_t>(), x.rank(), "pads at the beginning of axes");
  auto end = exactly(pads.end.values<int64_t>(), x.rank(), "pads at the end of axes");
  Shape s = x.shape();
  Value zero = layer.scalar(int64_t{0}), size = shape_of(x);
  for (size_t i = 0; i < x.rank(); ++i) {
    auto axis = static_cast<int64_t>(i);
    if (begin && end && (*begin)[i] == 0 && (*end)[i] == 0) continue;
    Value indices;
    constexpr int64_t most = int64_t{1} << 16;  // longer lists are computed where they are needed
    auto is_short = [](int64_t v) { return v >= -most && v <= most; };
    if (begin && end && s[i].known() && is_short(s[i].value()) && is_short((*begin)[i]) && is_short((*end)[i])) {
      int64_t n = s[i].value();
      if (n == 0) fail("cannot wrap around an empty axis");
      std::vector<int64_t> list;
      for (int64_t k = -(*begin)[i]; k < n + (*end)[i]; ++k) list.push_back(floored_mod(k, n));
      indices = layer.ints(list);
    } else {
      Value at = layer.scalar(axis);
      Value n = layer.op("Gather", {size, at, zero});
      Value from = -layer.op("Gather", {pads.begin, at, zero}), to = n + layer.op("Gather", {pads.end, at, zero});
      Value all = layer.op("Range", {from, to, layer.scalar(int64_t{1})}, {{"output_type", DType::i64}});
      indices = layer.op("FloorMod", {all, n});
    }
    x = layer.op("Gather", {x, indices, layer.scalar(axis)});
  }
  return x;
}

Value pad_any(Builder& layer, Value x, Value pads, Value axes, Value value) {
  auto mode = layer.get<std::string>("mode", "constant");
  PadLists lists = pad_lists(layer, x, pads, axes);
  if (mode == "wrap") return pad_wrap(layer, x, lists);
  if (mode != "constant") return layer.op("Pad", {x, lists.begin, lists.end}, {{"pad_mode", mode}});
  if (!value) return layer.op("Pad", {x, lists.begin, lists.end}, {{"pad_mode", mode}});
  Shape s = value.shape();
  if (!s.ranked() || s.rank() != 0) value = reshape(value, {});
  return layer.op("Pad", {x, lists.begin, lists.end, value}, {{"pad_mode", mode}});
}

Value import_pad_attributes(Builder& layer) {
  Value x = layer.input(0);
  auto pads = layer.get<std::vector<int64_t>>(layer.has("pads") ? "pads" : "paddings");
  Value value = layer.scalar(layer.get<float>("value", 0), x.type());
  return pad_any(layer, x, layer.ints(pads), Value(), value);
}
Value import_pad(Builder& layer) {
  return pad_any(layer, layer.input(0), layer.input(1), layer.has_input(3) ? layer.input(3) : Value(),
                 layer.has_input(2) ? layer.input(2) : Value());
}

// Crops or zero-pads every axis around its center to the target size; if the difference is odd, the end gets the larger
// part.
Value import_center_crop_pad(Builder& layer) {
  Value x = layer.input(0), target = convert(layer.input(1), DType::i64);
  size_t rank = x.rank();
  std::vector<int64_t> axes;
  if (layer.has("axes"))
    for (size_t a : normalize_axes(layer.get<std::vector<int64_t>>("axes"), rank))
      axes.push_back(static_cast<int64_t>(a));
  else
    for (size_t i = 0; i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
  Shape s = x.shape();
  auto wanted = target.known();
  bool certain = wanted && wanted->rank() == axes.size();
  std::vector<int64_t> begin(rank, 0), end(rank, 0);
  for (size_t i = 0; certain && i < axes.size(); ++i) {
    auto axis = static_cast<size_t>(axes[i]);
    const Dim& size = (*wanted)[i];
    certain = s[axis].known() && size.known();
    if (!certain) break;
    if (size.min() < 0) fail("expected non-negative sizes, got ", size.min());
    int64_t more = size.min() - s[axis].value();
    begin[axis] = more / 2;
    end[axis] = more - more / 2;
  }
  if (certain) return layer.op("Pad", {x, layer.ints(begin), layer.ints(end)}, {{"pad_mode", "constant"}});
  Value zero = layer.scalar(int64_t{0});
  Value more = target - layer.op("Gather", {shape_of(x), layer.ints(axes), zero});
  Value before = layer.op("Divide", {more, layer.scalar(int64_t{2})}, {{"m_pythondiv", false}});
  Value after = more - before;
  if (layer.has("axes")) {
    Value where = layer.ints(axes);
    before = pad_list_for_all(layer, before, where, x);
    after = pad_list_for_all(layer, after, where, x);
  }
  return layer.op("Pad", {x, before, after}, {{"pad_mode", "constant"}});
}

}  // namespace

Definitions define_onnx_pad() {
  return {
      onnx("Pad").until(11).expand(import_pad_attributes),
      onnx("Pad").expand(import_pad),
      onnx("Pad").domain("com.microsoft").expand(import_pad),
      onnx("CenterCropPad").expand(import_center_crop_pad),
  };
}

}  // namespace graft
