#include "import/read_extension.hpp"

#include <deque>
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

// What graft_model_file lists: options that the host does not apply itself.
class OptionList {
 public:
  explicit OptionList(const ReadOptions& options) {
    each_option(options, [&](const auto& row, const auto& value) {
      using T = std::remove_cvref_t<decltype(value)>;
      if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::string> ||
                    std::is_same_v<T, std::vector<std::string>>)
        if (is_given(value)) add(row.name, value);
    });
  }
  std::span<const graft_named_value> values() const { return values_; }

 private:
  void add(std::string_view name, Attribute value) {
    Kept& k = kept_.emplace_back();
    k.value = std::move(value);
    values_.push_back({str(name), k.value.raw(k.texts, k.types)});
  }
  struct Kept {
    Attribute value;
    std::vector<graft_str> texts;
    std::vector<graft_type> types;
  };
  std::deque<Kept> kept_;
  std::vector<graft_named_value> values_;
};

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
void build(const ReaderDef& def, RawModel& model, const std::vector<std::string>& files, const ReadOptions& options,
           const Limits& limits) {
  OptionList listed(options);
  const graft_reader& reader = *def.record;
  std::vector<std::shared_ptr<const MappedFile>> open;
  std::vector<graft_model_file> records;
  for (const std::string& path : files) {
    std::error_code ec;
    bool folder = std::filesystem::is_directory(path, ec);
    if (!folder) open.push_back(MappedFile::open(path));
    graft_model_file& f =
        records.emplace_back(record_of(path, folder ? std::string_view() : open.back()->chars(), folder));
    f.options = listed.values().data(), f.option_count = listed.values().size();
  }
  std::vector<const graft_model_file*> list;
  for (const graft_model_file& f : records) list.push_back(&f);
  std::vector<bool> no_replacements;
  RawEdit edit(model, nullptr, no_replacements, limits);
  check_callback(reader.read(&edit, list.data(), list.size(), reader.user));
  std::vector<std::string> names = edit.new_names();
  edit.finish("");
  if (model.graph.outputs.empty()) throw_user("expected at least one output of the model, got none");
  verify_raw(model, names,
             {.hint = "inputs are declared with set_inputs, constants with add_constant", .places = true});
}

RawModel read_model_of(const ReaderDef& def, const std::vector<std::string>& files, const ReadOptions& options,
                       const Limits& limits) {
  const graft_reader& reader = *def.record;
  FrameworkTraits traits = traits_of(reader);
  RawModel m;
  m.framework = traits.name, m.conventions = traits.conventions, m.path = files[0];
  if (reader.position_unit.size) m.position_unit = view(reader.position_unit);
  m.first_output = view(reader.first_output);
  with_context([&] { build(def, m, files, options, limits); },
               [&] { return text("reading the ", traits.title, " model with '", def.source->title(), "'"); });
  return m;
}

}  // namespace

std::vector<Framework> frameworks_of(const Registry& registry) {
  std::vector<Framework> out;
  for (const ReaderDef& def : registry.readers())
    out.push_back({.traits = traits_of(*def.record),
                   .recognize = [def](const ModelCandidate& c) { return recognizes(def, c); },
                   .read = [def](const std::vector<std::string>& files, const ReadOptions& options,
                                 const Limits& limits) { return read_model_of(def, files, options, limits); }});
  for (const Framework& f : built_in_frameworks()) out.push_back(f);
  return out;
}

}  // namespace graft
