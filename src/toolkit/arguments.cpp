// What reads a model the same way again: its files, and the options that differ from their defaults.
#include "base/text.hpp"
#include "toolkit/read.hpp"

namespace graft {
namespace {

std::string shape_text(const Shape& s, const char* between) {
  if (!s.ranked()) return "[...]";
  std::string out;
  for (const Dim& d : s) out += text(out.empty() ? "" : between, d);
  return text('[', out, ']');
}

std::string value_text(const std::string& s) { return s; }
std::string value_text(const std::vector<std::string>& list) { return join(list, ","); }
std::string value_text(const Shape& s) { return shape_text(s, ","); }
template <class T>
requires(std::is_arithmetic_v<T> || std::is_same_v<T, DType>) std::string value_text(T v) { return text(v); }

// The options in the order of their rows.
class OptionList {
 public:
  std::vector<Remedy> take() { return std::move(list_); }
  void add(const char* name, bool) { list_.push_back({name, {}, {}}); }
  template <class T>
  void add(const char* name, const T& value) {
    list_.push_back({name, {}, value_text(value)});
  }
  template <class T>
  void add(const char* name, const std::optional<T>& value) {
    add(name, *value);
  }
  template <class T>
  void add(const char* name, const std::map<std::string, T>& values) {
    for (const auto& [place, value] : values) list_.push_back({name, place, value_text(value)});
  }
  // Values of constants have no short form.
  void add(const char* name, const std::map<std::string, Tensor>& values) {
    for (const auto& [place, value] : values) list_.push_back({name, place, "VALUE"});
  }
  // An input that is not listed only gets a shape. Others: [1 3 8 8]{f32}->value.
  void add(const char* name, const std::vector<CutInput>& inputs) {
    for (const CutInput& in : inputs) {
      if (!in.listed && !in.value) {
        list_.push_back({"shapes", in.place, in.shape ? shape_text(*in.shape, ",") : ""});
        continue;
      }
      std::string value;
      if (in.shape) value += shape_text(*in.shape, " ");
      if (in.type) value += text('{', *in.type, '}');
      std::string items = in.value ? join(in.value->items, " ") : "";
      if (in.value) value += "->" + (in.value->list ? text('[', items, ']') : items);
      list_.push_back({name, in.place, value});
    }
  }

 private:
  std::vector<Remedy> list_;
};

}  // namespace

std::string load_arguments(const std::vector<std::string>& files, const ImportOptions& o) {
  std::string out;
  for (const std::string& f : files) out += (out.empty() ? "" : " ") + path_for_shell(f);
  ReadOptions read = o.read;
  read.shapes = o.input_shapes;  // also those of the values that the model was fitted to
  OptionList given;
  each_option(std::as_const(read), [&](const auto& row, const auto& value) {
    if (is_given(value)) given.add(row.name, value);
  });
  for (const Remedy& r : given.take()) out += text(' ', r);
  return out;
}

std::string extension_arguments(const Registry& registry) {
  std::vector<std::string> paths;
  for (const Source* s : registry.sources())
    if (s->origin == Source::library) paths.push_back(s->path);
  return join(paths, ",");
}

}  // namespace graft
