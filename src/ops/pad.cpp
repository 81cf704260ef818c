#include <graft/kit/following.hpp>
#include <graft/kit/moves.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

struct Pad {
  enum Mode { constant, edge, reflect, symmetric } pad_mode = constant;
  static constexpr std::tuple schema{
      attr("pad_mode", &Pad::pad_mode,
           "padding method: a constant, the edge value, or a reflection without (reflect) or with (symmetric) the edge")
          .one_of("constant", "edge", "reflect", "symmetric")
          .required()};
};

// Checks that the mode can provide this much padding.
void pad_check(Pad::Mode mode, int64_t n, int64_t begin, int64_t end) {
  int64_t most = std::max(begin, end);
  if (most <= 0 || mode == Pad::constant) return;
  if (mode == Pad::edge && n == 0) fail("cannot pad an empty axis with its edge");
  if (mode == Pad::reflect && most >= n)
    fail("reflecting ", most, " elements requires an axis of more than ", most, ", got ", n);
  if (mode == Pad::symmetric && most > n)
    fail("reflecting ", most, " elements including the edge requires an axis of at least ", most, ", got ", n);
}
int64_t pad_size(int64_t n, int64_t begin, int64_t end) {
  int64_t sum;
  if (__builtin_add_overflow(begin, end, &sum) || __builtin_add_overflow(n, sum, &sum) || sum < 0)
    fail("an axis of ", n, " cannot be padded by ", begin, " and ", end);
  return sum;
}
Dim pad_size(Pad::Mode mode, const Dim& n, const Dim& begin, const Dim& end) {
  if (begin.known() && end.known()) {
    int64_t b = begin.min(), e = end.min();
    if (n.known()) {
      pad_check(mode, n.value(), b, e);
      return Dim(pad_size(n.value(), b, e));
    }
    int64_t sum;
    if (__builtin_add_overflow(b, e, &sum)) fail("an axis cannot be padded by ", b, " and ", e);
    if (sum == INT64_MIN) return Dim();
    return sum < 0 ? n - Dim(-sum) : n + Dim(sum);
  }
  if (begin.min() < 0 || end.min() < 0) return Dim();
  return n + begin + end;
}

// A segment of an output axis: `count` positions from `to` on, copied from `from` on in steps of `step`.
struct PadStretch {
  int64_t to, count, from, step;
};
// The segments copied from the data; the rest is the padding value.
std::vector<PadStretch> pad_stretches(Pad::Mode mode, int64_t n, int64_t begin, int64_t end) {
  pad_check(mode, n, begin, end);
  int64_t total = pad_size(n, begin, end);
  // Beyond the ends there is nothing to copy, however far. Reflections check their bounds.
  if (mode == Pad::constant || mode == Pad::edge) begin = std::clamp(begin, -n, total);
  int64_t left = std::clamp(begin, int64_t{0}, total), right = std::clamp(begin + n, int64_t{0}, total);
  std::vector<PadStretch> out{{left, right - left, left - begin, 1}};
  if (mode == Pad::constant) return out;
  int64_t seam = mode == Pad::symmetric ? 1 : 0;  // 1 if the edge itself is reflected too
  int64_t after = right - begin;                  // where the data would be read past its end
  if (mode == Pad::edge) out.push_back({0, left, 0, 0}), out.push_back({right, total - right, n - 1, 0});
  else
    out.push_back({0, left, begin - seam, -1}), out.push_back({right, total - right, 2 * (n - 1) + seam - after, -1});
  return out;
}

