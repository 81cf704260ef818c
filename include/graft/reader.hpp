// Readers: an extension teaches Graft the files of another framework. What a reader hands over is a framework's model
// (raw_pass.hpp), whose layers import rules turn into operations, as those of built-in frameworks.
//
//   bool is_toy(const ModelFile& f) { return f.content().starts_with("toy 1\n"); }
//
//   void read_toy(FrameworkModel& model, std::span<const ModelFile> files) {
//     model.set_inputs({{"x", Info{DType::f32, Shape{1, 4}}}});
//     model.add("Double", "first", {"x"}, {"y"}).set_position(3);
//     model.set_outputs({"y"});
//   }
//
//   GRAFT_EXTENSION("toy", "1.0") {
//     return {Reader("toy").title("Toy").files("toy nets (.toy)").position_unit("line")
//                 .recognize(is_toy).read(read_toy),
//             op<Double>("Double", "toy").import(Rule("toy", "Double"))...};
//   }
//
// Values are referred to by name: inputs of the model, constants, outputs of layers. Strings of a Reader are
// referenced, not copied: use literals. The functions may be called by several threads at once. They report errors by
// throwing
// (`fail`, `unsupported`); the host adds the names of the framework and of the library. Files are hostile: check each
// length and index. Afterwards the host verifies the model.
#pragma once

#include "abi_reader.h"
#include "op.hpp"

namespace [[gnu::visibility("hidden")]] graft {

// A file of a model, or its folder.
class ModelFile {
 public:
  explicit ModelFile(const graft_model_file* f) : f_(f) {}
  std::string_view path() const { return view(f_->path); }
  std::string_view content() const { return view(f_->content); }  // all of it; empty for a folder
  bool is_folder() const { return f_->flags & GRAFT_MODEL_FOLDER; }
  // An option of reading that the user has set, by the name of ReadOptions' member, or the fallback: a bool, a string
  // or a list of strings. The same for all files of a model; none is known while the file is recognized.
  template <class T>
  T option(std::string_view name, T fallback = {}) const {
    constexpr size_t least = offsetof(graft_model_file, option_count) + sizeof(size_t);
    for (size_t i = 0; f_->size >= least && i < f_->option_count; ++i)
      if (view(f_->options[i].name) == name) return field_as<T>(name, f_->options[i].value);
    return fallback;
  }

 private:
  const graft_model_file* f_;
};

// The definition of a reader. The functions change it and return it.
class Reader {
 public:
  // The name of the framework in rules, reports and options: lower-case letters, digits, '_' and '-'.
  explicit Reader(std::string_view framework) {
    s_->record.size = sizeof s_->record;
    s_->record.framework = str(framework);
  }
  // The name in messages.
  Reader& title(std::string_view t) { return s_->record.title = str(t), *this; }
  // Another name in options, as "tf" is one of TensorFlow.
  Reader& alias(std::string_view name) { return s_->aliases.push_back(str(name)), *this; }
  // For the list of supported formats: "toy nets (.toy)".
  Reader& files(std::string_view f) { return s_->record.files = str(f), *this; }
  // Reports what is wrong with a file of such a name that no reader recognizes: ".toy".
  Reader& ending(std::string_view e) { return s_->endings.push_back(str(e)), *this; }
  // What FrameworkLayer::set_position counts; the default is bytes.
  Reader& position_unit(std::string_view u) { return s_->record.position_unit = str(u), *this; }
  // ":0", if "conv1:0" is another name of the output "conv1".
  Reader& first_output(std::string_view suffix) { return s_->record.first_output = str(suffix), *this; }
  // Conventions of the framework: see GRAFT_READER_DOMAINS and its neighbors.
  Reader& flags(uint32_t f) { return s_->record.flags |= f, *this; }

  // Whether a file or folder is a model of the framework, or part of one.
  Reader& recognize(bool (*f)(const ModelFile&)) {
    s_->found = f;
    s_->record.recognize = [](const graft_model_file* file, void* user, int32_t* found) {
      return guarded([&] { *found = static_cast<State*>(user)->found(ModelFile(file)); });
    };
    return *this;
  }
  // Builds the model from the files that the user named, the recognized one first.
  Reader& read(void (*f)(FrameworkModel&, std::span<const ModelFile>)) {
    s_->build = f;
    s_->record.read = [](graft_raw_model* m, const graft_model_file* const* files, size_t count, void* user) {
      return guarded([&] {
        FrameworkModel model(m);
        std::vector<ModelFile> list(files, files + count);
        static_cast<State*>(user)->build(model, list);
      });
    };
    return *this;
  }
  operator Definitions() const {
    graft_reader& r = s_->record;
    r.user = s_.get();
    r.aliases = s_->aliases.data(), r.alias_count = s_->aliases.size();
    r.endings = s_->endings.data(), r.ending_count = s_->endings.size();
    return std::shared_ptr<const graft_reader>(s_, &r);
  }

 private:
  struct State {
    graft_reader record{};
    std::vector<graft_str> aliases, endings;
    bool (*found)(const ModelFile&) = nullptr;
    void (*build)(FrameworkModel&, std::span<const ModelFile>) = nullptr;
  };
  std::shared_ptr<State> s_ = std::make_shared<State>();
};

}  // namespace graft
