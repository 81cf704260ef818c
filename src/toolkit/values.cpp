#include "toolkit/values.hpp"

#include <algorithm>
#include <cstring>

#include "base/tensor.hpp"
#include "base/text.hpp"

namespace graft {
namespace {

const char* kind_name(Datum::Kind k) {
  constexpr const char* names[] = {"tensor", "sequence", "optional", "map"};
  return names[k];
}
const char* kind_name(Group::Kind k) {
  constexpr const char* names[] = {"tensor", "sequence", "sequence", "optional", "map"};
  return names[static_cast<size_t>(k)];
}

// A value that is an optional's own, where an optional is expected and the other way round.
const Datum& without_optional(const Datum& d) {
  return d.kind == Datum::optional && d.parts.size() == 1 ? d.parts[0] : d;
}

class Placing {
 public:
  explicit Placing(size_t ports) : out(ports) {}
  std::vector<Tensor> out;

  void place(const std::string& name, const Group& g, const Datum& given) {
    if (g.kind == Group::Kind::optional) return optional(name, g, given);
    const Datum& d = without_optional(given);
    if (g.kind == Group::Kind::tensor && d.kind == Datum::tensor) {
      out.at(g.port) = d.value;
      return;
    }
    bool fits = (g.kind == Group::Kind::sequence && d.kind == Datum::sequence) ||
                (g.kind == Group::Kind::map && d.kind == Datum::map);
    if (!fits) throw_user("expected a ", kind_name(g.kind), " for input '", name, "', got a ", kind_name(d.kind));
    if (g.parts.size() != d.parts.size())
      throw Error(ErrorKind::user,
                  text("expected ", g.parts.size(), " items for the sequence input '", name, "', got ", d.parts.size()),
                  "the length is fixed by the conversion: convert the model again with --items");
    for (size_t i = 0; i < g.parts.size(); ++i) place(name, g.parts[i], d.parts[i]);
  }

 private:
  void optional(const std::string& name, const Group& g, const Datum& d) {
    bool holds = d.kind != Datum::optional || !d.parts.empty();
    if (holds != !g.parts.empty())
      throw_user("expected ", g.parts.empty() ? "no value" : "a value", " for the optional input '", name, "', got ",
                 holds ? "one" : "none");
    if (holds) place(name, g.parts[0], without_optional(d));
  }
};

// Slice `i` along the first axis; the memory is shared.
Tensor slice_of(const Tensor& t, int64_t i) {
  std::vector<int64_t> dims(t.dims().begin() + 1, t.dims().end());
  if (t.type() == DType::string) {
    std::vector<std::string> words;
    int64_t each = count_checked(dims);
    for (int64_t k = 0; k < each; ++k) words.emplace_back(t.text_at(i * each + k));
    return Tensor::strings(dims, std::move(words));
  }
  if (is_packed(t.type()))
    throw_unsupported("sequences of ", t.type(), " with a data-dependent length are not supported");
  Tensor out(t.type(), dims);
  if (out.bytes())
    std::memcpy(out.data(), static_cast<const char*>(t.data()) + static_cast<size_t>(i) * out.bytes(), out.bytes());
  return out;
}

// Appends the items of a run.
void append_run(const Group& item, const std::function<Tensor(size_t)>& port, std::vector<Datum>& out) {
  bool map = item.kind == Group::Kind::map;
  Tensor all = port(map ? item.parts.at(1).port : item.port);
  if (all.dims().empty()) throw_internal("a run of items is a scalar");
  for (int64_t i = 0; i < all.dims()[0]; ++i) {
    Tensor one = slice_of(all, i);
    if (map) out.push_back({Datum::map, {port(item.parts[0].port), one}});
    else out.push_back(one);
  }
}

// The import options that the values require.
class Wishes {
 public:
  explicit Wishes(bool framework) : framework_(framework) {}
  ImportOptions options;
  std::vector<std::string> notes;

