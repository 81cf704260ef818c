#include "scaffold.hpp"

#include <algorithm>
#include <cstring>
#include <graft/text.hpp>

#include "source_text.hpp"

namespace graft::cli {
namespace {

// The parser of test cases counts braces, even in quotes, so they are escaped.
std::string case_text(std::string_view s) {
  std::string out;
  bool quoted = false;
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '"') quoted = !quoted;
    if (quoted && s[i] == '\\') out += s[i++];
    if (quoted && (s[i] == '{' || s[i] == '}')) out += s[i] == '{' ? "\\x7b" : "\\x7d";
    else out += s[i];
  }
  return out;
}

// `wanted`, with a number appended if it is taken.
std::string unique(std::set<std::string>& taken, const std::string& wanted) {
  std::string name = wanted;
  for (int i = 2; !taken.insert(name).second; ++i) name = text(wanted, '_', i);
  return name;
}

// A valid name for a CMake target.
std::string library_name(const std::string& wanted) {
  static const std::set<std::string, std::less<>> taken = {"all",           "all_build",      "clean",
                                                           "codegen",       "depend",         "edit_cache",
                                                           "help",          "install",        "list_install_components",
                                                           "package",       "package_source", "preinstall",
                                                           "rebuild_cache", "run_tests",      "test",
                                                           "zero_check"};
  return taken.count(wanted) ? wanted + "_op" : wanted;
}

using Named = NamedOperation;

std::string cpp_type(graft_kind k) {
  switch (k) {
    case GRAFT_BOOL: return "bool";
    case GRAFT_INT: return "int64_t";
    case GRAFT_FLOAT: return "float";
    case GRAFT_TEXT: return "std::string";
    case GRAFT_DTYPE: return "graft::DType";
    case GRAFT_SHAPE: return "graft::Shape";
    case GRAFT_INTS: return "std::vector<int64_t>";
    case GRAFT_FLOATS: return "std::vector<float>";
    case GRAFT_TEXTS: return "std::vector<std::string>";
    case GRAFT_DTYPES: return "std::vector<graft::DType>";
    case GRAFT_TENSOR: return "graft::TensorView";
    default: throw Error(ErrorKind::internal, text("an attribute is ", kind_name(k)));
  }
}

std::string cpp_initial(graft_kind k) {
  switch (k) {
    case GRAFT_BOOL: return " = false";
    case GRAFT_INT:
    case GRAFT_FLOAT: return " = 0";
    case GRAFT_DTYPE: return " = graft::DType::f32";
    default: return "";
  }
}

std::string attribute_struct(const Named& n) {
  std::string members, list;
  for (size_t i = 0; i < n.members.size(); ++i) {
    const SeenAttribute& a = n.seen.attributes[i];
    std::string type = cpp_type(a.kind);
    members += text("  ", n.always(a) ? type : "std::optional<" + type + ">", " ", n.members[i],
                    n.always(a) ? cpp_initial(a.kind) : "", ";  ",
                    cpp_comment(text("seen: ", join(a.values, ", "), n.always(a) ? "" : ", or omitted")), "\n");
    list +=
        text(list.empty() ? "" : ",\n                                     ", "graft::attr(", cpp_literal(a.name), ", &",
             n.type, "::", n.members[i], ", \"\")", n.always(a) && a.kind != GRAFT_TENSOR ? ".required()" : "");
  }
  for (const auto& [name, what] : n.seen.other_fields)
    members += text("  ", cpp_comment(text("'", name, "' is ", what, ", which cannot be an attribute")), "\n");
  std::string schema = list.empty() ? "std::tuple<> schema{}" : text("std::tuple schema{", list, "}");
  return text("struct ", n.type, " {\n", members, "  static constexpr ", schema, ";\n};\n");
}

std::string input_list(const SeenOperation& s) {
  std::string out;
  bool variadic = s.most_inputs > s.least_inputs + 1;
  size_t named = variadic ? s.least_inputs : s.most_inputs, flows = s.most_inputs - s.weights;
  for (size_t i = 0; i < named; ++i)
    out += text(i ? ", " : "",
                s.input_names.size() == s.most_inputs ? s.input_names[i]
                : i < flows                           ? text("x", i)
                                                      : text("blob", i - flows),
                s.left_out.count(i) || i >= s.least_inputs ? "?" : "");
  return out + (variadic ? out.empty() ? "more..." : ", more..." : "");
}

std::string output_list(const SeenOperation& s) {
  std::string out;
  for (size_t i = 0; i < s.outputs; ++i) out += text(i ? ", y" : "y", i);
  return out;
}

