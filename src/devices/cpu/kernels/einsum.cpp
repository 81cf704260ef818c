// Einsum of one or two f32 inputs as matrix products (gemm.hpp), whatever the order of the axes.
//
// Each label is an axis with a stride in either input and in the output, 0 where it is absent. Labels of the first
// input and the output are rows, those of the second one and the output columns, those of both inputs but not the
// output are summed over; labels of all three count products. Neighbors that are one axis in memory are merged. One
// axis of each kind makes the matrices, and packing takes care of its stride, so nothing is transposed in memory; the
// others are loops around the products.
#include <array>
#include <graft/kit/einsum.hpp>
#include <graft/op.hpp>

#include "gemm.hpp"
#include "scratch.hpp"

namespace graft {
namespace {

struct EinsumAxis {
  int64_t size = 1;
  std::array<int64_t, 3> strides{};  // in the left input, the right input, the output
};
using EinsumAxisList = std::vector<EinsumAxis>;

struct EinsumPlan {
  size_t left = 0, right = 1;  // which input; one that does not exist is the number 1
  EinsumAxis m, n, k;
  EinsumAxisList products, sums;  // loops around the matrix product, and around its sum
  std::vector<std::array<int64_t, 3>> product_at, sum_at;
  GemmBlocks blocks{};
  bool empty_sum = false;
};

void einsum_accept(Accept& ctx) {
  if (ctx.inputs() > 2) unsupported("expected at most two inputs, got ", ctx.inputs());
  if (ctx.type(0) != DType::f32) unsupported("expected f32, got ", ctx.type(0));
  for (size_t i = 0; i < ctx.inputs(); ++i)
    if (!ctx.shape(i).is_static()) unsupported("requires static shapes");
}

// The axes of all labels. A label that occurs twice in an input adds up its strides there: the diagonal.
EinsumAxisList einsum_labels(Prepare& ctx) {
  EinsumEquation e = parse_einsum(ctx.attr<std::string>("equation"));
  std::map<int, EinsumAxis> labels;
  size_t dots = 0;
  for (size_t i = 0; i < ctx.inputs(); ++i) {
    std::vector<int64_t> dims = ctx.shape(i).values(), dense = strides_of(dims);
    size_t own = einsum_ellipsis(e.inputs[i], dims.size(), i);
    dots = std::max(dots, own);
    std::vector<int> names = einsum_axes(e.inputs[i], own);
    for (size_t k = 0; k < dims.size(); ++k) {
      EinsumAxis& a = labels[names[k]];
      if (dims[k] != 1) a.size = dims[k], a.strides[i] += dense[k];
    }
  }
  std::vector<int64_t> dense = strides_of(ctx.output(0).shape.values());
  std::vector<int> names = einsum_axes(e.output, dots);
  for (size_t k = 0; k < names.size(); ++k) labels[names[k]].strides[2] = dense[k];
  EinsumAxisList all;
  for (const auto& [name, axis] : labels)
    if (axis.size != 1) all.push_back(axis);
  return all;
}

// The axes with the given property, outermost first, merged where they are one axis in memory.
template <class F>
EinsumAxisList einsum_axes_of(const EinsumAxisList& all, const F& belongs) {
  EinsumAxisList some, merged;
  for (const EinsumAxis& a : all)
    if (belongs(a.strides)) some.push_back(a);
  std::sort(some.begin(), some.end(), [](const EinsumAxis& a, const EinsumAxis& b) {
    return std::pair(a.strides[2], a.strides[0]) > std::pair(b.strides[2], b.strides[0]);
  });
  for (const EinsumAxis& inner : some) {
    auto adjoins = [&](const EinsumAxis& outer) {
      for (size_t i = 0; i < 3; ++i)
        if (outer.strides[i] != inner.strides[i] * inner.size) return false;
      return true;
    };
    if (!merged.empty() && adjoins(merged.back())) merged.back() = {merged.back().size * inner.size, inner.strides};
    else merged.push_back(inner);
  }
  return merged;
}

// Takes the axis that makes the matrix: the largest, or the one that is contiguous in the output if it is long enough.
EinsumAxis einsum_take(EinsumAxisList& axes) {
  if (axes.empty()) return {};
  constexpr int64_t long_enough = 16;
  auto best = std::max_element(axes.begin(), axes.end(), [](const EinsumAxis& a, const EinsumAxis& b) {
    auto rank = [](const EinsumAxis& x) { return std::pair(x.strides[2] == 1 && x.size >= long_enough, x.size); };
    return rank(a) < rank(b);
  });
  EinsumAxis taken = *best;
  axes.erase(best);
  return taken;
}

std::vector<std::array<int64_t, 3>> einsum_offsets(const EinsumAxisList& axes) {
  std::vector<int64_t> sizes;
  std::vector<std::vector<int64_t>> strides(3);
  for (const EinsumAxis& a : axes) {
    sizes.push_back(a.size);
    for (size_t i = 0; i < 3; ++i) strides[i].push_back(a.strides[i]);
  }
  std::vector<std::array<int64_t, 3>> all;
  Walk walk(sizes, strides);
  if (!walk.empty()) do
      all.push_back({walk[0], walk[1], walk[2]});
    while (walk.next());
  return all;
}

EinsumPlan einsum_prepare(Prepare& ctx) {
  EinsumPlan s;
  EinsumAxisList all = einsum_labels(ctx);
  for (const EinsumAxis& a : all) s.empty_sum |= a.size == 0;
  if (s.empty_sum) return s;
  auto contiguous = [](const EinsumAxis& a) { return a.strides[2] == 1; };
  if (std::any_of(all.begin(), all.end(), [&](auto& a) { return contiguous(a) && a.strides[0] && !a.strides[1]; })) {
    std::swap(s.left, s.right);
    for (EinsumAxis& a : all) std::swap(a.strides[0], a.strides[1]);
  }
  using Strides = std::array<int64_t, 3>;
  EinsumAxisList rows = einsum_axes_of(all, [](const Strides& v) { return v[2] && v[0] && !v[1]; });
  EinsumAxisList columns = einsum_axes_of(all, [](const Strides& v) { return v[2] && !v[0] && v[1]; });
  s.products = einsum_axes_of(all, [](const Strides& v) { return v[2] && v[0] && v[1]; });
  s.sums = einsum_axes_of(all, [](const Strides& v) { return !v[2]; });
  s.m = einsum_take(rows), s.n = einsum_take(columns), s.k = einsum_take(s.sums);
  if (s.n.size == 1) s.n.strides[2] = 1;
  s.products.insert(s.products.end(), rows.begin(), rows.end());
  s.products.insert(s.products.end(), columns.begin(), columns.end());
  int64_t count = 1, sums = 1;
  for (const EinsumAxis& a : s.products) count *= a.size;
  for (const EinsumAxis& a : s.sums) sums *= a.size;
  // Lists of offsets that are longer than the work they describe.
  constexpr int64_t many = 1 << 16, little = 64;
  if ((count > many || sums > many) && s.m.size * s.n.size * s.k.size < little)
    unsupported("too little work in each of ", count * sums, " products");
  s.product_at = einsum_offsets(s.products), s.sum_at = einsum_offsets(s.sums);
  s.blocks = gemm_blocks(gemm(), s.m.size, s.n.size, s.k.size * sums, GemmPacks::both, count);
  int64_t pieces = (s.k.size + gemm_depth - 1) / gemm_depth;
  s.blocks.depth = (s.k.size + pieces - 1) / pieces;
  return s;
}

// Columns that are not contiguous in the output are computed aside.
void einsum_scatter(const EinsumPlan& s, const float* from, int64_t rows, int64_t columns, float* y) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) y[i * s.m.strides[2] + j * s.n.strides[2]] = from[i * columns + j];
}

