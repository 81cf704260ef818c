#include "questions.hpp"

#include <algorithm>

#include "command.hpp"
#include "names.hpp"

namespace graft::cli::extgen {
namespace {

using Applies = std::function<bool()>;
using Check = void (*)(const std::string& where, const std::string& name);

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> out;
  for (std::string_view part : split(line, ' '))
    if (!trim(part).empty()) out.emplace_back(trim(part));
  return out;
}

std::string shown(const std::vector<Parameter>& parameters) {
  std::vector<std::string> out;
  for (const Parameter& p : parameters)
    out.push_back(text(p.old_name, p.old_name.empty() || p.old_name == p.new_name ? "" : " -> ",
                       p.old_name == p.new_name ? "" : p.new_name, p.type.empty() ? "" : text(" (", p.type, ")"),
                       p.preset.is_null() ? "" : text(" = ", plain_value(p.preset))));
  return out.empty() ? "none" : join(out, ", ");
}

class Interview {
 public:
  Interview(Dialog& dialog, const Parts& parts) : dialog_(dialog), parts_(parts) {}

  Specification run() {
    order_.extractors.reserve(parts_.extractors.size());
    for (Framework f : parts_.extractors) extractor(f);
    if (parts_.operation) operation();
    for (Device d : parts_.kernels) kernel(d);
    for (Extractor& e : order_.extractors) e.op = op_;
    return std::move(order_);
  }

 private:
  // ---- kinds of questions ----

  Question yes_no(const std::string& question, const std::string& label, bool& value, Applies applies) {
    return {std::move(applies), [=, this, &value](const std::string&) { value = dialog_.yes(question); },
            [=, &value] { return text(label, ": ", value ? "yes" : "no"); }};
  }
  Question name(const std::string& question, const std::string& label, std::string& value, Check check,
                Applies applies) {
    return {std::move(applies),
            [=, this, &value](const std::string& where) {
              dialog_.ask(question + ":", [&](const std::string& s) {
                check(where, s);
                value = s;
              });
            },
            [=, &value] { return text(label, ": ", value); }};
  }
  // `format`: names of the words of a line, of which `required` must be there.
  Question parameters(const std::string& question, const std::vector<std::string>& format, size_t required,
                      std::vector<Parameter>& list, std::function<void(const std::string& where, Parameter&)> check,
                      Applies applies) {
    std::string shape;
    for (size_t i = 0; i < format.size(); ++i)
      shape += text(i ? " " : "", i < required ? "<" : "[", format[i], i < required ? ">" : "]");
    return {std::move(applies),
            [=, this, &list](const std::string& where) {
              list.clear();
              dialog_.list(text(question, ", one per line: ", shape), [&](const std::string& s) {
                std::vector<std::string> words = words_of(s);
                if (words.size() < required || words.size() > format.size())
                  throw UsageError(text(where, ": expected ", shape, ", got '", on_one_line(s), "'"));
                Parameter p;
                for (size_t i = 0; i < words.size(); ++i) {
                  if (format[i] == "old name" || format[i] == "token") p.old_name = words[i];
                  else if (format[i] == "type") p.type = words[i];
                  else if (format[i] == "default") p.preset = typed_value(words[i]);
                  else p.new_name = words[i];
                }
                if (p.new_name.empty()) p.new_name = last_part(p.old_name);
                check(where, p);
                for (const Parameter& other : list)
                  if (other.new_name == p.new_name)
                    throw UsageError(text(where, ": '", p.new_name, "' is a duplicate"));
                list.push_back(p);
              });
            },
            [&list] { return "parameters: " + shown(list); }};
  }
  Question operation_name(Applies applies) {
    return name("Operation name", "operation name", op_, check_operation, std::move(applies));
  }

  // ---- extractors ----

  void extractor(Framework f) {
    Extractor& e = order_.extractors.emplace_back();
    e.framework = f;
    dialog_.say(text("\n", name_of(f), " extractor"));
    std::vector<Question> q;
    switch (f) {
      case Framework::caffe: caffe(e, q); break;
      case Framework::mxnet: mxnet(e, q); break;
      case Framework::tf: tensorflow(e, q); break;
      case Framework::onnx: onnx(e, q); break;
      case Framework::kaldi: kaldi(e, q); break;
    }
    if (!parts_.operation && op_.empty()) q.push_back(operation_name([] { return true; }));
    if (f == Framework::tf && !parts_.operation) {
      q.push_back(
          name("Class of the operation", "class of the operation", e.op_class, check_identifier, [] { return true; }));
      q.push_back(name("Module of the class, for example extensions.ops.cosh", "module of the class", e.op_path,
                       check_path, [] { return true; }));
    }
    ask_section(dialog_, q, number_);
    drop_unused(e);
    if (layer_.empty()) layer_ = e.layer;
  }

