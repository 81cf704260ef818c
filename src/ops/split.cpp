// Split and VariadicSplit.
#include <graft/kit/following.hpp>
#include <graft/kit/moves.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

struct Split {
  int64_t num_splits = 1;
  static constexpr std::tuple schema{
      attr("num_splits", &Split::num_splits, "number of equal parts").at_least(1).at_most(65535).required()};
};

// Sets all outputs from the sizes of the parts along the axis; if the axis is unknown, only the rank is set.
std::vector<Shape> split_outputs(Infer& ctx, const std::vector<Dim>& sizes, std::optional<size_t> axis) {
  Shape in = ctx.shape(0);
  std::vector<Shape> parts;
  for (size_t i = 0; i < sizes.size(); ++i) {
    Shape& out = parts.emplace_back(axis ? in : all_unknown(in));
    if (axis) out[*axis] = sizes[i];
    ctx.output(i, ctx.type(0), out);
  }
  return parts;
}

// One length may be -1: the remainder.
std::vector<int64_t> variadic_lengths(std::vector<int64_t> lengths, int64_t whole) {
  int64_t sum = 0;
  std::optional<size_t> rest;
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] == -1) {
      if (rest) fail("expected at most one length of -1, got two");
      rest = i;
      continue;
    }
    if (lengths[i] < 0) fail("expected lengths of at least -1, got ", lengths[i]);
    if (lengths[i] > whole - sum) fail("expected lengths that add up to ", whole, ", got ", lengths);
    sum += lengths[i];
  }
  if (rest) lengths[*rest] = whole - sum;
  else if (sum != whole) fail("expected lengths that add up to ", whole, ", got ", lengths);
  return lengths;
}

void split_copy(Run& ctx, size_t axis, const std::vector<int64_t>& lengths) {
  TensorView x = ctx.input(0);
  Cells from(x);
  Strided part = dense_box(x.dims());
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (ctx.output_used(i)) {
      OutputView y = ctx.output(i);
      if (y.rank() != x.rank() || y.dim(axis) != lengths[i])
        fail("part ", i, " does not match the shape of its output");
      OutputCells to(y);
      copy_box(y.dims(), to.cell_size(), to.data(), dense_box(y.dims()), from.data(), part);
      to.write_back();
    }
    part.offset += lengths[i] * part.strides[axis];
  }
}
void split_run(Run& ctx, const Split& a) {
  TensorView x = ctx.input(0);
  size_t axis = normalize_axis(ctx.input(1).scalar<int64_t>(), x.rank());
  split_copy(ctx, axis, std::vector<int64_t>(static_cast<size_t>(a.num_splits), x.dim(axis) / a.num_splits));
}
void variadic_split_run(Run& ctx, const NoAttributes&) {
  TensorView x = ctx.input(0);
  size_t axis = normalize_axis(ctx.input(1).scalar<int64_t>(), x.rank());
  split_copy(ctx, axis, variadic_lengths(ctx.input(2).to<int64_t>(), x.dim(axis)));
}

void split_infer(Infer& ctx, const Split& a) {
  Shape in = ctx.shape(0);
  std::optional<size_t> axis;
  if (in.ranked()) axis = certain_axis(ctx, 1, in.rank());
  Dim size;
  if (axis) {
    const Dim& whole = in[*axis];
    if (whole.known() && whole.value() % a.num_splits != 0)
      fail("expected a dimension divisible by num_splits ", a.num_splits, ", got ", whole);
    size = whole / a.num_splits;
  }
  follow_moves(ctx, a, split_run, {0},
               split_outputs(ctx, std::vector<Dim>(static_cast<size_t>(a.num_splits), size), axis));
}

