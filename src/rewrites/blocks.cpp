// Block rearrangements: between channels and spatial axes, between groups, between batch and spatial axes.

#include <graft/formula.hpp>
#include <graft/op.hpp>
namespace graft {
namespace {

// Reshape, Transpose, Reshape: their shapes and order, all known except perhaps the batch.
struct Shuffle {
  Value x;
  Shape in, fine, out;
  std::vector<int64_t> order;
  explicit operator bool() const { return bool(x); }
};
Shuffle shuffle_of(Rewrite& at) {
  NodeRef last = at.node(), turn = last.is("Reshape") ? piece(at.input(0), "Transpose") : NodeRef();
  NodeRef first = turn ? piece(turn.input(0), "Reshape") : NodeRef();
  auto order = first ? whole_numbers(turn.input(1)) : std::nullopt;
  if (!order) return {};
  Shuffle s{first.input(0), first.input(0).shape(), turn.input(0).shape(), at.self().shape(), *order};
  for (const Shape* shape : {&s.in, &s.fine, &s.out}) {
    if (!shape->ranked() || shape->rank() < 2) return {};
    for (size_t i = 1; i < shape->rank(); ++i)
      if (!(*shape)[i].known() || (*shape)[i].value() == 0) return {};
  }
  if (s.order.size() != s.fine.rank()) return {};
  // If all other dimensions are known and nonzero, the number of elements determines the batch, provided that the rest
  // keeps its size.
  auto rest = [](const Shape& shape) { return Shape(std::vector<Dim>(shape.begin() + 1, shape.end())).elements(); };
  bool batch = rest(s.in).same(rest(s.fine)) && rest(s.fine).same(rest(s.out));
  return batch ? s : Shuffle();
}

// [N, C, h, w]  ->  [N, b, b, C/bb, h, w]  ->  {0, 3, 4, 1, 5, 2}  ->  [N, C/bb, hb, wb]  =>  DepthToSpace
// {blocks_first} [N, C, h, w]  ->  [N, C/bb, b, b, h, w]  ->  {0, 1, 4, 2, 5, 3}  ->  [N, C/bb, hb, wb]  =>
// DepthToSpace {depth_first}
Value to_depth_to_space(Rewrite& at) {
  Shuffle s = shuffle_of(at);
  if (!s || s.in.rank() < 3 || s.out.rank() != s.in.rank()) return {};
  size_t plane = s.in.rank() - 2;
  if (s.fine.rank() != 2 + 2 * plane) return {};
  for (bool blocks_first : {true, false}) {
    size_t block = blocks_first ? 1 : 2, channel = blocks_first ? plane + 1 : 1;
    std::vector<int64_t> order{0, static_cast<int64_t>(channel)};
    for (size_t i = 0; i < plane; ++i) {
      order.push_back(static_cast<int64_t>(2 + plane + i));
      order.push_back(static_cast<int64_t>(block + i));
    }
    int64_t edge = s.fine[block].value();
    bool fits = order == s.order && edge > 1 && s.out[1].same(s.fine[channel]);
    for (size_t i = 0; fits && i < plane; ++i)
      fits = s.fine[block + i].value() == edge && s.fine[2 + plane + i].same(s.in[2 + i]) &&
             s.out[2 + i].value() == s.in[2 + i].value() * edge;
    if (fits)
      return at.op("DepthToSpace", {s.x},
                   {{"block_size", edge}, {"mode", blocks_first ? "blocks_first" : "depth_first"}});
  }
  return {};
}

// [N, C, h, w]  ->  [N, g, C/g, h, w]  ->  {0, 2, 1, 3, 4}  ->  [N, C, h, w]  =>  ShuffleChannels {group = g}
Value to_shuffle_channels(Rewrite& at) {
  Shuffle s = shuffle_of(at);
  if (!s || s.in.rank() < 3 || s.out.rank() != s.in.rank() || s.fine.rank() < 4) return {};
  for (size_t i = 1; i < s.in.rank(); ++i)
    if (!s.in[i].same(s.out[i])) return {};
  std::vector<int64_t> order{0, 2, 1};
  for (size_t i = 3; i < s.fine.rank(); ++i) order.push_back(static_cast<int64_t>(i));
  bool channels = (s.fine[1] * s.fine[2]).same(s.in[1]);
  if (order != s.order || !channels) return {};
  return at.op("ShuffleChannels", {s.x}, {{"axis", 1}, {"group", s.fine[1].value()}});
}

// A Transpose in between (its order), and the value before it.
struct Step {
  Value before;
  std::vector<int64_t> order;
};
Step step_before(const Value& v) {
  NodeRef t = piece(v, "Transpose");
  auto order = t ? whole_numbers(t.input(1)) : std::nullopt;
  return order && !order->empty() ? Step{t.input(0), *order} : Step{v, {}};
}
// Per-axis numbers permuted like the axes.
std::vector<int64_t> turned(const std::vector<int64_t>& numbers, const std::vector<int64_t>& order) {
  if (order.empty()) return numbers;
  std::vector<int64_t> out;
  for (int64_t k : order)
    if (k >= 0 && k < static_cast<int64_t>(numbers.size())) out.push_back(numbers[static_cast<size_t>(k)]);
  return out;
}
// Block sizes, and the padding or cropping at the beginning and end, of a SpaceToBatch or BatchToSpace.
struct Blocks {
  std::vector<int64_t> size, begin, end;
  explicit operator bool() const { return !size.empty(); }
};
Blocks blocks_of(const NodeRef& n, const std::vector<int64_t>& order) {
  auto size = whole_numbers(n.input(1)), begin = whole_numbers(n.input(2)), end = whole_numbers(n.input(3));
  if (!size || !begin || !end || size->size() < 3) return {};
  Blocks b{turned(*size, order), turned(*begin, order), turned(*end, order)};
  bool whole = b.size.size() == size->size() && b.begin.size() == size->size() && b.end.size() == size->size();
  for (size_t i = 0; whole && i < 2; ++i) whole = b.size[i] == 1 && b.begin[i] == 0 && b.end[i] == 0;
  return whole ? b : Blocks();
}

// SpaceToBatch(x, d) -> Convolution -> BatchToSpace(d)  =>  Convolution {dilations = d}
//
// TensorFlow writes dilated convolutions like this, with transpositions on both sides if channels are last.
Value to_dilated(Rewrite& at) {
  NodeRef last = at.node();
  if (!last.is("BatchToSpace")) return {};
  Step behind = step_before(at.input(0));
  NodeRef conv = used_once(behind.before) ? producer(behind.before) : NodeRef();
  if (!conv.is("Convolution") && !conv.is("GroupConvolution")) return {};
  Step ahead = step_before(conv.input(0));
  NodeRef first = piece(ahead.before, "SpaceToBatch");
  if (!first) return {};
  std::vector<int64_t> back(behind.order.size());
  for (size_t i = 0; i < back.size(); ++i) {
    int64_t k = behind.order[i];
    if (k < 0 || k >= static_cast<int64_t>(back.size())) return {};
    back[static_cast<size_t>(k)] = static_cast<int64_t>(i);
  }
  Blocks in = blocks_of(first, ahead.order), out = blocks_of(last, back);
  if (!in || !out || in.size != out.size) return {};

  size_t plane = in.size.size() - 2;
  auto strides = conv.get<std::vector<int64_t>>("strides"), dilations = conv.get<std::vector<int64_t>>("dilations"),
       begin = conv.get<std::vector<int64_t>>("pads_begin"), end = conv.get<std::vector<int64_t>>("pads_end");
  auto pad = conv.get<std::string>("auto_pad", "explicit");
  if (strides.size() != plane || dilations.size() != plane || (pad != "explicit" && pad != "valid")) return {};
  if (pad == "valid") begin.assign(plane, 0), end.assign(plane, 0);
  if (begin.size() != plane || end.size() != plane) return {};
  for (size_t i = 0; i < plane; ++i) {
    int64_t block = in.size[2 + i];
    if (strides[i] != 1 || block < 1) return {};
    begin[i] = in.begin[2 + i] + begin[i] * block - out.begin[2 + i];
    end[i] = in.end[2 + i] + end[i] * block - out.end[2 + i];
    dilations[i] *= block;
    if (begin[i] < 0 || end[i] < 0) return {};
  }
  Value x = first.input(0);
  if (!ahead.order.empty()) x = transpose(x, ahead.order);
  Value y = at.like(conv, {x, conv.input(1)},
                    {{"dilations", dilations}, {"pads_begin", begin}, {"pads_end", end}, {"auto_pad", "explicit"}});
  return behind.order.empty() ? y : transpose(y, behind.order);
}

}  // namespace

Definitions rewrite_blocks() {
  return {
      Pass("fuse_dilation")
          .doc("fuse SpaceToBatch, Convolution, BatchToSpace into a dilated Convolution")
          .visit({"BatchToSpace"}, to_dilated),
      Pass("fuse_depth_to_space")
          .doc("fuse Reshape, Transpose, Reshape that move channels into spatial blocks into DepthToSpace")
          .visit({"Reshape"}, to_depth_to_space),
      Pass("fuse_shuffle_channels")
          .doc("fuse Reshape, Transpose, Reshape that interleave groups into ShuffleChannels")
          .visit({"Reshape"}, to_shuffle_channels),
  };
}

}  // namespace graft
