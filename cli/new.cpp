// graft new: a one-file extension for operations that nobody knows, with everything filled in that a model shows.
#include <cstdio>
#include <filesystem>
#include <set>

#include "base/file.hpp"
#include "base/tensor.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "graph/text.hpp"

namespace graft::cli {
namespace {

struct NewOptions {
  ModelOptions model;
  std::string name, from_model, folder, domain, framework = "onnx";
  bool force = false, json = false;
};

// What is known of one attribute over all layers of a type.
struct SeenAttribute {
  std::string name;
  graft_kind kind = GRAFT_NONE;
  std::vector<std::string> values;
  size_t layers = 0;
};
struct SeenOperation {
  std::string type, domain;
  std::vector<SeenAttribute> attributes;
  size_t most_inputs = 1, least_inputs = 1, outputs = 1, layers = 0;
  std::set<size_t> left_out;                 // inputs that some layer leaves out
  std::vector<std::optional<Info>> example;  // of the first layer
};

SeenOperation seen(const UnknownType& u) {
  SeenOperation s{u.type, u.domain, {}, 0, SIZE_MAX, 1, u.layers.size(), {}, u.layers[0].inputs};
  for (const UnknownType::Layer& l : u.layers) {
    s.most_inputs = std::max(s.most_inputs, l.inputs.size());
    s.least_inputs = std::min(s.least_inputs, l.inputs.size());
    s.outputs = std::max(s.outputs, l.outputs);
    for (size_t i = 0; i < l.inputs.size(); ++i)
      if (!l.inputs[i]) s.left_out.insert(i);
    for (const auto& [name, value] : l.fields) {
      auto it = std::find_if(s.attributes.begin(), s.attributes.end(),
                             [&](const SeenAttribute& a) { return a.name == name; });
      if (it == s.attributes.end()) it = s.attributes.insert(s.attributes.end(), {name, value.kind(), {}, 0});
      ++it->layers;
      // The same attribute with and without a fraction is a number, once and repeated a list.
      if ((it->kind == GRAFT_INT && value.kind() == GRAFT_INTS) ||
          (it->kind == GRAFT_FLOAT && value.kind() == GRAFT_FLOATS) ||
          (it->kind == GRAFT_TEXT && value.kind() == GRAFT_TEXTS))
        it->kind = value.kind();
      if (it->kind == GRAFT_INT && value.kind() == GRAFT_FLOAT) it->kind = GRAFT_FLOAT;
      if (it->kind == GRAFT_INTS && value.kind() == GRAFT_FLOATS) it->kind = GRAFT_FLOATS;
      std::string v = value.kind() == GRAFT_TENSOR ? text(info_of(value.as<Tensor>())) : print(value);
      if (v.size() > 40) v = v.substr(0, 37) + "...";
      if (std::find(it->values.begin(), it->values.end(), v) == it->values.end() && it->values.size() < 4)
        it->values.push_back(v);
    }
  }
  return s;
}

std::string identifier(std::string_view s) {
  std::string out;
  for (char c : s) out += (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c : '_';
  static const std::set<std::string> reserved = {"and",    "bool",     "case",   "char",   "class", "const",  "default",
                                                 "do",     "double",   "else",   "enum",   "float", "for",    "if",
                                                 "int",    "long",     "new",    "not",    "or",    "return", "short",
                                                 "signed", "static",   "struct", "switch", "this",  "true",   "false",
                                                 "union",  "unsigned", "using",  "void",   "while", "schema"};
  if (out.empty() || (out[0] >= '0' && out[0] <= '9') || reserved.count(out)) out = "_" + out;
  return out;
}
std::string lower_identifier(std::string_view s) { return to_lower(identifier(s)); }

std::string cpp_type(graft_kind k) {
  switch (k) {
    case GRAFT_BOOL: return "bool";
    case GRAFT_INT: return "int64_t";
    case GRAFT_FLOAT: return "float";
    case GRAFT_TEXT: return "std::string";
    case GRAFT_INTS: return "std::vector<int64_t>";
    case GRAFT_FLOATS: return "std::vector<float>";
    case GRAFT_TEXTS: return "std::vector<std::string>";
    case GRAFT_TENSOR: return "graft::TensorView";
    default: return "";
  }
}

std::string attribute_struct(const SeenOperation& s) {
  std::string name = identifier(s.type), members, list;
  for (const SeenAttribute& a : s.attributes) {
    std::string type = cpp_type(a.kind);
    if (type.empty()) {
      members += text("  // attribute '", a.name, "' is a graph, which an operation cannot hold as an attribute\n");
      continue;
    }
    bool always = a.layers == s.layers;
    std::string member = identifier(a.name), initial = !always                                        ? ""
                                                       : a.kind == GRAFT_INT || a.kind == GRAFT_FLOAT ? " = 0"
                                                       : a.kind == GRAFT_BOOL                         ? " = false"
                                                                                                      : "";
    members += text("  ", always ? type : "std::optional<" + type + ">", " ", member, initial,
                    ";  // seen: ", join(a.values, ", "), always ? "" : ", or left out", "\n");
    list += text(list.empty() ? "" : ",\n                                     ", "graft::attr(", in_quotes(a.name),
                 ", &", name, "::", member, ", \"\")", always && a.kind != GRAFT_TENSOR ? ".required()" : "");
  }
  if (list.empty()) return text("struct ", name, " {\n", members, "  static constexpr std::tuple<> schema{};\n};\n");
  return text("struct ", name, " {\n", members, "  static constexpr std::tuple schema{", list, "};\n};\n");
}

std::string port_list(const SeenOperation& s) {
  if (s.most_inputs != s.least_inputs && s.most_inputs > s.least_inputs + 1) {
    std::string out;
    for (size_t i = 0; i < s.least_inputs; ++i) out += text("x", i, ", ");
    return out + "more...";
  }
  std::string out;
  for (size_t i = 0; i < s.most_inputs; ++i)
    out += text(i ? ", " : "", "x", i, s.left_out.count(i) || i >= s.least_inputs ? "?" : "");
  return out;
}

std::string opset_of(const SeenOperation& s) { return s.domain.empty() ? "extension" : s.domain; }

std::string operation_source(const SeenOperation& s, const std::string& framework) {
  std::string name = identifier(s.type), prefix = lower_identifier(s.type), out = attribute_struct(s);
  out += text("\n// Types and shapes of the outputs. Dimensions may be unknown here.\nvoid ", prefix,
              "_infer(graft::Infer& ctx, const ", name, "&) {\n");
  for (size_t i = 0; i < s.outputs; ++i) {
    if (s.most_inputs) out += text("  ctx.output(", i, ", ctx.type(0), ctx.shape(0));  // as the first input\n");
    else out += text("  ctx.output(", i, ", graft::DType::f32, graft::Shape{1});\n");
  }
  out += text(
      "}\n\n// What it computes. ctx.input(0).to<double>() reads, ctx.output(0).assign(values) writes, for every "
      "element type.\nvoid ",
      prefix, "_run(graft::Run&, const ", name, "&) { graft::fail(\"", name,
      " is not written yet: its formula goes into ", prefix, "_run\"); }\n\n");
  std::string outputs;
  for (size_t i = 0; i < s.outputs; ++i) outputs += text(i ? ", y" : "y", i);
  out += text("graft::Ops define_", prefix, "() {\n  return graft::op<", name, ">(", in_quotes(s.type), ", ",
              in_quotes(opset_of(s)), ")\n      .doc(\"\")\n      .inputs(", in_quotes(port_list(s)),
              ")\n      .outputs(", in_quotes(outputs), ")\n      .infer(", prefix, "_infer)\n      .reference(",
              prefix, "_run)\n      .import(graft::", framework, "(", in_quotes(s.type), ")",
              s.domain.empty() || framework != "onnx" ? "" : text(".domain(", in_quotes(s.domain), ")"), ");\n}\n");
  return out;
}

std::string source(const std::vector<SeenOperation>& ops, const std::string& library, const std::string& framework) {
  std::string out = "#include <graft/extension.hpp>\n\nnamespace {\n";
  for (const SeenOperation& s : ops)
    out += text("\n// ---- ", s.type, s.domain.empty() ? "" : " of " + s.domain, " ----\n\n",
                operation_source(s, framework));
  out += text("\n}  // namespace\n\nGRAFT_EXTENSION(", in_quotes(library), ", \"0.1\") {\n  return {");
  for (size_t i = 0; i < ops.size(); ++i) out += text(i ? ", " : "", "define_", lower_identifier(ops[i].type), "()");
  return out + "};\n}\n";
}

std::string cases(const std::vector<SeenOperation>& ops) {
  std::string out =
      "# Cases: a graph, its inputs, and what must come out. Once an operation computes, put its results in place of "
      "`error:`, as\n# -> f32[2] {1, 2}\n";
  for (const SeenOperation& s : ops) {
    std::string parameters, arguments, values;
    for (size_t i = 0; i < s.example.size(); ++i) {
      arguments += i ? ", " : "";
      if (!s.example[i]) {
        arguments += "_";
        continue;
      }
      Info info = *s.example[i];
      if (info.type == DType::undefined) info.type = DType::f32;
      if (!info.shape.ranked()) info.shape = Shape{2};
      for (Dim& d : info.shape) d = d.known() ? Dim(std::min<int64_t>(d.value(), 4)) : Dim(2);
      parameters += text(parameters.empty() ? "" : ", ", "x", i, ": ", info);
      arguments += text("x", i);
      values += info.type == DType::string
                    ? text("x", i, " = ",
                           print(Tensor::strings(
                               info.shape.values(),
                               std::vector<std::string>(static_cast<size_t>(info.shape.elements().value()), "a"))),
                           "\n")
                    : text("x", i, " = random(", i + 1, ")\n");
    }
    std::string attributes;
    for (const SeenAttribute& a : s.attributes)
      if (a.layers == s.layers && !cpp_type(a.kind).empty() && a.kind != GRAFT_TENSOR && !a.values[0].ends_with("..."))
        attributes += text(attributes.empty() ? "" : ", ", in_quotes(a.name), " = ", a.values[0]);
    out += text("\n== ", s.type, "\ngraph (", parameters, ") { return ", in_quotes(s.type), "@", in_quotes(opset_of(s)),
                "(", arguments, ") {", attributes, "} }\n", values, "error: ", identifier(s.type),
                " is not written yet: its formula goes into ", lower_identifier(s.type), "_run\n");
  }
  return out;
}

std::string build_file(const std::string& library) {
  return text("cmake_minimum_required(VERSION 3.25)\nproject(", library,
              " LANGUAGES CXX)\nfind_package(Graft REQUIRED)\nadd_library(", library, " MODULE ", library,
              ".cpp)\ntarget_link_libraries(", library, " PRIVATE Graft::sdk)\n");
}

void make(const NewOptions& o) {
  std::vector<SeenOperation> ops;
  std::string framework = o.framework;
  if (!o.from_model.empty()) {
    ModelOptions m = o.model;
    m.model = o.from_model;
    Core core = make_core(m);
    Model model = load(core, m);
    if (model.framework() == "caffe") framework = "caffe";
    for (const UnknownType& u : model.state()->report.unknown)
      if (o.name.empty() || u.type == o.name) ops.push_back(seen(u));
    // In an IR the opset stands where a framework has the domain.
    for (SeenOperation& s : ops)
      if (s.domain == "extension") s.domain.clear();
    if (ops.empty()) {
      std::vector<std::string> names;
      for (const UnknownType& u : model.state()->report.unknown) names.push_back(u.type);
      if (names.empty())
        throw UsageError(text("every layer of '", o.from_model, "' is known: there is nothing to scaffold"));
      throw UsageError(text("'", o.from_model, "' has no unknown layer of type '", o.name, "'"),
                       text("unknown are ", join(names, ", ")));
    }
  } else {
    if (o.name.empty()) throw UsageError("name the operation, or a model with --from-model");
    ops.push_back({o.name, o.domain, {}, 1, 1, 1, 1, {}, {Info{DType::f32, Shape{2, 3}}}});
  }
  std::set<std::string> names;
  for (const SeenOperation& s : ops)
    if (!names.insert(lower_identifier(s.type)).second)
      throw UsageError(text("two unknown types come down to the name '", lower_identifier(s.type), "'"),
                       "scaffold them one by one: graft new NAME --from-model ...");

  std::string library =
      ops.size() == 1 ? lower_identifier(ops[0].type) : lower_identifier(stem_of(o.from_model)) + "_ops";
  std::string folder = o.folder.empty() ? library : o.folder;
  make_folder(folder);
  std::vector<std::pair<std::string, std::string>> files = {{library + ".cpp", source(ops, library, framework)},
                                                            {"CMakeLists.txt", build_file(library)},
                                                            {library + ".test", cases(ops)}};
  for (const auto& [file, content] : files)
    if (std::filesystem::exists(folder + "/" + file) && !o.force)
      throw UsageError(text("'", folder, "/", file, "' is there already"), "--force writes over it");
  nlohmann::json written = nlohmann::json::array();
  for (const auto& [file, content] : files) {
    OutputFile out(folder + "/" + file);
    out.write(content);
    out.commit();
    written.push_back(folder + "/" + file);
  }
  if (o.json) return print_json({{"files", written}, {"library", text(folder, "/build/lib", library, ".so")}});
  for (const auto& [file, content] : files) std::printf("%s/%s\n", folder.c_str(), file.c_str());
  std::string f = quoted_for_shell(folder),
              model = o.from_model.empty() ? "model.onnx" : quoted_for_shell(o.from_model);
  std::printf(
      "\nBuild it:\n  cmake -S %s -B %s/build -DGraft_DIR=$(graft --cmake-dir) && cmake --build %s/build\nUse it:\n  "
      "graft convert %s --extensions %s/build/lib%s.so\n",
      f.c_str(), f.c_str(), f.c_str(), model.c_str(), f.c_str(), library.c_str());
  std::printf("Write it:\n");
  for (const SeenOperation& s : ops)
    std::printf("  %s_run in %s/%s.cpp\n", lower_identifier(s.type).c_str(), folder.c_str(), library.c_str());
}

}  // namespace

void add_new(CLI::App& app) {
  auto o = std::make_shared<NewOptions>();
  CLI::App* c = app.add_subcommand("new", "write the beginnings of an extension");
  c->add_option("name", o->name, "the operation; with --from-model, all unknown ones when not said");
  c->add_option("--from-model", o->from_model,
                "fills in attributes, inputs and types from a model that has such layers")
      ->type_name("FILE");
  o->model.add_extensions(*c);
  c->add_option("--output_dir,--output-dir,-o", o->folder, "folder for the extension; its name when not said")
      ->type_name("DIR");
  c->add_option("--domain", o->domain, "ONNX domain of the operation")->type_name("NAME");
  c->add_option("--framework", o->framework, "framework of the import rule")
      ->check(CLI::IsMember({"onnx", "caffe", "tensorflow", "mxnet", "kaldi"}))
      ->capture_default_str();
  c->add_flag("--force", o->force, "writes over files that are there");
  c->add_flag("--json", o->json, "prints JSON");
  c->callback([o] { make(*o); });
}

}  // namespace graft::cli
