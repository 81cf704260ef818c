// graft extgen check: validates the .xml files of GPU and VPU kernels and looks at their sources.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <graft/app/kernel_files.hpp>

#include "command.hpp"

namespace graft::cli {
namespace {

namespace fs = std::filesystem;

// Whether a file of a folder describes kernels: its root element is theirs, not that of an IR or a mapping file.
bool describes_kernels(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string head(64 << 10, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<size_t>(file.gcount()));
  size_t at = 0;
  while ((at = head.find('<', at)) != head.npos) {
    std::string_view rest = std::string_view(head).substr(at);
    if (rest.starts_with("<!--")) at = head.find("-->", at);
    else if (rest.starts_with("<?") || rest.starts_with("<!")) at = head.find('>', at);
    else {
      std::string_view name = rest.substr(1, rest.find_first_of(" \t\r\n/>") - 1);
      return name != "net" && !name.starts_with("CustomLayersMapping") && !name.starts_with("CustomKernelsMapping");
    }
    if (at == head.npos) break;
  }
  return true;  // the check says what is wrong
}

// The .xml files of a folder and of the folders below it that describe kernels.
std::vector<std::string> kernel_files_of(const std::string& path) {
  if (!fs::exists(path)) throw UsageError(text("file not found: '", path, "'"));
  if (!fs::is_directory(path)) return {path};
  std::vector<std::string> out;
  for (const fs::directory_entry& e : fs::recursive_directory_iterator(path))
    if (e.is_regular_file() && extension_of(e.path().string()) == ".xml" && describes_kernels(e.path()))
      out.push_back(e.path().lexically_normal().string());
  std::sort(out.begin(), out.end());
  if (out.empty()) throw UsageError(text("'", path, "' has no .xml file of kernels"));
  return out;
}

nlohmann::json layer_json(const std::string& file, const KernelLayer& l) {
  return {{"file", file},       {"line", l.line},       {"layer", l.name},
          {"device", l.device}, {"kernels", l.kernels}, {"sources", l.sources}};
}

void check_files(const std::vector<std::string>& paths, bool json) {
  nlohmann::json list = nlohmann::json::array();
  for (const std::string& path : paths)
    for (const std::string& file : kernel_files_of(path))
      for (const KernelLayer& l : check_kernel_file(file)) {
        if (json) list.push_back(layer_json(file, l));
        else
          std::printf("%s:%zu: %s, %s: %s\n", file.c_str(), l.line, l.name.c_str(), l.device.c_str(),
                      join(l.kernels, ", ").c_str());
      }
  if (json) print_json(list);
}

}  // namespace

void add_extgen_check(CLI::App& extgen) {
  auto paths = std::make_shared<std::vector<std::string>>();
  auto json = std::make_shared<bool>(false);
  CLI::App* c = extgen.add_subcommand("check", "check the .xml and .cl files of GPU and VPU kernels");
  c->add_option("files", *paths, ".xml files, or directories that contain them")->type_name("PATH")->required();
  c->add_flag("--json", *json, "print JSON");
  c->callback([=] { check_files(*paths, *json); });
}

}  // namespace graft::cli
