// The registry of operations, kernels, import rules and passes, both built-in and from extensions.
#pragma once

#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "schema/framework.hpp"
#include "schema/records.hpp"

namespace graft {

struct OpDef {
  const graft_op* record;
  const Source* source;
  const OpDef* overrides = nullptr;  // the definition that this one takes the place of

  std::string_view name() const { return {record->name.data, record->name.size}; }
  std::string_view opset() const { return {record->opset.data, record->opset.size}; }
  std::string_view ir_name() const {
    return record->ir_name.size ? std::string_view{record->ir_name.data, record->ir_name.size} : name();
  }
  bool has(uint32_t flag) const { return record->flags & flag; }
  std::span<const graft_attr* const> attrs() const { return {record->attrs, record->attr_count}; }
  std::span<const graft_port* const> inputs() const { return {record->inputs, record->input_count}; }
  std::span<const graft_port* const> outputs() const { return {record->outputs, record->output_count}; }
  std::span<const graft_str> bodies() const { return {record->bodies, record->body_count}; }
};

struct RuleDef {
  const graft_rule* record;
  const Source* source;
  uint64_t place;  // in the order in which rules are tried
};
struct PassDef {
  const graft_pass* record;
  const Source* source;
};
struct RawPassDef {
  const graft_raw_pass* record;
  const Source* source;
};
struct ReaderDef {
  const graft_reader* record;
  const Source* source;
};
struct KernelDef {
  const graft_kernel* record;
  const Source* source;
};

// The device of reference kernels, which every operation should have.
inline constexpr std::string_view reference_device = "REFERENCE";
// The device that runs what others leave, and that large constants are folded with.
inline constexpr std::string_view cpu_device = "CPU";

struct SourceKernelDef {
  const graft_source_kernel* record;
  const Source* source;
};

class Registry {
 public:
  Registry();
  ~Registry();
  Registry(const Registry&) = delete;

  // Registers definitions; later ones take precedence over earlier ones. Throws on an operation that two libraries
  // define; the registry is not to be used then.
  void add(std::shared_ptr<const Records> records);
  // A framework that has a built-in reader.
  void add(FrameworkTraits framework);

  // The definition of exactly this type and opset, or, for "opsetN", the newest up to N. Null: unknown.
  const OpDef* find(std::string_view type, std::string_view opset) const;
  // With the spelling of an IR, case-insensitive.
  const OpDef* find_in_ir(std::string_view type, std::string_view opset) const;
  // The newest version; numbered opsets are preferred.
  const OpDef* newest(std::string_view type) const;

  // Rules for a framework's layer, extensions before built-ins; the first that applies is used. In a domain, rules for
  // the type "*" apply to all layers without a rule of their own. Rules for every framework are among them.
  std::vector<const RuleDef*> rules(std::string_view framework, std::string_view domain, std::string_view type) const;
  // Kernels of a device for an operation, best first.
  std::vector<KernelDef> kernels(const OpDef& op, std::string_view device) const;
  // Whether a device has kernels for other versions of an operation, but none for this one.
  bool runs_other_versions(const OpDef& op, std::string_view device) const;
  // Whether a built-in operation has this name, in any opset.
  bool is_built_in_name(std::string_view type) const;
  // Kernels as source text of a device for an operation, best first: those of files of custom layers, then others.
  std::vector<SourceKernelDef> source_kernels(const OpDef& op, std::string_view device) const;
  std::vector<SourceKernelDef> source_kernels(std::string_view device) const;
  // Whether a file of custom layers may call an operation by this name: its own, its spelling in an IR (both without
  // regard to case), or that of a framework's layer which becomes it, if no operation has that name.
  bool goes_by(const OpDef& op, std::string_view name) const;
  // Whether a file of custom layers has a kernel of the device for an operation.
  bool is_configured(const OpDef& op, std::string_view device) const;
  // Whether a device has a kernel of either form for an operation.
  bool has_kernel(const OpDef& op, std::string_view device) const;
  const graft_kernel* reference(const OpDef& op) const;
  // The device whose kernels compute large constants; empty: reference kernels compute all of them.
  std::string constants_device;

  // Every definition that is not overridden, sorted by name and opset.
  std::vector<const OpDef*> ops() const;
  std::vector<const RuleDef*> all_rules() const;
  std::vector<const Source*> sources() const;
  // In the order of registration.
  std::span<const PassDef> passes() const;
  std::span<const RawPassDef> raw_passes() const;
  // In the order in which they are asked: those of the extension that was added last first.
  std::vector<ReaderDef> readers() const;
  // Those whose files can be read, sorted by name.
  std::vector<const FrameworkTraits*> frameworks() const;

 private:
  struct State;
  std::unique_ptr<State> s_;
};

// Loads a shared library, which stays loaded, or runs a Python file or folder. The path is a full one; it is in the
// source of the records.
std::shared_ptr<const Records> load_library(const std::string& path);
std::shared_ptr<const Records> load_python(const std::string& path);
// The record of an entry function; throws if the host is too old for it.
const graft_extension& enter_extension(const std::function<const graft_extension*(const graft_host*)>& entry);

// Whether a kernel can work with plain tensors alone.
bool takes_plain(const graft_kernel& kernel);

// What a reader of an extension says of its framework.
FrameworkTraits traits_of(const graft_reader& reader);

// The number of "opset7"; -1 for unnumbered opsets.
int opset_number(std::string_view opset);

}  // namespace graft