std::string shape_literal(const Shape& s) {
  if (!s.ranked()) return "graft::Shape::unknown()";
  std::string out;
  for (const Dim& d : s) out += text(out.empty() ? "" : ", ", d.known() ? text(d) : "graft::Dim()");
  return text("graft::Shape{", out, "}");
}

std::string infer_function(const Named& n) {
  const SeenOperation& s = n.seen;
  std::string out = text("\n// Infers the types and shapes of the outputs. Dimensions may be unknown.\nvoid ", n.prefix,
                         "_infer(graft::Infer& ctx, const ", n.type, "&) {\n");
  for (size_t i = 0; i < s.outputs; ++i) {
    const SeenOutput& o = s.declared[i];
    bool own_type = !s.like || (o.info.type != DType::undefined && !o.input_type);
    bool own_shape = !s.like || (o.info.shape.ranked() && !o.input_shape);
    DType type = o.info.type == DType::undefined ? DType::f32 : o.info.type;
    Shape shape = o.info.shape.ranked() ? o.info.shape : Shape{1};
    std::string comment = !own_type && !own_shape ? text("same as input ", *s.like)
                          : o.info == Info{}      ? "a guess: there is no input"
                                                  : "as the model declares it";
    out += text("  ctx.output(", i, ", ", own_type ? text("graft::DType::", type) : text("ctx.type(", *s.like, ")"),
                ", ", own_shape ? shape_literal(shape) : text("ctx.shape(", *s.like, ")"), ");  // ", comment, "\n");
  }
  return out + "}\n";
}

std::string run_function(const Named& n) {
  return text(
      "\n// Computes the outputs. ctx.input(0).to<double>() reads and ctx.output(0).assign(values) writes any element "
      "type.\nvoid ",
      n.prefix, "_run([[maybe_unused]] graft::Run& ctx, [[maybe_unused]] const ", n.type, "& a) {\n  graft::fail(",
      cpp_literal(n.not_written()), ");\n}\n");
}

// ---- OpenCL ----