  // Answers to questions that stopped to apply when another answer was changed.
  static void drop_unused(Extractor& e) {
    if (e.special) e.copy_all = false;
    if (!e.copy_all) e.rename = false;
    if (e.copy_all && !e.rename) e.parameters.clear();
  }

  std::function<void(const std::string&, Parameter&)> checked(Framework f) const {
    return [f](const std::string& where, Parameter& p) { check_parameter(where, f, p); };
  }

  void caffe(Extractor& e, std::vector<Question>& q) {
    auto always = [] { return true; };
    auto plain = [&e] { return !e.special; };
    auto all = [&e] { return !e.special && e.copy_all; };
    q.push_back(yes_no("Is it a Python layer?", "Python layer", e.special, always));
    q.push_back(name("Module of the layer", "module", e.module, check_path, [&e] { return e.special; }));
    q.push_back(name("Layer name", "layer name", e.layer, check_layer, always));
    q.push_back(name("Name of the message with the parameters, for example cosh_param", "message", e.message,
                     check_identifier, plain));
    q.push_back(yes_no("Do you want to copy all parameters of the layer?", "copy all parameters", e.copy_all, plain));
    q.push_back(yes_no("Do you want to omit optional parameters that are not set and have no default?",
                       "omit unset parameters", e.omit_unset, all));
    q.push_back(yes_no("Do you want to flatten nested parameters?", "flatten nested parameters", e.flatten, all));
    q.push_back(yes_no("Do you want to rename parameters or give them defaults?", "rename parameters", e.rename, all));
    q.push_back(parameters("Parameters to rename", {"old name", "new name", "default"}, 2, e.parameters,
                           checked(Framework::caffe), [&e] { return !e.special && e.copy_all && e.rename; }));
    q.push_back(parameters("Parameters to copy", {"old name", "new name", "default"}, 1, e.parameters,
                           checked(Framework::caffe), [&e] { return e.special || !e.copy_all; }));
  }

  void mxnet(Extractor& e, std::vector<Question>& q) {
    auto all = [&e] { return !e.special && e.copy_all; };
    q.push_back(yes_no("Is it a layer of type Custom?", "type Custom", e.special, [] { return true; }));
    q.push_back(
        name("Layer name (op_type of a Custom layer)", "layer name", e.layer, check_layer, [] { return true; }));
    q.push_back(yes_no("Do you want to copy all parameters of the layer?", "copy all parameters", e.copy_all,
                       [&e] { return !e.special; }));
    q.push_back(yes_no("Do you want to omit parameters that are not set and have no default?", "omit unset parameters",
                       e.omit_unset, [&e] { return e.special || !e.copy_all; }));
    q.push_back(yes_no("Do you want to rename parameters or give them defaults?", "rename parameters", e.rename, all));
    q.push_back(parameters("Parameters to rename", {"old name", "new name", "default"}, 2, e.parameters,
                           checked(Framework::mxnet), [&e] { return !e.special && e.copy_all && e.rename; }));
    q.push_back(parameters("Parameters to copy", {"old name", "new name", "default"}, 1, e.parameters,
                           checked(Framework::mxnet), [&e] { return e.special || !e.copy_all; }));
  }

  void tensorflow(Extractor& e, std::vector<Question>& q) {
    q.push_back(name("Layer name", "layer name", e.layer, check_layer, [] { return true; }));
    q.push_back(yes_no("Do you want to read all parameters of the layer automatically?", "read all parameters",
                       e.copy_all, [] { return true; }));
    q.push_back(parameters(text("Parameters to read (types: ", join(types_of(Framework::tf), " "),
                                "; without a type, you write the function that reads it)"),
                           {"old name", "new name", "type"}, 1, e.parameters, checked(Framework::tf),
                           [&e] { return !e.copy_all; }));
  }

  void onnx(Extractor& e, std::vector<Question>& q) {
    q.push_back(name("Layer name", "layer name", e.layer, check_layer, [] { return true; }));
    q.push_back(yes_no("Do you want to copy all attributes of the layer?", "copy all attributes", e.copy_all,
                       [] { return true; }));
    q.push_back(parameters(text("Attributes to copy (types: ", join(types_of(Framework::onnx), " "),
                                "; without a type, you write the function that reads it)"),
                           {"old name", "new name", "type", "default"}, 1, e.parameters, checked(Framework::onnx),
                           [&e] { return !e.copy_all; }));
  }

