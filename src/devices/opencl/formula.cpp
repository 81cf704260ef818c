#include "devices/opencl/formula.hpp"

#include <algorithm>
#include <functional>
#include <graft/kit/cl_types.hpp>

#include "base/text.hpp"

namespace graft {
namespace {

// Values between two operations have the precision that they would have in memory. Products and sums are not
// contracted, so that the results are the same whether operations share a kernel or not.
constexpr std::string_view formula_functions = R"(
#pragma OPENCL FP_CONTRACT OFF
float rounded_half(float v) {
  ushort h;
  vstore_half_rte(v, 0, (half*)&h);
  return vload_half(0, (const half*)&h);
}
float rounded_bf16(float v) { return as_float((uint)to_bf16(v) << 16); }
)";

std::string rounded_text(const std::string& v, DType type) {
  switch (type) {
    case DType::f16: return text("rounded_half(", v, ")");
    case DType::bf16: return text("rounded_bf16(", v, ")");
    case DType::boolean: return text(v, " != 0");
    case DType::f32: return text("(float)", v);
    default: return v;
  }
}

// Dimensions of the output, merged where all loads allow it.
struct FormulaWalk {
  std::vector<int64_t> dims;
  std::vector<std::vector<int64_t>> strides;  // per load

  explicit FormulaWalk(const OpenclFormula& f) : strides(f.loads.size()) {
    for (size_t k = 0; k < f.dims.size(); ++k) {
      if (f.dims[k] == 1) continue;
      bool merge = !dims.empty();
      for (size_t i = 0; i < f.loads.size() && merge; ++i)
        merge = strides[i].back() == f.loads[i].strides[k] * f.dims[k];
      if (merge) dims.back() *= f.dims[k];
      else dims.push_back(f.dims[k]);
      for (size_t i = 0; i < f.loads.size(); ++i) {
        if (merge) strides[i].back() = f.loads[i].strides[k];
        else strides[i].push_back(f.loads[i].strides[k]);
      }
    }
    if (!dims.empty()) return;
    dims = {1};
    for (auto& s : strides) s = {0};
  }
  int64_t count() const {
    int64_t n = 1;
    for (int64_t d : dims) n *= d;
    return n;
  }
};

class FormulaWriter {
 public:
  FormulaWriter(const OpenclFormula& f, size_t most_work_items) : f_(f), walk_(f), most_work_items_(most_work_items) {}

  OpenclLaunch write() {
    auto count = static_cast<size_t>(walk_.count());
    bool vector = takes_four();
    // Not the shapes but their number and kind are part of the source, so that it serves many.
    for (size_t i = 0; i < f_.loads.size(); ++i) {
      parameter(text("__global const ", cl_storage(f_.loads[i].type), "* in", i));
      l_.arguments.push_back({GRAFT_ARGUMENT_INPUT, 0, f_.loads[i].input, 0, 0});
    }
    parameter(text("__global ", cl_storage(out()), "* y"));
    l_.arguments.push_back({GRAFT_ARGUMENT_OUTPUT, 0, 0, 0, 0});
    std::string body = vector ? four_elements() : one_element();
    l_.entry = "elementwise";
    l_.source = text(cl_preamble, formula_functions, "#define REAL ", real(), "\n", of_parts(), formula(),
                     "__kernel void elementwise(", parameters_, ") {\n", body, "}\n");
    l_.options = "-w";
    l_.global = {count};
    if (vector && count > 0) {
      size_t group = std::min<size_t>(256, most_work_items_), items = (count + 3) / 4;
      l_.local = {group}, l_.global = {(items + group - 1) / group * group};
    }
    return std::move(l_);
  }

 private:
  DType out() const { return f_.parts.back().type; }
  std::string real() const { return f_.is_wide() ? "double" : "float"; }

