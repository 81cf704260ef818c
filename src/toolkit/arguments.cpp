// The command line that reads a model the same way again.
#include "base/text.hpp"
#include "import/mapping.hpp"
#include "import/replace_config.hpp"
#include "toolkit/read.hpp"

namespace graft {
namespace {

// Options are added behind what there is, with their values quoted.
class Line {
 public:
  explicit Line(std::string begin) : text_(std::move(begin)) {}
  void flag(const char* name) { text_ += text(' ', name); }
  void option(const char* name, const std::string& value) { text_ += text(' ', name, ' ', quoted_for_shell(value)); }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string shape_text(const Shape& s, const char* between) {
  if (!s.ranked()) return "[...]";
  std::string out;
  for (const Dim& d : s) out += text(out.empty() ? "" : between, d);
  return text('[', out, ']');
}

// As --input takes it: name[1 3 8 8]{f32}->value.
std::string input_text(const CutInput& in) {
  std::string out = in.place;
  if (in.shape) out += shape_text(*in.shape, " ");
  if (in.type) out += text('{', *in.type, '}');
  if (!in.value) return out;
  std::string value = join(in.value->items, " ");
  return out + "->" + (in.value->list ? text('[', value, ']') : value);
}

void add_cut(Line& line, const CutRequest& cut) {
  for (const CutInput& in : cut.inputs) {
    if (in.listed || in.value) line.option("--input", input_text(in));
    else line.option("--input_shape", in.place + shape_text(*in.shape, ","));
  }
  if (cut.only_shape) line.option("--input_shape", shape_text(*cut.only_shape, ","));
  if (!cut.outputs.empty()) line.option("--output", join(cut.outputs, ","));
  if (cut.batch) line.option("--batch", text(*cut.batch));
}

}  // namespace

std::string load_arguments(const std::vector<std::string>& files, const ImportOptions& o) {
  std::string begin;
  auto add_file = [&](const std::string& f) { begin += (begin.empty() ? "" : " ") + path_for_shell(f); };
  for (const std::string& f : files) add_file(f);
  if (!o.read.checkpoint.empty()) add_file(o.read.checkpoint);
  Line line(std::move(begin));
  if (!o.read.tags.empty()) line.option("--saved_model_tags", join(o.read.tags, ","));
  if (!o.read.counts.empty()) line.option("--counts", o.read.counts);
  if (o.read.remove_output_softmax) line.flag("--remove_output_softmax");
  if (o.read.streaming) line.flag(o.read.remove_memory ? "--remove_memory" : "--streaming");
  add_cut(line, o.cut);
  for (const auto& [name, shape] : o.input_shapes) line.option("--input_shape", name + shape_text(shape, ","));
  if (o.mapping) {
    line.option("-k", o.mapping->file);
    if (o.mapping->nested_names) line.flag("--enable_flattening_nested_params");
  }
  if (o.replacements) line.option("--transformations_config", o.replacements->file);
  if (o.allow_unmatched) line.flag("--allow-unmatched");
  return line.take();
}

std::string extension_arguments(const Registry& registry) {
  std::vector<std::string> paths;
  for (const Source* s : registry.sources())
    if (s->origin == Source::library) paths.push_back(s->path);
  return join(paths, ",");
}

}  // namespace graft
