// Kernels as source text: OpenCL C for devices that compile it, for an operation defined here or elsewhere.
//
// The short form describes one kernel function. The macros of custom layers (INPUT0_TYPE, INPUT0_DIMS, OUTPUT0_PITCHES,
// ...) are defined in front of the source, so that it serves all types and shapes:
//
//   op<Scale>("Scale", "acme")
//       .infer(...).reference(...)
//       .opencl(SourceKernel("GPU", "scale_cl")
//                   .source(R"(__kernel void scale(__global const INPUT0_TYPE* x, __global OUTPUT0_TYPE* y) {
//                                size_t i = get_global_id(0);
//                                y[i] = x[i] * FACTOR;
//                              })", "scale")
//                   .define("FACTOR", "factor"));      // the value of an attribute
//
// Without `argument`, the function gets all inputs, then all outputs. Without `global`, there is one work item per
// element of the first output. The long form is a function that looks at the node and adds launches itself:
//
//   void emit_sum(Emit& ctx) {
//     Launch l;
//     l.sources.push_back({sum_source, ""});
//     l.entry = "sum";
//     l.arguments = {Argument::input(0), Argument::output(0), Argument::number(count)};
//     l.global = {rows};
//     ctx.launch(l);
//   }
//   SourceKernel("GPU", "sum_rows").of("ReduceSum", "opset1").accept(only_last_axis).emit(emit_sum)
//
// An element-wise operation gives a formula, and the device writes the kernel (ElementFormula below):
//
//   void emit_softplus(Emit& ctx) { ctx.formula({.result = "log1p(exp(x0))"}); }
//
// Sources are compiled once per content and device. A kernel declines like any other: `accept` and `emit` throw with
// `unsupported`.
#pragma once

#include <charconv>
#include <functional>
#include <memory>

#include "context.hpp"
#include "traits.hpp"

namespace [[gnu::visibility("hidden")]] graft {

// The order of B, F, Y, X in memory that a kernel expects of an input or output.
enum class Format : int32_t { bfyx = GRAFT_BFYX, byxf = GRAFT_BYXF, yxfb = GRAFT_YXFB, fyxb = GRAFT_FYXB };

// An argument of a kernel function.
struct Argument : graft_argument {
  static Argument input(size_t i, Format f = Format::bfyx) {
    return {{GRAFT_ARGUMENT_INPUT, static_cast<int32_t>(f), i, 0, 0}};
  }
  static Argument output(size_t i, Format f = Format::bfyx) {
    return {{GRAFT_ARGUMENT_OUTPUT, static_cast<int32_t>(f), i, 0, 0}};
  }
  static Argument scratch(size_t i) { return {{GRAFT_ARGUMENT_SCRATCH, 0, i, 0, 0}}; }
  static Argument local(size_t bytes) { return {{GRAFT_ARGUMENT_LOCAL, 0, 0, static_cast<int64_t>(bytes), 0}}; }
  static Argument number(int32_t v) { return {{GRAFT_ARGUMENT_INT, 0, 0, v, 0}}; }
  static Argument long_number(int64_t v) { return {{GRAFT_ARGUMENT_LONG, 0, 0, v, 0}}; }
  static Argument real(float v) { return {{GRAFT_ARGUMENT_FLOAT, 0, 0, 0, v}}; }
};

// One launch of a kernel function.
struct Launch {
  struct Source {
    std::string text;
    std::string file;  // for messages of the compiler; empty: none
  };
  std::vector<Source> sources;  // concatenated
  std::string entry, options;
  std::vector<std::pair<std::string, std::string>> defines;
  std::vector<Argument> arguments;
  std::vector<size_t> global, local;  // work items in 1 to 3 dimensions; no local ones: the device chooses
  bool macros = false;                // define the macros of custom layers
};

// An element-wise operation in OpenCL C, over x0, x1, ... of type REAL; see graft_formula in abi_source.h.
struct ElementFormula {
  std::string functions{}, statements{}, result{};
  bool in_double = false;                       // REAL is double, whatever the types are
  std::optional<size_t> inputs{};               // how many of them it uses; empty: all
  std::vector<std::vector<int64_t>> strides{};  // per input; none: they broadcast as in NumPy
};

namespace detail {

// With the digits of a float where `v` is one, unless it is `wide`, for computations in double.
inline std::string number_text(double v, bool wide = false) {
  if (v != v) return "NAN";
  if (v - v != 0) return v > 0 ? "INFINITY" : "(-INFINITY)";
  char buffer[32];
  auto f = static_cast<float>(v);
  auto end = !wide && static_cast<double>(f) == v ? std::to_chars(buffer, buffer + sizeof buffer, f).ptr
                                                  : std::to_chars(buffer, buffer + sizeof buffer, v).ptr;
  std::string out(buffer, end);
  return out.find_first_of(".e") == out.npos ? out + ".0" : out;  // a floating-point literal in C
}

}  // namespace detail

// The value of an attribute as it is written into a macro: numbers in decimal, booleans as 0 and 1, lists separated
// by commas, strings as they are. None for kinds that have no such form.
inline std::optional<std::string> define_text(const graft_value& v) {
  std::string out;
  auto list = [&](auto item) {
    for (size_t i = 0; i < v.count; ++i) out += (i ? "," : "") + item(i);
    return out;
  };
  switch (v.kind) {
    case GRAFT_BOOL: return std::string(v.i ? "1" : "0");
    case GRAFT_INT: return std::to_string(v.i);
    case GRAFT_FLOAT: return detail::number_text(v.f);
    case GRAFT_TEXT: return std::string(view(v.s));
    case GRAFT_INTS: return list([&](size_t i) { return std::to_string(static_cast<const int64_t*>(v.items)[i]); });
    case GRAFT_FLOATS:
      return list([&](size_t i) { return detail::number_text(static_cast<const double*>(v.items)[i]); });
    case GRAFT_TEXTS:
      return list([&](size_t i) { return std::string(view(static_cast<const graft_str*>(v.items)[i])); });
    default: return std::nullopt;
  }
}

// What `emit` receives. Types and shapes are final and known.
class Emit : public Accept {
 public:
  using Accept::Accept;