void pad_run(Run& ctx, const Pad& a) {
  TensorView x = ctx.input(0);
  OutputView y = ctx.output(0);
  std::vector<int64_t> begin = ctx.input(1).to<int64_t>(), end = ctx.input(2).to<int64_t>();
  if (begin.size() != x.rank() || end.size() != x.rank()) fail("expected one pad per axis");
  Cells from(x);
  OutputCells to(y);
  size_t cell = to.cell_size();
  if (y.size() == 0) return;
  if (a.pad_mode == Pad::constant) {
    std::vector<int64_t> repeat(y.rank(), 0);
    if (ctx.has_input(3)) {
      if (ctx.input(3).size() != 1) fail("expected a scalar pad_value");
      Cells value(ctx.input(3));
      copy_box(y.dims(), cell, to.data(), dense_box(y.dims()), value.data(), {0, repeat});
    } else {
      std::memset(to.data(), 0, static_cast<size_t>(y.size()) * cell);
    }
  }
  std::vector<std::vector<PadStretch>> axes;
  for (size_t i = 0; i < x.rank(); ++i) {
    std::vector<PadStretch>& stretches = axes.emplace_back(pad_stretches(a.pad_mode, x.dim(i), begin[i], end[i]));
    std::erase_if(stretches, [](const PadStretch& s) { return s.count == 0; });
    if (stretches.empty()) return to.write_back();
    if (pad_size(x.dim(i), begin[i], end[i]) != y.dim(i)) fail("the output does not have the padded shape");
  }
  // Each combination of one segment per axis is a box of the output.
  std::vector<int64_t> x_strides = strides_of(x.dims()), y_strides = strides_of(y.dims()), choices;
  for (const auto& stretches : axes) choices.push_back(static_cast<int64_t>(stretches.size()));
  Walk walk(choices, {});
  do {
    std::vector<int64_t> dims;
    Strided target{0, y_strides}, source;
    for (size_t i = 0; i < axes.size(); ++i) {
      const PadStretch& s = axes[i][static_cast<size_t>(walk.index()[i])];
      dims.push_back(s.count);
      target.offset += s.to * y_strides[i];
      source.offset += s.from * x_strides[i];
      source.strides.push_back(s.step * x_strides[i]);
    }
    copy_box(dims, cell, to.data(), target, from.data(), source);
  } while (walk.next());
  to.write_back();
}

template <bool may_cut>
void pad_infer(Infer& ctx, const Pad& a) {
  Shape in = ctx.shape(0);
  for (size_t i = 1; i < 3; ++i) {
    Dim n = length_of(ctx, i);
    if (!in.ranked() && n.known()) in = Shape::of_rank(axes_in(n));
    if (in.ranked() && !n.can_be(static_cast<int64_t>(in.rank())))
      fail("expected one pad per axis of the data of shape ", in, ", got ", n);
  }
  Shape out = all_unknown(in);
  if (auto begin = numbers_of(ctx, 1), end = numbers_of(ctx, 2); begin && end && in.ranked()) {
    for (size_t i = 0; i < in.rank(); ++i) {
      for (const Dim& d : {(*begin)[i], (*end)[i]})
        if (!may_cut && d.known() && d.min() < 0)
          fail("expected non-negative pads, got ", d.min(), "; negative pads need Pad of opset12");
      out[i] = pad_size(a.pad_mode, in[i], (*begin)[i], (*end)[i]);
    }
  }
  DType type = ctx.type(0);
  if (ctx.has_input(3)) {
    type = common_type(ctx, {0, 3});
    Shape value = ctx.shape(3);
    if (a.pad_mode == Pad::constant && !value.elements().can_be(1))
      fail("expected a scalar pad_value, got shape ", value);
  }
  ctx.output(0, type, out);
  follow_moves(ctx, a, pad_run, {0, 3}, {out});
}

// The first version does not accept negative pads.
void pad_as_1(Rewrite& at) {
  for (size_t i : {1, 2}) {
    auto pads = at.input(i).values<int64_t>();
    if (!pads || std::any_of(pads->begin(), pads->end(), [](int64_t p) { return p < 0; })) return;
  }
  at.restate("Pad@1", at.all_inputs());
}

}  // namespace

Definitions define_pad() {
  return {
      op<Pad>("Pad", 1)
          .doc("Pad a tensor at the beginning and end of each axis")
          .traits(Trait::moves_data)
          .inputs("data, pads_begin, pads_end, pad_value?")
          .infer(pad_infer<false>)
          .linear()
          .reference(pad_run),
      op<Pad>("Pad", 12)
          .doc("Pad a tensor at the beginning and end of each axis; negative pads crop")
          .traits(Trait::moves_data)
          .inputs("data, pads_begin, pads_end, pad_value?")
          .infer(pad_infer<true>)
          .linear()
          .reference(pad_run)
          .earlier(pad_as_1),
  };
}

}  // namespace graft
