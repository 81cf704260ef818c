#include "import/model_ports.hpp"

#include "base/tensor.hpp"
#include "base/text.hpp"

namespace graft {
namespace {

// Items of one sequence may differ where the file names a dimension.
Shape without_symbols(Shape s) {
  if (s.ranked())
    for (Dim& d : s)
      if (!d.known()) d = Dim();
  return s;
}

std::string kind_text(const RawValue& v) {
  if (v.kind.empty()) return "tensor";
  if (v.kind == "map" || v.parts.empty()) return v.kind;
  return text(v.kind, " of ", kind_text(v.parts[0]));
}

[[noreturn]] void refuse_input(const std::string& name, const RawValue& type) {
  throw_unsupported("expected a tensor, a sequence of tensors, a map of numbers, or an optional of these as input '",
                    name, "', got ", kind_text(type));
}

}  // namespace

// ---- inputs ----

void ModelPorts::add_inputs() {
  const ImportOptions& options = scope_.state().options;
  std::set<std::string> constants;
  for (const auto& [name, t] : raw_.constants) constants.insert(name);
  bool structured = false;
  for (const RawValue& v : raw_.inputs) structured |= !v.kind.empty();
  for (const RawValue& v : raw_.outputs) structured |= !v.kind.empty();
  if (structured) {
    taken_ = constants;
    for (const RawValue& v : raw_.inputs) taken_.insert(v.name);
    for (const RawNode& n : raw_.nodes) taken_.insert(n.outputs.begin(), n.outputs.end());
  }
  std::vector<NamedForm> forms;
  for (const RawValue& in : raw_.inputs) {
    if (constants.count(in.name) || in.unused) continue;
    if (auto it = options.input_values.find(in.name); it != options.input_values.end()) {
      frozen(in, it->second);
      continue;
    }
    auto it = options.input_forms.find(in.name);
    forms.push_back({in.name, input(in.name, in, it == options.input_forms.end() ? nullptr : &it->second)});
  }
  check_given_names();
  if (any_structure(forms)) scope_.graph.input_forms = std::move(forms);
}

void ModelPorts::frozen(const RawValue& in, const Tensor& value) {
  if (!in.kind.empty()) throw_user("expected a tensor as frozen input '", in.name, "', got ", kind_text(in));
  if (in.info.type != DType::undefined && in.info.type != value.type())
    throw_user("expected a value of ", in.info.type, " for the frozen input '", in.name, "', got ", value.type());
  scope_.define(in.name, scope_.add_constant(in.name, value));
}

Form ModelPorts::parameter(const std::string& name, Info info) {
  const ImportOptions& options = scope_.state().options;
  if (auto it = options.input_shapes.find(name); it != options.input_shapes.end()) info.shape = it->second;
  if (auto it = options.input_types.find(name); it != options.input_types.end()) info.type = it->second;
  return {Form::tensor, scope_.graph[scope_.add_parameter(name, info).node].name, {}};
}

Form ModelPorts::input(const std::string& name, const RawValue& type, const InputForm* given) {
  if (given && given->absent && type.kind != "optional")
    throw_user("expected an optional for the empty input '", name, "', got ", kind_text(type));
  if (given && given->length && type.kind != "sequence" && type.kind != "optional")
    throw_user("expected a sequence for the number of items of input '", name, "', got ", kind_text(type));
  if (type.kind.empty()) {
    Info info = type.info;
    if (given && !given->shapes.empty()) info.shape = given->shapes[0];
    return parameter(name, info);
  }
  if (type.kind == "sequence") return sequence_input(name, type, given);
  if (type.kind == "map") return map_input(name, type);
  if (type.kind != "optional" || type.parts[0].kind == "optional") refuse_input(name, type);
  if (given && given->absent) {
    scope_.bind(name, scope_.add_nothing());
    return {Form::optional, {}, {}};
  }
  return {Form::optional, {}, {input(name, type.parts[0], given)}};
}

Form ModelPorts::sequence_input(const std::string& name, const RawValue& type, const InputForm* given) {
  const RawValue& element = type.parts[0];
  if (!element.kind.empty()) refuse_input(name, type);
  ImportState& state = scope_.state();
  size_t length = 1;
  if (given && given->length) length = *given->length;
  else {
    state.report.assumed.push_back(name);
    state.report.problems.push_back(
        {name,
         "input",
         Error(ErrorKind::user, text("the length of the sequence input '", name, "' is not given"),
               text(Remedy{"items", name, "3"}, " imports the model for three items")),
         {}});
  }
  if (uint64_t most = state.options.limits.items; length > most)
    throw_limit(&Limits::items, "expected at most ", most, " items for input '", name, "', got ", length);
  Form form{Form::sequence, {}, {}};
  std::vector<ValueId> items;
  for (size_t i = 0; i < length; ++i) {
    Info info{element.info.type, without_symbols(element.info.shape)};
    if (given && i < given->shapes.size()) info.shape = given->shapes[i];
    std::string part = part_name(name, text(i));
    form.parts.push_back(parameter(part, info));
    items.push_back(scope_.look_up(part));
  }
  scope_.bind(name, scope_.add_list(std::move(items)));
  return form;
}

// As rules see it, a map is a list of its keys and its values.
Form ModelPorts::map_input(const std::string& name, const RawValue& type) {
  const RawValue &keys = type.parts[0], &values = type.parts[1];
  bool numbers = values.kind.empty() && (!values.info.shape.ranked() || values.info.shape.rank() == 0);
  if (!numbers || (keys.info.type != DType::i64 && keys.info.type != DType::string)) refuse_input(name, type);
  std::vector<std::string> parts{part_name(name, "keys"), part_name(name, "values")};
  Form form{Form::map,
            {},
            {parameter(parts[0], {keys.info.type, Shape::of_rank(1)}),
             parameter(parts[1], {values.info.type, Shape::of_rank(1)})}};
  scope_.bind(name, scope_.add_list({scope_.look_up(parts[0]), scope_.look_up(parts[1])}));
  return form;
}

std::string ModelPorts::part_name(const std::string& name, std::string_view part) {
  std::string out = text(name, '.', part);
  while (!taken_.insert(out).second) out += '_';
  return out;
}

void ModelPorts::check_given_names() const {
  const ImportOptions& options = scope_.state().options;
  auto check = [&](const auto& given, bool parts) {
    for (const auto& [name, value] : given) {
      std::vector<std::string> names;
      bool found = false;
      for (const RawValue& in : raw_.inputs)
        if (!in.unused) names.push_back(in.name), found |= in.name == name;
      for (NodeId p : scope_.graph.parameters()) found |= parts && scope_.graph[p].name == name;
      if (!found)
        throw Error(ErrorKind::user, text("the model has no input '", name, "'"),
                    text("its inputs are ", join(names, ", ")));
    }
  };
  check(options.input_shapes, true);
  check(options.input_types, true);
  check(options.input_forms, false);
  check(options.input_values, false);
}

// ---- outputs ----

void ModelPorts::add_outputs() {
  if (raw_.outputs.empty()) throw_user("the model has no outputs");
  std::vector<NamedForm> forms;
  for (const RawValue& o : raw_.outputs) {
    ValueId v = scope_.look_up(o.name);
    if (!v.present()) throw_user("output '", o.name, "' is not produced by any layer");
    forms.push_back({o.name, output(o.name, &o, v)});
  }
  if (any_structure(forms)) scope_.graph.output_forms = std::move(forms);
  // Errors after an input whose length is not given may only be its consequence.
  ImportReport& report = scope_.state().report;
  if (!report.assumed.empty()) std::erase_if(report.problems, [](const Problem& p) { return p.type != "input"; });
  for (const Problem& p : report.problems)
    report.decisive.insert(report.decisive.end(), p.inputs.begin(), p.inputs.end());
}

Form ModelPorts::result(const std::string& name, ValueId v) {
  return {Form::tensor, scope_.graph[scope_.add_result(name, v)].name, {}};
}

Form ModelPorts::output(const std::string& name, const RawValue* type, ValueId v) {
  if (scope_.is_nothing(v)) return {Form::optional, {}, {}};
  if (type && type->kind == "optional") return {Form::optional, {}, {output(name, &type->parts[0], v)}};
  if (!scope_.is_list(v)) return result(name, v);
  std::vector<ValueId> items = scope_.graph[v.node].inputs;
  return list_output(name, type, items);
}

Form ModelPorts::list_output(const std::string& name, const RawValue* type, const std::vector<ValueId>& items) {
  bool maps = type && type->kind == "sequence" && type->parts[0].kind == "map";
  if (maps || (type && type->kind == "map")) {
    if (items.size() != 2 || scope_.is_list(items[0]) || scope_.is_list(items[1]))
      throw_unsupported("expected ", kind_text(*type), " as output '", name, "', but its layer does not produce one");
    Form map{Form::map, {}, {result(part_name(name, "keys"), items[0]), result(part_name(name, "values"), items[1])}};
    if (!maps) return map;
    return {Form::sequence, {}, {{Form::run, {}, {map}}}};
  }
  ImportState& state = scope_.state();
  Form form{Form::sequence, {}, {}};
  for (size_t i = 0; i < items.size(); ++i) {
    std::string part = items.size() == 1 && scope_.is_list(items[0]) ? name : part_name(name, text(i));
    if (!scope_.is_list(items[i])) {
      form.parts.push_back(result(part, items[i]));
      continue;
    }
    const std::vector<ValueId>& run = scope_.graph[items[i].node].inputs;
    if (run.size() == 3 && !scope_.is_list(run[0])) {
      // Pieces of one tensor: how many only the values of some inputs tell, and a model is imported for a structure.
      std::vector<std::string> inputs(state.list_inputs.begin(), state.list_inputs.end());
      Error error(ErrorKind::unsupported,
                  text("output '", name, "' is a sequence whose length is known only at run time"));
      if (!inputs.empty())
        error.hint(text("the length depends on '", join(inputs, "', '"), "': ", Remedy{"constants", inputs[0], "VALUE"},
                        " makes an input a constant"));
      state.report.problems.push_back({name, "output", error, inputs});
      form.parts.push_back(result(part, run[0]));
      continue;
    }
    if (run.size() != 1 || scope_.is_list(run[0]))
      throw_unsupported("expected a sequence of tensors as output '", name, "', got a sequence of sequences");
    // One tensor holds items of one shape only.
    Shape stack = scope_.graph.info(run[0]).shape;
    bool alike = stack.ranked();
    for (size_t k = 1; alike && k < stack.rank(); ++k) alike = stack[k].known();
    if (!alike)
      state.report.decisive.insert(state.report.decisive.end(), state.list_inputs.begin(), state.list_inputs.end());
    form.parts.push_back({Form::run, {}, {result(part, run[0])}});
  }
  return form;
}

}  // namespace graft