  void launch(const Launch& l) {
    require_host();
    std::vector<graft_source_text> sources;
    for (const Launch::Source& s : l.sources) sources.push_back({str(s.text), str(s.file)});
    std::vector<graft_define> defines;
    for (const auto& [name, value] : l.defines) defines.push_back({str(name), str(value)});
    std::vector<graft_argument> arguments(l.arguments.begin(), l.arguments.end());
    if (l.global.empty() || l.global.size() > 3 || l.local.size() > 3)
      fail("expected 1 to 3 work sizes, got ", l.global.size(), " global and ", l.local.size(), " local ones");
    graft_launch raw{};
    raw.size = sizeof raw;
    raw.flags = l.macros ? GRAFT_LAUNCH_MACROS : 0;
    raw.sources = sources.data(), raw.source_count = sources.size();
    raw.entry = str(l.entry), raw.options = str(l.options);
    raw.defines = defines.data(), raw.define_count = defines.size();
    raw.arguments = arguments.data(), raw.argument_count = arguments.size();
    bool empty = false;  // all sizes are 0 then
    for (size_t g : l.global) empty = empty || g == 0;
    for (size_t i = 0; i < l.global.size() && !empty; ++i) raw.global[i] = l.global[i];
    for (size_t i = 0; i < l.local.size() && !empty; ++i) raw.local[i] = l.local[i];
    check(host->add_launch(n_, &raw));
  }
  // Instead of launches: what an element of the output is.
  void formula(const ElementFormula& f) {
    if (host->size < offsetof(graft_host, set_formula) + sizeof(void*)) unsupported("this host takes no formulas");
    std::vector<int64_t> strides;
    for (const std::vector<int64_t>& s : f.strides) strides.insert(strides.end(), s.begin(), s.end());
    graft_formula raw{};
    raw.size = sizeof raw;
    raw.flags = f.in_double ? GRAFT_FORMULA_DOUBLE : 0;
    raw.functions = str(f.functions), raw.statements = str(f.statements), raw.result = str(f.result);
    raw.input_count = f.inputs.value_or(inputs());
    if (!f.strides.empty()) raw.strides = strides.data(), raw.stride_count = strides.size();
    check(host->set_formula(n_, &raw));
  }
  // Memory that the launches of this node share; the result is for Argument::scratch.
  size_t scratch(size_t bytes) {
    require_host();
    size_t index = 0;
    check(host->add_scratch(n_, bytes, &index));
    return index;
  }
  // The value of a formula such as "(B*F+7)/8*8" for the dimensions of an input or output.
  int64_t work_size(std::string_view formula, bool of_input = false, size_t port = 0) {
    require_host();
    int64_t value = 0;
    check(host->work_size(n_, str(formula), of_input, port, &value));
    return value;
  }
  // The value of an attribute as text for a macro, lists separated by commas; none if it is absent.
  std::optional<std::string> define_value(std::string_view attribute) const {
    const graft_value* v = host->attribute(n_, str(attribute));
    if (!v) return std::nullopt;
    std::optional<std::string> text = define_text(*v);
    if (!text) unsupported("the attribute '", attribute, "' cannot be written into a macro");
    return text;
  }
  // The same with lists of numbers as arrays: (const int[]) {1,2}.
  std::optional<std::string> array_value(std::string_view attribute) const {
    std::optional<std::string> text = define_value(attribute);
    const graft_value* v = host->attribute(n_, str(attribute));
    bool integers = v && v->kind == GRAFT_INTS, reals = v && v->kind == GRAFT_FLOATS;
    return integers || reals ? std::string(integers ? "(const int[]) {" : "(const float[]) {") + *text + "}" : text;
  }

