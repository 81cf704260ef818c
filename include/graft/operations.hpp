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

namespace graft {

struct GRAFT_API AttributeInfo {
  std::string name, kind, doc;  // kind: "int", "list of floats", ...
  std::string fallback;         // its default in the textual form; "required" or "optional" if it has none
  std::vector<std::string> allowed;
};
struct GRAFT_API OpPortInfo {
  std::string name, doc;
  bool optional = false, variadic = false;
};
struct GRAFT_API KernelInfo {
  std::string device, name;
};

// How a layer of a framework is imported.
struct GRAFT_API RuleInfo {
  std::string framework, domain, type;
  int64_t since = 0;             // version of the domain's operations, from...
  std::optional<int64_t> until;  // ... to before this one
  std::string op, opset;         // that it belongs to; may be empty for a rule that expands
  bool expanded = false;         // a function creates the operations
  std::vector<std::pair<std::string, std::string>> conditions;  // field and value, in the textual form
  std::string from;  // "built-in", or the extension: its path, or its name if it is part of the program

  bool built_in() const { return from == "built-in"; }
  std::string layer() const;        // "com.acme::Fold"
  std::string versions() const;     // "7 to 12", "13 and up"; empty: all
  std::string imported_as() const;  // "Relu (opset1)", "expanded by a rule"
  std::string where() const;        // "mode = 1, axis = 0"
};

struct GRAFT_API OpInfo {
  std::string name, opset, doc;
  std::vector<AttributeInfo> attributes;
  std::vector<OpPortInfo> inputs, outputs;
  std::vector<KernelInfo> kernels;  // best first, by device
  std::vector<RuleInfo> rules;      // that import it
  std::string from;                 // as for a rule
  bool overrides = false;           // takes the place of a definition that was there before

  bool has_kernel(std::string_view device) const;
  std::vector<std::string> frameworks() const;  // that it is imported from, sorted
  // Everything, as `graft ops NAME` prints it.
  std::string to_text() const;
};

// Identifies what Core::add_extension added.
enum class ExtensionId : uint64_t {};

struct GRAFT_API ExtensionInfo {
  ExtensionId id{};
  std::string name, version;
  std::string path;  // empty: definitions of the program itself
  size_t operations = 0, kernels = 0, rules = 0, passes = 0;
};

}  // namespace graft