  // Whether a work item computes four neighbors: there are enough elements, and four of them never lie in two rows.
  bool takes_four() const {
    constexpr int64_t enough = 1 << 16;
    if (walk_.count() < enough) return false;
    bool rows = walk_.dims.size() > 1;
    if (rows && walk_.dims.back() % 4) return false;
    for (const std::vector<int64_t>& s : walk_.strides) {
      if (s.back() != 0 && s.back() != 1) return false;
      for (size_t k = 0; k + 1 < s.size(); ++k)
        if (s.back() == 1 && s[k] % 4) return false;
    }
    return true;
  }

  void parameter(const std::string& p) { parameters_ += (parameters_.empty() ? "" : ", ") + p; }
  std::string number(std::string name, int64_t v) {
    parameter("uint " + name);
    l_.arguments.push_back({GRAFT_ARGUMENT_INT, 0, 0, v, 0});
    return name;
  }

  std::string of_parts() const {
    std::string all;
    for (const OpenclFormula::Part& p : f_.parts)
      if (all.find(p.functions) == all.npos) all += p.functions + "\n";
    return all;
  }
  // REAL formula(REAL l0, REAL l1, ...)
  std::string formula() const {
    std::string arguments, body;
    for (size_t i = 0; i < f_.loads.size(); ++i) arguments += text(i ? ", " : "", "REAL l", i);
    for (size_t k = 0; k < f_.parts.size(); ++k) {
      const OpenclFormula::Part& p = f_.parts[k];
      body += text("  REAL v", k, ";\n  {\n");
      for (size_t i = 0; i < p.operands.size(); ++i)
        body += text("const REAL x", i, " = ", p.operands[i].is_part ? "v" : "l", p.operands[i].index, ";\n");
      body += text(p.statements, "v", k, " = ", p.result, ";\n  }\n");
      if (k + 1 < f_.parts.size()) body += text("  v", k, " = ", rounded_text(text("v", k), p.type), ";\n");
    }
    return text("REAL formula(", arguments, ") {\n", body, "  return v", f_.parts.size() - 1, ";\n}\n");
  }

  // Declares `uint p0, p1, ...`, the positions of the loads, from `uint i`, the position in the output.
  std::string positions() {
    std::string out;
    if (walk_.dims.size() == 1) {
      for (size_t t = 0; t < walk_.strides.size(); ++t) {
        int64_t s = walk_.strides[t][0];
        out += text("  uint p", t, " = ", s == 0 ? "0" : s == 1 ? "i" : "i * " + number(text("s", t), s), ";\n");
      }
      return out;
    }
    out = "  uint rest = i, at;\n";
    for (size_t t = 0; t < walk_.strides.size(); ++t) out += text("  uint p", t, " = 0;\n");
    for (size_t k = walk_.dims.size(); k-- > 0;) {
      if (k) {
        std::string d = number(text("d", k), walk_.dims[k]);
        out += text("  at = rest % ", d, "; rest /= ", d, ";\n");
      } else {
        out += "  at = rest;\n";
      }
      for (size_t t = 0; t < walk_.strides.size(); ++t) {
        int64_t s = walk_.strides[t][k];
        if (s) out += text("  p", t, " += at", s == 1 ? "" : " * " + number(text("s", t, "_", k), s), ";\n");
      }
    }
    return out;
  }

