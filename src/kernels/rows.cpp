#include "kernels/rows.hpp"

#include "base/tensor.hpp"
#include "base/text.hpp"
#include "schema/resolve.hpp"

namespace graft {
namespace {

// An input or output of f32 with these dimensions.
Info numbers_of(std::vector<int64_t> dims) { return {DType::f32, Shape::of(dims)}; }

}  // namespace

PreparedKernel prepare_rows(const Registry& registry, Node node, std::span<const float> numbers,
                            std::string_view named) {
  const OpDef& op = definition(registry, node);
  node.opset = op.opset();
  std::vector<Tensor> constants(1 + numbers.size());
  std::vector<std::optional<Info>> inputs{numbers_of({1})};
  for (size_t i = 0; i < numbers.size(); ++i) {
    Tensor number(DType::f32, {});
    *static_cast<float*>(number.data()) = numbers[i];
    constants[i + 1] = std::move(number);
    inputs.emplace_back(numbers_of({}));
  }
  node.inputs.assign(inputs.size(), ValueId{0, 0});
  resolve(node, op, Extras::refuse);
  // Its own context has no registry: a function of rows does not consist of others.
  NodeContext context(node, std::move(inputs));
  context.outputs = {numbers_of({1})};
  context.constants = [&](size_t i) { return i < constants.size() && constants[i] ? &constants[i] : nullptr; };
  Candidates<KernelDef> kernels;
  kernels.add(registry.kernels(op, cpu_device));
  PreparedKernel out;
  kernels.first([&](const KernelDef& k) {
    if (!k.record->rows) throw_unsupported("it has no function of rows");
    if (!named.empty() && view(k.record->name) != named) throw_unsupported("it is another kernel");
    ask(*k.record, context);
    out = PreparedKernel(k, context, [](const graft_kernel&) -> Packed { throw_unsupported("it packs constants"); });
    if (out.scratch_bytes) throw_unsupported("it needs scratch memory");
  });
  if (!out)
    throw_unsupported("no kernel computes rows of ", op.name(), " of ", op.opset(),
                      kernels.declined.empty() ? "" : ": ", to_text(kernels.declined));
  return out;
}

graft_rows NodeContext::element_rows(std::string_view op, std::string_view opset,
                                     std::span<const graft_named_value> attributes, std::span<const float> numbers) {
  if (!registry) throw_unsupported("operations cannot be applied to results here");
  Node node;
  node.type = op, node.opset = opset;
  for (const graft_named_value& a : attributes) node.attrs[std::string(view(a.name))] = Attribute::from(a.value);
  auto made = std::make_shared<PreparedKernel>(prepare_rows(*registry, std::move(node), numbers));
  applied.emplace_back(text(op, " (", made->kernel->name, ")"), made);
  return {made->kernel->rows, made->state(), made->kernel->user};
}

}  // namespace graft
