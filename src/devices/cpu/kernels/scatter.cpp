// ScatterUpdate, ScatterNDUpdate and ScatterElementsUpdate without reduction: the data is copied on all threads, then
// the updates are written in order, since the last one of several for the same place wins.
#include "indices.hpp"

namespace graft {
namespace {

void copy_data(Run& ctx, size_t cell) {
  const auto* from = static_cast<const unsigned char*>(ctx.input(0).raw()->data);
  auto* to = static_cast<unsigned char*>(ctx.output(0).raw()->data);
  ctx.parallel_for(ctx.output(0).size(), 1 << 15, [&](int64_t begin, int64_t end) {
    std::memcpy(to + static_cast<size_t>(begin) * cell, from + static_cast<size_t>(begin) * cell,
                static_cast<size_t>(end - begin) * cell);
  });
}

void scatter_accept(Accept& ctx) {
  indices_accept(ctx, 1);
  auto reduction = ctx.attr<std::optional<std::string>>("reduction");
  if (reduction && *reduction != "none") unsupported("expected no reduction, got ", *reduction);
  if (ctx.inputs() > 3 && !ctx.constant(3)) unsupported("requires a constant axis");
}

// ---- slices ----

// Each of `count` index tuples addresses a run of elements; for ScatterUpdate, a tuple is one index, and `outer` slices
// of the data repeat the list of tuples.
struct ScatterPlan {
  int64_t outer = 1, slice = 0, count = 0;
  std::vector<int64_t> sizes, strides;  // of the axes that a tuple addresses
  size_t cell = 4, run = 0;             // bytes
};

ScatterPlan scatter_plan(const Prepare& ctx, size_t first, size_t tuple) {
  std::vector<int64_t> data = ctx.shape(0).values(), strides = strides_of(data);
  ScatterPlan p;
  p.cell = static_cast<size_t>(bits_of(ctx.type(0))) / 8;
  p.outer = count_of(std::span(data).first(first)), p.slice = count_of(std::span(data).subspan(first));
  for (size_t i = first; i < first + tuple; ++i) p.sizes.push_back(data[i]), p.strides.push_back(strides[i]);
  int64_t run = count_of(std::span(data).subspan(first + tuple));
  p.run = static_cast<size_t>(run) * p.cell;
  int64_t updates = count_of(ctx.shape(2).values());
  p.count = count_of(ctx.shape(1).values()) / std::max<int64_t>(1, static_cast<int64_t>(tuple));
  if (updates != p.outer * p.count * run)
    unsupported("updates of shape ", ctx.shape(2), " do not match indices of shape ", ctx.shape(1));
  return p;
}
ScatterPlan scatter_update_prepare(Prepare& ctx) {
  return scatter_plan(ctx, normalize_axis(ctx.constant(3).scalar<int64_t>(), ctx.shape(0).rank()), 1);
}
ScatterPlan scatter_nd_prepare(Prepare& ctx) {
  Shape where = ctx.shape(1);
  int64_t tuple = where.rank() ? where[where.rank() - 1].value() : 0;
  if (tuple < 1 || tuple > static_cast<int64_t>(ctx.shape(0).rank()))
    unsupported("expected tuples of at least one index, got indices of shape ", where);
  return scatter_plan(ctx, 0, static_cast<size_t>(tuple));
}

void scatter_run(Run& ctx, const ScatterPlan& p) {
  copy_data(ctx, p.cell);
  const auto* from = static_cast<const unsigned char*>(ctx.input(2).raw()->data);
  auto* to = static_cast<unsigned char*>(ctx.output(0).raw()->data);
  IndexList indices(ctx.input(1));
  for (int64_t o = 0; o < p.outer; ++o)
    for (int64_t t = 0, next = 0; t < p.count; ++t, from += p.run) {
      int64_t at = o * p.slice;
      for (size_t i = 0; i < p.sizes.size(); ++i) at += checked_index(indices[next++], p.sizes[i]) * p.strides[i];
      if (p.run) copy_run(to + static_cast<size_t>(at) * p.cell, from, p.run);
    }
}

// ---- single elements ----

ElementPlan scatter_elements_prepare(Prepare& ctx) { return {ctx, ctx.constant(3).scalar<int64_t>()}; }

void scatter_elements_run(Run& ctx, const ElementPlan& p) {
  copy_data(ctx, p.cell);
  IndexList indices(ctx.input(1));
  with_cell(p.cell, [&]<class T>(T) {
    const auto* from = static_cast<const T*>(ctx.input(2).raw()->data);
    auto* to = static_cast<T*>(ctx.output(0).raw()->data);
    int64_t across = p.last ? 0 : 1;
    for (int64_t r = 0; r < p.rows; ++r) {
      T* y = to + p.at(r);
      for (int64_t i = 0; i < p.length; ++i)
        y[checked_index(indices[r * p.length + i], p.size) * p.step + i * across] = from[r * p.length + i];
    }
  });
}

}  // namespace

Definitions cpu_scatter() {
  auto kernel = [](std::string_view name, std::string_view type, int first) {
    return Kernel("CPU", name).of(type, since(first)).accept(scatter_accept);
  };
  return {kernel("copy", "ScatterUpdate", 3).run(scatter_update_prepare, scatter_run),
          kernel("copy", "ScatterNDUpdate", 4).run(scatter_nd_prepare, scatter_run),
          kernel("elements", "ScatterElementsUpdate", 3).run(scatter_elements_prepare, scatter_elements_run)};
}

}  // namespace graft
