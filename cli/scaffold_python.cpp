// The source of an extension skeleton in Python.
#include <graft/text.hpp>

#include "scaffold.hpp"
#include "source_text.hpp"

namespace graft::cli {
namespace {

// The annotation of an attribute; empty: operations in Python have no attributes of this kind.
std::string_view annotation(graft_kind k) {
  switch (k) {
    case GRAFT_BOOL: return "bool";
    case GRAFT_INT: return "int";
    case GRAFT_FLOAT: return "float";
    case GRAFT_TEXT: return "str";
    case GRAFT_DTYPE: return "np.dtype";
    case GRAFT_INTS: return "list[int]";
    case GRAFT_FLOATS: return "list[float]";
    case GRAFT_TEXTS: return "list[str]";
    default: return "";
  }
}

std::string python_identifier(std::string_view s) {
  static const std::set<std::string, std::less<>> taken = {
      "False",  "None",   "True", "as", "async",  "await",    "def", "del",  "elif",  "except", "finally", "from",
      "global", "import", "in",   "is", "lambda", "nonlocal", "np",  "pass", "raise", "typing", "with",    "yield"};
  std::string name = identifier(s);
  return taken.count(name) ? name + "_" : name;
}

std::string python_comment(std::string_view s) { return "# " + on_one_line(s); }

// "x0, x1=None, *more"
std::string input_parameters(const SeenOperation& s, bool with_absent) {
  std::string out;
  bool variadic = s.most_inputs > s.least_inputs + 1, absent = false;
  size_t named = variadic ? s.least_inputs : s.most_inputs;
  for (size_t i = 0; i < named; ++i) {
    // All inputs behind one that may be absent have a default, too, as Python demands.
    absent = absent || s.left_out.count(i) || i >= s.least_inputs;
    out += text(i ? ", x" : "x", i, absent && with_absent ? "=None" : "");
  }
  return out + (variadic ? out.empty() ? "*more" : ", *more" : "");
}

std::string dims_text(const Shape& s) {
  if (!s.ranked()) return "None";
  std::string out;
  for (const Dim& d : s) out += text(d.known() ? text(d) : "None", ", ");
  return text("(",
              out.ends_with(", ") && s.rank() > 1 ? out.substr(0, out.size() - 2)
                                                  : out.substr(0, out.size() - (out.empty() ? 0 : 1)),
              ")");
}

std::string shape_function(const NamedOperation& n) {
  const SeenOperation& s = n.seen;
  std::string out =
      text("def ", n.prefix, "_shape(", input_parameters(s, true), s.most_inputs ? ", " : "",
           "**attributes):\n    \"\"\"Element type and shape of each output. None: an unknown dimension, or "
           "an unknown rank.\"\"\"\n    return [");
  std::string indent = ",\n            ";
  for (size_t i = 0; i < s.outputs; ++i) {
    const SeenOutput& o = s.declared[i];
    bool own_type = !s.like || (o.info.type != DType::undefined && !o.input_type);
    bool own_shape = !s.like || (o.info.shape.ranked() && !o.input_shape);
    DType type = o.info.type == DType::undefined ? DType::f32 : o.info.type;
    Shape shape = o.info.shape.ranked() ? o.info.shape : Shape{1};
    out += text(i ? indent : "", "(", own_type ? python_literal(name_of(type)) : text("x", *s.like, ".dtype"), ", ",
                own_shape ? dims_text(shape) : text("x", *s.like, ".shape"), ")");
  }
  return out + "]\n";
}

// onnx='acme::Warp', or with a rule where names differ.
std::string import_argument(const SeenOperation& s) {
  if (s.framework.empty()) return "";
  std::string renamed;
  for (const SeenAttribute& a : s.attributes)
    if (a.name != a.path)
      renamed += text(renamed.empty() ? "" : ", ", python_literal(a.name), ": ", python_literal(a.path));
  std::string type = python_literal(s.domain.empty() ? s.type : s.domain + "::" + s.type);
  return text(", ", s.framework, "=", renamed.empty() ? type : text("graft.rule(", type, ", attrs={", renamed, "})"));
}

std::string operation(const NamedOperation& n) {
  const SeenOperation& s = n.seen;
  std::string outputs, attributes, notes;
  for (size_t i = 0; i < s.outputs; ++i) outputs += text(i ? ", y" : "y", i);
  bool variadic = s.most_inputs > s.least_inputs + 1;
  for (const SeenAttribute& a : s.attributes) {
    std::string type(annotation(a.kind));
    attributes += text(", ", a.name, ": ", n.always(a) ? type : text("typing.Optional[", type, "] = None"));
    notes += text(
        "    ", python_comment(text(a.name, ": seen ", join(a.values, ", "), n.always(a) ? "" : ", or omitted")), "\n");
  }
  for (const auto& [name, what] : s.other_fields)
    notes += text("    ", python_comment(text("'", name, "' is ", what, ", which cannot be an attribute")), "\n");
  std::string parameters = input_parameters(s, true);
  if (!attributes.empty()) parameters += (variadic ? "" : parameters.empty() ? "*" : ", *") + attributes;
  std::string out =
      text("\n\n", python_comment(text("---- ", s.type, s.domain.empty() ? "" : " of " + s.domain, " ----")), "\n\n",
           shape_function(n), "\n\n@graft.op(", python_literal(s.type), ", opset=", python_literal(s.opset),
           ", outputs=", python_literal(outputs), ", shape=", n.prefix, "_shape", import_argument(s), ")\ndef ",
           n.prefix, "_run(", parameters, "):\n");
  out += text("    \"\"\"\"\"\"\n", notes);
  return out + text("    raise graft.Error(", python_literal(n.not_written()), ")\n");
}

}  // namespace

SeenOperation for_python(SeenOperation s) {
  std::set<std::string> taken;
  for (size_t i = 0; i < s.most_inputs; ++i) taken.insert(text("x", i));
  taken.insert("more");
  for (SeenAttribute& a : s.attributes) {
    std::string name = python_identifier(a.name);
    a.name = name;
    for (int i = 2; !taken.insert(a.name).second; ++i) a.name = text(name, '_', i);
    if (annotation(a.kind).empty()) s.other_fields.emplace_back(a.path, text("a ", kind_name(a.kind)));
  }
  std::erase_if(s.attributes, [](const SeenAttribute& a) { return annotation(a.kind).empty(); });
  return s;
}

std::string python_source(const std::vector<NamedOperation>& operations) {
  std::string out;
  for (const NamedOperation& n : operations) out += operation(n);
  return text(out.find("typing.") == out.npos ? "" : "import typing\n\n", "import numpy as np\n\nimport graft\n", out);
}

}  // namespace graft::cli
