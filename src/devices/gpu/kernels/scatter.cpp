// Updates of elements by index. The data is copied; then a work item owns every element that its updates may meet at,
// and applies them in order. Updates with an index out of range are dropped: a kernel cannot fail.
#include "cl_kernel.hpp"

namespace graft {
namespace {

void copy_data(Emit& ctx) {
  std::vector<int64_t> x = ctx.shape(0).values();
  cl_move(ctx, x, cl_dense(x));
}

// How an update is combined with what is there.
void define_combination(Emit& ctx, ClKernel& k) {
  auto how = ctx.attr<std::optional<std::string>>("reduction").value_or("none");
  if (how == "mean" || !ctx.attr<std::optional<bool>>("use_init_val").value_or(true))
    unsupported("expected a sum, product, minimum or maximum that includes the data");
  k.define("COMBINE(old, update)", how == "sum"    ? "((old) + (update))"
                                   : how == "sub"  ? "((old) - (update))"
                                   : how == "prod" ? "((old) * (update))"
                                   : how == "min"  ? "((old) < (update) ? (old) : (update))"
                                   : how == "max"  ? "((old) > (update) ? (old) : (update))"
                                                   : "(update)");
}

void emit_scatter_elements(Emit& ctx) {
  std::vector<int64_t> x = ctx.shape(0).values(), where = ctx.shape(1).values(), strides = cl_strides(x);
  size_t axis = cl_axis(cl_values(ctx, 3, "axis").at(0), x.size());
  ClKernel k(ctx, "scatter_elements");
  k.input(1, "indices").input(2, "updates").output(0, "y");
  define_combination(ctx, k);
  std::vector<int64_t> own = cl_strides(where), lines = where;
  k.number("count", where[axis]).number("n", x[axis]).number("step", strides[axis]).number("own", own[axis]);
  lines[axis] = 1, strides[axis] = 0, own[axis] = 0;
  std::string at = ClWalk(lines, {strides, own}).code(k);
  copy_data(ctx);
  k.run("  int i = get_global_id(0);\n" + at + R"(  for (int j = 0; j < count; ++j) {
    int p = (int)LOAD_indices(at_1 + j * own);
    if (p < 0) p += n;
    if (p < 0 || p >= n) continue;
    STORE_y(at_0 + p * step, COMBINE(LOAD_y(at_0 + p * step), LOAD_updates(at_1 + j * own)));
  })",
        {cl_count(lines)});
}

void emit_scatter_update(Emit& ctx) {
  std::vector<int64_t> x = ctx.shape(0).values();
  size_t axis = cl_axis(cl_values(ctx, 3, "axis").at(0), x.size());
  std::span<const int64_t> all(x);
  ClKernel k(ctx, "scatter_update");
  k.input(1, "indices").input(2, "updates").output(0, "y").number("n", x[axis]);
  k.number("inner", cl_count(all.subspan(axis + 1))).number("count", cl_count(ctx.shape(1).values()));
  copy_data(ctx);
  k.run(R"(  int i = get_global_id(0), at = i % inner, o = i / inner;
  for (int j = 0; j < count; ++j) {
    int p = (int)LOAD_indices(j);
    if (p < 0) p += n;
    if (p >= 0 && p < n) STORE_y((o * n + p) * inner + at, LOAD_updates((o * count + j) * inner + at));
  })",
        {cl_count(all.first(axis)) * cl_count(all.subspan(axis + 1))});
}

void emit_scatter_nd(Emit& ctx) {
  std::vector<int64_t> x = ctx.shape(0).values(), where = ctx.shape(1).values(), strides = cl_strides(x);
  auto depth = static_cast<size_t>(where.back());
  int64_t slice = cl_count(std::span(x).subspan(depth)), count = cl_count(std::span(where).first(where.size() - 1));
  ClKernel k(ctx, "scatter_nd");
  k.input(1, "indices").input(2, "updates").output(0, "y").number("count", count).number("slice", slice);
  define_combination(ctx, k);
  std::string body = "  int i = get_global_id(0);\n  for (int j = 0; j < count; ++j) {\n    int to = i, ok = 1, p;\n";
  for (size_t d = 0; d < depth; ++d) {
    std::string n = std::to_string(d);
    k.number("n" + n, x[d]).number("s" + n, strides[d]);
    body += "    p = (int)LOAD_indices(j * " + std::to_string(depth) + " + " + n + "); if (p < 0) p += n" + n +
            "; ok = ok && p >= 0 && p < n" + n + "; to += p * s" + n + ";\n";
  }
  copy_data(ctx);
  k.run(body + "    if (ok) STORE_y(to, COMBINE(LOAD_y(to), LOAD_updates(j * slice + i)));\n  }", {slice});
}

}  // namespace

Definitions gpu_scatter() {
  return {SourceKernel("GPU", "scatter").of("ScatterElementsUpdate").emit(emit_scatter_elements),
          SourceKernel("GPU", "scatter").of("ScatterUpdate").emit(emit_scatter_update),
          SourceKernel("GPU", "scatter").of("ScatterNDUpdate").emit(emit_scatter_nd)};
}

}  // namespace graft
