#include "devices/vpu/source.hpp"

#include "base/text.hpp"
#include "devices/opencl/machine.hpp"
#include "devices/vpu/prelude.hpp"

namespace graft {
namespace {

enum class Half { extension, other_type, none };

// Compilers based on Clang have _Float16 also where the device does not announce cl_khr_fp16.
Half find_half() {
  auto found = OpenclMachine::find();
  OpenclMachine** machine = std::get_if<OpenclMachine*>(&found);
  if (!machine) return Half::none;
  if ((*machine)->has_f16()) return Half::extension;
  try {
    (*machine)->build("__kernel void probe(__global _Float16* p) { p[0] = p[0] * (_Float16)2; }\n", "");
    return Half::other_type;
  } catch (const Error&) {
    return Half::none;
  }
}

Half half_support() {
  static const Half found = find_half();
  return found;
}

void check_same_arguments(const std::string& xml, const KernelStage& stage, const std::string& name,
                          const ClFunction& f, const ClFunction& kernel) {
  if (f.arguments.size() != kernel.arguments.size())
    throw_user(xml, ":", stage.at, ": '", name, "' has ", f.arguments.size(), " arguments, expected the ",
               kernel.arguments.size(), " of '", stage.entry, "'");
  for (size_t i = 0; i < f.arguments.size(); ++i) {
    const ClArgument &a = f.arguments[i], &b = kernel.arguments[i];
    if (a.type != b.type || a.space != b.space || a.pointer != b.pointer)
      throw_user(xml, ":", stage.at, ": argument '", a.name, "' of '", name, "' has another type than '", b.name,
                 "' of '", stage.entry, "'");
  }
}

// A kernel that copies into local memory before the user's kernel, and out of it afterwards.
Launch::Source dma_wrapper(const std::string& entry, const ClFunction& kernel, const std::string& before,
                           const std::string& after) {
  std::vector<std::string> names;
  for (const ClArgument& a : kernel.arguments) names.push_back(a.name);
  std::string arguments = text("(", join(names, ", "), ");\n");
  std::string wait = "  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);\n";
  return {text("__kernel void graft_dma_", entry, "(", kernel.parameters, ") {\n",
               before.empty() ? "" : text("  ", before, arguments, wait), "  ", entry, arguments,
               after.empty() ? "" : text(wait, "  ", after, arguments), "}\n"),
          text("manual DMA of ", entry)};
}

}  // namespace

VpuSource vpu_source(const std::string& xml, const KernelStage& stage, const std::vector<KernelText>& files) {
  VpuSource out;
  std::string code;
  for (const KernelText& f : files) {
    code += f.text + "\n";
    out.sources.push_back({f.text, f.file});
  }
  std::optional<ClFunction> kernel = cl_function(code, stage.entry);
  if (!kernel) throw_user(xml, ":", stage.at, ": the sources define no kernel '", stage.entry, "'");
  out.entry = stage.entry;
  out.arguments = kernel->arguments;
  std::string before, after;
  for (auto [name, which] : {std::pair("__dma_preload_", &before), std::pair("__dma_postwrite_", &after)}) {
    std::string function = name + stage.entry;
    std::optional<ClFunction> f = cl_function(code, function);
    if (!f) continue;
    check_same_arguments(xml, stage, function, *f, *kernel);
    *which = function;
  }
  out.dma = !before.empty() || !after.empty();
  if (!out.dma) return out;
  out.sources.push_back(dma_wrapper(stage.entry, *kernel, before, after));
  out.entry = text("graft_dma_", stage.entry);
  return out;
}

std::vector<Launch::Source> vpu_sources_for_machine(const VpuSource& source) {
  bool half = false, vectors = false, dma = false;
  for (const Launch::Source& s : source.sources) {
    half = half || s.text.find("half") != s.text.npos;
    for (const char* v : {"half2", "half3", "half4", "half8", "half16"})
      vectors = vectors || s.text.find(v) != s.text.npos;
    dma = dma || s.text.find("Dma") != s.text.npos;
  }
  std::string prelude;
  std::vector<Launch::Source> out;
  if (half) {
    Half support = half_support();
    if (support == Half::none)
      unsupported("the kernel uses half, which OpenCL's device does not have (cl_khr_fp16, or _Float16)");
    prelude += support == Half::extension ? vpu_half_extension : vpu_half_type;
    if (support == Half::other_type && vectors) prelude += vpu_half_vectors;
    for (const Launch::Source& s : source.sources)
      out.push_back({support == Half::other_type ? without_half_syntax(s.text) : s.text, s.file});
  } else {
    out = source.sources;
  }
  if (dma) prelude += vpu_dma;
  if (!prelude.empty()) out.insert(out.begin(), {prelude, "functions of the VPU"});
  return out;
}

}  // namespace graft
