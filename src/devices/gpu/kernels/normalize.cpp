// Normalizations: sums over some axes, then every element of the slot.
#include "cl_kernel.hpp"

namespace graft {
namespace {

// (x - mean) / deviation over the axes.
void mean_variance(Emit& ctx, const std::vector<bool>& axes, bool variance, double eps, bool outside) {
  if (!is_real(ctx.type(0))) unsupported("expected floating-point numbers, got ", ctx.type(0));
  std::vector<int64_t> in = ctx.shape(0).values();
  ClSlots slots(in, axes, true);
  ClKernel k(ctx, "mvn");
  k.input(0, "x").output(0, "y").number("share", slots.share()).real("eps", eps);
  std::string body = slots.begin(k) + "  SUM mean = 0, spread = 0;\n";
  body += slots.each(k, "mean += LOAD_x(p);") + slots.joined("mean", "a + b") + "  mean /= share;\n";
  if (variance) {
    body += slots.each(k, "SUM d = LOAD_x(p) - mean; spread += d * d;") + slots.joined("spread", "a + b");
    body += outside ? "  spread = sqrt(spread / share) + eps;\n" : "  spread = sqrt(spread / share + eps);\n";
  } else {
    body += "  spread = 1;\n";
  }
  body += slots.each(k, "STORE_y(p, (LOAD_x(p) - mean) / spread);");
  slots.run(k, body);
}
void emit_mvn6(Emit& ctx) {
  mean_variance(ctx, cl_axes(cl_values(ctx, 1, "axes"), ctx.shape(0).rank()), ctx.attr<bool>("normalize_variance"),
                ctx.attr<double>("eps"), ctx.attr<std::string>("eps_mode") == "OUTSIDE_SQRT");
}
void emit_mvn2(Emit& ctx) {
  auto list = ctx.attr<std::vector<int64_t>>("reduction_axes");
  size_t rank = ctx.shape(0).rank();
  std::vector<bool> axes = cl_axes(list, rank);
  for (size_t i = ctx.attr<bool>("across_channels") ? 1 : 2; i < rank && list.empty(); ++i) axes[i] = true;
  mean_variance(ctx, axes, ctx.attr<bool>("normalize_variance"), ctx.attr<double>("eps"), false);
}

void divide_by_norm(Emit& ctx, const std::vector<int64_t>& list, double eps, bool add) {
  if (!is_real(ctx.type(0))) unsupported("expected floating-point numbers, got ", ctx.type(0));
  std::vector<int64_t> in = ctx.shape(0).values();
  ClSlots slots(in, cl_axes(list, in.size()), true);
  ClKernel k(ctx, "normalize_l2");
  k.input(0, "x").output(0, "y").real("eps", eps);
  if (list.empty()) return k.run("  int i = get_global_id(0);\n  STORE_y(i, LOAD_x(i) == 0 ? 0 : 1);", {cl_count(in)});
  std::string body = slots.begin(k) + "  SUM sum = 0;\n";
  body += slots.each(k, "SUM v = LOAD_x(p); sum += v * v;") + slots.joined("sum", "a + b");
  body += add ? "  sum = sqrt(sum + eps);\n" : "  sum = sqrt(fmax(sum, (SUM)eps));\n";
  body += slots.each(k, "STORE_y(p, LOAD_x(p) / sum);");
  slots.run(k, body);
}
void emit_normalize_l2(Emit& ctx) {
  divide_by_norm(ctx, cl_values(ctx, 1, "axes"), ctx.attr<double>("eps"), ctx.attr<std::string>("eps_mode") == "add");
}
void emit_grn(Emit& ctx) { divide_by_norm(ctx, {1}, ctx.attr<double>("bias"), true); }

void emit_group_normalization(Emit& ctx) {
  std::vector<int64_t> in = ctx.shape(0).values();
  if (!is_real(ctx.type(0))) unsupported("expected floating-point numbers, got ", ctx.type(0));
  auto groups = ctx.attr<int64_t>("num_groups");
  int64_t plane = cl_count(std::span(in).subspan(2)), size = in[1] / groups * plane;
  ClKernel k(ctx, "group_normalization");
  k.input(0, "x").input(1, "scale").input(2, "bias").output(0, "y").number("size", size).number("plane", plane);
  k.number("channels", in[1]).real("eps", ctx.attr<double>("epsilon"));
  k.run(R"(  int i = get_global_id(0), begin = i * size;
  SUM mean = 0, spread = 0;
  for (int j = 0; j < size; ++j) mean += LOAD_x(begin + j);
  mean /= size;
  for (int j = 0; j < size; ++j) { SUM d = LOAD_x(begin + j) - mean; spread += d * d; }
  spread = sqrt(spread / size + eps);
  for (int j = 0; j < size; ++j) {
    int c = (begin + j) / plane % channels;
    STORE_y(begin + j, (LOAD_x(begin + j) - mean) / spread * LOAD_scale(c) + LOAD_bias(c));
  })",
        {in[0] * groups});
}

void batch_norm(Emit& ctx, size_t data, size_t gamma, size_t beta) {
  std::vector<int64_t> in = ctx.shape(data).values();
  if (!is_real(ctx.type(data))) unsupported("expected floating-point numbers, got ", ctx.type(data));
  ClKernel k(ctx, "batch_norm");
  k.input(data, "x").input(gamma, "gamma").input(beta, "beta").input(3, "mean").input(4, "variance").output(0, "y");
  k.number("plane", cl_count(std::span(in).subspan(2))).number("channels", in[1]);
  k.real("eps", ctx.attr<double>("epsilon"));
  k.run(R"(  int i = get_global_id(0), c = i / plane % channels;
  STORE_y(i, (LOAD_x(i) - LOAD_mean(c)) / sqrt(LOAD_variance(c) + eps) * LOAD_gamma(c) + LOAD_beta(c));)",
        {cl_count(in)});
}

