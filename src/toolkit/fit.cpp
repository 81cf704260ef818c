// Fits a model to the values that it is to be run with.
#include <algorithm>

#include "base/text.hpp"
#include "toolkit/errors.hpp"
#include "toolkit/read.hpp"

namespace graft {
namespace {

// The name of an input. One that is an output as well has the names of that too: the layer's own is the input's.
const std::string& input_name(const Port& p) {
  bool own = std::find(p.names.begin(), p.names.end(), p.name) != p.names.end();
  return own ? p.name : p.any_name();
}

// The import options that the values require.
class RequiredOptions {
 public:
  explicit RequiredOptions(bool framework) : framework_(framework) {}
  ImportOptions options;
  std::vector<std::string> notes;

  // Shapes and structures that differ, of all inputs; `exact`: those that the model leaves open too.
  void compare(const Model& model, const std::vector<Datum>& values, bool exact) {
    std::vector<Port> ports = model.inputs();
    std::vector<Group> groups = model.input_groups();
    const std::vector<std::string>& assumed = model.state()->origin->report.assumed;
    for (size_t i = 0; i < groups.size(); ++i) {
      const Group& g = groups[i];
      bool open = exact || std::find(assumed.begin(), assumed.end(), g.name) != assumed.end();
      if (g.kind == Group::Kind::tensor) tensor(ports[g.port], values.at(i), exact);
      else if (g.kind != Group::Kind::map) structure(g, ports, values.at(i), open);
    }
  }
  bool empty() const {
    return options.input_shapes.empty() && options.input_forms.empty() && options.input_values.empty();
  }

 private:
  void tensor(const Port& port, const Datum& d, bool exact) {
    if (d.kind != Datum::tensor || !d.value) return;
    bool fits = port.takes(d.value.dims());
    // Of a framework's model, the rank decides what its layers become.
    bool open = (exact && !port.shape.is_static()) || (framework_ && !port.shape.ranked());
    if (fits && !open) return;
    Shape given = Shape::of(d.value.dims());
    const std::string& name = input_name(port);
    options.input_shapes[name] = given;
    if (!fits) notes.push_back(text("input '", name, "' has shape ", given, " like its value instead of ", port.shape));
  }

  void structure(const Group& g, const std::vector<Port>& ports, const Datum& given, bool open) {
    const Datum& d = without_optional(given);
    const Group& inner = g.kind == Group::Kind::optional && !g.parts.empty() ? g.parts[0] : g;
    InputForm form;
    if (d.kind == Datum::optional) {  // holds nothing
      form.absent = true;
      if (framework_ && !g.parts.empty()) options.input_forms[g.name] = form;
      return;
    }
    bool sequence = d.kind == Datum::sequence;
    std::vector<Datum> items = sequence ? d.parts : std::vector<Datum>{d};
    std::vector<Group> places = inner.kind == Group::Kind::sequence ? inner.parts : std::vector<Group>{inner};
    for (const Datum& item : items) {
      if (item.kind != Datum::tensor) return;  // refused where it is placed
      form.shapes.push_back(Shape::of(item.value.dims()));
    }
    if (sequence) form.length = items.size();
    bool differs = open || places.size() != items.size();
    for (size_t i = 0; i < items.size() && i < places.size(); ++i) {
      bool port = places[i].kind == Group::Kind::tensor;
      differs |= !port || !ports[places[i].port].takes(items[i].value.dims());
      if (!framework_ && port) tensor(ports[places[i].port], items[i], false);
    }
    if (framework_ && differs) options.input_forms[g.name] = std::move(form);
  }

