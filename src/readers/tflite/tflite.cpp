#include "readers/tflite/tflite.hpp"

#include <algorithm>

#include "base/file.hpp"
#include "base/request.hpp"
#include "base/text.hpp"
#include "readers/tflite/assemble.hpp"

namespace graft {
namespace tflite_reading {
namespace {

std::string list_of(const std::vector<std::pair<std::string, uint32_t>>& all) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : all) names.push_back(name);
  return names.empty() ? "nothing" : join(names, ", ");
}

const TfliteSignature* chosen(const TfliteModel& m, const std::string& name) {
  if (name.empty()) return nullptr;
  std::string list;
  for (const TfliteSignature& s : m.signatures) {
    if (s.name == name) return &s;
    list += text("\n  ", s.name, ": ", list_of(s.inputs), " -> ", list_of(s.outputs));
  }
  throw RequestError(text("the model has no signature '", name, "'"),
                     list.empty() ? "it has no signatures" : "its signatures are" + list);
}

}  // namespace
}  // namespace tflite_reading

bool looks_like_tflite(std::string_view bytes) { return bytes.size() >= 8 && bytes.substr(4, 4) == "TFL3"; }

RawModel read_tflite(std::string_view bytes, std::shared_ptr<const void> keeper, const ReadOptions& request,
                     const Limits& limits) {
  if (!looks_like_tflite(bytes)) throw_user("expected the identifier TFL3 at byte 4 of a TensorFlow Lite model");
  TfliteModel model(bytes, std::move(keeper), limits);
  return assemble_tflite(model, tflite_reading::chosen(model, request.signature), limits);
}

RawModel read_tflite(const std::string& path, const ReadOptions& request, const Limits& limits) {
  return with_context(
      [&] {
        auto file = MappedFile::open(path);
        RawModel m = read_tflite(file->chars(), file, request, limits);
        m.path = path;
        return m;
      },
      [&] { return text("reading '", path, "' as TensorFlow Lite"); });
}

}  // namespace graft
