// What a Core knows: operations with their attributes and kernels, import rules, loaded extensions.
//
//   for (const graft::OpInfo& op : core.operations())
//     if (op.name == "Softmax") std::puts(op.to_text().c_str());
//
// Plain values, taken from the definitions at the time of the call.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attribute.hpp"
#include "fields.hpp"

namespace graft {

struct GRAFT_API AttributeInfo {
  std::string name, kind, doc;
  std::string fallback;
  std::vector<std::string> allowed;
  static constexpr std::tuple fields{field("name", &AttributeInfo::name, "name"),
                                     field("kind", &AttributeInfo::kind, "type: \"int\", \"list of floats\", ..."),
                                     field("doc", &AttributeInfo::doc, "meaning"),
                                     field("default", &AttributeInfo::fallback,
                                           "default in the textual form; \"required\" or \"optional\" if it has none"),
                                     field("allowed", &AttributeInfo::allowed, "allowed values; none: all")};
};
struct GRAFT_API OpPortInfo {
  std::string name, doc;
  bool optional = false, variadic = false;
  static constexpr std::tuple fields{field("name", &OpPortInfo::name, "name"),
                                     field("doc", &OpPortInfo::doc, "meaning"),
                                     field("optional", &OpPortInfo::optional, "whether it may be absent"),
                                     field("variadic", &OpPortInfo::variadic, "whether there may be several")};
};
struct GRAFT_API KernelInfo {
  std::string device, name;
  static constexpr std::tuple fields{field("device", &KernelInfo::device, "device that it runs on"),
                                     field("name", &KernelInfo::name, "name")};
};

// A framework whose models can be read.
struct GRAFT_API FrameworkInfo {
  std::string name;                  // in rules, reports and options: "tensorflow"
  std::string title;                 // "TensorFlow"
  std::vector<std::string> aliases;  // other names in options: "tf"
  std::string files;                 // "frozen .pb, SavedModel"
  std::string origin;                // "built-in", or the extension, as for a rule

  bool built_in() const { return origin == "built-in"; }
  static constexpr std::tuple fields{field("name", &FrameworkInfo::name, "in rules, reports and options"),
                                     field("title", &FrameworkInfo::title, "its own spelling"),
                                     field("aliases", &FrameworkInfo::aliases, "other names in options"),
                                     field("files", &FrameworkInfo::files, "files of its models"),
                                     field("origin", &FrameworkInfo::origin, "\"built-in\", or the extension")};
};

// How a layer of a framework is imported.
struct GRAFT_API RuleInfo {
  std::string framework, domain, type;
  int64_t since = 0;
  std::optional<int64_t> until;
  std::string op, opset;
  bool expanded = false;
  std::vector<std::pair<std::string, std::string>> conditions;
  std::string origin;

  bool built_in() const { return origin == "built-in"; }
  std::string layer() const;        // "com.acme::Fold"
  std::string versions() const;     // "7 to 12", "13 and up"; empty: all
  std::string imported_as() const;  // "Relu (opset1)", "expanded by a rule"
  std::string where() const;        // "mode = 1, axis = 0"
  static constexpr std::tuple fields{
      field("framework", &RuleInfo::framework, "framework of the layer"),
      field("domain", &RuleInfo::domain, "domain of the type"),
      field("type", &RuleInfo::type, "type of the layer"),
      field("since", &RuleInfo::since, "first version of the domain that it is for"),
      field("until", &RuleInfo::until, "first version that it is no longer for; absent: there is none"),
      field("op", &RuleInfo::op, "operation that it belongs to; may be empty for a rule that expands"),
      field("opset", &RuleInfo::opset, "opset of the operation"),
      field("expanded", &RuleInfo::expanded, "whether a function creates the operations"),
      field("conditions", &RuleInfo::conditions, "attributes and the values that they must have"),
      field("origin", &RuleInfo::origin,
            "built-in, or the extension: its path, or its name if it is part of the program"),
      field("layer", &RuleInfo::layer, "domain and type: \"com.acme::Fold\""),
      field("versions", &RuleInfo::versions, "\"7 to 12\", \"13 and up\"; empty: all"),
      field("imported_as", &RuleInfo::imported_as, "\"Relu (opset1)\", \"expanded by a rule\""),
      field("where", &RuleInfo::where, "the conditions as text: \"mode = 1, axis = 0\"")};
};

// "TensorFlow" for the built-in framework "tensorflow"; the name itself for others.
GRAFT_API std::string framework_title(const std::string& name);

struct GRAFT_API OpInfo {
  std::string name, opset, doc;
  std::vector<AttributeInfo> attributes;
  std::vector<OpPortInfo> inputs, outputs;
  std::vector<std::string> traits;  // "pure", "elementwise", ...: see traits.hpp
  std::vector<KernelInfo> kernels;
  std::vector<RuleInfo> rules;
  std::string origin;
  bool overrides = false;

  bool has_kernel(std::string_view device) const;
  std::vector<std::string> frameworks() const;
  static constexpr std::tuple fields{
      field("name", &OpInfo::name, "type of the operation"),
      field("opset", &OpInfo::opset, "opset"),
      field("doc", &OpInfo::doc, "what it computes"),
      field("attributes", &OpInfo::attributes, "attributes"),
      field("inputs", &OpInfo::inputs, "inputs"),
      field("outputs", &OpInfo::outputs, "outputs"),
      field("traits", &OpInfo::traits, "promises that passes rely on"),
      field("kernels", &OpInfo::kernels, "kernels by device, the preferred one first"),
      field("rules", &OpInfo::rules, "rules that import layers as it"),
      field("origin", &OpInfo::origin, "as for a rule"),
      field("overrides", &OpInfo::overrides, "whether it replaces an earlier definition"),
      field("frameworks", &OpInfo::frameworks, "frameworks that it is imported from, sorted")};
  // Everything, as `graft ops NAME` prints it.
  std::string to_text() const;
};

// Identifies what Core::add_extension added.
enum class ExtensionId : uint64_t {};

struct GRAFT_API ExtensionInfo {
  ExtensionId id{};
  std::string name, version;
  std::string path;
  size_t operations = 0, kernels = 0, rules = 0, passes = 0;
  static constexpr std::tuple fields{
      field("id", &ExtensionInfo::id, "what removes it"),
      field("name", &ExtensionInfo::name, "name"),
      field("version", &ExtensionInfo::version, "version"),
      field("path", &ExtensionInfo::path, "file; empty: definitions of the program itself"),
      field("operations", &ExtensionInfo::operations, "number of operations"),
      field("kernels", &ExtensionInfo::kernels, "number of kernels"),
      field("rules", &ExtensionInfo::rules, "number of import rules"),
      field("passes", &ExtensionInfo::passes, "number of passes")};
};

}  // namespace graft
