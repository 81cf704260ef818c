#include "readers/kernel_sources.hpp"

#include <algorithm>
#include <filesystem>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "readers/cl_source.hpp"

namespace graft {
namespace {

constexpr size_t largest_kernel_source = size_t{64} << 20;

bool is_compiled_kernel(const std::string& path) { return to_lower(path).ends_with(".bin"); }

}  // namespace

std::vector<std::string> kernel_source_paths(const std::string& xml, const KernelStage& stage) {
  std::string folder = folder_of(xml);
  std::vector<std::string> out;
  for (const std::string& name : stage.sources)
    out.push_back(name.starts_with('/') || folder.empty() ? name : text(folder, "/", name));
  return out;
}

std::optional<std::vector<KernelText>> read_kernel_sources(const std::string& xml, const KernelStage& stage) {
  std::vector<KernelText> out;
  for (std::string path : kernel_source_paths(xml, stage)) {
    if (is_compiled_kernel(path)) {
      std::string beside = path.substr(0, path.size() - 4) + ".cl";
      std::error_code ec;
      if (std::filesystem::exists(beside, ec)) path = beside;
      else if (std::filesystem::exists(path, ec)) return std::nullopt;
    }
    try {
      out.push_back({read_text_file(path, largest_kernel_source), path});
    } catch (const Error& e) {
      throw Error(ErrorKind::io, text(xml, ":", stage.at, ": ", e.message()));
    }
  }
  return out;
}

void check_kernel_arguments(const std::string& xml, const KernelStage& s, KernelDevice device,
                            const std::vector<KernelText>& sources) {
  std::string code;
  for (const KernelText& k : sources) code += k.text + "\n";
  auto found = kernel_arguments(code, s.entry);
  if (!found) {
    std::vector<std::string> functions = kernel_functions(code);
    throw_user(xml, ':', s.at, ": the sources define no kernel '", s.entry, "'",
               functions.empty() ? "" : text(", they define ", join(functions, ", ")));
  }
  if (device == KernelDevice::gpu) {
    if (found->size() != s.arguments.size())
      throw_user(xml, ':', s.at, ": kernel '", s.entry, "' has ", found->size(), " arguments, <Buffers> describes ",
                 s.arguments.size());
    return;
  }
  for (const KernelArgument& a : s.arguments)
    if (std::find(found->begin(), found->end(), a.name) == found->end())
      throw_user(xml, ':', a.at, ": kernel '", s.entry, "' has no argument '", a.name, "'");
  for (const std::string& name : *found)
    if (std::none_of(s.arguments.begin(), s.arguments.end(), [&](const KernelArgument& a) { return a.name == name; }))
      throw_user(xml, ':', s.at, ": the argument '", name, "' of kernel '", s.entry, "' is not described");
}

}  // namespace graft
