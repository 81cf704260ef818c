// The vectorized functions of the CPU device against the reference, over all floats: every sign and exponent, with
// subnormal numbers, infinities, NaN and the edges of each formula, on every instruction set of this machine.
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <random>
#include <set>

#include "base/temporary.hpp"
#include "base/text.hpp"
#include "schema/registry.hpp"
#include "toolkit/built_ins.hpp"
#include "toolkit/state.hpp"

namespace graft {
namespace {

using Floats = std::vector<float>;
constexpr float inf = std::numeric_limits<float>::infinity();

// What is tested, and how far results may lie from the reference: `ulps` units in the last place, or `absolute`. NaN
// must be NaN, zeros keep their sign, and infinity counts as the number after the largest one.
struct Function {
  std::string_view type, call;
  double ulps = 0, absolute = 0;
  Floats edges = {};  // where a formula changes
};
const Function unary_functions[] = {
    {"Abs", "Abs(x)"},
    {"Acos", "Acos(x)", 3, 0, {1}},
    {"Acosh", "Acosh(x)", 3, 0, {1, 2}},
    {"Asin", "Asin(x)", 3, 0, {1}},
    {"Asinh", "Asinh(x)", 3},
    {"Atan", "Atan(x)", 3, 0, {1}},
    {"Atanh", "Atanh(x)", 3, 0, {1}},
    {"Ceiling", "Ceiling(x)", 0, 0, {1, 2, 8388608, 2147483648}},
    {"Clamp", "Clamp(x) {min = -1.5, max = 2.1}", 0, 0, {1.5f, 2.1f}},
    {"Clamp", "Clamp(x) {min = 0, max = 6}", 0, 0, {6}},
    {"Clamp", "Clamp(x) {min = -1e30, max = 1e300}", 0, 0, {1e30f}},
    {"Cos", "Cos(x)", 3},
    {"BesselI0", "BesselI0@graft(x)", 2, 0, {3.75f, 8}},
    {"BesselI0e", "BesselI0e@graft(x)", 2, 0, {3.75f, 8}},
    {"BesselI1", "BesselI1@graft(x)", 2, 0, {3.75f, 8}},
    {"BesselI1e", "BesselI1e@graft(x)", 2, 0, {3.75f, 8}},
    {"Cosh", "Cosh(x)", 3, 0, {89.4159f}},
    {"Digamma", "Digamma@graft(x)", 2, 0, {-1, 0, 6}},
    {"Elu", "Elu(x) {alpha = 1}", 3, 0, {0.3465736f, 17.3f, 104}},
    {"Elu", "Elu(x) {alpha = 0.3}", 3, 0, {0.3465736f, 104}},
    {"Erf", "Erf(x)", 3, 0, {1, 4}},
    {"ErfInv", "ErfInv(x)", 2, 0, {1}},
    {"Exp", "Exp(x)", 2, 0, {0.3465736f, 87.33654f, 88.72284f, 89, 103.2789f, 103.9721f, 104, 177.8f, 200, 354}},
    {"Floor", "Floor(x)", 0, 0, {1, 2, 8388608, 2147483648}},
    {"Gelu", "Gelu@2(x)", 2, 4e-7, {1.4142135f, 5.656854f}},
    {"Gelu", "Gelu@7(x) {approximation_mode = \"ERF\"}", 2, 4e-7, {1.4142135f, 5.656854f}},
    {"Gelu", "Gelu@7(x) {approximation_mode = \"TANH\"}", 4, 2e-7, {7, 10, 14}},
    {"HSigmoid", "HSigmoid(x)", 1, 0, {3}},
    {"HSwish", "HSwish(x)", 2, 0, {3}},
    {"HardSigmoid", "HardSigmoid(x, f32[] {0.2}, f32[] {0.5})", 1, 1e-7, {2.5f}},
    {"Log", "Log(x)", 2, 0, {1, 0.70710678f, 1.41421356f, 1.1754944e-38f}},
    {"LogicalNot", "Convert(LogicalNot(x)) {destination_type = f32}"},
    {"LogGamma", "LogGamma@graft(x)", 2, 0, {1, 2}},
    {"Mish", "Mish(x)", 4, 2e-43, {20, 30, 87.3f, 104}},
    {"Negative", "Negative(x)"},
    {"Relu", "Relu(x)"},
    {"Round", "Round(x) {mode = \"half_to_even\"}", 0, 0, {0.5f, 1.5f, 2.5f, 8388608}},
    {"Round", "Round(x) {mode = \"half_away_from_zero\"}", 0, 0, {0.5f, 1.5f, 2.5f, 8388608}},
    {"Sigmoid", "Sigmoid(x)", 3, 0, {17, 87.33654f, 88.72284f, 103.2789f, 103.9721f, 104, 178, 200, 354}},
    {"Sign", "Sign(x)"},
    {"Sin", "Sin(x)", 3},
    {"Sinh", "Sinh(x)", 3, 0, {89.4159f}},
    {"SoftPlus", "SoftPlus(x)", 3, 0, {17, 30, 87.33654f, 103.9721f, 104}},
    {"SoftSign", "SoftSign(x)", 1},
    {"Sqrt", "Sqrt(x)"},
    {"Swish", "Swish(x)", 3, 2e-43, {87.33654f, 88.72284f, 103.9721f, 104, 178, 200}},
    {"Swish", "Swish(x, f32[] {1.702})", 100, 2e-43, {51.3f, 52.13f, 61.1f, 104.6f}},
    {"Tan", "Tan(x)", 4},
    {"Tanh", "Tanh(x)", 3, 0, {0.1732868f, 9.01f, 18.714973f}},
};
const Function binary_functions[] = {
    {"Add", "Add(a, b)"},
    {"Divide", "Divide(a, b)"},
    {"Maximum", "Maximum(a, b)"},
    {"Minimum", "Minimum(a, b)"},
    {"Multiply", "Multiply(a, b)"},
    {"PRelu", "PRelu(a, b)"},
    {"Power", "Power(a, b)", 1},
    {"SquaredDifference", "SquaredDifference(a, b)", 2},
    {"Subtract", "Subtract(a, b)"},
    {"FloorMod", "FloorMod(a, b)"},
    {"Mod", "Mod(a, b)"},
    {"Igamma", "Igamma@graft(a, b)"},
    {"Zeta", "Zeta@graft(a, b)"},
    {"Igammac", "Igammac@graft(a, b)"},
    {"Polygamma", "Polygamma@graft(a, b)"},
};

// Places in the order of all floats: neighbours are one apart, and infinity follows the largest number.
int64_t place(float x) {
  auto bits = std::bit_cast<uint32_t>(x);
  int64_t size = bits & 0x7fffffffu;
  return bits >> 31 ? -size : size;
}
bool close(float want, float got, double ulps, double absolute) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
  if (want == 0 && got == 0) return std::signbit(want) == std::signbit(got);
  if (std::fabs(double{want} - double{got}) <= absolute) return true;
  return static_cast<double>(std::abs(place(want) - place(got))) <= ulps;
}

const Floats specials = [] {
  Floats out;
  for (float x : {0.0f,  1e-45f,     1.1754942e-38f, 1.1754944e-38f, 1e-30f,  1e-10f,        0.1f,  0.5f,   0.99999994f,
                  1.0f,  1.0000001f, 1.5f,           2.0f,           3.0f,    7.7f,          88.0f, 100.0f, 16777216.0f,
                  1e10f, 1e19f,      1.8446744e19f,  1e30f,          1.7e38f, 3.4028235e38f, inf})
    out.insert(out.end(), {x, -x});
  // A quiet NaN, a signalling one, and one with a payload and a sign.
  for (uint32_t bits : {0x7fc00000u, 0x7f800001u, 0xffdeadbeu}) out.push_back(std::bit_cast<float>(bits));
  return out;
}();

// Every sign, exponent and seven bits of mantissa, with nothing behind them and with something.
Floats all_floats(const Floats& edges) {
  Floats out = specials;
  std::minstd_rand random(1);
  for (uint32_t high = 0; high < 65536; ++high) {
    out.push_back(std::bit_cast<float>(high << 16));
    out.push_back(std::bit_cast<float>(high << 16 | static_cast<uint32_t>(random() & 0xffff)));
  }
  for (float edge : edges)
    for (int32_t step = -8; step <= 8; ++step) {
      auto bits = static_cast<uint32_t>(std::bit_cast<int32_t>(edge) + step);
      out.insert(out.end(), {std::bit_cast<float>(bits), -std::bit_cast<float>(bits)});
    }
  return out;
}

// Runs `work` with the kernels of each instruction set in turn; the last one is what any processor can do.
template <class F>
void on_every_target(F work) {
  for (int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    work();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

Tensor tensor(const Floats& values, std::vector<int64_t> dims = {}) {
  if (dims.empty()) dims = {static_cast<int64_t>(values.size())};
  Tensor t(DType::f32, dims);
  std::copy(values.begin(), values.end(), t.data<float>());
  return t;
}

class VectorFunctions : public ::testing::Test {
 protected:
  // A graph's result on a device; on the CPU one of its own kernels must have computed it.
  Floats run(const std::string& graph, const std::string& device, const std::vector<Tensor>& inputs) {
    std::string path = folder_.path() + "/model.txt";
    std::ofstream(path) << graph;
    Options options;
    options.profile = true;
    InferRequest request = core_.compile_model(path, device, options).create_infer_request();
    for (size_t i = 0; i < inputs.size(); ++i) request.set_input_tensor(i, inputs[i]);
    request.infer();
    if (device == "CPU") {
      for (const ProfilingInfo& p : request.get_profiling_info())
        EXPECT_TRUE(p.kernel != "reference" || p.node_type == "Convert") << p.node_type << " ran as " << p.kernel;
    }
    Tensor y = request.get_output_tensor(0);
    return Floats(y.data<float>(), y.data<float>() + y.size());
  }
  TemporaryFolder folder_;
  Core core_;
};

// Reports the first difference and how many there are.
template <class Describe>
void expect_close(const Floats& want, const Floats& got, const Function& f, Describe input) {
  ASSERT_EQ(want.size(), got.size());
  size_t wrong = 0, first = 0;
  for (size_t i = 0; i < want.size(); ++i)
    if (!close(want[i], got[i], f.ulps, f.absolute) && wrong++ == 0) first = i;
  EXPECT_EQ(wrong, 0u) << f.call << " of " << input(first) << " is " << got[first] << ", expected " << want[first]
                       << " (" << std::abs(place(got[first]) - place(want[first])) << " ulps apart)";
}

TEST_F(VectorFunctions, OneInput) {
  for (const Function& f : unary_functions) {
    Floats x = all_floats(f.edges);
    x.push_back(0.25f);  // an odd number of elements
    std::string graph = text("graph (x: f32[?]) { return ", f.call, " }");
    Floats want = run(graph, "REFERENCE", {tensor(x)});
    auto input = [&](size_t i) { return x[i]; };
    on_every_target([&] {
      expect_close(want, run(graph, "CPU", {tensor(x)}), f, input);
      for (size_t n : {1, 3, 4, 7, 9, 16, 17, 31, 33}) {
        Floats few(x.begin(), x.begin() + static_cast<ptrdiff_t>(n));
        expect_close(Floats(want.begin(), want.begin() + static_cast<ptrdiff_t>(n)), run(graph, "CPU", {tensor(few)}),
                     f, input);
      }
    });
  }
}

TEST_F(VectorFunctions, TwoInputs) {
  Floats a, b;
  for (float p : specials)
    for (float q : specials) a.push_back(p), b.push_back(q);
  std::minstd_rand random(2);
  auto bits = [&] { return static_cast<uint32_t>(random() << 16 ^ random()); };
  for (int i = 0; i < 60001; ++i) {
    uint32_t p = bits(), near = p + (bits() & 0x1ffffff) - 0x1000000;
    a.insert(a.end(), {std::bit_cast<float>(p), std::bit_cast<float>(p)});
    b.insert(b.end(), {std::bit_cast<float>(bits()), std::bit_cast<float>(near)});
  }
  Floats few(a.end() - 1237, a.end());
  few.insert(few.end(), specials.begin(), specials.end());
  for (const Function& f : binary_functions) {
    auto graph = [&](size_t left, size_t right) {
      return text("graph (a: f32[", left, "], b: f32[", right, "]) { return ", f.call, " }");
    };
    auto compare = [&](const Floats& p, const Floats& q) {
      std::string model = graph(p.size(), q.size());
      Floats want = run(model, "REFERENCE", {tensor(p), tensor(q)});
      auto input = [&](size_t i) { return text(p[p.size() == 1 ? 0 : i], ", ", q[q.size() == 1 ? 0 : i]); };
      on_every_target([&] { expect_close(want, run(model, "CPU", {tensor(p), tensor(q)}), f, input); });
    };
    compare(a, b);
    // One number for all of the other side.
    for (size_t i = 0; i < specials.size(); i += 3) {
      compare(few, {specials[i]});
      if (f.type != "PRelu") compare({specials[i]}, few);
    }
    compare(few, {2.0f});
  }
}

// Lines of numbers from the whole range: what they have in common must not overflow on the way to a result that does
// not. Differences are measured against `scale`.
struct Lines {
  Floats x;
  int64_t lines = 0, n = 0;
};
Lines wide_lines(int64_t n, float smallest, float largest) {
  Lines out{{}, 0, n};
  std::minstd_rand random(static_cast<uint32_t>(n));
  auto real = [&] { return static_cast<float>(random() % 20001) / 10000.0f - 1.0f; };
  for (float scale :
       {1e-45f, 1e-40f, 1e-30f, 1e-22f, 1e-5f, 1.0f, 50.0f, 88.0f, 100.0f, 200.0f, 1e4f, 1e15f, 1e20f, 1e37f, largest})
    for (int repeat = 0; repeat < 3 && scale >= smallest; ++repeat, ++out.lines)
      for (int64_t i = 0; i < n; ++i) out.x.push_back(real() * scale);
  for (float odd : {inf, -inf, std::numeric_limits<float>::quiet_NaN(), largest, -largest})
    for (int64_t at : {int64_t{0}, n / 2, n - 1}) {
      for (int64_t i = 0; i < n; ++i) out.x.push_back(i == at ? odd : real());
      ++out.lines;
    }
  out.x.insert(out.x.end(), static_cast<size_t>(n), -inf);
  out.x.insert(out.x.end(), static_cast<size_t>(n), 0.0f);
  out.lines += 2;
  return out;
}

struct LineFunction {
  std::string_view call;  // with AXIS for the axis
  float smallest, largest;
  double relative;  // of the result, or of the largest result of the line
};
const LineFunction line_functions[] = {
    {"Softmax@8(x) {axis = AXIS}", 0, 3.4e38f, 1e-5},
    {"LogSoftmax(x) {axis = AXIS}", 0, 3.4e38f, 1e-5},
    {"ReduceMax(x, i64[1] {AXIS}) {keep_dims = true}", 0, 3.4e38f, 0},
    {"ReduceMin(x, i64[1] {AXIS}) {keep_dims = true}", 0, 3.4e38f, 0},
    {"ReduceL1(x, i64[1] {AXIS}) {keep_dims = true}", 0, 3.4e38f, 1e-6},
    {"ReduceL2(x, i64[1] {AXIS}) {keep_dims = true}", 0, 3.4e38f, 1e-6},
    {"ReduceMean(Abs(x), i64[1] {AXIS}) {keep_dims = true}", 0, 3.4e38f, 1e-6},
    {"ReduceSum(Abs(x), i64[1] {AXIS}) {keep_dims = true}", 0, 3.4e38f, 1e-6},
    {"MVN@6(x, i64[1] {AXIS}) {normalize_variance = true, eps = 1e-9, eps_mode = \"INSIDE_SQRT\"}", 1e-30f, 1e38f,
     1e-5},
    {"MVN@6(x, i64[1] {AXIS}) {normalize_variance = true, eps = 0, eps_mode = \"OUTSIDE_SQRT\"}", 1e-30f, 1e38f, 1e-5},
    {"NormalizeL2(x, i64[1] {AXIS}) {eps = 1e-30, eps_mode = \"add\"}", 1e-30f, 1e38f, 1e-5},
};

TEST_F(VectorFunctions, EveryKernelIsListed) {
  std::set<std::string_view> listed;
  for (const Function& f : unary_functions) listed.insert(f.type);
  for (const Function& f : binary_functions) listed.insert(f.type);
  for (const LineFunction& f : line_functions) listed.insert(f.call.substr(0, f.call.find_first_of("@(")));
  Registry registry;
  add_built_ins(registry);
  for (const OpDef* op : registry.ops())
    for (const KernelDef& k : registry.kernels(*op, "CPU")) {
      std::string_view name(k.record->name.data, k.record->name.size);
      if (name != "simd_f32" && name != "rows_f32" && name != "lines_f32" && name != "elementwise_f32" &&
          name != "vector_f32")
        continue;
      if (op->name().starts_with("Bitwise")) continue;  // of integers
      if (op->name() == "Betainc") continue;            // of three inputs: tests/ops
      EXPECT_TRUE(listed.contains(op->name())) << op->name() << " has the kernel " << name << " and no row here";
    }
}

TEST_F(VectorFunctions, Lines) {
  for (const LineFunction& f : line_functions)
    for (int64_t n : {1, 5, 16, 37, 300})
      for (bool last : {true, false}) {
        Lines l = wide_lines(n, f.smallest, f.largest);
        Floats x = l.x;
        // Side by side: the lines stand in columns.
        for (int64_t i = 0; i < l.lines && !last; ++i)
          for (int64_t k = 0; k < n; ++k) x[static_cast<size_t>(k * l.lines + i)] = l.x[static_cast<size_t>(i * n + k)];
        std::vector<int64_t> dims = last ? std::vector<int64_t>{l.lines, n} : std::vector<int64_t>{n, l.lines};
        std::string call(f.call);
        call.replace(call.find("AXIS"), 4, last ? "1" : "0");
        std::string graph = text("graph (x: f32[", dims[0], ",", dims[1], "]) { return ", call, " }");
        Floats want = run(graph, "REFERENCE", {tensor(x, dims)});
        size_t wide = want.size() / static_cast<size_t>(l.lines);
        auto at = [&](size_t line, size_t k) {
          return last ? line * wide + k : k * static_cast<size_t>(l.lines) + line;
        };
        on_every_target([&] {
          Floats got = run(graph, "CPU", {tensor(x, dims)});
          for (size_t line = 0; line < static_cast<size_t>(l.lines); ++line) {
            double most = 0;
            for (size_t k = 0; k < wide; ++k)
              if (double v = std::fabs(double{want[at(line, k)]}); std::isfinite(v)) most = std::max(most, v);
            for (size_t k = 0; k < wide; ++k) {
              float w = want[at(line, k)], g = got[at(line, k)];
              ASSERT_TRUE(close(w, g, 2, f.relative * most) || (w == 0 && g == 0))
                  << call << ", line " << line << " of " << n << " elements, element " << k << " is " << g
                  << ", expected " << w;
            }
          }
        });
      }
}

}  // namespace
}  // namespace graft
