// The kernel of a traced function: its expression, evaluated block by block on all threads, without Python. Half types
// are computed in f32 and rounded once.
#include <pybind11/stl.h>

#include <cmath>
#include <graft/numeric.hpp>

#include "definition.hpp"

namespace graft::python {
namespace {

constexpr int64_t block = 512;  // elements: a few registers of f64 stay in the first cache

template <class T>
struct Formula {
  const char* name;
  int operands;
  void (*apply)(T* y, const T* a, const T* b, const T* c, int64_t n);
};

template <class T, class F>
constexpr auto unary() {
  return [](T* y, const T* a, const T*, const T*, int64_t n) {
    for (int64_t i = 0; i < n; ++i) y[i] = static_cast<T>(F{}(a[i]));
  };
}
template <class T, class F>
constexpr auto binary() {
  return [](T* y, const T* a, const T* b, const T*, int64_t n) {
    for (int64_t i = 0; i < n; ++i) y[i] = static_cast<T>(F{}(a[i], b[i]));
  };
}

#define UNARY(name, expression)                                   \
  {                                                               \
    name, 1, unary<T, decltype([](T x) { return expression; })>() \
  }
#define BINARY(name, expression)                                        \
  {                                                                     \
    name, 2, binary<T, decltype([](T x, T y) { return expression; })>() \
  }

// The names are those of NumPy's functions; NaN and signed zeros follow NumPy.
template <class T>
const std::vector<Formula<T>>& formulas() {
  static const std::vector<Formula<T>> all{
      BINARY("add", x + y),
      BINARY("subtract", x - y),
      BINARY("multiply", x * y),
      BINARY("divide", x / y),
      BINARY("power", std::pow(x, y)),
      BINARY("maximum", std::isnan(x) || x >= y ? x : y),
      BINARY("minimum", std::isnan(x) || x <= y ? x : y),
      BINARY("fmax", std::fmax(x, y)),
      BINARY("fmin", std::fmin(x, y)),
      BINARY("arctan2", std::atan2(x, y)),
      BINARY("hypot", std::hypot(x, y)),
      BINARY("copysign", std::copysign(x, y)),
      BINARY("floor_divide", std::floor(x / y)),
      BINARY("greater", x > y),
      BINARY("greater_equal", x >= y),
      BINARY("less", x < y),
      BINARY("less_equal", x <= y),
      BINARY("equal", x == y),
      BINARY("not_equal", x != y),
      BINARY("logical_and", x != 0 && y != 0),
      BINARY("logical_or", x != 0 || y != 0),
      BINARY("logical_xor", (x != 0) != (y != 0)),
      UNARY("logical_not", x == 0),
      UNARY("negative", -x),
      UNARY("absolute", std::fabs(x)),
      UNARY("square", x * x),
      UNARY("reciprocal", 1 / x),
      UNARY("sqrt", std::sqrt(x)),
      UNARY("cbrt", std::cbrt(x)),
      UNARY("exp", std::exp(x)),
      UNARY("exp2", std::exp2(x)),
      UNARY("expm1", std::expm1(x)),
      UNARY("log", std::log(x)),
      UNARY("log2", std::log2(x)),
      UNARY("log10", std::log10(x)),
      UNARY("log1p", std::log1p(x)),
      UNARY("sin", std::sin(x)),
      UNARY("cos", std::cos(x)),
      UNARY("tan", std::tan(x)),
      UNARY("arcsin", std::asin(x)),
      UNARY("arccos", std::acos(x)),
      UNARY("arctan", std::atan(x)),
      UNARY("sinh", std::sinh(x)),
      UNARY("cosh", std::cosh(x)),
      UNARY("tanh", std::tanh(x)),
      UNARY("arcsinh", std::asinh(x)),
      UNARY("arccosh", std::acosh(x)),
      UNARY("arctanh", std::atanh(x)),
      UNARY("floor", std::floor(x)),
      UNARY("ceil", std::ceil(x)),
      UNARY("trunc", std::trunc(x)),
      UNARY("rint", std::nearbyint(x)),
      UNARY("sign", std::isnan(x) ? x : static_cast<T>((x > 0) - (x < 0))),
      UNARY("isnan", std::isnan(x)),
      UNARY("isinf", std::isinf(x)),
      UNARY("isfinite", std::isfinite(x)),
      {"where", 3,
       [](T* y, const T* a, const T* b, const T* c, int64_t n) {
         for (int64_t i = 0; i < n; ++i) y[i] = a[i] != 0 ? b[i] : c[i];
       }},
  };
  return all;
}

// Each instruction writes the register of its own number.
struct Instruction {
  enum Kind { input, constant, formula } kind = formula;
  size_t which = 0;  // input or formula
  double value = 0;
  size_t operands[3] = {};
};

struct Expression {
  std::vector<Instruction> code;
  std::vector<int64_t> dims;                  // of the output
  std::vector<std::vector<int64_t>> strides;  // of each input along them
  detail::HalfFunctions half;                 // of f16 and bf16
};

size_t formula_named(const std::string& name) {
  const auto& all = formulas<double>();
  for (size_t i = 0; i < all.size(); ++i)
    if (name == all[i].name) return i;
  unsupported("not traced: there is no native form of ", name);
}

// Calls `use` with what Python traced for the node, holding the lock of the interpreter.
template <class F>
void with_trace(graft_node* node, const Record& record, F&& use) {
  PyGILState_STATE gil = PyGILState_Ensure();
  struct Unlock {
    PyGILState_STATE gil;
    ~Unlock() { PyGILState_Release(gil); }
  } unlock{gil};
  try {
    py::object traced = py::handle(spec_of(record)).attr("trace")(node_attributes(node, record));
    if (py::isinstance<py::str>(traced)) unsupported("not traced: ", py::cast<std::string>(traced));
    use(traced);
  } catch (py::error_already_set& e) {
    unsupported("not traced: ", e.what());
  }
}

// From [("input", 0), ("const", 2.0), ("multiply", 0, 1)].
Expression expression_of(py::handle traced, size_t inputs) {
  constexpr size_t most = 4096;
  Expression e;
  for (py::handle item : traced) {
    if (e.code.size() == most) unsupported("not traced: more than ", most, " steps");
    auto parts = py::cast<py::tuple>(item);
    auto name = py::cast<std::string>(parts[0]);
    Instruction in;
    if (name == "input") {
      in.kind = Instruction::input, in.which = py::cast<size_t>(parts[1]);
      if (in.which >= inputs) fail("not traced: there is no input ", in.which);
    } else if (name == "const") {
      in.kind = Instruction::constant, in.value = py::cast<double>(parts[1]);
    } else {
      in.which = formula_named(name);
      auto n = static_cast<size_t>(formulas<double>()[in.which].operands);
      if (parts.size() != n + 1) fail("not traced: ", name, " has ", parts.size() - 1, " operands");
      for (size_t i = 0; i < n; ++i) {
        in.operands[i] = py::cast<size_t>(parts[i + 1]);
        if (in.operands[i] >= e.code.size()) fail("not traced: an operand comes after its use");
      }
    }
    e.code.push_back(in);
  }
  if (e.code.empty()) fail("not traced: nothing is computed");
  return e;
}

// Offsets of consecutive elements of a broadcast input.
class Walk {
 public:
  Walk(const std::vector<int64_t>& dims, const std::vector<int64_t>& strides, int64_t begin)
      : dims_(dims), strides_(strides), at_(position(dims.size())) {
    for (size_t k = dims.size(); k-- > 0;) {
      at_[k] = begin % dims[k], begin /= dims[k];
      offset_ += at_[k] * strides[k];
    }
  }
  int64_t offset() const { return offset_; }
  void next() {
    for (size_t k = dims_.size(); k-- > 0;) {
      offset_ += strides_[k];
      if (++at_[k] < dims_[k]) break;
      at_[k] = 0, offset_ -= strides_[k] * dims_[k];
    }
  }