  void kaldi(Extractor& e, std::vector<Question>& q) {
    q.push_back(name("Component name", "component name", e.layer, check_layer, [] { return true; }));
    q.push_back(parameters(
        text("Tokens to read, in their order (types: ", join(types_of(Framework::kaldi), " "), "; default: int)"),
        {"token", "new name", "type"}, 1, e.parameters, checked(Framework::kaldi), [] { return true; }));
  }

  // ---- operation ----

  // Attributes that the extractors list.
  std::vector<std::string> listed() const {
    std::vector<std::string> out;
    for (const Extractor& e : order_.extractors)
      for (const Parameter& p : e.parameters)
        if (std::find(out.begin(), out.end(), p.new_name) == out.end()) out.push_back(p.new_name);
    return out;
  }
  bool copies_all() const {
    return std::any_of(order_.extractors.begin(), order_.extractors.end(),
                       [](const Extractor& e) { return e.copy_all; });
  }

  Question attributes(const std::string& question, const std::string& label, std::vector<std::string>& value) {
    return {[this] { return order_.extractors.empty() || copies_all() || !listed().empty(); },
            [=, this, &value](const std::string& where) {
              std::vector<std::string> names = listed();
              std::string choice;
              for (size_t i = 0; i < names.size(); ++i) choice += text("\n  ", i + 1, ". ", names[i]);
              dialog_.ask(text(question, names.empty() ? "" : ": numbers from this list, or",
                               " names, separated by blanks; empty: none", choice),
                          [&](const std::string& s) {
                            value.clear();
                            for (std::string word : words_of(s)) {
                              auto n = parse_int(word);
                              if (n && *n >= 1 && *n <= static_cast<int64_t>(names.size()))
                                word = names[static_cast<size_t>(*n) - 1];
                              check_identifier(where, word);
                              value.push_back(word);
                            }
                          });
            },
            [=, &value] { return text(label, ": ", value.empty() ? "none" : join(value, ", ")); }};
  }

  bool layer_can_be_operation() const {
    try {
      check_operation("", layer_);
      return true;
    } catch (const UsageError&) {
      return false;
    }
  }

  void operation() {
    Operation& o = order_.operation.emplace();
    dialog_.say("\nOperation");
    std::vector<Question> q;
    if (order_.extractors.empty())
      q.push_back(yes_no("Is it the operation of a Caffe Python layer?", "Caffe Python layer", o.pythonic,
                         [] { return true; }));
    bool same = false, known = layer_can_be_operation();
    q.push_back(yes_no(text("Do you want to use the layer name '", layer_, "' as the operation name?"),
                       "layer name as operation name", same, [known] { return known; }));
    q.push_back(operation_name([&] { return !same; }));
    q.push_back(attributes("Attributes that are written to the IR", "attributes in the IR", o.attributes));
    q.push_back(attributes("Internal attributes, not written to the IR", "internal attributes", o.internal));
    q.push_back(
        yes_no("Does the operation change the shape?", "changes the shape", o.changes_shape, [] { return true; }));
    q.push_back(yes_no("Do you want to implement the shape calculation?", "own shape calculation", o.has_infer,
                       [&o] { return o.changes_shape; }));
    ask_section(dialog_, q, number_);
    if (same) op_ = layer_;
    if (!o.changes_shape) o.has_infer = true;
    o.op = op_;
  }

  // ---- kernels ----

  bool has_parameters() const {
    if (order_.operation) return !order_.operation->attributes.empty();
    return order_.extractors.empty() || copies_all() || !listed().empty();
  }

  void kernel(Device d) {
    Kernel& k = order_.kernels.emplace_back();
    k.device = d;
    std::vector<Question> q;
    bool with_name = op_.empty();
    if (with_name || has_parameters()) dialog_.say(text("\n", name_of(d), " extension"));
    if (with_name) q.push_back(operation_name([] { return true; }));
    std::vector<std::string> format = {"parameter", "type"};
    if (d == Device::gpu) format.emplace_back("default");
    q.push_back(parameters(
        text("Parameters (types: ", join(types_of(d), " "), ")"), format, 2, k.parameters,
        [d](const std::string& where, Parameter& p) { check_parameter(where, d, p); },
        [this] { return has_parameters(); }));
    ask_section(dialog_, q, number_);
    k.op = op_;
  }

  Dialog& dialog_;
  const Parts& parts_;
  Specification order_;
  std::string op_, layer_;
  size_t number_ = 1;
};

}  // namespace

Specification interview(Dialog& dialog, const Parts& parts) { return Interview(dialog, parts).run(); }

}  // namespace graft::cli::extgen