// One block of one product.
void einsum_block(const EinsumPlan& s, const float* a, const float* b, int64_t block, float* y) {
  const Gemm& g = gemm();
  int64_t i = block / s.blocks.across * s.blocks.rows, j = block % s.blocks.across * s.blocks.columns;
  int64_t rows = std::min(s.blocks.rows, s.m.size - i), columns = std::min(s.blocks.columns, s.n.size - j);
  int64_t depth = s.blocks.depth, a_size = gemm_round_up(rows * depth, 64), b_size = gemm_packed_b(g, depth, columns);
  bool aside = s.n.strides[2] != 1;
  float* pa = thread_floats(static_cast<size_t>(a_size + b_size + (aside ? rows * columns : 0)));
  float *pb = pa + a_size, *to = y + i * s.m.strides[2] + j * s.n.strides[2];
  float* c = aside ? pb + b_size : to;
  bool add = false;
  for (const auto& at : s.sum_at)
    for (int64_t k = 0; k < s.k.size; k += depth) {
      int64_t now = std::min(depth, s.k.size - k);
      g.pack_a({a + at[0] + i * s.m.strides[0] + k * s.k.strides[0], s.m.strides[0], s.k.strides[0]}, rows, now, pa);
      g.pack_b({b + at[1] + k * s.k.strides[1] + j * s.n.strides[1], s.k.strides[1], s.n.strides[1]}, now, columns, pb);
      g.multiply(rows, columns, now, pa, now, 0, pb, now, 0, c, aside ? columns : s.m.strides[2], add);
      add = true;
    }
  if (aside) einsum_scatter(s, c, rows, columns, to);
}

void einsum_run(Run& ctx, const EinsumPlan& s) {
  OutputView out = ctx.output(0);
  float* y = out.data<float>();
  if (s.empty_sum) return void(std::fill(y, y + out.size(), 0.0f));
  static constexpr float one = 1;
  const float* a = s.left < ctx.inputs() ? ctx.input(s.left).data<const float>() : &one;
  const float* b = s.right < ctx.inputs() ? ctx.input(s.right).data<const float>() : &one;
  // A row times a matrix needs no packing.
  bool row = s.m.size == 1 && s.n.strides[2] == 1 && s.sum_at.size() == 1;
  int64_t per_product = row ? 1 : s.blocks.count(), count = static_cast<int64_t>(s.product_at.size()) * per_product;
  int64_t grain = row ? std::max<int64_t>(1, (1 << 16) / (s.n.size * s.k.size)) : s.blocks.grain;
  ctx.parallel_for(count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const auto& at = s.product_at[static_cast<size_t>(t / per_product)];
      if (row)
        gemm().vector(a + at[0], s.k.strides[0], s.k.size, {b + at[1], s.k.strides[1], s.n.strides[1]}, s.n.size,
                      y + at[2]);
      else einsum_block(s, a + at[0], b + at[1], t % per_product, y + at[2]);
    }
  });
}

}  // namespace

Definitions cpu_einsum() {
  return Kernel("CPU", "gemm_f32").of("Einsum", "opset7").accept(einsum_accept).run(einsum_prepare, einsum_run);
}

}  // namespace graft
