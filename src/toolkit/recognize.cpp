#include "toolkit/recognize.hpp"

#include <filesystem>
#include <graft/app/read.hpp>

#include "base/file.hpp"
#include "base/text.hpp"
#include "ir/ir.hpp"
#include "toolkit/built_ins.hpp"
#include "toolkit/errors.hpp"
#include "toolkit/state.hpp"

namespace graft {
namespace {

bool looks_like_graph_text(std::string_view bytes) {
  std::string_view head = trim(bytes.substr(0, 4096));
  while (head.starts_with('#')) head = trim(head.substr(std::min(head.find('\n'), head.size())));
  return head.starts_with("graph");
}

// "ONNX (.onnx), TensorFlow (frozen .pb, SavedModel), ... and IR (.xml with .bin)"
std::string supported(const std::vector<Framework>& frameworks) {
  std::string out;
  for (auto f = frameworks.rbegin(); f != frameworks.rend(); ++f)
    out +=
        text(out.empty() ? "" : ", ", f->traits.title, f->traits.files.empty() ? "" : text(" (", f->traits.files, ")"));
  return text("supported are ", out, " and IR (.xml with .bin)");
}

bool is_named_as(const FrameworkTraits& framework, const std::string& path) {
  std::string name = to_lower(path);
  return std::any_of(framework.endings.begin(), framework.endings.end(),
                     [&](const std::string& ending) { return name.ends_with(ending); });
}

}  // namespace

const std::string& ModelFormat::name() const {
  static const std::string ir_name = "ir", text_name = "text";
  return kind == ir ? ir_name : kind == text ? text_name : of->traits.name;
}

ModelFormat recognize(const Registry& registry, const std::string& path) {
  std::vector<Framework> all = frameworks_of(registry);
  size_t of_extensions = all.size() - built_in_frameworks().size();
  ModelCandidate candidate{.path = path, .bytes = {}, .folder = std::filesystem::is_directory(path)};
  std::shared_ptr<const MappedFile> file;
  if (!candidate.folder) {
    file = MappedFile::open(path);
    candidate.bytes = file->chars();
    if (candidate.bytes.empty()) throw_user("'", path, "' is empty");
  }
  auto found = [&](size_t begin, size_t end) -> std::optional<ModelFormat> {
    for (size_t i = begin; i < end; ++i)
      if (all[i].recognize(candidate)) return ModelFormat{ModelFormat::framework, all[i]};
    return std::nullopt;
  };
  if (auto format = found(0, of_extensions)) return *format;
  if (looks_like_ir(candidate.bytes)) return {ModelFormat::ir, {}};
  if (looks_like_graph_text(candidate.bytes)) return {ModelFormat::text, {}};
  if (auto format = found(of_extensions, all.size())) return *format;
  if (!candidate.folder)
    for (const Framework& f : all)
      if (is_named_as(f.traits, path)) return {ModelFormat::framework, f};
  throw Error(ErrorKind::unsupported,
              text(candidate.folder ? "the folder '" : "'", path, "' is not in a supported model format"),
              supported(all));
}

std::string recognize_format(const std::string& path) {
  return as_errors([&] {
    Registry built_ins;
    return recognize(built_ins, path).name();
  });
}

std::string Core::recognize_format(const std::string& path) const {
  return as_errors([&] {
    std::shared_ptr<const Registry> registry = s_->registry();
    return recognize(*registry, path).name();
  });
}

}  // namespace graft