 private:
  static void require_host() {
    if (host->size < offsetof(graft_host, work_size) + sizeof(void*)) unsupported("this host runs no source kernels");
  }
};

class SourceKernel {
 public:
  SourceKernel(std::string_view device, std::string_view name) : parts_(std::make_shared<Parts>()) {
    parts_->device = device, parts_->name = name;
  }
  // The operation, for kernels of operations that are defined elsewhere; OpOf::opencl sets it itself. Without an opset
  // the kernel is for every version of the operation.
  SourceKernel& of(std::string_view op, std::string_view opset = "") {
    return parts_->op = op, parts_->opset = opset, *this;
  }
  // For every operation with this trait; its own kernels go first.
  SourceKernel& of(Trait trait) { return of("*" + std::string(word_of(trait))); }
  // Declines a node by throwing; without it, the kernel accepts every node.
  SourceKernel& accept(std::function<void(Accept&)> f) { return parts_->accept = std::move(f), *this; }
  // The long form.
  SourceKernel& emit(std::function<void(Emit&)> f) { return parts_->emit = std::move(f), *this; }
  // A warning says why the kernel is not used, because the user has named it.
  SourceKernel& configured() { return parts_->configured = true, *this; }

  // ---- the short form ----

  SourceKernel& source(std::string_view text, std::string_view entry) {
    parts_->launch.sources.push_back({std::string(text), ""});
    return parts_->launch.entry = entry, *this;
  }
  // #define NAME with the value of an attribute, or with `fallback` where the node does not have it. A list of numbers
  // is an array: NAME[0].
  SourceKernel& define(std::string_view name, std::string_view attribute, std::string_view fallback = "") {
    return parts_->defines.push_back({std::string(name), std::string(attribute), std::string(fallback)}), *this;
  }
  SourceKernel& options(std::string_view compiler_options) { return parts_->launch.options = compiler_options, *this; }
  SourceKernel& argument(Argument a) { return parts_->launch.arguments.push_back(a), *this; }
  // Work sizes: one formula per dimension, over B, F, Y, X of the first output.
  SourceKernel& global(std::vector<std::string> formulas) { return parts_->global = std::move(formulas), *this; }
  SourceKernel& local(std::vector<std::string> formulas) { return parts_->local = std::move(formulas), *this; }
  // B, F, Y, X are the dimensions of an input instead.
  SourceKernel& sizes_of_input(size_t port) { return parts_->sizes_of = port, *this; }

  // Whether one kernel replaces the other.
  bool same_slot(const SourceKernel& o) const {
    return parts_->device == o.parts_->device && parts_->name == o.parts_->name;
  }
  // The C record, which refers to this object: valid until it is moved or destroyed.
  const graft_source_kernel* seal() {
    k_.size = sizeof k_;
    k_.flags = parts_->configured ? GRAFT_SOURCE_KERNEL_CONFIGURED : 0;
    k_.op = str(parts_->op), k_.opset = str(parts_->opset), k_.device = str(parts_->device),
    k_.name = str(parts_->name);
    k_.user = parts_.get();
    if (parts_->accept)
      k_.accept = [](graft_node* n, void* user) {
        return guarded([&] {
          Accept ctx(n);
          static_cast<Parts*>(user)->accept(ctx);
        });
      };
    k_.emit = [](graft_node* n, void* user) {
      return guarded([&] {
        Emit ctx(n);
        auto& p = *static_cast<const Parts*>(user);
        if (p.emit) p.emit(ctx);
        else p.launch_once(ctx);
      });
    };
    return &k_;
  }

 private:
  struct Define {
    std::string name, attribute, fallback;
  };
  struct Parts {
    std::string device, name, op, opset;
    bool configured = false;
    std::function<void(Accept&)> accept;
    std::function<void(Emit&)> emit;
    Launch launch;
    std::vector<Define> defines;
    std::vector<std::string> global, local;
    std::optional<size_t> sizes_of;

    void launch_once(Emit& ctx) const {
      Launch l = launch;
      l.macros = true;
      for (const Define& d : defines) l.defines.emplace_back(d.name, ctx.array_value(d.attribute).value_or(d.fallback));
      if (l.arguments.empty()) {
        for (size_t i = 0; i < ctx.inputs(); ++i) l.arguments.push_back(Argument::input(i));
        for (size_t i = 0; i < ctx.outputs(); ++i) l.arguments.push_back(Argument::output(i));
      }
      auto sizes = [&](const std::vector<std::string>& formulas) {
        std::vector<size_t> out;
        for (const std::string& f : formulas) {
          int64_t v = ctx.work_size(f, sizes_of.has_value(), sizes_of.value_or(0));
          if (v < 0) fail("the work size '", f, "' is ", v);
          out.push_back(static_cast<size_t>(v));
        }
        return out;
      };
      if (global.empty()) l.global = {static_cast<size_t>(ctx.output(0).shape.elements().value())};
      else l.global = sizes(global);
      l.local = sizes(local);
      ctx.launch(l);
    }
  };
  std::shared_ptr<Parts> parts_;
  graft_source_kernel k_{};
};

}  // namespace graft
