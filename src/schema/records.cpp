#include "schema/records.hpp"

#include <algorithm>
#include <graft/traits.hpp>
#include <unordered_set>

#include "schema/framework.hpp"
#include "schema/registry.hpp"

namespace graft {
namespace {

class Reading {
 public:
  Reading(Records& out) : out_(out) {}

  void op(const graft_op* record) {
    graft_op op = copy_record(record, GRAFT_OP_MIN_SIZE, "an operation");
    if (!op.name.size) throw_user("an operation has no name");
    if (!op.opset.size) throw_user("operation '", op.name, "' has no opset");
    op.attrs = attributes(op).data();
    op.inputs = ports(op, op.inputs, op.input_count).data();
    op.outputs = ports(op, op.outputs, op.output_count).data();
    op.flags = with_implied_traits(op.flags);
    out_.ops.push_back(op);
  }

  void kernel(const graft_kernel* record) {
    graft_kernel k = copy_record(record, GRAFT_KERNEL_MIN_SIZE, "a kernel");
    if (!k.run) throw_user("kernel '", k.name, "' of '", k.op, "' has no run function");
    int since = opset_number(view(k.opset));
    if (k.until && (since < 0 || k.until <= since))
      throw_user("kernel '", k.name, "' of '", k.op, "': expected an end of its versions after ", k.opset, ", got ",
                 k.until);
    for (size_t i = 0; i < k.layout_count; ++i) layouts(k, k.layouts[i]);
    out_.kernels.push_back(k);
  }

  void source_kernel(const graft_source_kernel* record) {
    graft_source_kernel k = copy_record(record, GRAFT_SOURCE_KERNEL_MIN_SIZE, "a source kernel");
    if (!k.op.size || !k.device.size) throw_user("source kernel '", k.name, "' has no operation or no device");
    if (!k.emit) throw_user("source kernel '", k.name, "' of '", k.op, "' has no emit function");
    out_.source_kernels.push_back(k);
  }

  void rule(const graft_rule* record) {
    graft_rule r = copy_record(record, GRAFT_RULE_MIN_SIZE, "an import rule");
    if (!r.framework.size || !r.type.size) throw_user("an import rule has no framework or no layer type");
    out_.rules.push_back(r);
  }

  void pass(const graft_pass* record) {
    graft_pass p = copy_record(record, GRAFT_PASS_MIN_SIZE, "a pass");
    if (!p.name.size) throw_user("a pass has no name");
    if (!p.visit) throw_user("the pass '", p.name, "' has no function");
    if (p.phase < GRAFT_FRONT || p.phase > GRAFT_COMPILE)
      throw_user("the pass '", p.name, "' has unknown phase ", p.phase);
    out_.passes.push_back(p);
  }

  void raw_pass(const graft_raw_pass* record) {
    graft_raw_pass p = copy_record(record, GRAFT_RAW_PASS_MIN_SIZE, "a raw pass");
    if (!p.name.size) throw_user("a raw pass has no name");
    if (!p.apply) throw_user("the raw pass '", p.name, "' has no function");
    out_.raw_passes.push_back(p);
  }

  void reader(const graft_reader* record) {
    graft_reader r = copy_record(record, GRAFT_READER_MIN_SIZE, "a reader");
    auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-'; };
    std::string_view name = view(r.framework);
    if (name.empty() || !std::all_of(name.begin(), name.end(), plain))
      throw_user("expected the framework of a reader in lower-case letters and digits, got '", name, "'");
    // These are no frameworks, but stand where the name of one does.
    for (std::string_view taken : {std::string_view("ir"), std::string_view("text"), replacement_framework})
      if (name == taken) throw_user("the framework of a reader cannot be called '", name, "'");
    if (!r.recognize || !r.read) throw_user("the reader of '", name, "' has no function to recognize or to read files");
    out_.readers.push_back(r);
  }

 private:
  static void layouts(const graft_kernel& k, const graft_layouts& form) {
    auto check = [&](const int32_t* list, size_t count) {
      for (size_t i = 0; i < count; ++i)
        if (list[i] < GRAFT_ANY_LAYOUT || list[i] > GRAFT_CHANNELS_LAST)
          throw_user("kernel '", k.name, "' of '", k.op, "' has unknown layout ", list[i]);
    };
    check(form.inputs, form.input_count);
    check(form.outputs, form.output_count);
  }

  const std::vector<const graft_attr*>& attributes(const graft_op& op) {
    std::unordered_set<std::string_view> names;
    auto& list = out_.attr_lists.emplace_back();
    for (size_t i = 0; i < op.attr_count; ++i) {
      graft_attr a = copy_record(op.attrs[i], GRAFT_ATTR_MIN_SIZE, text("an attribute of '", op.name, "'"));
      if (a.kind <= GRAFT_NONE || a.kind > GRAFT_DTYPES)
        throw_user("attribute '", a.name, "' of '", op.name, "' has unknown kind ", a.kind);
      if (!names.insert(view(a.name)).second) throw_user("operation '", op.name, "' has two attributes '", a.name, "'");
      list.push_back(&out_.attrs.emplace_back(a));
    }
    return list;
  }

  const std::vector<const graft_port*>& ports(const graft_op& op, const graft_port* const* from, size_t count) {
    auto& list = out_.port_lists.emplace_back();
    for (size_t i = 0; i < count; ++i) {
      graft_port p = copy_record(from[i], GRAFT_PORT_MIN_SIZE, text("a port of '", op.name, "'"));
      if (p.flags & GRAFT_PORT_VARIADIC && i + 1 < count)
        throw_user("only the last port of '", op.name, "' may be variadic");
      list.push_back(&out_.ports.emplace_back(p));
    }
    return list;
  }

  Records& out_;
};

}  // namespace

std::shared_ptr<const Records> read_records(const graft_extension& extension, Source::Origin origin, std::string path) {
  graft_extension e = copy_record(&extension, GRAFT_EXTENSION_MIN_SIZE, "the extension");
  if (e.abi_version != GRAFT_ABI_VERSION)
    throw Error(ErrorKind::user,
                text("'", path.empty() ? std::string(view(e.name)) : path, "' uses version ", e.abi_version,
                     " of the extension ABI, this Graft supports version ", GRAFT_ABI_VERSION),
                "rebuild it against the headers of this Graft");
  auto out = std::make_shared<Records>();
  out->source = {std::string(view(e.name)), std::string(view(e.version)), std::move(path), origin};
  Reading reading(*out);
  for (size_t i = 0; i < e.op_count; ++i) reading.op(e.ops[i]);
  for (size_t i = 0; i < e.kernel_count; ++i) reading.kernel(e.kernels[i]);
  for (size_t i = 0; i < e.rule_count; ++i) reading.rule(e.rules[i]);
  for (size_t i = 0; i < e.pass_count; ++i) reading.pass(e.passes[i]);
  for (size_t i = 0; i < e.raw_pass_count; ++i) reading.raw_pass(e.raw_passes[i]);
  for (size_t i = 0; i < e.source_kernel_count; ++i) reading.source_kernel(e.source_kernels[i]);
  for (size_t i = 0; i < e.reader_count; ++i) reading.reader(e.readers[i]);
  return out;
}

}  // namespace graft