 private:
  static std::vector<int64_t>& position(size_t rank) {
    thread_local std::vector<int64_t> at;  // kept between calls
    at.resize(rank);
    return at;
  }
  const std::vector<int64_t>&dims_, &strides_;
  std::vector<int64_t>& at_;
  int64_t offset_ = 0;
};

// Elements at..at + n of an input as T; E is how it is stored: T, or the bits of a half type.
template <class T, class E>
const T* load(T* own, E* bits, const graft_tensor& x, bool whole, const Expression& e, size_t which, int64_t at,
              int64_t n) {
  const E* from = static_cast<const E*>(x.data);
  if constexpr (std::is_same_v<T, E>)
    if (whole) return from + at;  // read where it is
  if (!whole) {
    E* to = std::is_same_v<T, E> ? reinterpret_cast<E*>(own) : bits;
    Walk walk(e.dims, e.strides[which], at);
    for (int64_t i = 0; i < n; ++i, walk.next()) to[i] = from[walk.offset()];
    from = to;
  } else {
    from += at;
  }
  if constexpr (!std::is_same_v<T, E>) e.half.widen(from, n, own);
  return own;
}

template <class T, class E>
void evaluate(Run& ctx, const Expression& e) {
  constexpr bool direct = std::is_same_v<T, E>;
  TensorView y(ctx.raw()->outputs[0]);
  bool boolean = y.type() == DType::boolean;
  E* out = static_cast<E*>(ctx.raw()->outputs[0]->data);
  ctx.parallel_for(y.size(), 4096, [&](int64_t begin, int64_t end) {
    int64_t size = std::min(block, end - begin);
    // Kept between calls, so that nothing is allocated after the first one.
    thread_local std::vector<T> memory;
    thread_local std::vector<const T*> values;
    E bits[block];
    memory.resize(std::max(memory.size(), e.code.size() * static_cast<size_t>(size)));
    values.resize(e.code.size());
    for (size_t k = 0; k < e.code.size(); ++k) {
      T* own = memory.data() + k * static_cast<size_t>(size);
      values[k] = own;
      if (e.code[k].kind == Instruction::constant) std::fill(own, own + size, static_cast<T>(e.code[k].value));
    }
    for (int64_t at = begin; at < end; at += size) {
      int64_t n = std::min(size, end - at);
      bool stored = false;  // the last formula writes to the output itself
      for (size_t k = 0; k < e.code.size(); ++k) {
        const Instruction& in = e.code[k];
        T* own = memory.data() + k * static_cast<size_t>(size);
        if (in.kind == Instruction::input) {
          bool whole = ctx.input(in.which).size() == y.size();
          values[k] = load<T, E>(own, bits, *ctx.raw()->inputs[in.which], whole, e, in.which, at, n);
        } else if (in.kind == Instruction::formula) {
          if constexpr (direct)
            if (k + 1 == e.code.size() && !boolean) own = reinterpret_cast<T*>(out) + at, stored = true;
          formulas<T>()[in.which].apply(own, values[in.operands[0]], values[in.operands[1]], values[in.operands[2]], n);
          values[k] = own;
        }
      }
      const T* result = values.back();
      if (boolean)
        for (int64_t i = 0; i < n; ++i) reinterpret_cast<uint8_t*>(out)[at + i] = result[i] != 0;
      else if constexpr (!direct) e.half.narrow(result, n, out + at);
      else if (!stored) std::copy(result, result + n, out + at);
    }
  });
}

}  // namespace

graft_status traced_prepare(graft_node* node, void* user, void** state) {
  return guarded([&] {
    Prepare ctx(node);
    DType type = ctx.type(0);
    if (type != DType::f32 && type != DType::f64 && type != DType::f16 && type != DType::bf16)
      unsupported("expected f64, f32, f16 or bf16, got ", type);
    if (!ctx.output(0).shape.is_static()) unsupported("requires static shapes");
    const Record& record = *static_cast<Record*>(user);
    with_trace(node, record, [&](const py::object& traced) {
      Expression e = expression_of(traced, ctx.inputs());
      e.dims = ctx.output(0).shape.values();
      e.half = detail::half_functions(type);
      for (size_t i = 0; i < ctx.inputs(); ++i) e.strides.push_back(broadcast_strides(ctx.shape(i).values(), e.dims));
      *state = new Expression(std::move(e));
    });
  });
}

graft_status traced_run(const graft_call* call) {
  return guarded([&] {
    Run ctx(call);
    const auto& e = *static_cast<const Expression*>(call->state);
    DType type = ctx.input(0).type();
    if (type == DType::f64) evaluate<double, double>(ctx, e);
    else if (type == DType::f32) evaluate<float, float>(ctx, e);
    else evaluate<float, uint16_t>(ctx, e);
  });
}

graft_status traced_emit(graft_node* node, void* user) {
  return guarded([&] {
    Emit ctx(node);
    bool wide = false;
    for (size_t i = 0; i < ctx.inputs(); ++i) {
      if (!is_real(ctx.type(i)) || bits_of(ctx.type(i)) < 16)
        unsupported("expected floating-point numbers, got ", ctx.type(i));
      wide = wide || ctx.type(i) == DType::f64;
    }
    ElementFormula out;
    with_trace(node, *static_cast<Record*>(user), [&](const py::object& traced) {
      Expression e = expression_of(traced, ctx.inputs());
      auto name = [&](size_t k) {
        const Instruction& in = e.code[k];
        if (in.kind == Instruction::constant) return trace::literal(in.value, wide);
        return (in.kind == Instruction::input ? "x" + text(in.which) : "t" + text(k));
      };
      for (size_t k = 0; k < e.code.size(); ++k) {
        if (e.code[k].kind != Instruction::formula) continue;
        const char* called = formulas<double>()[e.code[k].which].name;
        const trace::Function* f = trace::function_named(called);
        if (!f) unsupported("there is no form of ", called, " for the GPU");
        std::string operands[3];
        for (size_t i = 0; i < f->operands; ++i) operands[i] = name(e.code[k].operands[i]);
        out.statements += "REAL t" + text(k) + " = " + trace::function_text(*f, operands) + ";\n";
      }
      out.result = name(e.code.size() - 1);
    });
    ctx.formula(out);
  });
}

void traced_release(void* state, void*) { delete static_cast<Expression*>(state); }

}  // namespace graft::python
