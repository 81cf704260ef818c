#include <graft/kit/expressions.hpp>
#include <graft/kit/known.hpp>
#include <graft/numeric.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

struct Col2Im {
  std::vector<int64_t> strides{1, 1}, dilations{1, 1}, pads_begin{0, 0}, pads_end{0, 0};
  static constexpr std::tuple schema{
      attr("strides", &Col2Im::strides, "step between neighboring blocks").between(1, 1 << 30),
      attr("dilations", &Col2Im::dilations, "spacing between the elements of a block").between(1, 1 << 30),
      attr("pads_begin", &Col2Im::pads_begin, "padding at the top and left of the image").between(0, 1 << 30),
      attr("pads_end", &Col2Im::pads_end, "padding at the bottom and right of the image").between(0, 1 << 30)};
  void check() const {
    for (const auto* list : {&strides, &dilations, &pads_begin, &pads_end})
      if (list->size() != 2) fail("expected 2 values in strides, dilations and pads, got ", list->size());
  }
};

// The number of blocks of `kernel` elements, `dilation` apart, that fit along an axis.
int64_t col2im_blocks(int64_t size, int64_t kernel, int64_t stride, int64_t dilation) {
  constexpr int64_t most = int64_t{1} << 31;
  if (size < 0 || size > most || kernel < 1 || kernel > most)
    fail("a block of ", kernel, " elements does not fit an axis of ", size);
  if (stride < 1 || stride > most || dilation < 1 || dilation > most || dilation > most / kernel)
    fail("expected positive strides and dilations, got ", stride, " and ", dilation);
  int64_t reach = dilation * (kernel - 1) + 1;
  return reach > size ? 0 : (size - reach) / stride + 1;
}

void col2im_infer(Infer& ctx, const Col2Im& a) {
  a.check();
  Shape data = ctx.shape(0), out = Shape::unknown();
  auto size = numbers_of(ctx, 1);
  auto kernel = certain_numbers(ctx, 2);
  if ((size && size->rank() != 2) || (kernel && kernel->size() != 2))
    fail("expected output_size and kernel_size with 2 values each");
  if (data.ranked()) {
    if (data.rank() != 2 && data.rank() != 3) fail("expected data of shape [N, C * kernel, L], got ", data);
    size_t c = data.rank() - 2;
    out = Shape::of_rank(data.rank() + 1);
    if (c) out[0] = data[0];
    for (size_t d = 0; size && d < 2; ++d) {
      if ((*size)[d].known() && (*size)[d].min() < 0) fail("expected a positive output_size, got ", (*size)[d].min());
      if ((*size)[d].min() >= 0) out[c + 1 + d] = (*size)[d];
    }
    if (kernel) {
      int64_t k0 = (*kernel)[0], k1 = (*kernel)[1];
      if (k0 < 1 || k1 < 1 || k0 > INT32_MAX || k1 > INT32_MAX)
        fail("expected a positive kernel_size, got ", k0, " x ", k1);
      if (data[c].known() && data[c].value() % (k0 * k1) != 0)
        fail("expected a number of data rows divisible by the block size ", k0, " x ", k1, ", got ", data[c]);
      out[c] = data[c] / (k0 * k1);
      if (out[c + 1].known() && out[c + 2].known()) {
        int64_t blocks = 1;
        for (size_t d = 0; d < 2; ++d)
          blocks *= col2im_blocks(out[c + 1 + d].value() + a.pads_begin[d] + a.pads_end[d], (*kernel)[d], a.strides[d],
                                  a.dilations[d]);
        if (!data[c + 1].can_be(blocks)) fail("expected ", blocks, " blocks in the data, got ", data[c + 1]);
      }
    }
  }
  ctx.output(0, ctx.type(0), out);
}

void col2im_run(Run& ctx, const Col2Im& a) {
  a.check();
  TensorView x = ctx.input(0);
  OutputView y = ctx.output(0);
  std::vector<int64_t> kernel = ctx.input(2).to<int64_t>();
  size_t c = x.rank() - 2;
  int64_t planes = count_of(y.dims().first(c + 1)), high = y.dim(c + 1), wide = y.dim(c + 2);
  int64_t rows = col2im_blocks(high + a.pads_begin[0] + a.pads_end[0], kernel[0], a.strides[0], a.dilations[0]);
  int64_t columns = col2im_blocks(wide + a.pads_begin[1] + a.pads_end[1], kernel[1], a.strides[1], a.dilations[1]);
  if (x.size() != planes * kernel[0] * kernel[1] * rows * columns)
    fail("data of shape ", x.info().shape, " does not match output_size and kernel_size");
  with_number_type(x.type(), [&]<class T>(T) {
    std::vector<T> in = x.to<T>(), out(static_cast<size_t>(y.size()), T{});
    const T* next = in.data();
    for (int64_t p = 0; p < planes; ++p)
      for (int64_t i = 0; i < kernel[0]; ++i)
        for (int64_t j = 0; j < kernel[1]; ++j)
          for (int64_t r = 0; r < rows; ++r)
            for (int64_t s = 0; s < columns; ++s, ++next) {
              int64_t h = r * a.strides[0] + i * a.dilations[0] - a.pads_begin[0];
              int64_t w = s * a.strides[1] + j * a.dilations[1] - a.pads_begin[1];
              if (h < 0 || h >= high || w < 0 || w >= wide) continue;
              T& pixel = out[static_cast<size_t>((p * high + h) * wide + w)];
              pixel = wrap_add(pixel, *next);
            }
    y.assign(out);
  });
}

