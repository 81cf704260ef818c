#include "generate.hpp"

#include <graft/text.hpp>
#include <set>

#include "command.hpp"
#include "names.hpp"

namespace graft::cli::extgen {
namespace {

void add_packages(Generated& out) {
  std::vector<std::string> packages = {"", "/ops", "/front"};
  for (Framework f : all_frameworks) packages.push_back(text("/front/", folder_of(f)));
  for (const std::string& p : packages) {
    out.folders.push_back("user_mo_extensions" + p);
    out.files.push_back({text("user_mo_extensions", p, "/__init__.py"), ""});
  }
}

void add(Generated& out, std::vector<GeneratedFile> files, const std::string& what) {
  std::string folder = files[0].path.substr(0, files[0].path.rfind('/'));
  out.summary.emplace_back(what, folder);
  for (GeneratedFile& f : files) out.files.push_back(std::move(f));
}

}  // namespace

Generated generate(const Specification& spec) {
  Generated out;
  if (spec.extractors.empty() && !spec.operation && spec.kernels.empty()) throw UsageError("nothing to generate");
  if (!spec.extractors.empty() || spec.operation) add_packages(out);
  if (!spec.kernels.empty())
    for (Device d : all_devices) out.folders.push_back(text("user_ie_extensions/", folder_of(d)));
  for (const Kernel& k : spec.kernels)
    if (k.device == Device::cpu) out.folders.emplace_back("user_ie_extensions/cpu/common");
  for (const Extractor& e : spec.extractors) add(out, extractor_files(e), text(name_of(e.framework), " extractor"));
  if (spec.operation) {
    const Extractor* caffe = spec.find(Framework::caffe);
    add(out, operation_files(*spec.operation, caffe && caffe->special), "operation");
  }
  for (const Kernel& k : spec.kernels) add(out, kernel_files(k), text(name_of(k.device), " extension"));
  return out;
}

}  // namespace graft::cli::extgen
