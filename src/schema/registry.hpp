// All operations, kernels and import rules that are known, wherever they come from.
#pragma once

#include <graft/abi.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace graft {

// Where definitions came from: the built-ins or a loaded library.
struct Source {
  std::string name;
  std::string version;
  std::string path;  // empty: built in
  bool built_in() const { return path.empty(); }
};

struct OpDef {
  const graft_op* record;
  const Source* source;
  const OpDef* overrides = nullptr;  // the definition this one took the place of

  std::string_view name() const { return {record->name.data, record->name.size}; }
  std::string_view opset() const { return {record->opset.data, record->opset.size}; }
  std::string_view ir_name() const {
    return record->ir_name.size ? std::string_view{record->ir_name.data, record->ir_name.size} : name();
  }
  bool has(uint32_t flag) const { return record->flags & flag; }
  // How the operation states its cost; null where it does not, or where its record is older than the field.
  auto cost() const { return record->size >= offsetof(graft_op, cost_user) + sizeof(void*) ? record->cost : nullptr; }
  std::span<const graft_attr* const> attrs() const { return {record->attrs, record->attr_count}; }
  std::span<const graft_port* const> inputs() const { return {record->inputs, record->input_count}; }
  std::span<const graft_port* const> outputs() const { return {record->outputs, record->output_count}; }
  std::span<const graft_str> bodies() const { return {record->bodies, record->body_count}; }
};

struct RuleDef {
  const graft_rule* record;
  const Source* source;
};
struct PassDef {
  const graft_pass* record;
  const Source* source;
};
struct KernelDef {
  const graft_kernel* record;
  const Source* source;
};

class Registry {
 public:
  Registry();
  ~Registry();
  Registry(const Registry&) = delete;

  // Enters definitions; later ones go before earlier ones. Refuses malformed records and an operation that another
  // loaded library defines too.
  void add(const graft_extension& extension, std::string path);
  // Was everything of this library entered already?
  bool has_library(std::string_view path) const;

  // The definition of exactly this type and opset, or, for "opsetN", the newest up to N. Null: unknown.
  const OpDef* find(std::string_view type, std::string_view opset) const;
  // Spelt as in an IR, upper or lower case alike.
  const OpDef* find_in_ir(std::string_view type, std::string_view opset) const;
  // The newest version; a numbered opset is preferred to another one.
  const OpDef* newest(std::string_view type) const;
  bool knows_opset(std::string_view opset) const;

  // Rules for a framework's layer, the first that applies wins: of extensions, then built in.
  std::span<const RuleDef> rules(std::string_view framework, std::string_view domain, std::string_view type) const;
  // Kernels of a device for an operation, best first.
  std::vector<KernelDef> kernels(const OpDef& op, std::string_view device) const;
  const graft_kernel* reference(const OpDef& op) const;

  // Every definition that counts, sorted by name and opset.
  std::vector<const OpDef*> ops() const;
  std::vector<const RuleDef*> all_rules() const;
  std::vector<const Source*> sources() const;
  // In the order they were entered.
  std::span<const PassDef> passes() const;

 private:
  struct State;
  std::unique_ptr<State> s_;
};

// Opens a shared library and enters what it defines. The library stays loaded; to load it again changes nothing.
void load_extension(Registry& registry, const std::string& path);

// The number of "opset7"; -1 for another kind of opset.
int opset_number(std::string_view opset);

}  // namespace graft
