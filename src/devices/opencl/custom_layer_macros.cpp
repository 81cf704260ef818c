// The conventions of custom layers: dimensions as B, F, Y, X, formulas of work sizes, and the macros in front of a
// source.
#include <algorithm>

#include "base/text.hpp"
#include "devices/opencl/emit.hpp"
#include "readers/work_size.hpp"

namespace graft {
namespace {

constexpr std::string_view format_names[] = {"BFYX", "BYXF", "YXFB", "FYXB"};

// #define NAME (const int []){ 1,2, } with its companions.
template <class List>
std::string array_macro(const std::string& name, const List& values) {
  std::string items;
  for (auto v : values) items += text(v, ",");
  return text("#define ", name, " (const int []){ ", items, " }\n#define ", name, "_INIT { ", items, " }\n#define ",
              name, "_SIZE ", values.size(), "\n");
}

std::string tensor_macros(const std::string& name, const Info& info, int32_t format) {
  std::vector<int64_t> dims = bfyx_dims(info.shape.values());
  std::vector<int64_t> none(4, 0);
  return text(array_macro(name + "_DIMS", dims), "#define ", name, "_TYPE ", cl_element_name(info.type), "\n#define ",
              name, "_FORMAT_", format_names[format], "\n", array_macro(name + "_LOWER_PADDING", none),
              array_macro(name + "_UPPER_PADDING", none), array_macro(name + "_PITCHES", bfyx_pitches(dims, format)),
              "#define ", name, "_OFFSET 0\n");
}

int32_t format_of(const graft_launch& l, int32_t kind, size_t port) {
  for (size_t i = 0; i < l.argument_count; ++i)
    if (l.arguments[i].kind == kind && l.arguments[i].index == port)
      return std::clamp<int32_t>(l.arguments[i].format, 0, GRAFT_FYXB);
  return GRAFT_BFYX;
}

const Info& info_of(const NodeContext& node, bool input, size_t port, std::string_view formula) {
  bool found = input ? port < node.inputs().size() && node.inputs()[port] : port < node.outputs.size();
  if (!found) throw_user("formula '", formula, "': the node has no ", input ? "input " : "output ", port);
  return input ? *node.inputs()[port] : *node.outputs[port];
}

// INPUT0_DIMS[2]: an index into the shape as it is.
double dimension(const NodeContext& node, std::string_view name, std::string_view formula) {
  bool input = name.starts_with("INPUT");
  std::string_view rest = name.substr(std::min<size_t>(name.size(), input ? 5 : 6));
  size_t middle = rest.find("_DIMS[");
  bool formed = middle != rest.npos && rest.ends_with(']');
  int64_t port = formed ? parse_int(rest.substr(0, middle)).value_or(-1) : -1;
  int64_t axis = formed ? parse_int(rest.substr(middle + 6, rest.size() - middle - 7)).value_or(-1) : -1;
  if ((!input && !name.starts_with("OUTPUT")) || port < 0 || axis < 0)
    throw_user("formula '", formula, "': expected INPUTn_DIMS[i], OUTPUTn_DIMS[i], B, F, Y or X, got '", name, "'");
  std::vector<int64_t> dims = info_of(node, input, static_cast<size_t>(port), formula).shape.values();
  if (static_cast<size_t>(axis) >= dims.size())
    throw_user("formula '", formula, "': ", name, " has no dimension in a shape of rank ", dims.size());
  return static_cast<double>(dims[static_cast<size_t>(axis)]);
}

}  // namespace

std::string_view cl_element_name(DType type) {
  switch (type) {
    case DType::i8: return "char";
    case DType::u8:
    case DType::boolean: return "uchar";
    case DType::i16: return "short";
    case DType::u16: return "ushort";
    case DType::i32: return "int";
    case DType::u32: return "uint";
    case DType::i64: return "long";
    case DType::u64: return "ulong";
    case DType::f16: return "half";
    case DType::f32: return "float";
    case DType::f64: return "double";
    default: throw_unsupported("custom layers have no elements of ", type);
  }
}

std::vector<int64_t> bfyx_dims(std::span<const int64_t> dims) {
  if (dims.size() > 4) throw_unsupported("custom layers have at most 4 dimensions, got ", dims.size());
  std::vector<int64_t> out(dims.begin(), dims.end());
  out.resize(4, 1);
  return out;
}

std::vector<int64_t> bfyx_pitches(std::span<const int64_t> d, int32_t format) {
  int64_t b = d[0], f = d[1], y = d[2], x = d[3];
  switch (format) {
    case GRAFT_BYXF: return {y * x * f, 1, x * f, f};
    case GRAFT_YXFB: return {1, b, x * f * b, f * b};
    case GRAFT_FYXB: return {1, y * x * b, x * b, b};
    default: return {f * y * x, y * x, x, 1};
  }
}

int64_t custom_work_size(const NodeContext& node, std::string_view formula, bool of_input, size_t port) {
  return evaluate_work_size(formula, FormulaKind::gpu, [&](std::string_view name) -> double {
    if (name.size() > 1) return dimension(node, name, formula);
    std::vector<int64_t> dims = info_of(node, of_input, port, formula).shape.values();
    size_t letter = std::string_view("BFYXbfyx").find(name[0]) % 4;
    if (!of_input) return letter < dims.size() ? static_cast<double>(dims[letter]) : 1;
    // X is the last dimension of an input.
    size_t from_end = 4 - letter;
    return from_end <= dims.size() ? static_cast<double>(dims[dims.size() - from_end]) : 1;
  });
}

std::string custom_layer_macros(const NodeContext& node, const graft_launch& launch, const OpenclLaunch& sizes) {
  std::string out = text("// Custom Layer Built-ins\n#define NUM_INPUTS ", node.inputs().size(), "\n",
                         array_macro("GLOBAL_WORKSIZE", sizes.global), array_macro("LOCAL_WORKSIZE", sizes.local));
  for (size_t i = 0; i < node.inputs().size(); ++i)
    if (node.inputs()[i])
      out += tensor_macros(text("INPUT", i), *node.inputs()[i], format_of(launch, GRAFT_ARGUMENT_INPUT, i));
  for (size_t i = 0; i < node.outputs.size(); ++i)
    if (node.outputs[i])
      out += tensor_macros(text("OUTPUT", i), *node.outputs[i], format_of(launch, GRAFT_ARGUMENT_OUTPUT, i));
  return out + "// Custom Layer User Defines\n";
}

}  // namespace graft
