// Reductions, softmax and running sums: a work item, or a team of them, per result loops over the elements that belong
// to it.
#include "cl_kernel.hpp"

namespace graft {
namespace {

struct Reduction {
  const char *op, *start, *step, *both, *end = "s";
};
constexpr Reduction reductions[] = {
    {"ReduceSum", "0", "s += v", "a + b"},
    {"ReduceMean", "0", "s += v", "a + b", "MEAN"},
    {"ReduceProd", "1", "s *= v", "a * b"},
    {"ReduceMax", "LEAST", "s = v != v || v > s ? v : s", "b != b || b > a ? b : a"},
    {"ReduceMin", "MOST", "s = v != v || v < s ? v : s", "b != b || b < a ? b : a"},
    {"ReduceL1", "0", "s += v < 0 ? -v : v", "a + b"},
    {"ReduceL2", "0", "s += v * v", "a + b", "ROOT"},
    {"ReduceLogicalAnd", "1", "s = s != 0 && v != 0", "a != 0 && b != 0"},
    {"ReduceLogicalOr", "0", "s = s != 0 || v != 0", "a != 0 || b != 0"},
};

// The smallest or largest value of an element type.
std::string bound_of(DType t, bool least) {
  if (is_real(t)) return least ? "-INFINITY" : "INFINITY";
  if (t == DType::boolean) return least ? "0" : "1";
  int bits = bits_of(t) - is_signed_integer(t);
  std::string most = bits >= 64 ? "18446744073709551615UL"
                                : std::to_string((uint64_t{1} << bits) - 1) + (is_signed_integer(t) ? "L" : "UL");
  if (!least) return most;
  return is_signed_integer(t) ? "(-" + most + " - 1)" : "0";
}

void emit_reduction(Emit& ctx, const Reduction& r) {
  std::vector<int64_t> in = ctx.shape(0).values();
  DType type = ctx.type(0);
  bool real = is_real(type);
  bool norm = r.op == std::string_view("ReduceL2");
  ClSlots slots(in, cl_axes(cl_values(ctx, 1, "axes"), in.size()), real || norm);
  ClKernel k(ctx, "reduce");
  k.input(0, "x").output(0, "y").number("share", slots.share());
  std::string acc = real || norm ? "SUM" : "T_x";
  k.define("LEAST", bound_of(type, true)).define("MOST", bound_of(type, false));
  k.define("MEAN", "(share == 0 ? s : s / share)").define("ROOT", "sqrt(s)");
  std::string body = slots.begin(k) + "  " + acc + " s = " + r.start + ";\n";
  body += slots.each(k, acc + " v = LOAD_x(p); " + r.step + ";") + slots.joined("s", r.both);
  body += std::string(slots.has_team() ? "  if (lane == 0) " : "  ") + (real || norm ? "STORE_REAL_y" : "STORE_y") +
          "(i, " + r.end + ");";
  slots.run(k, body);
}

void emit_softmax(Emit& ctx, bool logarithm) {
  std::vector<int64_t> in = ctx.shape(0).values();
  if (in.empty()) unsupported("expected data of rank 1 or more");
  ClSlots slots(in, cl_axes({ctx.attr<int64_t>("axis")}, in.size()), true);
  ClKernel k(ctx, "softmax");
  k.input(0, "x").output(0, "y");
  std::string body = slots.begin(k) + "  T_x most = -INFINITY; SUM sum = 0;\n";
  body += slots.each(k, "T_x v = LOAD_x(p); most = v > most || v != v ? v : most;");
  body += slots.joined("most", "b > a || b != b ? b : a");
  body += slots.each(k, "sum += exp(LOAD_x(p) - most);") + slots.joined("sum", "a + b");
  body += slots.each(k, logarithm ? "STORE_REAL_y(p, LOAD_x(p) - most - log((T_x)sum));"
                                  : "STORE_REAL_y(p, exp(LOAD_x(p) - most) / (T_x)sum);");
  slots.run(k, body);
}

void emit_cum_sum(Emit& ctx) {
  std::vector<int64_t> in = ctx.shape(0).values(), strides = cl_strides(in);
  int64_t axis = ctx.has_input(1) ? cl_values(ctx, 1, "axis").at(0) : 0;
  size_t a = cl_axis(axis, in.size());
  ClSlots slots(in, cl_axes({axis}, in.size()));
  ClKernel k(ctx, "cum_sum");
  k.input(0, "x").output(0, "y").number("n", in[a]).number("step", strides[a]);
  k.number("exclusive", ctx.attr<bool>("exclusive")).number("reverse", ctx.attr<bool>("reverse"));
  std::string body = slots.begin(k);
  body += is_real(ctx.type(0)) ? "  SUM s = 0;\n" : "  T_x s = 0;\n";
  body += R"(  for (int j = 0; j < n; ++j) {
    int p = at_0 + (reverse ? n - 1 - j : j) * step;
    T_x v = LOAD_x(p);
    if (exclusive) STORE_y(p, s);
    s += v;
    if (!exclusive) STORE_y(p, s);
  })";
  k.run(body, {slots.count()});
}

// The rank of an element among its line is its place in the result.
void emit_top_k(Emit& ctx) {
  std::vector<int64_t> in = ctx.shape(0).values(), strides = cl_strides(in), out = ctx.output(0).shape.values();
  size_t a = cl_axis(ctx.attr<int64_t>("axis"), in.size());
  if (ctx.attr<std::string>("sort") == "index" && out[a] > 1) unsupported("expected results sorted by value");
  ClKernel k(ctx, "top_k");
  k.input(0, "x").output(0, "values");
  if (ctx.outputs() > 1) k.output(1, "indices");
  k.number("n", in[a]).number("k", out[a]).number("inner", strides[a]);
  // NaN counts as the largest number.
  k.define("LESS(v, w)", "((v) < (w) || ((w) != (w) && (v) == (v)))");
  k.define("BEFORE(v, w)", ctx.attr<std::string>("mode") == "max" ? "LESS(w, v)" : "LESS(v, w)");
  std::string body =
      R"(  int i = get_global_id(0), in = i % inner, at = i / inner % n, line = i / (inner * n), rank = 0;
  T_x v = LOAD_x(i);
  for (int j = 0; j < n; ++j) {
    T_x w = LOAD_x((line * n + j) * inner + in);
    if (BEFORE(w, v) || (!BEFORE(v, w) && j < at)) ++rank;
  }
  if (rank >= k) return;
  STORE_values((line * k + rank) * inner + in, v);
)";
  if (ctx.outputs() > 1) body += "  STORE_indices((line * k + rank) * inner + in, at);\n";
  k.run(body, {cl_count(in)});
}

}  // namespace

Definitions gpu_reduce() {
  Definitions all;
  for (const Reduction& r : reductions)
    all += SourceKernel("GPU", "reduce").of(r.op).emit([&r](Emit& ctx) { emit_reduction(ctx, r); });
  all += SourceKernel("GPU", "softmax").of("Softmax").emit([](Emit& ctx) { emit_softmax(ctx, false); });
  all += SourceKernel("GPU", "log_softmax").of("LogSoftmax").emit([](Emit& ctx) { emit_softmax(ctx, true); });
  all += SourceKernel("GPU", "cum_sum").of("CumSum").emit(emit_cum_sum);
  all += SourceKernel("GPU", "top_k").of("TopK").emit(emit_top_k);
  return all;
}

}  // namespace graft