  std::string load(size_t i, const std::string& at) const {
    std::string in = text("in", i);
    DType type = f_.loads[i].type;
    if (type == DType::f16) return text("(REAL)vload_half(", at, ", ", in, ")");
    if (type == DType::bf16) return text("(REAL)as_float((uint)", in, "[", at, "] << 16)");
    return text("(REAL)", in, "[", at, "]");
  }
  std::string load_four(size_t i) const {
    std::string in = text("in", i, " + p", i), four = text("convert_", real(), "4(");
    DType type = f_.loads[i].type;
    if (type == DType::f16) return text(four, "vloada_half4(0, ", in, "))");
    if (type == DType::bf16) return text(four, "as_float4(convert_uint4(*(__global const ushort4*)(", in, ")) << 16))");
    return text(four, "*(__global const ", cl_storage(type), "4*)(", in, "))");
  }
  std::string store(const std::string& at, const std::string& v) const {
    if (out() == DType::f16) return text("vstore_half_rte((float)", v, ", ", at, ", y);\n");
    if (out() == DType::bf16) return text("y[", at, "] = to_bf16((float)", v, ");\n");
    if (out() == DType::boolean) return text("y[", at, "] = ", v, " != 0;\n");
    return text("y[", at, "] = (", cl_storage(out()), ")", v, ";\n");
  }
  std::string store_four() const {
    if (out() == DType::f16) return "vstorea_half4_rte(convert_float4(r), 0, y + i);\n";
    std::string list;
    for (const char* part : {"r.x", "r.y", "r.z", "r.w"}) {
      std::string v = part;
      list += (list.empty() ? "" : ", ") + (out() == DType::bf16      ? "to_bf16((float)" + v + ")"
                                            : out() == DType::boolean ? "(uchar)(" + v + " != 0)"
                                                                      : text("(", cl_storage(out()), ")", v));
    }
    return text("*(__global ", cl_storage(out()), "4*)(y + i) = (", cl_storage(out()), "4)(", list, ");\n");
  }
  std::string call(const std::function<std::string(size_t)>& operand) const {
    std::string arguments;
    for (size_t t = 0; t < f_.loads.size(); ++t) arguments += (t ? ", " : "") + operand(t);
    return text("formula(", arguments, ")");
  }

  std::string one_element() {
    std::string body = "  uint i = get_global_id(0);\n" + positions();
    body += text("  REAL r = ", call([&](size_t t) { return load(t, text("p", t)); }), ";\n  ");
    return body + store("i", "r");
  }
  std::string four_elements() {
    std::string count = number("count", walk_.count());
    std::string body = text("  uint i = get_global_id(0) * 4;\n  if (i >= ", count, ") return;\n") + positions();
    auto repeated = [&](size_t t) { return walk_.strides[t].back() == 0; };
    if (walk_.dims.size() == 1) {
      body += text("  if (i + 4 > ", count, ") {\n    for (; i < ", count,
                   "; ++i) {\n      REAL r = ", call([&](size_t t) { return load(t, repeated(t) ? "0" : "i"); }),
                   ";\n      ", store("i", "r"), "    }\n    return;\n  }\n");
    }
    for (size_t t = 0; t < f_.loads.size(); ++t)
      body += text("  ", real(), repeated(t) ? "" : "4", " q", t, " = ",
                   repeated(t) ? load(t, text("p", t)) : load_four(t), ";\n");
    body += text("  ", real(), "4 r;\n");
    for (const char* lane : {".x", ".y", ".z", ".w"})
      body += text("  r", lane, " = ", call([&](size_t t) { return text("q", t, repeated(t) ? "" : lane); }), ";\n");
    return body + "  " + store_four();
  }

  const OpenclFormula& f_;
  FormulaWalk walk_;
  size_t most_work_items_;
  OpenclLaunch l_;
  std::string parameters_;
};

}  // namespace

bool OpenclLaunch::empty() const {
  return std::any_of(global.begin(), global.end(), [](size_t s) { return s == 0; });
}

bool OpenclFormula::is_wide() const {
  for (const Load& l : loads)
    if (l.type == DType::f64) return true;
  for (const Part& p : parts)
    if (p.type == DType::f64 || p.in_double) return true;
  return false;
}

size_t OpenclFormula::text_size() const {
  size_t size = 0;
  for (const Part& p : parts) size += p.functions.size() + p.statements.size() + p.result.size();
  return size;
}

OpenclLaunch formula_launch(const OpenclFormula& formula, size_t most_work_items) {
  return FormulaWriter(formula, most_work_items).write();
}

}  // namespace graft
