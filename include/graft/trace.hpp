// From the formula of an element-wise operation to a kernel of the GPU, without a line of OpenCL:
//
//   .elementwise([](auto x, const Elu& a) { return x > 0 ? x : a.alpha * std::expm1(x); })
//
// The formula is called with a `Traced`, which has the operators of a number and the functions of <cmath> and records
// what is computed. A condition (`x > 0 ? ... : ...`, `if`) is followed both ways. Elements that are used as plain
// numbers (a function of a float, a table) cannot be recorded: results are compared with those of floats, and where
// they differ the kernel declines; `graft explain` says so.
#pragma once

#include "elementwise.hpp"
#include "source_kernel.hpp"
#include "trace/traced.hpp"

namespace [[gnu::visibility("hidden")]] graft {

namespace trace {

using Call = std::function<Operand(const Traced*)>;

// Calls the formula with its inputs as the first steps.
inline Operand record_call(Recorder& r, const Call& call, std::span<const float> inputs) {
  r.steps.clear(), r.values.clear(), r.branches.clear();
  std::vector<Traced> x;
  for (size_t i = 0; i < inputs.size(); ++i) {
    r.steps.push_back({nullptr, {}});
    r.values.push_back(inputs[i]);
    x.push_back(Traced(Operand{static_cast<int>(i), 0}));
  }
  struct Current {
    explicit Current(Recorder& r) : before(recorder) { recorder = &r; }
    ~Current() { recorder = before; }
    Recorder* before;
  } current(r);
  return call(x.data());
}

// The formula as text: conditions become `if`, and each way ends with an assignment to `r`.
class Writer {
 public:
  // `wide`: REAL is double.
  Writer(const Call& call, size_t inputs, bool wide) : call_(call), inputs_(inputs, 0.0f), wide_(wide) {}

  ElementFormula write() {
    ElementFormula out;
    std::vector<bool> path;
    out.statements = "REAL r;\n";
    block(out.statements, path);
    out.result = "r";
    return out;
  }

 private:
  void block(std::string& out, std::vector<bool>& path) {
    constexpr size_t most_blocks = 128;
    if (++blocks_ > most_blocks) unsupported("the formula has more than ", most_blocks, " branches");
    Recorder r;
    r.path = &path;
    Operand result = record_call(r, call_, inputs_);
    size_t depth = path.size();
    bool branches = r.branches.size() > depth;
    size_t begin = depth ? r.branches[depth - 1].first : inputs_.size();
    size_t end = branches ? r.branches[depth].first : r.steps.size();
    for (size_t i = begin; i < end; ++i) {
      const Step& s = r.steps[i];
      std::string operands[3];
      for (size_t k = 0; k < s.function->operands; ++k) operands[k] = name(s.operands[k]);
      out += "REAL t" + std::to_string(i) + " = " + function_text(*s.function, operands) + ";\n";
    }
    if (!branches) return void(out += "r = " + name(result) + ";\n");
    out += "if (" + name({r.branches[depth].second, 0}) + " != 0) {\n";
    path.push_back(true);
    block(out, path);
    out += "} else {\n";
    path.back() = false;
    block(out, path);
    path.pop_back();
    out += "}\n";
  }
  std::string name(const Operand& o) const {
    if (o.step < 0) return literal(o.number, wide_);
    return (static_cast<size_t>(o.step) < inputs_.size() ? "x" : "t") + std::to_string(o.step);
  }

  const Call& call_;
  std::vector<float> inputs_;
  bool wide_;
  size_t blocks_ = 0;
};

}  // namespace trace

namespace detail {

inline SourceKernel formula_kernel() { return {"GPU", "formula"}; }

inline void accept_formula(Accept& ctx) {
  for (size_t i = 0; i < ctx.inputs(); ++i)
    if (!is_real(ctx.type(i)) || bits_of(ctx.type(i)) < 16)
      unsupported("expected floating-point numbers, got ", ctx.type(i));
}

// Where the recorded formula, computed in float or in double, and the formula of floats give different results.
template <size_t n>
std::optional<std::string> difference_from_floats(const void* attributes, RangeFunction<n> floats,
                                                  const trace::Call& call, bool wide) {
  static constexpr auto x = formula_samples<n>();
  for (size_t k = 0; k < x[0].size(); ++k) {
    std::array<float, n> at;
    std::array<const float*, n> from;
    for (size_t i = 0; i < n; ++i) at[i] = x[i][k], from[i] = &at[i];
    trace::Recorder r;
    r.wide = wide;
    auto got = static_cast<float>(r.value(trace::record_call(r, call, at)));
    float expected = 0;
    floats(attributes, from, {}, &expected, 1);
    if (!close_to(got, expected)) return "expected " + text(expected) + " for " + text(at[0]) + ", got " + text(got);
  }
  return std::nullopt;
}

template <size_t n>
void emit_recorded(Emit& ctx, const void* attributes, RangeFunction<n> floats, const trace::Call& call) {
  bool wide = false;
  for (size_t i = 0; i < n; ++i) wide = wide || ctx.type(i) == DType::f64;
  // A formula may compute in double on purpose: 1.0 + std::exp(x).
  bool in_double = wide || difference_from_floats<n>(attributes, floats, call, false);
  if (in_double)
    if (auto difference = difference_from_floats<n>(attributes, floats, call, true))
      unsupported("the formula uses its input as a plain number, so it cannot be translated: ", *difference);
  ElementFormula out = trace::Writer(call, n, in_double).write();
  out.in_double = in_double;
  ctx.formula(out);
}
template <size_t n, class F, class A>
void emit_traced(Emit& ctx) {
  const A a = ctx.attributes<A>();
  emit_recorded<n>(ctx, &a, formula_row<n, F, A, float, float>, [&a](const trace::Traced* x) {
    return [&]<size_t... i>(std::index_sequence<i...>) { return trace::operand(apply<F>(a, x[i]...)); }
    (std::make_index_sequence<n>());
  });
}

// The kernel of the GPU for a formula.
template <size_t n, class F, class A>
SourceKernel traced_kernel() {
  return formula_kernel().accept(accept_formula).emit(emit_traced<n, F, A>);
}

}  // namespace detail
}  // namespace graft
