#include "devices/opencl/emit.hpp"

#include <algorithm>
#include <graft/shapes.hpp>

#include "base/tensor.hpp"
#include "base/text.hpp"
#include "schema/host.hpp"

namespace graft {
namespace {

constexpr const char* reorder_source = R"(
__kernel void reorder(__global const ELEMENT* from, __global ELEMENT* to, int f, int y, int x, int p0, int p1, int p2,
                      int p3, int backwards) {
  int i = get_global_id(0);
  int at_x = i % x, at_y = i / x % y, at_f = i / (x * y) % f, at_b = i / (x * y * f);
  int there = at_b * p0 + at_f * p1 + at_y * p2 + at_x * p3;
  if (backwards) to[i] = from[there];
  else to[there] = from[i];
}
)";

std::string in_quotes(std::string_view file) {
  std::string out;
  for (char c : file) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

// Collects what a kernel emits.
class Emission {
 public:
  Emission(const OpenclMachine& machine, NodeContext& context, const SourceKernelDef& kernel)
      : machine_(machine), context_(context), kernel_(kernel) {
    context.launches = [this](const graft_launch& l) { launch(l); };
    context.scratches = [this](size_t bytes) { return scratch(bytes); };
    context.work_sizes = [this](std::string_view formula, bool of_input, size_t port) {
      return custom_work_size(context_, formula, of_input, port);
    };
    context.formulas = [this](const graft_formula& f) { formula(f); };
  }
  ~Emission() {
    context_.launches = nullptr, context_.scratches = nullptr, context_.work_sizes = nullptr;
    context_.formulas = nullptr;
  }

  OpenclWork run() {
    const graft_source_kernel& k = *kernel_.record;
    ask(k, context_);
    check_callback(k.emit(&context_, k.user));
    if (work_.formula && !work_.launches.empty())
      throw_user("the kernel '", k.name, "' emitted launches beside a formula");
    if (work_.formula) work_.launches.push_back(formula_launch(*work_.formula, machine_.most_work_items()));
    if (work_.launches.empty()) throw_user("the kernel '", k.name, "' emitted no launch");
    return std::move(work_);
  }

 private:
  size_t scratch(size_t bytes) {
    size_t align = machine_.alignment();
    work_.scratch.push_back(work_.scratch_bytes);
    work_.scratch_bytes += (std::max<size_t>(bytes, 1) + align - 1) / align * align;
    return work_.scratch.size() - 1;
  }

  void launch(const graft_launch& given) {
    graft_launch l = copy_record(&given, GRAFT_LAUNCH_MIN_SIZE, "a launch");
    OpenclLaunch out;
    out.custom = !kernel_.source->built_in();
    out.entry = view(l.entry), out.options = view(l.options);
    work_.may_overwrite = work_.may_overwrite && !out.custom && work_.launches.empty();
    for (size_t i = 0; i < 3 && l.global[i]; ++i) out.global.push_back(l.global[i]);
    for (size_t i = 0; i < 3 && l.local[i]; ++i) out.local.push_back(l.local[i]);
    // A work size of 0 in a used dimension: nothing to compute.
    if (out.global.empty()) out.global.push_back(0);
    check_sizes(out);
    out.source = source_of(l, out);
    std::vector<OpenclLaunch> after;
    for (size_t i = 0; i < l.argument_count; ++i) out.arguments.push_back(argument(l.arguments[i], after));
    work_.launches.push_back(std::move(out));
    for (OpenclLaunch& a : after) work_.launches.push_back(std::move(a));
  }

  void formula(const graft_formula& given) {
    graft_formula f = copy_record(&given, GRAFT_FORMULA_MIN_SIZE, "a formula");
    const Info& y = *context_.outputs.at(0);
    check_formula_type(y.type);
    OpenclFormula& out = work_.formula.emplace();
    out.dims = y.shape.values();
    if (count_checked(out.dims) > INT32_MAX) throw_unsupported("the GPU kernels count with 32 bits, got ", y);
    OpenclFormula::Part& part = out.parts.emplace_back();
    part.functions = view(f.functions), part.statements = view(f.statements), part.result = view(f.result);
    part.type = y.type, part.in_double = f.flags & GRAFT_FORMULA_DOUBLE;
    if (part.in_double && !machine_.has_f64())
      throw_unsupported("the formula computes in double, which ", machine_.name(), " does not");
    size_t rank = out.dims.size();
    if (f.strides && f.stride_count != f.input_count * rank)
      throw_user("expected ", f.input_count * rank, " strides, got ", f.stride_count);
    for (size_t i = 0; i < f.input_count; ++i) {
      if (i >= context_.inputs().size() || !context_.inputs()[i]) throw_unsupported("the node has no input ", i);
      const Info& x = *context_.inputs()[i];
      check_formula_type(x.type);
      OpenclFormula::Load load{i, x.type, {}};
      if (f.strides) load.strides.assign(f.strides + i * rank, f.strides + (i + 1) * rank);
      else load.strides = broadcast_strides(x.shape.values(), out.dims);
      part.operands.push_back({false, out.loads.size()});
      out.loads.push_back(std::move(load));
    }
    if (f.strides && !kernel_.source->built_in()) work_.may_overwrite = false;
  }
  static void check_formula_type(DType t) {
    if (t != DType::boolean && (!is_real(t) || bits_of(t) < 16))
      throw_unsupported("a formula takes floating-point numbers and booleans, got ", t);
  }

  void check_sizes(const OpenclLaunch& l) const {
    if (l.local.empty() || l.empty()) return;
    if (l.local.size() != l.global.size())
      throw_user("expected as many local work sizes as global ones, got ", l.local.size(), " and ", l.global.size());
    size_t items = 1;
    for (size_t i = 0; i < l.local.size(); ++i) {
      items *= l.local[i];
      if (l.global[i] % l.local[i])
        throw_user("the global work size ", l.global[i], " is not a multiple of the local work size ", l.local[i]);
    }
    if (items > machine_.most_work_items())
      throw_user("expected at most ", machine_.most_work_items(), " work items in a group on ", machine_.name(),
                 ", got ", items);
  }

  std::string source_of(const graft_launch& l, const OpenclLaunch& sizes) const {
    std::string out;
    if (l.flags & GRAFT_LAUNCH_MACROS) out += custom_layer_macros(context_, l, sizes);
    for (size_t i = 0; i < l.define_count; ++i) {
      std::string value(view(l.defines[i].value));
      std::replace(value.begin(), value.end(), '\n', ' ');
      out += text("#define ", l.defines[i].name, value.empty() ? "" : " ", value, "\n");
    }
    for (size_t i = 0; i < l.source_count; ++i) {
      std::string_view file = view(l.sources[i].file);
      out += text("#line 1 \"", file.empty() ? text("kernel ", kernel_.record->name) : in_quotes(file), "\"\n",
                  l.sources[i].text, "\n");
    }
    return out;
  }

  graft_argument argument(graft_argument a, std::vector<OpenclLaunch>& after) {
    bool input = a.kind == GRAFT_ARGUMENT_INPUT, output = a.kind == GRAFT_ARGUMENT_OUTPUT;
    if (input && (a.index >= context_.inputs().size() || !context_.inputs()[a.index]))
      throw_unsupported("the node has no input ", a.index);
    if (output && a.index >= context_.outputs.size()) throw_unsupported("the node has no output ", a.index);
    if (a.kind == GRAFT_ARGUMENT_SCRATCH && a.index >= work_.scratch.size())
      throw_user("there is no scratch memory ", a.index);
    if (a.kind < GRAFT_ARGUMENT_INPUT || a.kind > GRAFT_ARGUMENT_FLOAT) throw_user("unknown kind of argument ", a.kind);
    if ((!input && !output) || a.format == GRAFT_BFYX) return a;
    if (a.format < 0 || a.format > GRAFT_FYXB) throw_user("unknown format ", a.format);
    const Info& info = input ? *context_.inputs()[a.index] : *context_.outputs[a.index];
    std::vector<int64_t> dims = info.shape.values();
    size_t copy = scratch(bytes_for(info.type, count_checked(dims)));
    graft_argument in_format{GRAFT_ARGUMENT_SCRATCH, 0, copy, 0, 0}, plain = a;
    plain.format = GRAFT_BFYX;
    if (input) work_.launches.push_back(reorder(info, a.format, plain, in_format, false));
    else after.push_back(reorder(info, a.format, in_format, plain, true));
    return in_format;
  }

  OpenclLaunch reorder(const Info& info, int32_t format, graft_argument from, graft_argument to, bool backwards) const {
    static constexpr std::string_view words[] = {"uchar", "ushort", "uint", "ulong"};
    std::vector<int64_t> dims = bfyx_dims(info.shape.values()), pitches = bfyx_pitches(dims, format);
    size_t log = bits_of(info.type) == 8 ? 0 : bits_of(info.type) == 16 ? 1 : bits_of(info.type) == 32 ? 2 : 3;
    OpenclLaunch l;
    l.source = text("#define ELEMENT ", words[log], "\n", reorder_source);
    l.entry = "reorder";
    l.global = {static_cast<size_t>(count_checked(dims))};
    l.arguments = {from, to};
    for (int64_t v : {dims[1], dims[2], dims[3], pitches[0], pitches[1], pitches[2], pitches[3], int64_t{backwards}})
      l.arguments.push_back({GRAFT_ARGUMENT_INT, 0, 0, v, 0});
    return l;
  }

  const OpenclMachine& machine_;
  NodeContext& context_;
  const SourceKernelDef& kernel_;
  OpenclWork work_;
};

// Calls `attempt` for the kernels of the node until one does not decline.
template <class F>
void first_kernel(const std::string& device, const OpenclNode& node, Choice& choice, F&& attempt) {
  const Node& n = node.graph[node.id];
  if (!n.bodies.empty()) throw_unsupported("operations with bodies do not run on ", device);
  Candidates<SourceKernelDef> kernels;
  kernels.add(node.registry.source_kernels(node.op, device));
  if (kernels.empty())
    throw_unsupported("operation ", node.op.name(), " has no ", device, " kernel",
                      node.op.has(GRAFT_OP_ELEMENTWISE) && !node.op.source->built_in()
                          ? "; its formula takes plain numbers, so it cannot be translated"
                          : "");
  NodeContext context(n, input_infos(node.graph, n));
  for (const Output& o : n.outputs) context.outputs.push_back(o.info);
  context.constants = node.constants;
  bool found = kernels.first([&](const SourceKernelDef& k) {
    if (k.source->built_in()) return attempt(context, k);
    with_context([&] { attempt(context, k); },
                 [&] { return text("using the kernel '", k.record->name, "' of '", k.source->title(), "'"); });
  });
  if (!found) throw_unsupported("no ", device, " kernel accepts ", node.op.name(), ": ", to_text(kernels.declined));
  choice.device = device, choice.kernel = kernels.name();
  choice.declined = std::move(kernels.declined);
}

}  // namespace

void check_element_type(const OpenclMachine& machine, DType type) {
  if (type == DType::undefined) throw_unsupported("an element type is unknown");
  if (type == DType::string || bits_of(type) < 8 || (is_real(type) && bits_of(type) < 16))
    throw_unsupported(machine.name(), " has no elements of ", type);
  if (type == DType::f64 && !machine.has_f64()) throw_unsupported(machine.name(), " has no elements of f64");
}

OpenclWork emit_node(const OpenclMachine& machine, const std::string& device, const OpenclNode& node, Choice& choice) {
  OpenclWork out;
  const Node& n = node.graph[node.id];
  for (ValueId v : n.inputs)
    if (v.present()) check_element_type(machine, node.graph.info(v).type);
  for (const Output& o : n.outputs) check_element_type(machine, o.info.type);
  first_kernel(device, node, choice,
               [&](NodeContext& context, const SourceKernelDef& k) { out = Emission(machine, context, k).run(); });
  return out;
}

void accept_node(const std::string& device, const OpenclNode& node, Choice& choice) {
  first_kernel(device, node, choice, [](NodeContext& context, const SourceKernelDef& k) { ask(*k.record, context); });
}

}  // namespace graft