  // Shapes and structures that differ, of all inputs; `exact`: those that the model leaves open too.
  void compare(const Model& model, const std::vector<Datum>& values, bool exact) {
    std::vector<Port> ports = model.inputs();
    std::vector<Group> groups = model.input_groups();
    const std::vector<std::string>& assumed = model.state()->report.assumed;
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
    bool fits = takes(port, d.value.dims());
    if (fits && !(exact && !port.shape.is_static())) return;
    Shape given = Shape::of(d.value.dims());
    options.input_shapes[port.any_name()] = given;
    if (!fits)
      notes.push_back(
          text("input '", port.any_name(), "' has shape ", given, " like its value instead of ", port.shape));
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
      differs |= !port || !takes(ports[places[i].port], items[i].value.dims());
      if (!framework_ && port) tensor(ports[places[i].port], items[i], false);
    }
    if (framework_ && differs) options.input_forms[g.name] = std::move(form);
  }

  bool framework_;
};

}  // namespace

std::vector<Tensor> port_tensors(const std::vector<Group>& groups, const std::vector<Datum>& values, size_t ports) {
  Placing placing(ports);
  for (size_t i = 0; i < groups.size(); ++i) placing.place(groups[i].name, groups[i], values.at(i));
  return std::move(placing.out);
}

Datum gathered(const Group& g, const std::function<Tensor(size_t)>& port) {
  if (g.kind == Group::Kind::tensor) return port(g.port);
  Datum out(g.kind == Group::Kind::map        ? Datum::map
            : g.kind == Group::Kind::optional ? Datum::optional
                                              : Datum::sequence,
            {});
  for (const Group& part : g.parts) {
    if (part.kind == Group::Kind::run) append_run(part.parts.at(0), port, out.parts);
    else out.parts.push_back(gathered(part, port));
  }
  return out;
}

namespace {

constexpr int64_t largest_constant = 1024;  // elements of an input that may become one

// Values by the names of the groups they were given for.
class Given {
 public:
  Given(const Model& model, std::vector<Datum> values) : groups_(model.input_groups()), values_(std::move(values)) {}

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

}  // namespace

Fitted fitted(Model model, std::vector<Datum> values, const std::function<Model(const ImportOptions&)>& load) {
  bool framework = model.framework() != "ir" && model.framework() != "text";
  Given given(model, std::move(values));
  Wishes wishes(framework);
  wishes.compare(model, given.for_inputs_of(model), false);
  if (!wishes.empty()) model = load(wishes.options);
  // What the structure of the model depends on is imported with the values that are given.
  for (int round = 0; round < 8 && framework; ++round) {
    const ImportReport& report = model.state()->report;
    size_t known = wishes.options.input_values.size();
    bool exact = round == 0 && !report.problems.empty();
    for (const std::string& name : report.decisive)
      if (Tensor t = given.deciding(name); t && wishes.options.input_values.emplace(name, t).second)
        wishes.notes.push_back(
            text("input '", name, "' is a constant in this run: the structure of the model depends on its value"));
    if (wishes.options.input_values.size() == known && !exact) break;
    wishes.compare(model, given.for_inputs_of(model), true);
    for (const auto& [name, value] : wishes.options.input_values) wishes.options.input_shapes.erase(name);
    if (wishes.empty()) break;
    model = load(wishes.options);
  }
  return {model, given.for_inputs_of(model), std::move(wishes.notes)};
}

std::string structure_text(const Group& g, const std::vector<Port>& ports) {
  auto info = [&](size_t port) { return text(Info{ports[port].type, ports[port].shape}); };
  auto list = [&] {
    std::string out;
    for (const Group& p : g.parts) out += (out.empty() ? "" : ", ") + structure_text(p, ports);
    return out;
  };
  switch (g.kind) {
    case Group::Kind::tensor: return info(g.port);
    case Group::Kind::sequence: return text("sequence [", list(), "]");
    case Group::Kind::run:
      return text("any number of items along the first axis of ", structure_text(g.parts[0], ports));
    case Group::Kind::optional: return g.parts.empty() ? "optional without a value" : text("optional ", list());
    case Group::Kind::map: return text("map from ", info(g.parts[0].port), " to ", info(g.parts[1].port));
  }
  return "";
}

}  // namespace graft
