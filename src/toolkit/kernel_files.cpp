#include <algorithm>
#include <graft/kernel_files.hpp>

#include "base/file.hpp"
#include "base/text.hpp"
#include "readers/cl_source.hpp"
#include "readers/kernel_xml.hpp"
#include "toolkit/border.hpp"

namespace graft {
namespace {

constexpr size_t largest_source = size_t{64} << 20;

std::string source_path(const std::string& file, const std::string& name) {
  if (name.starts_with('/')) return name;
  std::string folder = folder_of(file);
  return folder.empty() ? name : text(folder, "/", name);
}

bool is_compiled(const std::string& source) { return to_lower(source).ends_with(".bin"); }

void check_arguments(const std::string& file, const KernelStage& s, bool by_index, const std::string& code) {
  auto found = kernel_arguments(code, s.entry);
  if (!found) {
    std::vector<std::string> functions = kernel_functions(code);
    throw_user(file, ':', s.line, ": the sources define no kernel '", s.entry, "'",
               functions.empty() ? "" : text(", they define ", join(functions, ", ")));
  }
  if (by_index) {
    if (found->size() != s.arguments.size())
      throw_user(file, ':', s.line, ": kernel '", s.entry, "' has ", found->size(), " arguments, <Buffers> describes ",
                 s.arguments.size());
    return;
  }
  for (const KernelArgument& a : s.arguments)
    if (std::find(found->begin(), found->end(), a.name) == found->end())
      throw_user(file, ':', a.line, ": kernel '", s.entry, "' has no argument '", a.name, "'");
  for (const std::string& name : *found)
    if (std::none_of(s.arguments.begin(), s.arguments.end(), [&](const KernelArgument& a) { return a.name == name; }))
      throw_user(file, ':', s.line, ": the argument '", name, "' of kernel '", s.entry, "' is not described");
}

KernelLayer check_layer(const std::string& file, const KernelDescription& d) {
  KernelLayer out{d.layer, d.device == KernelDevice::gpu ? "GPU" : "VPU", d.line, {}, {}};
  for (const KernelStage& s : d.stages) {
    std::string code;
    bool compiled = false;
    for (const std::string& name : s.sources) {
      std::string path = source_path(file, name);
      out.sources.push_back(path);
      compiled |= is_compiled(path);
      try {
        code += read_text_file(path, largest_source) + "\n";
      } catch (const Error& e) {
        throw Error(ErrorKind::io, text(file, ":", s.line, ": ", e.message()));
      }
    }
    if (!compiled) check_arguments(file, s, d.device == KernelDevice::gpu, code);
    out.kernels.push_back(s.entry);
  }
  return out;
}

}  // namespace

std::vector<KernelLayer> check_kernel_file(const std::string& path) {
  return at_border([&] {
    std::vector<KernelLayer> out;
    for (const KernelDescription& d : read_kernel_xml(path)) out.push_back(check_layer(path, d));
    return out;
  });
}

}  // namespace graft
