#include "cut_options.hpp"

#include <algorithm>

#include "option_rows.hpp"

namespace graft::cli {

std::vector<std::string> items_of(std::string_view list) {
  std::vector<std::string> out;
  int depth = 0;
  size_t begin = 0;
  auto end_item = [&](size_t end) {
    std::string_view item = trim(list.substr(begin, end - begin));
    if (!item.empty()) out.emplace_back(item);
  };
  for (size_t i = 0; i < list.size(); ++i) {
    char c = list[i];
    if (c == '[' || c == '(' || c == '{') ++depth;
    if (c == ']' || c == ')' || c == '}') --depth;
    if (c == ',' && depth <= 0) end_item(i), begin = i + 1;
  }
  end_item(list.size());
  return out;
}

std::optional<Bracketed> bracketed(std::string_view item) {
  if (item.empty() || (item.back() != ']' && item.back() != ')')) return std::nullopt;
  size_t open = item.rfind(item.back() == ']' ? '[' : '(');
  if (open == item.npos) return std::nullopt;
  return Bracketed{trim(item.substr(0, open)), trim(item.substr(open + 1, item.size() - open - 2))};
}

namespace {

constexpr const char* input_hint =
    "write [INPUT:]NAME[:OUTPUT][1 3 224 224]{f32}->VALUE; everything after the name is optional";

// Splits at spaces and commas.
std::vector<std::string> words_of(std::string_view s) {
  std::vector<std::string> out;
  for (std::string_view part : split(s, ','))
    for (std::string_view word : split(part, ' '))
      if (!trim(word).empty()) out.emplace_back(trim(word));
  return out;
}

Shape shape_of(std::string_view content, std::string_view item, const char* hint) {
  Shape s;
  if (content == "...") return Shape::unknown();
  for (const std::string& word : words_of(content)) {
    auto d = parse_dim(word);
    if (!d) throw UsageError(text("expected a dimension, got '", word, "' in '", item, "'"), hint);
    s.push_back(*d);
  }
  return s;
}

DType type_of(std::string_view word, std::string_view item) {
  auto type = parse_dtype(word);
  if (!type)
    throw UsageError(text("expected an element type, got '", word, "' in '", item, "'"),
                     "element types include f64, f32, f16, i64, i32, i8, u64, u8 and boolean");
  return *type;
}

FrozenValue value_of_text(std::string_view s, std::string_view item) {
  FrozenValue v;
  s = trim(s);
  if (s.empty()) throw UsageError(text("expected a value after -> in '", item, "'"), input_hint);
  if (auto list = bracketed(s); list && list->name.empty()) {
    v.list = true;
    v.items = words_of(list->content);
    if (v.items.empty()) throw UsageError(text("expected a value, got an empty list in '", item, "'"), input_hint);
  } else {
    v.items = {std::string(s)};
  }
  return v;
}

CutInput input_of(std::string_view item) {
  CutInput in;
  std::string_view left = item;
  if (size_t arrow = item.find("->"); arrow != item.npos) {
    in.value = value_of_text(item.substr(arrow + 2), item);
    left = trim(item.substr(0, arrow));
  }
  // The type and the shape in either order, each at most once.
  for (bool more = true; more;) {
    more = false;
    if (size_t open = left.rfind('{'); !in.type && left.ends_with('}') && open != left.npos) {
      in.type = type_of(trim(left.substr(open + 1, left.size() - open - 2)), item);
      left = trim(left.substr(0, open));
      more = true;
    }
    if (auto b = bracketed(left); b && !in.shape) {
      in.shape = shape_of(b->content, item, input_hint);
      left = b->name;
      more = true;
    }
  }
  in.place = left;
  if (in.place.empty() || in.place.find_first_of("[]{}") != in.place.npos)
    throw UsageError(text("expected an input, got '", item, "'"), input_hint);
  // A frozen input is no longer an input, so it does not start a list of inputs.
  in.listed = !in.value;
  if (in.value && in.shape && !in.shape->is_static())
    throw UsageError(text("expected a static shape for an input with a value, got '", item, "'"), input_hint);
  return in;
}

struct ShapeItem {
  std::string name;  // empty: by position
  Shape shape;
};
std::vector<ShapeItem> shapes_of(const std::string& given) {
  constexpr const char* hint =
      "write [1,3,224,224],(1,5) in the order of --input, or name[1,3,224,224]; ? is an unknown dimension";
  std::vector<ShapeItem> out;
  // Numbers without brackets are a single shape.
  if (given.find_first_of("[(") == given.npos) return {{"", shape_of(given, given, hint)}};
  for (const std::string& item : items_of(given)) {
    auto b = bracketed(item);
    if (!b) throw UsageError(text("--input_shape: expected a shape, got '", item, "'"), hint);
    out.push_back({std::string(b->name), shape_of(b->content, item, hint)});
  }
  if (out.empty()) throw UsageError("--input_shape is empty", hint);
  return out;
}

void add_shapes_to(CutRequest& r, const std::vector<ShapeItem>& shapes) {
  std::vector<Shape> unnamed;
  for (const ShapeItem& s : shapes) {
    if (s.name.empty()) {
      unnamed.push_back(s.shape);
      continue;
    }
    auto it = std::find_if(r.inputs.begin(), r.inputs.end(), [&](const CutInput& i) { return i.place == s.name; });
    if (it == r.inputs.end()) {
      CutInput in;
      in.place = s.name, in.shape = s.shape, in.listed = false;
      r.inputs.push_back(std::move(in));
    } else if (it->shape) {
      throw UsageError(text("more than one shape for input '", s.name, "'"));
    } else {
      it->shape = s.shape;
    }
  }
  if (unnamed.empty()) return;
  std::vector<CutInput*> open;
  for (CutInput& i : r.inputs) {
    if (i.listed && i.shape)
      throw UsageError("shapes are given in both --input and --input_shape", "use only one of the two options");
    if (i.listed) open.push_back(&i);
  }
  if (open.empty() && unnamed.size() == 1) return (void)(r.only_shape = unnamed[0]);
  if (open.size() != unnamed.size())
    throw UsageError(text("--input_shape has ", unnamed.size(), unnamed.size() == 1 ? " shape" : " shapes",
                          ", --input names ", open.size(), open.size() == 1 ? " input" : " inputs"),
                     "to set several shapes, name one input per shape in --input, in the same order");
  for (size_t i = 0; i < open.size(); ++i) open[i]->shape = unnamed[i];
}

void add_frozen_to(CutRequest& r, const std::string& given) {
  for (const std::string& item : items_of(given)) {
    CutInput in = input_of(item);
    if (!in.value || in.shape || in.type)
      throw UsageError(text("--freeze_placeholder_with_value: expected NAME->VALUE, got '", item, "'"));
    auto it = std::find_if(r.inputs.begin(), r.inputs.end(), [&](const CutInput& i) { return i.place == in.place; });
    if (it == r.inputs.end()) {
      r.inputs.push_back(std::move(in));
    } else {
      if (it->value) throw UsageError(text("more than one value for input '", in.place, "'"));
      it->value = in.value;
      it->listed = false;
    }
  }
}

std::string joined(const std::vector<std::string>& parts) { return join(parts, ","); }

}  // namespace

void CutOptions::add(CLI::App& app) {
  constexpr const char* group = "Inputs and outputs";
  add_row<ReadOptions>(app, "inputs", inputs, "name[1 3 224 224]{f32}->value,...; a name may be 0:layer or layer:0",
                       "INPUTS", group);
  add_row<ReadOptions>(app, "shapes", shapes, "name[1,3,224,224],..., or without names in the order of --input",
                       "SHAPES", group);
  add_row<ReadOptions>(app, "outputs", outputs, "", "NAMES", group);
  add_row<ReadOptions>(app, "constants", frozen, "name->value,...", "VALUES", group);
  add_row<ReadOptions>(app, "batch", batch, "", "N", group);
  app.add_flag("--static_shape", static_shape,
               "fold operations on known shapes into constants; always enabled, so this has no effect")
      ->group("Inputs and outputs");
}

CutRequest CutOptions::request() const {
  CutRequest r;
  for (const std::string& item : items_of(joined(inputs))) r.inputs.push_back(input_of(item));
  for (size_t i = 0; i < r.inputs.size(); ++i)
    for (size_t k = 0; k < i; ++k)
      if (r.inputs[i].place == r.inputs[k].place)
        throw UsageError(text("--input names '", r.inputs[i].place, "' twice"));
  if (!frozen.empty()) add_frozen_to(r, joined(frozen));
  if (!batch.empty()) {
    auto n = parse_int(batch);
    if (!n || *n <= 0) throw UsageError(text("--batch: expected a positive integer, got '", batch, "'"));
    r.batch = *n;
    bool with_shapes = !shapes.empty();
    for (const CutInput& i : r.inputs) with_shapes |= i.shape.has_value();
    if (with_shapes)
      throw UsageError("--batch and input shapes are mutually exclusive", "include the batch size in the shapes");
  }
  std::vector<ShapeItem> all;
  for (const std::string& s : shapes)
    for (ShapeItem& i : shapes_of(s)) all.push_back(std::move(i));
  add_shapes_to(r, all);
  for (const std::string& item : items_of(joined(outputs))) r.outputs.emplace_back(item);
  return r;
}

}  // namespace graft::cli
