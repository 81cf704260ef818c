#include "check/check_source.hpp"

#include "base/tensor.hpp"
#include "base/text.hpp"
#include "check/case.hpp"

namespace graft::testing {
namespace {

std::string chosen_kernel(Program& program, const Test& test, std::string_view type) {
  std::vector<Info> infos;
  for (const Tensor& t : ordered_inputs(test, test.graph)) infos.push_back(t.info());
  for (const Choice& c : program.explain(infos).choices)
    if (c.type == type) return c.kernel;
  return "";
}

std::optional<Fault> compare(const KernelCheck& how, const Reference& reference, const std::vector<Tensor>& first,
                             const std::vector<Tensor>& second) {
  for (size_t i = 0; i < first.size() && i < reference.outputs.size(); ++i) {
    if (!first[i] || !reference.outputs[i]) continue;
    if (how.op.has(GRAFT_OP_PURE) && !same_content(first[i], second[i]))
      return Fault{"race", text("output ", i, " differs in a second run: ", print(second[i], 8), ", first ",
                                print(first[i], 8))};
    if (auto p = difference_from_reference(how.op, reference.outputs[i], first[i], i)) return p;
  }
  return std::nullopt;
}

}  // namespace

KernelVerdict check_source_kernel(const KernelCheck& how, const Sample& sample, const Reference& reference,
                                  const Device& device, std::string_view kernel, Fault& problem) {
  try {
    Test test = read_test({"", "", 1, to_text(sample, how.op)}, how.registry);
    // A node without inputs that change is computed when the model is compiled.
    if (!test.refusal.empty() || test.graph.parameters().empty()) return KernelVerdict::declined;
    std::unique_ptr<Program> program = device.compile(test.graph.clone(), how.registry, {});
    if (chosen_kernel(*program, test, how.op.name()) != kernel) return KernelVerdict::declined;
    std::unique_ptr<Execution> execution = program->create_execution();
    std::vector<Tensor> inputs = ordered_inputs(test, test.graph), first, second;
    execution->run(inputs, first, nullptr);
    execution->run(inputs, second, nullptr);
    std::optional<Fault> found = compare(how, reference, first, second);
    if (!found) return KernelVerdict::passed;
    problem = *found;
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::unsupported) return KernelVerdict::declined;
    problem = {"fails", text("the reference computes a result; ", device.name(), " fails: ", e.message())};
  }
  return KernelVerdict::failed;
}

}  // namespace graft::testing
