// The checker of operations: runs their examples, and every kernel on generated cases in memory that shows what it
// does. The command `graft check` is written on it; docs/guide/check.md lists what is checked.
//
//   graft::ExtensionId id = core.add_extension("./libacme.so");
//   for (const std::string& name : graft::operations_to_check(core, id))
//     for (const graft::CheckFinding& f : graft::check_operation(core, name, {.extension = id}).findings)
//       std::puts(f.to_text().c_str());
//
// A kernel that writes far outside its memory may crash the process; `graft check` therefore runs the checks in a
// process of their own. The checks use the thread pool of the process: set GRAFT_NUM_THREADS=8 to check with 8 threads
// on a machine with fewer cores.
#pragma once

#include <functional>
#include <optional>

#include "../toolkit.hpp"

namespace graft {

struct GRAFT_API CheckOptions {
  std::optional<ExtensionId> extension{};  // check its kernels only; none: all kernels of the operation
  std::vector<std::string> tests{};        // .test files whose nodes are further samples of valid cases
  uint64_t seed = 1;                       // of the generated cases
  int first = 0;                           // number of the first case
  int cases = 300;                         // how many per operation, the samples included
  double seconds = 20;                     // of the processor per operation; the case that runs then is finished
  bool smallest = true;                    // look for a smaller case that fails in the same way
  // The number of allocations of the calling thread so far; without it, kernels may allocate.
  uint64_t (*allocations)() = nullptr;
  // Called before each case with its number, for a process that watches this one.
  std::function<void(int)> before_case{};
  // The number of blocks of memory that the process has; without it, leaks are not found.
  int64_t (*live)() = nullptr;
  // Also call kernels of extensions with tensors that have no elements, which a request does not.
  bool empty = true;
  // Called before each check of a kernel, for a process that watches this one.
  std::function<void(const std::string& kernel, bool empty)> before_kernel{};
};

struct GRAFT_API CheckFinding {
  std::string operation;
  std::string kernel;
  std::string kind;
  std::string detail;
  std::string test;
  int number = -1;
  static constexpr std::tuple fields{
      field("operation", &CheckFinding::operation, "\"CoshC@acme\"; empty for a definition or an import rule"),
      field("kernel", &CheckFinding::kernel, "\"CPU:elementwise_f32\"; empty for the shape function and definitions"),
      field("kind", &CheckFinding::kind, "\"write past the end\", ..."),
      field("detail", &CheckFinding::detail, "what happened"),
      field("test", &CheckFinding::test, "the smallest case found, in the format of .test files"),
      field("case", &CheckFinding::number, "number of the generated case; -1: none")};

  std::string to_text() const;
};

struct GRAFT_API CheckedKernel {
  std::string name;
  int cases = 0;
  bool source = false;
  std::string declined;
  static constexpr std::tuple fields{
      field("name", &CheckedKernel::name, "\"CPU:elementwise_f32\""),
      field("cases", &CheckedKernel::cases, "cases that it ran; it declined the others"),
      field("source", &CheckedKernel::source, "whether it is compiled for the device from source text"),
      field("declined", &CheckedKernel::declined, "why, if it ran no case")};
};

struct GRAFT_API CheckedOperation {
  std::string operation;
  int cases = 0;
  int refused = 0;
  std::vector<CheckedKernel> kernels;
  std::string refusal;
  std::vector<CheckFinding> findings;
  static constexpr std::tuple fields{
      field("operation", &CheckedOperation::operation, "\"CoshC@acme\""),
      field("cases", &CheckedOperation::cases, "cases that were run"),
      field("refused", &CheckedOperation::refused, "attempts that the operation refuses"),
      field("kernels", &CheckedOperation::kernels, "kernels that were checked"),
      field("refusal", &CheckedOperation::refusal, "why, if no case could be run"),
      field("findings", &CheckedOperation::findings, "what is wrong")};
};

// The operations that an extension defines or has kernels for, as "Name@opset"; without one, the built-in operations.
// Operations with bodies or side effects are not among them.
GRAFT_API std::vector<std::string> operations_to_check(const Core& core, std::optional<ExtensionId> extension = {});
// Those that an extension defines and for which no cases can be generated, and why: they have bodies or side effects.
// Cases of .test files check them.
struct GRAFT_API UngeneratedOperation {
  std::string operation, reason;
};
GRAFT_API std::vector<UngeneratedOperation> operations_without_cases(const Core& core, ExtensionId extension);
// Runs the kernels of an operation on its examples, on nodes of `tests`, and on generated cases.
GRAFT_API CheckedOperation check_operation(const Core& core, const std::string& operation,
                                           const CheckOptions& options = {});
// A generated case in the format of .test files, without running it. Empty if the number has no case.
GRAFT_API std::string generated_case(const Core& core, const std::string& operation, int number,
                                     const CheckOptions& options = {});
// Slips in the definitions of an extension, which loading it only warns about.
GRAFT_API std::vector<CheckFinding> check_definitions(const Core& core, ExtensionId extension);

// One node of a model with the values that it gets for these inputs, one per input port, and its results, as a case of
// a .test file. `node` is the name of the node or of one of its tensors. The model is used as it was imported.
GRAFT_API std::string capture_node(const Model& model, const std::vector<Tensor>& inputs, const std::string& node);
// Runs every kernel of extensions on the nodes of a model, with the values that they get for these inputs, between
// guard zones and in poisoned memory.
GRAFT_API std::vector<CheckFinding> check_model(const Model& model, const std::vector<Tensor>& inputs,
                                                const CheckOptions& options = {});

struct GRAFT_API TestOutcome {
  std::string file, name;
  int line = 0;
  std::string failure;                  // empty: passed
  std::vector<std::string> operations;  // that it computes, as "Name@opset"; none if an error is expected
  std::string example_of;               // the operation, if it is an example
  std::string body;                     // the case itself
};
// For a process that watches this one. `before` skips a case by giving false.
struct GRAFT_API TestWatch {
  std::function<bool(const TestOutcome&)> before{};
  std::function<void(const TestOutcome&)> after{};
};
// Runs the cases of a .test file in all modes (docs/guide/testing.md). Fails if the file cannot be read.
GRAFT_API std::vector<TestOutcome> run_test_file(const Core& core, const std::string& path,
                                                 const TestWatch& watch = {});
// The same for the examples of the operations that an extension defines.
GRAFT_API std::vector<TestOutcome> run_examples(const Core& core, ExtensionId extension, const TestWatch& watch = {});

}  // namespace graft
