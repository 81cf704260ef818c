// Operations, and their implementations for the devices.
#include <graft/text.hpp>

#include "command.hpp"
#include "generate.hpp"
#include "names.hpp"
#include "source_text.hpp"
#include "template.hpp"

namespace graft::cli::extgen {
namespace {

std::string literals(const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (const std::string& n : names) out.push_back(python_literal(n));
  return join(out, ", ");
}

// ---- CPU ----

struct CpuType {
  const char *member, *getter;
};
CpuType cpu_type(const std::string& type) {
  if (type == "float") return {"float", "GetParamAsFloat"};
  if (type == "bool") return {"bool", "GetParamAsBool"};
  if (type == "string") return {"std::string", "GetParamAsString"};
  if (type == "listfloat") return {"std::vector<float>", "GetParamAsFloats"};
  if (type == "listint") return {"std::vector<int>", "GetParamAsInts"};
  return {"int", "GetParamAsInt"};
}

void add_cpu(Values& v, const Kernel& k) {
  std::vector<std::string> reads, members;
  for (const Parameter& p : k.parameters) {
    CpuType t = cpu_type(p.type);
    std::string member = p.new_name + "_", preset = p.preset.is_null() ? "" : ", " + cpp_value(p.preset, p.type);
    reads.push_back(text(member, " = layer->", t.getter, "(", cpp_literal(p.new_name), preset, ");"));
    members.push_back(text(t.member, " ", member, ";"));
  }
  v["reads"] = join(reads, "\n");
  v["members"] = join(members, "\n");
}

// ---- GPU and VPU ----

// The type of a macro: lists become arrays.
std::string define_type(const std::string& type) {
  if (type == "listint") return "int[]";
  if (type == "listfloat") return "float[]";
  return type == "bool" ? "int" : type;
}

void add_gpu(Values& v, const Kernel& k) {
  std::vector<std::string> lines, names;
  for (const Parameter& p : k.parameters) {
    std::string preset = plain_value(p.preset);
    if (p.type == "bool" && p.preset.is_boolean()) preset = p.preset.get<bool>() ? "1" : "0";
    lines.push_back(text("<Define name=\"", xml_escaped(p.new_name), "\" param=\"", xml_escaped(p.new_name),
                         "\" type=\"", define_type(p.type), "\"",
                         p.preset.is_null() ? "" : text(" default=\"", xml_escaped(preset), "\""), "/>"));
    names.push_back(p.new_name);
  }
  v["define_lines"] = join(lines, "\n");
  v["defines"] = join(names, ", ");
}

void add_vpu(Values& v, const Kernel& k) {
  std::vector<std::string> lines, arguments;
  for (const Parameter& p : k.parameters) {
    lines.push_back(text("<Scalar arg-name=\"", xml_escaped(p.new_name), "\" type=\"", p.type, "\" source=\"",
                         xml_escaped(p.new_name), "\"/>"));
    arguments.push_back(text(p.type, " ", p.new_name, ","));
  }
  v["scalar_lines"] = join(lines, "\n");
  v["arguments"] = join(arguments, "\n");
}

}  // namespace

std::vector<GeneratedFile> operation_files(const Operation& o, bool has_extractor) {
  Values v;
  std::string type = last_part(o.op), stem = file_stem(o.op);
  v["type"] = type;
  v["type_literal"] = python_literal(type);
  v["class"] = identifier(type);
  v["stem"] = stem;
  v["infer"] = !o.has_infer ? "None,  # unknown: set it to a function to compute the shape of the output"
                            : identifier(type) + "Op.infer";
  v["has_infer"] = flag(o.has_infer);
  v["changes_shape"] = flag(o.changes_shape && o.has_infer);
  v["copies_shape"] = flag(!o.changes_shape && o.has_infer);
  std::vector<std::string> supported = o.attributes;
  supported.insert(supported.end(), o.internal.begin(), o.internal.end());
  v["attributes"] = flag(!supported.empty());
  v["supported"] = literals(supported);
  v["written"] = literals(o.attributes);
  v["python_layer"] = o.pythonic && !has_extractor ? python_literal(o.op) : "";
  return {{"user_mo_extensions/ops/" + stem + ".py", fill(template_named("op.py"), v)}};
}

std::vector<GeneratedFile> kernel_files(const Kernel& k) {
  Values v;
  std::string type = last_part(k.op), stem = file_stem(k.op),
              folder = text("user_ie_extensions/", folder_of(k.device), "/");
  v["type"] = type;
  v["type_xml"] = xml_escaped(type);
  v["class"] = identifier(type);
  v["stem"] = stem;
  v["entry"] = stem + "_kernel";
  if (k.device == Device::cpu) {
    add_cpu(v, k);
    std::vector<GeneratedFile> out = {{text(folder, "ext_", stem, ".cpp"), fill(template_named("ext_op.cpp"), v)}};
    // The same for every operation, so that several share a folder.
    for (const char* shared : {"CMakeLists.txt", "ext_base.hpp", "ext_list.hpp"})
      out.push_back({folder + shared, std::string(template_named(shared))});
    out.push_back({folder + "common/ie_parallel.hpp", std::string(template_named("ie_parallel.hpp"))});
    return out;
  }
  bool gpu = k.device == Device::gpu;
  if (gpu) add_gpu(v, k);
  else add_vpu(v, k);
  std::vector<GeneratedFile> out;
  for (const char* ending : {".cl", ".xml"})
    out.push_back(
        {text(folder, stem, "_kernel", ending), fill(template_named(text(gpu ? "kernel" : "vpu_kernel", ending)), v)});
  return out;
}

}  // namespace graft::cli::extgen
