// The extractors of the five frameworks: how each kind of attribute is read.
#include <algorithm>
#include <graft/text.hpp>
#include <set>

#include "command.hpp"
#include "generate.hpp"
#include "names.hpp"
#include "source_text.hpp"
#include "template.hpp"

namespace graft::cli::extgen {
namespace {

std::string python_flag(bool on) { return on ? "True" : "False"; }

using Reader = std::string (*)(const Parameter&);

// The lines "'name': expression," of a dictionary.
std::string entries_of(const Extractor& e, Reader read) {
  std::vector<std::string> lines;
  for (const Parameter& p : e.parameters) lines.push_back(text(python_literal(p.new_name), ": ", read(p), ","));
  return join(lines, "\n");
}

// With copy_all: what to do with single attributes afterwards.
std::string renames_of(const Extractor& e, std::string (*collected)(const Extractor&, const Parameter&) = nullptr) {
  std::vector<std::string> lines;
  for (const Parameter& p : e.parameters) {
    std::string from = collected ? collected(e, p) : p.old_name;
    std::string old_name = python_literal(from), new_name = python_literal(p.new_name);
    if (!p.preset.is_null())
      lines.push_back(text("attrs[", new_name, "] = attrs.pop(", old_name, ", ", python_value(p.preset), ")"));
    else if (from != p.new_name)
      lines.push_back(text("if ", old_name, " in attrs:\n    attrs[", new_name, "] = attrs.pop(", old_name, ")"));
  }
  return join(lines, "\n");
}

std::string comma_default(const Parameter& p) { return p.preset.is_null() ? "" : ", " + python_value(p.preset); }

// ---- TensorFlow ----

std::string parser_name(const Parameter& p) { return "parse_" + p.new_name; }

std::string read_tf(const Parameter& p) {
  std::string a = text("param[", python_literal(p.old_name), "]");
  if (p.type.empty()) return text(parser_name(p), "(", a, ")");
  if (p.type == "s") return a + ".s.decode()";
  if (p.type == "shape") return text("tf_tensor_shape(", a, ".shape)");
  if (p.type == "type") return text("tf_dtype_extractor(", a, ".type)");
  if (p.type == "padding") return text("{b'SAME': 'same_upper', b'VALID': 'valid'}[", a, ".s]");
  if (p.type == "batch" || p.type == "channel" || p.type == "spatial")
    return text("tf_data_format_", p.type, "(", a, ")");
  if (p.type == "list.s") return text("[item.decode() for item in ", a, ".list.s]");
  if (p.type == "list.shape") return text("[tf_tensor_shape(item) for item in ", a, ".list.shape]");
  if (p.type == "list.type") return text("[tf_dtype_extractor(item) for item in ", a, ".list.type]");
  if (p.type.starts_with("list.")) return text("list(", a, ".", p.type, ")");
  return a + "." + p.type;
}

std::set<std::string> tf_utilities(const Extractor& e) {
  if (e.copy_all) return {"collect_tf_attrs"};
  std::set<std::string> out;
  for (const Parameter& p : e.parameters) {
    if (p.type == "shape" || p.type == "list.shape") out.insert("tf_tensor_shape");
    if (p.type == "type" || p.type == "list.type") out.insert("tf_dtype_extractor");
    if (p.type == "batch" || p.type == "channel" || p.type == "spatial") out.insert("tf_data_format_" + p.type);
  }
  return out;
}

std::string import_line(std::string_view module, const std::set<std::string>& names) {
  return names.empty()
             ? ""
             : text("from ", module, " import ", join(std::vector<std::string>(names.begin(), names.end()), ", "));
}

// Functions that the user writes, for parameters without a type.
std::string stubs_of(const Extractor& e, std::string_view value) {
  std::string out;
  if (e.copy_all) return out;
  for (const Parameter& p : e.parameters)
    if (p.type.empty())
      out += text("\n\ndef ", parser_name(p), "(", value, "):\n    raise NotImplementedError(",
                  python_literal(text("read the attribute ", p.old_name, " here")), ")\n");
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

void add_tf(Values& v, const Extractor& e) {
  v["entries"] = entries_of(e, read_tf);
  v["stubs"] = stubs_of(e, "value");
  v["utilities"] = import_line("mo.front.tf.extractors.utils", tf_utilities(e));
  bool by_class = !e.op_class.empty();
  v["op_import"] = by_class ? text("from ", e.op_path, " import ", e.op_class) : "from mo.ops.op import Op";
  v["op_class"] = by_class ? e.op_class : text("Op.get_op_class_by_name(", python_literal(last_part(e.op)), ")");
}

// ---- Caffe ----

std::string read_caffe(const Parameter& p) {
  return text("field(param, ", python_literal(p.old_name), comma_default(p), ")");
}
// The name that collect_attributes gives to a field.
std::string collected_name(const Extractor& e, const Parameter& p) {
  if (!e.flatten) return last_part(p.old_name);
  return join(split(p.old_name, '.'), "__");
}
std::string read_param_str(const Parameter& p) {
  return text("param.get(", python_literal(p.old_name), comma_default(p), ")");
}

void add_caffe(Values& v, const Extractor& e) {
  v["module"] = e.module;
  v["message"] = e.message;
  v["full_literal"] = python_literal(text(e.module, ".", e.layer));
  v["keep_unset"] = python_flag(!e.omit_unset);
  v["flatten"] = python_flag(e.flatten);
  v["entries"] = e.copy_all ? "" : entries_of(e, e.special ? read_param_str : read_caffe);
  v["renames"] = !e.copy_all ? "" : e.special ? renames_of(e) : renames_of(e, collected_name);
}

// ---- MXNet ----

std::string read_mxnet(const Parameter& p) {
  return text("param.str(", python_literal(p.old_name), comma_default(p), ")");
}

void add_mxnet(Values& v, const Extractor& e) {
  v["custom"] = flag(e.special);
  v["base"] = e.special ? "MXNetCustomFrontExtractorOp" : "FrontExtractorOp";
  v["omit_unset"] = flag(e.omit_unset);
  v["entries"] = entries_of(e, read_mxnet);
  v["renames"] = renames_of(e);
}

// ---- ONNX ----

std::string read_onnx(const Parameter& p) {
  if (p.type.empty()) return text(parser_name(p), "(node)");
  std::string convert = p.type == "s"         ? ", dst_type=lambda value: value.decode()"
                        : p.type == "strings" ? ", dst_type=lambda value: [item.decode() for item in value]"
                        : p.type == "t"       ? ", dst_type=to_array"
                        : p.type.size() > 1   ? ", dst_type=list"
                                              : "";
  return text("onnx_attr(node, ", python_literal(p.old_name), ", ", python_literal(p.type), comma_default(p), convert,
              ")");
}

void add_onnx(Values& v, const Extractor& e) {
  bool tensors = false, typed = false;
  for (const Parameter& p : e.parameters) {
    typed |= !p.type.empty();
    tensors |= p.type == "t";
  }
  std::string imports = !e.copy_all && typed ? "from mo.front.onnx.extractors.utils import onnx_attr\n" : "";
  imports += "from mo.ops.op import Op";
  if (!e.copy_all && tensors) imports += "\nfrom onnx.numpy_helper import to_array";
  v["utilities"] = imports;
  v["entries"] = entries_of(e, read_onnx);
  v["stubs"] = stubs_of(e, "node");
  v["renames"] = renames_of(e);
}

// ---- Kaldi ----

std::string kaldi_reader(const Parameter& p) {
  if (p.type == "float") return "read_binary_float_token";
  if (p.type == "bool") return "read_binary_bool_token";
  if (p.type == "vector") return "read_binary_vector";
  return p.type == "matrix" ? "read_binary_matrix" : "read_binary_integer32_token";
}

void add_kaldi(Values& v, const Extractor& e) {
  std::set<std::string> loader, blobs;
  std::vector<std::string> steps;
  for (const Parameter& p : e.parameters) {
    std::string reader = kaldi_reader(p);
    bool blob = p.type == "vector" || p.type == "matrix";
    loader.insert("collect_until_token");
    (blob ? blobs : loader).insert(reader);
    steps.push_back(text("collect_until_token(param, b", python_literal("<" + p.old_name + ">"), ")"));
    // A matrix comes with its number of rows and columns.
    if (p.type == "matrix")
      steps.push_back(text("values, shape = read_binary_matrix(param)\nattrs[", python_literal(p.new_name),
                           "] = values.reshape(shape)"));
    else steps.push_back(text("attrs[", python_literal(p.new_name), "] = ", reader, "(param)"));
  }
  std::vector<std::string> imports;
  for (const std::string& line :
       {import_line("mo.front.kaldi.loader.utils", loader), import_line("mo.front.kaldi.utils", blobs)})
    if (!line.empty()) imports.push_back(line);
  v["utilities"] = join(imports, "\n");
  v["steps"] = join(steps, "\n");
}

}  // namespace

std::vector<GeneratedFile> extractor_files(const Extractor& e) {
  Values v;
  v["layer"] = e.layer;
  v["layer_literal"] = python_literal(e.layer);
  v["op_literal"] = python_literal(last_part(e.op));
  v["class"] = identifier(e.layer);
  v["copy_all"] = flag(e.copy_all);
  std::string name = folder_of(e.framework);
  switch (e.framework) {
    case Framework::tf: add_tf(v, e); break;
    case Framework::caffe: add_caffe(v, e); break;
    case Framework::mxnet: add_mxnet(v, e); break;
    case Framework::onnx: add_onnx(v, e); break;
    case Framework::kaldi: add_kaldi(v, e); break;
  }
  if (e.framework == Framework::caffe && e.special) name = "caffe_python";
  return {{text("user_mo_extensions/front/", folder_of(e.framework), "/", file_stem(e.layer), "_ext.py"),
           fill(template_named(name + "_ext.py"), v)}};
}

}  // namespace graft::cli::extgen