bool can_be_macro(graft_kind k) {
  return k == GRAFT_BOOL || k == GRAFT_INT || k == GRAFT_FLOAT || k == GRAFT_INTS || k == GRAFT_FLOATS;
}
std::string macro_of(const std::string& member) {
  std::string out;
  for (char c : member) out += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

// One work item per element of the first output; it does not compile until it is written.
std::string opencl_source(const Named& n) {
  std::string parameters, macros;
  for (size_t i = 0; i < n.seen.most_inputs; ++i)
    parameters += text(i ? ", " : "", "__global const INPUT", i, "_TYPE* x", i);
  for (size_t i = 0; i < n.seen.outputs; ++i)
    parameters += text(parameters.empty() ? "" : ", ", "__global OUTPUT", i, "_TYPE* y", i);
  for (size_t i = 0; i < n.members.size(); ++i)
    if (can_be_macro(n.seen.attributes[i].kind)) macros += text(macros.empty() ? "" : ", ", macro_of(n.members[i]));
  return text("\n// The kernel for the GPU: INPUT0_DIMS, OUTPUT0_PITCHES and other macros describe the tensors",
              macros.empty() ? "" : text("; attributes: ", macros), ".\nconstexpr std::string_view ", n.prefix,
              "_source = R\"(\n__kernel void ", n.prefix, "(", parameters,
              ") {\n  size_t i = get_global_id(0);\n#error ", n.prefix,
              "_source is not implemented yet: compute element i of the output here\n}\n)\";\n\n// Not every device "
              "computes with f16; those that do not read it with vload_half.\nvoid ",
              n.prefix,
              "_accept(graft::Accept& ctx) {\n  for (size_t i = 0; i < ctx.inputs(); ++i)\n    if (ctx.has_input(i) && "
              "ctx.type(i) != graft::DType::f32) graft::unsupported(\"expected f32, got \", ctx.type(i));\n}\n");
}
std::string opencl_kernel(const Named& n) {
  std::string defines;
  for (size_t i = 0; i < n.members.size(); ++i)
    if (const SeenAttribute& a = n.seen.attributes[i]; can_be_macro(a.kind))
      defines += text(".define(\"", macro_of(n.members[i]), "\", ", cpp_literal(a.name), ")");
  return text("\n      .opencl(graft::SourceKernel(\"GPU\", \"", n.prefix, "_cl\").source(", n.prefix, "_source, \"",
              n.prefix, "\")", defines, ".accept(", n.prefix, "_accept))");
}

std::string import_rule(const SeenOperation& s) {
  if (s.framework.empty()) return "";
  std::string named = s.framework == "pytorch" ? "torch" : s.framework;
  std::string function = s.built_in_framework ? named + "(" : text("Rule(", cpp_literal(s.framework), ", ");
  std::string out = text("\n      .import(graft::", function, cpp_literal(s.type), ")"),
              indent = "\n                  ";
  if (!s.domain.empty()) out += text(".domain(", cpp_literal(s.domain), ")");
  for (const SeenAttribute& a : s.attributes)
    if (a.name != a.path) out += text(indent, ".attr(", cpp_literal(a.name), ", ", cpp_literal(a.path), ")");
  return out + ")";
}

std::string operation_source(const Named& n, bool gpu) {
  const SeenOperation& s = n.seen;
  std::string out =
      text("\n", cpp_comment(text("---- ", s.type, s.domain.empty() ? "" : " of " + s.domain, " ----")), "\n\n");
  out += attribute_struct(n) + infer_function(n) + run_function(n) + (gpu ? opencl_source(n) : "") + "\n";
  if (s.framework.empty()) out += "// No import rule: the entry of the replacement file names the operation.\n";
  return out + text("graft::Definitions define_", n.prefix, "() {\n  return graft::op<", n.type, ">(",
                    cpp_literal(s.type), ", ", cpp_literal(s.opset), ")\n      .doc(\"\")\n      .inputs(",
                    cpp_literal(input_list(s)), ")\n      .outputs(", cpp_literal(output_list(s)), ")\n      .infer(",
                    n.prefix, "_infer)\n      .reference(", n.prefix, "_run)", gpu ? opencl_kernel(n) : "",
                    import_rule(s), ";\n}\n");
}

std::string source(const std::vector<Named>& ops, const std::string& library, bool gpu) {
  std::string out = "#include <graft/extension.hpp>\n\nnamespace {\n", list;
  for (const Named& n : ops) {
    out += operation_source(n, gpu);
    list += text(list.empty() ? "" : ", ", "define_", n.prefix, "()");
  }
  return out + text("\n}  // namespace\n\nGRAFT_EXTENSION(", cpp_literal(library), ", \"0.1\") {\n  return {", list,
                    "};\n}\n");
}

std::string build_file(const std::string& library) {
  return text("cmake_minimum_required(VERSION 3.25)\nproject(", library,
              " LANGUAGES CXX)\nfind_package(Graft REQUIRED)\nadd_library(", library, " MODULE ", library,
              ".cpp)\ntarget_link_libraries(", library, " PRIVATE Graft::sdk)\n");
}

// ---- cases ----

constexpr int64_t most_elements = 64;  // of a tensor in a test case
constexpr size_t most_items = 32, most_characters = 200;

// The block of a tensor that starts at its first element.
Tensor corner(const Tensor& t, const std::vector<int64_t>& dims) {
  // Packed elements are widened, and strings are copied one by one.
  bool packed = is_packed(t.type());
  Tensor from = packed ? t.to(DType::i64) : t;
  int64_t count = 1;
  for (int64_t d : dims) count *= d;
  std::vector<std::string> texts;
  Tensor out = from.type() == DType::string ? Tensor() : Tensor(from.type(), dims);
  size_t size = from.type() == DType::string ? 0 : static_cast<size_t>(bits_of(from.type())) / 8;
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, at = 0, stride = 1;
    for (size_t d = dims.size(); d-- > 0;) {
      at += rest % dims[d] * stride;
      rest /= dims[d];
      stride *= t.dims()[d];
    }
    if (!size) texts.emplace_back(from.text_at(at));
    else
      std::memcpy(static_cast<char*>(out.data()) + static_cast<size_t>(i) * size,
                  static_cast<const char*>(from.data()) + static_cast<size_t>(at) * size, size);
  }
  if (!size) return Tensor::strings(dims, std::move(texts));
  return packed ? out.to(t.type()) : out;
}

Tensor small_tensor(const Tensor& t) {
  std::vector<int64_t> dims = t.dims();
  auto count = [&] {
    int64_t n = 1;
    for (int64_t d : dims)
      if (__builtin_mul_overflow(n, d, &n)) return INT64_MAX;
    return n;
  };
  while (count() > most_elements) {
    int64_t& largest = *std::max_element(dims.begin(), dims.end());
    largest = std::max<int64_t>(1, largest / 2);
  }
  return dims == t.dims() ? t : corner(t, dims);
}

