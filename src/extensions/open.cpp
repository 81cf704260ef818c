#include "extensions/open.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "extensions/build.hpp"
#include "extensions/custom_layers.hpp"

namespace graft {
namespace {

namespace fs = std::filesystem;
using RecordList = std::vector<std::shared_ptr<const Records>>;

constexpr std::array optimizer_folders{"ops", "front", "middle", "back"};

bool is_optimizer_folder(const fs::path& path) {
  std::error_code ec;
  return std::any_of(optimizer_folders.begin(), optimizer_folders.end(),
                     [&](const char* part) { return fs::is_directory(path / part, ec); });
}

RecordList open_project(const std::string& path, const ToolOutput& output) {
  RecordList out;
  for (const std::string& library : build_project(*project_in(path), output)) {
    for (auto& records : open_extension(library)) out.push_back(std::move(records));
  }
  return out;
}

// The context of errors; those of a build name the folder themselves, those of files of custom layers the file as the
// user names it.
template <auto load>
RecordList open_one(const std::string& path, const ToolOutput&) {
  return with_context([&] { return RecordList{load(fs::canonical(path).string())}; },
                      [&] { return text("loading the extension '", path, "'"); });
}
RecordList open_xml(const std::string& path, const ToolOutput&) { return {open_custom_layers(path)}; }

// What an extension may be. The first kind that a path is of is taken.
struct Kind {
  ExtensionKind kind;
  bool folder;
  bool (*is)(const fs::path&);
  RecordList (*open)(const std::string& path, const ToolOutput& output);
};
constexpr Kind kinds[] = {
    {ExtensionKind::project, true, [](const fs::path& p) { return project_in(p.string()).has_value(); }, open_project},
    {ExtensionKind::model_optimizer, true, is_optimizer_folder, open_one<load_python>},
    {ExtensionKind::custom_layers, false, [](const fs::path& p) { return extension_of(p.string()) == ".xml"; },
     open_xml},
    {ExtensionKind::python, false, [](const fs::path& p) { return extension_of(p.string()) == ".py"; },
     open_one<load_python>},
    {ExtensionKind::library, false, [](const fs::path&) { return true; }, open_one<load_library>},
};

[[noreturn]] void refuse_folder(const fs::path& folder) {
  constexpr size_t most = 8, most_looked_at = 1000;
  std::vector<std::string> found;
  std::error_code ec;
  for (const auto& e : fs::directory_iterator(folder, ec)) {
    if (found.size() > most_looked_at) break;
    found.push_back(e.path().filename().string());
  }
  std::sort(found.begin(), found.end());
  bool more = found.size() > most;
  if (more) found.resize(most);
  throw Error(ErrorKind::user,
              text("expected a folder with ops/, front/, middle/ or back/ as an extension, got one with ",
                   found.empty() ? "no files" : join(found, ", "), more ? ", ..." : ""),
              "name a shared library, a Python file, a folder with CMakeLists.txt, or the folder that holds those "
              "folders");
}

const Kind& find_kind(const std::string& path) {
  return *with_context(
      [&] {
        std::error_code ec;
        // An absolute path keeps dlopen from searching elsewhere.
        fs::path full = fs::canonical(path, ec);
        if (ec) throw_io("cannot open '", path, "': ", ec.message());
        bool folder = fs::is_directory(full, ec);
        for (const Kind& k : kinds)
          if (k.folder == folder && k.is(full)) return &k;
        refuse_folder(full);
      },
      [&] { return text("loading the extension '", path, "'"); });
}

}  // namespace

ExtensionKind kind_of_extension(const std::string& path) { return find_kind(path).kind; }

std::vector<std::shared_ptr<const Records>> open_extension(const std::string& path, const ToolOutput& output) {
  return find_kind(path).open(path, output);
}

}  // namespace graft
