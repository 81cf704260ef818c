#include <graft/numeric.hpp>
#include <graft/op.hpp>

#include "known.hpp"

namespace graft {
namespace {

struct Col2Im {
  std::vector<int64_t> strides{1, 1}, dilations{1, 1}, pads_begin{0, 0}, pads_end{0, 0};
  static constexpr std::tuple schema{
      attr("strides", &Col2Im::strides, "way from one block to the next").between(1, 1 << 30),
      attr("dilations", &Col2Im::dilations, "way from one element of a block to the next").between(1, 1 << 30),
      attr("pads_begin", &Col2Im::pads_begin, "rows and columns before the image").between(0, 1 << 30),
      attr("pads_end", &Col2Im::pads_end, "rows and columns after the image").between(0, 1 << 30)};
  void check() const {
    for (const auto* list : {&strides, &dilations, &pads_begin, &pads_end})
      if (list->size() != 2) fail("an attribute has ", list->size(), " values, two are wanted");
  }
};

// How many blocks of `kernel` elements, `dilation` apart, fit into a line.
int64_t col2im_blocks(int64_t size, int64_t kernel, int64_t stride, int64_t dilation) {
  constexpr int64_t most = int64_t{1} << 31;
  if (size < 0 || size > most || kernel < 1 || kernel > most) fail("a block of ", kernel, " in a line of ", size);
  if (stride < 1 || stride > most || dilation < 1 || dilation > most || dilation > most / kernel)
    fail("a stride of ", stride, " and a dilation of ", dilation, " are not possible");
  int64_t reach = dilation * (kernel - 1) + 1;
  return reach > size ? 0 : (size - reach) / stride + 1;
}

void col2im_infer(Infer& ctx, const Col2Im& a) {
  a.check();
  Shape data = ctx.shape(0), out = Shape::unknown();
  auto size = numbers_of(ctx, 1);
  auto kernel = certain_numbers(ctx, 2);
  if ((size && size->rank() != 2) || (kernel && kernel->size() != 2))
    fail("output_size and kernel_size should be pairs");
  if (data.ranked()) {
    if (data.rank() != 2 && data.rank() != 3) fail("data of shape ", data, ", [N, C * kernel, L] is wanted");
    size_t c = data.rank() - 2;
    out = Shape::of_rank(data.rank() + 1);
    if (c) out[0] = data[0];
    for (size_t d = 0; size && d < 2; ++d) {
      if ((*size)[d].known() && (*size)[d].min() < 0) fail("the output size is ", (*size)[d].min());
      if ((*size)[d].min() >= 0) out[c + 1 + d] = (*size)[d];
    }
    if (kernel) {
      int64_t k0 = (*kernel)[0], k1 = (*kernel)[1];
      if (k0 < 1 || k1 < 1 || k0 > INT32_MAX || k1 > INT32_MAX) fail("a block of ", k0, " by ", k1);
      if (data[c].known() && data[c].value() % (k0 * k1) != 0)
        fail("the ", data[c], " rows of data do not divide by a block of ", k0, " by ", k1);
      out[c] = data[c] / (k0 * k1);
      if (out[c + 1].known() && out[c + 2].known()) {
        int64_t blocks = 1;
        for (size_t d = 0; d < 2; ++d)
          blocks *= col2im_blocks(out[c + 1 + d].value() + a.pads_begin[d] + a.pads_end[d], (*kernel)[d], a.strides[d],
                                  a.dilations[d]);
        if (!data[c + 1].can_be(blocks)) fail("data of ", data[c + 1], " blocks, the image has ", blocks);
      }
    }
  }
  ctx.output(0, ctx.type(0), out);
}

void col2im_run(Run& ctx, const Col2Im& a) {
  a.check();
  TensorView x = ctx.input(0), y = ctx.output(0);
  std::vector<int64_t> kernel = ctx.input(2).to<int64_t>();
  size_t c = x.rank() - 2;
  int64_t planes = count_of(y.dims().first(c + 1)), high = y.dim(c + 1), wide = y.dim(c + 2);
  int64_t rows = col2im_blocks(high + a.pads_begin[0] + a.pads_end[0], kernel[0], a.strides[0], a.dilations[0]);
  int64_t columns = col2im_blocks(wide + a.pads_begin[1] + a.pads_end[1], kernel[1], a.strides[1], a.dilations[1]);
  if (x.size() != planes * kernel[0] * kernel[1] * rows * columns)
    fail("data of shape ", x.info().shape, " does not fit the image and the block");
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

// Any number of spatial axes: every element is added to the place of the padded image that it belongs to.
Value col2im_by_scatter(Import& layer, const std::vector<int64_t>& image, const std::vector<int64_t>& kernel,
                        const Col2Im& a) {
  size_t axes = image.size();
  std::vector<int64_t> padded(axes), blocks(axes), shape{0, 0}, start, stop, all{0, 1};
  for (size_t d = 0; d < axes; ++d) {
    padded[d] = image[d] + a.pads_begin[d] + a.pads_end[d];
    blocks[d] = col2im_blocks(padded[d], kernel[d], a.strides[d], a.dilations[d]);
    shape.push_back(padded[d]);
    start.push_back(a.pads_begin[d]);
    stop.push_back(a.pads_begin[d] + image[d]);
    all.push_back(static_cast<int64_t>(d) + 2);
  }
  Dim size = Shape::of(padded).elements(), moves = Shape::of(kernel).elements() * Shape::of(blocks).elements();
  if (size.max() > INT32_MAX || moves.max() > INT32_MAX / 8) unsupported("an image of ", padded, " is too large here");
  std::vector<int64_t> place_strides = strides_of(padded), step = place_strides, inside = place_strides, places;
  for (size_t d = 0; d < axes; ++d) step[d] *= a.strides[d], inside[d] *= a.dilations[d];
  Walk block(kernel, {inside});
  do {
    Walk at(blocks, {step});
    if (at.empty()) break;
    do places.push_back(block[0] + at[0]);
    while (at.next());
  } while (block.next());

  Value x = layer.input(0);
  auto count = static_cast<int64_t>(places.size());
  Value by_place = transpose(layer.op("Reshape", {x, layer.ints({0, -1, count})}, {{"special_zero", true}}), {2, 0, 1});
  Value channels = layer.op("Slice", {shape_of(by_place), layer.ints({1}), layer.ints({3}), layer.ints({1})});
  Value zeros = layer.op("Broadcast", {layer.scalar(0, x.type()),
                                       layer.op("Concat", {layer.ints({size.value()}), channels}, {{"axis", 0}})});
  Value sums = layer.op("ScatterNDUpdate", {zeros, layer.constant<int64_t>(std::move(places), {count, 1}), by_place},
                        {{"reduction", "sum"}});
  Value whole = layer.op("Reshape", {transpose(sums, {1, 2, 0}), layer.ints(shape)}, {{"special_zero", true}});
  std::vector<int64_t> ones(axes, 1), spatial(all.begin() + 2, all.end());
  return layer.op("Slice", {whole, layer.ints(start), layer.ints(stop), layer.ints(ones), layer.ints(spatial)});
}

Value import_col2im(Import& layer) {
  Value size = layer.input(1), block = layer.input(2);
  Shape s = size.shape();
  auto image = size.values<int64_t>(), kernel = block.values<int64_t>();
  size_t axes = s.ranked() && s.rank() == 1 && s[0].known() ? axes_in(s[0]) : 2;
  std::vector<int64_t> ones(axes, 1), pads = layer.get<std::vector<int64_t>>("pads", std::vector<int64_t>(2 * axes, 0));
  Col2Im a;
  a.strides = layer.get<std::vector<int64_t>>("strides", ones);
  a.dilations = layer.get<std::vector<int64_t>>("dilations", ones);
  if (pads.size() != 2 * axes || a.strides.size() != axes || a.dilations.size() != axes)
    fail("strides, dilations and pads do not fit an image of ", axes, " axes");
  auto middle = pads.begin() + static_cast<ptrdiff_t>(axes);
  a.pads_begin.assign(pads.begin(), middle);
  a.pads_end.assign(middle, pads.end());
  if (axes == 2)
    return layer.op(
        "Col2Im", {layer.input(0), size, block},
        {{"strides", a.strides}, {"dilations", a.dilations}, {"pads_begin", a.pads_begin}, {"pads_end", a.pads_end}});
  if (!image || !kernel) unsupported("an image of ", axes, " axes whose size is computed");
  if (kernel->size() != axes) fail("a block of ", kernel->size(), " axes for an image of ", axes);
  for (int64_t p : pads)
    if (p < 0 || p > INT32_MAX) fail("a pad of ", p);
  for (int64_t d : *image)
    if (d < 0 || d > INT32_MAX) fail("an image of ", *image);
  return col2im_by_scatter(layer, *image, *kernel, a);
}

}  // namespace

Ops define_col2im() {
  return op<Col2Im>("Col2Im", 15)
      .doc("Adds up blocks of elements to the image that they were taken from.")
      .inputs("data, output_size, kernel_size")
      .infer(col2im_infer)
      .reference(col2im_run)
      .import(onnx("Col2Im").expand(import_col2im));
}

}  // namespace graft