  bool framework_;
};

constexpr int64_t largest_constant = 1024;  // elements of an input that may become one

// [100] for an input [1,100] or [?,100], such as an i-vector of Kaldi: it can only mean that row.
bool is_row_of(const Port& port, const Tensor& t) {
  const Shape& s = port.shape;
  return t && t.dims().size() == 1 && s.ranked() && s.rank() == 2 && s[0].can_be(1) && s[1].known() &&
         s[1].value() == t.dims()[0];
}

// Values by the names of the groups they were given for.
class GroupValues {
 public:
  GroupValues(const Model& model, std::vector<Datum> values, std::vector<std::string>& notes)
      : groups_(model.input_groups()), values_(std::move(values)) {
    std::vector<Port> ports = model.inputs();
    for (size_t i = 0; i < groups_.size(); ++i) {
      if (groups_[i].kind != Group::Kind::tensor || values_.at(i).kind != Datum::tensor) continue;
      const Port& port = ports[groups_[i].port];
      Tensor& t = values_[i].value;
      if (!is_row_of(port, t)) continue;
      int64_t n = t.dims()[0];
      notes.push_back(
          text("input '", input_name(port), "': the vector of ", n, " values is taken as the row [1,", n, "]"));
      t = t.reshaped({1, n});
    }
  }

  const Datum* find(const std::string& name) const {
    for (size_t i = 0; i < groups_.size(); ++i)
      if (groups_[i].name == name) return &values_.at(i);
    return nullptr;
  }
  std::vector<Datum> for_inputs_of(const Model& model) const {
    std::vector<Datum> out;
    for (const Group& g : model.input_groups())
      if (const Datum* d = find(g.name)) out.push_back(*d);
    return out;
  }
  // Only small integers determine structure: turning an image into a constant would fold the whole model.
  Tensor deciding(const std::string& name) const {
    const Datum* d = find(name);
    if (!d || d->kind != Datum::tensor || !d->value) return {};
    bool whole = is_integer(d->value.type()) || d->value.type() == DType::boolean;
    return whole && d->value.size() <= largest_constant ? d->value : Tensor();
  }

 private:
  std::vector<Group> groups_;
  std::vector<Datum> values_;
};

// What the model was read with goes before what the values ask for, except that a constant has no shape of its own.
ImportOptions joined_options(const ImportOptions& read, const ImportOptions& asked) {
  ImportOptions out = read;
  out.input_values.insert(asked.input_values.begin(), asked.input_values.end());
  out.input_shapes = asked.input_shapes;
  for (const auto& [name, shape] : read.input_shapes)
    if (!asked.input_values.count(name)) out.input_shapes[name] = shape;
  out.input_forms = asked.input_forms;
  out.input_forms.insert(read.input_forms.begin(), read.input_forms.end());
  return out;
}

Fitted fitted(Model model, std::vector<Datum> values, const std::function<Model(const ImportOptions&)>& load) {
  bool framework = model.framework() != "ir" && model.framework() != "text";
  RequiredOptions required(framework);
  GroupValues given(model, std::move(values), required.notes);
  required.compare(model, given.for_inputs_of(model), false);
  if (!required.empty()) model = load(required.options);
  // What the structure of the model depends on is imported with the values that are given.
  for (int round = 0; round < 8 && framework; ++round) {
    std::shared_ptr<const ModelOrigin> origin = model.state()->origin;
    const ImportReport& report = origin->report;
    size_t known = required.options.input_values.size();
    bool exact = round == 0 && !report.problems.empty();
    for (const std::string& name : report.decisive)
      if (Tensor t = given.deciding(name); t && required.options.input_values.emplace(name, t).second)
        required.notes.push_back(
            text("input '", name, "' is a constant in this run: the structure of the model depends on its value"));
    if (required.options.input_values.size() == known && !exact) break;
    required.compare(model, given.for_inputs_of(model), true);
    for (const auto& [name, value] : required.options.input_values) required.options.input_shapes.erase(name);
    if (required.empty()) break;
    model = load(required.options);
  }
  return {model, given.for_inputs_of(model), std::move(required.notes)};
}

}  // namespace

Fitted fit_model(Model model, std::vector<Datum> values) {
  return as_errors([&] {
    if (values.size() != model.input_groups().size())
      throw_user("expected ", model.input_groups().size(), " input values, got ", values.size());
    std::shared_ptr<const ModelOrigin> origin = model.state()->origin;
    return fitted(std::move(model), std::move(values), [&](const ImportOptions& asked) {
      return with_context(
          [&] { return load_model(origin->registry, origin->files, joined_options(origin->options, asked)); },
          [] { return "reshaping the model to the shapes of the input values"; });
    });
  });
}

}  // namespace graft
