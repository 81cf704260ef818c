// Operations that find elements by index. An index out of range gives 0: a kernel cannot fail.
#include "cl_kernel.hpp"

namespace graft {
namespace {

void emit_gather(Emit& ctx) {
  std::vector<int64_t> x = ctx.shape(0).values(), indices = ctx.shape(1).values();
  size_t axis = cl_axis(cl_values(ctx, 2, "axis").at(0), x.size());
  int64_t given = ctx.attr<std::optional<int64_t>>("batch_dims").value_or(0);
  auto batch = static_cast<size_t>(given < 0 ? given + static_cast<int64_t>(indices.size()) : given);
  std::span<const int64_t> all(x), index(indices);
  ClKernel k(ctx, "gather");
  k.cells_in(0, "x").input(1, "indices").cells_out(0, "y");
  k.number("outer", cl_count(all.subspan(batch, axis - batch))).number("n", x[axis]);
  k.number("inner", cl_count(all.subspan(axis + 1))).number("count", cl_count(index.subspan(batch)));
  k.run(R"(  int i = get_global_id(0), at = i % inner, j = i / inner % count, o = i / (inner * count) % outer;
  int b = i / (inner * count * outer);
  int p = (int)LOAD_indices(b * count + j);
  if (p < 0) p += n;
  y[i] = p >= 0 && p < n ? x[((b * outer + o) * n + p) * inner + at] : (E_y)0;)",
        {cl_count(ctx.output(0).shape.values())});
}

void emit_gather_elements(Emit& ctx) {
  std::vector<int64_t> x = ctx.shape(0).values(), out = ctx.output(0).shape.values(), strides = cl_strides(x);
  size_t axis = cl_axis(ctx.attr<int64_t>("axis"), x.size());
  ClKernel k(ctx, "gather_elements");
  k.cells_in(0, "x").input(1, "indices").cells_out(0, "y").number("n", x[axis]).number("step", strides[axis]);
  strides[axis] = 0;
  std::string at = ClWalk(out, {strides}).code(k);
  k.run("  int i = get_global_id(0);\n" + at + R"(  int p = (int)LOAD_indices(i);
  if (p < 0) p += n;
  y[i] = p >= 0 && p < n ? x[at_0 + p * step] : (E_y)0;)",
        {cl_count(out)});
}

void emit_gather_nd(Emit& ctx) {
  std::vector<int64_t> x = ctx.shape(0).values(), indices = ctx.shape(1).values(), strides = cl_strides(x);
  auto batch = static_cast<size_t>(ctx.attr<int64_t>("batch_dims"));
  auto depth = static_cast<size_t>(indices.back());
  std::span<const int64_t> all(x), index(indices);
  int64_t batches = cl_count(all.first(batch)), slice = cl_count(all.subspan(batch + depth));
  int64_t count = cl_count(index.subspan(batch, index.size() - batch - 1));
  ClKernel k(ctx, "gather_nd");
  k.cells_in(0, "x").input(1, "indices").cells_out(0, "y").number("slice", slice).number("count", count);
  k.number("volume", cl_count(all.subspan(batch)));
  for (size_t d = 0; d < depth; ++d)
    k.number("n" + std::to_string(d), x[batch + d]).number("s" + std::to_string(d), strides[batch + d]);
  std::string body =
      "  int i = get_global_id(0), at = i % slice, j = i / slice, from = j / count * volume + at, ok = 1, p;\n";
  for (size_t d = 0; d < depth; ++d) {
    std::string n = std::to_string(d);
    body += "  p = (int)LOAD_indices(j * " + std::to_string(depth) + " + " + n + "); if (p < 0) p += n" + n +
            "; ok = ok && p >= 0 && p < n" + n + "; from += p * s" + n + ";\n";
  }
  k.run(body + "  y[i] = ok ? x[from] : (E_y)0;", {batches * count * slice});
}

void emit_one_hot(Emit& ctx) {
  std::vector<int64_t> out = ctx.output(0).shape.values();
  size_t axis = cl_axis(ctx.attr<int64_t>("axis"), out.size());
  bool wrap = ctx.attr<std::optional<std::string>>("negative_indices_mode") == "normalize";
  ClKernel k(ctx, "one_hot");
  k.input(0, "indices").cells_in(2, "on").cells_in(3, "off").cells_out(0, "y");
  k.number("n", out[axis]).number("inner", cl_count(std::span(out).subspan(axis + 1))).number("wrap", wrap);
  k.run(R"(  int i = get_global_id(0), at = i % inner, c = i / inner % n, o = i / (inner * n);
  long p = (long)LOAD_indices(o * inner + at);
  if (wrap && p < 0) p += n;
  y[i] = p == c ? on[0] : off[0];)",
        {cl_count(out)});
}

}  // namespace

Definitions gpu_gather() {
  auto add = [](const char* name, const char* op, void (*f)(Emit&)) {
    return SourceKernel("GPU", name).of(op).emit(f);
  };
  return {add("gather", "Gather", emit_gather), add("gather_elements", "GatherElements", emit_gather_elements),
          add("gather_nd", "GatherND", emit_gather_nd), add("one_hot", "OneHot", emit_one_hot)};
}

}  // namespace graft
