#include "import/read_extension.hpp"

#include <filesystem>

#include "base/file.hpp"
#include "base/text.hpp"
#include "import/raw_edit.hpp"
#include "import/raw_passes.hpp"
#include "schema/host.hpp"

namespace graft {
namespace {

graft_model_file record_of(const std::string& path, std::string_view content, bool folder) {
  graft_model_file f{};
  f.size = sizeof f;
  f.flags = folder ? GRAFT_MODEL_FOLDER : 0;
  f.path = str(path), f.content = str(content);
  return f;
}

bool recognizes(const ReaderDef& def, const ModelCandidate& c) {
  graft_model_file file = record_of(c.path, c.bytes, c.folder);
  int32_t found = 0;
  with_context([&] { check_callback(def.record->recognize(&file, def.record->user, &found)); },
               [&] {
                 return text("asking the reader of ", def.record->framework, " of '", def.source->title(), "' about '",
                             c.path, "'");
               });
  return found != 0;
}

// Calls the reader, which changes an empty model as a raw pass changes a full one, and verifies the result.
void build(const ReaderDef& def, RawModel& model, const std::vector<std::string>& files, const Limits& limits) {
  const graft_reader& reader = *def.record;
  std::vector<std::shared_ptr<const MappedFile>> open;
  std::vector<graft_model_file> records;
  for (const std::string& path : files) {
    std::error_code ec;
    bool folder = std::filesystem::is_directory(path, ec);
    if (!folder) open.push_back(MappedFile::open(path));
    records.push_back(record_of(path, folder ? std::string_view() : open.back()->chars(), folder));
  }
  std::vector<const graft_model_file*> list;
  for (const graft_model_file& f : records) list.push_back(&f);
  std::vector<bool> no_replacements;
  RawEdit edit(model, nullptr, no_replacements, limits);
  check_callback(reader.read(&edit, list.data(), list.size(), reader.user));
  std::vector<std::string> names = edit.new_names();
  edit.finish("");
  if (model.graph.outputs.empty()) throw_user("expected at least one output of the model, got none");
  verify_raw(model.graph, names);
}

RawModel read_model_of(const ReaderDef& def, const std::vector<std::string>& files, const Limits& limits) {
  const graft_reader& reader = *def.record;
  FrameworkTraits traits = traits_of(reader);
  RawModel m;
  m.framework = traits.name, m.conventions = traits.conventions, m.path = files[0];
  if (reader.position_unit.size) m.position_unit = view(reader.position_unit);
  m.first_output = view(reader.first_output);
  with_context([&] { build(def, m, files, limits); },
               [&] { return text("reading the ", traits.title, " model with '", def.source->title(), "'"); });
  return m;
}

}  // namespace

std::vector<Framework> frameworks_of(const Registry& registry) {
  std::vector<Framework> out;
  for (const ReaderDef& def : registry.readers())
    out.push_back({.traits = traits_of(*def.record),
                   .recognize = [def](const ModelCandidate& c) { return recognizes(def, c); },
                   .read = [def](const std::vector<std::string>& files, const ReadOptions&,
                                 const Limits& limits) { return read_model_of(def, files, limits); }});
  for (const Framework& f : built_in_frameworks()) out.push_back(f);
  return out;
}

}  // namespace graft
