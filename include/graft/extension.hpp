// The way into Graft: one exported function, written by this macro.
//
//   GRAFT_EXTENSION("acme", "1.0") { return {define_cosh(), define_twist()}; }
//
// The library links nothing of Graft; `graft run --extensions ./libacme.so` or core.add_extension("./libacme.so") loads
// it.
#pragma once

#include "op.hpp"

namespace [[gnu::visibility("hidden")]] graft {

// Keeps definitions in place and lists them as records. Lives as long as the binary.
class Library {
 public:
  Library(std::string_view name, std::string_view version, Ops ops) : ops_(std::move(ops)) {
    for (Op& o : ops_.ops) {
      op_records_.push_back(o.seal());
      for (Kernel& k : o.kernels) kernel_records_.push_back(k.seal());
      for (Rule& r : o.rules) rule_records_.push_back(r.seal());
      for (Pass& p : o.passes) pass_records_.push_back(p.seal());
    }
    for (Kernel& k : ops_.kernels) kernel_records_.push_back(k.seal());
    for (Rule& r : ops_.rules) rule_records_.push_back(r.seal());
    for (Pass& p : ops_.passes) pass_records_.push_back(p.seal());
    record_.size = sizeof record_;
    record_.abi_version = GRAFT_ABI_VERSION;
    record_.name = str(name), record_.version = str(version);
    record_.ops = op_records_.data(), record_.op_count = op_records_.size();
    record_.kernels = kernel_records_.data(), record_.kernel_count = kernel_records_.size();
    record_.rules = rule_records_.data(), record_.rule_count = rule_records_.size();
    record_.passes = pass_records_.data(), record_.pass_count = pass_records_.size();
  }
  Library(const Library&) = delete;
  const graft_extension* record() const { return &record_; }

 private:
  Ops ops_;
  std::vector<const graft_op*> op_records_;
  std::vector<const graft_kernel*> kernel_records_;
  std::vector<const graft_rule*> rule_records_;
  std::vector<const graft_pass*> pass_records_;
  graft_extension record_{};
};

// The body of an entry function: `define` gives the definitions, once.
template <Ops (*define)()>
const graft_extension* enter(const graft_host* h, std::string_view name, std::string_view version) {
  if (!h || h->size < GRAFT_HOST_MIN_SIZE) return nullptr;
  // Never destroyed: a request may still be running while the process ends.
  static const Library* library = [&] {
    host = h;
    return new Library(name, version, define());
  }();
  return library->record();
}

}  // namespace graft

#define GRAFT_EXTENSION(NAME, VERSION)                                                            \
  static graft::Ops graft_extension_define();                                                     \
  extern "C" __attribute__((visibility("default"))) const graft_extension* graft_extension_entry( \
      const graft_host* h) {                                                                      \
    return graft::enter<graft_extension_define>(h, NAME, VERSION);                                \
  }                                                                                               \
  static graft::Ops graft_extension_define()
