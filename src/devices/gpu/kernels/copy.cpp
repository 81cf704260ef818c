// Operations that only give their data another shape, where the output needs memory of its own, and others that copy.
#include "cl_kernel.hpp"

namespace graft {
namespace {

void emit_copy(Emit& ctx) {
  ClKernel k(ctx, "copy");
  k.cells_in(0, "x").cells_out(0, "y");
  k.run("int i = get_global_id(0);\n  y[i] = x[i];", {cl_count(ctx.output(0).shape.values())});
}

}  // namespace

Definitions gpu_copy() { return SourceKernel("GPU", "copy").of(Trait::view).emit(emit_copy); }

}  // namespace graft
