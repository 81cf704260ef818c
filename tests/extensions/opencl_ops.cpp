// Operations with OpenCL in their definition: the short form, the long form, a kernel that declines, and one for an
// operation of Graft's own.
#include <graft/extension.hpp>

namespace {

using namespace graft;

void only_f32(Accept& ctx) {
  if (ctx.type(0) != DType::f32) unsupported("expected f32, got ", ctx.type(0));
}

struct Leaky {
  float slope = 0.25f;
  std::vector<int64_t> taps;
  static constexpr std::tuple schema{attr("slope", &Leaky::slope, "factor below 0"),
                                     attr("taps", &Leaky::taps, "added to the elements of each channel")};
};

constexpr std::string_view leaky_source = R"(
__kernel void leaky(__global const INPUT0_TYPE* x, __global OUTPUT0_TYPE* y) {
  int i = get_global_id(0);
  y[i] = x[i] > 0 ? x[i] : SLOPE * x[i];
}
)";

// The sum of each row in two launches: halves into scratch memory, then both.
constexpr std::string_view sum_source = R"(
__kernel void halves(__global const float* x, __global float* parts, int n) {
  int row = get_global_id(0), part = get_global_id(1), begin = part ? n / 2 : 0, end = part ? n : n / 2;
  float sum = 0;
  for (int i = begin; i < end; ++i) sum += x[row * n + i];
  parts[row * 2 + part] = sum;
}
__kernel void join(__global const float* parts, __global float* y, float scale) {
  int row = get_global_id(0);
  y[row] = scale * (parts[row * 2] + parts[row * 2 + 1]);
}
)";

void row_sum_infer(Infer& ctx, const NoAttributes&) { ctx.output(0, ctx.type(0), Shape{ctx.shape(0)[0]}); }
void row_sum_run(Run& ctx, const NoAttributes&) {
  std::vector<double> x = ctx.input(0).to<double>(), y(static_cast<size_t>(ctx.input(0).dim(0)), 0);
  for (size_t i = 0; i < x.size(); ++i) y[i / (x.size() / y.size())] += x[i];
  ctx.output(0).assign(y);
}
void emit_row_sum(Emit& ctx) {
  if (ctx.type(0) != DType::f32) unsupported("expected f32, got ", ctx.type(0));
  auto rows = static_cast<size_t>(ctx.shape(0)[0].value());
  size_t parts = ctx.scratch(rows * 2 * sizeof(float));
  Launch l;
  l.sources = {{std::string(sum_source), ""}};
  l.entry = "halves";
  l.arguments = {Argument::input(0), Argument::scratch(parts),
                 Argument::number(static_cast<int32_t>(ctx.shape(0)[1].value()))};
  l.global = {rows, 2};
  ctx.launch(l);
  l.entry = "join";
  l.arguments = {Argument::scratch(parts), Argument::output(0), Argument::real(1)};
  l.global = {rows};
  ctx.launch(l);
}

// The right results, with accesses that only a simulator sees.
constexpr std::string_view beyond_source = R"(
__kernel void beyond(__global const float* x, __global float* y) {
  int i = get_global_id(0);
  y[i] = x[i] + fmin(fabs(x[i + 1]), 0.0f);
}
)";
constexpr std::string_view racing_source = R"(
__kernel void racing(__global const float* x, __global float* y) {
  int i = get_global_id(0);
  y[i] = x[i] + (i > 0 ? fmin(fabs(y[i - 1]), 0.0f) : 0.0f);
}
)";

}  // namespace

GRAFT_EXTENSION("opencl_ops", "1.0") {
  return {
      op<Leaky>("Leaky", "cl")
          .elementwise([](auto x, const Leaky& a) { return x > 0 ? x : a.slope * x; })
          .opencl(
              SourceKernel("GPU", "leaky_cl").accept(only_f32).source(leaky_source, "leaky").define("SLOPE", "slope")),
      op("RowSum", "cl")
          .inputs("x")
          .infer(row_sum_infer)
          .reference(row_sum_run)
          .opencl(SourceKernel("GPU", "never").accept([](Accept&) { unsupported("it never does"); }).emit(emit_row_sum))
          .opencl(SourceKernel("GPU", "row_sum_cl").emit(emit_row_sum)),
      op("Beyond", "cl")
          .elementwise([](auto x) { return x; })
          .opencl(SourceKernel("GPU", "beyond_cl").accept(only_f32).source(beyond_source, "beyond")),
      op("Racing", "cl")
          .elementwise([](auto x) { return x; })
          .opencl(SourceKernel("GPU", "racing_cl").accept(only_f32).source(racing_source, "racing")),
      SourceKernel("GPU", "own_relu")
          .of("Relu", "opset1")
          .source("__kernel void relu(__global const INPUT0_TYPE* x, __global OUTPUT0_TYPE* y) {\n"
                  "  int i = get_global_id(0) + INPUT0_DIMS[0] * get_global_id(1);\n  y[i] = x[i] < 0 ? 0 : x[i];\n}",
                  "relu")
          .global({"B", "F"})};
}