// Sums of squares over windows along some axes.
void emit_lrn(Emit& ctx) {
  std::vector<int64_t> in = ctx.shape(0).values(), strides = cl_strides(in);
  if (!is_real(ctx.type(0))) unsupported("expected floating-point numbers, got ", ctx.type(0));
  std::vector<bool> axes = cl_axes(cl_values(ctx, 1, "axes"), in.size());
  auto size = ctx.attr<int64_t>("size");
  ClKernel k(ctx, "lrn");
  k.input(0, "x").output(0, "y").number("reach", (size - 1) / 2).real("bias", ctx.attr<double>("bias"));
  double scale = ctx.attr<double>("alpha");
  std::string begin = "  int i = get_global_id(0);\n  SUM sum = 0;\n", loops, at = "i";
  for (size_t a = 0; a < in.size(); ++a) {
    if (!axes[a]) continue;
    scale /= static_cast<double>(size);
    std::string n = std::to_string(a);
    k.number("n" + n, in[a]).number("s" + n, strides[a]);
    begin += "  int c" + n + " = i / s" + n + " % n" + n + ";\n";
    loops += "  for (int j" + n + " = max(c" + n + " - reach, 0); j" + n + " < min(c" + n + " + reach + 1, n" + n +
             "); ++j" + n + ")\n";
    at += " + (j" + n + " - c" + n + ") * s" + n;
  }
  k.real("scale", scale).real("beta", ctx.attr<double>("beta"));
  k.run(begin + loops + "  { SUM v = LOAD_x(" + at + "); sum += v * v; }\n" +
            "  STORE_y(i, LOAD_x(i) / pow((T_x)(bias + scale * sum), (T_x)beta));",
        {cl_count(in)});
}

}  // namespace

Definitions gpu_normalize() {
  auto add = [](const char* op, const char* opset, std::function<void(Emit&)> f) {
    return SourceKernel("GPU", "normalize").of(op, opset).emit(std::move(f));
  };
  return {add("MVN", "opset6", emit_mvn6),
          add("MVN", "opset2", emit_mvn2),
          add("NormalizeL2", "", emit_normalize_l2),
          add("GRN", "", emit_grn),
          add("GroupNormalization", "", emit_group_normalization),
          add("BatchNormInference", "opset5", [](Emit& ctx) { batch_norm(ctx, 0, 1, 2); }),
          add("BatchNormInference", "opset1", [](Emit& ctx) { batch_norm(ctx, 2, 0, 1); }),
          add("LRN", "", emit_lrn)};
}

}  // namespace graft
