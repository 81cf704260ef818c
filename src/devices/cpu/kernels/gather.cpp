// Gather and GatherElements: copies by index, distributed among the threads.
#include "indices.hpp"

namespace graft {
namespace {

struct GatherPlan {
  int64_t outer = 1, picks = 0, n = 0;  // slices of the data per batch, indices per batch, size of the axis
  int64_t count = 0;                    // of copies
  size_t run = 0;                       // bytes of a copy
};

void gather_accept(Accept& ctx) {
  indices_accept(ctx, 1);
  if (!ctx.constant(2)) unsupported("requires a constant axis");
}

GatherPlan gather_prepare(Prepare& ctx) {
  std::vector<int64_t> data = ctx.shape(0).values(), where = ctx.shape(1).values();
  size_t axis = normalize_axis(ctx.constant(2).scalar<int64_t>(), data.size());
  int64_t given = ctx.attr<std::optional<int64_t>>("batch_dims").value_or(0);
  auto batch = static_cast<size_t>(given < 0 ? given + static_cast<int64_t>(where.size()) : given);
  if (batch > axis || batch > where.size()) unsupported("expected batch_dims of at most axis ", axis, ", got ", given);
  for (size_t i = 0; i < batch; ++i)
    if (data[i] != where[i]) unsupported("expected equal batch dimensions, got ", data[i], " and ", where[i]);
  GatherPlan p;
  p.outer = count_of(std::span(data).subspan(batch, axis - batch)), p.n = data[axis];
  p.picks = count_of(std::span(where).subspan(batch));
  p.count = count_of(std::span(data).first(axis)) * p.picks;
  p.run = static_cast<size_t>(count_of(std::span(data).subspan(axis + 1)) * bits_of(ctx.type(0)) / 8);
  return p;
}

// An out-of-range index yields zeros.
void gather_run(Run& ctx, const GatherPlan& p) {
  const auto* from = static_cast<const unsigned char*>(ctx.input(0).raw()->data);
  auto* to = static_cast<unsigned char*>(ctx.output(0).raw()->data);
  IndexList indices(ctx.input(1));
  if (p.run == 0 || p.count == 0) return;
  constexpr size_t piece = 1 << 15;
  auto grain = static_cast<int64_t>(std::max<size_t>(1, piece / std::max<size_t>(p.run, 8)));
  ctx.parallel_for(p.count, grain, [&](int64_t begin, int64_t end) {
    int64_t slice = begin / p.picks, pick = begin % p.picks;
    for (int64_t t = begin; t < end; ++t) {
      int64_t i = indices[slice / p.outer * p.picks + pick];
      if (i < 0) i += p.n;
      unsigned char* target = to + static_cast<size_t>(t) * p.run;
      if (i < 0 || i >= p.n) std::memset(target, 0, p.run);
      else copy_run(target, from + static_cast<size_t>(slice * p.n + i) * p.run, p.run);
      if (++pick == p.picks) pick = 0, ++slice;
    }
  });
}

// ---- single elements ----

void gather_elements_accept(Accept& ctx) { indices_accept(ctx, 1); }

ElementPlan gather_elements_prepare(Prepare& ctx) { return {ctx, ctx.attr<int64_t>("axis")}; }

void gather_elements_run(Run& ctx, const ElementPlan& p) {
  if (ctx.output(0).size() == 0) return;
  IndexList indices(ctx.input(1));
  with_cell(p.cell, [&]<class T>(T) {
    const auto* from = static_cast<const T*>(ctx.input(0).raw()->data);
    auto* to = static_cast<T*>(ctx.output(0).raw()->data);
    ctx.parallel_for(p.rows, std::max<int64_t>(1, 8192 / p.length), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const T* x = from + p.at(r);
        int64_t first = r * p.length, across = p.last ? 0 : 1;
        for (int64_t i = 0; i < p.length; ++i)
          to[first + i] = x[checked_index(indices[first + i], p.size) * p.step + i * across];
      }
    });
  });
}

}  // namespace

Definitions cpu_gather() {
  return {Kernel("CPU", "copy").of("Gather", since(1)).accept(gather_accept).run(gather_prepare, gather_run),
          Kernel("CPU", "elements")
              .of("GatherElements", since(6))
              .accept(gather_elements_accept)
              .run(gather_elements_prepare, gather_elements_run)};
}

}  // namespace graft