// A value that fits on a line.
Attribute small_value(const Attribute& a) {
  auto first = [](auto list) {
    if (list.size() > most_items) list.resize(most_items);
    return Attribute(std::move(list));
  };
  switch (a.kind()) {
    case GRAFT_TENSOR: return small_tensor(a.as<Tensor>());
    case GRAFT_INTS: return first(a.as<std::vector<int64_t>>());
    case GRAFT_FLOATS: return first(a.as<std::vector<double>>());
    case GRAFT_TEXTS: return first(a.as<std::vector<std::string>>());
    case GRAFT_DTYPES: return first(a.as<std::vector<DType>>());
    case GRAFT_TEXT: break;
    default: return a;
  }
  std::string s = a.as<std::string>();
  if (s.size() <= most_characters) return s;
  size_t end = most_characters;
  while (end > 0 && (static_cast<unsigned char>(s[end]) & 0xc0) == 0x80) --end;
  return s.substr(0, end);
}

// An input of a test case: that of the model, with dimensions limited to 4.
Info small_info(Info info) {
  if (info.type == DType::undefined) info.type = DType::f32;
  if (!info.shape.ranked()) info.shape = Shape{2};
  for (Dim& d : info.shape) d = d.known() ? Dim(std::min<int64_t>(d.value(), 4)) : Dim(2);
  return info;
}

std::string value_line(size_t i, const Info& info) {
  if (info.type != DType::string) return text("x", i, " = random(", i + 1, ")\n");
  std::vector<std::string> texts(static_cast<size_t>(info.shape.elements().value()), "a");
  return text("x", i, " = ", print(Tensor::strings(info.shape.values(), texts)), "\n");
}

std::string one_case(const Named& n) {
  const SeenOperation& s = n.seen;
  std::string parameters, arguments, values, attributes, cut;
  for (size_t i = 0; i < s.example.size(); ++i) {
    arguments += text(i ? ", " : "", s.example[i] ? text("x", i) : "_");
    if (!s.example[i]) continue;
    Info info = small_info(*s.example[i]);
    parameters += text(parameters.empty() ? "" : ", ", "x", i, ": ", info);
    values += value_line(i, info);
  }
  for (const SeenAttribute& a : s.attributes) {
    if (!n.always(a)) continue;
    Attribute value = small_value(a.example);
    if (!(value == a.example)) cut += (cut.empty() ? "" : ", ") + in_quotes(a.name);
    attributes += text(attributes.empty() ? "" : ", ", in_quotes(a.name), " = ", print(value));
  }
  std::string out = "\n";
  if (!cut.empty()) out += text("# Truncated attributes: ", on_one_line(cut), "\n");
  return out + text("== ", on_one_line(s.type), "\ngraph (", parameters, ") { return ", case_text(in_quotes(s.type)),
                    "@", case_text(in_quotes(s.opset)), "(", arguments, ") {", case_text(attributes), "} }\n", values,
                    "error: ", n.refusal(), "\n");
}

std::string cases(const std::vector<Named>& ops) {
  std::string out =
      "# Test cases: a graph, its inputs and the expected outputs. Once an operation is implemented, replace `error:` "
      "with its results:\n# -> f32[2] {1, 2}\n";
  for (const Named& n : ops) out += one_case(n);
  return out;
}

}  // namespace

std::string NamedOperation::not_written() const {
  return text(python ? "" : type + " is ", "not implemented yet: add its computation to ", prefix, "_run");
}
// The operation is named in front of what Python raises.
std::string NamedOperation::refusal() const {
  return python ? text(on_one_line(seen.type), ": ", not_written()) : not_written();
}

Scaffold scaffold(const std::vector<SeenOperation>& operations, const std::string& title, Form form) {
  std::vector<Named> named;
  std::set<std::string> prefixes;
  for (const SeenOperation& s : operations) {
    Named& n = named.emplace_back(
        Named{form == Form::python ? for_python(s) : s, identifier(s.type), "", {}, form == Form::python});
    n.prefix = unique(prefixes, to_lower(n.type));
    // Types that differ only in case, punctuation or domain have the same name.
    if (n.prefix != to_lower(n.type)) n.type += n.prefix.substr(to_lower(n.type).size());
    std::set<std::string> members = {n.type};
    for (const SeenAttribute& a : n.seen.attributes) n.members.push_back(unique(members, identifier(a.name)));
  }
  bool gpu = form == Form::cpp_with_opencl;
  Scaffold out;
  out.library = library_name(named.size() == 1 ? named[0].prefix : to_lower(identifier(title)) + "_ops");
  out.source = out.library + (form == Form::python ? ".py" : ".cpp");
  if (form == Form::python) out.files = {{out.source, python_source(named)}};
  else out.files = {{out.source, source(named, out.library, gpu)}, {"CMakeLists.txt", build_file(out.library)}};
  out.files.emplace_back(out.library + ".test", cases(named));
  for (const Named& n : named) {
    out.to_write.push_back(n.prefix + "_run");
    if (gpu) out.to_write.push_back(n.prefix + "_source");
  }
  return out;
}

}  // namespace graft::cli