void variadic_split_infer(Infer& ctx, const NoAttributes& a) {
  Shape in = ctx.shape(0);
  std::optional<size_t> axis;
  if (in.ranked()) axis = certain_axis(ctx, 1, in.rank());
  Dim count = length_of(ctx, 2);
  if (count.min() > 65535) fail("splitting into ", count, " parts is not supported");
  std::vector<Dim> sizes(count.known() ? static_cast<size_t>(count.value()) : ctx.outputs());
  if (auto k = numbers_of(ctx, 2); k && axis) {
    const Dim& whole = in[*axis];
    bool certain = std::all_of(k->begin(), k->end(), [](const Dim& d) { return d.known(); });
    std::vector<int64_t> lengths;
    for (const Dim& d : *k) lengths.push_back(d.min());
    if (certain && whole.known()) {
      lengths = variadic_lengths(lengths, whole.value());
      for (size_t i = 0; i < sizes.size(); ++i) sizes[i] = Dim(lengths[i]);
    } else {
      for (size_t i = 0; i < sizes.size(); ++i) {
        if (!(*k)[i].known() || lengths[i] < -1) sizes[i] = (*k)[i].min() < 0 ? at_most(whole) : (*k)[i];
        else if (lengths[i] >= 0) sizes[i] = Dim(lengths[i]);
        else {
          Dim others = 0;
          for (size_t j = 0; j < sizes.size(); ++j)
            if (j != i) others = others + ((*k)[j].min() < 0 ? Dim() : (*k)[j]);
          sizes[i] = whole - others;
        }
      }
    }
  }
  follow_moves(ctx, a, variadic_split_run, {0}, split_outputs(ctx, sizes, axis));
}

// ONNX gives the lengths in an attribute (until 13) or an input, or only the number of parts, in which case the last
// one may be smaller (since 18). Opset 1 could pass the lengths as an input, too.
std::vector<Value> import_split(Builder& layer) {
  Value x = layer.input(0);
  int64_t axis = layer.get<int64_t>("axis", 0);
  Value where = layer.scalar(axis);
  size_t parts = layer.outputs();
  if (layer.has("split")) {
    Value lengths = layer.ints(layer.get<std::vector<int64_t>>("split"));
    return layer.ops("VariadicSplit", {x, where, lengths}, {}, parts);
  }
  if (layer.has_input(1)) {
    Value lengths = layer.input(1);
    Shape s = lengths.shape();
    if (!s.is_static()) lengths = reshape(lengths, {static_cast<int64_t>(parts)});
    return layer.ops("VariadicSplit", {x, where, lengths}, {}, parts);
  }
  auto count = layer.get<int64_t>("num_outputs", static_cast<int64_t>(parts));
  if (count < 1 || count != static_cast<int64_t>(parts))
    fail("expected num_outputs ", parts, " to match the outputs of the layer, got ", count);
  Shape s = x.shape();
  Dim whole;
  if (s.ranked()) whole = s[normalize_axis(axis, s.rank())];
  if (layer.version() < 18 || (whole.known() && whole.value() % count == 0))
    return layer.ops("Split", {x, where}, {{"num_splits", count}}, parts);
  if (!whole.known()) {
    // All parts but the last have the rounded-up size.
    Value size = layer.op("Gather", {shape_of(x), layer.ints({axis}), layer.scalar(int64_t{0})});
    Value share = layer.op("Divide", {size + static_cast<double>(count - 1), layer.ints({count})});
    std::vector<Value> lengths(parts, share);
    lengths.back() = layer.ints({-1});
    Value list = layer.op("Concat", lengths, {{"axis", 0}});
    return layer.ops("VariadicSplit", {x, where, list}, {}, parts);
  }
  int64_t share = (whole.value() + count - 1) / count;
  std::vector<int64_t> lengths;
  for (int64_t i = 0, left = whole.value(); i < count; ++i, left -= lengths.back())
    lengths.push_back(std::min(share, left));
  return layer.ops("VariadicSplit", {x, where, layer.ints(lengths)}, {}, parts);
}

}  // namespace

Definitions define_split() {
  return {
      op<Split>("Split", 1)
          .doc("Split a tensor into equal parts along an axis")
          .traits(Trait::moves_data, Trait::axes_input)
          .inputs("data, axis")
          .outputs("outputs...")
          .infer(split_infer)
          .linear()
          .reference(split_run)
          .import(onnx("Split").expand(import_split)),
      op("VariadicSplit", 1)
          .doc("Split a tensor into parts of the given lengths along an axis; one length may be -1 for the remainder")
          .traits(Trait::moves_data, Trait::axes_input)
          .inputs("data, axis, split_lengths")
          .outputs("outputs...")
          .infer(variadic_split_infer)
          .linear()
          .reference(variadic_split_run),
  };
}

}  // namespace graft
