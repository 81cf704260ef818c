// The options of an application, translated for the importer: files that they name are read here.
#include <algorithm>
#include <filesystem>

#include "base/request.hpp"
#include "base/text.hpp"
#include "import/mapping.hpp"
#include "import/replace_config.hpp"
#include "readers/tensorflow/checkpoint_state.hpp"
#include "toolkit/read.hpp"

namespace graft {
namespace {

void require_file(const std::string& path) {
  std::error_code ec;
  if (!std::filesystem::is_regular_file(path, ec)) throw RequestError(text("file not found: '", path, "'"));
}

// "folder/model.ckpt", its .index, its .data-00000-of-00001, TensorFlow's file "folder/checkpoint" that names one, or a
// folder with one checkpoint or such a file.
std::string checkpoint_index(const std::string& given) {
  namespace fs = std::filesystem;
  std::error_code ec;
  if (fs::is_directory(given, ec)) {
    std::vector<std::string> found;
    for (const auto& e : fs::directory_iterator(given, ec))
      if (e.path().extension() == ".index") found.push_back(e.path().string());
    std::sort(found.begin(), found.end());
    if (std::string state = given + "/checkpoint"; found.size() > 1 && fs::is_regular_file(state, ec))
      return read_checkpoint_state(state);
    if (found.size() != 1)
      throw RequestError(text("expected one checkpoint in the directory '", given, "', got ", found.size()),
                         found.empty() ? "" : text("use one of ", join(found, ", ")));
    return found[0];
  }
  std::string base = given;
  if (size_t at = base.rfind(".data-"); at != base.npos) base.resize(at);
  std::string index = base.ends_with(".index") ? base : base + ".index";
  if (!fs::is_regular_file(index, ec) && fs::is_regular_file(given, ec)) return read_checkpoint_state(given);
  if (!fs::is_regular_file(index, ec))
    throw RequestError(text("checkpoint not found: '", given, "'"), text("expected the file ", index));
  return index;
}

}  // namespace

ImportOptions import_options(const ReadOptions& o) {
  ImportOptions out;
  out.read = o;
  if (!o.checkpoint.empty()) out.read.checkpoint = checkpoint_index(o.checkpoint);
  if (!o.counts.empty()) require_file(o.counts);
  out.input_shapes = o.shapes;
  out.input_types = o.types;
  for (const auto& [name, length] : o.items) out.input_forms[name].length = length;
  for (const std::string& name : o.absent) out.input_forms[name].absent = true;
  out.input_values = o.constants;
  if (!o.mapping.empty()) {
    require_file(o.mapping);
    auto mapping = std::make_shared<LayerMapping>(read_mapping(o.mapping));
    mapping->nested_names = o.nested_names;
    out.mapping = std::move(mapping);
  }
  if (!o.replacements.empty()) {
    require_file(o.replacements);
    out.replacements = std::make_shared<ReplacementConfig>(read_replacements(o.replacements));
  }
  out.limits = changed_limits(o.limits);
  if (!o.limits.count("nodes")) out.limits.nodes = nodes_by_size;
  return out;
}

}  // namespace graft