// ---- ONNX ----

// Any number of spatial axes, folded one at a time: [N, C, block sizes..., block counts..., folded axes...] loses its
// first size and count and gains a folded axis.
Value col2im_by_axes(Builder& layer, const Value& image, const Value& block, size_t axes, const Col2Im& a) {
  auto part = [&](const Value& list, size_t i) {
    auto k = static_cast<int64_t>(i);
    return build::slice(convert(list, DType::i64), 0, k, k + 1);
  };
  Value x = layer.input(0), rest = layer.ints({-1}), one = layer.ints({1}), batch = build::dim(x, 0);
  std::vector<Value> sizes, counts, shape{batch, rest};
  for (size_t d = 0; d < axes; ++d) {
    sizes.push_back(part(block, d));
    Value reach = (sizes[d] - one) * layer.ints({a.dilations[d]}) + one;
    Value padded = part(image, d) + layer.ints({a.pads_begin[d] + a.pads_end[d]});
    counts.push_back((padded - reach) / layer.ints({a.strides[d]}) + one);
  }
  shape.insert(shape.end(), sizes.begin(), sizes.end());
  shape.insert(shape.end(), counts.begin(), counts.end());
  x = build::reshape(x, shape);
  for (size_t d = 0; d < axes; ++d) {
    size_t left = axes - d, size = 2, count = 2 + left;
    std::vector<int64_t> order;
    std::vector<Value> kept;
    for (size_t i = 0; i < shape.size(); ++i)
      if (i != size && i != count) order.push_back(static_cast<int64_t>(i)), kept.push_back(shape[i]);
    order.insert(order.end(), {static_cast<int64_t>(size), static_cast<int64_t>(count)});
    Value lines = build::reshape(transpose(x, order), {rest, sizes[d], counts[d]}), length = part(image, d);
    std::vector<int64_t> begin{a.pads_begin[d], 0}, end{a.pads_end[d], 0};
    x = layer.op("Col2Im", {lines, build::concat({length, one}, 0), build::concat({sizes[d], one}, 0)},
                 {{"strides", std::vector<int64_t>{a.strides[d], 1}},
                  {"dilations", std::vector<int64_t>{a.dilations[d], 1}},
                  {"pads_begin", begin},
                  {"pads_end", end}});
    shape = kept;
    shape.push_back(length);
    x = build::reshape(x, shape);
  }
  return x;
}

Value import_col2im(Builder& layer) {
  Value size = layer.input(1), block = layer.input(2);
  Shape s = size.shape();
  auto kernel = block.values<int64_t>();
  size_t axes = s.ranked() && s.rank() == 1 && s[0].known() ? axes_in(s[0]) : 2;
  std::vector<int64_t> ones(axes, 1), pads = layer.get<std::vector<int64_t>>("pads", std::vector<int64_t>(2 * axes, 0));
  Col2Im a;
  a.strides = layer.get<std::vector<int64_t>>("strides", ones);
  a.dilations = layer.get<std::vector<int64_t>>("dilations", ones);
  if (pads.size() != 2 * axes || a.strides.size() != axes || a.dilations.size() != axes)
    fail("expected ", axes, " strides, dilations and pads per side for an image of ", axes, " axes");
  auto middle = pads.begin() + static_cast<ptrdiff_t>(axes);
  a.pads_begin.assign(pads.begin(), middle);
  a.pads_end.assign(middle, pads.end());
  if (axes == 2)
    return layer.op(
        "Col2Im", {layer.input(0), size, block},
        {{"strides", a.strides}, {"dilations", a.dilations}, {"pads_begin", a.pads_begin}, {"pads_end", a.pads_end}});
  if (kernel && kernel->size() != axes) fail("expected ", axes, " block dimensions, got ", kernel->size());
  for (size_t d = 0; d < axes; ++d) {
    for (int64_t p : {a.pads_begin[d], a.pads_end[d]})
      if (p < 0 || p > INT32_MAX) fail("expected non-negative pads that fit 32 bits, got ", p);
    for (int64_t step : {a.strides[d], a.dilations[d]})
      if (step < 1 || step > INT32_MAX) fail("expected positive strides and dilations that fit 32 bits, got ", step);
  }
  return col2im_by_axes(layer, size, block, axes, a);
}

}  // namespace

Definitions define_col2im() {
  return op<Col2Im>("Col2Im", 15)
      .doc("Sum sliding blocks back into the image they were extracted from")
      .inputs("data, output_size, kernel_size")
      .infer(col2im_infer)
      .reference(col2im_run)
      .import(onnx("Col2Im").expand(import_col2im));
}

}  // namespace graft
