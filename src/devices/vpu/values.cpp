#include "devices/vpu/values.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "readers/work_size.hpp"

namespace graft {
namespace {

// An attribute as the text that an IR would have.
std::optional<std::string> attribute_text(const Accept& node, std::string_view name) {
  for (const graft_named_value& v : node.all_attributes())
    if (view(v.name) == name) return define_text(v.value);
  return std::nullopt;
}

size_t letter_index(char c) { return std::string_view("BFYXbfyx").find(c) % 4; }
bool is_letter(std::string_view name) {
  return name.size() == 1 && std::string_view("BFYXbfyx").find(name[0]) != std::string_view::npos;
}

bool compare(double a, std::string_view condition, double b) {
  if (condition == ">=") return a >= b;
  if (condition == "<=") return a <= b;
  if (condition == ">") return a > b;
  if (condition == "<") return a < b;
  return condition == "!=" ? a != b : a == b;
}

bool holds(const std::string& value, const std::string& condition) {
  std::optional<double> number = parse_number(value);
  if (!number) return equal_ignoring_case(value, condition);
  std::string_view sign;
  for (std::string_view s : {">=", "<=", "!=", ">", "<", "="})
    if (sign.empty() && condition.starts_with(s)) sign = s;
  std::optional<double> limit = parse_number(trim(std::string_view(condition).substr(sign.size())));
  return limit && compare(*number, sign, *limit);
}

}  // namespace

std::string vpu_where_fails(const Accept& node, const KernelDescription& layer) {
  for (const auto& [name, condition] : layer.where) {
    std::optional<std::string> value = attribute_text(node, name);
    if (!value) return text("its <Where> names the attribute '", name, "', which the operation does not have");
    if (!holds(*value, condition)) return text("its <Where> expects ", name, " ", condition, ", got ", *value);
  }
  return "";
}

VpuValues::VpuValues(const Accept& node, const KernelDescription& layer)
    : node_(node), layer_(layer), split_inputs_(node.inputs(), false), split_outputs_(node.outputs(), false) {
  split_batch();
}

Info VpuValues::whole(bool input, size_t port) const {
  bool found = input ? node_.has_input(port) : port < node_.outputs();
  if (!found) unsupported("the node has no ", input ? "input " : "output ", port);
  return input ? node_.input(port) : node_.output(port);
}

// Of four dimensions the first one is the batch, and of two if their format says so.
bool VpuValues::has_batch(bool input, size_t port) const {
  size_t rank = whole(input, port).shape.rank();
  if (rank != 2) return rank == 4;
  for (const KernelStage& s : layer_.stages)
    for (const KernelArgument& a : s.arguments)
      if (a.type == (input ? "input" : "output") && a.port == static_cast<int64_t>(port) && a.format == "BF")
        return true;
  return false;
}

void VpuValues::split_batch() {
  std::optional<int64_t> batch;
  for (size_t i = 0; i < node_.outputs(); ++i) {
    if (!has_batch(false, i)) continue;
    int64_t b = whole(false, i).shape[0].value();
    if (batch.value_or(b) != b) unsupported("the batch is split, and outputs have batches of ", *batch, " and ", b);
    batch = b;
    split_outputs_[i] = b != 1;
  }
  batch_ = batch.value_or(1);
  bool any = batch_ == 1;
  for (size_t i = 0; i < node_.inputs(); ++i) {
    // Constants are weights.
    if (!node_.has_input(i) || node_.constant(i) || !has_batch(true, i)) continue;
    int64_t b = whole(true, i).shape[0].value();
    if (b != 1 && b != batch_)
      unsupported("the batch is split: expected 1 or ", batch_, " items in input ", i, ", got ", b);
    split_inputs_[i] = b != 1;
    any = any || split_inputs_[i];
  }
  if (!any) unsupported("the batch is split, and no input has the batch of the output, ", batch_);
}

bool VpuValues::is_split(bool input, size_t port) const {
  const std::vector<bool>& split = input ? split_inputs_ : split_outputs_;
  return port < split.size() && split[port];
}

Info VpuValues::seen(bool input, size_t port) const {
  Info out = whole(input, port);
  if (out.shape.rank() > 4) unsupported("custom layers have at most 4 dimensions, got ", out.shape.rank());
  if (!is_split(input, port)) return out;
  std::vector<int64_t> dims = out.shape.values();
  dims[0] = 1;
  out.shape = Shape(std::vector<Dim>(dims.begin(), dims.end()));
  return out;
}

// Counted from the end of the shape; dimensions that it lacks are 1.
double VpuValues::letter(char name, std::pair<bool, size_t> dim) const {
  std::vector<int64_t> dims = seen(dim.first, dim.second).shape.values();
  size_t from_end = 4 - letter_index(name);
  return from_end <= dims.size() ? static_cast<double>(dims[dims.size() - from_end]) : 1;
}

int64_t VpuValues::formula(const std::string& f, std::pair<bool, size_t> dim) const {
  return evaluate_work_size(f, FormulaKind::vpu, [&](std::string_view name) -> double {
    if (is_letter(name)) return letter(name[0], dim);
    std::optional<std::string> value = attribute_text(node_, name);
    std::optional<double> number = value ? parse_number(*value) : std::nullopt;
    if (!number)
      unsupported("formula '", f, "': expected B, F, Y, X or a number among the attributes, got '", name, "'",
                  value ? text(", which is ", *value) : "");
    return *number;
  });
}

double VpuValues::scalar(const KernelArgument& a) const {
  auto port = static_cast<size_t>(a.port.value_or(0));
  if (std::optional<std::string> value = attribute_text(node_, a.source)) {
    std::vector<std::string_view> parts = split(*value, ',');
    size_t at = parts.size() == 1 ? 0 : port;
    std::optional<double> number = at < parts.size() ? parse_number(trim(parts[at])) : std::nullopt;
    if (!number) unsupported("argument '", a.name, "': the attribute ", a.source, " = ", *value, " has no number ", at);
    return *number;
  }
  // I.X, or I1.X with the port
  size_t dot = a.source.find('.');
  std::string_view tensor = std::string_view(a.source).substr(0, dot);
  if (dot != a.source.npos && (tensor.starts_with('I') || tensor.starts_with('O'))) {
    std::string_view name = std::string_view(a.source).substr(dot + 1);
    std::optional<int64_t> given = tensor.size() == 1 ? static_cast<int64_t>(port) : parse_int(tensor.substr(1));
    if (is_letter(name) && given && *given >= 0)
      return letter(name[0], {tensor[0] == 'I', static_cast<size_t>(*given)});
  }
  if (std::optional<double> number = parse_number(a.source)) return *number;
  unsupported("argument '", a.name, "': expected an attribute, I.X, O.X or a number as source, got '", a.source, "'");
}

}  // namespace graft
